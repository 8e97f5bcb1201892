"""What a client is told of a call that takes longer than it can wait for: who works, and how to ask later."""

from __future__ import annotations

from tmuxagents.core import sanitize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


def still_working(last: Mapping[str, Any] | None, limit_s: float) -> dict[str, Any]:
    """Return the document of a call that goes on without its client. `last`: what was told of it last."""
    details: Mapping[str, Any] = last["details"] if last is not None else {}
    lines = [f"Not done after {limit_s:g} s. It goes on; ask again later:", *_lines(details)]
    content = [{"type": "text", "text": "\n".join(lines)}]
    return {"content": content, "details": details, "isError": False}


def _lines(details: Mapping[str, Any]) -> Iterator[str]:
    for run in details.get("runs", ()):
        yield f'{_called(run)} {run["status"]}: background_agent_status {{"runId": "{run["runId"]}"}}'
    for window in details.get("windows", ()):
        ask = f'get_subagent_output {{"sessionId": "{window["sessionId"]}"}}'
        yield f"{_called(window)} {window['state']}: {ask}"


def _called(run: Mapping[str, Any]) -> str:
    return sanitize.line(str(run.get("preset") or run.get("name") or "agent"))
