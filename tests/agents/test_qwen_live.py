"""A live Qwen Code: its second output and its hooks as events, and its command line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents import recordings
from tests.agents.envelope_lines import ends, says, text, tool
from tests.agents.lines import Heard, kinds_of, plan
from tmuxagents.agents import AGENTS
from tmuxagents.agents.capabilities import LIVE as LIVE_SEAT
from tmuxagents.agents.qwen.command import LIVE, QwenLiveReader
from tmuxagents.records import Exit
from tmuxagents.runs import endings, events

AGENT = AGENTS["qwen"]
RECORDED = {name: one for name, one in recordings.of("qwen", "live").items() if "hooks" in name}
SENT = {1: events.message_sent(1, "steer", "more")}
STOP = {"hook_event_name": "Stop", "last_assistant_message": "Done."}
IDLE = {"hook_event_name": "Notification", "notification_type": "idle_prompt"}
FAILED = {
    "hook_event_name": "StopFailure",
    "error_details": "400 no",
    "last_assistant_message": "[API Error: 400 no]",
}


class Child(Heard):
    """A live Qwen Code."""

    def __init__(self, *lines: dict[str, Any]) -> None:
        super().__init__(QwenLiveReader(SENT.get))
        self.live: Any = self.reader
        for line in lines:
            self.raw(json.dumps(line).encode())

    def how(self) -> Any:
        """Return how it ended, if it then left by itself."""
        self.exit(0)
        person = self.live.typed or self.live.has_left
        return endings.live_verdict(self.state, Exit(0), cause=None, lingered=False, person=person)


def prompt(words: str) -> dict[str, Any]:
    """Return the line of a prompt."""
    return {"type": "user", "session_id": "s1", "message": {"content": [text(words)]}}


def ours(words: str, number: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the lines of a prompt that we gave."""
    return {"type": "bridge_says", "inboxId": number, "text": words}, prompt(words)


def asks(call: str = "c1") -> dict[str, Any]:
    """Return a question for permission."""
    about = {
        "subtype": "can_use_tool",
        "tool_name": "edit",
        "tool_use_id": call,
        "input": {"file_path": "/a"},
    }
    return {"type": "control_request", "request_id": f"r-{call}", "request": about}


def answers(call: str = "c1", *, allowed: bool) -> dict[str, Any]:
    """Return a person's answer."""
    inner = {"subtype": "success", "request_id": f"r-{call}", "response": {"allowed": allowed}}
    return {"type": "control_response", "response": inner}


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_comes_to_its_true_verdict(name: str) -> None:
    recording, wanted = RECORDED[name], RECORDED[name].verdict
    child = Child()
    asked: list[str] = []
    for line in recording.stdout.splitlines():
        child.raw(line)
        asked += [ask.kind for ask in child.live.asks.open.values() if not asked]
    assert (child.how().status, asked, child.live.typed) == (
        wanted["status"],
        wanted["asked"],
        wanted["typed"],
    )
    assert (child.state.child_session, child.state.model) == (wanted["session"], wanted["model"])
    assert (child.state.text, child.state.turns) == (wanted["text"]["head"], len(wanted["turns"]))
    assert [one["callId"] for one in child.told("tool_call")] == [one["id"] for one in wanted["tools"]]
    assert child.state.usage["input"] == wanted["usage"]["served"]["uncached"]


def test_the_recordings_are_there() -> None:
    assert set(RECORDED) == {"live_hooks_ask", "live_hooks_typed"}


def test_nobodys_run_is_told_like_a_batch_run() -> None:
    start = {"hook_event_name": "SessionStart", "session_id": "s1", "model": "m"}
    child = Child(start, *ours("go"), says(text("Done.")), STOP)
    assert (child.live.typed, child.live.has_begun, child.live.settlings) == (False, True, 1)
    assert child.told("settled") == [{"aborted": False, "attended": False}]
    assert child.told("session_started") == [{"session": "s1", "model": "m"}]
    assert (child.how().status, child.state.text) == ("completed", "Done.")


def test_what_a_person_types_makes_the_run_attended() -> None:
    child = Child(*ours("go"), STOP, prompt("and é"))
    assert (child.told("human_input"), child.state.attended) == ([{"text": "and é"}], True)
    assert Child(*ours("go"), prompt("go")).live.typed  # ours comes once


