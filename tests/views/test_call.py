"""The picture of a call: a block for each child, a line where blocks do not fit, how each has ended."""

from __future__ import annotations

from typing import Any

import pytest

from tmuxagents.status import table
from tmuxagents.views import lines as call
from tmuxagents.views.lines import TEXT, TOOL, LastLine

USAGE = {"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 15, "cost": 0.001}
NOTHING = dict.fromkeys(USAGE, 0)


def child(name: str | None = "scout", *lines: tuple[str, str], **known: Any) -> call.ChildView:
    """Return a child that has worked for 65 s."""
    run: dict[str, Any] = {"name": name, "task": "Look around, please", "status": "running", "timeout": 600}
    run |= {"reason": None, "errorMessage": None, "activity": None, "needsInput": False, "settled": False}
    run |= {"startedAt": 1.0, "elapsedSeconds": 65.0, "toolCount": 0, "usage": NOTHING}
    return call.ChildView(run | known, [LastLine(text, kind) for text, kind in lines])


def text(line: call.Line) -> str:
    return "".join(part for _, part in line)


QUEUED: dict[str, Any] = {"status": "queued", "startedAt": None, "elapsedSeconds": 0.0}
FAILED: dict[str, Any] = {"status": "failed", "reason": "error", "errorMessage": "No\nkey."}


@pytest.mark.parametrize(
    ("one", "title"),
    [
        (child(), "● scout  1m 05s of 10m"),
        (child(None, timeout=None), "● Look around, please  1m 05s"),
        (child(toolCount=1, usage=USAGE), "● scout  1m 05s of 10m · 1 tool · ↑10 ↓5 · $0.001"),
        (child(toolCount=2), "● scout  1m 05s of 10m · 2 tools"),
        (child(needsInput=True), "? scout  waiting 1m 05s of 10m"),
        (child(settled=True), "○ scout  settled 1m 05s of 10m"),
        (child(**QUEUED), "… scout  queued"),
        (child(**QUEUED, activity="waiting for a slot"), "… scout  queued: waiting for a slot"),
        (child(status="completed"), "✓ scout  completed in 1m 05s"),
        (child(**FAILED), "✗ scout  failed after 1m 05s: No key."),
        (child(status="failed", reason="exit"), "✗ scout  failed after 1m 05s: exit"),
        (child(status="failed"), "✗ scout  failed after 1m 05s"),
        (
            child(status="aborted", reason="stopped", errorMessage="Stopped."),
            "■ scout  aborted after 1m 05s: Stopped.",
        ),
        (child(status="aborted", reason="parent"), "■ scout  cancelled after 1m 05s"),
    ],
)
def test_a_title_says_how_a_child_is(one: call.ChildView, title: str) -> None:
    assert text(call.call_title(one)) == title


def test_only_what_went_wrong_is_red() -> None:
    assert {colour for colour, _ in call.call_title(child(**FAILED))} == {"31", "", "2"}
    assert "31" not in {colour for colour, _ in call.call_title(child(status="aborted", reason="stopped"))}


def test_a_child_that_works_shows_its_last_lines_and_one_that_ended_none() -> None:
    lines = (("→ edit → a.py +2/-1", TOOL), ("Now the tests.", TEXT))
    assert [text(line) for line in call.call_picture([child("one", *lines)], 10)] == [
        "● one  1m 05s of 10m",
        "  → edit → a.py +2/-1",
        "  Now the tests.",
    ]
    assert {"32", "31"} <= {colour for colour, _ in call.call_picture([child("one", *lines)], 10)[1]}
    assert len(call.call_picture([child("one", *lines, status="completed")], 10)) == 1


CHILDREN = [
    child("one", ("first", TEXT), ("  second", TEXT), usage=USAGE),
    child("two", ("third", TEXT), (" ", TEXT), status="completed"),
    child("three", ("fourth", TEXT), (" ", TEXT)),
    child("four"),
]


def test_several_children_have_blocks_below_a_summary() -> None:
    assert [text(line) for line in call.call_picture(CHILDREN, 9)] == [
        "4 runs: 3 running, 1 completed · ↑10 ↓5 · $0.001",
        "● one  1m 05s of 10m · ↑10 ↓5 · $0.001",
        "  first",
        "    second",
        "✓ two  completed in 1m 05s",
        "● three  1m 05s of 10m",
        "  fourth",
        "   ",
        "● four  1m 05s of 10m",
    ]


def test_where_blocks_do_not_fit_each_child_has_a_line() -> None:
    head, *rows = (text(line) for line in call.call_picture(CHILDREN, 8))
    assert head.startswith("4 runs: ")
    assert rows == [
        "● one  1m 05s of 10m · ↑10 ↓5 · $0.001  second",
        "● three  1m 05s of 10m  fourth",
        "● four  1m 05s of 10m",
        "✓ two  completed in 1m 05s",
    ]


@pytest.mark.parametrize("height", [1, 2, 3, 4])
def test_where_not_even_lines_fit_the_rest_is_counted(height: int) -> None:
    shown = [text(line) for line in call.call_picture(CHILDREN, height)]
    assert len(shown) == max(2, height)
    assert shown[-1] == f"… {4 - max(0, height - 2)} more"


def test_of_a_child_alone_the_title_and_the_last_lines_stay() -> None:
    alone = child("one", *((str(number), TEXT) for number in range(9)))
    assert [text(line) for line in call.call_picture([alone], 3)] == ["● one  1m 05s of 10m", "  7", "  8"]


def test_a_line_is_cut_with_its_colours() -> None:
    line = call.call_title(child("漢字" * 5, **FAILED))
    assert table.painted(line, 8) == "\x1b[31m✗\x1b[0m 漢字…"
    assert table.painted(line, 1) == "\x1b[31m✗\x1b[0m"
