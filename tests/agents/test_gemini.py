"""Gemini CLI: its command line, its lines, and every ending that it reports wrongly."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents import recordings
from tests.agents.lines import Heard, kinds_of, plan
from tmuxagents.agents import AGENTS
from tmuxagents.agents.brand import session_uuid
from tmuxagents.agents.gemini import GeminiReader

AGENT = AGENTS["gemini"]
RECORDED = recordings.of("gemini", "batch")
STATS = {"total_tokens": 57, "input_tokens": 30, "output_tokens": 20, "cached": 10, "input": 20}


@pytest.mark.parametrize("name", RECORDED)
def test_every_recording_is_told_rightly(name: str) -> None:
    assert recordings.differences(RECORDED[name]) == []


def heard() -> Heard:
    return Heard(GeminiReader()).line(type="init", session_id="s-1", model="gemini-9")


def say(child: Heard, *pieces: str, at: float = 0.0) -> Heard:
    for piece in pieces:
        moment = f"2026-11-19T00:00:{at:06.3f}Z"
        child.line(type="message", role="assistant", content=piece, delta=True, timestamp=moment)
    return child


def result(child: Heard, status: str = "success", **fields: Any) -> Heard:
    return child.line(type="result", status=status, stats=STATS, **fields)


# --- endings ---


def test_an_answer_is_the_joined_pieces() -> None:
    child = result(say(heard(), "Hello ", "you."))
    assert child.exit(0).status == "completed"
    assert (child.state.text, child.state.child_session, child.state.model) == (
        "Hello you.",
        "s-1",
        "gemini-9",
    )


def test_a_zero_without_a_result_is_no_success() -> None:
    """As after TERM or INT."""
    how = say(heard(), "Hello").exit(0)
    assert (how.status, how.reason) == ("failed", "unfinished")


@pytest.mark.parametrize(("code", "reason"), [(53, "limit"), (42, "config"), (41, "config"), (1, "exit")])
def test_its_exit_codes_speak_where_no_result_does(code: int, reason: str) -> None:
    assert heard().exit(code).reason == reason


def test_its_exit_code_adds_nothing_to_a_result() -> None:
    error = {"type": "FatalTurnLimitedError", "message": "Reached max session turns."}
    how = result(heard(), "error", error=error).exit(53)
    assert (how.status, how.reason, how.error_message) == ("failed", "limit", "Reached max session turns.")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ('[API Error: {"error":{"code":401,"message":"No such key."}}]', "No such key."),
        ("[API Error: busy\nSuggested retry after 1s.]\nPlease wait", "busy\nSuggested retry after 1s."),
        ("[API Error: {}]", "{}"),
        ("odd", "odd"),
        (None, "The model failed."),
    ],
)
def test_an_error_of_the_api_is_told_in_its_words(said: str | None, message: str) -> None:
    how = result(heard(), "error", error={"type": "unknown", "message": said}).exit(144)
    assert (how.status, how.reason, how.error_message) == ("failed", "error", message)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("Loop detected, stopping execution", "limit"),
        ("Maximum session turns exceeded", "limit"),
        ("Model response was truncated because it exceeded the token limit.", "length"),
        ("Agent execution blocked: no", "error"),
        (None, "error"),
    ],
)
def test_a_success_after_it_stopped_in_the_middle_is_none(said: str | None, reason: str) -> None:
    how = result(say(heard(), "Well, ").line(type="error", severity="warning", message=said)).exit(0)
    assert (how.status, how.reason) == ("failed", reason)


def test_a_warning_before_more_work_is_only_that() -> None:
    child = heard().line(type="error", severity="warning", message="Slow down")
    assert result(say(child, "Hello")).exit(0).status == "completed"


def test_a_stream_that_breaks_in_a_line_is_no_success() -> None:
    assert result(say(heard(), "Hello")).raw(b'{"ty').exit(0).reason == "unfinished"


# --- an answer that broke off ---


def test_the_words_of_a_broken_answer_are_not_the_answer() -> None:
    child = say(say(heard(), "word0 word1 "), "Hello ", "you.", at=1.05)
    assert result(child).state.text == "Hello you."
    assert [one["text"] for one in child.told("assistant_text")] == ["word0 word1 ", "Hello you."]


@pytest.mark.parametrize(
    ("before", "after", "at"),
    [
        ("It is done. ", "Next", 1.5),  # a sentence was over
        ("it goes ", "on", 1.5),
        ("we asked ", "Anna", 0.9),
    ],
)
def test_a_pause_alone_breaks_no_answer(before: str, after: str, at: float) -> None:
    assert result(say(say(heard(), before), after, at=at)).state.text == before + after


def test_an_odd_moment_breaks_no_answer() -> None:
    child = say(heard(), "word ").line(type="message", role="assistant", content="Hello", timestamp="x")
    assert result(child).state.text == "word Hello"


# --- what it did ---


def use(child: Heard, tool: str, **fields: Any) -> Heard:
    child.line(type="tool_use", tool_name=tool, tool_id="t1", parameters={"command": "x"})
    return child.line(type="tool_result", tool_id="t1", **fields)


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("cat: /x: No such file or directory", True),
        ("bash: line 1: foo: command not found", True),
        ("Command exited with code: 3", True),
        ("cat: /x: No such file or directory\nbut all is well", False),
        ("fine", False),
    ],
)
def test_a_command_that_fails_is_told_as_a_success_and_known_by_its_words(
    output: str, *, failed: bool
) -> None:
    child = use(heard(), "run_shell_command", status="success", output=output)
    assert child.told("tool_result")[0]["isError"] is failed


def test_words_of_failure_in_a_file_are_none() -> None:
    child = use(heard(), "read_file", status="success", output="a: b: Permission denied")
    assert child.told("tool_result")[0]["isError"] is False


@pytest.mark.parametrize("kind", ["policy_violation", "tool_not_registered"])
def test_a_tool_that_is_not_allowed_is_denied(kind: str) -> None:
    child = use(heard(), "replace", status="error", error={"type": kind, "message": "denied by policy"})
    assert child.state.denials == [{"tool": "replace", "why": "denied by policy"}]
    assert not child.told("tool_result")


def test_a_tool_that_it_never_had_is_no_denial() -> None:
    child = use(heard(), "made_up", status="error", error={"type": "tool_not_registered", "message": "no"})
    assert (child.state.denied, child.told("tool_result")[0]["isError"]) == (0, True)


def test_a_tool_that_fails_is_no_denial() -> None:
    child = use(heard(), "replace", status="error", error={"type": "x", "message": "no match"})
    assert child.told("tool_result")[0]["isError"]
    assert child.told("tool_result")[0]["text"] == "no match"


def test_its_words_before_a_tool_are_a_message() -> None:
    child = use(say(heard(), "I look. "), "read_file", status="success")
    assert [event.type for event in child.events][-3:] == ["assistant_text", "tool_call", "tool_result"]
    assert result(say(child, "Done.")).state.text == "Done."


def test_figures_are_of_the_run_and_thoughts_beside_them() -> None:
    assert result(heard()).told("usage") == [
        {
            "input": 20,
            "output": 20,
            "cacheRead": 10,
            "cacheWrite": 0,
            "totalTokens": 57,
            "cost": 0,
            "reasoning": 7,
            "costKind": "none",
            "basis": "run",
        }
    ]


def test_odd_lines_are_borne() -> None:
    child = Heard(GeminiReader())
    for kind in kinds_of(GeminiReader):
        child.line(type=kind, stats=[], error=7, content=7, session_id=7)
    assert child.state.child_session is None
    assert not child.line(type="news").active
    assert not child.told("usage")
    assert child.exit(0).status == "failed"


def test_spaces_alone_are_no_message() -> None:
    assert result(say(heard(), " ")).state.text is None


def test_it_may_begin_again() -> None:
    child = say(result(say(heard(), "One.")), "Two.")
    assert child.told("resumed") == [{}]
    assert result(child).state.text == "Two."


# --- how it is called ---


@pytest.mark.parametrize(
    ("level", "mode"),
    [(None, "auto_edit"), ("read-only", "default"), ("edit", "auto_edit"), ("full", "yolo")],
)
def test_its_arguments_hold_no_text_of_the_task(level: str | None, mode: str) -> None:
    own = plan("gemini", permission=level, resolvedModel="m")
    assert AGENT.arguments(own, "/run") == [
        *("--output-format", "stream-json", "--skip-trust", "--approval-mode", mode, "--model", "m"),
        *("--session-id", session_uuid(own)),
    ]


def test_it_continues_a_session() -> None:
    assert AGENT.arguments(plan("gemini", childSession="s-9"), "/run")[-2:] == ["--resume", "s-9"]


def test_it_takes_no_list_of_tools_and_no_system_prompt() -> None:
    can = AGENT.capabilities()
    assert (dict(can.tools), can.reads_tools, can.system_prompt) == ({}, False, ())
    assert isinstance(AGENT.reader(plan("gemini"), "/run"), GeminiReader)
