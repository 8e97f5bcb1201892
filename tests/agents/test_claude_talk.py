"""Our lines to a Claude Code that keeps its stdin open, and its questions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents.envelope_lines import INIT, RESULT, says, text
from tmuxagents.agents.claude.reader import ClaudeTalker
from tmuxagents.runs.events import FOLLOW_UP, STEER, STOP, InboxMessage

RUN = "run00001"


def begun() -> tuple[ClaudeTalker, str]:
    """Return a talker that has said its prompt, and the prompt's id."""
    talker = ClaudeTalker(RUN)
    return talker, json.loads(talker.begin("go"))["uuid"]


def heard(talker: ClaudeTalker, *lines: dict[str, Any]) -> list[dict[str, Any]]:
    """Read lines; return the events."""
    told = [event for line in lines for event in talker.feed(json.dumps(line).encode(), 1.0).events]
    return [{"type": event.type, **event.fields} for event in told]


def idle(talker: ClaudeTalker) -> bool:
    """Say whether all that was said is done."""
    return talker.is_idle


def becomes(known: str, state: str) -> dict[str, Any]:
    """Return the line that says what becomes of a message."""
    return {"type": "command_lifecycle", "command_uuid": known, "state": state}


def said(talker: ClaudeTalker, number: int, kind: str, words: str | None = "more") -> dict[str, Any]:
    """Say a message; return its line."""
    line = json.loads(talker.say(InboxMessage(number, kind, words)) or b"")
    assert isinstance(line, dict)
    return line


def test_the_prompt_is_a_message_as_it_is() -> None:
    prompt = "--help \u2028 \x00 'é' 🎉\n" * 20_000
    line = ClaudeTalker(RUN).begin(prompt)
    assert line.count(b"\n") == 1
    assert json.loads(line)["message"] == {"role": "user", "content": [{"type": "text", "text": prompt}]}


def test_a_prompt_that_begins_like_a_command_is_none() -> None:
    content = json.loads(ClaudeTalker(RUN).begin("/compact now"))["message"]["content"]
    assert content == [{"type": "text", "text": "/compact now"}, {"type": "text", "text": "\n"}]


def test_no_two_runs_of_a_session_give_messages_the_same_id() -> None:
    ids = {json.loads(ClaudeTalker(run).begin("go"))["uuid"] for run in ("a", "b")}
    talker, first = begun()
    assert len({*ids, first, said(talker, 1, STEER)["uuid"], said(talker, 2, STEER)["uuid"]}) == 5


def test_it_is_idle_when_the_prompt_is_done() -> None:
    talker, prompt = begun()
    assert not idle(talker)
    heard(talker, becomes(prompt, "queued"), becomes(prompt, "started"), INIT, says(text("a")))
    assert not idle(talker)
    heard(talker, RESULT)
    assert idle(talker)
    assert heard(talker, becomes(prompt, "completed")) == []


def test_a_message_is_sent_when_it_is_taken_up() -> None:
    talker, prompt = begun()
    heard(talker, becomes(prompt, "started"), INIT)
    known = said(talker, 1, STEER)["uuid"]
    assert heard(talker, becomes(known, "queued")) == []
    told = heard(talker, says(text("before")), becomes(known, "started"))
    assert told == [
        {"type": "assistant_text", "text": "before"},
        {"type": "message_sent", "inboxId": 1, "kind": "steer", "text": "more"},
    ]
    heard(talker, becomes(known, "completed"), RESULT)
    assert idle(talker)


def test_a_follow_up_waits_for_the_end_of_the_turn() -> None:
    talker, prompt = begun()
    line = said(talker, 1, FOLLOW_UP)
    assert line["priority"] == "later"
    assert "priority" not in said(talker, 2, STEER)
    heard(talker, becomes(prompt, "started"), INIT, RESULT)
    assert not idle(talker)
    told = heard(talker, becomes(line["uuid"], "started"), INIT, says(text("b")), RESULT)
    assert [one["type"] for one in told][:2] == ["message_sent", "resumed"]
    assert not idle(talker)  # the other message
    assert [one["inboxId"] for one in heard(talker, becomes(talker._id(2), "cancelled"))] == [2]
    assert idle(talker)


def test_a_version_that_says_nothing_of_messages_has_taken_them_with_its_turn() -> None:
    talker, _ = begun()
    said(talker, 1, STEER)
    told = heard(talker, INIT, says(text("a")), RESULT)
    assert [one["inboxId"] for one in told if one["type"] == "message_sent"] == [1]
    assert idle(talker)


