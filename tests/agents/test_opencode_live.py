"""A live opencode: the reports of its server as events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents import recordings
from tests.agents.lines import Heard, kinds_of, plan
from tmuxagents.agents import AGENTS
from tmuxagents.agents.opencode.live import LIVE, OpencodeLiveReader
from tmuxagents.runs import events

if TYPE_CHECKING:
    from scripts.conforming.recordings import Recording

AGENT = AGENTS["opencode"]
RECORDED = recordings.of("opencode", "live")
SENT = {7: events.message_sent(7, "steer", "Go on")}


def heard() -> Heard:
    child = Heard(OpencodeLiveReader(SENT.get))
    return child.line(type="bridge_starts").line(type="bridge_session", sessionID="ses_1", model="m/x")


def tell(child: Heard, kind: str, **properties: Any) -> Heard:
    return child.line(type=kind, properties=properties)


def part(child: Heard, kind: str, known: str, message: str = "a1", **fields: Any) -> Heard:
    return tell(
        child, "message.part.updated", part={"type": kind, "id": known, "messageID": message, **fields}
    )


def prompt(child: Heard, known: str, text: str) -> Heard:
    tell(child, "message.updated", info={"id": f"m{known}", "role": "user"})
    return part(child, "text", known, f"m{known}", text=text)


def idle(child: Heard) -> Heard:
    return tell(tell(child, "session.status", status={"type": "idle"}), "session.idle")


def answer(child: Heard, text: str, known: str, reason: str = "stop") -> Heard:
    tell(child, "session.status", status={"type": "busy"})
    part(child, "step-start", f"s{known}")
    part(child, "text", f"t{known}", text=text[:2], time={"start": 1})
    part(child, "text", f"t{known}", text=text, time={"start": 1, "end": 2})
    part(child, "text", f"t{known}", text=text, time={"start": 1, "end": 2})
    return part(child, "step-finish", f"f{known}", reason=reason, tokens={"input": 3}, cost=1)


def replayed(recording: Recording) -> Heard:
    """Play a recording of the server as the bridge tells it, with what was ordered."""
    lines = [json.loads(line) for line in recording.stdout.splitlines()]
    session = next(one["properties"]["sessionID"] for one in lines if one["type"] == "session.created")
    child = Heard(OpencodeLiveReader(SENT.get)).line(type="bridge_session", sessionID=session, model="")
    for line in recording.file(".in.jsonl").read_text().splitlines():
        body = json.loads(line).get("body") or {}
        for one in body.get("parts") or ():
            child.line(type="bridge_says", inboxId=0, text=one["text"])
    for one in lines:
        child.line(**one)
    return child


@pytest.mark.parametrize("name", RECORDED)
def test_every_recording_is_told_rightly(name: str) -> None:
    child = replayed(RECORDED[name])
    verdict = RECORDED[name].verdict
    assert child.reader.settled
    assert child.state.stop_reason == "stop"
    assert (child.state.text or "").startswith(verdict["turns"][-1]["text"]["head"])
    assert child.state.attended is (name == "live_typed")
    assert not child.told("retry")


def test_a_prompt_of_ours_is_no_persons() -> None:
    child = (
        heard()
        .line(type="bridge_says", inboxId=0, text="Do it")
        .line(type="bridge_says", inboxId=7, text="Go on")
    )
    prompt(child, "1", "Do it")
    idle(answer(child, "Done", "1"))
    assert child.state.settled
    assert not child.state.attended
    idle(answer(prompt(child, "2", "Go on"), "More", "2"))
    assert child.told("message_sent")[0]["inboxId"] == 7
    assert not child.told("human_input")
    assert child.state.text == "More"
    assert len(child.told("assistant_text")) == 2


def test_prompts_of_ours_may_come_in_another_order() -> None:
    child = heard().line(type="bridge_says", inboxId=0, text="Do it")
    child.line(type="bridge_says", inboxId=7, text="Go on")
    prompt(prompt(child, "1", "Go on"), "2", "Do it")
    assert [one["inboxId"] for one in child.told("message_sent")] == [7]
    assert not child.told("human_input")


def test_what_a_person_types_makes_it_theirs() -> None:
    child = idle(answer(prompt(heard(), "1", "Mine"), "Yes", "1"))
    assert child.told("human_input") == [{"text": "Mine"}]
    assert child.state.attended
    assert child.told("settled")[0]["attended"] is True


def test_it_has_settled_when_the_session_is_idle_and_no_sooner() -> None:
    child = answer(heard(), "Yes", "1")
    assert not child.state.settled
    reader: Any = child.reader
    assert (reader.has_begun, reader.is_connected, reader.settlings) == (True, True, 0)
    idle(idle(child))
    assert reader.settlings == 1
    assert child.state.turns == 1


def test_an_answer_that_a_person_breaks_off_is_none() -> None:
    child = answer(heard(), "Ye", "1", "tool-calls")
    idle(tell(child, "session.error", error={"name": "MessageAbortedError", "data": {"message": "Aborted"}}))
    assert child.state.settled_aborted
    assert child.state.attended
    idle(answer(child, "Yes", "2"))
    assert (child.state.settled_aborted, child.state.stop_reason) == (False, "stop")


def test_an_answer_that_a_stop_breaks_off_is_no_persons() -> None:
    child = answer(heard(), "Ye", "1", "tool-calls").line(type="bridge_taken", inboxId=7)
    idle(tell(child, "session.error", error={"name": "MessageAbortedError", "data": {}}))
    assert child.state.settled_aborted
    assert not child.state.attended


def test_what_is_told_of_a_turn_that_is_over_begins_nothing() -> None:
    child = idle(answer(heard(), "Yes", "1"))
    for status in ("running", "error"):
        state: dict[str, Any] = {"status": status, "input": {}, "error": "Tool execution aborted"}
        part(child, "tool", "t1", tool="bash", callID="c1", state=state)
    assert child.state.settled


def test_an_error_is_the_end_of_a_turn() -> None:
    child = tell(heard(), "session.status", status={"type": "busy"})
    idle(tell(child, "session.error", error={"name": "APIError", "data": {"message": "no"}}))
    how = child.exit(0)
    assert (how.reason, how.error_message) == ("error", "no")


def test_questions_are_open_until_they_are_answered() -> None:
    child = heard()
    reader: Any = child.reader  # its questions come and go
    tell(child, "permission.asked", id="p1", permission="bash", patterns=["ls", 7])
    tell(child, "question.asked", id="q1", questions=[{"question": "Which?"}])
    choices = ["allow", "session", "deny"]
    assert first_of(reader) == ("p1", "permission", "bash: ls", choices)
    tell(child, "permission.replied", requestID="p1")
    assert first_of(reader) == ("q1", "question", "Which?", [])
    tell(child, "question.rejected", requestID="q1")
    assert not reader.asks.open
    tell(child, "permission.asked", id="p2", permission="edit")
    assert first_of(reader) == ("p2", "permission", "edit: ", choices)
    tell(child, "question.asked", id="q2")
    tell(child, "permission.replied", requestID="p2")
    assert first_of(reader) == ("q2", "question", None, [])
    labels = [{"label": "Red"}, {"label": 5}, {"label": "Blue"}]
    tell(child, "question.asked", id="q3", questions=[{"question": "Which?", "options": labels}])
    child.line(type="bridge_answer", ask="q2", answer="x", by="a person")
    assert first_of(reader) == ("q3", "question", "Which?", ["Red", "Blue"])
    assert reader.asks.given == {"q2": ("x", "a person")}


def first_of(reader: Any) -> tuple[Any, ...]:
    """Return the oldest open question."""
    ask = next(iter(reader.asks.open.values()))
    return ask.id, ask.kind, ask.text, [one for one, _ in ask.options]


def test_tools_are_told_once_and_thoughts_too() -> None:
    child = heard()
    for status in ("pending", "running", "running", "completed", "completed"):
        part(
            child,
            "tool",
            "t1",
            tool="bash",
            callID="c1",
            state={"status": status, "input": {}, "output": "x"},
        )
    part(child, "reasoning", "r1", text="hm", time={"start": 1, "end": 2})
    part(child, "snapshot", "x1")
    assert [len(child.told(kind)) for kind in ("tool_call", "tool_result", "thinking")] == [1, 1, 1]


def test_tries_again_are_no_sign_of_life() -> None:
    child = tell(heard(), "session.status", status={"type": "retry", "attempt": 2, "message": "busy"})
    assert child.told("retry")[0] == {
        "attempt": 2,
        "maxAttempts": None,
        "delayMs": None,
        "errorMessage": "busy",
    }
    assert not child.active
    assert child.line(type="bridge_alive").active


def test_who_leaves_the_screen_has_left() -> None:
    child = heard().line(type="bridge_person", typed=False)
    reader: Any = child.reader
    assert reader.has_left


def test_a_stop_that_was_carried_out_is_told() -> None:
    child = heard().line(type="bridge_taken", inboxId=7).line(type="bridge_taken", inboxId=8)
    assert len(child.told("message_sent")) == 1


def test_odd_lines_are_borne() -> None:
    child = Heard(OpencodeLiveReader(SENT.get))
    for kind in kinds_of(OpencodeLiveReader):
        child.line(type=kind, properties=[], inboxId="x", sessionID=None)
    tell(child, "message.updated", info={"role": "user", "id": "u1"})
    part(child, "file", "p9", "u1")
    assert child.state.child_session is None


# --- how it is called ---


def test_the_bridge_is_told_the_session_the_model_and_a_title() -> None:
    assert LIVE.arguments(plan("opencode", resolvedModel="a/b", name="Fix"), "/run") == [
        "--",
        "",
        "a/b",
        "Fix",
    ]
    own = plan("opencode", childSession="ses_9")
    assert LIVE.arguments(own, "/run") == ["--", "ses_9", "", "tmuxagents 01234567"]
    assert isinstance(LIVE.reader(SENT.get), OpencodeLiveReader)
    assert AGENT.live() is LIVE


def test_a_person_is_asked_unless_a_level_was_named() -> None:
    assert "OPENCODE_PERMISSION" not in AGENT.environment("/a", plan("opencode", driver="live"))
    assert "OPENCODE_PERMISSION" in AGENT.environment(
        "/a", plan("opencode", driver="live", permission="edit")
    )
