"""Runs that have ended on another machine, and whose code is on its way back: only then they end here, too.

One after the other, beside the mirror: its connection carries the other runs meanwhile. A mirror that is
killed loses nothing, since the next one gets the same results again.

Joins.
"""

from __future__ import annotations

import os
import threading
import time

from tmuxagents.machines import code
from tmuxagents.machines.refusals import Unreachable
from tmuxagents.runs import directory, writing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tmuxagents.machines.hosts import Host

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 30.0


class Bringing:
    """The results of one host that wait for code. `miss`: called with why the host does not answer."""

    def __init__(self, host: Host, environment: Mapping[str, str], miss: Callable[[str], None]) -> None:
        self._host = host
        self._environment = environment
        self._miss = miss
        self._results: dict[str, bytes] = {}
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def is_busy(self) -> bool:
        """Say whether the code of a run is still on its way."""
        with self._lock:
            return bool(self._results)

    def end(self, run_dir: str, result: bytes) -> None:
        """Let a run end here with this result, as soon as its code is back. Without code that is at once."""
        if "code" not in (directory.read_machine(run_dir) or {}):
            writing.replace(run_dir, directory.RESULT, result)
            return
        with self._lock:
            self._results[run_dir] = result
            if self._thread is None:
                self._thread = threading.Thread(target=self._bring_all, daemon=True)
                self._thread.start()

    def _bring_all(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while run_dir := self._next():
            if self._bring(run_dir):
                pause_s = _FIRST_PAUSE_S
            else:
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _next(self) -> str | None:
        """Return the next run; without one the thread is over, and the next end starts another."""
        with self._lock:
            run_dir = next(iter(self._results), None)
            if run_dir is None:
                self._thread = None
            return run_dir

    def _bring(self, run_dir: str) -> bool:
        """Bring back what one run left, and end it; say whether that is settled."""
        try:
            if os.path.isdir(run_dir):  # else it was removed here
                code.bring_back_of(run_dir, self._host, self._environment)
                writing.replace(run_dir, directory.RESULT, self._results[run_dir])
        except Unreachable as why:
            self._miss(why.message)
            return False
        except OSError:  # our own disk is full, say: it is tried again
            return False
        with self._lock:
            del self._results[run_dir]
        return True
