"""How a run ends: the rows of the endings table, and what the events alone prove."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.runs.steps import (
    ANSWERED,
    CALL,
    EXITED,
    FAILED_RESULT,
    FIGURES,
    GAVE_UP,
    LEAVE,
    REFUSED,
    RESULT,
    RESUMED,
    RETRY,
    SETTLED,
    STARTED,
    TEXT,
    WARNED,
    fold,
    told,
    turn,
)
from tmuxagents import records
from tmuxagents.records import Exit
from tmuxagents.runs import endings, events

if TYPE_CHECKING:
    from tmuxagents.runs.endings import Cause
    from tmuxagents.runs.events import Event

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
        (*ANSWERED, LEAVE, RESUMED, CALL, FIGURES, turn("error"), GAVE_UP),
        *(Exit(143), None, True, ("completed", "done", 143, None, None)),
    ),
    "settled, and the end of a turn comes late": (
        (*ANSWERED, turn("error")),
        *(Exit(0), None, False, ("completed", "done", 0, None, None)),
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
    "settled, but how its last answer ended was never said": (
        (STARTED, TEXT, FIGURES, turn("stop"), TEXT, FIGURES, SETTLED),
        *(Exit(0), None, False, ("failed", "unfinished", 0, None, UNFINISHED)),
    ),
    "settled, began again without a word, left": (
        (*ANSWERED, RESUMED),
        *(Exit(0), None, False, ("failed", "unfinished", 0, None, UNFINISHED)),
    ),
    "settled, began again, settled with an error": (
        (*ANSWERED, RESUMED, FIGURES, turn("error"), SETTLED),
        *(Exit(0), None, False, ("failed", "error", 0, None, "401: wrong key")),
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
    "refused to start as git does, and said why": (
        (STARTED, WARNED, REFUSED),
        *(Exit(128), None, False, ("failed", "exit", 128, None, "Error: no such flag")),
    ),
    "refused to start with the largest code, and said why": (
        (STARTED, WARNED, REFUSED),
        *(Exit(255), None, False, ("failed", "exit", 255, None, "Error: no such flag")),
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
    state.error_message = "401: wrong key"  # as the reader reports it; it counts only if the answer failed
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
    assert told(how) == ("failed", "error", 0, None, "The model failed.")


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
    "it worked, and had left with 0": ((STARTED, TEXT, EXITED), LOST, None),
    "it settled with an answer": (ANSWERED, (*DONE, None, None, None), "wrapper lost"),
    "it settled and left": ((*ANSWERED, EXITED), (*DONE, 0, None, None), "wrapper lost"),
    "it settled, and left with 3": (
        (*ANSWERED, events.child_exited(3, None)),
        (*DONE, 3, None, None),
        "wrapper lost",
    ),
    "it settled, and was killed": (
        (*ANSWERED, events.child_exited(None, "SIGKILL")),
        (*DONE, None, "SIGKILL", None),
        "wrapper lost",
    ),
    "it settled, and a turn ended late": (
        (*ANSWERED, turn("error")),
        (*DONE, None, None, None),
        "wrapper lost",
    ),
    "it settled, and how its last answer ended was never said": (
        (STARTED, turn("stop"), TEXT, FIGURES, SETTLED),
        LOST,
        None,
    ),
    "it settled and began again without a word": ((*ANSWERED, RESUMED), LOST, None),
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


@pytest.mark.parametrize("case", CONCLUSIONS)
def test_conclude_for_one_who_stopped_it(case: str) -> None:
    """A stopped run that would be lost is aborted; an answer that was there before the stop counts."""
    steps, expected, note = CONCLUSIONS[case]
    how = endings.conclude(fold(*steps), cause=endings.STOPPED)
    assert (told(how), how.note) == (STOPPED if expected is LOST else expected, note)


def test_a_task_that_cannot_begin_fails_by_its_own_fault() -> None:
    how = endings.misconfigured("No such file.").verdict()
    assert (how.status, how.reason, how.error_message) == (records.FAILED, "config", "No such file.")
    assert how.exit_code == 1
