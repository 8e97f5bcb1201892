"""A verb that another machine carries out, for a run that works there. Joins."""

from __future__ import annotations

from tmuxagents.errors import NotPossible, Unusable
from tmuxagents.machines import hosts, requests, ssh
from tmuxagents.records import SUBMITTED
from tmuxagents.text import jsonline, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.machines.hosts import Host
    from tmuxagents.machines.ssh import FarAnswer
    from tmuxagents.runs.inspect import RunView

LIMIT_S = 30.0
_SHOWN = 200


def host_of(run: RunView, environment: Mapping[str, str]) -> Host:
    """Return the host that has a run; refuse a run that was not handed over yet."""
    machine = run.machine or {}
    host = hosts.find_host(str(machine.get("host")), environment)
    if machine.get("state") != SUBMITTED:
        message = f"Run {run.run_id} was not handed over to {host.name} yet."
        raise NotPossible(message, kind="run-busy", hint=f"tmuxagents wait {run.run_id[:8]}", field="runId")
    return host


def carry_out(
    run: RunView,
    verb: Sequence[str],
    environment: Mapping[str, str],
    *,
    text: bytes = b"",
    limit_s: float = LIMIT_S,
) -> dict[str, Any]:
    """Let a run's machine carry out a verb; return the document it prints, or raise its error.

    `text`: what the verb reads from stdin. Everybody can read its command line.
    """
    host = host_of(run, environment)
    answer = ssh.run(host, [*verb, "--json"], input=text, timeout=limit_s, environment=environment)
    return document(answer, host)


def document(answer: FarAnswer, host: Host) -> dict[str, Any]:
    """Return the document in an answer, or raise the error that it is or tells of."""
    lines = answer.out.removeprefix(requests.HELLO).strip().splitlines()
    for line in (*reversed(lines), *reversed(answer.err.encode("utf-8", "replace").splitlines())):
        try:
            found = jsonline.decode(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            if "error" in found:
                raise requests.error_of(found, host.name)
            return found
    said = safe.cut(safe.line((answer.err.strip().splitlines() or ["nothing"])[-1]), _SHOWN)
    message = f"{host.name} gave no answer that can be read; it said: {said}"
    raise Unusable(message, kind="far-answer", hint=f"tmuxagents hosts check {host.name}")
