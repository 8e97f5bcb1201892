"""The stream of Claude Code: each recording has its true verdict, and no lie is believed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents import recordings
from tests.agents.envelope_lines import INIT, RESULT, Played, ends, says, text, tool
from tmuxagents.agents import AGENTS
from tmuxagents.agents.base import Oversized
from tmuxagents.agents.claude.reader import ClaudeReader

RECORDED = recordings.of("claude", "batch", "duplex")


def played(*lines: dict[str, Any] | str, reader: ClaudeReader | None = None) -> Played:
    """Read lines of a Claude Code."""
    return Played(*lines, reader=reader or ClaudeReader())


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_comes_to_its_true_verdict(name: str) -> None:
    assert recordings.differences(RECORDED[name]) == []


def test_every_lie_that_was_recorded_is_here() -> None:
    lies = {name for name, one in RECORDED.items() if one.verdict.get("lies")}
    assert lies == {"duplex_error", "err400", "err401", "err429", "sigint_in_text", "unknown_model"}
    assert not any(one.verdict.get("undetectable") for one in RECORDED.values())


# --- what must not be believed ---


def test_a_success_with_an_error_is_none() -> None:
    error = says(text("API Error: 400 no"), is_api_error_message=True)
    came = played(
        INIT,
        error,
        {**RESULT, "is_error": True, "terminal_reason": "api_error", "result": "API Error: 400 no"},
    )
    how = came.verdict(1)
    assert (how.status, how.reason, how.error_message) == ("failed", "error", "API Error: 400 no")
    assert came.of("assistant_text") == []


@pytest.mark.parametrize("missing", ["is_error", "subtype"])
def test_a_result_has_to_say_that_it_went_well(missing: str) -> None:
    raw = {key: value for key, value in RESULT.items() if key != missing}
    assert played(INIT, says(text("Done.")), raw).verdict().status == "failed"


def test_exit_code_0_after_an_interrupt_is_no_success() -> None:
    broken = {
        **RESULT,
        "subtype": "error_during_execution",
        "is_error": True,
        "terminal_reason": "aborted_streaming",
    }
    came = played(
        INIT, says(text("Half"), aborted=True), {**broken, "errors": ["[ede_diagnostic] x"], "result": None}
    )
    how = came.verdict(0)
    assert (how.status, how.reason, how.error_message) == ("failed", "error", "The child aborted its answer.")
    assert came.state.text is None


def test_a_process_that_writes_no_result_is_unfinished() -> None:
    assert played(INIT, says(text("Done."))).verdict(0).reason == "unfinished"


def test_a_result_that_is_cut_is_none() -> None:
    whole = json.dumps(RESULT, separators=(",", ":"))
    assert played(INIT, says(text("Done.")), whole[:-9]).verdict(0).reason == "unfinished"


def test_a_stream_that_breaks_off_in_a_later_turn_is_unfinished() -> None:
    again = json.dumps(says(text("And")), separators=(",", ":"))
    assert played(INIT, says(text("Done.")), RESULT).verdict(0).status == "completed"
    assert played(INIT, says(text("Done.")), RESULT, again[:-9]).verdict(0).reason == "unfinished"


def test_an_answer_that_is_too_long_is_cut() -> None:
    over = says(text("API Error: too long"), is_api_error_message=True, error="max_output_tokens")
    failed = {**RESULT, "is_error": True, "terminal_reason": "api_error"}
    assert played(INIT, says(text("a")), over, failed).verdict(1).reason == "length"


@pytest.mark.parametrize(
    ("stop_reason", "reason"),
    [
        ("end_turn", "done"),
        ("tool_use", "done"),
        (None, "done"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "error"),
        ("pause_turn", "unfinished"),
    ],
)
def test_a_success_is_one_only_with_a_whole_answer(stop_reason: str | None, reason: str) -> None:
    assert played(INIT, says(text("a")), {**RESULT, "stop_reason": stop_reason}).verdict().reason == reason


def test_an_answer_whose_message_never_ends_is_cut() -> None:
    # As Claude Code 2.1.328 does when the connection breaks off each time it tries.
    start, stop = (
        {"type": "stream_event", "event": {"type": kind}} for kind in ("message_start", "message_stop")
    )
    delta = {"type": "stream_event", "event": {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}}
    how = played(INIT, start, stop, start, stop, says(text("Half")), RESULT).verdict()
    assert (how.status, how.reason) == ("failed", "error")
    assert how.error_message == "The connection to the model broke off in the middle of the answer."
    assert played(INIT, start, start, says(text("All")), delta, stop, RESULT).verdict().reason == "done"
    assert played(INIT, start, stop, {**RESULT, "is_error": True}).verdict().error_message == "Done."
    assert played(INIT, start, RESULT, RESULT).verdict().reason == "done"


def test_a_turn_that_a_hook_ended_is_no_success() -> None:
    assert played(INIT, {**RESULT, "terminal_reason": "hook_stopped"}).verdict().reason == "error"


def test_a_version_that_gives_no_reason_is_believed() -> None:
    raw = {key: value for key, value in RESULT.items() if key != "terminal_reason"}
    assert played(INIT, says(text("Done.")), raw).verdict().reason == "done"


def test_a_limit_of_its_own_is_one() -> None:
    raw = {
        **RESULT,
        "subtype": "error_max_budget_usd",
        "is_error": True,
        "errors": ["Reached maximum budget ($1)"],
    }
    how = played(INIT, raw).verdict(1)
    assert (how.reason, how.error_message) == ("limit", "Reached maximum budget ($1)")


def test_a_structured_answer_that_is_missing_is_a_failure() -> None:
    ordered = {**INIT, "tools": ["StructuredOutput"]}
    how = played(ordered, says(text("{}")), RESULT).verdict()
    assert (how.reason, how.error_message) == ("error", "The agent gave no structured answer.")
    assert played(ordered, {**RESULT, "structured_output": {"ok": True}}).verdict().reason == "done"


def test_a_session_that_is_not_there_is_a_fault_of_the_configuration() -> None:
    raw = {
        **RESULT,
        "subtype": "error_during_execution",
        "is_error": True,
        "errors": ["No conversation found"],
    }
    how = played(raw).verdict(1)
    assert (how.reason, how.error_message) == ("config", "No conversation found")


# --- denials and results of tools ---


def test_a_call_that_was_denied_is_told_once_and_has_no_result() -> None:
    denial = {"type": "system", "subtype": "permission_denied", "tool_name": "Bash", "tool_use_id": "c1"}
    listed = {**RESULT, "permission_denials": [{"tool_name": "Bash", "tool_use_id": "c1"}]}
    came = played(
        INIT, says(tool()), {**denial, "message": "It needs approval."}, ends(is_error=True), listed
    )
    assert came.of("denied") == [
        {"type": "denied", "callId": "c1", "toolName": "Bash", "why": "It needs approval."}
    ]
    assert came.of("tool_result") == []
    assert came.verdict().status == "completed"


def test_a_denial_that_stands_in_the_result_line_alone_is_told() -> None:
    listed = {
        **RESULT,
        "permission_denials": [{"tool_name": "Edit", "tool_use_id": "c9"}, {"tool_name": "X"}, "?"],
    }
    assert [one["toolName"] for one in played(INIT, listed).of("denied")] == ["Edit", "X"]
    assert played(INIT, {**RESULT, "permission_denials": None}).of("denied") == []


@pytest.mark.parametrize(
    ("about", "denied"),
    [
        ([{"id": "c1", "permission_decision": {"decision": "reject"}}], True),
        ([{"id": "c1", "permission_decision": {"decision": "accept"}}], False),
        ([{"id": "c1", "non_execution_kind": "user-rejected"}], False),  # it was broken off
        ([{"id": "c2", "permission_decision": {"decision": "reject"}}, 1], False),
        (None, False),
    ],
)
def test_a_refused_call_is_told_from_one_that_was_broken_off(about: Any, *, denied: bool) -> None:
    came = played(INIT, says(tool()), ends(tool_result_meta=about))
    assert bool(came.of("denied")) is denied
    assert bool(came.of("tool_result")) is not denied


def test_a_result_may_have_blocks_and_is_told_once() -> None:
    twice = ends(words=[text("one"), {"type": "image"}, text("two")])
    came = played(INIT, says(tool()), twice, twice, ends(call="c7"))
    assert [one["text"] for one in came.of("tool_result")] == ["one\ntwo"]


# --- whose words they are ---


def test_words_of_a_sub_agent_are_not_the_childs() -> None:
    inner = says(text("inner"), tool("c5"), id="m9") | {"parent_tool_use_id": "c1"}
    back = {**ends("c5"), "parent_tool_use_id": "c1"}
    piece = {"type": "stream_event", "event": {"type": "message_start"}, "parent_tool_use_id": "c1"}
    came = played(INIT, says(text("mine")), inner, back, piece, RESULT)
    assert [one["text"] for one in came.of("assistant_text")] == ["mine"]
    assert came.of("tool_call") == []


def test_several_texts_of_one_message_are_one_answer() -> None:
    thought = {"type": "thinking", "thinking": "hm"}
    came = played(
        INIT, says(thought), says(text("one")), says(text("two")), says(text("three"), id="m2"), RESULT
    )
    assert [one["text"] for one in came.of("assistant_text")] == ["one\ntwo", "three"]
    assert came.of("thinking")[0]["text"] == "hm"
    assert came.state.text == "three"


def test_an_answer_is_told_when_its_message_ends() -> None:
    stop = {"type": "stream_event", "event": {"type": "message_stop"}, "parent_tool_use_id": None}
    assert played(INIT, says(text("one")), stop).of("assistant_text") == [
        {"type": "assistant_text", "text": "one"}
    ]


def test_the_last_words_before_a_sudden_end_are_told() -> None:
    came = played(INIT, says(text("last")))
    came.verdict(None)
    assert came.of("assistant_text") == [{"type": "assistant_text", "text": "last"}]


def test_pieces_of_messages_show_that_it_works_and_are_not_logged() -> None:
    reader = ClaudeReader()
    piece = b'{"type":"stream_event","event":{"type":"content_block_delta","index":0}}'
    assert piece.startswith(reader.snapshots)
    told = reader.feed(piece, 1.0)
    assert (told.active, list(told.events)) == (True, [])


def test_an_odd_line_is_activity_or_nothing() -> None:
    odd: list[dict[str, Any]] = [
        {"type": "assistant", "message": "?"},
        {"type": "user", "message": None},
        {"type": "stream_event", "event": None},
        {"type": "system", "subtype": "thinking_tokens"},
        {"type": "user", "message": {"content": "queued words"}},
        says({"type": "text", "text": ""}, {"type": "thinking"}, {"type": "redacted"}),
    ]
    came = played(INIT, *odd)
    assert [one["type"] for one in came.told] == ["run_started", "session_started"]
    assert played("words", "[1]", " ").told == [{"type": "run_started"}]
    reader = ClaudeReader()
    assert reader.feed_oversized(Oversized(b"{", b"}", 9), 1.0).active
    assert reader.left_out


# --- session, model, turns, retries ---


def test_the_session_is_told_once_and_its_model_when_it_is_known() -> None:
    hook = {"type": "assistant", "message": {"content": []}, "session_id": "s1"}
    told = played(hook, INIT, INIT).of("session_started")
    assert [(one["session"], one["model"]) for one in told] == [("s1", None), ("s1", "sonnet")]
    assert [one["model"] for one in played(INIT, INIT, RESULT).of("session_started")] == ["sonnet"]
    assert played({"type": "system", "subtype": "init"}).of("session_started") == []


def test_a_later_turn_is_told_as_such() -> None:
    start, delta = (
        {"type": "stream_event", "event": {"type": f"message_{kind}"}} for kind in ("start", "delta")
    )
    failed = {**RESULT, "is_error": True, "terminal_reason": "api_error"}
    for again in (INIT, start, says(text("b"))):
        came = played(INIT, failed, again, says(text("b")), delta, RESULT)
        assert len(came.of("resumed")) == 1
        assert came.verdict().status == "completed"
    assert played(INIT, RESULT, failed).verdict().status == "failed"


def test_a_retry_is_told() -> None:
    raw = {"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 2, "retry_delay_ms": 500}
    told = played({**raw, "error_status": 429, "error": "rate_limit"}, {**raw, "error": "unknown"}).of(
        "retry"
    )
    assert [one["errorMessage"] for one in told] == ["HTTP 429: rate_limit", "unknown"]
    assert (told[0]["attempt"], told[0]["maxAttempts"], told[0]["delayMs"]) == (1, 2, 500)


# --- usage ---


def test_the_cost_is_that_of_the_turn() -> None:
    first = {
        **RESULT,
        "model_usage_since_last_result": {"a": {"costUSD": 0.25}, "b": {"costUSD": 0.125}, "c": 1},
    }
    told = played(INIT, first, {**RESULT, "total_cost_usd": 0.75}).of("usage")
    assert [one["cost"] for one in told] == [0.375, 0.25]
    assert (told[0]["input"], told[0]["cacheRead"], told[0]["totalTokens"]) == (10, 3, 15)
    assert (told[0]["costKind"], told[0]["basis"]) == ("estimated", "run")


def test_the_cost_of_earlier_runs_is_not_counted_again() -> None:
    told = played(INIT, RESULT, reader=ClaudeReader(0.375)).of("usage")
    assert told[0]["cost"] == 0.125
    assert played(INIT, {**RESULT, "usage": None, "total_cost_usd": 0}).of("usage") == []


def test_a_turn_that_was_killed_has_used_what_its_calls_told() -> None:
    used = {
        "type": "stream_event",
        "event": {"type": "message_delta", "usage": {"input_tokens": 7, "output_tokens": 5}},
    }
    came = played(INIT, RESULT, INIT, used)
    came.verdict(None)
    assert [one["input"] for one in came.of("usage")] == [10, 7]
    finished = played(INIT, used, RESULT)
    finished.verdict()
    assert [one["input"] for one in finished.of("usage")] == [10]


def test_the_table_of_agents_has_it() -> None:
    assert AGENTS["claude"].name == "claude"
