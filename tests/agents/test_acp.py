"""Agents over ACP: the true verdict of every recording, each known lie, and cases that no recording has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scripts.conforming import replay
from tests.agents import recordings
from tmuxagents import agents
from tmuxagents.agents.acp import quirks
from tmuxagents.agents.acp.talker import AcpTalker
from tmuxagents.records import Exit
from tmuxagents.runs import documents, endings, events, lifecycle
from tmuxagents.runs.events import FOLLOW_UP, STOP, InboxMessage

BRANDS = ("claude", "codex", "opencode", "gemini", "qwen", "copilot")
ALL = {f"{brand}/{name}": one for brand in BRANDS for name, one in recordings.of(brand, "acp").items()}


@pytest.mark.parametrize("name", ALL)
def test_the_verdict_of_a_recording_is_the_true_one(name: str) -> None:
    assert recordings.differences(ALL[name]) == []


@pytest.mark.parametrize("name", ["copilot/acp_error", "codex/acp_error"])
def test_end_turn_for_an_api_error_is_a_failure(name: str, tmp_path: Any) -> None:
    played = replay.play(ALL[name], str(tmp_path))
    assert played.turns == ["failed", "completed"]
    first = next(event for event in played.events if event.type == "turn_end")
    assert first.fields["stopReason"] == "error"


@pytest.mark.parametrize("name", [f"{brand}/acp_deny" for brand in ("opencode", "qwen", "copilot", "codex")])
def test_end_turn_after_a_refusal_is_no_answer(name: str, tmp_path: Any) -> None:
    played = replay.play(ALL[name], str(tmp_path))
    verdict = played.verdict({}, asked=False)
    assert (verdict.status, verdict.reason, played.state.denied) == ("aborted", "stopped", 1)
    assert verdict.error_message == "A tool was denied, and the agent ended its turn there."


def test_an_ending_that_may_hide_a_cut_answer_says_so(tmp_path: Any) -> None:
    notes = {
        brand: replay.play(ALL[f"{brand}/acp_text"], str(tmp_path)).verdict({}, asked=False).note
        for brand in BRANDS
    }
    unsure = "its lines do not tell a cut or refused answer from a whole one"
    assert notes == dict.fromkeys(BRANDS) | dict.fromkeys(("opencode", "gemini", "qwen", "copilot"), unsure)


def test_what_was_said_before_is_not_said_again(tmp_path: Any) -> None:
    for name in ("gemini/acp_resume", "copilot/acp_resume"):
        played = replay.play(ALL[name], str(tmp_path))
        assert (played.state.text, played.state.tool_count) == ("Hello from the mock model.", 0)


# --- a conversation by hand --------------------------------------------------------------------------------


class Child:
    """The other end of a talker: the agent's lines, and ours to it."""

    def __init__(self, **plan: Any) -> None:
        document = {"runId": "run00001", "sessionId": "s", "agent": "goose", "task": "t", "cwd": "/p"}
        made = documents.plan_of({**document, "sessionPath": "x", **plan})
        agent = agents.find("goose", "acp")
        assert agent is not None
        talker = agent.talker(made, "/nowhere")
        assert isinstance(talker, AcpTalker)
        self.talker = talker
        self.state = lifecycle.RunState()
        self.events: list[events.Event] = []
        self._take([events.run_started({})])
        self.heard = [json.loads(line) for line in self.talker.begin("Do it.").splitlines()]

    def _take(self, told: Any) -> None:
        for event in told:
            self.events.append(event)
            lifecycle.apply(self.state, event)
        self.state.error_message = self.talker.error_message

    def says(self, **message: Any) -> list[Any]:
        """Have the agent say one line; return our lines to it."""
        reading = self.talker.feed(json.dumps({"jsonrpc": "2.0", **message}).encode(), 1.0)
        self._take(reading.events)
        told = [json.loads(line) for line in reading.reply.splitlines()]
        self.heard += told
        return told

    def answers(self, result: Any = None, **more: Any) -> list[Any]:
        """Answer the last request."""
        number = [one["id"] for one in self.heard if "method" in one and "id" in one][-1]
        return self.says(id=number, **(more or {"result": result or {}}))

    def updates(self, told_as: str, **update: Any) -> None:
        """Tell an update of the session."""
        told = {"sessionId": "one", "update": {"sessionUpdate": told_as, **update}}
        assert self.says(method="session/update", params=told) == []

    def text(self, text: str, **more: Any) -> None:
        """Say a piece of the answer."""
        self.updates("agent_message_chunk", content={"type": "text", "text": text}, **more)

    def opens(self, name: str = "goose", session: Any = None, **can: Any) -> list[Any]:
        """Open a session; return our next lines to the agent."""
        self.answers({"protocolVersion": 1, "agentInfo": {"name": name}, "agentCapabilities": can})
        return self.answers({"sessionId": "one", **(session or {})})

    def is_at_work(self) -> bool:
        """Say whether the turn goes on."""
        return not self.talker.is_idle

    def ends(self, exit_code: int = 0) -> tuple[str, str, str | None]:
        """Exit; return the verdict."""
        self._take(self.talker.ended(exit_code))
        found = endings.verdict(self.state, Exit(exit_code), cause=None, lingered=False, exit_counts=False)
        return found.status, found.reason, found.error_message


