"""GitHub Copilot CLI: its command line, its lines, and every ending that it reports wrongly."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents import recordings
from tests.agents.lines import Heard, kinds_of, plan
from tmuxagents.agents import AGENTS
from tmuxagents.agents.brand import session_uuid
from tmuxagents.agents.copilot.reader import USAGE, CopilotReader

AGENT = AGENTS["copilot"]
RECORDED = recordings.of("copilot", "batch")


@pytest.mark.parametrize("name", RECORDED)
def test_every_recording_is_told_rightly(name: str) -> None:
    assert recordings.differences(RECORDED[name]) == []


def heard(baseline: Any = None) -> Heard:
    child = Heard(CopilotReader("u-1", baseline))
    child.line(type="session.tools_updated", data={"model": "m"})
    return child.line(type="assistant.turn_start", data={})


def answer(child: Heard, text: str = "Hello") -> Heard:
    return child.line(type="assistant.message", data={"content": text, "model": "m-2"})


def end(child: Heard, code: Any = 0, **idle: Any) -> Heard:
    child.line(type="assistant.idle", data=idle)
    return child.line(type="result", sessionId="u-1", exitCode=code)


# --- endings ---


def test_an_answer_is_whole_if_it_was_idle_and_says_zero() -> None:
    child = end(answer(heard()))
    assert child.exit(0).status == "completed"
    assert (child.state.text, child.state.child_session, child.state.model) == ("Hello", "u-1", "m-2")


def test_a_result_of_zero_after_it_was_broken_off_is_no_success() -> None:
    """As after TERM in the middle of a turn."""
    assert end(answer(heard()), aborted=True).exit(0).reason == "unfinished"


def test_a_result_of_zero_without_idle_is_no_success() -> None:
    how = answer(heard()).line(type="result", sessionId="u-1", exitCode=0).exit(0)
    assert (how.status, how.reason) == ("failed", "unfinished")


def test_a_result_of_zero_after_an_error_is_no_success() -> None:
    child = heard().line(type="session.error", data={"message": "400 no"})
    how = end(child).exit(0)
    assert (how.status, how.reason, how.error_message) == ("failed", "error", "400 no")


def test_an_error_before_the_last_turn_is_over() -> None:
    child = heard().line(type="session.error", data={"message": "busy"})
    child.line(type="assistant.turn_start", data={})
    assert end(answer(child)).exit(0).status == "completed"


def test_idle_that_was_broken_off_is_no_end() -> None:
    child = heard().line(type="assistant.idle", data={"aborted": True})
    assert not child.state.settled
    assert child.exit(None).reason == "signal"


@pytest.mark.parametrize("code", [1, None, "0"])
def test_any_other_result_is_an_error(code: Any) -> None:
    assert end(answer(heard()), code).exit(0).reason == "error"


def asked(child: Heard, *texts: str | None) -> Heard:
    """Have it ask the model; None: it does not take the answer."""
    for text in texts:
        child.line(type="assistant.turn_start", data={})
        child.line(type="model.call_finished", data={"outcome": "success"})
        child = child if text is None else answer(child, text)
        child.line(type="assistant.turn_end", data={})
    return child


def test_an_answer_that_it_had_cut_twice_before_is_cut() -> None:
    assert end(asked(heard(), None, None, "He")).exit(0).reason == "length"


def test_an_answer_that_came_whole_in_the_end_is_whole() -> None:
    assert end(asked(heard(), None, "Hello")).exit(0).reason == "done"


def test_a_turn_with_tools_between_ends_the_tries() -> None:
    child = asked(heard(), None, None)
    child.line(type="assistant.message", data={"content": "", "toolRequests": [{}]})
    assert end(asked(child, "Hello")).exit(0).reason == "done"


def test_an_exit_code_counts() -> None:
    assert end(answer(heard())).exit(3).reason == "exit"


def test_an_exit_without_a_line_is_what_it_was_called_with() -> None:
    assert Heard(CopilotReader()).exit(1).reason == "config"
    assert Heard(CopilotReader()).exit(143).reason == "exit"
    assert Heard(CopilotReader()).exit(0).reason == "unfinished"
    assert heard().exit(1).reason == "exit"


def test_a_stream_that_breaks_in_a_line_is_no_success() -> None:
    assert end(answer(heard())).raw(b'{"ty').exit(0).reason == "unfinished"


# --- what it did ---


def use(child: Heard, **fields: Any) -> Heard:
    data = {"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "x"}}
    child.line(type="tool.execution_start", data=data)
    return child.line(type="tool.execution_complete", data={"toolCallId": "c1", **fields})


def test_a_command_that_fails_is_told_as_a_success_with_an_exit_code() -> None:
    child = use(heard(), success=True, shellExecution={"exitCode": 1}, result={"content": "no such file"})
    assert child.told("tool_result")[0]["isError"]
    assert child.told("tool_result")[0]["text"] == "no such file"


def test_a_tool_that_is_not_allowed_is_denied() -> None:
    child = use(heard(), success=False, error={"code": "denied", "message": "Permission denied"})
    assert child.state.denials == [{"tool": "bash", "why": "Permission denied"}]
    assert not child.told("tool_result")


def test_a_tool_that_fails_is_no_denial() -> None:
    result = use(heard(), success=False, error={"message": "no match"}).told("tool_result")[0]
    assert (result["isError"], result["text"]) == (True, "no match")


def test_words_of_a_sub_agent_are_not_its_own() -> None:
    child = answer(heard()).line(type="assistant.message", data={"content": "X", "parentToolCallId": "c1"})
    assert child.state.text == "Hello"


def test_a_request_that_failed_is_tried_again_for_a_reason() -> None:
    child = heard().line(type="model.call_failure", data={"errorMessage": '{"message":"busy"}'})
    child.line(type="assistant.turn_retry", data={"reason": "rate_limit"})
    child.line(type="model.call_failure", data={"errorMessage": "cut"})
    child.line(type="assistant.turn_retry", data={})
    assert [one["errorMessage"] for one in child.told("retry")] == ["busy", "cut"]


def test_pieces_of_a_text_show_that_it_works() -> None:
    child = heard().raw(b'{"type":"assistant.message_delta","data":{}}')
    assert child.active
    child.line(type="assistant.reasoning", data={"content": "hm"})
    assert child.told("thinking") == [{"text": "hm"}]


def test_odd_lines_are_borne() -> None:
    child = Heard(CopilotReader())
    for kind in kinds_of(CopilotReader):
        child.line(type=kind, data=[], exitCode=[])
    assert child.state.child_session is None
    assert child.exit(0, b"{").status == "failed"


def test_the_session_that_it_says_itself_counts() -> None:
    child = end(answer(heard())).line(type="result", sessionId="u-2", exitCode=0)
    assert child.state.child_session == "u-2"


# --- what it used ---

USED = {"inputTokens": 100, "outputTokens": 20, "cacheReadTokens": 30, "cacheWriteTokens": 5}


def written(*models: dict[str, Any]) -> bytes:
    metrics = {f"m-{at}": {"usage": usage} for at, usage in enumerate(models)}
    return json.dumps({"modelMetrics": metrics}).encode()


def test_what_it_used_is_told_when_it_has_left_and_changes_no_ending() -> None:
    child = end(answer(heard()))
    how = child.exit(0, written(USED, {"inputTokens": 1, "reasoningTokens": 4}))
    assert how.status == "completed"
    assert child.state.usage == {
        "input": 66,
        "output": 20,
        "cacheRead": 30,
        "cacheWrite": 5,
        "totalTokens": 121,
        "cost": 0,
        "reasoning": 4,
        "costKind": "none",
        "basis": "session",
    }
    assert child.state.turns == 1


def test_what_the_session_had_used_before_is_not_counted_again() -> None:
    before = {"input": 60, "output": 15, "cacheRead": 30, "cacheWrite": 9}
    child = end(answer(heard(before)))
    child.exit(0, written(USED))
    assert child.told("usage")[0]["totalTokens"] == 10
    assert child.told("usage")[0]["cacheWrite"] == 0


def logged(kind: str, **data: Any) -> bytes:
    """Return a line of the session's own log."""
    return json.dumps({"type": kind, "data": data}, separators=(",", ":")).encode()


