"""What is asked of a tmuxagents on another machine, and what it answers: one JSON line each way. Joins.

A verb that another machine carries out, for a run that works there.
"""

from __future__ import annotations

from tmuxagents.errors import (
    BadConfig,
    BadRequest,
    Fault,
    NoSuchRun,
    NotPossible,
    TmuxAgentsError,
    Unusable,
)
from tmuxagents.machines import hosts, ssh
from tmuxagents.records import SUBMITTED
from tmuxagents.text import jsonline, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.machines.hosts import Host
    from tmuxagents.machines.ssh import FarAnswer
    from tmuxagents.runs.inspect import RunView


HELLO = b'{"hello": 1}\n'  # the far side prints it before it reads: until then nothing was asked of it
_KINDS = {"unknown-run": NoSuchRun, "ambiguous-run": NoSuchRun, "bad-profile": BadConfig}
_CODES = {one.exit_code: one for one in (BadRequest, Unusable, NotPossible)}


def error_of(document: Mapping[str, Any], host: str) -> TmuxAgentsError:
    """Return the error that a far tmuxagents has printed, with the name of its host."""
    body = document.get("error")
    body = body if isinstance(body, dict) else {}
    code, kind = body.get("exit"), str(body.get("kind") or "internal")
    made = _KINDS.get(kind) or _CODES.get(code if isinstance(code, int) else 0, Unusable)
    message = str(body.get("message") or "It gave no reason.")
    hint = body.get("hint")
    faults = [
        Fault(str(one.get("kind")), str(one.get("message")), field=_text(one.get("field")))
        for one in many(body.get("faults"))
        if isinstance(one, dict)
    ]
    return made(
        f"{host}: {message}",
        kind=kind,
        hint=_text(hint),
        faults=faults,
        candidates=[str(one) for one in many(body.get("candidates"))],
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def many(value: Any) -> list[Any]:
    """Return a list in an answer; nothing for a value of another kind."""
    return value if isinstance(value, list) else []


def machine(  # noqa: PLR0913  (the fields of a document)
    host: str,
    engine: str,
    *,
    state: str,
    at: float,
    here: Mapping[str, Any],
    handle: Mapping[str, Any] | None = None,
    tmux: Mapping[str, Any] | None = None,
    waiting: str | None = None,
) -> dict[str, Any]:
    """Return machine.json. `here`: what counts in this place (runs/documents.seen_from_here)."""
    return {
        "v": 1,
        "host": host,
        "engine": engine,
        "state": state,
        "handle": handle,
        "waiting": waiting,
        "here": here,
        "tmux": tmux,
        "at": round(at, 3),
    }


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
    lines = answer.out.removeprefix(HELLO).strip().splitlines()
    for line in (*reversed(lines), *reversed(answer.err.encode("utf-8", "replace").splitlines())):
        try:
            found = jsonline.decode(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            if "error" in found:
                raise error_of(found, host.name)
            return found
    said = safe.cut(safe.line((answer.err.strip().splitlines() or ["nothing"])[-1]), _SHOWN)
    message = f"{host.name} gave no answer that can be read; it said: {said}"
    raise Unusable(message, kind="far-answer", hint=f"tmuxagents hosts check {host.name}")
