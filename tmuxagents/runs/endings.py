"""How a run ended, and what state it is in: the endings table and the state table of docs/run-directory.md.

1. `verdict` computes the ending of a run whose child has been reaped; the wrapper uses it.
2. `conclude` does the same for a run whose wrapper is gone, from what the events alone prove.
3. `state_of` is the only function that computes a run's state; nothing stores one.
The order of things decides: after the child has settled, a stop, a timeout or a loop changes nothing.

Pure.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.records import Exit, Facts, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.runs.lifecycle import RunState

# A new reason of an ending needs a change in each of these places:
# - the code that decides it: here, launch/predecessors, launch/call, runs/conclude or watcher/mirror;
# - for a job: slurm/jobs if Slurm decides it, _OURS in slurm/commands if only we do, and docs/machines.md;
# - docs/run-directory.md, REASONS in scripts/schema_shapes.py, a frozen run for tests/nets/test_run_v1.py.

# The answer to a question ended the turn: a decision, not a failure.
_REFUSED = "refused"
_NOTES = {
    "exit": "only its exit code says so",
    "lines": "its lines do not tell a cut or refused answer from a whole one",
}
GRACE_S = 2.0  # the time a settled child has to exit by itself
# Reasons besides errors for which an agent itself ends a run, with the message if the agent gives none.
_OWN_REASONS = {
    "limit": "The agent reached a limit of its own.",
    "config": "The agent refused its configuration.",
}
_SIGNALLED = range(129, 193)  # exit codes that mean a signal, caught by the child or seen by a shell


class Cause:
    """Why we ended a child that had not settled: decided once, before the first signal."""

    __slots__ = ("exit_code", "message", "reason", "status")

    def __init__(self, status: str, reason: str, message: str, *, exit_code: int | None = None) -> None:
        self.status = status
        self.reason = reason
        self.message = message
        self.exit_code = exit_code  # for a child that never existed

    def verdict(self, exit: Exit | None = None) -> Verdict:  # noqa: A002  (the word of the contract)
        """Return the ending of a run that was ended for this cause."""
        substitute = None if self.exit_code is None else Exit(self.exit_code)
        return Verdict(self.status, self.reason, self.message, exit=exit or substitute)


STOPPED = Cause(records.ABORTED, "stopped", "Stopped.")
PARENT = Cause(records.ABORTED, "parent", records.CANCELLED_MESSAGE)
WINDOW_CLOSED = Cause(records.ABORTED, "closed", "The window was closed.")
SERVER_ENDED = Cause(records.ABORTED, "closed", "The tmux server ended.")
CWD_CHANGED = Cause(records.FAILED, "spawn", "The working directory changed.")
NOT_SPAWNED = Cause(records.FAILED, "spawn", "Failed to spawn sub-agent process", exit_code=1)
LOOP = Cause(records.FAILED, "loop", "Loop detected: sub-agent is repeating the same tool calls")


def misconfigured(message: str) -> Cause:
    """Return the cause of a run that could not start because of its own configuration."""
    return Cause(records.FAILED, "config", message, exit_code=1)


def timed_out(timeout_s: float) -> Cause:
    """Return the cause of a timeout, with the configured number of seconds."""
    message = f"Timed out after {timeout_s:.15g}s. Consider resuming with a longer timeout."
    return Cause(records.FAILED, "timeout", message)


def verdict(
    state: RunState,
    exit: Exit,  # noqa: A002  (the word of the contract)
    *,
    cause: Cause | None,
    lingered: bool,
    exit_counts: bool = True,
) -> Verdict:
    """Compute the ending of a run whose child has been reaped.

    `cause` is set if we ended the child before it settled, `lingered` if we ended it afterwards. Unless
    `exit_counts`, the exit code of a child that has finished its answer means nothing.
    """
    if cause is not None:
        return cause.verdict(exit)
    if not state.settled and not lingered:
        return _unsettled(state, exit)
    answer = _bad_answer(state)
    if answer is not None:
        status = records.ABORTED if state.stop_reason == _REFUSED else records.FAILED
        return Verdict(status, answer[0], answer[1], exit=exit)
    if lingered or (exit.signal is None and (exit.exit_code == 0 or not exit_counts)):
        return Verdict(records.COMPLETED, "done", exit=exit, note=_NOTES.get(state.evidence or ""))
    if exit.signal is not None:
        return Verdict(records.FAILED, "signal", f"The child was killed by {exit.signal}.", exit=exit)
    message = f"The child finished its answer, then exited with code {exit.exit_code}."
    return Verdict(records.FAILED, "exit", message, exit=exit)


def live_verdict(
    state: RunState,
    exit: Exit,  # noqa: A002  (the word of the contract)
    *,
    cause: Cause | None,
    lingered: bool,
    person: bool,
) -> Verdict:
    """Compute the ending of a live run whose child has been reaped. `person`: a person has typed into it.

    An unattended run is judged like a batch run. An attended run that has settled is completed if its last
    answer is whole, whatever ended it. Any other attended run was stopped, unless it crashed or was killed.
    """
    if not (person or state.attended):
        if not state.settled:
            return verdict(state, exit, cause=cause, lingered=lingered)
        # The child had finished already: a later cause did not end it.
        return verdict(state, exit, cause=None, lingered=lingered or cause is not None)
    nothing_said = state.turns == 0 and not state.settled_aborted  # the person only looked at the session
    if state.settled and (nothing_said or _bad_answer(state) is None):
        return Verdict(records.COMPLETED, "done", exit=exit)
    if cause is None and not state.settled and (exit.signal is not None or exit.exit_code):
        return _unsettled(state, exit)  # it crashed, or was killed
    return (cause or STOPPED).verdict(exit)


def _bad_answer(state: RunState) -> tuple[str, str] | None:
    """Return reason and message if the child settled with an unfinished answer."""
    if state.stop_reason == "length":
        return "length", "The answer was cut at the model's output limit."
    if state.stop_reason == _REFUSED:
        return "stopped", "A tool was denied, and the agent ended its turn there."
    if state.stop_reason in _OWN_REASONS and not state.settled_aborted:
        message = state.error_message or (state.stderr_tail or "").strip()
        return state.stop_reason, message or _OWN_REASONS[state.stop_reason]
    if state.settled_aborted or state.stop_reason in ("error", "aborted"):
        by_model = state.stop_reason == "error" and not state.settled_aborted
        fallback = "The model failed." if by_model else "The child aborted its answer."
        return "error", state.error_message or fallback
    if state.stop_reason != "stop":
        return "unfinished", "The child ended without finishing its answer."
    return None


def _unsettled(state: RunState, exit: Exit) -> Verdict:  # noqa: A002  (the word of the contract)
    if exit.signal is not None:
        return Verdict(records.FAILED, "signal", f"The child was killed by {exit.signal}.", exit=exit)
    if exit.exit_code == 0:
        return Verdict(
            records.FAILED, "unfinished", "The child ended without finishing its answer.", exit=exit
        )
    message = f"The child exited with code {exit.exit_code}."
    if exit.exit_code not in _SIGNALLED:  # else the signal is the reason, and not what the child printed
        message = (state.stderr_tail or "").strip() or message
    return Verdict(records.FAILED, "exit", message, exit=exit)


def conclude(state: RunState, *, cause: Cause | None = None) -> Verdict:
    """Compute the ending of a run whose wrapper is gone without a result, from its events alone.

    `cause`: why the caller ended the wrapper, if it did.
    """
    if state.settled and _bad_answer(state) is None:
        return Verdict(records.COMPLETED, "done", exit=state.exit, note="wrapper lost")
    if cause is not None:
        return cause.verdict()
    return Verdict(records.ABORTED, "lost", records.LOST_MESSAGE)


# --- what state it is in ----------------------------------------------------------------------------------


class Standing:
    """The status of a run, as `poll` shows it. `verdict` is set if and only if the run has ended."""

    __slots__ = ("foreign", "status", "verdict")

    def __init__(self, status: str, verdict: Verdict | None = None, *, foreign: bool = False) -> None:
        self.status = status
        self.verdict = verdict
        self.foreign = foreign  # on another machine: shown as recorded, never concluded from here


def state_of(facts: Facts, state: RunState) -> Standing:
    """Return the state of a run: the one table, row by row (docs/run-directory.md)."""
    if facts.presence in (records.HERE, records.ELSEWHERE, records.MIRRORED):
        foreign = facts.presence != records.HERE
        if foreign and facts.result is not None:
            return _recorded(facts.result, foreign=True)
        return Standing(records.RUNNING if facts.started else records.QUEUED, foreign=foreign)
    if facts.result is not None:
        return _recorded(facts.result)
    if facts.presence == records.NEVER_CAME:
        return Standing(records.QUEUED)
    if not facts.started:
        return Standing(records.ABORTED, Verdict(records.ABORTED, "lost", records.LOST_MESSAGE))
    how = conclude(state)
    return Standing(how.status, how)


def _recorded(result: dict[str, Any], *, foreign: bool = False) -> Standing:
    code, signal = result.get("exitCode"), result.get("signal")
    ending = Exit(code if type(code) is int else None, signal if isinstance(signal, str) else None)
    message, note = result.get("errorMessage"), result.get("note")
    how = Verdict(
        result["status"],
        result["reason"],
        message if isinstance(message, str) else None,
        exit=ending,
        note=note if isinstance(note, str) else None,
    )
    return Standing(how.status, how, foreign=foreign)