def test_the_log_of_the_session_knows_best_what_was_used_before() -> None:
    shut = json.loads(written(USED))  # this replaces what came before it
    lines = [
        logged("session.usage_record", usage={"inputTokens": 10_000}),
        logged("session.shutdown", accountingSnapshot=shut),
        logged("session.usage_record", usage={"inputTokens": 7, "outputTokens": 2}),
        logged("session.shutdown"),
        b"{",
    ]
    assert all(line.startswith(AGENT.about_usage) for line in lines[:-1])
    child = end(answer(heard({"input": 60_000})))
    child.reader.note_session(lines)
    child.exit(0, written({**USED, "inputTokens": 207, "outputTokens": 42}))
    (told,) = child.told("usage")
    assert (told["input"], told["output"], told["cacheRead"]) == (100, 20, 0)
    assert AGENT.session_log(None, {}) is AGENT.session_log("../x", {}) is None
    assert AGENT.session_log("u", {"HOME": "/h"}) == "/h/.copilot/session-state/u/events.jsonl"


def test_what_a_broken_run_used_counts() -> None:
    child = heard()
    assert child.exit(None, written(USED)).reason == "signal"
    assert child.state.usage["totalTokens"] == 120


def test_no_figures_are_no_event() -> None:
    child = end(answer(heard()))
    child.exit(0, written())
    assert not child.told("usage")


# --- how it is called ---


@pytest.mark.parametrize(
    ("level", "flags"),
    [
        (None, ["--allow-tool=write"]),
        ("read-only", ["--deny-tool=write", "--deny-tool=shell"]),
        ("edit", ["--allow-tool=write"]),
        ("full", ["--allow-all"]),
    ],
)
def test_its_arguments_hold_no_text_of_the_task(level: str | None, flags: list[str]) -> None:
    own = plan("copilot", permission=level, resolvedModel="m", tools=["view", "grep"])
    assert AGENT.arguments(own, "/run") == [
        *("--output-format", "json", "--usage-output-file", f"/run/{USAGE}"),
        *("--no-ask-user", "--no-auto-update", *flags, "--available-tools=view,grep", "--model", "m"),
        *("--session-id", session_uuid(own)),
    ]


def test_it_continues_a_session() -> None:
    own = plan("copilot", childSession="u-9", baseline={"input": 5})
    assert AGENT.arguments(own, "/run")[-1] == "--resume=u-9"
    child = Heard(AGENT.reader(own, "/run")).line(type="session.tools_updated", data={"model": "m"})
    assert child.state.child_session == "u-9"


def test_no_variable_of_the_user_allows_more() -> None:
    assert AGENT.environment("/a", plan("copilot"))["COPILOT_ALLOW_ALL"] == "false"
    assert AGENT.capabilities().usage == "session"


def test_the_text_of_a_preset_is_beside_the_instructions_of_the_user() -> None:
    name = "COPILOT_CUSTOM_INSTRUCTIONS_DIRS"
    assert AGENT.prompted("/r/text.md", {}) == {name: "/r"}
    assert AGENT.prompted("/r/text.md", {name: "/a,/b"}) == {name: "/a,/b,/r"}
    assert AGENT.capabilities().system_prompt