def asks(child: Child, kind: str, call: str = "c1") -> list[Any]:
    """Ask for the permission to use a tool."""
    options = [
        {"optionId": "y", "name": "Yes", "kind": "allow_once"},
        {"optionId": "ever", "name": "Always", "kind": "allow_always"},
        {"optionId": "n", "name": "No", "kind": "reject_once"},
    ]
    asked = {"toolCallId": call, "title": "touch it", "kind": kind, "rawInput": {"command": "touch it"}}
    return child.says(
        id=70, method="session/request_permission", params={"toolCall": asked, "options": options}
    )


def test_a_whole_run() -> None:
    child = Child()
    assert child.heard[0]["method"] == "initialize"
    (prompt,) = child.opens()
    assert prompt["params"] == {"sessionId": "one", "prompt": [{"type": "text", "text": "Do it."}]}
    child.updates("agent_thought_chunk", content={"type": "text", "text": "Hm."})
    child.text("Hel")
    child.text("lo.")
    assert child.is_at_work()
    child.answers(
        {"stopReason": "end_turn", "usage": {"inputTokens": 10, "outputTokens": 2, "totalTokens": 12}}
    )
    assert child.talker.is_idle
    assert [event.type for event in child.events][2:] == [
        *("thinking", "assistant_text", "usage", "turn_end", "settled"),
    ]
    assert (child.state.text, child.state.usage["input"], child.state.child_session) == ("Hello.", 10, "one")
    assert child.ends() == ("completed", "done", None)


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        ("max_tokens", ("failed", "length", "The answer was cut at the model's output limit.")),
        ("max_turn_requests", ("failed", "limit", "The agent reached a limit of its own.")),
        ("refusal", ("failed", "error", "The model refused to answer.")),
        ("cancelled", ("failed", "error", "The child aborted its answer.")),
        ("something", ("failed", "unfinished", "The child ended without finishing its answer.")),
    ],
)
def test_how_a_turn_ends(reason: str, ending: tuple[str, str, str]) -> None:
    child = Child()
    child.opens()
    child.text("Half")
    child.answers({"stopReason": reason})
    assert child.ends() == ending


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({"code": 1, "message": "no credit"}, "no credit"),
        ({"message": '{"error": {"message": "the words inside"}}'}, "the words inside"),
        ({"message": '{"error": broken'}, '{"error": broken'),
        ({"message": "Internal error: API Error: 400"}, "API Error: 400"),
        ({"message": "Internal error", "data": {"details": "400 bad"}}, "400 bad"),
        ("odd", "The agent reported an error."),
    ],
)
def test_an_error_ends_a_turn(error: Any, message: str) -> None:
    child = Child()
    child.opens()
    child.answers(error=error)
    assert child.ends() == ("failed", "error", message)


