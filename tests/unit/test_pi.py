"""The pi adapter: recorded streams in, events and verdicts out, and nothing that a pi may print breaks it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit import strategies
from tmuxagents.agents import AGENTS
from tmuxagents.agents.base import LINE_LIMIT, LineSplitter, Oversized
from tmuxagents.agents.pi import AGENT
from tmuxagents.core import endings, events, lifecycle, transcript
from tmuxagents.core.lifecycle import RunState
from tmuxagents.core.progress import Narrator
from tmuxagents.records import Exit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tmuxagents.agents.base import Reading
    from tmuxagents.core.events import Event

SAMPLES = Path(__file__).parents[1] / "data" / "pi"
LETTERS = {
    "thinking": "k",
    "assistant_text": "t",
    "tool_call": "c",
    "usage": "u",
    "tool_result": "r",
    "turn_end": "e",
    "retry": "y",
    "settled": "S",
}


class Played:
    """What a stream came to: the events, and the state that the wrapper would hold."""

    def __init__(self) -> None:
        self.reader = AGENT.reader()
        self.state = RunState()
        self.events: list[Event] = []
        self.plain: list[str] = []
        lifecycle.apply(self.state, events.run_started({}))

    def take(self, line: bytes | Oversized, now: float = 0.0) -> Reading:
        reading = (
            self.reader.feed_oversized(line, now)
            if isinstance(line, Oversized)
            else self.reader.feed(line, now)
        )
        self.plain += [reading.plain] if reading.plain is not None else []
        for event in reading.events:
            self.events.append(event)
            lifecycle.apply(self.state, event)
        self.state.model, self.state.error_message = self.reader.model, self.reader.error_message
        if not self.reader.settled:
            lifecycle.resume_work(self.state)
        return reading

    @property
    def letters(self) -> str:
        return "".join(LETTERS[event.type] for event in self.events)

    def verdict(self, code: int = 0, stderr: str = "") -> tuple[object, ...]:
        """Return how it ends if it leaves with this status now."""
        for line in stderr.splitlines():
            lifecycle.apply(self.state, events.stderr(line))
        ending = Exit(code) if code >= 0 else Exit(None, {-9: "SIGKILL"}[code])
        how = endings.verdict(self.state, ending, cause=None, lingered=False)
        return how.status, how.reason, how.exit_code, how.signal, how.error_message


def play(lines: Iterable[bytes | Oversized]) -> Played:
    played = Played()
    for line in lines:
        played.take(line)
    return played


def line(kind: str, **fields: Any) -> bytes:
    return json.dumps({"type": kind, **fields}, separators=(",", ":")).encode()


def stdout(name: str) -> bytes:
    """Return what pi printed; of a recorded conversation only its side of it."""
    raw = (SAMPLES / f"{name}.jsonl").read_bytes()
    if not name.startswith("rpc_"):
        return raw
    spoken = (json.loads(record) for record in raw.splitlines())
    said = [json.dumps(record["rec"], separators=(",", ":")) for record in spoken if record["dir"] == "<"]
    return "\n".join(said).encode() + b"\n"


NAMES = sorted(path.stem for path in SAMPLES.glob("*.jsonl"))
STREAMS = {name: stdout(name) for name in NAMES}

# --- the recorded streams ---

HELLO = "Hello from the mock model. All good."
DONE = ("completed", "done", 0, None, None)
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
    "rpc_abort": ("cure ue S tue S", "stop", True, HELLO, None),
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
    "two_messages": ("tue S tue S", "stop", True, HELLO, DONE),
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


# --- lines ---

# In pi's own order of keys: of a long line only the two ends are read.
ASSISTANT: dict[str, Any] = {
    "role": "assistant",
    "content": [],
    "provider": "mock",
    "model": "m",
    "usage": {},
    "stopReason": "stop",
}


def answer(*content: Any, **fields: Any) -> bytes:
    return line("message_end", message={**ASSISTANT, "content": list(content), **fields})


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(call_id: Any, tool: Any = "read", args: Any = None) -> dict[str, Any]:
    return {"type": "toolCall", "id": call_id, "name": tool, "arguments": {} if args is None else args}


def began(call_id: Any, tool: Any = "read", args: Any = None) -> bytes:
    return line("tool_execution_start", toolCallId=call_id, toolName=tool, args={} if args is None else args)


def ended(call_id: Any, tool: Any = "read", **fields: Any) -> bytes:
    result = {"content": [text("x")]}
    return line(
        "tool_execution_end",
        toolCallId=call_id,
        toolName=tool,
        **{"result": result, "isError": False, **fields},
    )


def result_message(call_id: Any, tool: Any = "read", **fields: Any) -> bytes:
    message = {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": tool,
        "content": [text("y")],
        **fields,
    }
    return line("message_end", message=message)


TURN, SETTLED = line("turn_end", message=ASSISTANT, toolResults=[]), line("agent_settled", aborted=False)


def test_the_parts_of_an_answer_are_one_event_each_in_their_order() -> None:
    told = play([answer(call("c1"), text("one"), {"type": "thinking", "thinking": "hm"}, text("two"))]).events
    assert [event.type for event in told] == ["thinking", "assistant_text", "tool_call", "usage"]
    assert told[1].fields["text"] == "one\ntwo"


@pytest.mark.parametrize(
    "content", ["plain words", [text("plain words")], [text("plain words"), 5, None, {}, ["x"]]]
)
def test_an_answer_may_be_a_bare_text_or_hold_strange_parts(content: Any) -> None:
    assert play([line("message_end", message={**ASSISTANT, "content": content})]).state.text == "plain words"


@pytest.mark.parametrize(
    ("fields", "model"),
    [
        ({}, "mock/m"),
        ({"provider": None}, "m"),
        ({"provider": 5}, "m"),
        ({"model": None}, None),
        ({"model": ""}, None),
    ],
)
def test_the_model_is_what_the_child_says_it_uses(fields: dict[str, Any], model: str | None) -> None:
    assert play([answer(text("x"), **fields)]).reader.model == model


def test_the_last_answer_decides_over_the_error() -> None:
    played = play([answer(stopReason="error", errorMessage="500: no")])
    assert played.reader.error_message == "500: no"
    played.take(answer(text("x")))
    assert played.reader.error_message is None


@pytest.mark.parametrize(
    ("cost", "told"),
    [({"total": 0.5}, 0.5), (0.25, 0.25), (None, 0), ({"total": "much"}, 0), ({}, 0), (True, 0)],
)
def test_what_an_answer_cost(cost: Any, told: float) -> None:
    (usage,) = play([answer(usage={"input": 3, "output": "4", "cost": cost})]).events
    assert usage.fields == {
        "input": 3,
        "output": 0,
        "cacheRead": 0,
        "cacheWrite": 0,
        "totalTokens": 0,
        "cost": told,
    }


@pytest.mark.parametrize("role", ["user", "system", "custom", None, 5])
def test_messages_of_others_are_no_events(role: Any) -> None:
    played = play([line("message_end", message={**ASSISTANT, "role": role, "content": [text("x")]})])
    assert played.events == []


@pytest.mark.parametrize("message", [None, "x", 5, [], [{"role": "assistant"}], {}])
def test_a_message_that_is_none_is_no_event(message: Any) -> None:
    assert play([line("message_end", message=message), line("message_end")]).events == []


def test_no_name_and_no_message_of_a_child_fills_our_records() -> None:
    """They stand in `result.json`, in the run shape of every row, and on screens."""
    huge = "x" * 1_000_000
    played = play(
        [
            answer(stopReason=huge, errorMessage=huge, model=huge, provider=None),
            line("turn_end", message={"stopReason": huge}),
        ]
    )
    words = played.reader.model, played.reader.error_message, played.state.stop_reason
    assert [word is not None and word.startswith("x" * 200) and len(word) < 5000 for word in words] == [
        True
    ] * 3


@pytest.mark.parametrize(
    "raw", [b"", b"  ", b"\t", b'{"type":"from_the_future"}', b"{}", b'{"type":5}', b'{"type":["x"]}']
)
def test_blank_lines_and_unknown_events_tell_nothing(raw: bytes) -> None:
    played = play([raw])
    assert (played.events, played.plain) == ([], [])


@pytest.mark.parametrize(
    "raw", [b"line 1", b"{ invalid json }", b"[1]", b"42", b'"type"', b'{"type":"session"', b"{" * 9999]
)
def test_a_line_that_is_no_event_is_text(raw: bytes) -> None:
    played = play([raw])
    assert (played.events, played.plain) == ([], [raw.decode()])


def test_bytes_that_are_no_text_are_shown_as_lost() -> None:
    assert play([b"caf\xe9 \xff"]).plain == ["caf\ufffd \ufffd"]
    assert (
        play([b'{"type":"auto_retry_start","errorMessage":"caf\xe9"}']).events[0].fields["errorMessage"]
        == "caf\ufffd"
    )


# --- tool calls: each told once, and with its own end ---

TOOLS = {
    "as pi does it": ([answer(call("c1")), began("c1"), ended("c1"), result_message("c1")], "cur"),
    "two at once, ending the other way round": (
        [answer(call("c1"), call("c2")), began("c1"), began("c2"), ended("c2"), ended("c1")],
        "ccurr",
    ),
    "without the answer that names it": ([began("c1"), ended("c1")], "cr"),
    "its end alone": ([ended("c1")], "r"),
    "without an end of its own": ([answer(call("c1")), result_message("c1")], "cur"),
    "without an id, from its start on": ([began(None), ended(None)], "cr"),
    "the same id in the next turn": (
        [answer(call("c1")), began("c1"), ended("c1"), result_message("c1"), TURN] * 2,
        "cure" * 2,
    ),
    "the same id in the next turn, without answers that name it": ([began("c1"), ended("c1")] * 2, "cr" * 2),
}


@pytest.mark.parametrize("case", TOOLS)
def test_a_call_is_told_once_with_its_end(case: str) -> None:
    lines, letters = TOOLS[case]
    assert play(lines).letters == letters


@pytest.mark.parametrize(
    ("fields", "lasted"),
    [({"durationMs": 7}, 7), ({}, 2500), ({"durationMs": None}, 2500), ({"durationMs": True}, 2500)],
)
def test_how_long_a_call_took_is_what_pi_says_or_else_what_we_saw(
    fields: dict[str, Any], lasted: int
) -> None:
    played = Played()
    played.take(answer(call("c1")), 1.0)
    played.take(began("c1"), 10.0)
    played.take(ended("c1", **fields), 12.5)
    assert played.events[-1].fields["durationMs"] == lasted


def test_how_long_a_call_took_that_never_began_is_unknown() -> None:
    assert play([answer(call("c1")), ended("c1")]).events[-1].fields["durationMs"] is None
    assert play([ended("c1")]).events[-1].fields["durationMs"] is None


def test_a_call_without_name_or_arguments_is_a_call_all_the_same() -> None:
    told = play([began("c1", 5, ["x"]), ended("c1", None)]).events
    assert [event.fields["toolName"] for event in told] == ["tool", "tool"]
    assert told[0].fields["args"] == {}


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ([text("a"), {"type": "image", "data": "AAAA"}, text("b")], "a\nb"),
        ("bare", "bare"),
        ([], ""),
        (None, ""),
        ([{"type": "text", "text": 5}], ""),
    ],
)
def test_a_result_shows_its_text(content: Any, shown: str) -> None:
    assert play([ended("c1", result={"content": content})]).events[0].fields["text"] == shown
    assert play([result_message("c1", content=content)]).events[0].fields["text"] == shown


@pytest.mark.parametrize("odd", ["true", 1, None])
def test_only_true_is_an_error(odd: Any) -> None:
    assert play([ended("c1", isError=odd)]).events[0].fields["isError"] is False
    assert play([ended("c1", isError=True)]).events[0].fields["isError"] is True


def test_calls_that_never_end_do_not_fill_the_memory() -> None:
    played = Played()
    for number in range(1500):
        played.take(began(f"c{number}"))
        played.take(ended(f"d{number}"))
    assert played.letters == "cr" * 1500
    assert len(played.reader._began) == len(played.reader._answered) == 1000


# --- settling ---

SAYS = [answer(text("Found.")), TURN]
RETRIES = line("auto_retry_start", attempt=1, maxAttempts=3, delayMs=2000, errorMessage="500: no")

SETTLINGS = {
    "a pi of today": ([*SAYS, line("agent_end", messages=[], willRetry=False), SETTLED], "tueS", True),
    "a pi that does not say whether it was aborted": (
        [*SAYS, line("agent_end", messages=[], willRetry=False), line("agent_settled")],
        *("tueS", True),
    ),
    "not before it says so": ([*SAYS, line("agent_end", messages=[], willRetry=False)], "tue", False),
    "not when it will try again": ([*SAYS, line("agent_end", messages=[], willRetry=True)], "tue", False),
    "an old pi settles with its last word": ([*SAYS, line("agent_end", messages=[])], "tueS", True),
    "an old pi that tries again after all": (
        [*SAYS, line("agent_end", messages=[]), RETRIES],
        "tueSy",
        False,
    ),
    "an old pi that tried again": (
        [
            *SAYS,
            line("agent_end", messages=[]),
            RETRIES,
            line("agent_start"),
            *SAYS,
            line("agent_end", messages=[]),
        ],
        *("tueSytueS", True),
    ),
    "it begins again": ([*SAYS, SETTLED, line("agent_start")], "tueS", False),
    "it begins another turn": ([*SAYS, SETTLED, line("turn_start")], "tueS", False),
    "it answers again": ([*SAYS, SETTLED, answer(text("More."))], "tueStu", False),
    "it calls a tool again": ([*SAYS, SETTLED, began("c1")], "tueSc", False),
    "words of others after it": (
        [
            *SAYS,
            SETTLED,
            line("message_end", message={"role": "custom", "content": "x"}),
            line("entry_appended"),
        ],
        *("tueS", True),
    ),
    "streaming after it is no news": ([*SAYS, SETTLED, b'{"type":"message_update"}'], "tueS", True),
}


@pytest.mark.parametrize("case", SETTLINGS)
def test_settling(case: str) -> None:
    lines, letters, settled = SETTLINGS[case]
    played = play([line("agent_start"), line("turn_start"), *lines])
    assert played.letters == letters
    assert (played.reader.settled, played.state.settled) == (settled, settled)
    assert (played.verdict() == DONE) is settled


@pytest.mark.parametrize(
    ("fields", "aborted"), [({"aborted": True}, True), ({"aborted": "yes"}, False), ({}, False)]
)
def test_what_was_aborted_is_no_answer(fields: dict[str, Any], *, aborted: bool) -> None:
    played = play([*SAYS, line("agent_settled", **fields)])
    assert played.events[-1].fields["aborted"] is aborted
    assert (played.verdict() == DONE) is not aborted


def test_the_end_of_a_turn_tells_the_reason_of_its_own_message_or_of_the_last_one() -> None:
    assert play([line("turn_end", message={"stopReason": "length"})]).state.stop_reason == "length"
    assert play([answer(stopReason="length"), line("turn_end")]).state.stop_reason == "length"
    assert (
        play([answer(stopReason="length"), line("turn_end", message={"stopReason": 5})]).state.stop_reason
        == "length"
    )
    assert play([line("turn_end")]).state.stop_reason is None


def test_a_retry_tells_what_it_knows() -> None:
    assert play([RETRIES]).events[0].fields == {
        "attempt": 1,
        "maxAttempts": 3,
        "delayMs": 2000,
        "errorMessage": "500: no",
    }
    assert set(play([line("auto_retry_start", attempt="1", delayMs=True)]).events[0].fields.values()) == {
        None
    }


# --- what counts as activity: a tool call's start, update or end, and text ---

ACTIVITY = [
    (began("c1"), True),
    (line("tool_execution_update", toolCallId="c1"), True),
    (ended("c1"), True),
    (result_message("c1"), True),
    (answer(text("x")), True),
    (answer(call("c1")), True),
    (line("message_update", usage={}, assistantMessageEvent={"type": "text_delta", "delta": "x"}), True),
    (json.dumps({"type": "message_update", "assistantMessageEvent": {"type": "text_delta"}}).encode(), True),
    (line("message_update", usage={}, assistantMessageEvent={"type": "thinking_delta", "delta": "x"}), False),
    (answer({"type": "thinking", "thinking": "hm"}), False),
    (answer(stopReason="error", errorMessage="500: no"), False),
    (RETRIES, False),
    (line("auto_retry_end", success=False), False),
    (line("agent_start"), False),
    (line("turn_start"), False),
    (TURN, False),
    (SETTLED, False),
    (line("agent_end", messages=[]), False),
    (line("message_end", message={"role": "user", "content": [text("x")]}), False),
    (b"plain words", False),
]


@pytest.mark.parametrize(("raw", "active"), ACTIVITY, ids=[raw[:70].decode() for raw, _ in ACTIVITY])
def test_activity(raw: bytes, *, active: bool) -> None:
    assert Played().take(raw).active is active


@pytest.mark.parametrize("name", NAMES)
def test_only_streaming_snapshots_are_left_out_of_the_log(name: str) -> None:
    for raw in STREAMS[name].splitlines():
        streaming = json.loads(raw)["type"] in ("message_update", "tool_execution_update")
        assert raw.startswith(AGENT.snapshots) is streaming


# --- lines that are too long to keep ---

LONG = "x" * (LINE_LIMIT + 1)


def cut(raw: bytes) -> Oversized:
    (found,) = LineSplitter().feed(raw + b"\n")
    assert isinstance(found, Oversized)
    return found


def test_the_end_of_a_tool_that_said_too_much() -> None:
    raw = ended(
        "c1", "bash", result={"content": [text("ok")], "structuredContent": {"output": LONG}}, durationMs=5
    )
    played = play([began("c1", "bash"), cut(raw), result_message("c1", "bash")])
    assert played.letters == "cr"
    assert {key: played.events[-1].fields[key] for key in ("callId", "toolName", "isError")} == {
        "callId": "c1",
        "toolName": "bash",
        "isError": False,
    }
    assert str(len(raw)) in played.events[-1].fields["text"]


@pytest.mark.parametrize("failed", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_whether_a_tool_failed_that_said_too_much(*, failed: bool, inside: bool) -> None:
    """What the tool itself calls an error inside its details is its own matter."""
    result = {"content": [text(LONG)], "details": {"steps": [{"isError": inside}]}}
    spaced = json.dumps(
        {"type": "tool_execution_end", "toolCallId": "c1", "result": result, "isError": failed}
    )
    for raw in (ended("c1", result=result, isError=failed), spaced.encode()):
        assert play([cut(raw)]).events[0].fields["isError"] is failed


def test_a_call_with_too_many_arguments_is_a_call_all_the_same() -> None:
    """Else a child that writes large files would make no calls, and be idle while it works."""
    played = Played()
    lines = [answer(call("c1", "write", {"path": "a", "content": LONG}), stopReason="toolUse")]
    lines += [began("c1", "write", {"path": "a", "content": LONG})]
    active = [played.take(cut(raw)).active for raw in lines]
    played.take(ended("c1", "write"))
    told = [event for event in played.events if event.type in ("tool_call", "tool_result")]
    assert [(event.type, event.fields["callId"], event.fields["toolName"]) for event in told] == [
        ("tool_call", "c1", "write"),
        ("tool_result", "c1", "write"),
    ]
    assert active[-1]


@pytest.mark.parametrize("reason", ["stop", "length", "error", "toolUse"])
def test_an_answer_that_is_too_long_ends_as_it_says(reason: str) -> None:
    words = text(f'{LONG} it wrote: {{"stopReason":"stop","type":"turn_end"}}')
    raw = answer(
        words,
        call("c1", "x", {"stopReason": "pending"}),
        stopReason=reason,
        errorMessage='{"stopReason":"stop"}',
    )
    closes = line("turn_end", message={**ASSISTANT, "content": [words], "stopReason": reason})
    ends = line("agent_end", messages=[{"content": LONG}], willRetry=False)
    played = play([cut(raw), cut(closes), cut(ends), SETTLED])
    assert played.letters == "tueS"
    assert played.state.stop_reason == reason
    assert (played.verdict() == DONE) is (reason == "stop")
    assert str(len(raw)) in str(played.state.text)


@pytest.mark.parametrize(
    ("fields", "letters"),
    [({"willRetry": False}, ""), ({"willRetry": True}, ""), ({}, "S")],
    ids=["no", "yes", "old"],
)
def test_the_end_of_a_long_run_settles_only_an_old_pi(fields: dict[str, Any], letters: str) -> None:
    messages = [{"role": "assistant", "content": [call("c1", "x", {"willRetry": True}), text(LONG)]}]
    assert play([cut(line("agent_end", messages=messages, **fields))]).letters == letters


@pytest.mark.parametrize(
    ("raw", "active"),
    [
        (line("message_update", assistantMessageEvent={"type": "text_delta", "delta": LONG}), True),
        (line("tool_execution_update", partialResult=LONG), True),
        (line("message_end", message={"role": "user", "content": LONG}), False),
        (line("message_end", message=LONG), False),
        (line("message_start", message=ASSISTANT, rest=LONG), False),
        (line("from_the_future", rest=LONG), False),
        (b"no json at all " + LONG.encode(), False),
        (b'{"type":' + LONG.encode(), False),
    ],
    ids=["text", "tool update", "user", "no message", "start", "unknown", "plain", "torn"],
)
def test_other_long_lines_tell_no_more_than_short_ones(raw: bytes, *, active: bool) -> None:
    reading = Played().take(cut(raw))
    assert (list(reading.events), reading.active) == ([], active)


# --- whatever a child prints ---

PARSED = [json.loads(raw) for raw in STREAMS["tools_read_ls"].splitlines()] + [
    json.loads(raw) for raw in (RETRIES, line("agent_settled", aborted=True))
]
PLACES = [
    (number, path)
    for number, parsed in enumerate(PARSED)
    if not parsed["type"].endswith("_update")
    for path in strategies.paths(parsed)
]


def endure(lines: Iterable[bytes | Oversized]) -> None:
    """Take lines through all that the wrapper does with them."""
    played = play(lines)
    narrator = Narrator()
    for event in played.events:
        assert event.type in LETTERS
        assert events.decode(events.encode(event)) is not None
        transcript.entry(event, narrator.phrase(event))
    for words in played.plain:
        transcript.plain_output(words)
    assert played.verdict()[0] in ("completed", "failed")


@given(st.sampled_from(PLACES), strategies.wild_values)
def test_a_wrong_value_anywhere_is_endured(place: tuple[int, tuple[Any, ...]], value: Any) -> None:
    number, path = place
    changed = strategies.replaced(PARSED[number], path, value)
    lines = [*PARSED[:number], changed, *PARSED[number + 1 :]]
    endure(json.dumps(parsed).encode("utf-8", "surrogatepass") for parsed in lines)


@given(st.sampled_from(PLACES))
def test_a_value_that_is_missing_anywhere_is_endured(place: tuple[int, tuple[Any, ...]]) -> None:
    number, path = place
    changed = strategies.replaced(PARSED[number], path, strategies.GONE)
    endure(json.dumps(parsed).encode() for parsed in [*PARSED[:number], changed, *PARSED[number:]])


LINES = sorted({raw for name in NAMES for raw in STREAMS[name].splitlines()}, key=len)[-150:]


@given(st.sampled_from(LINES), st.integers(0, 400), st.integers(0, 400))
def test_any_line_is_endured_by_its_ends_alone(raw: bytes, head: int, tail: int) -> None:
    endure([Oversized(raw[:head], raw[len(raw) - min(tail, len(raw)) :], LINE_LIMIT + 1)])


@given(st.sampled_from(LINES), st.integers(0, 2000), st.binary(max_size=4))
def test_any_torn_line_is_endured(raw: bytes, at: int, noise: bytes) -> None:
    endure([raw[:at] + noise + raw[at + len(noise) :], raw])


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_any_noise_is_endured(lines: list[bytes]) -> None:
    endure(lines)


# --- how pi is called ---

META: dict[str, Any] = {
    "sessionPath": "child-session.jsonl",
    "resolvedModel": None,
    "presetKind": None,
    "systemPromptPath": None,
    "appendSystemPromptPath": None,
    "tools": [],
}
RUN_DIR = "/state/runs/01a1ee15069b4c1f"
SESSION = ["--mode", "json", "--session", f"{RUN_DIR}/child-session.jsonl"]
APPENDED, SYSTEM = "append-system-prompt.md", "system-prompt.md"


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({}, []),
        ({"resolvedModel": "mock/mock-text"}, ["--model", "mock/mock-text"]),
        (
            {"presetKind": "preset", "systemPromptPath": SYSTEM},
            ["--append-system-prompt", f"{RUN_DIR}/{SYSTEM}"],
        ),
        (
            {"presetKind": "profile", "systemPromptPath": SYSTEM, "appendSystemPromptPath": APPENDED},
            ["--system-prompt", f"{RUN_DIR}/{SYSTEM}", "--append-system-prompt", f"{RUN_DIR}/{APPENDED}"],
        ),
        ({"tools": ["read", "ls"]}, ["--tools", "read,ls"]),
        (
            {"tools": ["read"], "resolvedModel": "a/b", "presetKind": "preset", "systemPromptPath": SYSTEM},
            ["--model", "a/b", "--append-system-prompt", f"{RUN_DIR}/{SYSTEM}", "--tools", "read"],
        ),
    ],
)
def test_command_line(changes: dict[str, Any], more: list[str]) -> None:
    assert AGENT.arguments({**META, **changes}, RUN_DIR) == [*SESSION, *more]


def test_a_session_elsewhere_is_named_by_its_whole_path() -> None:
    line_ = AGENT.arguments({**META, "sessionPath": "/elsewhere/session.jsonl"}, RUN_DIR)
    assert line_ == ["--mode", "json", "--session", "/elsewhere/session.jsonl"]


def test_no_text_of_the_task_stands_on_the_command_line() -> None:
    told = {**META, "task": "SECRET", "systemPrompt": "SECRET", "name": "SECRET", "preset": "SECRET"}
    assert "SECRET" not in " ".join(AGENT.arguments(told, RUN_DIR))


def test_environment() -> None:
    assert AGENT.environment("/agent/dir") == {"PI_SUBAGENTS_CHILD": "1", "PI_CODING_AGENT_DIR": "/agent/dir"}


def test_the_table_of_brands_knows_pi() -> None:
    assert {name: agent.name for name, agent in AGENTS.items()} == {"pi": "pi"}
    assert (AGENTS["pi"].program, AGENTS["pi"].program_variable) == ("pi", "TMUXAGENTS_PI")


def test_each_child_has_a_reader_of_its_own() -> None:
    first, second = AGENT.reader(), AGENT.reader()
    first.feed(SETTLED, 0.0)
    assert (first.settled, second.settled) == (True, False)
