"""What an agent says of its own end: the last line of its stream that tells one, in a few words. No I/O."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]


def last_claim(stdout: bytes) -> str:
    """Return the last claim of a stream."""
    claim = "none"
    for line in stdout.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict):
            claim = claim_of(said) or claim
    return claim


def claim_of(said: Json) -> str | None:
    """Return what a line claims of the end; None if nothing."""
    kind = said.get("type")
    if kind in CLAIMS:
        return CLAIMS[kind](said)
    if said.get("method") == "turn/completed":
        return f"turn {said['params']['turn'].get('status')}"
    answer = said.get("result")
    if isinstance(answer, dict) and "stopReason" in answer:
        return str(answer["stopReason"])
    return "JSON-RPC error" if "error" in said and "id" in said else None


def result_of(said: Json) -> str:
    """Word the last line of those who call it a result."""
    if "exitCode" in said:
        return f"result exitCode {said['exitCode']}"
    if "status" in said:
        return f"result {said['status']}"
    return f"result {said.get('subtype')}{' is_error' if said.get('is_error') else ''}"


CLAIMS: dict[Any, Callable[[Json], str]] = {
    "result": result_of,
    "turn.completed": lambda said: str(said["type"]),
    "turn.failed": lambda said: str(said["type"]),
    "error": lambda said: str(said["type"]),
    "session.error": lambda said: str(said["type"]),
    "step_finish": lambda said: f"step_finish {said.get('part', {}).get('reason')}",
    "turn_end": lambda said: f"stopReason {said.get('message', {}).get('stopReason')}",
}