def test_what_cannot_begin_says_why() -> None:
    def ending(**answer: Any) -> str | None:
        child = Child()
        child.answers(**answer)
        assert child.talker.is_idle
        status, reason, message = child.ends()
        assert (status, reason) == ("failed", "config")
        return message

    assert ending(result={"protocolVersion": 2}) == "goose speaks version 2 of ACP, and not 1"
    assert ending(error={"message": "Login first"}) == "goose: Login first"

    child = Child()
    child.answers({"protocolVersion": 1})
    child.answers(error={"message": "auth required"})
    assert child.ends() == ("failed", "config", "goose auth required")

    child = Child()
    child.answers({"protocolVersion": 1})
    child.answers({"odd": True})
    assert child.ends() == ("failed", "config", "goose gives its session no id")

    child = Child(childSession="old")
    child.answers({"protocolVersion": 1})
    assert child.ends() == ("failed", "config", "goose cannot continue a session")

    child = Child(permission="read-only")
    child.opens()
    assert child.ends() == ("failed", "config", "goose has no mode for the permission read-only")

    child = Child(resolvedModel="big")
    child.opens(session={"models": {"availableModels": [{"modelId": "small"}], "currentModelId": "small"}})
    assert child.ends() == ("failed", "config", "goose has no model big; it has small")

    child = Child(resolvedModel="big")
    child.opens()
    assert child.ends() == ("failed", "config", "goose has no model big")

    child = Child(permission="full")
    child.opens(session={"modes": {"currentModeId": "a", "availableModes": [{"id": "yolo"}]}})
    child.answers(error={"message": "not for root"})
    assert child.ends() == ("failed", "config", "goose not for root")


@pytest.mark.parametrize(
    ("can", "method"),
    [({"sessionCapabilities": {"resume": {}}}, "session/resume"), ({"loadSession": True}, "session/load")],
)
def test_a_session_is_continued(can: Any, method: str) -> None:
    child = Child(childSession="one")
    child.answers({"protocolVersion": 1, "agentCapabilities": can})
    assert (child.heard[-1]["method"], child.heard[-1]["params"]["sessionId"]) == (method, "one")
    if method == "session/load":
        child.text("said before")
    child.answers({})
    child.text("New.")
    child.answers({"stopReason": "end_turn"})
    assert (child.state.text, child.state.child_session) == ("New.", "one")


def test_mode_and_model_are_set_before_the_prompt() -> None:
    child = Child(permission="edit", resolvedModel="big")
    options = [
        {"id": "m", "category": "mode", "currentValue": "default", "options": [{"value": "acceptEdits"}]},
        {"id": "l", "category": "model", "currentValue": "small", "options": [{"value": "big"}]},
    ]
    child.opens(session={"configOptions": options})
    child.text("[MODE] acceptEdits")  # before the prompt: no answer to it
    child.answers()
    child.answers()
    child.text("Yes.")
    child.answers({"stopReason": "end_turn"})
    assert child.state.text == "Yes."
    assert [one["method"] for one in child.heard[2:]] == [
        *("session/set_config_option", "session/set_config_option", "session/prompt"),
    ]
    assert [one["params"].get("value") for one in child.heard[2:4]] == ["acceptEdits", "big"]
    assert child.talker.model == "big"

    child = Child(permission="full", resolvedModel="big")
    modes = {"currentModeId": "a", "availableModes": [{"id": "yolo"}]}
    models = {"currentModelId": "small", "availableModels": [{"modelId": "big"}]}
    child.opens(session={"modes": modes, "models": models})
    child.answers()
    child.answers()
    assert [one["method"] for one in child.heard[2:]] == [
        "session/set_mode",
        "session/set_model",
        "session/prompt",
    ]


@pytest.mark.parametrize(
    ("permission", "kind", "option"),
    [("edit", "edit", "y"), ("edit", "execute", "n"), ("full", "execute", "y"), ("edit", "read", "y")],
)
def test_a_level_answers_for_itself(permission: str, kind: str, option: str) -> None:
    child = Child(permission=permission)
    child.opens()
    (told,) = asks(child, kind)
    assert told["result"]["outcome"]["optionId"] == option
    assert child.state.denied == int(option == "n")
    assert child.talker.asks == []


@pytest.mark.parametrize(
    ("answer", "option", "denied"),
    [("allow", "y", 0), ("deny", "n", 1), ("ever", "ever", 0), ("n", "n", 1), ("please do", "n", 1)],
)
def test_a_question_is_answered_by_somebody(answer: str, option: str, denied: int) -> None:
    child = Child(permission="ask")
    child.opens()
    assert asks(child, "execute") == []
    (ask,) = child.talker.asks
    assert (ask.kind, ask.text, list(ask.options)[2]) == ("permission", "touch it", ("n", "No"))
    reading = child.talker.answer(ask.id, answer, "ann")
    assert json.loads(reading.reply)["result"]["outcome"]["optionId"] == option
    assert [event.fields["why"] for event in reading.events] == ["denied by ann"] * denied
    assert child.talker.asks == []
    assert child.talker.answer(ask.id, "allow", "ann").reply == b""


