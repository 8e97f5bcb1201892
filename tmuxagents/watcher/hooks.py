"""The command of the setting onEnd: run once for each announcement, a few at a time, and not for ever."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor

from tmuxagents.edges import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future

LIMIT_S = 10.0
_GRACE_S = 1.0
_AT_ONCE = 4
ROLE = "hook"  # so that it does not end with the run that it is told of


class Hooks:
    """All commands that run, or wait for others to be done."""

    def __init__(self, wake: Callable[[], None], complain: Callable[[str], None]) -> None:
        self._pool = ThreadPoolExecutor(_AT_ONCE)
        self._wake = wake
        self._complain = complain
        self._at_work: set[Future[None]] = set()

    @property
    def busy(self) -> bool:
        """Say whether any is at work."""
        return bool(self._at_work)

    def start(self, argv: Sequence[str], *, run_id: str, status: str) -> None:
        """Run a command for a run that was announced just now."""
        told = {"TMUXAGENTS_RUN": run_id, "TMUXAGENTS_STATUS": status, "TMUXAGENTS_ROLE": ROLE}
        work = self._pool.submit(carry_out, list(argv), {**os.environ, **told})
        self._at_work.add(work)
        work.add_done_callback(lambda _: self._wake())

    def step(self) -> None:
        """Take note of those that are done."""
        for work in [work for work in self._at_work if work.done()]:
            self._at_work.discard(work)
            if (error := work.exception()) is not None:
                self._complain(f"onEnd cannot be run: {error}")


def carry_out(argv: list[str], environment: Mapping[str, str], limit_s: float = LIMIT_S) -> None:
    """Run a command to its end, and end it at the limit, with all that is in its process group."""
    path = process.find_program(argv[0], environment.get("PATH", ""))
    if path is None:
        raise FileNotFoundError(f"there is no {argv[0]}")
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        child = process.spawn(path, argv, environment, streams=(nothing, nothing, nothing))
    finally:
        os.close(nothing)
    started = process.start_time(child, zombie=True) or 0
    if not process.wait_gone(child, started, limit_s):
        process.send_group(child, signal.SIGTERM, signal.SIGCONT)
        process.wait_gone(child, started, _GRACE_S)
        process.send_group(child, signal.SIGKILL)
    os.waitpid(child, 0)
