"""Checkpoints: a fold that continues from one has the same result as a fold from the first event."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.agents.pi_lines import SAMPLES, play, stdout
from tests.runs.steps import (
    ANSWERED,
    CALL,
    EXITED,
    FAILED_RESULT,
    FIGURES,
    GAVE_UP,
    RESULT,
    RESUMED,
    RETRY,
    SETTLED,
    STARTED,
    TEXT,
    WARNED,
    script,
    seen,
    turn,
    whole_logs,
    wild_logs,
)
from tmuxagents.agents.base import LineSplitter
from tmuxagents.records import Exit
from tmuxagents.runs import events, lifecycle, reading
from tmuxagents.runs.events import Event
from tmuxagents.runs.lifecycle import RunState
from tmuxagents.runs.narration import Narrator
from tmuxagents.runs.reading import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterable

EVERYTHING = (
    *(events.queued(3), STARTED, TEXT, CALL, FIGURES, RESULT, turn("toolUse"), WARNED, TEXT, FIGURES),
    *(turn("stop"), SETTLED, RESUMED, events.human_input("more"), events.needs_input("select", "which?")),
    *(events.input_given("select"), events.message_sent(1, "steer", "x"), events.thinking("hm")),
    *(events.assistant_text("half"), turn("aborted"), GAVE_UP, CALL, FAILED_RESULT, RETRY, EXITED),
    events.left_behind(pid=7, comm="tmux", why="is a service"),
)
MARK = (1, 2, 3000, 1_700_000_000_000_000_000)
DOCUMENTS = Path(__file__).parents[1] / "data" / "documents"


class Fold:
    """The result of reading lines: a state, what the child does now, the calls without a result."""

    def __init__(self) -> None:
        self.state, self.narrator = RunState(), Narrator()
        self.activity: str | None = None

    def take(self, lines: Iterable[bytes]) -> Fold:
        for line in lines:
            event = events.decode(line)
            if event is not None:
                lifecycle.apply(self.state, event)
                self.activity = self.narrator.phrase(event) or self.activity
        return self

    def text(self, *, tail: bytes = b"}\n") -> str | None:
        point = Checkpoint(
            mark=MARK,
            offset=3000,
            lines=40,
            tail=tail,
            state=self.state,
            activity=self.activity,
            calls=self.narrator.calls.all,
        )
        return reading.encode_checkpoint(point)

    def all(self) -> dict[str, Any]:
        return {**seen(self.state), "does": self.activity, "calls": self.narrator.calls.all}

    @classmethod
    def gone_on(cls, text: str) -> Fold:
        point = reading.decode_checkpoint(text)
        assert point is not None
        fold = cls()
        fold.state, fold.activity = point.state, point.activity
        fold.narrator.calls.take_up(point.calls)
        return fold


def assert_same_from_every_line(lines: list[bytes], *, always: bool) -> None:
    whole = Fold().take(lines).all()
    for cut in range(len(lines) + 1):
        text = Fold().take(lines[:cut]).text()
        if text is None:
            assert not always
        else:
            assert Fold.gone_on(text).take(lines[cut:]).all() == whole


# --- the same -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(path.stem for path in SAMPLES.glob("*.jsonl")))
def test_a_recorded_stream_goes_on_from_each_of_its_events(name: str) -> None:
    splitter = LineSplitter()
    played = play([*splitter.feed(stdout(name)), *splitter.flush()])
    log = script(STARTED, *played.events, EXITED)
    assert_same_from_every_line([events.encode(event) for event in log], always=True)


def test_the_sample_log_goes_on_from_each_of_its_lines() -> None:
    lines = (DOCUMENTS / "events.jsonl").read_bytes().splitlines()
    assert len(lines) > 10
    assert_same_from_every_line(lines, always=True)


@given(whole_logs)
@example(script(*ANSWERED, RESUMED, CALL, WARNED, events.left_behind(pid=7, comm="tmux", why="is a service")))
def test_any_log_goes_on_from_each_of_its_lines(log: list[Event]) -> None:
    assert_same_from_every_line([events.encode(event) for event in log], always=False)


@given(wild_logs, st.lists(st.binary(max_size=20), max_size=3))
@example(
    script(STARTED, events.left_behind(pid=7, comm="x", why="y"), Event("left_behind", {"pid": [1]})), []
)
@example(script(STARTED, Event("assistant_text", {"text": "\ud83d"})), [])
def test_whatever_a_child_writes_no_checkpoint_says_anything_else(
    log: list[Event], junk: list[bytes]
) -> None:
    lines = [events.encode(event) for event in log]
    assert_same_from_every_line([*lines[:2], *junk, *lines[2:]], always=False)


@pytest.mark.parametrize(
    "line",
    [
        b'{"v":1,"seq":2,"at":1,"type":"left_behind","pid":NaN,"comm":"x","why":"y"}',
        b'{"v":1,"seq":2,"at":1,"type":"left_behind","pid":' + b"[" * 90 + b"]" * 90 + b"}",
        b'{"v":1,"seq":2,"at":1,"type":"assistant_text","text":"\xed\xa0\xbd\xed\xb8\x80"}',  # two halves
        b'{"v":1,"seq":' + b"9" * 400 + b',"at":1,"type":"assistant_text","text":"x"}',
        b'{"v":1,"seq":-2,"at":1,"type":"child_exited","exitCode":-1}',
        b'{"v":1,"seq":2,"at":1,"type":"usage","input":-5}',
    ],
)
def test_what_would_not_be_read_back_as_it_was_is_not_written(line: bytes) -> None:
    lines = [events.encode(event) for event in script(STARTED, TEXT, CALL)]
    assert_same_from_every_line([*lines, line, *lines[2:]], always=False)


def test_a_changed_fold_raises_the_version() -> None:
    lines = [
        *(DOCUMENTS / "events.jsonl").read_bytes().splitlines(),
        *map(events.encode, script(*EVERYTHING)),
    ]
    texts = [text for cut in range(len(lines)) if (text := Fold().take(lines[:cut]).text()) is not None]
    assert {text.split()[0] for text in texts} == {"5"}
    # If this has changed, raise the version: no reader may continue from a state that it would not compute.
    assert hashlib.sha256("".join(texts).encode()).hexdigest()[:16] == "eccbb61da08a41af"


def test_each_field_is_read_back_as_it_was() -> None:
    state = RunState()
    for number, name in enumerate(RunState.__slots__, 1):
        kind = type(getattr(state, name))
        setattr(state, name, {int: number, bool: True}.get(kind, getattr(state, name)))
    state.phase, state.usage = lifecycle.LEAVING, {**state.usage, "input": 5, "cost": 0.25}
    state.started_at, state.last_event_at, state.child_pid, state.child_start_time = 1.5, 2, 3, 4
    state.asks = [{"ask": "q", "kind": "k", "text": "\x7f", "options": []}]
    state.denials = [{"tool": "bash", "why": "\x7f"}]
    state.position, state.left_behind = 9, [{"pid": 1, "comm": None, "why": "\x7f\u2028"}]
    words = (
        "agent_version",
        "pane",
        "window",
        "text",
        "finished_text",
        "stop_reason",
        "stderr_tail",
        "model",
        "child_session",
        "evidence",
    )
    for name in (*words, "error_message"):
        setattr(state, name, f"{name} \x00\x85\u2028 ü 😀")
    for how in (Exit(3), Exit(None, "SIGKILL")):
        state.exit = how
        assert all(getattr(state, name) != getattr(RunState(), name) for name in RunState.__slots__)
        fold = Fold()
        fold.state, fold.activity = state, "does \u2028"
        fold.narrator.calls.take_up([("c1", "read", "a"), (None, "bash", None)])
        text = fold.text(tail=b"\xff\x80\n")
        assert text is not None
        point = reading.decode_checkpoint(text)
        assert point is not None
        assert Fold.gone_on(text).all() == fold.all()
        assert (point.mark, point.offset, point.tail) == (MARK, 3000, b"\xff\x80\n")


def test_a_result_finds_its_call_behind_a_checkpoint() -> None:
    before, after = script(STARTED, CALL)[:2], [RESULT]
    text = Fold().take(map(events.encode, before)).text()
    assert text is not None
    assert Fold.gone_on(text).take(map(events.encode, after)).activity == "Finished reading a"


# --- bounds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "log",
    [
        [events.assistant_text("x" * 70_000)],
        [
            events.assistant_text("x" * 22_000),
            turn("stop"),
        ],  # it is the text, the last answer, and what it does
        [events.assistant_text("\x01" * 11_000)],  # six bytes each
        [events.tool_call(None, "read", {"path": "x" * 90}) for _ in range(900)],
    ],
    ids=["a text", "an answer", "bytes", "calls"],
)
def test_what_is_too_long_gets_no_checkpoint_until_it_is_over(log: list[Event]) -> None:
    fold = Fold().take(map(events.encode, script(STARTED, FIGURES)))
    assert len(fold.text() or "") in range(500, 2000)
    fold.take(map(events.encode, script(*log)))
    assert fold.text() is None


# --- what is none ---------------------------------------------------------------------------------------


def whole() -> str:
    text = Fold().take(map(events.encode, script(*ANSWERED, RESUMED, CALL, EXITED))).text()
    assert text is not None
    assert reading.decode_checkpoint(text) is not None
    return text


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "4", '4 "x"', "{}", "4 00000000 {}", "[" * 5000, "\ud800"]
)
def test_garbage_is_no_checkpoint(text: str) -> None:
    assert reading.decode_checkpoint(text) is None


def test_a_torn_one_is_none() -> None:
    text = whole()
    assert not any(reading.decode_checkpoint(text[:cut]) for cut in range(len(text)))


def test_that_of_another_version_is_none() -> None:
    version, _, rest = whole().partition(" ")
    for other in ("", "3", "6", f"0{version}", f"{version}.0"):
        assert reading.decode_checkpoint(f"{other} {rest}") is None


def test_a_change_of_any_letter_makes_it_none() -> None:
    text = whole()
    for at, letter in enumerate(text):
        for other in ("x" if letter != "x" else "y", "0" if letter != "0" else "1", "\u0100", "\ud800", ""):
            assert reading.decode_checkpoint(text[:at] + other + text[at + 1 :]) is None
