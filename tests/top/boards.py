"""Runs for tests of `top`: entries of any state, and a board of them."""

from __future__ import annotations

from typing import Any

from tmuxagents import records
from tmuxagents.top.rows import Entry
from tmuxagents.top.view import Board, TopView

NOW = 10_000.0
USED_NOTHING = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0) | {"cost": 0.0}


def entry(number: int = 1, *, host: str | None = None, **changes: Any) -> Entry:
    """Return a run that has worked for a minute, with some of its document changed."""
    run: dict[str, Any] = {
        "runId": f"{number:016x}",
        "name": f"run-{number}",
        "preset": None,
        "driver": "batch",
        "status": records.RUNNING,
        "reason": None,
        "task": f"Task number {number}",
        "model": "mock/mock-text",
        "cwd": "/home/dev/app",
        "createdAt": NOW - 70,
        "startedAt": NOW - 65,
        "endedAt": None,
        "elapsedSeconds": 60.4,
        "timeout": 600,
        "lastEventAt": NOW - 1,
        "activity": "Reading a.ts",
        "errorMessage": None,
        "output": None,
        "needsInput": False,
        "settled": False,
        "usage": {**USED_NOTHING, "input": 3000, "output": 240, "totalTokens": 3240, "cost": 0.0123},
    }
    return Entry(run | changes, f"{number:08x}", host=host)


def over(number: int = 1, status: str = records.COMPLETED, **changes: Any) -> Entry:
    """Return a run that has ended."""
    ended = {"status": status, "reason": "done", "activity": None, "endedAt": NOW - number, "output": "Fine."}
    return entry(number, **(ended | changes))


def board(*entries: Entry, **changes: Any) -> Board:
    """Return what is known of these runs."""
    counts = dict.fromkeys((*records.STATUSES, "total"), 0)
    for one in entries:
        counts[one.run["status"]] += 1
    told: dict[str, Any] = {"waiting": 0, "at": NOW, "project": "/home/dev/app", "elsewhere": 0}
    return Board(entries, counts | {"total": len(entries)}, **(told | changes))


def shown(*entries: Entry, **how: Any) -> TopView:
    """Return a view of these runs."""
    view = TopView(**how)
    view.take(board(*entries))
    return view
