"""The rules that end a working child: timeout with idle extension, and loops of tool calls."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tmuxagents.agents.pi.command import AGENT
from tmuxagents.runs import endings, events
from tmuxagents.wrapper.guards import Guards

STARTED_AT = 5000.0  # monotonic time has no meaningful zero, and a queue may have taken its time before


def guards(*, timeout_s: float = 60, debounce_s: float = 30, loop_count: int = 5) -> Guards:
    return Guards(started_at=STARTED_AT, timeout_s=timeout_s, debounce_s=debounce_s, loop_count=loop_count)


def nothing(now: float) -> None:
    """Read nothing more from the child."""


def looped(loop_count: int, calls: list[tuple[str, Any]]) -> list[int]:
    """Return the numbers (from 1) of the calls that are one too many."""
    watch = guards(loop_count=loop_count)
    told = [watch.note_call(events.tool_call(None, tool, args)) for tool, args in calls]
    assert {cause for cause in told if cause} <= {endings.LOOP}
    return [number for number, cause in enumerate(told, 1) if cause]


# --- timeout ---


def test_without_extension_activity_buys_no_time() -> None:
    watch = guards(timeout_s=60, debounce_s=0)
    watch.note_activity(STARTED_AT + 59.9)
    assert watch.deadline() == STARTED_AT + 60


def test_a_timeout_is_told_for_as_long_as_it_lasts() -> None:
    watch = guards(timeout_s=1)
    assert watch.check(STARTED_AT + 1, nothing)
    assert watch.check(STARTED_AT + 9, nothing)


def test_what_a_child_does_at_the_moment_its_time_is_over_extends_it() -> None:
    watch = guards(timeout_s=60, debounce_s=30)
    for due in (STARTED_AT + 60, STARTED_AT + 90, STARTED_AT + 120):
        assert watch.deadline() == due
        assert watch.check(due, watch.note_activity) is None
    assert watch.check(STARTED_AT + 150, nothing) is not None


def test_a_child_is_heard_only_when_its_time_is_over_and_without_extension_in_vain() -> None:
    heard: list[float] = []
    watch = guards(timeout_s=60, debounce_s=0)
    assert watch.check(STARTED_AT + 59.9, heard.append) is None
    assert heard == []
    assert watch.check(STARTED_AT + 60, watch.note_activity) is not None


@given(st.lists(st.floats(min_value=0, max_value=500), max_size=8).map(sorted), st.integers(0, 300))
def test_no_activity_ever_shortens_the_time(moments: list[float], debounce_s: int) -> None:
    watch = guards(timeout_s=60, debounce_s=debounce_s)
    deadlines = [watch.deadline()]
    for moment in moments:
        watch.note_activity(STARTED_AT + moment)
        deadlines.append(watch.deadline())
    assert deadlines == sorted(deadlines)
    assert deadlines[0] == STARTED_AT + 60


# --- loops ---


READ = ("read", {"path": "a"})
OTHER = ("read", {"path": "b"})
EDITS = [("edit", {"path": "a", "edits": [{"oldText": f"line {n}", "newText": "x"}]}) for n in range(5)]


@pytest.mark.parametrize(
    ("loop_count", "calls", "too_many"),
    [
        pytest.param(3, [READ] * 5, [3, 4, 5], id="from the third on"),
        pytest.param(0, [READ] * 99, [], id="0 turns it off"),
        pytest.param(3, [READ, READ, OTHER, READ, READ], [], id="another call begins the count anew"),
        pytest.param(3, [OTHER, READ, READ, READ], [4], id="only the last ones matter"),
        pytest.param(5, EDITS, [], id="five different edits of one file"),
        pytest.param(2, [("a", {"x": [{"y": 1}]}), ("a", {"x": [{"y": 2}]})], [], id="deep inside a list"),
        pytest.param(2, [("a", {"x": {"y": {"z": 1}}}), ("a", {"x": {"y": {"z": 2}}})], [], id="deep inside"),
        pytest.param(2, [("a", {"x": 1}), ("a", {"x": "1"})], [], id="a figure and its text"),
        pytest.param(2, [("a", {"x": [1, 2]}), ("a", {"x": [2, 1]})], [], id="order in a list matters"),
        pytest.param(
            2, [("a", {"x": {"p": 1, "q": 2}}), ("a", {"x": {"q": 2, "p": 1}})], [2], id="order of keys"
        ),
        pytest.param(2, [("a", {}), ("a", {})], [2], id="calls without arguments"),
    ],
)
def test_loop(loop_count: int, calls: list[tuple[str, Any]], too_many: list[int]) -> None:
    assert looped(loop_count, calls) == too_many


@given(strategies.wild_events, st.integers(1, 4))
def test_any_call_that_is_repeated_is_a_loop_and_none_is_a_fault(
    event: events.Event, loop_count: int
) -> None:
    watch = guards(loop_count=loop_count)
    told = [watch.note_call(event) is not None for _ in range(loop_count)]
    assert told == [False] * (loop_count - 1) + [True]


@pytest.mark.parametrize("depth", [50, 900, 985, 990, 995, 1000, 5000, 100_000])
def test_bottomless_arguments_of_a_child_are_no_fault_of_ours(depth: int) -> None:
    args = b'{"a":' * depth + b"1" + b"}" * depth
    line = b'{"type":"tool_execution_start","toolCallId":"c","toolName":"edit","args":%s}' % args
    watch = guards(loop_count=2)
    for event in AGENT.reader().feed(line, 0.0).events:
        assert watch.note_call(event) is None
        assert watch.note_call(event) is endings.LOOP


# --- a person ---


def test_the_clocks_stand_while_it_waits_for_a_person() -> None:
    watch = guards(timeout_s=60, debounce_s=30)
    watch.note_activity(STARTED_AT + 50)
    watch.pause(STARTED_AT + 55)
    watch.pause(STARTED_AT + 56)  # it is paused already
    assert watch.check(STARTED_AT + 9999, nothing) is None
    watch.resume(STARTED_AT + 1055)
    assert watch.deadline() == STARTED_AT + 1080
    watch.resume(STARTED_AT + 2000)  # it goes already
    assert watch.deadline() == STARTED_AT + 1080
    assert watch.check(STARTED_AT + 1080, nothing) is not None


def test_a_child_in_a_persons_hands_is_ended_for_nothing() -> None:
    watch = guards(timeout_s=60, loop_count=2)
    watch.switch_off()
    call = events.tool_call("a", "bash", {"command": "ls"})
    assert [watch.note_call(call) for _ in range(9)] == [None] * 9
    assert watch.check(STARTED_AT + 10**9, nothing) is None
    watch.pause(STARTED_AT)
    watch.resume(STARTED_AT + 1)
    assert watch.check(STARTED_AT + 10**9, nothing) is None
