"""The writing of a run's result: last, under the lock, whole, and not left out because the disk is full.

Joins.
"""

from __future__ import annotations

import os
import time

from tmuxagents.cpython import ignoring, signal
from tmuxagents.runs import directory, documents, endings, writing
from tmuxagents.runs.lifecycle import RunState
from tmuxagents.text import jsonline, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.records import Verdict
    from tmuxagents.wrapper.claim import Claim
    from tmuxagents.wrapper.recorder import Recorder
    from tmuxagents.wrapper.signals import Signals

_RETRY_S = 0.5


def write_unbegun(claim: Claim) -> None:
    """Write the result of a run that is ours and cannot begin. Raises OSError."""
    never = endings.NOT_SPAWNED.verdict()
    now = time.time()
    result = documents.result(claim.plan, RunState(), never, ended_at=now, duration_s=0.0)
    writing.write_result(claim.run_dir, result)


class Result:
    """The result that a run will have, and the room kept for it on the disk from now on."""

    def __init__(self, claim: Claim, *, recorder: Recorder, signals: Signals) -> None:
        self._run_dir = run_dir = claim.run_dir
        self._plan = claim.plan
        self._wrapper = claim.wrapper
        self._recorder = recorder
        self._signals = signals
        self._reserve = writing.reserve(run_dir)

    def write(self, verdict: Verdict, duration: float, *, lingered: bool) -> None:
        """Write the result, and do not leave without it: a full disk has room again one day."""
        ended_at = time.time()
        told = False
        while True:
            writing.open_up(self._run_dir)
            self._recorder.keep_directory()
            self._keep_plan()
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
            if not told:
                self._recorder.hint(f"The result cannot be written ({error.strerror}); trying again.")
                self._recorder.flush(time.monotonic(), last=True)
                told = True
            if self._asked_to_leave():
                return

    def _try(self, result: dict[str, Any]) -> OSError | None:
        """Write it whole, with the disk that was kept for it, or at last without the answer in it."""
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

    def _keep_plan(self) -> None:
        """Write the plan once more if the child wrote over it, and who we are.

        Without the one, nobody finds its result; by the other, it is ours.
        """
        with ignoring(OSError):
            found, meta = directory.read_plan(self._run_dir), documents.meta(self._plan)
            if found is None or documents.meta(found) != meta:
                writing.replace(self._run_dir, directory.META, jsonline.encode(meta))
            if directory.read_wrapper(self._run_dir) != self._wrapper:
                writing.replace(self._run_dir, directory.WRAPPER, jsonline.encode(self._wrapper))

    def _write_output(self) -> bool:
        """Write the whole answer beside the result; say whether that worked."""
        text = self._recorder.state.text
        try:
            if text is None:
                writing.remove(
                    self._run_dir, directory.OUTPUT
                )  # one that lies there is not the child's answer
            else:
                writing.replace(self._run_dir, directory.OUTPUT, text.encode("utf-8", "replace"))
        except OSError:
            return False
        return True

    def _asked_to_leave(self) -> bool:
        """Wait a moment; say whether a signal wants us gone even without a result (its events say most)."""
        time.sleep(_RETRY_S)
        return bool({signal.SIGTERM, signal.SIGINT, signal.SIGHUP} & self._signals.caught())
