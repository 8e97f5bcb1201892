"""What comes before there is a child: the runs that this one comes after, then a slot. A stop ends it.

Joins.
"""

from __future__ import annotations

import os
import select
import time

from tmuxagents.runs import endings, events, slots
from tmuxagents.runs.slots import Queue
from tmuxagents.wrapper.signals import CAUSES, hang_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tmuxagents.records import Verdict
    from tmuxagents.wrapper.claim import Claim
    from tmuxagents.wrapper.recorder import Recorder
    from tmuxagents.wrapper.signals import Keys, Signals


def enter_cwd(claim: Claim) -> Verdict | None:
    """Go where the child is to work, if the launcher saw that very folder; else return how the run ended."""
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
    """Return how the run ended if the folder that we entered went, or was replaced, while we waited."""
    try:
        if os.path.samestat(os.stat(claim.plan.cwd), os.stat(".")):
            return None
    except OSError:
        pass
    return endings.CWD_CHANGED.verdict()


class Before:
    """The waits of one run. `tmux`: where it is, `queued` is called when it has to wait."""

    def __init__(  # noqa: PLR0913  (the parts that a wait joins)
        self,
        claim: Claim,
        *,
        recorder: Recorder,
        keys: Keys,
        signals: Signals,
        tmux: Mapping[str, Any],
        queued: Callable[[], None],
    ) -> None:
        self._claim = claim
        self._parts: dict[str, Any] = {
            "recorder": recorder,
            "keys": keys,
            "signals": signals,
            "queued": queued,
        }
        self._keys = keys
        self._signals = signals
        self._tmux = tmux
        self._stopped: Verdict | None = None
        self.slot: int | None = None

    def wait(self, folder: str, most: int) -> Verdict | None:
        """Wait for everything; return how the run ended if it did so before there was a child.

        `folder` holds the slots, `most` is how many there are.
        """
        if self._is_stopped():
            return self._stopped
        verdict = self._wait_for_others()
        if verdict is not None or self._stopped is not None:
            return verdict or self._stopped
        turn = Turn(slots=Queue(folder), most=most, **self._parts)
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
        after = waits.After([f"{runs}/{os.path.basename(other)}" for other in others], **self._parts)
        verdict = after.wait(self._is_stopped)
        if verdict is None and self._stopped is None:
            prompt = waits.write_prompt(claim.run_dir, claim.plan.task, after.outputs())
            os.close(claim.prompt)
            claim.prompt = prompt
        return verdict

    def _is_stopped(self) -> bool:
        """Say whether a stop came, by key or signal."""
        if self._stopped is None:
            cause = endings.STOPPED if self._keys.stop_wanted(time.monotonic()) else self._signalled()
            self._stopped = cause.verdict() if cause is not None else None
        return self._stopped is not None

    def _signalled(self) -> endings.Cause | None:
        caught = self._signals.caught()
        cause = next((cause for number, cause in CAUSES.items() if number in caught), None)
        return hang_up(self._tmux) if cause is endings.WINDOW_CLOSED else cause


class Turn:
    """The wait of one run. `slot` is kept until we leave, or close it."""

    def __init__(  # noqa: PLR0913  (the parts that a wait joins)
        self,
        *,
        slots: Queue,
        most: int,
        recorder: Recorder,
        keys: Keys,
        signals: Signals,
        queued: Callable[[], None],
    ) -> None:
        self._slots = slots
        self._most = most
        self._recorder = recorder
        self._keys = keys
        self._signals = signals
        self._queued = queued  # called when it has to wait
        self._position: int | None = None
        self.slot: int | None = None

    def wait(self, run_id: str, stopped: Callable[[], bool]) -> bool:
        """Wait for a slot; say whether there is one (else somebody stopped the run meanwhile)."""
        name = slots.ticket_name(time.time_ns(), run_id)
        ticket, begun = self._slots.draw(name), time.monotonic()
        try:
            while True:
                position = self._look(name)
                if position == 0:
                    self.slot = self._slots.take(self._most)
                if self.slot is not None:
                    return True
                waited_s = time.monotonic() - begun
                if waited_s >= slots.RUSH_S:
                    self._say(position)
                self._pause(slots.pause_s(position, waited_s))
                if stopped():
                    return False
        finally:
            self._slots.give_back(name, ticket)

    def _look(self, name: str) -> int:
        """Return how many wait before us, without the dead at the front."""
        older = slots.before(name, self._slots.tickets())
        while older and not self._slots.is_held(older[0]):
            older.pop(0)
        return len(older)

    def _say(self, position: int) -> None:
        if position == self._position:
            return
        self._position = position
        self._recorder.event(events.queued(position))
        self._recorder.hint(slots.waiting_words(position))
        self._recorder.title(slots.waiting_words(position))
        self._recorder.flush(time.monotonic(), last=True)
        self._queued()

    def _pause(self, limit_s: float) -> None:
        poll = select.poll()
        for handle in (self._signals.handle, self._keys.handle):
            if handle is not None:
                poll.register(handle, select.POLLIN)
        poll.poll(round(limit_s * 1000))