def test_a_question_without_a_no_is_cancelled() -> None:
    child = Child(permission="ask")
    child.opens()
    asked = {"title": "Run command", "rawInput": {"command": "make"}}
    child.says(id=8, method="session/request_permission", params={"toolCall": asked, "options": []})
    assert child.talker.asks[0].text == "Run command: make"
    reply = json.loads(child.talker.answer(child.talker.asks[0].id, "deny", "ann").reply)
    assert reply["result"]["outcome"] == {"outcome": "cancelled"}


def test_a_turn_is_cancelled_with_its_questions_and_the_next_goes_on() -> None:
    child = Child(permission="ask")
    assert child.talker.say(InboxMessage(1, STOP, None)) == b""  # there is no session yet
    child.opens()
    asks(child, "execute")
    assert child.talker.say(InboxMessage(2, FOLLOW_UP, "And?")) is None
    words = child.talker.say(InboxMessage(3, STOP, None))
    assert words is not None
    cancel, outcome = (json.loads(line) for line in words.splitlines())
    assert (cancel["method"], outcome["result"]["outcome"]) == ("session/cancel", {"outcome": "cancelled"})
    (late,) = asks(child, "execute", "c2")
    assert late["result"]["outcome"] == {"outcome": "cancelled"}
    child.updates("tool_call_update", toolCallId="c1", status="completed")
    child.answers({"stopReason": "end_turn"})
    assert (child.state.settled_aborted, child.talker.is_idle) == (True, True)
    words = child.talker.say(InboxMessage(4, FOLLOW_UP, "And?"))
    assert words is not None
    child.heard.append(json.loads(words))
    child.text("Yes.")
    child.answers({"stopReason": "end_turn"})
    assert child.ends() == ("completed", "done", None)


def test_what_we_do_not_offer_is_refused_and_noise_is_nothing() -> None:
    child = Child()
    child.opens()
    (told,) = child.says(id="x", method="fs/read_text_file", params={})
    assert told["error"]["code"] == -32601
    assert child.says(method="_auth/status_update", params={}) == []
    assert child.says(id=99, result={}) == []
    assert child.says(odd=True) == []
    assert child.says(method="session/update", params=[]) == []
    told = {"sessionId": "another", "update": {"sessionUpdate": "agent_message_chunk"}}
    assert child.says(method="session/update", params=told) == []
    child.updates("plan", entries=[])
    child.updates("tool_call", title="no id")
    child.updates("agent_message_chunk")
    child.updates("agent_thought_chunk", content="odd")
    assert child.talker.feed(b'plain words about an "id"', 0.0).plain is not None
    assert child.state.tool_count == 0
    child.text("Half an ans")
    assert child.ends(1) == ("failed", "exit", "The child exited with code 1.")
    assert child.state.text == "Half an ans"


def test_an_answer_that_breaks_off_in_a_line_is_not_finished() -> None:
    child = Child()
    child.opens()
    child.answers({"stopReason": "end_turn"})
    child.talker.feed(b'{"jsonrpc":"2.0","met', 0.0)
    assert child.ends()[:2] == ("failed", "unfinished")


def calls(child: Child) -> list[tuple[str, Any]]:
    """Return the calls that were told, with their arguments."""
    return [(one.fields["toolName"], one.fields["args"]) for one in child.events if one.type == "tool_call"]


def results(child: Child) -> list[tuple[bool, str]]:
    """Return the ends of calls."""
    return [(one.fields["isError"], one.fields["text"]) for one in child.events if one.type == "tool_result"]


