"""Recorded streams of real pis: their events and verdicts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agents.pi_lines import DONE, HELLO, NAMES, SAMPLES, STREAMS, play
from tmuxagents.agents.base import LineSplitter, Oversized
from tmuxagents.agents.pi.command import AGENT

if TYPE_CHECKING:
    from collections.abc import Iterable

UNFINISHED = ("failed", "unfinished", 0, None, "The child ended without finishing its answer.")
KEY = (
    '401: {"message":"Incorrect API key provided: mock","type":"invalid_request_error",'
    '"code":"invalid_api_key"}'
)
OVERFLOW = (
    '400: {"message":"This model\'s maximum context length is 8192 tokens. However, your messages resulted '
    'in 99999 tokens. Please reduce the length of the messages.","type":"invalid_request_error",'
    '"param":"messages","code":"context_length_exceeded"}'
)

# stream -> its events, its last stop reason, whether it has settled, its last text, and its verdict with the
# exit status that was recorded (None: there was none)
EXPECTED: dict[str, tuple[str, str | None, bool, str | None, tuple[object, ...] | None]] = {
    "badtool": ("cure cure cure tue S", "stop", True, "After tool errors I stop.", DONE),
    "cost": ("tue S", "stop", True, "cost check", DONE),
    "dash_task_noend": (
        "",
        None,
        False,
        None,
        ("failed", "exit", 1, None, "Error: Unknown option: - summarize"),
    ),
    "err401": ("ue S", "error", True, None, ("failed", "error", 0, None, KEY)),
    "err500": (
        *("ue y ue y ue y ue S", "error", True, None),
        ("failed", "error", 0, None, '500: {"message":"mock internal error","type":"server_error"}'),
    ),
    "extension": ("tcure tue S", "stop", True, "Extension tool finished.", None),
    "length": (
        *("tue S", "length", True, "This answer is cut"),
        ("failed", "length", 0, None, "The answer was cut at the model's output limit."),
    ),
    "missing_task": ("", None, False, None, UNFINISHED),
    "no_key": (
        *("", None, False, None),
        (
            *("failed", "exit", 1, None),
            "/home/dev/pi15x/inst/node_modules/@earendil-works/pi-coding-agent/docs/models.md",
        ),
    ),
    "overflow": ("ue S", "error", True, None, ("failed", "error", 0, None, OVERFLOW)),
    "rpc_abort": ("cure ue S b tue S", "stop", True, HELLO, None),
    "rpc_steer": ("tcure tue tue S", "stop", True, HELLO, None),
    "session_resume": ("tue S", "stop", True, HELLO, DONE),
    "sigkill_bash": (
        *("cu", None, False, None),
        ("failed", "signal", None, "SIGKILL", "The child was killed by SIGKILL."),
    ),
    "sigterm_bash": (
        "cu",
        None,
        False,
        None,
        ("failed", "exit", 143, None, "The child exited with code 143."),
    ),
    "text": ("tue S", "stop", True, HELLO, DONE),
    "think": ("ktue S", "stop", True, "Hi there.", DONE),
    "tools": (
        *("tccurre ccurre tcure cure cure tue S", "stop", True),
        *("Done: created out/new.txt and edited it.", DONE),
    ),
    "tools_read_ls": ("cure cure tue S", "stop", True, "Read-only look finished.", DONE),
    "two_messages": ("tue S b tue S", "stop", True, HELLO, DONE),
    "unknown_model": (
        *("ue S", "error", True, None),
        ("failed", "error", 0, None, '404: {"message":"no mock script \'nope\'","code":"model_not_found"}'),
    ),
    "unknown_provider": (
        *("", None, False, None),
        *(
            (
                *("failed", "exit", 1, None),
                'Error: Model "nosuch/x" not found. Use --list-models to see available models.',
            ),
        ),
    ),
}


def test_every_stream_is_in_the_table() -> None:
    assert sorted(EXPECTED) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_stream(name: str) -> None:
    letters, stop_reason, settled, text, verdict = EXPECTED[name]
    played = play(STREAMS[name].splitlines())
    assert played.letters == letters.replace(" ", "")
    assert played.plain == []
    assert played.state.stop_reason == stop_reason
    assert (played.state.settled, played.reader.settled) == (settled, settled)
    assert played.state.text == text
    assert played.state.ignored == 0
    recorded = SAMPLES / f"{name}.meta.json"
    assert recorded.exists() is (verdict is not None)
    if verdict is not None:
        code = json.loads(recorded.read_text("utf-8"))["exit"]
        assert played.verdict(code, (SAMPLES / f"{name}.stderr").read_text("utf-8")) == verdict


@pytest.mark.parametrize(
    ("name", "turns", "tools", "messages", "model"),
    [
        ("text", 1, 0, 2, "mock/mock-text"),
        ("tools", 6, 7, 14, "mock/mock-tools"),
        ("badtool", 4, 3, 8, "mock/mock-badtool"),
        ("err500", 4, 0, 5, "mock/mock-err500"),
        ("missing_task", 0, 0, 1, None),
    ],
)
def test_what_a_stream_adds_up_to(
    *, name: str, turns: int, tools: int, messages: int, model: str | None
) -> None:
    state = play(STREAMS[name].splitlines()).state
    assert (state.turns, state.tool_count, state.message_count, state.model) == (
        turns,
        tools,
        messages,
        model,
    )


def test_tokens_and_cost_are_told_as_the_provider_counts_them() -> None:
    assert play(STREAMS["cost"].splitlines()).state.usage == {
        "input": 600,
        "output": 200,
        "cacheRead": 400,
        "cacheWrite": 0,
        "totalTokens": 1200,
        "cost": 0.00492,
    }


def test_calls_and_results_are_told_with_what_belongs_to_them() -> None:
    told = play(STREAMS["badtool"].splitlines()).events
    calls = [(event.fields["toolName"], event.fields["args"]) for event in told if event.type == "tool_call"]
    results = [
        tuple(event.fields[key] for key in ("toolName", "isError", "durationMs", "text"))
        for event in told
        if event.type == "tool_result"
    ]
    assert calls == [
        ("bash", {"command": "echo hi"}),
        ("read", {"path": "does-not-exist.txt"}),
        ("read", {"nope": 1}),
    ]
    assert results[:2] == [
        ("bash", False, 20, "hi\n"),
        ("read", True, 3, "ENOENT: no such file or directory, access '/home/dev/project/does-not-exist.txt'"),
    ]
    assert results[2][:3] == ("read", True, 0)
    paired = [event.fields["callId"] for event in told if event.type in ("tool_call", "tool_result")]
    assert paired[::2] == paired[1::2]


def test_results_are_told_in_the_order_in_which_the_tools_end() -> None:
    told = play(STREAMS["tools"].splitlines()).events
    names = [
        (event.type, event.fields["toolName"]) for event in told if event.type in ("tool_call", "tool_result")
    ]
    assert names[4:8] == [
        ("tool_call", "grep"),
        ("tool_call", "find"),
        ("tool_result", "find"),
        ("tool_result", "grep"),
    ]


def test_an_answer_that_was_aborted_is_an_error_until_it_goes_on() -> None:
    lines = STREAMS["rpc_abort"].splitlines()
    aborted = next(number for number, each in enumerate(lines) if b'"agent_settled"' in each)
    assert play(lines[: aborted + 1]).verdict() == ("failed", "error", 0, None, "This operation was aborted")
    assert play(lines).verdict() == DONE


def documents(lines: Iterable[bytes | Oversized]) -> list[dict[str, Any]]:
    return [event.document() for event in play(lines).events]


WHOLE = {name: documents(STREAMS[name].splitlines()) for name in NAMES}


@given(st.sampled_from(NAMES), st.lists(st.floats(0, 1), max_size=8))
def test_a_stream_tells_the_same_however_it_arrives(name: str, cuts: list[float]) -> None:
    raw = STREAMS[name]
    at = sorted(round(cut * len(raw)) for cut in cuts)
    splitter = LineSplitter()
    lines = [
        found
        for begin, end in zip([0, *at], [*at, len(raw)], strict=True)
        for found in splitter.feed(raw[begin:end])
    ]
    assert documents([*lines, *splitter.flush()]) == WHOLE[name]


@pytest.mark.parametrize("name", ["tools", "think"])
def test_a_stream_tells_the_same_byte_by_byte_with_any_line_ends(name: str) -> None:
    splitter = LineSplitter()
    raw = STREAMS[name].replace(b"\n", b"\r\n").removesuffix(b"\r\n")
    lines = [found for byte in raw for found in splitter.feed(bytes([byte]))]
    assert documents([*lines, *splitter.flush()]) == WHOLE[name]


@pytest.mark.parametrize("name", NAMES)
def test_only_streaming_snapshots_are_left_out_of_the_log(name: str) -> None:
    for raw in STREAMS[name].splitlines():
        streaming = json.loads(raw)["type"] in ("message_update", "tool_execution_update")
        assert raw.startswith(AGENT.reader().snapshots) is streaming
