"""The readable transcript: its head, an entry for each event, its last line; and the title of the pane."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import strategies
from tmuxagents.records import Verdict
from tmuxagents.runs import events, narration
from tmuxagents.runs.documents import plan_of
from tmuxagents.runs.events import Event
from tmuxagents.runs.narration import Narrator
from tmuxagents.text.width import columns

META = {
    "runId": "01a1ee15069b4c1f",
    "task": "Find where sessions are created.",
    "preset": "repo-scout",
    "presetSource": "project",
    "resolvedModel": "mock/mock-text",
    "cwd": "/home/dev/app",
    "agent": "pi",
}
STARTED = "2026-11-18T09:03:11Z"


def header(**changes: Any) -> list[str]:
    plan = plan_of({**META, **changes})
    return narration.header(plan, STARTED)


def test_the_header_is_generic_and_in_a_fixed_order() -> None:
    assert header() == [
        "Run: 01a1ee15069b4c1f",
        "Task: Find where sessions are created.",
        "Preset: repo-scout (project)",
        "Model: mock/mock-text",
        "Cwd: /home/dev/app",
        f"Started: {STARTED}",
        "",
    ]


def test_the_header_has_a_line_only_where_there_is_a_value() -> None:
    lines = header(preset=None, presetSource=None, resolvedModel=None)
    assert [line.split(":")[0] for line in lines] == ["Run", "Task", "Cwd", "Started", ""]


def test_a_preset_of_nowhere_is_named_alone() -> None:
    assert header(presetSource=None)[2] == "Preset: repo-scout"


@pytest.mark.parametrize(
    ("task", "shown"),
    [
        ("one\ntwo", "Task: one"),
        ("\n\n  one  \ntwo", "Task: one"),
        ("x" * 120, "Task: " + "x" * 120),
        ("x" * 121, "Task: " + "x" * 117 + "..."),
        ("a\x1b]52;c;eA==\x07b \x1b[31mc", "Task: ab c"),
        ("a\x1b]0;two\nlines\x07b", "Task: a"),
    ],
)
def test_the_header_shows_the_first_line_of_the_task(task: str, shown: str) -> None:
    assert header(task=task)[1] == shown


@pytest.mark.parametrize("task", [None, 5, "", " \n "])
def test_a_task_that_shows_nothing_has_no_line(task: Any) -> None:
    assert [line for line in header(task=task) if line.startswith("Task")] == []


def test_no_value_of_the_header_breaks_out_of_its_line() -> None:
    lines = header(cwd="/home/dev/a\nRun: forged\x1b[2J", preset="p\x9b31m\nq", resolvedModel="m \r\u2028n")
    assert lines[2:5] == ["Preset: p q (project)", "Model: m n", "Cwd: /home/dev/a Run: forged"]


# --- one entry an event ---

ENTRIES = [
    (events.assistant_text("\nI look.\n\n  There.\n"), "I look.\n\n  There."),
    (events.assistant_text("red \x1b[31malert\x1b[0m"), "red alert"),
    (events.tool_call(None, "read", {"path": "src/a.ts"}), "Reading src/a.ts"),
    (events.tool_call(None, "read", {"path": "a\nb\x1b[31m"}), "Reading a b"),
    (events.tool_result(None, "ls", is_error=False, text="x", duration_ms=1), "ls finished"),
    (events.tool_result(None, "ls", is_error=True, text="x", duration_ms=1), "ls failed"),
    (events.stderr("Warning:\x1b[31m odd  "), "[stderr]: Warning: odd"),
    (events.retry(attempt=2, most=3, delay_ms=1, message="500:\nno"), "Retry 2/3: 500: no"),
    (events.retry(attempt=2, most=3, delay_ms=1, message=None), "Retry 2/3: no message"),
    (
        Event("retry", {"attempt": "\x1b[2J\ud800", "maxAttempts": 3}),
        "Retry \N{REPLACEMENT CHARACTER}/3: no message",
    ),
    (
        events.left_behind(pid=7, comm="tmux: server", why="is a service"),
        "Left running: tmux: server (7): is a service",
    ),
]


@pytest.mark.parametrize(("event", "words"), ENTRIES, ids=[row[1] for row in ENTRIES])
def test_entry(event: Event, words: str) -> None:
    line = narration.entry(event, Narrator().phrase(event))
    assert line == words


@pytest.mark.parametrize(
    "event",
    [
        *(
            events.usage({}),
            events.turn_end("stop"),
            events.settled(aborted=False),
            events.child_exited(0, None),
        ),
        *(events.thinking("hm"), events.run_started({}), Event("queued", {"position": 1})),
        *(events.assistant_text(""), events.assistant_text(" \n"), Event("from_the_future", {"text": "x"})),
        events.assistant_text("\x1b[31m\x1b[0m"),
    ],
    ids=lambda event: repr((event.type, event.fields)),
)
def test_an_event_without_words_has_no_entry(event: Event) -> None:
    assert narration.entry(event, Narrator().phrase(event)) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("  building\x1b[K  ", "  building"),
        ("10%\r20%\r", "10%\n20%"),
        ("x" * 2000, "x" * 2000),
        ("x" * 2001, "x" * 1997 + "..."),
    ],
)
def test_output_that_is_no_event_is_shown_too(text: str, words: str) -> None:
    line = narration.plain_output(text)
    assert line == words


@pytest.mark.parametrize("text", ["", "  ", "\x1b[2J", "\r\n"])
def test_output_that_shows_nothing_has_no_entry(text: str) -> None:
    assert narration.plain_output(text) is None


@given(strategies.wild_events)
@example(events.assistant_text("\ud800"))
@example(Event("stderr", {"text": "\ud800\x1b]0;x\x07"}))
@example(events.left_behind(pid=1, comm="a\nb\x9b31m", why="\u202e"))
def test_no_entry_holds_what_a_terminal_obeys(event: Event) -> None:
    line = narration.entry(event, Narrator().phrase(event))
    if line is not None:
        assert [sign for sign in line if unicodedata.category(sign) == "Cc" and sign not in "\n\t"] == []


# --- how it ended ---


@pytest.mark.parametrize(
    ("verdict", "lasted", "words"),
    [
        (Verdict("completed", "done"), 42.37, "Completed after 42s"),
        (
            Verdict("failed", "timeout", "Timed out after 600s."),
            600.0,
            "Failed (timeout) after 600s: Timed out after 600s.",
        ),
        (Verdict("failed", "error", "500:\n\x1b[31mno"), 0.4, "Failed (error) after 0s: 500: no"),
        (Verdict("failed", "exit"), 1.0, "Failed (exit) after 1s"),
        (Verdict("aborted", "stopped", "Stopped."), 5.9, "Aborted (stopped) after 5s"),
    ],
)
def test_the_last_line(verdict: Verdict, lasted: float, words: str) -> None:
    line = narration.closing(verdict, lasted)
    assert line == words


# --- the title of the pane ---


@pytest.mark.parametrize(
    ("activity", "title"),
    [
        ("Reading src/auth.ts", "Reading src/auth.ts"),
        ("#[fg=red]#(reboot) done", "[fg=red](reboot) done"),
        ("two\nlines\x07\x1b]0;x\x07", "two lines"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 57 + "..."),
        ("#" * 70 + "x", "x"),
        ("漢" * 30, "漢" * 30),
        ("漢" * 31, "漢" * 28 + "..."),
        ("漢字a" * 12, "漢字a" * 12),
        ("é" * 60, "é" * 60),
        ("é" * 61, "é" * 57 + "..."),
        ("Прочитал файл " * 5, "Прочитал файл " * 4 + "П..."),
        ("a" * 29 + "漢" * 16, "a" * 29 + "漢" * 14 + "..."),
        ("漢" + "é" * 59, "漢" + "é" * 55 + "..."),
    ],
    ids=[
        *("short", "marks", "lines", "60", "61", "marks count nothing", "60 wide", "62 wide", "60 mixed"),
        *("60 with accents", "61 with accents", "cyrillic", "61 mixed, wide end", "61 mixed, narrow end"),
    ],
)
def test_the_title_is_one_line_without_controls_and_marks(activity: str, title: str) -> None:
    assert narration.title(activity) == b"\x1b]2;" + title.encode() + b"\x07"


@given(strategies.rough_text)
@example("漢字" * 40)
@example("\ud800")
def test_a_title_ends_where_it_should_and_fits_60_columns(activity: str) -> None:
    words = narration.title(activity).decode().removeprefix("\x1b]2;").removesuffix("\x07")
    assert [sign for sign in words if unicodedata.category(sign) == "Cc" or sign == "#"] == []
    assert columns(words) <= 60


@given(st.text("aé漢ｱ", min_size=31, max_size=90))
def test_a_title_that_is_cut_is_as_long_as_it_can_be(activity: str) -> None:
    words = narration.title(activity).decode().removeprefix("\x1b]2;").removesuffix("\x07")
    kept = words.removesuffix("...")
    assert activity.startswith(kept)
    assert words == activity if columns(activity) <= 60 else columns(words) in (59, 60)


@given(st.text(), st.floats(0, 1e6))
def test_no_message_breaks_out_of_the_last_line(message: str, lasted: float) -> None:
    words = narration.closing(Verdict("failed", "error", message), lasted)
    assert words.splitlines() == [words]


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (events.human_input("and\nthis\x1b[2J"), "Typed: and\nthis"),
        (events.message_sent(1, "steer", "stay"), "Sent: stay"),
        (events.message_sent(2, "stop", None), "Sent: stop"),
        (events.needs_input("confirm", "Go on?"), "Waits for a person: Go on?"),
        (events.needs_input("select", None), "Waits for a person: select"),
    ],
)
def test_what_is_said_to_a_live_child_stands_there(event: Event, words: str) -> None:
    line = narration.entry(event, None)
    assert line == words
