"""What is asked of a tmuxagents on another machine, and what it answers: one JSON line each way. Pure."""

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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

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
