"""The life of a run: the states that follow from scripts of events."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import strategies
from tests.runs.steps import (
    ANSWERED,
    CALL,
    EXITED,
    FIGURES,
    GAVE_UP,
    LEAVE,
    RESULT,
    RESUMED,
    RETRY,
    SETTLED,
    STARTED,
    TEXT,
    WARNED,
    fold,
    folded,
    script,
    seen,
    told,
    turn,
    whole_logs,
    wild_logs,
)
from tmuxagents import records
from tmuxagents.records import Exit
from tmuxagents.runs import endings, events, lifecycle
from tmuxagents.runs.events import Event
from tmuxagents.runs.lifecycle import RunState

# --- what events add up to ---


def test_a_run_adds_up() -> None:
    state = fold(
        Event("queued", {"position": 3}),
        STARTED,
        events.thinking("hm"),
        events.assistant_text("I look."),
        *(CALL, FIGURES, RESULT, turn("toolUse")),
        *(WARNED, events.stderr(" "), RETRY),
        *(TEXT, FIGURES, turn("stop"), SETTLED),
        events.child_exited(0, None),
        events.left_behind(pid=7, comm="tmux", why="is a service"),
    )
    held = seen(state)
    assert held.pop("usage") == {
        "input": 200,
        "output": 40,
        "cacheRead": 0,
        "cacheWrite": 0,
        "totalTokens": 240,
        "cost": 0.5,
    }
    assert held == {
        "phase": "exited",
        "settled": True,
        "settled_aborted": False,
        "attended": False,
        "needs_input": False,
        "seq": 17,
        "ignored": 0,
        "started_at": 101.0,
        "last_event_at": 116.0,
        "child_pid": 11,
        "child_start_time": 22,
        "agent_version": "0.87.1",
        "pane": "%5",
        "window": "@3",
        "position": 3,
        "turns": 2,
        "tool_count": 1,
        "message_count": 4,
        "text": "Found it.",
        "finished_text": "Found it.",
        "stop_reason": "stop",
        "stderr_tail": "Warning: custom model id",
        "exit": (0, None),
        "left_behind": [{"pid": 7, "comm": "tmux", "why": "is a service"}],
        "model": None,
        "error_message": None,
        "evidence": None,
        "child_session": None,
        "denied": 0,
        "denials": [],
        "asks": [],
    }


def test_nothing_adds_up_to_nothing() -> None:
    held = seen(fold())
    assert [held.pop(name) for name in ("phase", "left_behind", "denials", "asks")] == ["waiting", [], [], []]
    assert set(held.pop("usage").values()) == {0}
    assert {name for name, value in held.items() if value} == set()


def test_costs_add_up_without_a_tail_of_digits() -> None:
    assert fold(STARTED, *[events.usage({"cost": 0.1})] * 3).usage["cost"] == 0.3


@pytest.mark.parametrize("text", ["", None, 5, ["x"]])
def test_the_last_words_stay_when_nothing_follows(text: Any) -> None:
    assert fold(STARTED, TEXT, Event("assistant_text", {"text": text})).text == "Found it."


def test_a_person_makes_a_run_attended_for_good() -> None:
    state = fold(STARTED, Event("human_input", {"text": "also the tests"}), turn("stop"), SETTLED)
    assert (state.attended, state.settled, state.message_count) == (True, True, 2)


def test_a_message_of_the_parent_counts_and_attends_nothing() -> None:
    state = fold(STARTED, Event("message_sent", {"inboxId": 1, "kind": "steer", "text": "stay"}))
    assert (state.attended, state.message_count) == (False, 2)


@pytest.mark.parametrize("before", [(STARTED, TEXT), ANSWERED], ids=["working", "settled"])
def test_a_stop_that_was_taken_is_no_message_and_begins_nothing(before: tuple[Event, ...]) -> None:
    told, stopped = (
        fold(*before),
        fold(*before, Event("message_sent", {"inboxId": 1, "kind": "stop", "text": None})),
    )
    assert (stopped.phase, stopped.settled) == (told.phase, told.settled)
    assert (stopped.message_count, stopped.ignored) == (told.message_count, 0)


def test_a_question_waits_until_it_is_answered() -> None:
    asked = Event("needs_input", {"kind": "select", "text": "which?"})
    assert fold(STARTED, asked).needs_input
    assert not fold(STARTED, asked, Event("input_given", {"kind": "select", "text": "this"})).needs_input


def test_a_child_says_which_session_and_model_it_has() -> None:
    state = fold(STARTED, events.session_started("s-1", model="m"), events.session_started("", model=None))
    assert (state.child_session, state.model) == ("s-1", "m")
    assert fold(STARTED, events.session_started("x" * 300)).child_session == "x" * 256


def test_what_a_child_was_denied_is_counted_and_the_first_of_it_kept() -> None:
    state = fold(STARTED, *[events.denied("c1", "bash", "y" * 600)] * 101, Event("denied", {"why": 3}))
    assert (state.denied, len(state.denials)) == (102, 100)
    assert state.denials[0] == {"tool": "bash", "why": "y" * 200}
    assert fold(STARTED, Event("denied", {"why": 3})).denials == [{"tool": "tool", "why": ""}]


def test_open_questions_are_kept_until_each_is_answered() -> None:
    options = [("once", "Allow once"), ("no", "Reject")]
    asks = [events.needs_input("permission", f"May I {n}?", ask=f"q{n}", options=options) for n in (1, 2)]
    state = fold(STARTED, *asks)
    first = {"ask": "q1", "kind": "permission", "text": "May I 1?"}
    assert state.asks[0] == first | {"options": [{"id": one, "text": words} for one, words in options]}
    given = [events.input_given("permission", ask=f"q{n}", answer="deny", by="the clock") for n in (1, 2)]
    assert [ask["ask"] for ask in fold(STARTED, *asks, given[0]).asks] == ["q2"]
    assert fold(STARTED, *asks, given[0]).needs_input
    assert not fold(STARTED, *asks, *given).needs_input


def test_questions_are_bounded() -> None:
    odd = Event("needs_input", {"ask": "q" * 300, "text": 5, "options": [{"id": "a" * 300}, "x", *[{}] * 30]})
    state = fold(STARTED, *[odd] * 30)
    assert (len(state.asks), len(state.asks[0]["ask"]), state.asks[0]["text"]) == (20, 256, "")
    assert (len(state.asks[0]["options"]), len(state.asks[0]["options"][0]["id"])) == (20, 256)
    assert fold(STARTED, Event("needs_input", {"ask": "q", "options": 3})).asks[0]["options"] == []


def test_figures_say_what_they_count() -> None:
    told = events.usage({"input": 3, "reasoning": 2, "costKind": "estimated", "basis": "call"})
    used = fold(STARTED, told, told).usage
    assert (used["input"], used["reasoning"], used["costKind"], used["basis"]) == (6, 4, "estimated", "call")
    odd = fold(STARTED, events.usage({"reasoning": "many", "costKind": 3})).usage
    assert odd.keys() == fold(STARTED).usage.keys()
    odd = fold(STARTED, told, events.usage({"costKind": 3, "basis": 1.5})).usage
    assert (odd["costKind"], odd["basis"]) == ("estimated", "call")


# --- phases ---


def test_the_types_that_the_table_knows_are_those_of_the_tests() -> None:
    known = {kind for row in lifecycle.TRANSITIONS.values() for kind in row}
    assert known == set(strategies.TYPES)


WORK = [
    *(TEXT, CALL, FIGURES, RETRY, RESUMED, events.thinking("hm")),
    *(Event("human_input", {"text": "more"}), Event("message_sent", {"kind": "steer"})),
]
ASIDE = [
    *(RESULT, WARNED, events.left_behind(pid=1, comm="c", why="w")),
    *(Event("needs_input", {}), Event("input_given", {})),
    *(events.session_started("s"), events.denied("c1", "bash", "no")),
]


@pytest.mark.parametrize("work", WORK, ids=lambda event: event.type)
def test_later_work_takes_a_settling_back(work: Event) -> None:
    state = fold(*ANSWERED, work)
    assert (state.settled, state.phase, state.ignored) == (False, "working", 0)
    lifecycle.apply(state, SETTLED)
    assert (state.settled, state.phase) == (True, "settled")


@pytest.mark.parametrize("aside", [*ASIDE, SETTLED], ids=lambda event: event.type)
def test_what_is_no_work_leaves_a_child_settled(aside: Event) -> None:
    state = fold(*ANSWERED, aside)
    assert (state.settled, state.phase, state.ignored) == (True, "settled", 0)


def test_a_child_that_begins_again_has_no_stop_reason_until_its_turn_ends() -> None:
    assert fold(*ANSWERED, RESUMED).stop_reason == "stop"
    assert fold(*ANSWERED, RESUMED, FIGURES).stop_reason is None
    assert fold(*ANSWERED, RESUMED, FIGURES, turn("length")).stop_reason == "length"


@pytest.mark.parametrize("said", [WARNED, events.left_behind(pid=1, comm="c", why="w")], ids=["err", "left"])
def test_what_we_see_while_we_end_a_settled_child_is_taken(said: Event) -> None:
    state = fold(*ANSWERED, LEAVE, said, EXITED)
    assert (state.phase, state.settled, state.ignored) == ("exited", True, 0)
    assert (state.stderr_tail is not None, len(state.left_behind)) == (said is WARNED, said is not WARNED)


@pytest.mark.parametrize(
    "steps", [(), (STARTED,), (*ANSWERED, CALL), (*ANSWERED, EXITED)], ids=["wait", "work", "again", "exited"]
)
def test_only_a_settled_child_can_be_leaving(steps: tuple[Event, ...]) -> None:
    assert seen(fold(*steps, LEAVE)) == seen(fold(*steps))


@pytest.mark.parametrize(
    ("steps", "late"),
    [
        ((), SETTLED),
        ((), TEXT),
        ((), EXITED),
        ((), RESUMED),
        ((STARTED, EXITED), RESUMED),
        ((STARTED,), STARTED),
        ((STARTED,), Event("queued", {"position": 1})),
        (ANSWERED, STARTED),
        ((*ANSWERED, EXITED), TEXT),
        ((*ANSWERED, EXITED), events.child_exited(1, None)),
        (ANSWERED, turn("error")),
        *(((*ANSWERED, LEAVE), late) for late in (*WORK, RESULT, turn("error"), SETTLED, GAVE_UP, STARTED)),
        ((STARTED, events.child_exited(1, None)), SETTLED),
    ],
    ids=lambda value: value.type if isinstance(value, Event) else len(value),
)
def test_an_event_out_of_place_is_counted_and_changes_nothing(steps: tuple[Event, ...], late: Event) -> None:
    state = fold(*steps)
    before = seen(state)
    lifecycle.apply(state, Event(late.type, late.fields, seq=999, at=999.0))
    assert seen(state) == {**before, "ignored": 1}


@pytest.mark.parametrize(
    "steps",
    [(), (STARTED,), ANSWERED, (*ANSWERED, LEAVE), (*ANSWERED, EXITED)],
    ids=["waiting", "working", "settled", "leaving", "exited"],
)
def test_an_unknown_event_changes_no_phase_and_is_no_fault(steps: tuple[Event, ...]) -> None:
    state = fold(*steps)
    phase, settled = state.phase, state.settled
    lifecycle.apply(state, Event("from_the_future", {"text": "x"}, seq=50, at=500.0))
    assert (state.phase, state.settled, state.ignored) == (phase, settled, 0)


# --- a child may write anything ---


@given(wild_logs)
@example(script(STARTED, events.usage({"cost": 0.5}), events.usage({"cost": 10**400})))
def test_no_log_is_ever_refused(log: list[Event]) -> None:
    state = folded(log)
    how = endings.conclude(state)
    assert how.status in records.ENDED
    ending = state.exit or Exit(0)
    for lingered in (False, True):
        assert endings.verdict(state, ending, cause=None, lingered=lingered).status in records.ENDED


@given(whole_logs, st.data())
def test_a_log_folded_in_pieces_is_the_log_folded_whole(log: list[Event], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=4)))
    lines = [events.encode(event) for event in log]
    state = RunState()
    for begin, end in zip([0, *cuts], [*cuts, len(log)], strict=True):
        for line in lines[begin:end]:
            event = events.decode(line)
            assert event is not None
            lifecycle.apply(state, event)
    assert seen(state) == seen(folded(log))


@given(whole_logs, st.lists(strategies.wild_events, max_size=6))
def test_an_ended_child_never_goes_back(log: list[Event], later: list[Event]) -> None:
    state = folded([*log, *script(events.child_exited(3, None))])
    if state.phase != lifecycle.EXITED:  # a log without a start: nothing began, so nothing ended
        assert state.started_at is None
        return
    kept = ("phase", "exit", "settled", "text", "stop_reason", "usage", "turns")
    before = {name: seen(state)[name] for name in kept}
    how = told(endings.conclude(state))
    for event in later:
        lifecycle.apply(state, event)
        assert {name: seen(state)[name] for name in kept} == before
    assert told(endings.conclude(state)) == how


@given(st.lists(strategies.wild_events, max_size=6))
def test_whatever_a_child_says_while_we_end_it_changes_nothing(later: list[Event]) -> None:
    state = fold(*ANSWERED, LEAVE)
    for event in later:
        lifecycle.apply(state, event)
    how = endings.verdict(state, Exit(143), cause=None, lingered=True)
    assert told(how) == ("completed", "done", 143, None, None)


@pytest.mark.parametrize("key", ["input", "cost"])
@pytest.mark.parametrize(
    ("figures", "total"),
    [
        ([2, 0.5], 2.5),
        ([2, True, "5", None, [1]], 2),
        ([2, float("nan")], 2),
        ([2, float("inf")], 2),
        ([2, float("-inf")], 2),
        ([2, 2**53], 2**53 + 2),
        ([2, 2**53 + 1], 2),
        ([2, 0.5, 10**400], 2.5),
        ([2, 10**4299 * 9, 10**4299 * 9], 2),
    ],
    ids=[
        "figures",
        "no figures",
        "nan",
        "inf",
        "-inf",
        "the largest",
        "larger than counts are",
        "larger than a float",
        "too long to be written",
    ],
)
def test_the_totals_hold_what_a_result_can_hold(key: str, figures: list[Any], total: float) -> None:
    state = fold(STARTED, *[Event("usage", {key: figure}) for figure in figures])
    assert state.usage[key] == total


def test_what_is_left_behind_is_a_list_of_bounded_facts() -> None:
    state = folded([STARTED, EXITED])
    for number in range(3000):
        fields = {"pid": number, "comm": "c" * 5000, "why": ["x"] * 5000}
        lifecycle.apply(state, Event("left_behind", fields))
    assert len(state.left_behind) == 1000
    assert state.left_behind[-1] == {"pid": 999, "comm": "c" * 256, "why": None}
