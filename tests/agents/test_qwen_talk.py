"""Our lines to a Qwen Code that keeps its stdin open, and its questions for permission."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents import recordings
from tests.agents.envelope_lines import INIT, RESULT, ends, says, text, tool
from tmuxagents.agents import AGENTS
from tmuxagents.agents.capabilities import ASK, DUPLEX
from tmuxagents.agents.qwen.reader import QwenTalker
from tmuxagents.runs.documents import plan_of
from tmuxagents.runs.events import FOLLOW_UP, STEER, STOP, InboxMessage

if TYPE_CHECKING:
    from tmuxagents.runs.events import Event

AGENT = AGENTS["qwen"]
RECORDED = recordings.of("qwen", "duplex")
CANCELLED = {**RESULT, "subtype": "error_during_execution", "is_error": True, "result": None}


class Talk:
    """A talker that has said its prompt, with what it told and replied."""

    def __init__(self, *, people: bool = True) -> None:
        self.talker = QwenTalker(asks_people=people)
        self.talker.begin("go")
        self.told: list[Event] = []
        self.replies: list[dict[str, Any]] = []

    def hear(self, *lines: dict[str, Any]) -> Talk:
        """Read lines."""
        for line in lines:
            self._take(self.talker.feed(json.dumps(line).encode(), 1.0))
        return self

    def answer(self, request: str, answer: str) -> dict[str, Any]:
        """Answer a question; return the answer in its words."""
        self._take(self.talker.answer(request, answer, "a person"))
        response = self.replies[-1]["response"]
        assert (response["request_id"], response["subtype"]) == (request, "success")
        told = response["response"]
        assert isinstance(told, dict)
        return told

    def _take(self, reading: Any) -> None:
        self.told += reading.events
        self.replies += [json.loads(line) for line in reading.reply.splitlines()]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the fields of the events of one type."""
        return [event.fields for event in self.told if event.type == kind]


def asks(call: str = "c1", name: str = "write_file", **given: Any) -> dict[str, Any]:
    """Return a question for permission."""
    about = {"subtype": "can_use_tool", "tool_name": name, "tool_use_id": call, "input": given}
    return {"type": "control_request", "request_id": f"r-{call}", "request": about}


def test_the_recordings_are_there() -> None:
    assert set(RECORDED) == {"duplex_allow", "duplex_deny", "duplex_interrupt"}


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_comes_to_its_true_verdict(name: str) -> None:
    assert recordings.differences(RECORDED[name]) == []


def test_it_is_greeted_before_the_prompt_which_is_said_as_it_is() -> None:
    prompt = "--help \u2028 \x00 'é' 🎉\n" * 20_000
    greeting, said = QwenTalker().begin(prompt).splitlines()
    assert json.loads(greeting)["request"] == {"subtype": "initialize", "timeout": {"canUseTool": 600_000}}
    assert json.loads(said)["message"]["content"] == [{"type": "text", "text": prompt}]


@pytest.mark.parametrize("kind", [STEER, FOLLOW_UP])
def test_a_message_waits_for_the_end_of_the_turn(kind: str) -> None:
    talk = Talk().hear(INIT, says(text("a")))
    message = InboxMessage(1, kind, "more")
    assert (talk.talker.say(message), talk.talker.is_idle) == (None, False)
    talk.hear(RESULT)
    assert talk.talker.is_idle
    assert b'"more"' in (talk.talker.say(message) or b"")
    assert (talk.talker.is_idle, talk.talker.settled) == (False, False)


def test_the_second_turn_has_used_what_it_added_to_the_session() -> None:
    talk = Talk().hear(INIT, RESULT)
    talk.talker.say(InboxMessage(1, STEER, "more"))
    talk.hear({**RESULT, "usage": {"input_tokens": 30, "output_tokens": 5}})
    assert [(one["input"], one["output"]) for one in talk.of("usage")] == [(7, 2), (23, 3)]


