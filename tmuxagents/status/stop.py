"""Stop runs: ask each wrapper to end its child and write the result; kill one that does not. Joins."""

from __future__ import annotations

import os
import signal
import time

from tmuxagents import records
from tmuxagents.errors import NotPossible, TmuxAgentsError, Unusable
from tmuxagents.runs import directory
from tmuxagents.runs.conclude import conclude
from tmuxagents.runs.endings import PARENT, STOPPED
from tmuxagents.runs.inspect import inspect
from tmuxagents.system import process, process_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.records import Identity
    from tmuxagents.runs.endings import Cause
    from tmuxagents.runs.inspect import RunView

DEAF_AFTER_S = 12.0
MIRRORED_WITHIN_S = 10.0
_LOOK_S = 0.05
# As wrapper/signals.CAUSES reads them.
_SIGNALS = {STOPPED: signal.SIGTERM, PARENT: signal.SIGINT}
_NOTHING = 0  # no signal, but a check whether one could be sent


def stop(run_dirs: Sequence[str], cause: Cause = STOPPED) -> list[RunView]:
    """Stop runs, all at once; return them as they are afterwards. An ended run stays as it is.

    `cause`: a stop, or a call that the parent has cancelled.
    """
    for run_dir in run_dirs:
        refusal = why_not(run_dir)
        if refusal is not None:
            raise refusal
    far = [run_dir for run_dir in run_dirs if directory.read_machine(run_dir) is not None]
    asked = {run_dir: _ask(run_dir, _SIGNALS[cause]) for run_dir in run_dirs if run_dir not in far}
    ended = {run_dir: _end(run_dir, identity, cause) for run_dir, identity in asked.items()}
    refusals: list[TmuxAgentsError] = []
    for run_dir in far:
        try:
            _ask_far(run_dir, cause)
        except TmuxAgentsError as why:  # a silent machine must not save other runs from the stop
            refusals.append(why)
    if refusals:
        raise refusals[0]
    for run_dir in far:  # their results come here a little later
        deadline = time.monotonic() + MIRRORED_WITHIN_S
        while not (run := inspect(run_dir)).ended and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        ended[run_dir] = run
    return [ended[run_dir] for run_dir in run_dirs]


def _ask_far(run_dir: str, cause: Cause) -> None:
    """Request the stop of a run at the place where it works; end it here if it never got there."""
    run = inspect(run_dir)
    if run.ended:
        return
    if (run.machine or {}).get("state") == records.WAITING:
        conclude(run_dir, cause=cause, never_came=cause.message, gone=True)
        run = inspect(run_dir)
        if (run.machine or {}).get("state") != records.SUBMITTED:  # else a mirror was quicker
            return
    if run.is_far:
        from tmuxagents.machines import requests  # noqa: PLC0415  (most runs work here)

        requests.carry_out(run, ["stop", run.run_id], os.environ)
    else:
        from tmuxagents.slurm import commands  # noqa: PLC0415  (as above)

        commands.stop_job(run_dir, os.environ)


def why_not(run_dir: str) -> TmuxAgentsError | None:
    """Return why a run cannot be stopped from here; None if it can be, or has ended."""
    run = inspect(run_dir)
    if run.machine is not None:
        return None
    recorded = directory.identity_of(run.wrapper)
    if run.ended or recorded is None:
        return None
    wrapper = process_table.wrapper_of(run.run_id, recorded)
    if wrapper is None and process.presence(recorded) == records.ELSEWHERE:
        message = f"Run {run.run_id} lives on another host ({recorded.host}): it can only be stopped there."
        return NotPossible(message, kind="run-busy", hint=f"run tmuxagents stop on {recorded.host}")
    if wrapper is not None and not process.send(wrapper.pid, wrapper.start_time, _NOTHING):
        if process.presence(wrapper) != records.HERE:
            return None  # it has just ended
        message = f"Run {run.run_id} belongs to another user, and only they can stop it."
        return Unusable(message, kind="no-permission", hint=f"as that user: tmuxagents stop {run.run_id}")
    return None


def _ask(run_dir: str, number: int) -> Identity | None:
    """Ask a run's wrapper to end it; return the wrapper, None if there is none."""
    recorded = directory.identity_of(directory.read_wrapper(run_dir))
    identity = process_table.wrapper_of(os.path.basename(run_dir), recorded)
    if identity is not None:
        process.send(identity.pid, identity.start_time, number, signal.SIGCONT)
    return identity


def _end(run_dir: str, identity: Identity | None, cause: Cause) -> RunView:
    """Wait until the wrapper that was asked has ended, or kill it; make sure that the result is written."""
    if identity is None:
        ended = inspect(run_dir).ended
        conclude(run_dir, cause=None if ended else cause, never_came=None if ended else cause.message)
        identity = _ask(run_dir, _SIGNALS[cause])  # its wrapper may have started just now
    if identity is None:
        return inspect(run_dir)
    if not process.wait_gone(identity.pid, identity.start_time, DEAF_AFTER_S):
        process.send(identity.pid, identity.start_time, signal.SIGKILL)
        process.wait_gone(identity.pid, identity.start_time, DEAF_AFTER_S)
    if directory.read_result(run_dir) is None:
        conclude(run_dir, cause=cause)
    return inspect(run_dir)
