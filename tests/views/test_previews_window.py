"""The last lines of one child: what stands in them, in which order, how many are kept, what stands out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.agents import pi_lines
from tests.agents.pi_lines import ended, result_message, text
from tmuxagents.runs import events
from tmuxagents.runs.events import Event
from tmuxagents.text import figures
from tmuxagents.views import lines
from tmuxagents.views.lines import KEPT, TEXT, TOOL, LastLines
from tmuxagents.views.previews import Place

PLACE = Place(cwd="/proj/p", home="/home/me")


def window(most: int = 15) -> LastLines:
    return LastLines(PLACE, most)


def called(tool: str, args: Any = None, call_id: str | None = None) -> Event:
    return events.tool_call(call_id, tool, args or {})


def answered(tool: str, words: str, call_id: str | None = None, **more: Any) -> Event:
    given_: dict[str, Any] = {"is_error": False, "duration_ms": 1, **more}
    return events.tool_result(call_id, tool, text=words, **given_)


def told(*log: Event) -> list[str]:
    shown = window()
    for event in log:
        shown.take(event)
    return [row.text for row in shown.lines]


# --- rows ---


def test_words_and_calls_are_told_apart() -> None:
    shown = window()
    rows = [
        *shown.take(events.assistant_text("I look.\n\n  There.")),
        *shown.take(called("read", {"path": "a"})),
    ]
    assert [(row.text, row.kind) for row in rows] == [
        ("I look.", TEXT),
        ("  There.", TEXT),
        ("→ read → a", TOOL),
    ]
    assert rows == shown.all == shown.lines
    assert shown.tool_count == 1


def test_a_wrapped_command_takes_the_rows_that_it_takes() -> None:
    shown = LastLines(Place(cwd="/p", home="/h", width=20), 2)
    shown.take(called("bash", {"command": "make && test && lint"}))
    assert [row.text for row in shown.all] == ["→ bash → make && test &&", "│ lint"]


@pytest.mark.parametrize(
    ("event", "rows"),
    [
        (events.stderr("Warning: x"), ["[stderr]: Warning: x"]),
        (events.assistant_text("a\r\nb\x1b]8;;http://x\x07c\x1b]8;;\x07"), ["a", "bc"]),
        (events.assistant_text(" \n\t"), []),
        (Event("assistant_text", {"text": 5}), []),
        (events.turn_end("stop"), []),
        (events.thinking("hm"), []),
        (Event("human_input", {"text": "also this"}), []),
        (answered("bash", "out"), []),
        (answered("ls", "a", is_error=True), []),
        (Event("tool_call", {"toolName": None}), ["→ tool"]),
    ],
)
def test_rows_of_an_event(event: Event, rows: list[str]) -> None:
    assert told(event) == rows


def test_a_line_without_an_end_is_cut() -> None:
    (row,) = window().append("x" * 100_000, TEXT)
    assert len(row.text) == 4000
    assert row.text.endswith("x...")


# --- what a listing found ---


def test_what_was_found_stands_under_its_call_on_a_line_of_its_own() -> None:
    assert told(called("ls", {"path": "src"}), answered("ls", "a.ts\nb.ts\nlib/")) == [
        "→ ls → src",
        "  2 files, 1 dir",
    ]


def test_what_was_found_stands_under_its_call_also_where_others_came_between() -> None:
    assert told(
        called("ls", {"path": "a"}, "c1"),
        called("find", {"pattern": "*.x"}, "c2"),
        events.assistant_text("So."),
        answered("find", "1.x", "c2"),
        answered("ls", "d/", "c1"),
    ) == ["→ ls → a", "  1 dir", "→ find → *.x", "  1 match", "So."]


def test_without_ids_a_result_belongs_to_the_latest_call_without_one() -> None:
    log = [called("ls", {"path": "a"}), called("ls", {"path": "b"}), called("find", {"pattern": "x"})]
    assert told(*log, answered("ls", "1"), answered("ls", "1\n2"), answered("ls", "1\n2\n3")) == [
        *("→ ls → a", "  2 files", "→ ls → b", "  1 file", "→ find → x", "  ls: 3 files"),
    ]


def test_a_failed_listing_is_nobodys_the_next_one_is_its_own() -> None:
    log = [called("ls", {"path": "a"}, "c1"), answered("ls", "no", "c1", is_error=True)]
    assert told(*log, called("ls", {"path": "b"}, "c2"), answered("ls", "1", "c2")) == [
        *("→ ls → a", "→ ls → b", "  1 file"),
    ]


def test_of_a_long_listing_the_reader_has_counted_what_the_event_does_not_hold() -> None:
    long = "\n".join(f"file-{number}.txt" for number in range(900))
    (event,) = pi_lines.play([ended("c1", "ls", result={"content": [text(long)]})]).events
    assert len(event.fields["text"]) == 503
    assert told(called("ls", call_id="c1"), event) == ["→ ls → .", "  900 files"]


def test_of_a_long_listing_that_nobody_has_counted_there_is_more_than_one_sees() -> None:
    long = "\n".join(f"f{number:03}" for number in range(200))
    assert told(called("ls"), answered("ls", long)) == ["→ ls → .", "  100 files+"]


def test_a_listing_that_is_too_long_to_read_is_not_counted_at_all() -> None:
    raw = ended("c1", "find", result={"content": [text(pi_lines.LONG)]})
    (event,) = pi_lines.play([pi_lines.cut(raw)]).events
    assert event.fields["summary"] == f"({len(raw)} bytes)"


@pytest.mark.parametrize(
    ("tool", "words", "details", "summary"),
    [
        ("find", "a.ts", None, "1 match"),
        ("find", "No files found matching pattern", None, "0 matches"),
        ("ls", "a", {"entryLimitReached": 1}, "1 file+"),
        ("ls", "(empty directory)", {"truncation": {"truncated": False}}, "(empty)"),
        ("find", "a", {"truncation": {"truncated": True}}, "1 match+"),
        ("find", "a", {"truncation": {}}, "1 match+"),
        ("find", "a", {"truncation": None}, "1 match"),
        ("find", "a", ["resultLimitReached"], "1 match"),
        ("ls", "d/\r\n", None, "1 dir"),
        ("grep", "a", None, None),
    ],
)
def test_listing(tool: str, words: str, details: Any, summary: str | None) -> None:
    assert figures.sum_up(tool, words, details) == summary


@pytest.mark.parametrize("raw", [ended("c1", "ls"), result_message("c1", "ls")])
def test_what_a_listing_amounts_to_is_told_with_its_result(raw: bytes) -> None:
    (event,) = pi_lines.play([raw]).events
    assert event.fields["summary"] == "1 file"


@pytest.mark.parametrize("raw", [ended("c1"), ended("c1", "ls", isError=True), result_message("c1", "bash")])
def test_what_is_no_listing_amounts_to_nothing(raw: bytes) -> None:
    (event,) = pi_lines.play([raw]).events
    assert "summary" not in event.fields


@pytest.mark.parametrize("summary", ["", 5, None])
def test_a_summary_that_is_no_text_is_none(summary: Any) -> None:
    event = answered("ls", "a")
    event.fields["summary"] = summary
    assert told(called("ls"), event) == ["→ ls → .", "  1 file"]


# --- how much is kept ---


def test_the_latest_lines_are_shown_and_five_hundred_are_kept() -> None:
    shown = window(3)
    for number in range(400):
        shown.take(called("ls", {"path": str(number)}, f"c{number}"))
        shown.take(answered("ls", "x", f"c{number}"))
    assert len(shown.all) == KEPT
    assert [row.text for row in shown.lines] == ["  1 file", "→ ls → 399", "  1 file"]


def test_of_no_lines_none_is_shown() -> None:
    shown = window(0)
    shown.append("a", TEXT)
    assert (shown.lines, len(shown.all)) == ([], 1)


def test_a_result_whose_call_is_no_longer_kept_says_of_what_it_is() -> None:
    shown = window()
    shown.take(called("ls", {"path": "a"}, "c1"))
    for number in range(KEPT):
        shown.append(str(number), TEXT)
    shown.take(answered("ls", "x", "c1"))
    assert shown.lines[-1].text == "  ls: 1 file"


def test_calls_that_are_never_answered_do_not_fill_the_memory() -> None:
    shown = window()
    for number in range(KEPT + 100):
        shown.take(called("ls", call_id=f"c{number}"))
    assert len(shown._listed.all) == KEPT


# --- todos ---


@pytest.mark.parametrize(
    ("log", "total", "completed"),
    [
        ([], None, None),
        ([("write_todos", {"todos": [1, 2, 3]})], 3, 0),
        ([("write_todos", {"todos": [1, 2]}), ("write_todos", {"mode": "append", "todos": [3]})], 3, 0),
        ([("write_todos", {"mode": "append", "todos": [3]})], 1, None),
        ([("write_todos", {"todos": "x"})], 0, 0),
        ([("edit_todos", {"action": "complete", "indices": [0, 1]})], None, 2),
        (
            [("edit_todos", {"action": "abandon", "indices": [0]}), ("edit_todos", {"action": "start"})],
            None,
            1,
        ),
        (
            [
                ("write_todos", {"todos": [1]}),
                ("edit_todos", {"action": "complete", "indices": [0]}),
                ("write_todos", {"mode": "replace", "todos": [1, 2]}),
            ],
            2,
            0,
        ),
    ],
)
def test_todos_are_counted(log: list[tuple[str, Any]], total: int | None, completed: int | None) -> None:
    shown = window()
    for tool, args in log:
        shown.take(called(tool, args))
    assert (shown.todo_total, shown.todo_completed) == (total, completed)


# --- colours ---

PLAIN = [
    "→ fetch_content → https://x.io/a +5",
    "→ edit → a.ts",
    "→ read → a (lines) b",
    "→ ls → . → 0 files",
    "→ fetch_content → https://x.io/a +1/-2",
    "  (empty)",
    "3 files",
    "",
]


@pytest.mark.parametrize("row", PLAIN)
def test_what_does_not_stand_out(row: str) -> None:
    assert {colour for colour, _ in lines.spans(row)} == {lines.MUTED}


@pytest.mark.parametrize(
    ("row", "added"),
    [
        ("→ write → a +3 +4", "+4"),
        ("  → read → a+3 (3 lines)", "3"),
        ("  ls: 12 files+", "12"),
        ("  1 match", "1"),
        ("  0 matches", "0"),
        ("→ ls → src → 2 files, 1 dir", "2"),
        ("→ read → a (1 line) b", "1"),
        ("→ bash → echo +5/-3 +7/-1", "+5"),
        ("  → edit → a +1/-2 (1 edit) +0/-9", "+0"),
    ],
)
def test_what_stands_out(row: str, added: str) -> None:
    assert [part for colour, part in lines.spans(row) if colour == lines.ADDED] == [added]


@given(st.text(max_size=40) | st.sampled_from(PLAIN))
def test_the_parts_are_the_line(row: str) -> None:
    assert "".join(part for _, part in lines.spans(row)) == row


# --- whatever comes ---

LISTED = st.sampled_from(["ls", "find", "write_todos", "edit_todos", "bash"])


@given(st.lists(strategies.wild_events, max_size=10), st.integers(1, 5))
def test_whatever_a_child_sends_a_row_is_one_line_that_says_something(log: list[Event], most: int) -> None:
    shown = window(most)
    for event in log:
        shown.take(event)
    assert len(shown.lines) <= most
    for row in shown.all:
        assert row.text.strip()
        assert not set(row.text) & {"\n", "\r", "\x1b", "\x9b"}
        json.dumps(row._asdict()).encode()


@given(st.lists(st.tuples(LISTED, strategies.wild_values, st.sampled_from([None, "c1", "c2"])), max_size=12))
def test_each_result_adds_a_line_at_most(log: list[tuple[str, Any, str | None]]) -> None:
    shown = window()
    for tool, args, call_id in log:
        shown.take(Event("tool_call", {"toolName": tool, "args": args, "callId": call_id}))
        before = len(shown.all)
        shown.take(Event("tool_result", {"toolName": tool, "text": "x", "callId": call_id}))
        assert len(shown.all) - before == (tool in figures.LISTING_TOOLS)


def test_a_conversation_with_pi_as_it_was_recorded() -> None:
    shown = window()
    for event in pi_lines.play(pi_lines.STREAMS["tools_read_ls"].splitlines()).events:
        shown.take(event)
    assert [row.text for row in shown.all] == [
        "→ read → README.md",
        "→ ls → .",
        "  1 file, 2 dirs",
        "Read-only look finished.",
    ]