def test_calls_are_told_in_our_words_once_their_arguments_are_there() -> None:
    child = Child()
    child.opens()
    child.text("First this.")
    child.updates("tool_call", toolCallId="a", title="Shell", kind="execute", rawInput={"cwd": "/p"})
    assert calls(child) == []
    child.updates("tool_call_update", toolCallId="a", rawInput={"description": "list"})
    assert calls(child) == []  # in pieces: the title comes with the last of them
    child.updates("tool_call_update", toolCallId="a", title="ls", rawInput={"command": "ls", "cwd": "/p"})
    child.updates(
        "tool_call_update", toolCallId="a", status="completed", rawOutput={"output": "x", "exitCode": 2}
    )
    child.updates("tool_call_update", toolCallId="a", status="completed", rawOutput="again")
    child.updates(
        "tool_call", toolCallId="b", kind="read", locations=[{"path": "/p/f"}], status="in_progress"
    )
    child.updates(
        "tool_call_update", toolCallId="b", status="completed", content=[{"content": {"text": "fine"}}]
    )
    diff = {"type": "diff", "path": "/p/f", "oldText": "a", "newText": "b"}
    child.updates("tool_call", toolCallId="c", kind="edit", content=[diff], status="failed", rawOutput={})
    child.updates("tool_call", toolCallId="d", title="n", kind="edit", rawInput={"path": "n", "content": "c"})
    child.updates("tool_call", toolCallId="e", title="Look around", status="in_progress")
    assert calls(child) == [
        ("bash", {"command": "ls", "cwd": "/p"}),
        ("read", {"path": "/p/f"}),
        ("edit", {"path": "/p/f", "edits": [{"oldText": "a", "newText": "b"}]}),
        ("write", {"path": "n", "content": "c"}),
        ("Look around", {"title": "Look around"}),
    ]
    assert results(child) == [(True, "x"), (False, "fine"), (True, "")]


def test_exit_codes_stand_in_many_places() -> None:
    told = quirks.exit_code
    assert told({"rawOutput": {"exit_code": 3}}, "") == 3
    assert told({"rawOutput": {"metadata": {"exit": 4}}}, "") == 4
    assert told({"_meta": {"terminal_exit": {"exit_code": 5}}}, "") == 5
    assert told({}, "out\n<shellId: 0 completed with exit code 6>\n") == 6
    assert told({}, "out") is None


def test_usage_is_of_this_run_and_holds_no_cached_input_twice() -> None:
    child = Child(baseline={"cost": 0.5})
    child.opens()
    child.updates("usage_update", used=1, cost={"amount": 0.75, "currency": "USD"})
    child.updates("usage_update", used=1, cost={"amount": 9, "currency": "EUR"})
    child.updates("usage_update", used=1)
    figures = {"inputTokens": 100, "cachedReadTokens": 60, "outputTokens": 5, "totalTokens": 105}
    child.answers({"stopReason": "end_turn", "usage": figures})
    used = child.state.usage
    assert [used[key] for key in ("input", "cacheRead", "output", "totalTokens")] == [40, 60, 5, 105]
    assert (used["cost"], used["costKind"], used["basis"]) == (0.25, "estimated", "run")


def test_an_agent_that_keeps_silent_after_an_old_session_says_nothing_old() -> None:
    child = Child(childSession="one")
    child.opens("gemini-cli", loadSession=True)
    child.updates("user_message_chunk", content={"type": "text", "text": "before"})
    child.text("old")
    child.updates("available_commands_update", availableCommands=[])
    child.text("new")
    child.answers({"stopReason": "end_turn", "_meta": {"quota": {"token_count": {"input_tokens": 3}}}})
    assert (child.state.text, child.state.usage["input"]) == ("new", 3)


def test_a_broken_turn_says_why() -> None:
    for text, message in [
        ('Warning: odd.\n\n{"error": {"message": "inside"}}\n', "inside"),
        ("out of order", "out of order"),
        ("", "The agent reported a system error."),
    ]:
        child = Child()
        child.opens()
        child.updates("session_info_update", _meta={"codex": {"threadStatus": {"type": "systemError"}}})
        if text:
            child.text(text)
        child.answers({"stopReason": "end_turn"})
        assert child.ends() == ("failed", "error", message)


def test_copilot_says_that_it_tries_again_and_then_that_it_failed() -> None:
    child = Child()
    child.opens("Copilot")
    child.text("Half of it")
    child.text("Info: Response was interrupted due to a server error. Retrying...")
    child.text("Info: Request failed due to a transient API error. Retrying...")
    child.text("Half of it")
    child.text("Error: Failed to get response: 500")
    child.answers({"stopReason": "end_turn"})
    assert (child.ends(), child.state.text) == (("failed", "error", "Failed to get response: 500"), None)
    child = Child()
    child.opens("Copilot")
    child.text("Warning: 1 tool call(s) had no recorded result at resume.")
    child.text("Half of it")
    child.text("Info: Response was interrupted due to a server error. Retrying...")
    child.text("Error: 500 means ")
    child.text("that.")
    child.answers({"stopReason": "end_turn"})
    assert child.ends()[0] == "completed"
    other = Child()
    other.opens()
    other.text("\n")
    other.answers({"stopReason": "end_turn"})
    assert other.ends()[0] == "completed"
    assert child.state.text == "Error: 500 means that."