def test_a_message_is_told_when_it_is_taken_up() -> None:
    child = Child(*ours("go"), STOP, ours("more ", 1)[0], prompt("more"), says(text("Yes.")), STOP)
    assert (child.live.typed, len(child.told("message_sent")), child.live.settlings) == (False, 1, 2)
    assert Child(*ours("go"), {"type": "bridge_taken", "inboxId": 1}).told("message_sent")
    both = Child(ours("go")[0], ours("more", 1)[0], prompt("more"), prompt("go"))
    assert (both.live.typed, len(both.told("message_sent"))) == (False, 1)


def test_a_turn_that_no_hook_ended_a_person_has_broken_off() -> None:
    child = Child(*ours("go"), says(text("We")), asks(), IDLE)
    assert (child.live.asks.open, child.live.typed, child.state.settled_aborted) == ({}, True, True)
    assert (child.how().status, child.told("assistant_text")) == ("aborted", [])
    assert Child(IDLE).told("settled") == []
    assert Child(*ours("go"), STOP, IDLE).state.settled_aborted is False


def test_a_failure_is_one_and_its_words_are_no_answer() -> None:
    child = Child(*ours("go"), says(text("[API Error: 400 no]")), FAILED)
    how = child.how()
    assert (how.status, how.reason, how.error_message) == ("failed", "error", "400 no")
    assert child.told("assistant_text") == []
    assert Child(*ours("go"), {"hook_event_name": "StopFailure"}).how().error_message == "The model failed."


def test_a_question_waits_for_a_person_and_a_no_is_a_denial() -> None:
    child = Child(*ours("go"), says(tool("c1", "edit")), asks(), asks("c2"))
    first, second = child.live.asks.open.values()
    assert (first.id, first.kind, first.text) == ("r-c1", "permission", "edit: /a")
    assert (second.id, [one for one, _ in second.options]) == ("r-c2", ["allow", "deny"])
    child.raw(json.dumps(answers(allowed=False)).encode())
    assert [one["callId"] for one in child.told("denied")] == ["c1"]
    assert list(child.live.asks.open) == ["r-c2"]
    child.raw(json.dumps(answers("c2", allowed=True)).encode())
    assert not child.live.asks.open
    child.raw(json.dumps(ends("c1")).encode())
    assert (child.told("tool_result"), len(child.told("denied"))) == ([], 1)


def test_an_answer_from_elsewhere_is_told_and_only_a_permission_takes_one() -> None:
    answer = {"type": "bridge_answer", "ask": "r-c1", "answer": "deny", "by": "a person"}
    child = Child(*ours("go"), says(tool("c1", "edit")), asks(), answer, answers(allowed=False), IDLE)
    assert child.live.asks.given == {"r-c1": ("deny", "a person")}
    assert (child.state.stop_reason, child.live.typed) == ("refused", False)
    assert [one["why"] for one in child.told("denied")] == ["denied by a person"]
    asked = asks()
    asked["request"] |= {"tool_name": "ask_user_question", "input": {"questions": [{"question": "Which?"}]}}
    (ask,) = Child(*ours("go"), asked).live.asks.open.values()
    assert (ask.id, ask.kind, ask.text) == ("", "question", "Which?")


def test_each_call_tells_what_it_used() -> None:
    line = says(tool())
    line["message"]["usage"] = {"input_tokens": 9, "cache_read_input_tokens": 2, "output_tokens": 1}
    child = Child(*ours("go"), line, {"type": "assistant"})
    assert [(one["input"], one["basis"]) for one in child.told("usage")] == [(7, "call")]


def test_who_leaves_has_left() -> None:
    assert Child({"hook_event_name": "SessionEnd", "reason": "prompt_input_exit"}).live.has_left
    assert not Child({"hook_event_name": "SessionEnd", "reason": "other"}).live.has_left


def test_odd_lines_are_borne() -> None:
    child = Child({"type": "user", "message": 7}, {"type": "user", "message": {"content": []}})
    for kind in kinds_of(QwenLiveReader):
        name, _, subtype = kind.partition(":")
        child.raw(json.dumps({"type": name, "subtype": subtype, "hook_event_name": None}).encode())
    child.raw(b"words")
    assert child.live.is_connected


# --- how it is called ---


def test_no_prompt_is_on_the_command_line() -> None:
    words = LIVE.arguments(plan("qwen", task="secret"), "/run")
    assert "--approval-mode=auto-edit" in words
    assert not any("secret" in word or word.startswith("--output-format") for word in words)
    assert "--exclude-tools=ask_user_question" not in words  # a person is there


def test_it_can_run_live() -> None:
    assert AGENT.live() is LIVE
    assert LIVE_SEAT in AGENT.capabilities().seats
    assert isinstance(LIVE.reader(SENT.get), QwenLiveReader)
