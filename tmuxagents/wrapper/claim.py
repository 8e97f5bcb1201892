"""Claim a run, and write its result: the wrapper's first step and its last. Joins.

A wrapper that may not have the run leaves no trace in its directory. The result is written whole and under
the lock. On a full disk, the result goes into space that was reserved before, or is tried again.
"""

from __future__ import annotations

import os
import time

from tmuxagents.cpython import ignoring, signal
from tmuxagents.errors import NotPossible, TmuxAgentsError
from tmuxagents.launch import handover
from tmuxagents.runs import directory, documents, endings, writing
from tmuxagents.runs.lifecycle import RunState
from tmuxagents.system import places, process
from tmuxagents.text import jsonline, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.launch.handover import Handed
    from tmuxagents.records import Plan, Verdict
    from tmuxagents.wrapper.recorder import Recorder
    from tmuxagents.wrapper.signals import Signals

LOCK_LIMIT_S = 10.0
HANDOVER_LIMIT_S = 30.0


class Claim:
    """A run that is ours to carry out."""

    __slots__ = ("handed", "plan", "prompt", "run_dir", "wrapper")

    def __init__(
        self, run_dir: str, plan: Plan, wrapper: dict[str, Any], prompt: int, handed: Handed | None
    ) -> None:
        self.run_dir = run_dir
        self.plan = plan
        self.wrapper = wrapper
        self.prompt = prompt  # open for the child to read
        self.handed = handed  # None: started by hand, in our own environment

    def replace_prompt(self, prompt: int) -> None:
        """Replace the open prompt by another one for the child."""
        os.close(self.prompt)
        self.prompt = prompt


def claim(run_dir: str) -> Claim:
    """Claim a run, and hold its lock until we exit.

    Raises NotPossible if another process has the run or it has ended, and Unusable if another user could have
    made its directory.
    """
    places.refuse_foreign_run(run_dir)
    try:
        held = writing.lock(run_dir, LOCK_LIMIT_S)
    except OSError as error:
        raise _late(run_dir, f"There is no run directory at {run_dir}: {error.strerror}.") from error
    if held is None:
        raise _refusal("Another process holds this run; nothing was started.")
    plan = directory.read_plan(run_dir)
    if plan is None or not documents.is_sound(plan):
        raise _refusal(f"There is no plan of a run in {run_dir}; nothing was started.")
    try:
        prompt = directory.open_prompt(run_dir)
    except OSError as error:
        raise _refusal(
            f"The prompt of this run cannot be read ({error.strerror}); nothing was started."
        ) from error
    if directory.read_result(run_dir) is not None:
        raise _late(run_dir, "This run has ended already; nothing was started.")
    handed = handover.left(run_dir)
    if handed is None and handover.is_expected(run_dir):
        handed = handover.receive(run_dir, HANDOVER_LIMIT_S)
        if handed is None:
            raise _late(run_dir, "The launcher of this run is gone; nothing was started.")
    wrapper = documents.wrapper(process.myself(), _tmux(handed), time.time())
    if not writing.claim(run_dir, wrapper):
        raise _refusal("This run has a wrapper already; nothing was started.")
    if handed is not None and handed.queued:
        with ignoring(OSError):  # the process that concludes the run tries it again
            writing.remove(run_dir, directory.HANDED)
        from tmuxagents.slurm import jobs  # noqa: PLC0415  (few runs are jobs)

        handed.environment = jobs.in_job(handed.environment, os.environ)
    return Claim(run_dir, plan, wrapper, prompt, handed)


def _refusal(message: str) -> NotPossible:
    return NotPossible(message, kind="run-busy")


def _late(run_dir: str, message: str) -> NotPossible:
    """Return the refusal of a run whose launcher has given up; close our window if the run never began.

    No other process knows of this window, which was opened too late and looks like that of a running run.
    This is the only tmux call of a wrapper, because no run has to wait for its answer.
    """
    if directory.read_wrapper(run_dir) is None:
        with ignoring(TmuxAgentsError, OSError, ValueError):  # then the window stays and shows the refusal
            from tmuxagents import tmux  # noqa: PLC0415  (only a wrapper without a run makes a call)

            inside = tmux.caller(os.environ)
            # A wrapper that was started by hand has a shell as its parent, in a person's window.
            if inside is not None and inside.pane and os.getppid() == inside.server.pid:
                run_id = os.path.basename(run_dir)
                tmux.Tmux(inside.server.socket).windows.close_pane(inside.pane, run_id)
    return _refusal(message)


