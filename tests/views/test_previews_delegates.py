"""The words of delegate_to_subagents: its call, the view of its children, one line for each task."""

from __future__ import annotations

from typing import Any

import pytest

from tmuxagents import records
from tmuxagents.runs import events, words
from tmuxagents.views import board
from tmuxagents.views.lines import LastLines
from tmuxagents.views.previews import Place

ID = "01a1ee15069b4c1f"


def child(**changes: Any) -> dict[str, Any]:
    known = {
        "name": "t",
        "sessionId": "s",
        "status": "running",
        "lines": [],
        "allMessages": [],
        "toolCount": 1,
    }
    return {**known, "startedAt": 0, "completedAt": None, "timeout": 60, "fileCount": 0, **changes}


def lines(*windows: dict[str, Any], expanded: bool = False, now_ms: float = 5000) -> list[str]:
    return [words for _, words in board.view(windows, expanded=expanded, now_ms=now_ms)]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("queued", "running"),
        ("running", "running"),
        ("completed", "completed"),
        ("failed", "error"),
        ("aborted", "error"),
        ("error", "error"),
    ],
)
def test_status_words_of_the_tools(ours: str, theirs: str) -> None:
    assert words.status_word(ours) == theirs


def test_the_tools_have_a_word_for_each_of_ours() -> None:
    assert {words.status_word(status) for status in records.STATUSES} == set(board._ICONS)


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (None, "delegate_to_subagents 1 sub-agent"),
        ({"tasks": []}, "delegate_to_subagents 0 sub-agent"),
        ({"tasks": "x", "profile": 5}, "delegate_to_subagents 1 sub-agent"),
        ({"tasks": [5, {"profile": "a\n"}]}, "delegate_to_subagents 2 sub-agents profiles: [a]"),
        ({"tasks": [{"profile": "a"}] * 2}, "delegate_to_subagents 2 sub-agents profiles: [a, a]"),
    ],
)
def test_call(args: Any, line: str) -> None:
    assert board.call_line(args) == line


# --- the view ---


def test_without_children_there_is_nothing_to_show() -> None:
    assert board.view([], expanded=False, now_ms=0) == [(board.ASIDE, "(no sub-agent details)")]


def test_what_each_line_is() -> None:
    rows = [{"text": "→ ls → .", "kind": "tool"}, {"text": "So.", "kind": "text"}]
    failed = child(name="a", status="failed", lines=rows, errorMessage="no\nway", completedAt=2000)
    shown = board.view([failed, child(name="b")], expanded=False, now_ms=5000)
    assert shown == [
        (board.HEAD, "Sub-agents: 1 running, 1 error"),
        (board.BLANK, ""),
        (board.TITLE, "✗ a • 1 tools • 2s/60s"),
        ("tool", "  → ls → ."),
        ("text", "  So."),
        (board.PROBLEM, "  Error: no way"),
        (board.BLANK, ""),
        (board.TITLE, "⏳ b • 1 tools • 5s/60s"),
        (board.ASIDE, "  (starting...)"),
        (board.BLANK, ""),
        (board.ASIDE, "1 running..."),
    ]


def test_an_error_is_told_of_a_task_that_has_failed() -> None:
    assert lines(child(errorMessage="500, trying again"))[3:] == ["  (starting...)", "", "1 running..."]
    assert lines(child(status="error", completedAt=0, errorMessage="no"))[4] == "  Error: no"


def test_a_text_of_several_lines_is_indented_whole() -> None:
    row = {"text": "a\nb", "kind": "text"}
    assert lines(child(lines=[row]))[3:5] == ["  a", "  b"]


def test_expanded_all_lines_are_shown() -> None:
    both = child(
        lines=[{"text": "b", "kind": "text"}], allMessages=[{"text": w, "kind": "text"} for w in "ab"]
    )
    assert lines(both, expanded=True)[3:5] == ["  a", "  b"]
    assert lines(both)[3:5] == ["  b", ""]
    assert lines(child(), expanded=True)[3] == "  (no output)"


def test_time_moves_until_the_end_and_a_task_that_waits_has_none() -> None:
    ended = child(status="completed", completedAt=42_999)
    for now_ms in (50_000, 90_000):
        assert board.title(ended, now_ms).endswith(" 42s/60s")
    assert board.title(child(), 1_999).endswith(" 1s/60s")
    assert board.title(child(startedAt=None), 1e9).endswith(" 0s/60s")
    assert board.title(child(startedAt=9000), 5000).endswith(" 0s/60s")  # clocks can be set back
    assert board.title(child(timeout=0.5), 0).endswith("/0.5s")


