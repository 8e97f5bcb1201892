"""The state of a run: the table of the contract, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runs.steps import ANSWERED, STARTED, TEXT, fold, folded, told, whole_logs
from tmuxagents import records
from tmuxagents.records import Facts
from tmuxagents.runs import endings

if TYPE_CHECKING:
    from tmuxagents.runs.events import Event

LOOPED = "Loop detected: sub-agent is repeating the same tool calls"
RECORDED = {
    "status": "failed",
    "reason": "loop",
    "exitCode": 143,
    "signal": None,
    "errorMessage": LOOPED,
    "note": None,
}
LOST = ("aborted", "lost", None, None, records.LOST_MESSAGE)
DONE = ("completed", "done")
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


@given(
    log=whole_logs,
    presence=st.sampled_from([records.GONE, records.NEVER_CAME, records.ELSEWHERE]),
    started=st.booleans(),
)
def test_a_recorded_ending_stays_whatever_events_say(
    log: list[Event], presence: str, *, started: bool
) -> None:
    standing = endings.state_of(facts(presence, started=started, result=RECORDED), folded(log))
    assert standing.verdict is not None
    assert told(standing.verdict) == AS_RECORDED