def _tmux(handed: Handed | None) -> dict[str, Any]:
    """Return our place in tmux, from our own environment and without a tmux call."""
    socket, server, _ = places.tmux_server(os.environ)
    return {
        "socketPath": socket or None,
        "serverPid": server,
        "serverStartTime": None if server is None else process.start_time(server),
        "session": handed.session if handed else None,
        "window": handed.window if handed else None,
        "pane": os.environ.get("TMUX_PANE"),
    }


# --- the result -------------------------------------------------------------------------------------------

_RETRY_S = 0.5


def write_unbegun(claim: Claim) -> None:
    """Write the result of a run that is ours but cannot begin. Raises OSError."""
    never = endings.NOT_SPAWNED.verdict()
    now = time.time()
    result = documents.result(claim.plan, RunState(), never, ended_at=now, duration_s=0.0)
    writing.write_result(claim.run_dir, result)


class Result:
    """The writer of a run's result, for which it reserves disk space from now on."""

    def __init__(self, claim: Claim, *, recorder: Recorder, signals: Signals) -> None:
        self._run_dir = run_dir = claim.run_dir
        self._plan = claim.plan
        self._wrapper = claim.wrapper
        self._recorder = recorder
        self._signals = signals
        self._reserve = writing.reserve(run_dir)

    def write(self, verdict: Verdict, duration: float, *, lingered: bool) -> None:
        """Write the result, however long that takes: a full disk will have room again."""
        ended_at = time.time()
        has_complained = False
        while True:
            writing.open_up(self._run_dir)
            self._recorder.keep_directory()
            # The child may have changed both. Without the plan, no reader finds the result; without
            # wrapper.json, the result is not known as ours.
            with ignoring(OSError):
                found, meta = directory.read_plan(self._run_dir), documents.meta(self._plan)
                if found is None or documents.meta(found) != meta:
                    writing.replace(self._run_dir, directory.META, jsonline.encode(meta))
                if directory.read_wrapper(self._run_dir) != self._wrapper:
                    writing.replace(self._run_dir, directory.WRAPPER, jsonline.encode(self._wrapper))
            incomplete = not self._write_output() or self._recorder.incomplete
            result = documents.result(
                self._plan,
                self._recorder.state,
                verdict,
                ended_at=ended_at,
                duration_s=duration,
                lingered=lingered,
                logs_incomplete=incomplete,
            )
            error = self._try(result)
            if error is None:
                return
            if not has_complained:
                self._recorder.hint(f"The result cannot be written ({error.strerror}); trying again.")
                self._recorder.flush(time.monotonic(), last=True)
                has_complained = True
            time.sleep(_RETRY_S)
            if {signal.SIGTERM, signal.SIGINT, signal.SIGHUP} & self._signals.caught():
                return  # we have to exit without a result, and the events hold most of it

    def _try(self, result: dict[str, Any]) -> OSError | None:
        """Write the result: whole; if that fails, in the reserved space; if need be, with a short answer."""
        shorter = {
            **result,
            "output": safe.first_bytes(result["output"] or "", 256),
            "logsIncomplete": True,
        }
        for attempt in (result, result, shorter):
            try:
                writing.write_result(self._run_dir, attempt)
            except OSError as error:
                failure = error
            else:
                return None
            if self._reserve is not None:
                os.close(self._reserve)
                self._reserve = None
            else:
                with ignoring(OSError):
                    writing.remove(self._run_dir, directory.OUTPUT)
        return failure

    def _write_output(self) -> bool:
        """Write the whole answer beside the result; say whether that worked."""
        text = self._recorder.state.text
        try:
            if text is None:
                writing.remove(self._run_dir, directory.OUTPUT)  # a file there is not the child's answer
            else:
                writing.replace(self._run_dir, directory.OUTPUT, text.encode("utf-8", "replace"))
        except OSError:
            return False
        return True
