"""A session's conversation: its last answer, its transcript, and the replay before a resumed task."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.agents import pi_lines
from tests.agents.pi_lines import HELLO
from tests.runs.steps import folded
from tmuxagents.registry import sessions
from tmuxagents.runs import conversation, events
from tmuxagents.runs.conversation import ASSISTANT, RESULT, USER, Message, RunMessages
from tmuxagents.runs.events import Event
from tmuxagents.tools import retrieval

USAGE = events.usage({})


def said(*log: Event, prompt: str = "p") -> list[tuple[str, str, int]]:
    return [(one.role, one.text, len(one.calls)) for one in conversation.messages(prompt, log)]


def run(*messages: Message, status: str = "completed", error: str | None = None) -> RunMessages:
    return RunMessages(status, messages, error)


# --- messages ---


def test_a_result_without_a_text_is_not_told() -> None:
    told = [run(Message(RESULT), Message(RESULT, "x"))]
    assert conversation.session_text(told) == "[tool result]: x"
    assert conversation.resume_text(told) == "Tool Result: x"


def test_an_answer_is_one_message_also_where_its_usage_comes_behind_its_results() -> None:
    result = events.tool_result("c1", "ls", is_error=False, text="a", duration_ms=1)
    log = [
        events.run_started({}),
        events.assistant_text("I look."),
        events.tool_call("c1", "ls", {}),
        result,
        USAGE,
    ]
    again = [result, USAGE, events.assistant_text("Done."), USAGE, USAGE]
    told = [(USER, "p", 0), (ASSISTANT, "I look.", 1), (RESULT, "a", 0)]
    assert said(*log) == told
    assert said(*log, *again) == [
        *told,
        (RESULT, "a", 0),
        (ASSISTANT, "", 0),
        (ASSISTANT, "Done.", 0),
        (ASSISTANT, "", 0),
    ]
    assert folded([*log, *again]).message_count == len(said(*log, *again))


def test_a_message_is_a_prompt_an_answer_or_a_result() -> None:
    assert said(
        events.assistant_text("I look."),
        events.tool_call("c1", "ls", {}),
        events.tool_call("c2", "read", {"path": "a"}),
        USAGE,
        events.tool_result("c1", "ls", is_error=False, text="a", duration_ms=1),
        events.tool_result("c2", "read", is_error=True, text="no", duration_ms=1),
        events.turn_end("toolUse"),
        events.thinking("hm"),
        USAGE,
        Event("human_input", {"text": "also b"}),
        Event("message_sent", {"kind": "steer", "text": "and c"}),
        Event("message_sent", {"kind": "stop", "text": None}),
        events.assistant_text("Done."),
        USAGE,
        events.settled(aborted=False),
    ) == [
        (USER, "p", 0),
        (ASSISTANT, "I look.", 2),
        (RESULT, "a", 0),
        (RESULT, "no", 0),
        (ASSISTANT, "", 0),
        (USER, "also b", 0),
        (USER, "and c", 0),
        (ASSISTANT, "Done.", 0),
    ]


@pytest.mark.parametrize(
    ("log", "messages"),
    [
        ([events.assistant_text("so far")], [(ASSISTANT, "so far", 0)]),
        (
            [events.assistant_text("a"), events.assistant_text("b")],
            [(ASSISTANT, "a", 0), (ASSISTANT, "b", 0)],
        ),
        (
            [USAGE, events.tool_call("c", "ls", {}), Event("tool_result", {"text": 5})],
            [(ASSISTANT, "", 0), (ASSISTANT, "", 1), (RESULT, "", 0)],
        ),
        (
            [Event("tool_call", {"toolName": 5}), Event("human_input", {"text": "x"})],
            [(ASSISTANT, "", 1), (USER, "x", 0)],
        ),
    ],
)
def test_an_answer_whose_end_is_missing_is_one(log: list[Event], messages: list[Any]) -> None:
    assert said(*log) == [(USER, "p", 0), *messages]


@pytest.mark.parametrize("name", ["text", "tools", "badtool", "err500"])
def test_messages_are_counted_like_everywhere_else(name: str) -> None:
    log = pi_lines.play(pi_lines.STREAMS[name].splitlines()).events
    assert len(said(*log)) == folded([events.run_started({}), *log]).message_count


def test_five_hundred_messages_are_told_the_latest() -> None:
    log = [Event("human_input", {"text": str(number)}) for number in range(600)]
    found = said(*log)
    assert len(found) == 500
    assert (found[0][1], found[-1][1]) == ("100", "599")


# --- the answer ---


def test_defect_7_all_of_the_last_answer_is_told_not_its_first_part_alone() -> None:
    played = pi_lines.play([pi_lines.answer(pi_lines.text("Part one"), pi_lines.text("Part two"))])
    assert conversation.output(run(*conversation.messages("p", played.events))) == "Part one\nPart two"


@pytest.mark.parametrize(
    ("messages", "output"),
    [
        ([], conversation.NO_TEXT),
        ([Message(USER, "p"), Message(RESULT, "r")], conversation.NO_TEXT),
        ([Message(ASSISTANT, "first"), Message(ASSISTANT, " \n", [("ls", "{}")])], "first"),
        ([Message(ASSISTANT, "first"), Message(ASSISTANT, "last"), Message(RESULT, "r")], "last"),
    ],
)
def test_the_last_thing_that_was_said(messages: list[Message], output: str) -> None:
    assert conversation.output(run(*messages, status="running")) == output
    assert conversation.NO_TEXT == "(no text output from sub-agent)"


def test_what_a_recorded_child_said() -> None:
    log = pi_lines.play(pi_lines.STREAMS["text"].splitlines()).events
    assert conversation.output(run(*conversation.messages("p", log))) == HELLO


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("a\nb\nc", 3, "a\nb\nc"),
        ("a\nb\nc", 2, "a\nb\n... (1 more line)"),
        ("a\nb\nc", 1, "a\n... (2 more lines)"),
        ("", 1, ""),
    ],
)
def test_a_long_text_is_shortened(text: str, most: int, shown: str) -> None:
    assert conversation.shortened(text, most) == shown


# --- transcripts ---


def test_a_session_that_said_nothing_says_so() -> None:
    assert conversation.session_output([run(Message(USER, "p"))]) == "(no messages in session)"


def test_what_was_asked_is_left_out_and_what_failed_is_told() -> None:
    failed = run(Message(USER, "p"), Message(ASSISTANT, "a"), status="aborted", error="boom")
    assert conversation.session_text([failed, run(status="queued")]) == (
        "=== Run 1/2 (error) ===\n---\na\n---\n[Error: boom]\n---\n=== Run 2/2 (running) ==="
    )


def test_arguments_and_results_are_cut() -> None:
    asked = conversation.messages("p", [events.tool_call("c", "t", {"d": "é" * 200})])[-1]
    text = conversation.resume_text([run(asked, Message(RESULT, "x" * 501))])
    call, result = text.split("\n\n")
    assert call == 'Tool Call: t({"d":"' + "é" * 114 + ")"
    assert result == f"Tool Result: {'x' * 500}..."


def test_a_result_that_an_event_has_cut_is_not_cut_again() -> None:
    event = events.tool_result("c", "ls", is_error=False, text="x" * 900, duration_ms=1)
    assert (
        conversation.session_text([run(*conversation.messages("p", [event]))])
        == f"[tool result]: {'x' * 500}..."
    )


def test_a_resumed_run_is_told_what_failed() -> None:
    assert (
        conversation.resume_text([run(Message(USER, "p"), status="failed", error="late")])
        == "User: p\n\n[Error: late]"
    )


def test_defect_3_the_run_that_begins_is_not_in_the_transcript_it_is_given() -> None:
    before, new = run(Message(USER, "a")), run(status="queued")
    assert conversation.resume_text(conversation.previous([before, new])) == "User: a"
    assert conversation.previous([run(status="running")]) == []


def test_half_a_character_does_not_break_a_prompt() -> None:
    assert conversation.resume_text([run(Message(USER, "a\ud800b"))]) == "User: a?b"


@given(st.lists(strategies.wild_events, max_size=12), st.sampled_from(["completed", "failed", "running"]))
def test_whatever_a_child_sent_can_be_told(log: list[Event], status: str) -> None:
    runs = [run(*conversation.messages("p", log), status=status)] * 2
    conversation.resume_text(runs).encode()
    assert conversation.session_text(runs).startswith("=== Run 1/2")
    assert conversation.output(runs[0])


# --- sessions ---


def test_refusals() -> None:
    assert sessions.unknown_session("x") == (
        'Session "x" not found. The session may have expired or the ID is incorrect.'
    )
    assert sessions.unknown_resume("x") == (
        'Cannot resume: session "x" not found. The session may have expired or the ID is incorrect.'
    )
    assert sessions.running_resume("x") == (
        'Cannot resume: session "x" is still running. Wait for it to complete before resuming.'
    )


def known(live: str) -> list[retrieval.Session]:
    """Return sessions, the oldest first; L works, o does not."""
    return [
        retrieval.Session(str(number), float(number), is_live=each == "L") for number, each in enumerate(live)
    ]


def ids(found: list[retrieval.Session]) -> list[str]:
    return [session.session_id for session in found]


def test_the_oldest_sessions_are_forgotten() -> None:
    assert ids(retrieval.remembered(known("o" * 34))) == [str(number) for number in range(2, 34)]
    assert len(retrieval.remembered(known("o" * 32))) == 32
    assert ids(retrieval.remembered(known("ooo")[::-1], 2)) == ["2", "1"]


def test_a_session_that_works_is_never_forgotten() -> None:
    assert ids(retrieval.remembered(known("LoLo"), 2)) == ["0", "2"]
    assert ids(retrieval.remembered(known("LLL"), 2)) == ["0", "1", "2"]


def test_of_what_says_too_much_the_latest_is_told() -> None:
    log = [event for number in range(20) for event in (events.assistant_text(f"{number} " * 500_000), USAGE)]
    told = conversation.messages("p" * 100, log)
    assert sum(len(one.text) for one in told) <= 9_000_000
    assert told[-1].text.startswith("19 ")
    calls = [events.tool_call(None, "t" * 5000, {"a": "x" * 5000})] * 3000
    (answer,) = [one for one in conversation.messages("p", calls) if one.role == ASSISTANT]
    assert sum(len(tool) + len(args) for tool, args in answer.calls) < 1000 * 400
