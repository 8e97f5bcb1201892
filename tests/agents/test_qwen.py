"""Qwen Code: its command line, and its stream: each recording has its true verdict."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents import recordings
from tests.agents.envelope_lines import INIT, RESULT, Played, ends, says, text, tool
from tmuxagents.agents import AGENTS
from tmuxagents.agents.capabilities import ADD
from tmuxagents.agents.envelope import EnvelopeReader
from tmuxagents.agents.qwen.reader import QwenReader
from tmuxagents.runs.documents import plan_of

AGENT = AGENTS["qwen"]
RECORDED = recordings.of("qwen", "batch")
FAILED = {**RESULT, "subtype": "error_during_execution", "is_error": True, "result": None}


def played(*lines: dict[str, Any] | str, before: dict[str, Any] | None = None) -> Played:
    """Read lines of a Qwen Code."""
    return Played(*lines, reader=QwenReader(before))


def failed(message: Any) -> dict[str, Any]:
    """Return the end of a turn that failed."""
    return {**FAILED, "error": {"message": message}}


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_comes_to_its_true_verdict(name: str) -> None:
    assert recordings.differences(RECORDED[name]) == []


def test_none_of_them_lies_in_this_version() -> None:
    assert not any(one.verdict.get("lies") or one.verdict.get("undetectable") for one in RECORDED.values())


# --- what must not be believed ---


@pytest.mark.parametrize("code", [53, 55])
def test_the_exit_code_of_a_limit_says_so_where_no_result_does(code: int) -> None:
    how = played(INIT, says(tool()), ends()).verdict(code)
    assert (how.status, how.reason) == ("failed", "limit")


def test_such_an_exit_code_after_a_result_is_a_failure_of_another_kind() -> None:
    assert played(INIT, RESULT).verdict(55).reason == "exit"


def test_no_result_and_no_limit_is_unfinished() -> None:
    assert played(INIT, says(text("Done."))).verdict(0).reason == "unfinished"
    assert played(INIT, says(text("Done."))).verdict(1).reason == "exit"


def test_an_error_that_is_said_like_an_answer_is_none() -> None:
    message = "[API Error: 400 no]"
    came = played(INIT, says(text(message)), failed(message))
    how = came.verdict(1)
    assert (how.reason, how.error_message) == ("error", "API Error: 400 no")
    assert came.of("assistant_text") == []


def test_of_a_broken_answer_only_the_models_own_words_are_told() -> None:
    message = "[API Error: terminated]"
    came = played(INIT, says(text(f"Half{message}")), failed(message))
    assert [one["text"] for one in came.of("assistant_text")] == ["Half"]


@pytest.mark.parametrize(("message", "said"), [("No.", "No."), ("", None), (None, None)])
def test_an_error_may_say_little(message: Any, said: str | None) -> None:
    came = played(INIT, says(text("a")), failed(message))
    came.verdict(1)
    assert came.reader.error_message == said


def test_an_error_as_a_success_is_none() -> None:  # as of 0.21.9
    assert played(INIT, {**RESULT, "is_error": True}).verdict().status == "failed"


def test_words_that_the_provider_took_back_are_not_told() -> None:
    data = {"attempt": 1, "maxRetries": 10, "delayMs": 60000}
    again = {"type": "system", "subtype": "retry", "data": data}
    gone = {**again, "data": {**data, "preserveText": False}}
    odd = {**again, "data": None}
    came = played(INIT, says(text("half")), gone, odd, says(text("kept"), id="m2"), again, RESULT)
    assert [one["text"] for one in came.of("assistant_text")] == ["kept"]
    assert [(one["attempt"], one["maxAttempts"], one["delayMs"]) for one in came.of("retry")] == [
        (1, 10, 60000)
    ] * 2


def test_a_result_of_a_tool_is_never_taken_for_a_denial() -> None:
    came = played(INIT, says(tool()), ends(words="[Operation Cancelled] Reason: x"))
    assert (len(came.of("tool_result")), came.of("denied")) == (1, [])


# --- usage ---


def test_figures_are_those_of_this_run() -> None:
    told = {"input_tokens": 100, "cache_read_input_tokens": 30, "output_tokens": 20}
    before = {"input": 40, "cacheRead": 10, "output": 5, "cost": 0}
    (used,) = played(INIT, {**RESULT, "usage": told}, before=before).of("usage")
    assert (used["input"], used["cacheRead"], used["output"], used["totalTokens"]) == (30, 20, 15, 65)
    assert (used["costKind"], used["basis"]) == ("none", "session")
    assert played(INIT, {**RESULT, "usage": None}).of("usage") == []


def test_what_both_brands_share_knows_no_figures() -> None:
    assert Played(INIT, RESULT, reader=EnvelopeReader()).of("usage") == []


def test_a_run_that_was_killed_has_used_what_its_calls_told() -> None:
    line = says(tool())
    line["message"]["usage"] = {"input_tokens": 9, "cache_read_input_tokens": 2, "output_tokens": 1}
    came = played(INIT, line, {"type": "assistant"}, before={"input": 100})
    came.verdict(None)
    assert [(one["input"], one["cacheRead"]) for one in came.of("usage")] == [(7, 2)]


# --- how it is called ---


def line(**changes: Any) -> list[str]:
    """Return the command line of a plan."""
    return list(AGENT.arguments(plan_of({"runId": "01a1ee15069b4c1f", **changes}), "/state/runs/x"))


@pytest.mark.parametrize(
    ("permission", "mode"),
    [
        *[(None, "auto-edit"), ("edit", "auto-edit"), ("read-only", "plan"), ("full", "yolo")],
        *[("ask", "default"), ("odd", "plan")],
    ],
)
def test_a_permission_is_an_approval_mode(permission: str | None, mode: str) -> None:
    assert f"--approval-mode={mode}" in line(permission=permission)


def test_session_model_and_tools_are_flags() -> None:
    assert line()[:2] == ["--output-format=stream-json", "--input-format=stream-json"]
    assert line()[3].startswith("--session-id=")
    assert line(childSession="abc")[3] == "--resume=abc"
    assert "--model=m" in line(resolvedModel="m")
    assert not any(word.startswith("--model") for word in line(resolvedModel="m", modelSource="agent"))
    named = [word for word in line(tools=["read_file", "glob", "glob"]) if word.startswith("--core-tools")]
    assert named == ["--core-tools=read_file", "--core-tools=glob"]


def test_it_starts_no_agents_and_no_servers() -> None:
    assert {"--exclude-tools=agent", "--allowed-mcp-server-names=none"} <= set(line())


def test_the_model_may_ask_where_somebody_answers() -> None:
    assert "--exclude-tools=ask_user_question" in line(permission="edit")
    assert "--exclude-tools=ask_user_question" not in line(permission="ask")


def test_what_it_can_do() -> None:
    has = AGENT.capabilities()
    assert list(has.system_prompt) == [ADD]
    assert AGENT.prompted("/r/text.md", {}) == {"QWEN_SYSTEM_IDENTITY_MD": "/r/text.md"}
    assert set(has.tools.values()) == set(AGENT.tools)
    assert AGENT.key_variables("k", None) == {"OPENAI_API_KEY": "k"}
    assert AGENT.environment("/a", None) == {"QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"}
    plan = plan_of({"baseline": {"input": 3}})
    assert vars(AGENT.reader(plan, "/r"))["_before"]["input"] == 3
