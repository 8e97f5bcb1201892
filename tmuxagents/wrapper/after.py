"""Waits in the window until the runs that this one comes after have ended; can be stopped meanwhile.

Joins.
"""

from __future__ import annotations

import errno
import os

from tmuxagents import records
from tmuxagents.launch import before
from tmuxagents.runs import directory, prompt, slots, writing
from tmuxagents.system import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tmuxagents.records import Verdict
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.wrapper.signals import Console

_LOOK_S = 1.0  # with a wrapper to wait on, too: it may be of another host
_SOON_S = 0.05  # before it has one


class After:
    """The wait for the runs before this one. `queued` is called when it has to wait."""

    def __init__(self, run_dirs: Sequence[str], console: Console, queued: Callable[[], None]) -> None:
        self._run_dirs = run_dirs
        self._console = console
        self._queued = queued
        self._said: str | None = None

    def wait(self, stopped: Callable[[], bool]) -> Verdict | None:
        """Wait for all of them, or for a stop; return how this run ends if one of them did not complete."""
        for run_dir in self._run_dirs:
            while True:
                run, how = before.judge(run_dir)
                if how is not None:
                    return how
                if run is None:
                    break
                self._say(run)
                self._pause(run)
                if stopped():
                    return None
        return None

    def outputs(self) -> list[str | None]:
        """Return what they answered, in the order in which they were named."""
        return [before.output(run_dir) for run_dir in self._run_dirs]

    def _say(self, run: RunView) -> None:
        if run.run_id == self._said:
            return
        self._said = run.run_id
        self._console.announce(slots.following_words([run.run_id]))
        self._queued()

    def _pause(self, run: RunView) -> None:
        other = _handle_of(run)
        try:
            self._console.wait(_LOOK_S if other is not None else _SOON_S, other)
        finally:
            if other is not None:
                os.close(other)


def _handle_of(run: RunView) -> int | None:
    """Return what becomes readable when a run's wrapper ends."""
    identity = directory.identity_of(run.wrapper)
    if identity is None or process.presence(identity) != records.HERE:
        return None
    return process.open_handle(identity.pid, identity.start_time)


def write_prompt(run_dir: str, task: str, outputs: Sequence[str | None]) -> int:
    """Put what the runs before answered into the prompt; return it, open for the child to read."""
    written = directory.read_bytes(f"{run_dir}/{directory.PROMPT}")
    if written is None:
        raise OSError(errno.EINVAL, "no file that can be read", directory.PROMPT)
    text = prompt.with_outputs(written.decode("utf-8", "surrogateescape"), task, outputs)
    writing.replace(run_dir, directory.PROMPT, text.encode("utf-8", "surrogateescape"))
    return directory.open_prompt(run_dir)
