"""A live Claude Code: its hooks as events, and its command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents import recordings
from tmuxagents.agents import AGENTS
from tmuxagents.agents.capabilities import LIVE as LIVE_SEAT
from tmuxagents.agents.claude.command import LIVE
from tmuxagents.records import Exit
from tmuxagents.runs import endings, events, lifecycle
from tmuxagents.runs.documents import plan_of

if TYPE_CHECKING:
    from tmuxagents.runs.events import Event

RECORDED = recordings.of("claude", "live")
RUN_DIR = "/state/runs/01a1ee15069b4c1f"
PROMPT = f'Do the task in this file: @"{RUN_DIR}/prompt.txt"'


def sent(number: int) -> Event | None:
    """Return the one message that was sent."""
    return events.message_sent(number, "steer", "more") if number == 1 else None


def hook(name: str, **fields: Any) -> dict[str, Any]:
    """Return what a hook is given."""
    return {"hook_event_name": name, **fields}


OURS, STOP = hook("UserPromptSubmit", prompt=PROMPT), hook("Stop", last_assistant_message="Done.")


class Heard:
    """Hooks that were read, and the events and the state that follow from them."""

    def __init__(self, *lines: dict[str, Any] | bytes) -> None:
        self.reader = LIVE.reader(sent)
        self.state = lifecycle.RunState()
        self.told: list[dict[str, Any]] = []
        lifecycle.apply(self.state, events.run_started({}))
        for line in lines:
            raw = line if isinstance(line, bytes) else json.dumps(line).encode()
            for event in self.reader.feed(raw, 1.0).events:
                lifecycle.apply(self.state, event)
                self.told.append({"type": event.type, **event.fields})
            self.state.error_message = self.reader.error_message

    def kinds(self) -> list[str]:
        """Return the types of the events."""
        return [one["type"] for one in self.told]

    def verdict(self) -> tuple[str, str, str | None]:
        """Return how it ended, if it then left by itself."""
        reader = self.reader
        how = endings.live_verdict(
            self.state, Exit(0), cause=None, lingered=False, person=reader.typed or reader.has_left
        )
        return how.status, how.reason, how.error_message


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_comes_to_its_true_verdict(name: str) -> None:
    recording = RECORDED[name]
    heard = Heard(*recording.stdout.splitlines())
    wanted = recording.verdict
    assert heard.verdict()[:2] == (wanted["status"], wanted["reasonWord"])
    assert (heard.state.text, heard.state.model) == (wanted["text"]["head"], wanted["model"])
    assert (heard.state.child_session, heard.state.turns) == (wanted["session"], len(wanted["turns"]))
    called = [(one["callId"], one["toolName"]) for one in heard.told if one["type"] == "tool_call"]
    assert called == [(tool["id"], tool["name"]) for tool in wanted["tools"]]
    assert [one["isError"] for one in heard.told if one["type"] == "tool_result"] == [False] * len(called)


def test_every_recording_has_a_person_who_typed() -> None:
    # They began with another sentence than ours, or with none.
    assert set(RECORDED) == {"live_text", "live_ask", "live_typed"}
    assert all(Heard(*one.stdout.splitlines()).reader.typed for one in RECORDED.values())


def test_nobodys_run_is_told_like_a_batch_run() -> None:
    heard = Heard(hook("SessionStart", session_id="s1", model="sonnet"), OURS, STOP)
    assert heard.kinds() == ["session_started", "assistant_text", "turn_end", "settled"]
    assert (heard.reader.typed, heard.reader.has_begun, heard.reader.settlings) == (False, True, 1)
    assert heard.told[-1]["attended"] is False
    assert heard.verdict() == ("completed", "done", None)


def test_what_a_person_types_makes_the_run_attended() -> None:
    heard = Heard(OURS, STOP, hook("UserPromptSubmit", prompt="and é"), STOP)
    assert heard.kinds()[3:5] == ["resumed", "human_input"]
    assert heard.told[4]["text"] == "and é"
    assert (heard.state.attended, heard.told[-1]["attended"]) == (True, True)
    again = Heard(OURS, hook("UserPromptSubmit", prompt=PROMPT))  # typed, since ours comes once
    assert again.reader.typed


def test_a_tool_and_what_it_gave_are_told() -> None:
    about = {"tool_name": "Bash", "tool_use_id": "c1"}
    begins = hook("PreToolUse", **about, tool_input={"command": "ls"})
    for response, text in (
        ({"stdout": "a", "stderr": "b"}, "a"),
        ({"stdout": "", "stderr": "b"}, "b"),
        ({"type": "text", "file": {"content": "inside"}}, "inside"),
        ({"filePath": "/a"}, "/a"),
        ({}, ""),
        ("plain", "plain"),
        (None, ""),
    ):
        heard = Heard(OURS, begins, hook("PostToolUse", **about, tool_response=response))
        assert heard.told[-1]["text"] == text
        assert heard.told[-1]["isError"] is False
    failed = Heard(OURS, begins, hook("PostToolUseFailure", **about, error="Exit code 1"))
    assert (failed.told[-1]["isError"], failed.told[-1]["text"]) == (True, "Exit code 1")


@pytest.mark.parametrize("after", ["PostToolUse", "PostToolUseFailure", "Stop", "UserPromptSubmit"])
def test_a_question_waits_for_a_person_until_something_goes_on(after: str) -> None:
    asks = hook("PermissionRequest", tool_name="Edit", tool_input={"file_path": "/a"})
    (ask,) = Heard(OURS, asks).reader.asks.open.values()
    assert (ask.id, ask.kind, ask.text) == ("", "permission", "Edit: /a")
    assert not Heard(OURS, asks, hook(after)).reader.asks.open


def test_a_question_with_an_id_is_closed_by_the_bridge() -> None:
    begins = [hook("PreToolUse", tool_use_id=one, tool_name="Edit") for one in ("c1", "c2")]
    asks = hook("PermissionRequest", tool_name="Edit", tool_input={"file_path": "/a"}, ask="1")
    done = hook("PostToolUse", tool_use_id="c1", tool_name="Edit")
    still = Heard(OURS, *begins, asks, done)
    (ask,) = still.reader.asks.open.values()
    assert (ask.id, [one for one, _ in ask.options]) == ("1", ["allow", "deny"])
    assert not Heard(OURS, asks, {"type": "bridge_closed", "ask": "1"}).reader.asks.open
    answer = {"type": "bridge_answer", "ask": "1", "answer": "No, not there.", "by": "a person"}
    denied = Heard(OURS, *begins, asks, answer, answer)
    assert denied.told[-1] == {
        "type": "denied",
        "callId": "c2",
        "toolName": "Edit",
        "why": "denied by a person",
    }
    assert denied.kinds().count("denied") == 1
    assert "denied" not in Heard(OURS, *begins, asks, {**answer, "answer": "allow"}).kinds()
    asks = hook("PermissionRequest", tool_name="AskUserQuestion", ask="2")
    asks["tool_input"] = {"questions": [{"question": "Which?", "options": [{"label": "Red"}]}]}
    asked = Heard(OURS, asks, {**answer, "ask": "2", "answer": "Red"})
    assert ("denied" in asked.kinds(), asked.reader.asks.given) == (False, {"2": ("Red", "a person")})


def test_a_failure_is_one() -> None:
    failed = hook("StopFailure", error="unknown", last_assistant_message="API Error: 400 no")
    assert Heard(OURS, failed).verdict() == ("failed", "error", "API Error: 400 no")
    assert Heard(OURS, hook("StopFailure", error="max_output_tokens")).verdict()[1] == "length"
    assert Heard(OURS, failed, OURS, STOP).verdict() == ("completed", "done", None)
    assert Heard(OURS, hook("Stop")).kinds() == ["turn_end", "settled"]


def test_a_turn_that_no_hook_ended_was_broken_off() -> None:
    idle = hook("Notification", notification_type="idle_prompt")
    assert Heard(OURS, idle).verdict() == ("failed", "error", "The child did not end its turn.")
    assert Heard(idle).told == []  # nothing had begun
    assert Heard(OURS, STOP, idle).verdict()[0] == "completed"
    assert Heard(OURS, hook("Notification", notification_type="permission_prompt")).told == []


def test_a_person_who_leaves_before_its_end_has_stopped_it() -> None:
    left = hook("SessionEnd", reason="prompt_input_exit")
    assert Heard(OURS, left).verdict()[0] == "aborted"
    assert not Heard(OURS, hook("SessionEnd", reason="other")).reader.has_left


def test_each_call_of_the_model_is_counted_once() -> None:
    used = {"input_tokens": 9, "output_tokens": 2, "cache_read_input_tokens": 4}
    line = {"type": "assistant", "message": {"id": "m1", "stop_reason": "end_turn", "usage": used}}
    begun = {"type": "assistant", "message": {"id": "m2", "stop_reason": None, "usage": used}}
    empty = {"type": "assistant", "message": {"id": "m3", "stop_reason": "end_turn"}}
    heard = Heard(OURS, line, line, begun, empty, STOP, {"type": "assistant", "message": 7})
    (told,) = [one for one in heard.told if one["type"] == "usage"]
    assert (told["input"], told["cacheRead"], told["output"], told["totalTokens"]) == (9, 4, 2, 15)
    assert (told["basis"], told["costKind"]) == ("run", "none")
    late = Heard(OURS, STOP, line)  # the transcript may come behind the hook
    assert (late.state.settled, late.state.usage["input"]) == (True, 9)


def test_a_message_that_was_taken_is_told_before_what_it_leads_to() -> None:
    taken = {"type": "bridge_taken", "inboxId": 1}
    assert Heard(OURS, STOP, taken, STOP).kinds()[3:6] == ["resumed", "message_sent", "assistant_text"]
    assert Heard(OURS, {**taken, "inboxId": 2}, {**taken, "inboxId": None}).told == []


def test_an_odd_line_is_nothing() -> None:
    assert Heard(hook("SessionStart"), hook("Odd"), b"words", b"[]").told == []


# --- how it is called ---


def test_no_prompt_is_on_the_command_line() -> None:
    words = LIVE.arguments(plan_of({"runId": "01a1ee15069b4c1f", "task": "secret"}), RUN_DIR)
    assert words[-2:] == ["--", PROMPT]
    assert f"--allowed-tools=Read(/{RUN_DIR}/prompt.txt)" in words
    assert not any("secret" in word for word in words)
    assert "-p" not in words
    (settings,) = [word.partition("=")[2] for word in words if word.startswith("--settings=")]
    assert set(json.loads(settings)["hooks"]) >= {"Stop", "StopFailure", "PermissionRequest", "SessionEnd"}


def test_a_session_that_is_opened_again_has_no_prompt() -> None:
    words = LIVE.arguments(plan_of({"reopens": True, "childSession": "abc"}), RUN_DIR)
    assert "--resume=abc" in words
    assert "--" not in words


def test_it_can_run_live() -> None:
    agent = AGENTS["claude"]
    assert agent.live() is LIVE
    assert LIVE_SEAT in agent.capabilities().seats