@pytest.mark.parametrize(
    ("setup", "shown"),
    [
        ({"profileName": None, "model": "a/b"}, ""),
        ({"profileName": "p"}, " • p"),
        ({"profileName": "p", "thinkingLevel": "high"}, " • p (high)"),
        ({"profileName": "p", "provider": "a"}, " • p (a)"),
        ({"profileName": "p", "provider": "a", "model": "b"}, " • p (a/b)"),
        ({"profileName": "p", "provider": "a", "model": "a/b", "thinkingLevel": "low"}, " • p (a/b low)"),
    ],
)
def test_profile_in_the_title(setup: dict[str, Any], shown: str) -> None:
    assert board.title(child(**setup), 0) == f"⏳ t{shown} • 1 tools • 0s/60s"


@pytest.mark.parametrize(
    ("total", "completed", "shown"),
    [(5, None, " • [0/5]"), (5, 2, " • [2/5]"), (5, 5, ""), (0, 0, ""), (None, 2, ""), (2, 3, " • [3/2]")],
)
def test_todos_in_the_title(total: Any, completed: Any, shown: str) -> None:
    title = board.title(child(todoTotal=total, todoCompleted=completed), 0)
    assert title == f"⏳ t • 1 tools{shown} • 0s/60s"


# --- one window as JSON ---


def test_a_window_as_it_stands_in_details() -> None:
    shown = LastLines(Place(cwd="/p", home="/h"), 1)
    for event in (events.tool_call(None, "bash", {"command": "make"}), events.assistant_text("Done.")):
        shown.take(event)
    run = {
        "runId": ID,
        "sessionId": ID,
        "status": "failed",
        "reason": "timeout",
        "exitCode": 143,
        "startedAt": 1794996000.141,
        "endedAt": None,
        "timeout": 300,
        "toolCount": 1,
        "files": ["a"],
        "preset": "p",
        "model": "mock/m",
        "stopReason": None,
        "errorMessage": "late",
    }
    assert board.window_document(run, "run tests", shown, {"provider": "mock", "thinkingLevel": "off"}) == {
        "name": "run tests",
        "sessionId": ID,
        "runId": ID,
        "status": "error",
        "state": "failed",
        "reason": "timeout",
        "exitCode": 143,
        "lines": [{"text": "Done.", "kind": "text"}],
        "allMessages": [{"text": "→ bash → make", "kind": "tool"}, {"text": "Done.", "kind": "text"}],
        "startedAt": 1794996000141,
        "completedAt": None,
        "timeout": 300,
        "toolCount": 1,
        "fileCount": 1,
        "profileName": "p",
        "profileInfo": None,
        "provider": "mock",
        "model": "mock/m",
        "thinkingLevel": "off",
        "stopReason": None,
        "errorMessage": "late",
        "todoTotal": None,
        "todoCompleted": None,
    }
    without = board.window_document({**run, "files": None}, "x", shown)
    assert (without["provider"], without["fileCount"]) == (None, 0)


# --- one line a task ---


@pytest.mark.parametrize(
    ("status", "more", "line"),
    [
        ("completed", {}, f"✓ build assets: completed (session: {ID})"),
        ("completed", {"message": "x"}, f"✓ build assets: completed (session: {ID})"),
        ("failed", {"message": "Timed\nout."}, f"✗ build assets: error — Timed out. (session: {ID})"),
        ("aborted", {}, f"✗ build assets: error (session: {ID})"),
        ("running", {}, f"⏳ build assets: running (session: {ID})"),
        (
            "completed",
            {"profile": "profile: p, model=a/b"},
            f"✓ build assets: completed (session: {ID}) (profile: p, model=a/b)",
        ),
        ("failed", {"message": "no", "profile": "p"}, f"✗ build assets: error — no (session: {ID}) (p)"),
    ],
)
def test_outcome_of_a_task(status: str, more: dict[str, Any], line: str) -> None:
    assert board.outcome_line("build\tassets", status, ID, **more) == line


def test_a_view_is_a_text_for_another_screen() -> None:
    shown = board.view([], expanded=False, now_ms=0)
    assert board.view_text([], now_ms=0) == "\n".join(text for _, text in shown)
