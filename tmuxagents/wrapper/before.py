"""What comes before there is a child: the runs that this one comes after, then a slot. A stop ends it."""

from __future__ import annotations

import os
import time

from tmuxagents.core import endings
from tmuxagents.edges.slots import Queue
from tmuxagents.wrapper.signals import CAUSES, hang_up
from tmuxagents.wrapper.turn import Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tmuxagents.records import Verdict
    from tmuxagents.wrapper.claim import Claim
    from tmuxagents.wrapper.keys import Keys
    from tmuxagents.wrapper.recorder import Recorder
    from tmuxagents.wrapper.signals import Signals


def enter_cwd(claim: Claim) -> Verdict | None:
    """Go where the child is to work, if the launcher saw that very folder; else return how the run ended."""
    try:
        os.chdir(claim.meta["cwd"])
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
        if os.path.samestat(os.stat(claim.meta["cwd"]), os.stat(".")):
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
        has_one = turn.wait(self._claim.meta["runId"], self._is_stopped)
        self.slot = turn.slot
        return None if has_one else self._stopped

    def _wait_for_others(self) -> Verdict | None:
        claim = self._claim
        others = claim.meta.get("after")
        if not isinstance(others, list) or not others:
            return None
        from tmuxagents.wrapper import after as waits  # noqa: PLC0415  (few runs wait for others)

        runs = os.path.dirname(claim.run_dir)
        after = waits.After([f"{runs}/{os.path.basename(str(other))}" for other in others], **self._parts)
        verdict = after.wait(self._is_stopped)
        if verdict is None and self._stopped is None:
            prompt = waits.write_prompt(claim.run_dir, claim.meta["task"], after.outputs())
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