def test_an_interrupt_is_sent_when_it_is_answered() -> None:
    talker, _ = begun()
    heard(talker, INIT)
    line = said(talker, 3, STOP, None)
    assert line["request"] == {"subtype": "interrupt"}
    heard(talker, RESULT)
    assert not idle(talker)
    response = {"subtype": "success", "request_id": line["request_id"], "response": {"still_queued": []}}
    told = heard(talker, {"type": "control_response", "response": response})
    assert told == [{"type": "message_sent", "inboxId": 3, "kind": "stop", "text": None}]
    assert heard(talker, {"type": "control_response", "response": response}) == []
    assert heard(talker, {"type": "control_response"}) == []
    assert idle(talker)


# --- its questions ---


def asks(tool: str, given: Any, number: str = "r1") -> dict[str, Any]:
    """Return a question."""
    request = {"subtype": "can_use_tool", "tool_name": tool, "input": given, "tool_use_id": "c1"}
    return {"type": "control_request", "request_id": number, "request": request}


def answered(talker: ClaudeTalker, words: str, number: str = "r1") -> Any:
    """Answer a question; return our lines to the agent."""
    response = json.loads(talker.answer(number, words, "ada").reply)["response"]
    assert (response["subtype"], response["request_id"]) == ("success", number)
    return response["response"]


@pytest.mark.parametrize(
    ("tool", "given", "words"),
    [
        ("Bash", {"command": "rm -r x", "description": "clean"}, "Bash: rm -r x"),
        ("Edit", {"file_path": "/a", "old_string": "b"}, "Edit: /a"),
        ("ExitPlanMode", {"plan": "First this."}, "ExitPlanMode: First this."),
        ("Odd", {"x": 1}, "Odd"),
        ("Odd", None, "Odd"),
    ],
)
def test_a_question_for_permission_is_put_in_our_words(tool: str, given: Any, words: str) -> None:
    talker, _ = begun()
    heard(talker, asks(tool, given))
    (ask,) = talker.asks
    assert (ask.id, ask.kind, ask.text) == ("r1", "permission", words)
    assert [one for one, _ in ask.options] == ["allow", "deny"]


def test_an_answer_is_put_in_its_words() -> None:
    talker, _ = begun()
    given = {"command": "ls"}
    heard(talker, asks("Bash", given), asks("Bash", given, "r2"), asks("Bash", given, "r3"))
    assert answered(talker, "allow") == {"behavior": "allow", "updatedInput": given}
    assert answered(talker, "deny", "r2") == {"behavior": "deny", "message": "This was denied by ada."}
    assert answered(talker, "Use find.", "r3") == {"behavior": "deny", "message": "Use find."}
    assert list(talker.asks) == []
    assert talker.answer("r1", "allow", "ada").reply == b""


def test_a_question_of_the_model_has_its_own_options() -> None:
    talker, _ = begun()
    question = {"question": "Which?", "options": [{"label": "Red"}, {"label": 1}, "?"]}
    heard(talker, asks("AskUserQuestion", {"questions": [question, 1]}))
    (ask,) = talker.asks
    assert (ask.kind, ask.text, list(ask.options)) == ("question", "Which?", [("Red", "Red")])
    assert answered(talker, "Red")["updatedInput"]["answers"] == {"Which?": "Red"}


def test_several_questions_at_once_are_one_of_ours() -> None:
    talker, _ = begun()
    questions = [{"question": "Which?"}, {"question": "When?", "options": []}, {}]
    heard(talker, asks("AskUserQuestion", {"questions": questions}))
    assert (talker.asks[0].text or "").strip() == "AskUserQuestion: Which? When?"
    assert answered(talker, "Now")["updatedInput"]["answers"] == {"Which?": "Now", "When?": "Now", "": "Now"}
    heard(talker, asks("AskUserQuestion", {"questions": [{"options": None}]}))
    assert talker.asks[0].text == "It asks."
    assert answered(talker, "allow")["behavior"] == "allow"
    heard(talker, asks("AskUserQuestion", {"questions": None}))
    assert answered(talker, "Now") == {"behavior": "deny", "message": "Now"}


def test_a_question_that_is_withdrawn_is_gone() -> None:
    talker, _ = begun()
    heard(talker, asks("Bash", {}), {"type": "control_cancel_request", "request_id": "r1"})
    assert list(talker.asks) == []
    heard(talker, asks("Bash", {}), RESULT)
    assert list(talker.asks) == []


def test_a_request_that_we_do_not_know_is_refused_so_that_nothing_waits() -> None:
    talker, _ = begun()
    raw = {"type": "control_request", "request_id": "r9", "request": {"subtype": "hook_callback"}}
    reply = json.loads(talker.feed(json.dumps(raw).encode(), 1.0).reply)
    assert (reply["response"]["subtype"], reply["response"]["request_id"]) == ("error", "r9")
    assert talker.feed(json.dumps({**raw, "request": 1}).encode(), 1.0).reply == b""
