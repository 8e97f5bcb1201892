"""A live Copilot CLI: the log of its session as events, and its command line."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents import recordings
from tests.agents.lines import Heard, kinds_of, plan
from tmuxagents.agents import AGENTS
from tmuxagents.agents.capabilities import LIVE as LIVE_SEAT
from tmuxagents.agents.copilot.command import LIVE, TASK, CopilotLiveReader, settles
from tmuxagents.records import Exit
from tmuxagents.runs import endings, events

AGENT = AGENTS["copilot"]
RECORDED = recordings.of("copilot", "live")
SENT = {1: events.message_sent(1, "steer", "more")}


class Child(Heard):
    """A live Copilot CLI."""

    def __init__(self) -> None:
        super().__init__(CopilotLiveReader(SENT.get))
        self.live: Any = self.reader

    def log(self, kind: str, **data: Any) -> Child:
        """Hear one line of the log."""
        self.line(type=kind, data=data)
        return self

    def hooked(self, name: str, **output: Any) -> Child:
        """Hear that a hook has run."""
        self.log("hook.start", hookType=name, input={})
        return self.log("hook.end", hookType=name, **({"output": output} if output else {}))

    def begun(self) -> Child:
        """Take the task."""
        self.line(type="bridge_session", session="s1")
        self.log("session.start", selectedModel="m").hooked("userPromptSubmitted")
        return self.log("user.message", content=TASK).log("assistant.turn_start")

    def says(self, text: str) -> Child:
        """Answer."""
        return self.log("assistant.message", content=text, model="m").log("assistant.turn_end")

    def how(self) -> Any:
        """Return how it ended, if it then left by itself."""
        self.exit(0)
        person = self.live.typed or self.live.has_left
        return endings.live_verdict(self.state, Exit(0), cause=None, lingered=False, person=person)


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_comes_to_its_true_verdict(name: str) -> None:
    recording, wanted = RECORDED[name], RECORDED[name].verdict
    child = Child()
    child.line(type="bridge_session", session=wanted["session"])
    asked = []
    for line in recording.stdout.splitlines():
        child.raw(line)
        asked += [ask.kind for ask in child.live.asks.open.values() if ask.kind not in asked]
    assert (child.how().status, asked, child.live.typed) == (
        wanted["status"],
        wanted["asked"],
        wanted["typed"],
    )
    assert (child.state.child_session, child.state.model) == (wanted["session"], wanted["model"])
    assert (child.state.text, child.state.turns) == (wanted["text"]["head"], len(wanted["turns"]))
    assert [one["callId"] for one in child.told("tool_call")] == [tool["id"] for tool in wanted["tools"]]
    assert child.state.usage["input"] == wanted["usage"]["served"]["uncached"]
    assert child.state.usage["output"] == wanted["usage"]["served"]["output"]


def test_the_recordings_are_there() -> None:
    assert set(RECORDED) == {"live_ask", "live_typed"}


def test_nobodys_run_is_told_like_a_batch_run() -> None:
    child = Child().begun().says("Done.").hooked("agentStop")
    assert (child.live.typed, child.live.has_begun, child.live.settlings) == (False, True, 1)
    assert child.told("settled") == [{"aborted": False, "attended": False}]
    assert child.told("session_started") == [{"session": "s1", "model": "m"}]
    assert (child.how().status, child.state.text) == ("completed", "Done.")


def test_the_session_is_known_with_the_task_though_the_log_comes_later() -> None:
    child = Child()
    child.line(type="bridge_session", session="s1")
    assert child.told("session_started") == []  # there is nothing to resume yet
    child.line(type="bridge_prompted")
    assert child.state.child_session == "s1"
    child.log("session.start", selectedModel="m").log("session.resume", selectedModel="m")
    told = [{"session": "s1", "model": None}, {"session": "s1", "model": "m"}]
    assert child.told("session_started") == told


def test_a_turn_whose_stop_was_prevented_goes_on() -> None:
    child = Child().begun().says("One.").hooked("agentStop", decision="block", reason="more")
    assert not child.state.settled
    child.line(type="bridge_taken", inboxId=1, text="more")
    child.log("user.message", content="more").log("assistant.turn_start").says("Two.").hooked("agentStop")
    assert (child.live.typed, len(child.told("message_sent")), child.state.text) == (False, 1, "Two.")
    child.log("user.message", content="more")  # once more: a person's
    assert child.live.typed


def test_what_a_person_types_makes_the_run_attended() -> None:
    child = Child().begun().says("Done.").hooked("agentStop").log("user.message", content="and é")
    assert child.told("human_input") == [{"text": "and é"}]
    assert child.state.attended
    again = Child().begun().log("user.message", content=TASK)  # typed, since ours comes once
    assert again.live.typed


def test_an_answer_that_a_person_breaks_off_is_none() -> None:
    child = Child().begun().log("permission.requested", requestId="r").log("abort", reason="user_abort")
    assert (child.live.asks.open, child.live.typed, child.state.settled_aborted) == ({}, True, True)
    assert child.how().status == "aborted"


def test_an_error_ends_a_turn_unless_it_goes_on() -> None:
    child = Child().begun().log("session.error", message="400 no")
    assert (child.state.settled, child.how().reason, child.how().error_message) == (True, "error", "400 no")
    child = Child().begun().log("session.error", message="400 no").log("assistant.turn_start")
    assert child.says("Yes.").hooked("agentStop").how().status == "completed"


def test_without_hooks_the_task_did_not_reach_it() -> None:
    child = Child()
    child.log("session.start").log("user.message", content=TASK)
    assert (child.how().reason, "switched off" in child.how().error_message) == ("config", True)


def test_questions_are_open_until_they_are_answered() -> None:
    child = Child().begun()
    about = {"kind": "write", "intention": "Create file", "fileName": "/a"}
    child.log("permission.requested", requestId="p", permissionRequest=about)
    child.log("user_input.requested", requestId="q", question="Which?")
    assert first_of(child) == ("permission", "Create file: /a")
    child.log("permission.completed", requestId="p")
    assert first_of(child) == ("question", "Which?")
    child.log("user_input.completed", requestId="q")
    assert not child.live.asks.open
    child.log("elicitation.requested", requestId="e", message="Say.").log("permission.requested")
    assert first_of(child) == ("question", "Say.")
    child.log("permission.requested", requestId="x", permissionRequest={"kind": "mcp"})
    child.log("elicitation.completed", requestId="e")
    assert first_of(child) == ("permission", "mcp")


def test_an_answer_that_was_cut_at_each_try_is_none() -> None:
    child = Child().begun()
    for _ in range(2):
        child.log("session.usage_record", usage={"outputTokens": 9}).log("assistant.turn_end")
        child.log("assistant.turn_start")
    child.log("session.usage_record").says("This breaks off in the mid").hooked("agentStop")
    assert child.state.stop_reason == "length"
    child.log("user.message", content="again").log("session.usage_record").says("Whole.").hooked("agentStop")
    assert child.how().status == "completed"


def test_each_call_tells_what_it_used() -> None:
    usage = {"inputTokens": 100, "cacheReadTokens": 30, "outputTokens": 7}
    (told,) = Child().begun().log("session.usage_record", usage=usage).told("usage")
    assert (told["input"], told["cacheRead"], told["output"], told["basis"]) == (70, 30, 7, "call")
    assert Child().log("session.usage_record").told("usage") == []
    odd = {"inputTokens": 10, "cacheReadTokens": 30}  # as if its input did not include the cache
    (told,) = Child().begun().log("session.usage_record", usage=odd).told("usage")
    assert (told["input"], told["totalTokens"]) == (0, 30)


def test_who_leaves_has_left() -> None:
    child = Child().begun().log("hook.start", hookType="sessionEnd", input={"reason": "user_exit"})
    assert (child.live.has_left, child.how().status) == (True, "aborted")
    assert not Child().log("hook.start", hookType="sessionEnd", input={"reason": "complete"}).live.has_left


def test_the_last_of_a_turn_is_known() -> None:
    assert settles({"type": "abort"})
    assert settles({"type": "hook.end", "data": {"hookType": "agentStop"}})
    assert not settles({"type": "hook.end", "data": {"hookType": "postToolUse"}})
    assert not settles({})


def test_odd_lines_are_borne() -> None:
    child = Child()
    for kind in kinds_of(CopilotLiveReader):
        child.line(type=kind, data=[], inboxId="x")
    child.raw(b"words")
    assert child.live.is_connected


# --- how it is called ---


def test_no_prompt_is_on_the_command_line() -> None:
    words = LIVE.arguments(plan("copilot", task="secret"), "/run")
    assert words[-1] == f"--interactive={TASK}"
    assert "--allow-tool=write" in words
    assert not any("secret" in word for word in words)
    assert not {"--output-format", "--no-ask-user"} & set(words)


def test_a_session_that_is_opened_again_has_no_prompt() -> None:
    words = LIVE.arguments(plan("copilot", reopens=True, childSession="abc"), "/run")
    assert words[-1] == "--resume=abc"


def test_it_can_run_live() -> None:
    assert AGENT.live() is LIVE
    assert LIVE_SEAT in AGENT.capabilities().seats
    assert isinstance(LIVE.reader(SENT.get), CopilotLiveReader)


def first_of(child: Child) -> tuple[str, str | None]:
    """Return kind and text of the oldest open question, which only the screen can answer."""
    ask = next(iter(child.live.asks.open.values()))
    assert not ask.id
    return ask.kind, ask.text
