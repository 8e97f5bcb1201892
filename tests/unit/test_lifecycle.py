"""The life of a run: scripts of events in, states and endings out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit import strategies
from tmuxagents import records
from tmuxagents.core import endings, events, lifecycle
from tmuxagents.core.events import Event
from tmuxagents.core.endings import Cause
from tmuxagents.core.lifecycle import RunState
from tmuxagents.records import Exit, Facts, Verdict

USAGE = {"input": 100, "output": 20, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 120, "cost": 0.25}
STARTED = events.run_started(
    {"pid": 11, "pidStartTime": 22, "pane": "%5", "window": "@3", "agentVersion": "0.87.1"}
)
TEXT = events.assistant_text("Found it.")
CALL = events.tool_call("c1", "read", {"path": "a"})
RESULT = events.tool_result("c1", "read", is_error=False, text="x", duration_ms=1)
FAILED_RESULT = events.tool_result("c1", "read", is_error=True, text="no", duration_ms=1)
RETRY = events.retry(attempt=1, most=3, delay_ms=2000, message="500")
FIGURES = events.usage(USAGE)
SETTLED = events.settled(aborted=False)
GAVE_UP = events.settled(aborted=True)
WARNED = events.stderr("Warning: custom model id")
REFUSED = events.stderr("Error: no such flag")


def turn(reason: str | None) -> Event:
    return events.turn_end(reason)


def script(*steps: Event, every: float = 1.0) -> list[Event]:
    """Number and time the steps, from 1 and from 100 s on."""
    return [
        Event(step.type, dict(step.fields), seq=at + 1, at=step.at or 100 + at * every)
        for at, step in enumerate(steps)
    ]


def at(moment: float, event: Event) -> Event:
    return Event(event.type, event.fields, at=moment)


def fold(*steps: Event) -> RunState:
    return lifecycle.fold(script(*steps))


def seen(state: RunState) -> dict[str, Any]:
    """Return all that a state holds, comparable."""
    held = {name: getattr(state, name) for name in RunState.__slots__}
    return {**held, "exit": state.exit and (state.exit.exit_code, state.exit.signal)}


def told(how: Verdict) -> tuple[object, ...]:
    return how.status, how.reason, how.exit_code, how.signal, how.error_message


ANSWERED = (STARTED, TEXT, FIGURES, turn("stop"), SETTLED)
CUT = "The answer was cut at the model's output limit."
UNFINISHED = "The child ended without finishing its answer."
TIMED_OUT = "Timed out after 600s. Consider resuming with a longer timeout."
LOOPED = "Loop detected: sub-agent is repeating the same tool calls"

# --- the endings of the contract, row by row --------------------------------------------------------------

# events, exit, cause (we ended it before it settled), lingered (we ended it after) -> the verdict
ENDINGS: dict[str, tuple[tuple[Event, ...], Exit, Cause | None, bool, tuple[object, ...]]] = {
    "normal answer": (ANSWERED, Exit(0), None, False, ("completed", "done", 0, None, None)),
    "after recovered retries": (
        (STARTED, FIGURES, turn("error"), RETRY, TEXT, FIGURES, turn("stop"), SETTLED),
        *(Exit(0), None, False, ("completed", "done", 0, None, None)),
    ),
    "after tool errors": (
        (STARTED, CALL, FIGURES, FAILED_RESULT, turn("toolUse"), TEXT, FIGURES, turn("stop"), SETTLED),
        *(Exit(0), None, False, ("completed", "done", 0, None, None)),
    ),
    "empty answer": (
        (STARTED, FIGURES, turn("stop"), SETTLED),
        *(Exit(0), None, False, ("completed", "done", 0, None, None)),
    ),
    "settled, lingers, killed": (
        ANSWERED,
        *(Exit(None, "SIGKILL"), None, True, ("completed", "done", None, "SIGKILL", None)),
    ),
    "settled, lingers, leaves at our TERM": (
        ANSWERED,
        *(Exit(143), None, True, ("completed", "done", 143, None, None)),
    ),
    "settled, and its stdout stays open": (
        ANSWERED,
        Exit(0),
        None,
        False,
        ("completed", "done", 0, None, None),
    ),
    "settled, lingers, begins again as our TERM comes": (
        (*ANSWERED, CALL),
        *(Exit(143), None, True, ("completed", "done", 143, None, None)),
    ),
    "settled, then exit 3 by itself": (
        ANSWERED,
        *(Exit(3), None, False),
        ("failed", "exit", 3, None, "The child finished its answer, then exited with code 3."),
    ),
    "settled, then killed by somebody within the grace": (
        ANSWERED,
        *(Exit(None, "SIGSEGV"), None, False),
        ("failed", "signal", None, "SIGSEGV", "The child was killed by SIGSEGV."),
    ),
    "the model failed": (
        (STARTED, FIGURES, turn("error"), SETTLED),
        *(Exit(0), None, False, ("failed", "error", 0, None, "401: wrong key")),
    ),
    "the model failed, and lingers": (
        (STARTED, FIGURES, turn("error"), SETTLED),
        *(Exit(143), None, True, ("failed", "error", 143, None, "401: wrong key")),
    ),
    "output limit": (
        (STARTED, TEXT, FIGURES, turn("length"), SETTLED),
        *(Exit(0), None, False, ("failed", "length", 0, None, CUT)),
    ),
    "exit 0, never settled": (
        (STARTED, TEXT, FIGURES, turn("stop")),
        *(Exit(0), None, False, ("failed", "unfinished", 0, None, UNFINISHED)),
    ),
    "exit 0, nothing said": ((STARTED,), Exit(0), None, False, ("failed", "unfinished", 0, None, UNFINISHED)),
    "settled, but with tools still to run": (
        (STARTED, CALL, FIGURES, turn("toolUse"), SETTLED),
        *(Exit(0), None, False, ("failed", "unfinished", 0, None, UNFINISHED)),
    ),
    "settled without a turn": (
        (STARTED, SETTLED),
        *(Exit(0), None, False, ("failed", "unfinished", 0, None, UNFINISHED)),
    ),
    "settled, began again, left": (
        (*ANSWERED, TEXT),
        *(Exit(0), None, False, ("failed", "unfinished", 0, None, UNFINISHED)),
    ),
    "refused to start, and said why": (
        (STARTED, WARNED, REFUSED),
        *(Exit(1), None, False, ("failed", "exit", 1, None, "Error: no such flag")),
    ),
    "refused to start, without a word": (
        (STARTED,),
        *(Exit(1), None, False, ("failed", "exit", 1, None, "The child exited with code 1.")),
    ),
    "TERM from outside": (
        (STARTED, TEXT),
        *(Exit(143), None, False, ("failed", "exit", 143, None, "The child exited with code 143.")),
    ),
    "TERM from outside, after a warning on stderr": (
        (STARTED, WARNED, TEXT),
        *(Exit(143), None, False, ("failed", "exit", 143, None, "The child exited with code 143.")),
    ),
    "KILL from outside": (
        (STARTED, TEXT),
        *(Exit(None, "SIGKILL"), None, False),
        ("failed", "signal", None, "SIGKILL", "The child was killed by SIGKILL."),
    ),
    "a crash, after words on stderr": (
        (STARTED, WARNED),
        *(Exit(None, "SIGSEGV"), None, False),
        ("failed", "signal", None, "SIGSEGV", "The child was killed by SIGSEGV."),
    ),
    "timeout": (
        (STARTED, TEXT),
        *(Exit(None, "SIGKILL"), endings.timed_out(600), False),
        ("failed", "timeout", None, "SIGKILL", TIMED_OUT),
    ),
    "loop": ((STARTED, CALL), Exit(143), endings.LOOP, False, ("failed", "loop", 143, None, LOOPED)),
    "stop": ((STARTED,), Exit(143), endings.STOPPED, False, ("aborted", "stopped", 143, None, "Stopped.")),
    "stop, and the child settles on its way out": (
        ANSWERED,
        *(Exit(0), endings.STOPPED, False, ("aborted", "stopped", 0, None, "Stopped.")),
    ),
    "live: stop, or leaving it, after a finished answer": (
        (*ANSWERED[:-1], events.settled(aborted=False, attended=True)),
        *(Exit(0), None, True, ("completed", "done", 0, None, None)),
    ),
    "the parent cancels": (
        (STARTED,),
        *(
            Exit(143),
            endings.PARENT,
            False,
            ("aborted", "parent", 143, None, "The parent cancelled the call."),
        ),
    ),
    "the window is closed": (
        (STARTED,),
        *(
            Exit(129),
            endings.WINDOW_CLOSED,
            False,
            ("aborted", "closed", 129, None, "The window was closed."),
        ),
    ),
    "the tmux server ends": (
        (STARTED,),
        *(
            Exit(129),
            endings.SERVER_ENDED,
            False,
            ("aborted", "closed", 129, None, "The tmux server ended."),
        ),
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_ending(ending: str) -> None:
    steps, how, cause, lingered, expected = ENDINGS[ending]
    state = fold(*steps)
    state.error_message = "401: wrong key"  # as the reader says it; of no matter unless the answer failed
    assert told(endings.verdict(state, how, cause=cause, lingered=lingered)) == expected


@pytest.mark.parametrize(
    "steps", [(turn("aborted"), SETTLED), (turn("stop"), GAVE_UP), (turn("error"), GAVE_UP)]
)
def test_an_answer_that_the_child_aborts_itself_is_an_error(steps: tuple[Event, ...]) -> None:
    state = fold(STARTED, *steps)
    how = endings.verdict(state, Exit(0), cause=None, lingered=False)
    assert told(how) == ("failed", "error", 0, None, "The child aborted its answer.")
    state.error_message = "This operation was aborted"
    how = endings.verdict(state, Exit(0), cause=None, lingered=False)
    assert how.error_message == "This operation was aborted"


def test_an_error_without_a_message_has_one() -> None:
    how = endings.verdict(fold(STARTED, turn("error"), SETTLED), Exit(0), cause=None, lingered=False)
    assert told(how)[:2] == ("failed", "error")
    assert how.error_message


@pytest.mark.parametrize(
    ("timeout", "shown"),
    [(600, "600s"), (600.0, "600s"), (1.5, "1.5s"), (86400.5, "86400.5s"), (1_000_000, "1000000s")],
)
def test_a_timeout_names_the_configured_figure(timeout: float, shown: str) -> None:
    message = f"Timed out after {shown}. Consider resuming with a longer timeout."
    assert endings.timed_out(timeout).message == message


# --- concluded without its wrapper ---

LOST = ("aborted", "lost", None, None, records.LOST_MESSAGE)
DONE = ("completed", "done")

CONCLUSIONS: dict[str, tuple[tuple[Event, ...], tuple[object, ...], str | None]] = {
    "nothing": ((), LOST, None),
    "it worked": ((STARTED, TEXT, CALL), LOST, None),
    "it worked, and had left with 0": ((STARTED, TEXT, events.child_exited(0, None)), LOST, None),
    "it settled with an answer": (ANSWERED, (*DONE, None, None, None), "wrapper lost"),
    "it settled and left": (
        (*ANSWERED, events.child_exited(0, None)),
        (*DONE, 0, None, None),
        "wrapper lost",
    ),
    "it settled, and left with 3 at once": (
        (*ANSWERED, at(105.9, events.child_exited(3, None))),
        ("failed", "exit", 3, None, "The child finished its answer, then exited with code 3."),
        "wrapper lost",
    ),
    "it settled, and was killed at once": (
        (*ANSWERED, at(105.9, events.child_exited(None, "SIGKILL"))),
        ("failed", "signal", None, "SIGKILL", "The child was killed by SIGKILL."),
        "wrapper lost",
    ),
    "it settled, lingered, and was ended": (
        (*ANSWERED, at(106.0, events.child_exited(143, None))),
        (*DONE, 143, None, None),
        "wrapper lost",
    ),
    "it settled and began again": ((*ANSWERED, CALL), LOST, None),
    "it settled again": (
        (*ANSWERED, CALL, RESULT, turn("stop"), SETTLED),
        (*DONE, None, None, None),
        "wrapper lost",
    ),
    "it settled after an error": ((STARTED, turn("error"), SETTLED), LOST, None),
    "it settled with a cut answer": ((STARTED, TEXT, turn("length"), SETTLED), LOST, None),
    "it settled with an aborted answer": ((STARTED, TEXT, turn("stop"), GAVE_UP), LOST, None),
    "it settled without an answer": ((STARTED, SETTLED), LOST, None),
}


@pytest.mark.parametrize("case", CONCLUSIONS)
def test_conclude(case: str) -> None:
    steps, expected, note = CONCLUSIONS[case]
    how = endings.conclude(fold(*steps))
    assert (told(how), how.note) == (expected, note)


STOPPED = ("aborted", "stopped", None, None, "Stopped.")
# A stop ends what would be lost. It changes no answer that was there before, and its signal is no failure.
WHEN_STOPPED = {
    **{case: (STOPPED if expected is LOST else expected) for case, (_, expected, _) in CONCLUSIONS.items()},
    "it settled, and was killed at once": (*DONE, None, "SIGKILL", None),
}


@pytest.mark.parametrize("case", CONCLUSIONS)
def test_conclude_for_one_who_stopped_it(case: str) -> None:
    steps, _, note = CONCLUSIONS[case]
    how = endings.conclude(fold(*steps), stopped=True)
    assert (told(how), how.note) == (WHEN_STOPPED[case], note)


def test_a_settled_child_that_leaves_at_our_stop_has_not_failed() -> None:
    exited = at(104.5, events.child_exited(143, None))
    how = endings.conclude(fold(*ANSWERED, exited), stopped=True)
    assert told(how) == (*DONE, 143, None, None)


# --- what state a run is in: the table of the contract, row by row ---

RECORDED = {
    "status": "failed",
    "reason": "loop",
    "exitCode": 143,
    "signal": None,
    "errorMessage": LOOPED,
    "note": None,
}
AS_RECORDED = ("failed", "loop", 143, None, LOOPED)
EVENTS_OR_NOT = {"no events": (), "begun": (STARTED, TEXT), "answered": ANSWERED}


def facts(presence: str, *, started: bool = False, result: dict[str, Any] | None = None) -> Facts:
    return Facts(presence=presence, started=started, result=result)


@pytest.mark.parametrize("steps", EVENTS_OR_NOT.values(), ids=EVENTS_OR_NOT)
@pytest.mark.parametrize("presence", [records.GONE, records.NEVER_CAME, records.ELSEWHERE])
def test_a_result_says_it_once_the_wrapper_is_gone(presence: str, steps: tuple[Event, ...]) -> None:
    standing = endings.state_of(facts(presence, started=bool(steps), result=RECORDED), fold(*steps))
    assert standing.verdict is not None
    assert (standing.status, told(standing.verdict)) == ("failed", AS_RECORDED)
    assert standing.foreign is (presence == records.ELSEWHERE)


@pytest.mark.parametrize("result", [None, RECORDED], ids=["no result", "a result that is not ours"])
@pytest.mark.parametrize(("started", "status"), [(False, "queued"), (True, "running")])
def test_while_the_wrapper_lives_its_run_does(
    *, started: bool, status: str, result: dict[str, Any] | None
) -> None:
    state = fold(*(ANSWERED if started else ()))
    standing = endings.state_of(facts(records.HERE, started=started, result=result), state)
    assert (standing.status, standing.verdict, standing.foreign) == (status, None, False)


@pytest.mark.parametrize(("started", "status"), [(False, "queued"), (True, "running")])
def test_a_run_of_another_machine_is_as_its_files_say(*, started: bool, status: str) -> None:
    standing = endings.state_of(facts(records.ELSEWHERE, started=started), fold(STARTED))
    assert (standing.status, standing.verdict, standing.foreign) == (status, None, True)


def test_a_run_whose_wrapper_never_came_is_queued_until_somebody_concludes_it() -> None:
    standing = endings.state_of(facts(records.NEVER_CAME), fold())
    assert (standing.status, standing.verdict) == ("queued", None)


@pytest.mark.parametrize(
    ("steps", "expected", "note"),
    [
        ((), LOST, None),
        ((STARTED, TEXT), LOST, None),
        (ANSWERED, (*DONE, None, None, None), "wrapper lost"),
    ],
    ids=EVENTS_OR_NOT,
)
def test_a_run_whose_wrapper_is_gone_is_what_its_events_prove(
    steps: tuple[Event, ...], expected: tuple[object, ...], note: str | None
) -> None:
    standing = endings.state_of(facts(records.GONE, started=bool(steps)), fold(*steps))
    assert standing.verdict is not None
    assert standing.status == expected[0]
    assert (told(standing.verdict), standing.verdict.note) == (expected, note)


def test_events_without_a_start_prove_nothing() -> None:
    standing = endings.state_of(facts(records.GONE, started=False), fold(*ANSWERED))
    assert standing.verdict is not None
    assert told(standing.verdict) == LOST


def test_a_result_with_odd_fields_is_taken_as_far_as_it_goes() -> None:
    result = {
        "status": "failed",
        "reason": "exit",
        "exitCode": "3",
        "signal": 9,
        "errorMessage": ["x"],
        "note": {},
    }
    standing = endings.state_of(facts(records.GONE, result=result), fold())
    assert standing.verdict is not None
    assert told(standing.verdict) == ("failed", "exit", None, None, None)
    assert standing.verdict.note is None


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
        "settled_at": 114.0,
        "exited_at": 115.0,
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
        "stop_reason": "stop",
        "stderr_tail": "Warning: custom model id",
        "exit": (0, None),
        "left_behind": [{"pid": 7, "comm": "tmux", "why": "is a service"}],
        "model": None,
        "error_message": None,
    }


def test_nothing_adds_up_to_nothing() -> None:
    held = seen(fold())
    assert (held.pop("phase"), held.pop("left_behind")) == ("waiting", [])
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


def test_a_question_waits_until_it_is_answered() -> None:
    asked = Event("needs_input", {"kind": "select", "text": "which?"})
    assert fold(STARTED, asked).needs_input
    assert not fold(STARTED, asked, Event("input_given", {"kind": "select", "text": "this"})).needs_input


# --- phases ---

WORK = [
    *(TEXT, CALL, FIGURES, RETRY, turn("stop"), events.thinking("hm")),
    *(Event("human_input", {"text": "more"}), Event("message_sent", {"kind": "steer"})),
]
ASIDE = [
    *(RESULT, WARNED, events.left_behind(pid=1, comm="c", why="w")),
    *(Event("needs_input", {}), Event("input_given", {})),
]


@pytest.mark.parametrize("work", WORK, ids=lambda event: event.type)
def test_later_work_takes_a_settling_back(work: Event) -> None:
    state = fold(*ANSWERED, work)
    assert (state.settled, state.phase, state.ignored) == (False, "working", 0)
    lifecycle.apply(state, SETTLED)
    assert state.settled


@pytest.mark.parametrize("aside", [*ASIDE, SETTLED], ids=lambda event: event.type)
def test_what_is_no_work_leaves_a_child_settled(aside: Event) -> None:
    state = fold(*ANSWERED, aside)
    assert (state.settled, state.phase, state.ignored) == (True, "settled", 0)


def test_work_that_no_event_tells_takes_a_settling_back_too() -> None:
    state = fold(*ANSWERED)
    lifecycle.resume_work(state)
    assert (state.settled, state.phase) == (False, "working")


@pytest.mark.parametrize(
    "steps", [(), (STARTED,), (*ANSWERED, events.child_exited(0, None))], ids=["waiting", "working", "exited"]
)
def test_there_is_nothing_to_take_back_where_nothing_settled(steps: tuple[Event, ...]) -> None:
    state = fold(*steps)
    before = seen(state)
    lifecycle.resume_work(state)
    assert seen(state) == before


@pytest.mark.parametrize(
    ("steps", "late"),
    [
        ((), SETTLED),
        ((), TEXT),
        ((), events.child_exited(0, None)),
        ((STARTED,), STARTED),
        ((STARTED,), Event("queued", {"position": 1})),
        (ANSWERED, STARTED),
        ((*ANSWERED, events.child_exited(0, None)), TEXT),
        ((*ANSWERED, events.child_exited(0, None)), events.child_exited(1, None)),
        ((STARTED, events.child_exited(1, None)), SETTLED),
    ],
    ids=lambda value: value.type if isinstance(value, Event) else len(value),
)
def test_an_event_out_of_place_is_counted_and_changes_nothing(steps: tuple[Event, ...], late: Event) -> None:
    state = fold(*steps)
    before = seen(state)
    lifecycle.apply(state, at(999.0, late))
    assert seen(state) == {**before, "ignored": 1}


@pytest.mark.parametrize("steps", [(), (STARTED,), ANSWERED], ids=["waiting", "working", "settled"])
def test_an_unknown_event_changes_no_phase_and_is_no_fault(steps: tuple[Event, ...]) -> None:
    state = fold(*steps)
    phase, settled = state.phase, state.settled
    lifecycle.apply(state, Event("from_the_future", {"text": "x"}, seq=50, at=500.0))
    assert (state.phase, state.settled, state.ignored) == (phase, settled, 0)


# --- a child may write anything ---

logs = st.lists(strategies.events(strategies.json_values), max_size=8)
# Random events rarely get past the start: most logs begin as logs do.
begun = st.sampled_from([[], [STARTED], [*ANSWERED], [*ANSWERED, events.child_exited(0, None)]])
whole_logs = st.builds(lambda first, rest: [*script(*first), *rest], begun, logs)
wild_logs = st.builds(
    lambda first, rest: [*script(*first), *rest], begun, st.lists(strategies.wild_events, max_size=6)
)


@given(wild_logs)
@example(script(STARTED, events.usage({"cost": 0.5}), events.usage({"cost": 10**400})))
def test_no_log_is_ever_refused(log: list[Event]) -> None:
    state = lifecycle.fold(log)
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
    assert seen(state) == seen(lifecycle.fold(log))


@given(whole_logs, st.lists(strategies.wild_events, max_size=6))
def test_an_ended_child_never_goes_back(log: list[Event], later: list[Event]) -> None:
    state = lifecycle.fold([*log, *script(events.child_exited(3, None))])
    if state.phase != lifecycle.EXITED:  # a log without a start: nothing began, so nothing ended
        assert state.started_at is None
        return
    kept = ("phase", "exit", "settled", "settled_at", "exited_at", "text", "stop_reason", "usage", "turns")
    before = {name: seen(state)[name] for name in kept}
    how = told(endings.conclude(state))
    for event in later:
        lifecycle.apply(state, event)
        assert {name: seen(state)[name] for name in kept} == before
    assert told(endings.conclude(state)) == how


@given(
    log=whole_logs,
    presence=st.sampled_from([records.GONE, records.NEVER_CAME, records.ELSEWHERE]),
    started=st.booleans(),
)
def test_a_recorded_ending_stays_whatever_events_say(
    log: list[Event], presence: str, *, started: bool
) -> None:
    standing = endings.state_of(facts(presence, started=started, result=RECORDED), lifecycle.fold(log))
    assert standing.verdict is not None
    assert told(standing.verdict) == AS_RECORDED


@pytest.mark.parametrize("key", ["input", "cost"])
@pytest.mark.parametrize(
    ("figures", "total"),
    [
        ([2, 0.5], 2.5),
        ([2, True, "5", None, [1]], 2),
        ([2, float("nan")], 2),
        ([2, float("inf")], 2),
        ([2, float("-inf")], 2),
        ([2, 0.5, 10**400], 2.5),
        ([2, 10**4299 * 9, 10**4299 * 9], 2),
    ],
    ids=["figures", "no figures", "nan", "inf", "-inf", "larger than a float", "too long to be written"],
)
def test_the_totals_hold_what_a_result_can_hold(key: str, figures: list[Any], total: float) -> None:
    state = fold(STARTED, *[Event("usage", {key: figure}) for figure in figures])
    assert state.usage[key] == total