def test_a_cut_answer_of_codex_is_cut() -> None:
    child = Child()
    child.opens()
    child.updates("session_info_update", _meta={"codex": {"threadStatus": {"type": "systemError"}}})
    child.text("Incomplete response returned, reason: max_output_tokens")
    child.answers({"stopReason": "end_turn"})
    assert child.ends()[:2] == ("failed", "length")


def test_a_cut_answer_of_claude_is_cut() -> None:
    child = Child()
    child.opens()
    child.answers(
        error={"code": -32603, "message": "Claude's response exceeded the 100 output token maximum."}
    )
    assert child.ends()[:2] == ("failed", "length")


def test_opencode_gets_the_rules_of_a_level_since_its_modes_forbid_nothing() -> None:
    def rules(name: str, permission: str | None, *command: str) -> dict[str, Any]:
        agent = agents.find(name, "acp")
        assert agent is not None
        told = {"agentCommand": list(command)} if command else {}
        meta = {"runId": "run00001", "sessionId": "s", "agent": name, "task": "t", "cwd": "/", **told}
        plan = documents.plan_of({**meta, "permission": permission})
        said: dict[str, Any] = json.loads(agent.environment("/a", plan).get("OPENCODE_PERMISSION", "{}"))
        return said

    assert rules("opencode-acp", "read-only")["**"] == "deny"
    assert rules("mine", "ask", "/usr/bin/opencode", "acp")["**"] == "ask"
    assert rules("mine", "ask", "/usr/bin/opencode", "acp")["gre?"] == "allow"
    assert rules("mine", "read-only", "/usr/bin/npx", "opencode-ai", "acp")["**"] == "deny"
    assert rules("opencode-acp", "full") == {"**": "allow"}
    assert rules("goose", "read-only") == {}


def test_modes_mean_levels_by_their_names() -> None:
    modes = ["https://host/modes#agent", "https://host/modes#plan", "auto-edit", "YOLO"]
    found = [quirks.mode_of(level, modes) for level in ("read-only", "edit", "full", "ask")]
    assert found == [modes[1], modes[2], modes[3], None]


def test_a_call_that_the_agent_forbids_by_its_own_rules_is_denied() -> None:
    child = Child()
    child.opens()
    child.updates("tool_call", toolCallId="a", name="Bash", title="Terminal", rawInput={"command": "rm f"})
    rule = {"claudeCode": {"nonExecutionKind": "permission-rule"}}
    child.updates("tool_call_update", toolCallId="a", status="failed", rawOutput="not allowed", _meta=rule)
    assert (child.state.denied, child.state.denials) == (1, [{"tool": "Bash", "why": "not allowed"}])
    assert results(child) == []


def test_an_agent_over_acp_needs_no_arguments_and_is_asked_nothing() -> None:
    agent = agents.find("goose", "acp")
    assert agent is not None
    plan = documents.plan_of(
        {"runId": "run00001", "sessionId": "s", "agent": "goose", "task": "t", "cwd": "/"}
    )
    assert (list(agent.arguments(plan, "/r")), agent.questions().VERSION) == ([], ())
    assert isinstance(agent.reader(plan, "/r"), AcpTalker)
    assert agent.capabilities().default_permission == "edit"


def test_a_command_line_is_known_or_the_name_itself() -> None:
    goose, other = agents.find("goose", "acp"), agents.find("mine", "acp")
    assert goose is not None
    assert other is not None
    gemini = agents.find("gemini-acp", "acp")
    assert gemini is not None
    assert (goose.program, other.program, gemini.program) == ("goose", "mine", "gemini")
    assert [list(one.program_arguments) for one in (goose, other, gemini)] == [["acp"], [], ["--acp"]]
    assert [one.keeps_sessions for one in (goose, other, gemini)] == [True, True, False]
    assert agents.find("mine", "odd") is None
    assert agents.find("mine") is None
