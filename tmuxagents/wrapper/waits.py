"""The waits before a child starts: for the runs that this one comes after, then for a slot. A stop ends them.

Joins.
"""

from __future__ import annotations

import os
import time

from tmuxagents.runs import endings, events, slots
from tmuxagents.runs.slots import Queue
from tmuxagents.wrapper.signals import CAUSES, hang_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tmuxagents.records import Verdict
    from tmuxagents.wrapper.claim import Claim
    from tmuxagents.wrapper.signals import Console


def enter_cwd(claim: Claim) -> Verdict | None:
    """Enter the child's working directory if it is the one that the launcher saw; else return the ending."""
    try:
        os.chdir(claim.plan.cwd)
        here = os.stat(".")
    except OSError:
        here = None
    seen = claim.handed.working_directory if claim.handed else None
    if here is None or (seen is not None and [here.st_dev, here.st_ino] != seen):
        return endings.CWD_CHANGED.verdict()
    return None


def still_there(claim: Claim) -> Verdict | None:
    """Return the ending if the folder that we entered was removed or replaced while we waited."""
    try:
        if os.path.samestat(os.stat(claim.plan.cwd), os.stat(".")):
            return None
    except OSError:
        pass
    return endings.CWD_CHANGED.verdict()


class Before:
    """The waits of one run. `queued` is called when it has to wait."""

    def __init__(self, claim: Claim, console: Console, queued: Callable[[], None]) -> None:
        self._claim = claim
        self._console = console
        self._queued = queued
        self._stopped: Verdict | None = None
        self.slot: int | None = None

    def wait(self, folder: str, most: int) -> Verdict | None:
        """Wait until a child may start; return the ending if the run ended before that.

        `folder` holds the slots, `most` is how many there are.
        """
        if self._is_stopped():
            return self._stopped
        verdict = self._wait_for_others()
        if verdict is not None or self._stopped is not None:
            return verdict or self._stopped
        if self._claim.handed is not None and self._claim.handed.queued:
            return None  # it has waited for its turn already
        turn = Turn(Queue(folder), most, self._console, self._queued)
        has_one = turn.wait(self._claim.plan.run_id, self._is_stopped)
        self.slot = turn.slot
        return None if has_one else self._stopped

    def _wait_for_others(self) -> Verdict | None:
        claim = self._claim
        others = claim.plan.after
        if not others:
            return None
        from tmuxagents.wrapper import after as waits  # noqa: PLC0415  (few runs wait for others)

        runs = os.path.dirname(claim.run_dir)
        run_dirs = [f"{runs}/{os.path.basename(other)}" for other in others]
        after = waits.After(run_dirs, self._console, self._queued)
        verdict = after.wait(self._is_stopped)
        if verdict is None and self._stopped is None:
            claim.replace_prompt(waits.write_prompt(claim.run_dir, claim.plan.task, after.outputs()))
        return verdict

    def _is_stopped(self) -> bool:
        """Say whether a stop came, by key or signal."""
        if self._stopped is None:
            cause: endings.Cause | None = endings.STOPPED
            if not self._console.stop_wanted(time.monotonic()):
                caught = self._console.signals.caught()
                cause = next((cause for number, cause in CAUSES.items() if number in caught), None)
            if cause is endings.WINDOW_CLOSED:
                cause = hang_up(self._claim.wrapper["tmux"])
            self._stopped = cause.verdict() if cause is not None else None
        return self._stopped is not None


class Turn:
    """The wait of one run for a slot. `slot` stays open until the wrapper leaves or closes it."""

    def __init__(self, slots: Queue, most: int, console: Console, queued: Callable[[], None]) -> None:
        self._slots = slots
        self._most = most
        self._console = console
        self._queued = queued
        self._position: int | None = None
        self.slot: int | None = None

    def wait(self, run_id: str, stopped: Callable[[], bool]) -> bool:
        """Wait for a slot; say whether the run got one (else it was stopped meanwhile)."""
        name = slots.ticket_name(time.time_ns(), run_id)
        ticket, begun = self._slots.draw(name), time.monotonic()
        try:
            while True:
                older = slots.before(name, self._slots.tickets())
                while older and not self._slots.is_held(older[0]):
                    older.pop(0)  # dead ones at the front do not count
                position = len(older)
                if position == 0:
                    self.slot = self._slots.take(self._most)
                if self.slot is not None:
                    return True
                waited_s = time.monotonic() - begun
                if waited_s >= slots.RUSH_S:
                    self._say(position)
                self._console.wait(slots.pause_s(position, waited_s))
                if stopped():
                    return False
        finally:
            self._slots.give_back(name, ticket)

    def _say(self, position: int) -> None:
        if position == self._position:
            return
        self._position = position
        self._console.recorder.event(events.queued(position))
        self._console.announce(slots.waiting_words(position))
        self._queued()
