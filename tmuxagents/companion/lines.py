"""Runs as lines for a parent inside pi. Text and the names of styles only: the colours are pi's. Pure."""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.text import cause, figures, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    Row = list[tuple[str, str]]  # (style, text), the styles of render/styles

_SEPARATOR = " · "
_WAITS = ("?", "bold magenta")
_SIGNS = {
    records.QUEUED: ("…", "dim"),
    records.RUNNING: ("●", "cyan"),
    records.COMPLETED: (records.SIGNS[records.COMPLETED], "green"),
    records.FAILED: (records.SIGNS[records.FAILED], "red"),
    records.ABORTED: (records.SIGNS[records.ABORTED], "red"),
}


def child(run: Mapping[str, Any], now: float) -> dict[str, Any]:
    """Return what is shown of a child of a call: a run document, or an entry of `details.windows`."""
    status = run.get("state") or run["status"]
    sign, style = _SIGNS[status]
    return {
        "sign": sign,
        "style": style,
        "name": _name(run),
        "facts": _facts(run, status, now),
        "doing": safe.line(run.get("activity") or "") if status == records.RUNNING else "",
        "why": cause.sentence(run["errorMessage"] or "")
        if status in (records.FAILED, records.ABORTED)
        else "",
    }


def background(runs: Iterable[Mapping[str, Any]], now: float) -> list[Row]:
    """Return a line for each active run: who, how long, and what it does."""
    found: list[Row] = []
    for run in runs:
        if run["status"] in records.ENDED:
            continue
        sign, style = _WAITS if run["needsInput"] else _SIGNS[run["status"]]
        line = [(style, f"{sign} "), ("bold", _name(run)), ("dim", f"  {_facts(run, run['status'], now)}")]
        doing = safe.line(run["activity"] or "")
        found.append([*line, ("", f"  {doing}")] if doing else line)
    return found


def _name(run: Mapping[str, Any]) -> str:
    return safe.line(run.get("name") or run.get("preset") or "") or str(run["runId"])[:8]


def _facts(run: Mapping[str, Any], status: str, now: float) -> str:
    """Return status, duration, tools and costs of a run, as far as they are known."""
    used: Mapping[str, Any] = run.get("usage") or {}
    arrows = (("↑", "input"), ("↓", "output"))
    count = run["toolCount"]
    parts = (
        status if status != records.RUNNING else "",
        _lasted(run, now),
        f"{count} {'tool' if count == 1 else 'tools'}" if count else "",
        " ".join(f"{arrow}{figures.count(used[key])}" for arrow, key in arrows if used.get(key)),
        figures.money(used.get("cost") or 0.0),
    )
    return _SEPARATOR.join(part for part in parts if part)


def _lasted(run: Mapping[str, Any], now: float) -> str:
    """Return how long it has worked; an entry of `details.windows` counts in milliseconds."""
    if run["startedAt"] is None:
        return ""
    if "elapsedSeconds" in run:
        return figures.lasted(run["elapsedSeconds"])
    ended = run["completedAt"]
    return figures.lasted((now * 1000 if ended is None else ended) / 1000 - run["startedAt"] / 1000)
