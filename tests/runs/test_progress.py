"""Phrases: what a child is doing, in the words of the contract and no others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tmuxagents.runs import events
from tmuxagents.runs.events import Event
from tmuxagents.runs.narration import DEFAULT_WIDTH, Narrator


def call(tool: str, args: Any, call_id: str | None = None) -> Event:
    return Event("tool_call", {"callId": call_id, "toolName": tool, "args": args})


def result(tool: str, call_id: str | None = None, *, failed: bool = False) -> Event:
    return Event("tool_result", {"callId": call_id, "toolName": tool, "isError": failed})


def phrases(*steps: Event, width: int = DEFAULT_WIDTH) -> list[str | None]:
    narrator = Narrator(width)
    return [narrator.phrase(step) for step in steps]


# tool, argument -> call, call without it, result, failed result
WORDS = [
    ("read", {"path": "P"}, "Reading P", "Running read", "Finished reading P", "Read failed: P"),
    ("grep", {"pattern": "P"}, "Searching code for P", "Running grep", "Search finished", "Search failed"),
    ("find", {"pattern": "P"}, "Scanning for P", "Running find", "Scan finished", "Scan failed"),
    ("ls", {"path": "P"}, "Listing P", "Running ls", "Finished listing P", "Listing failed: P"),
    ("edit", {"path": "P"}, "Editing P", "Running edit", "Finished editing P", "Edit failed: P"),
    ("write", {"path": "P"}, "Writing P", "Running write", "Finished writing P", "Write failed: P"),
    ("bash", {"command": "make all"}, "make all", "Running bash", "Finished: make all", "Failed: make all"),
    ("deploy", {"to": "P"}, "Running deploy", "Running deploy", "deploy finished", "deploy failed"),
]


@pytest.mark.parametrize("row", WORDS, ids=[row[0] for row in WORDS])
def test_words_of_a_tool(row: tuple[str, dict[str, str], str, str, str, str]) -> None:
    tool, args, begun, bare, done, failed = row
    assert phrases(call(tool, args), result(tool)) == [begun, done]
    assert phrases(call(tool, args), result(tool, failed=True)) == [begun, failed]
    assert phrases(call(tool, {}), result(tool)) == [bare, f"{tool} finished"]
    assert phrases(call(tool, {}), result(tool, failed=True)) == [bare, f"{tool} failed"]
    assert phrases(result(tool), result(tool, failed=True)) == [f"{tool} finished", f"{tool} failed"]


@pytest.mark.parametrize(
    ("args", "phrase"),
    [
        ({"filePath": "a.ts"}, "Reading a.ts"),
        ({"file_path": "a.ts"}, "Reading a.ts"),
        ({"path": "a.ts", "filePath": "b.ts"}, "Reading a.ts"),
        ({"path": "/home/dev/app/src/a.ts"}, "Reading /home/dev/app/src/a.ts"),
        ({"path": "{0} {x} %s"}, "Reading {0} {x} %s"),
        ({"path": " "}, "Running read"),
        ({"path": 5}, "Running read"),
        ({"path": None}, "Running read"),
        ({"pattern": "a"}, "Running read"),
        (None, "Running read"),
        (["path"], "Running read"),
        ("path", "Running read"),
    ],
)
def test_a_path_is_named_as_the_child_gave_it_and_never_made_up(args: Any, phrase: str) -> None:
    assert phrases(call("read", args)) == [phrase]


@pytest.mark.parametrize(
    ("command", "width", "shown"),
    [
        ("ls -la", 20, "ls -la"),
        ("x" * 20, 20, "x" * 20),
        ("x" * 21, 20, "x" * 17 + "..."),
        ("x" * 500, DEFAULT_WIDTH, "x" * 157 + "..."),
        ("cd src\nmake\n", 20, "cd src"),
        ("\n\n  make  \nmore", 20, "make"),
        ("{}", 20, "{}"),
    ],
)
def test_of_a_command_the_first_line_is_shown_cut_to_the_width(command: str, width: int, shown: str) -> None:
    steps = call("bash", {"command": command}), result("bash")
    assert phrases(*steps, width=width) == [shown, f"Finished: {shown}"]


# --- which call a result belongs to ---

A, B = call("read", {"path": "a"}, "c1"), call("read", {"path": "b"}, "c2")


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        pytest.param([A, B, result("read", "c1")], "Finished reading a", id="the one with its callId"),
        pytest.param([A, B, result("read", "c2")], "Finished reading b", id="the other one"),
        pytest.param([A, B, result("read")], "Finished reading b", id="without: the latest unanswered"),
        pytest.param([A, B, result("read"), result("read")], "Finished reading a", id="then the one before"),
        pytest.param(
            [A, result("read", "c1"), result("read", "c1")], "read finished", id="none answers twice"
        ),
        pytest.param([A, result("read", "c9")], "read finished", id="an unknown callId"),
        pytest.param([A, result("grep")], "grep finished", id="without, and of another tool"),
        pytest.param([A, result("grep", "c1")], "Finished reading a", id="the callId counts, not the name"),
        pytest.param([call("ls", {"path": "."}), A, result("ls")], "Finished listing .", id="an older tool"),
    ],
)
def test_a_result_names_its_call(steps: list[Event], told: str) -> None:
    assert phrases(*steps)[-1] == told


def test_calls_that_are_never_answered_do_not_fill_the_memory() -> None:
    narrator = Narrator()
    for number in range(1500):
        narrator.phrase(call("read", {"path": str(number)}, f"c{number}"))
    assert narrator.phrase(result("read", "c1499")) == "Finished reading 1499"
    assert narrator.phrase(result("read", "c500")) == "Finished reading 500"
    assert narrator.phrase(result("read", "c499")) == "read finished"


# --- text, and what has no words ---


@pytest.mark.parametrize("text", ["I look.", "  two\nlines  ", "Running read", "{}"])
def test_text_is_told_as_it_is(text: str) -> None:
    assert phrases(events.assistant_text(text)) == [text]


@pytest.mark.parametrize("text", ["", "  ", "\n\t", None, 5])
def test_blank_text_tells_nothing(text: Any) -> None:
    assert phrases(Event("assistant_text", {"text": text})) == [None]


@pytest.mark.parametrize("tool", ["", None, 5])
def test_a_tool_without_a_name_is_a_tool(tool: Any) -> None:
    nameless = Event("tool_call", {"toolName": tool}), Event("tool_result", {"toolName": tool})
    assert phrases(*nameless) == ["Running tool", "tool finished"]


@given(
    strategies.wild_events.filter(
        lambda event: event.type not in ("assistant_text", "tool_call", "tool_result")
    )
)
def test_other_events_have_no_words(event: Event) -> None:
    assert phrases(event) == [None]


told_of = strategies.events(
    strategies.wild_values, st.sampled_from(["assistant_text", "tool_call", "tool_result"])
)


@given(st.lists(told_of, max_size=6), st.integers(20, 200))
def test_whatever_a_child_sends_a_phrase_is_some_text_or_none(log: list[Event], width: int) -> None:
    assert all(told is None or told.strip() for told in phrases(*log, width=width))
