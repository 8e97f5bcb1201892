"""opencode: its command line, its lines, and every ending that it reports wrongly."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents import recordings
from tests.agents.lines import Heard, plan
from tmuxagents.agents import AGENTS
from tmuxagents.agents.opencode.command import OpencodeReader
from tmuxagents.errors import Unusable

AGENT = AGENTS["opencode"]
RECORDED = recordings.of("opencode", "batch")
SESSION = "ses_1"


@pytest.mark.parametrize("name", RECORDED)
def test_every_recording_is_told_rightly(name: str) -> None:
    assert recordings.differences(RECORDED[name]) == []


def heard() -> Heard:
    return Heard(OpencodeReader())


def step(child: Heard, reason: str, *told: dict[str, Any], **tokens: Any) -> Heard:
    """Have it say one step."""
    child.line(type="step_start", sessionID=SESSION, part={})
    for part in told:
        kind = "tool_use" if "tool" in part else "text"
        child.line(type=kind, sessionID=SESSION, part=part)
    usage = {"input": 10, "output": 4, "reasoning": 1, "cache": {"read": 3, "write": 2}, **tokens}
    return child.line(
        type="step_finish", sessionID=SESSION, part={"reason": reason, "tokens": usage, "cost": 0.5}
    )


def tool(name: str = "bash", *, status: str = "completed", **state: Any) -> dict[str, Any]:
    return {"tool": name, "callID": "c1", "state": {"status": status, "input": {"command": "x"}, **state}}


# --- endings ---


def test_a_zero_after_a_permission_that_was_refused_is_no_success() -> None:
    refused = "The user rejected permission to use this specific tool call."
    child = step(heard(), "tool-calls", tool(status="error", error=refused))
    how = child.exit(0)
    assert (how.status, how.reason) == ("failed", "unfinished")
    assert child.state.denials == [{"tool": "bash", "why": refused}]
    assert not child.told("tool_result")


def test_a_one_after_a_whole_answer_is_no_failure() -> None:
    """As after a context that was too long: it says the error, compacts, and answers."""
    child = heard().line(type="error", sessionID=SESSION, error={"name": "ContextOverflowError", "data": {}})
    assert child.state.text is None
    assert step(child, "stop", {"text": "Hello"}).exit(1).status == "completed"


def test_an_error_after_an_answer_is_the_end() -> None:
    child = step(heard(), "stop", {"text": "Hello"})
    child.line(type="error", sessionID=SESSION, error={"name": "APIError", "data": {"message": "no"}})
    how = child.exit(1)
    assert (how.status, how.reason, how.error_message) == ("failed", "error", "no")


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        ({"name": "APIError", "data": {"message": "Too many", "statusCode": 429}}, "error", "Too many"),
        ({"name": "MessageOutputLengthError", "data": {}}, "length", None),
        ({"name": "MessageAbortedError", "data": {"message": "Aborted"}}, "error", "Aborted"),
        ({"name": "Odd", "message": "so"}, "error", "so"),
        ("nothing", "error", "The model failed."),
    ],
)
def test_an_error_is_told_with_its_words(error: Any, reason: str, message: str | None) -> None:
    child = heard().line(type="step_start", sessionID=SESSION)
    how = child.line(type="error", sessionID=SESSION, error=error).exit(1)
    assert (how.status, how.reason) == ("failed", reason)
    assert message is None or how.error_message == message


def test_an_error_of_its_server_before_any_step_is_what_it_was_called_with() -> None:
    error = {"name": "UnknownError", "data": {"message": "Unexpected server error."}}
    how = heard().line(type="error", sessionID=SESSION, error=error).exit(1)
    assert (how.status, how.reason) == ("failed", "config")
    assert "a model that it does not know" in str(how.error_message)


def test_an_error_of_its_server_after_a_step_is_an_error() -> None:
    error = {"name": "UnknownError", "data": {"message": "Unexpected server error."}}
    child = step(heard(), "tool-calls").line(type="error", sessionID=SESSION, error=error)
    assert child.exit(1).reason == "error"


def test_an_exit_without_a_line_is_what_it_was_called_with() -> None:
    assert heard().exit(1).reason == "config"
    assert heard().exit(143).reason == "exit"
    assert heard().exit(0).reason == "unfinished"
    assert heard().exit(None).reason == "signal"


@pytest.mark.parametrize(
    ("reason", "ours"), [("length", "length"), ("content-filter", "error"), ("", "error")]
)
def test_an_answer_that_was_cut_is_no_success(reason: str, ours: str) -> None:
    how = step(heard(), reason, {"text": "He"}).exit(0)
    assert (how.status, how.reason) == ("failed", ours)


def test_answers_that_break_off_again_and_again_are_no_sign_of_life() -> None:
    """It asks again without end, so its timeout has to come."""
    child = heard()
    for _ in range(3):
        step(child, "unknown", {"text": "wor"}, input=0, output=0, reasoning=0, cache={})
        assert not child.active
    assert [retry["attempt"] for retry in child.told("retry")] == [1, 2, 3]
    assert not child.told("usage")
    assert step(child, "stop", {"text": "Hello"}).exit(0).status == "completed"
    assert child.state.text == "Hello"


def test_a_stream_that_breaks_in_a_line_is_no_success() -> None:
    child = step(heard(), "stop", {"text": "Hello"}).raw(b'{"type":"step_st')
    assert child.exit(0).reason == "unfinished"


# --- what it did ---


def test_figures_are_of_a_call_and_thoughts_are_output() -> None:
    usage = step(heard(), "stop").told("usage")[0]
    assert usage == {
        "input": 10,
        "output": 5,
        "cacheRead": 3,
        "cacheWrite": 2,
        "totalTokens": 20,
        "cost": 0.5,
        "reasoning": 1,
        "costKind": "estimated",
        "basis": "call",
    }


def test_a_command_that_fails_is_a_failure() -> None:
    done = tool(output="no", metadata={"exit": 1}, time={"start": 5, "end": 9})
    result = step(heard(), "tool-calls", done).told("tool_result")[0]
    assert (result["isError"], result["text"], result["durationMs"]) == (True, "no", 4)


@pytest.mark.parametrize(("name", "denied"), [("bash", 1), ("made_up", 0)])
def test_a_tool_that_is_not_offered_is_denied_if_there_is_one(name: str, denied: int) -> None:
    why = "Model tried to call unavailable tool 'invalid'. Available tools: read."
    child = step(heard(), "tool-calls", tool(name, status="error", error=why))
    assert child.state.denied == denied
    other = tool("invalid", input={"tool": name, "error": why}, output="The arguments are invalid")
    assert step(heard(), "tool-calls", other).state.denied == denied


def test_arguments_that_are_wrong_are_a_failure_and_no_denial() -> None:
    child = step(heard(), "tool-calls", tool("invalid", input={"tool": "edit", "error": "expected string"}))
    assert child.told("tool_result")[0]["isError"]
    assert child.state.denied == 0


def test_odd_lines_are_borne() -> None:
    child = heard()
    for kind in ("step_start", "text", "reasoning", "tool_use", "step_finish", "error", "else", 7):
        child.line(type=kind, sessionID=None, part=[], error=[])
    child.raw(b"plain").raw(b"").raw(b"[1]")
    assert child.state.child_session is None
    assert child.exit(1).status == "failed"


# --- how it is called ---


def test_its_arguments_hold_no_text_of_the_task() -> None:
    assert AGENT.arguments(plan("opencode", resolvedModel="a/b"), "/run") == [
        *("run", "--format", "json", "--thinking", "-m", "a/b", "--title", "tmuxagents 01234567")
    ]


def test_it_continues_a_session_and_allows_all() -> None:
    line = AGENT.arguments(plan("opencode", childSession="ses_9", permission="full"), "/run")
    assert line == ["run", "--format", "json", "--thinking", "--auto", "-s", "ses_9"]


def rules(**fields: Any) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(
        AGENT.environment("/a", plan("opencode", **fields))["OPENCODE_PERMISSION"]
    )
    return told


def test_what_it_would_ask_for_is_denied_since_nobody_answers() -> None:
    own = rules()
    assert own == rules(permission="edit")
    assert own["external_director?"]["*"] == "deny"
    assert own["rea?"]["*.env"] == "deny"
    assert "**" not in own


def test_read_only_denies_all_but_reading() -> None:
    own = rules(permission="read-only")
    assert next(iter(own)) == "**"
    assert own["**"] == "deny"
    assert own["rea?"] == {"*": "allow", "*.env": "deny", "*.env.*": "deny", "*.env.example": "allow"}
    assert not {"bas?", "edi?", "tas?"} & own.keys()


def test_full_allows_all_so_that_no_sub_agent_asks() -> None:
    assert rules(permission="full") == {"**": "allow"}


def test_a_list_of_tools_allows_these_alone_within_the_level() -> None:
    assert rules(permission="full", tools=["bash", "mine_x"]) == {
        "**": "deny",
        "bas?": "allow",
        "mine_x": "allow",
        "external_director?": "allow",
    }
    own = rules(permission="read-only", tools=["bash", "grep"])
    assert set(own) == {"**", "gre?", "external_director?"}
    assert rules(permission="edit", tools=["write", "read"])["edi?"] == "allow"


def test_questions_about_it_are_asked_in_peace() -> None:
    assert AGENT.environment("/a", None) == {"OPENCODE_DISABLE_AUTOUPDATE": "1"}
    assert AGENT.capabilities().default_permission == "edit"
    assert AGENT.program_variable == "TMUXAGENTS_OPENCODE"
    assert isinstance(AGENT.reader(plan("opencode"), "/run"), OpencodeReader)


def test_the_text_of_a_preset_is_one_more_file_of_instructions() -> None:
    name = "OPENCODE_CONFIG_CONTENT"
    assert json.loads(AGENT.prompted("/r/text.md", {})[name]) == {"instructions": ["/r/text.md"]}
    own = json.dumps({"theme": "x", "instructions": ["a.md"]})
    told = json.loads(AGENT.prompted("/r/text.md", {name: own})[name])
    assert told == {"theme": "x", "instructions": ["a.md", "/r/text.md"]}
    with pytest.raises(Unusable, match="not plain JSON"):
        AGENT.prompted("/r/text.md", {name: "// words"})