def test_an_interrupt_ends_the_turn_and_nothing_else() -> None:
    talk = Talk().hear(INIT, asks())
    line = json.loads(talk.talker.say(InboxMessage(3, STOP, None)) or b"")
    assert line["request"] == {"subtype": "interrupt"}
    cut_off = ends(words="[Operation Cancelled]", is_error=True)
    talk.hear(says(tool()), cut_off, CANCELLED)
    assert (talk.of("denied"), talk.of("turn_end")[0]["stopReason"]) == ([], "aborted")
    assert talk.talker.say(InboxMessage(4, STOP, None)) == b""  # nothing runs
    assert talk.talker.asks == []


def test_a_question_is_open_until_it_is_answered() -> None:
    talk = Talk().hear(INIT, says(tool("c1", "write_file")), asks(file_path="/a"))
    (ask,) = talk.talker.asks
    assert (ask.kind, ask.text) == ("permission", "write_file: /a")
    assert talk.answer("r-c1", "allow") == {"behavior": "allow", "updatedInput": {"file_path": "/a"}}
    assert talk.talker.asks == []
    talk.hear(ends("c1"))
    assert (len(talk.of("tool_result")), talk.of("denied")) == (1, [])


@pytest.mark.parametrize(
    ("answer", "why"), [("deny", "This was denied by a person."), ("Not that file.", "Not that file.")]
)
def test_a_no_is_a_denial(answer: str, why: str) -> None:
    talk = Talk().hear(INIT, says(tool("c1", "write_file")), asks())
    assert talk.answer("r-c1", answer) == {"behavior": "deny", "message": why}
    talk.hear(ends("c1", is_error=True))
    (denied,) = talk.of("denied")
    assert (denied["callId"], denied["toolName"], denied["why"]) == ("c1", "write_file", "denied by a person")
    assert talk.of("tool_result") == []


def test_a_question_of_the_model_is_answered_by_its_place() -> None:
    question = {"question": "Which?", "options": [{"label": "Red"}, {"label": "Blue"}]}
    talk = Talk().hear(INIT, asks("c1", "ask_user_question", questions=[question]))
    (ask,) = talk.talker.asks
    assert (ask.kind, ask.text) == ("question", "Which?")
    assert [word for _, word in ask.options] == ["Red", "Blue"]
    assert talk.answer("r-c1", "Blue")["updatedInput"]["answers"] == {"0": "Blue"}


def test_what_it_answered_itself_was_denied() -> None:
    # It waits for an answer for ten minutes.
    talk = Talk().hear(INIT, says(tool()), asks(), ends(is_error=True))
    assert (talk.talker.asks, len(talk.of("denied")), talk.of("tool_result")) == ([], 1, [])


def test_where_nobody_is_to_be_asked_the_level_says_no() -> None:
    talk = Talk(people=False).hear(INIT, says(tool()), asks())
    assert talk.talker.asks == []
    assert talk.replies[0]["response"]["response"]["behavior"] == "deny"
    assert talk.of("denied")[0]["why"] == "denied by the permission level"


def test_odd_requests_are_refused_or_ignored() -> None:
    talk = Talk().hear({"type": "control_request", "request_id": "x", "request": {"subtype": "hook"}})
    assert talk.replies[0]["response"]["subtype"] == "error"
    talk.hear({"type": "control_request"}, {"type": "control_response", "response": {}})
    assert (len(talk.replies), talk.talker.answer("gone", "allow", "x").reply) == (1, b"")


def test_it_asks_where_it_was_told_to() -> None:
    has = AGENT.capabilities()
    assert (has.seats[0], has.steer) == (DUPLEX, True)
    assert ASK in has.permissions
    for permission, people in ((None, False), ("full", False), ("ask", True)):
        talker: Any = AGENT.talker(plan_of({"permission": permission}), "/r")
        assert vars(talker)["_asks_people"] is people
