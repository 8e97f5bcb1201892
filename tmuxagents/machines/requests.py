"""Requests to the tmuxagents of another machine, answered in one JSON line. Joins."""

from __future__ import annotations

from tmuxagents.errors import NotPossible, Unusable
from tmuxagents.machines import hosts, refusals, ssh
from tmuxagents.records import SUBMITTED
from tmuxagents.runs import directory
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.machines.hosts import Host
    from tmuxagents.runs.inspect import RunView


HELLO = b'{"hello": 1}\n'  # the far side prints it before it reads; until then no request has got there
_LIMIT_S = 30.0
_SHOWN = 200


def carry_out(
    run: RunView, verb: Sequence[str], environment: Mapping[str, str], *, text: bytes = b""
) -> dict[str, Any]:
    """Let a run's machine carry out a verb for the run; return the document printed, or raise the error."""
    return ask(host_of(run, environment), verb, environment, text=text)


def host_of(run: RunView, environment: Mapping[str, str]) -> Host:
    """Return the host that has a run; refuse a run that was not handed over yet."""
    machine = run.machine or {}
    host = hosts.find_host(str(machine.get("host")), environment)
    if machine.get("state") != SUBMITTED:
        message = f"Run {run.run_id} was not handed over to {host.name} yet."
        raise NotPossible(message, kind="run-busy", hint=f"tmuxagents wait {run.run_id[:8]}", field="runId")
    return host


def ask(  # noqa: PLR0913  (what goes there, and how long it may take)
    host: Host,
    verb: Sequence[str],
    environment: Mapping[str, str],
    *,
    text: bytes = b"",
    limit_s: float = _LIMIT_S,
    greeting: bytes = b"",
) -> dict[str, Any]:
    """Let a host carry out a verb; return the document it prints, or raise the error it reports.

    `text`: the stdin of the verb, for words that others must not read. Anyone can read the command line.
    """
    words = [*verb, "--json"]
    answer = ssh.run(host, words, input=text, timeout=limit_s, environment=environment, greeting=greeting)
    lines = answer.out.removeprefix(HELLO).strip().splitlines()
    for line in (*reversed(lines), *reversed(answer.err.encode("utf-8", "replace").splitlines())):
        found = directory.document_of(line)
        if found is not None:
            if "error" in found:
                raise refusals.of_document(found, host.name)
            return found
    last_line = safe.cut(safe.line((answer.err.strip().splitlines() or ["nothing"])[-1]), _SHOWN)
    message = f"{host.name} gave no readable answer; it printed: {last_line}"
    raise Unusable(message, kind="far-answer", hint=f"tmuxagents hosts check {host.name}")
