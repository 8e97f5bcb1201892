"""Events become blocks."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.render.drawn import plain, screen, told
from tmuxagents.records import Verdict
from tmuxagents.render import rows, story, styles, tool_calls
from tmuxagents.render.story import Block, Story
from tmuxagents.runs import events
from tmuxagents.runs.documents import plan_of
from tmuxagents.runs.events import Event
from tmuxagents.runs.lifecycle import RunState

META = {
    "runId": "01a1ee15069b4c1f",
    "name": "sessions",
    "agent": "pi",
    "resolvedModel": "mock/text",
    "cwd": "/home/ann/shop",
    "task": "Find where sessions are created.",
}


def head(width: int = 60, home: str = "/home/ann", **changes: Any) -> list[str]:
    found = Story()
    found.head(plan_of({**META, **changes}), home)
    return plain(rows.all_rows(found.blocks, width))


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, ["sessions  pi mock/text  ~/shop", "\u203a Find where sessions are created."]),
        (
            {"name": None, "resolvedModel": None},
            ["01a1ee15  pi  ~/shop", "\u203a Find where sessions are created."],
        ),
        (
            {"cwd": "/home/anna"},
            ["sessions  pi mock/text  /home/anna", "\u203a Find where sessions are created."],
        ),
        ({"cwd": "/home/ann", "task": "a\n b"}, ["sessions  pi mock/text  ~", "\u203a a", "   b"]),
        ({"task": "1\n2\n3\n4"}, ["sessions  pi mock/text  ~/shop", "\u203a 1", "  2", "  3", "  4"]),
        (
            {"task": "1\n2\n3\n4\n5"},
            ["sessions  pi mock/text  ~/shop", "\u203a 1", "  2", "  3", "  … 2 more lines"],
        ),
        ({"task": "\x1b[31m", "cwd": "a\nb\x1b[2J"}, ["sessions  pi mock/text  a b", "\u203a"]),
    ],
)
def test_the_head_says_what_the_run_is(changes: dict[str, Any], shown: list[str]) -> None:
    assert head(**changes) == shown


def test_without_a_home_the_directory_is_whole() -> None:
    assert head(home="")[0] == "sessions  pi mock/text  /home/ann/shop"


def call(number: int, tool: str, **args: Any) -> Event:
    return events.tool_call(f"call{number}", tool, args)


def result(number: int, tool: str, text: str = "", *, failed: bool = False, ms: int | None = None) -> Event:
    return events.tool_result(f"call{number}", tool, is_error=failed, text=text, duration_ms=ms)


def right(left: str, times: str, width: int = 60) -> str:
    return left + times.rjust(width - len(left))


@pytest.mark.parametrize(
    ("what", "shown"),
    [
        ([call(1, "read", path="a.py")], [right("▸ Reading a.py", "0:00")]),
        (
            [call(1, "read", path="a.py"), result(1, "read", "x\ny\n", ms=2100)],
            [right("✓ Reading a.py  2 lines", "2.1s   0:01")],
        ),
        (
            [
                call(1, "ls", path="."),
                Event("tool_result", {"callId": "call1", "toolName": "ls", "summary": "2 files"}),
            ],
            [right("✓ Listing .  2 files", "0:01")],
        ),
        (
            [call(1, "read", path="a.py"), result(1, "read", "no such file", failed=True)],
            [right("✗ Reading a.py", "0:01"), "    no such file"],
        ),
        (
            [call(1, "bash", command="make\nmake test"), result(1, "bash", "ok\n", ms=40)],
            [right("✓ $ make", "0:01"), "    ok"],
        ),
        (
            [
                call(1, "bash", command="make"),
                result(1, "bash", "oh\nCommand exited with code 2", failed=True),
            ],
            [right("✗ $ make  exit 2", "0:01"), "    oh"],
        ),
        (
            [call(1, "edit", path="a", oldText="x", newText="y"), result(1, "edit", "Replaced 1 block")],
            [right("✓ Editing a  +1 -1", "0:01"), "    - x", "    + y"],
        ),
        (
            [
                call(1, "edit", path="a", oldText="x", newText="y"),
                result(1, "edit", "not found", failed=True),
            ],
            [right("✗ Editing a  +1 -1", "0:01"), "    not found"],
        ),
        (
            [call(1, "web", query="q"), result(1, "web", "found")],
            [right('✓ Running web  {"query":"q"}', "0:01"), "    found"],
        ),
        ([result(9, "read", "x")], [right("✓ Running read  1 line", "0:00")]),
        (
            [call(1, "read", path="a"), call(2, "read", path="b"), result(2, "read", "x")],
            [right("✓ Reading b  1 line", "0:02"), right("▸ Reading a", "0:00")],
        ),
        ([events.thinking("so\nand so")], ["· so and so"]),
        ([events.thinking("word " * 20)], ["· " + "word " * 10 + "word…"]),
        ([events.thinking(" ")], []),
        ([events.assistant_text("**Done.**\n\nAll `good`.")], ["  Done.", "", "  All good."]),
        ([events.assistant_text(" \n")], []),
        (
            [events.assistant_text("a"), call(1, "read", path="a"), events.assistant_text("b")],
            ["  a", "", "  b", "", right("▸ Reading a", "0:01")],
        ),
        (
            [events.retry(attempt=2, most=3, delay_ms=2000, message='500: {"message":"no"}')],
            ["· Retry 2/3 in 2.0s: no (500)"],
        ),
        ([events.retry(attempt=None, most=3, delay_ms=None, message=None)], ["· Retry"]),
        ([events.stderr("odd\x1b[31m thing")], ["· stderr: odd thing"]),
        ([events.left_behind(pid=7, comm="tmux", why="serves")], ["· Left running: tmux (7): serves"]),
        ([events.needs_input("confirm", "Go on?")], ["? Waits for a person: Go on?"]),
        ([events.needs_input("select", None)], ["? Waits for a person: select"]),
        ([events.denied(None, "bash", "no")], ["· Denied: bash: no"]),
        (
            [
                call(1, "bash", command="a"),
                call(2, "bash", command="b"),
                events.denied("call1", "bash", "no"),
            ],
            [right("✗ $ a", "0:02"), "· Denied: bash: no", right("▸ $ b", "0:01")],
        ),
        ([events.human_input("and\nthis")], ["\u203a Typed: and", "  this"]),
        ([events.message_sent(1, "steer", "stay")], ["\u203a Sent: stay"]),
        ([events.usage({}), events.settled(aborted=False), Event("from_the_future", {})], []),
    ],
)
def test_events_are_shown(what: list[Event], shown: list[str]) -> None:
    assert [line for line in screen(*what) if line or "" in shown] == shown


def test_times_count_from_the_start_of_the_run() -> None:
    for before in ([], [events.queued(1)], [events.stderr("x")]):
        found = told(*before, events.run_started({}), events.turn_end("stop"), result(1, "read"))
        assert found[-1].since == 2.0
    assert [block.since for block in told(events.queued(1), result(1, "read"), result(2, "read"))] == [
        0.0,
        1.0,
    ]


def test_calls_stand_together_and_all_else_apart() -> None:
    shown = screen(
        events.assistant_text("a"),
        result(1, "read"),
        result(2, "read"),
        events.stderr("x"),
        events.thinking("b"),
    )
    assert [bool(line) for line in shown] == [True, False, True, True, True, False, True]


def test_a_long_answer_has_its_two_ends() -> None:
    (block,) = told(events.assistant_text("a" * 20_000 + "b" * 20_000))
    assert len(block.words) < 33_000
    assert block.words.strip("ab").strip() == "[… 7,232 characters …]"
    assert block.size == len(block.words)


def test_the_whole_shows_what_was_read() -> None:
    for limits, lines in ((tool_calls.WINDOW, 0), (tool_calls.WHOLE, 2)):
        found = Story(limits)
        found.take(result(1, "read", "x\ny"))
        assert [len(block.parts) for block in found.blocks] == [lines]


def test_a_note_of_nothing_is_none() -> None:
    found = Story()
    found.note("\x1b[2J ")
    found.note("here", 5.0)
    assert [(block.words, block.since) for block in found.blocks] == [("here", 0.0)]


# --- the end ---


def used(**figures: float) -> RunState:
    state = RunState()
    state.tool_count = int(figures.pop("tools", 0))
    state.usage.update(figures)
    return state


@pytest.mark.parametrize(
    ("verdict", "seconds", "state", "shown"),
    [
        (
            Verdict("completed", "done"),
            72.3,
            used(tools=8, input=8900, output=1900, cost=0.06),
            ["✓ completed in 1m 12s · 8 tools · ↑8.9k ↓1.9k · $0.06"],
        ),
        (Verdict("completed", "done"), 4, used(tools=1), ["✓ completed in 4.0s · 1 tool"]),
        (Verdict("completed", "done"), 4, None, ["✓ completed in 4.0s"]),
        (
            Verdict("failed", "error", '429: {"message":"Quota exceeded.","type":"x"}'),
            9,
            used(input=10),
            ["✗ failed (error) in 9.0s · ↑10", "  Quota exceeded (429)"],
        ),
        (Verdict("failed", "exit"), 0.2, None, ["✗ failed (exit) in 0.2s"]),
        (Verdict("aborted", "stopped", "Stopped."), 60, None, ["■ aborted (stopped) in 1m 00s"]),
    ],
)
def test_the_end_says_how_it_ended_and_why(
    verdict: Verdict, seconds: float, state: RunState | None, shown: list[str]
) -> None:
    assert plain(rows.of(story.closing(verdict, seconds, state), 60)) == shown


def test_calls_that_never_ended_are_shown_as_broken_off() -> None:
    found = Story()
    found.take(call(1, "read", path="a"))
    found.take(events.tool_call(None, "bash", {"command": "make"}))
    found.close(Verdict("aborted", "stopped"), 5.0)
    assert [(block.kind, block.state) for block in found.blocks] == [
        ("call", "bad"),
        ("call", "bad"),
        ("end", "bad"),
    ]
    assert found.open == []


# --- properties ---


@given(st.lists(strategies.wild_events, max_size=6), st.integers(1, 90))
def test_whatever_a_child_sends_fits_and_is_inert(what: list[Event], width: int) -> None:
    for limits in (tool_calls.WINDOW, tool_calls.WHOLE):
        found = Story(limits)
        for event in what:
            found.take(event)
        found.close(Verdict("failed", "error", "\x1b[2J"), 1.0)
        for row in rows.all_rows(found.blocks, width):
            assert styles.width_of(row) <= max(width, 14)
            line = styles.format_row(row, colour=False)
            assert [sign for sign in line if unicodedata.category(sign) == "Cc"] == []


def test_a_narrow_place_shows_no_times() -> None:
    block = Block(story.CALL, "Reading src/some/long/path.py", state=story.BAD)
    block.code = 3
    assert plain(rows.of(block, 30)) == ["✗ Reading src/some/lo…  exit 3"]
    block.code, block.aside = None, "many words that say much"
    assert plain(rows.of(block, 30)) == ["✗ Reading src/so…  many words…"]


def test_a_long_line_of_a_failure_has_two_rows() -> None:
    shown = screen(result(1, "bash", "word " * 40, failed=True), width=60)
    assert shown[1:] == ["    " + "word " * 10 + "word", "    " + "word " * 10 + "word …"]
    assert screen(result(1, "bash", "word " * 40), width=60)[1:] == ["    " + "word " * 10 + "word…"]
