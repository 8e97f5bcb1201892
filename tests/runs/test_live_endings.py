"""How a live run ends: without a person like a batch run, with one by its last answer, whatever ended it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tmuxagents.records import Exit
from tmuxagents.runs import endings, events
from tmuxagents.runs.events import Event
from tmuxagents.runs.lifecycle import RunState, apply

if TYPE_CHECKING:
    from tmuxagents.runs.endings import Cause

CLEAN, KILLED, HUNG_UP, CRASHED = Exit(0), Exit(None, "SIGKILL"), Exit(129), Exit(1)
USAGE = events.usage({})


def state(*turns: str, settled: bool = True, attended: bool = False, aborted: bool = False) -> RunState:
    """Return the state after turns with these stop reasons; the text of each is its number."""
    made = RunState()
    told = [Event("run_started", {})]
    for number, reason in enumerate(turns):
        told += [events.assistant_text(f"answer {number}"), USAGE, events.turn_end(reason)]
    if attended:
        told.insert(1, events.human_input("and this"))
    told += [events.settled(aborted=aborted, attended=attended)] if settled else [events.usage({})]
    for event in told:
        apply(made, event)
    return made


def ended(
    of: RunState,
    how: Exit = CLEAN,
    *,
    cause: Cause | None = None,
    lingered: bool = False,
    person: bool = False,
) -> tuple[str, str]:
    found = endings.live_verdict(of, how, cause=cause, lingered=lingered, person=person)
    return found.status, found.reason


@pytest.mark.parametrize("how", [CLEAN, KILLED, CRASHED, Exit(143)])
@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.parametrize("reason", ["stop", "error", "length", "toolUse"])
@pytest.mark.parametrize("lingered", [True, False])
def test_nobodys_run_is_judged_like_a_batch_run(
    how: Exit, *, settled: bool, reason: str, lingered: bool
) -> None:
    of = state(reason, settled=settled)
    batch = endings.verdict(of, how, cause=None, lingered=lingered)
    assert ended(of, how, lingered=lingered) == (batch.status, batch.reason)


def test_what_ends_nobodys_run_before_it_settles_is_its_ending() -> None:
    of = state("toolUse", settled=False)
    causes = (endings.STOPPED, endings.PARENT, endings.WINDOW_CLOSED, endings.LOOP, endings.timed_out(5))
    for cause in causes:
        assert ended(of, HUNG_UP, cause=cause) == (cause.status, cause.reason)


@pytest.mark.parametrize("cause", [endings.WINDOW_CLOSED, endings.STOPPED, endings.SERVER_ENDED])
def test_what_comes_while_nobodys_settled_run_leaves_changes_nothing(cause: Cause) -> None:
    assert ended(state("stop"), HUNG_UP, cause=cause) == ("completed", "done")
    assert ended(state("error"), HUNG_UP, cause=cause) == ("failed", "error")


@pytest.mark.parametrize("how", [CLEAN, KILLED, HUNG_UP, CRASHED])
@pytest.mark.parametrize("cause", [None, endings.STOPPED, endings.PARENT, endings.WINDOW_CLOSED])
def test_a_persons_settled_run_is_completed_whatever_ends_it(how: Exit, cause: Cause | None) -> None:
    assert ended(state("stop", attended=True), how, cause=cause) == ("completed", "done")


@pytest.mark.parametrize("last", ["error", "aborted", "length", "toolUse"])
def test_a_persons_run_that_was_broken_off_last_is_aborted(last: str) -> None:
    of = state("stop", last, attended=True)
    assert ended(of, CLEAN) == ("aborted", "stopped")
    assert ended(of, CLEAN, cause=endings.WINDOW_CLOSED) == ("aborted", "closed")


@pytest.mark.parametrize("last", ["error", "aborted"])
def test_its_output_is_the_last_finished_answer(last: str) -> None:
    assert state("stop", last, attended=True).text == "answer 0"
    assert state("stop", last, "stop", attended=True).text == "answer 2"
    assert state(last).text == "answer 0"  # there was no other


def test_leaving_before_it_settled_is_stopping_it() -> None:
    of = state("toolUse", settled=False, attended=True)
    assert ended(of, CLEAN) == ("aborted", "stopped")
    assert ended(of, HUNG_UP, cause=endings.WINDOW_CLOSED) == ("aborted", "closed")
    assert ended(state("toolUse", settled=False), CLEAN, person=True) == ("aborted", "stopped")


def test_a_persons_child_that_crashes_at_work_has_failed() -> None:
    of = state("toolUse", settled=False, attended=True)
    assert ended(of, KILLED) == ("failed", "signal")
    assert ended(of, CRASHED) == ("failed", "exit")


def test_of_a_lost_wrapper_the_events_prove_the_same() -> None:
    assert endings.conclude(state("stop", attended=True)).status == "completed"
    assert endings.conclude(state("stop", "error", attended=True)).status == "aborted"
    assert endings.conclude(state("stop", settled=False, attended=True)).reason == "lost"
