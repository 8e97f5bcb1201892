"""Runs as lines for a parent inside pi."""

from __future__ import annotations

from typing import Any

import pytest

from tmuxagents import companion

USAGE = {"input": 8900, "output": 1900, "cost": 0.06}


def run(**changes: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "runId": "0123456789abcdef",
        "name": "finder",
        "preset": "scout",
        "status": "running",
        "startedAt": 100.0,
        "elapsedSeconds": 72.0,
        "toolCount": 3,
        "activity": "Reading a.ts",
        "errorMessage": None,
        "needsInput": False,
        "usage": USAGE,
    }
    return known | changes


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        (
            {},
            ("●", "cyan", "finder", "1m 12s · 3 tools · ↑8.9k ↓1.9k · $0.06", "Reading a.ts", ""),
        ),
        (
            {"status": "failed", "toolCount": 1, "usage": {}, "errorMessage": '401: {"message":"No key."}'},
            ("✗", "red", "finder", "failed · 1m 12s · 1 tool", "", "No key (401)"),
        ),
        (
            {
                "status": "queued",
                "name": None,
                "startedAt": None,
                "toolCount": 0,
                "usage": {},
            },
            ("…", "dim", "scout", "queued", "", ""),
        ),
        (
            {"status": "completed", "name": None, "preset": None, "usage": {}, "toolCount": 0},
            ("✓", "green", "01234567", "completed · 1m 12s", "", ""),
        ),
    ],
)
def test_a_child_is_a_line_with_its_cause(changes: dict[str, Any], shown: tuple[str, ...]) -> None:
    found = companion.child_line(run(**changes), 0.0)
    assert tuple(found.values()) == shown


@pytest.mark.parametrize(("ended", "lasted"), [(None, "5.0s"), (102_000, "2.0s")])
def test_a_window_of_a_delegated_task_is_one_too(ended: int | None, lasted: str) -> None:
    window = {"name": "n", "runId": "0" * 16, "status": "error", "state": "aborted", "toolCount": 0}
    window |= {"startedAt": 100_000, "completedAt": ended, "errorMessage": None}
    assert companion.child_line(window, 105.0)["facts"] == f"aborted · {lasted}"


def test_the_background_has_a_line_for_each_active_run() -> None:
    runs = [run(), run(status="completed"), run(name="asks", needsInput=True, activity=None)]
    first, second = companion.background_line(runs, 0.0)
    assert first == [
        ("cyan", "● "),
        ("bold", "finder"),
        ("dim", "  1m 12s · 3 tools · ↑8.9k ↓1.9k · $0.06"),
        ("", "  Reading a.ts"),
    ]
    assert second[:2] == [("bold magenta", "? "), ("bold", "asks")]
    assert len(second) == 3
