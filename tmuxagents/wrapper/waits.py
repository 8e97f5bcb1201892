"""Wait before a child starts: first for earlier runs, then for a slot. A stop ends the wait. Joins."""

from __future__ import annotations

import errno
import os
import time

from tmuxagents.runs import directory, endings, events, slots, writing
from tmuxagents.runs.slots import Queue
from tmuxagents.system import process
from tmuxagents.wrapper.signals import CAUSES, hang_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tmuxagents.records import Verdict
    from tmuxagents.wrapper.claim import Claim
    from tmuxagents.wrapper.signals import Console

_LOOK_S = 1.0  # between two looks at another run, if the end of its wrapper wakes us
_SOON_S = 0.05  # the same, if nothing wakes us


def enter_cwd(claim: Claim) -> Verdict | None:
    """Enter the child's working directory if it is the one that the launcher saw; else return the ending."""
    try:
        os.chdir(claim.plan.cwd)
        entered = os.stat(".")
    except OSError:
        entered = None
    seen = claim.handed.working_directory if claim.handed else None
    if entered is None or (seen is not None and [entered.st_dev, entered.st_ino] != seen):
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
    """The waits of one run. `queued` is called when the run has to wait.

    `slot` is the descriptor of the run's slot, which is taken while it is open.
    """

    def __init__(self, claim: Claim, console: Console, queued: Callable[[], None]) -> None:
        self._claim = claim
        self._console = console
        self._queued = queued
        self._stopped: Verdict | None = None
        self.slot: int | None = None

    def wait(self, folder: str, most: int) -> Verdict | None:
        """Wait until a child may start; return the ending if the run ends before that.

        `folder` holds the slots, and `most` is their number.
        """
        if self._is_stopped():
            return self._stopped
        verdict = self._wait_for_others()
        if verdict is not None:
            return verdict
        if self._claim.handed is not None and self._claim.handed.queued:
            return None  # the job has waited in Slurm's queue
        return self._wait_for_slot(Queue(folder), most)

    def _wait_for_others(self) -> Verdict | None:
        """Wait for the runs before this one, then put their answers into the prompt."""
        plan = self._claim.plan
        if not plan.after:
            return None
        from tmuxagents.launch import predecessors  # noqa: PLC0415  (few runs wait for others)
        from tmuxagents.runs import prompt  # noqa: PLC0415  (few runs wait for others)

        runs = os.path.dirname(self._claim.run_dir)
        run_dirs = [f"{runs}/{os.path.basename(other)}" for other in plan.after]
        verdict = self._wait_for_ends(run_dirs)
        if verdict is not None:
            return verdict
        written = directory.read_bytes(f"{self._claim.run_dir}/{directory.PROMPT}")
        if written is None:
            raise OSError(errno.EINVAL, "no file that can be read", directory.PROMPT)
        outputs = [predecessors.output(run_dir) for run_dir in run_dirs]
        text = prompt.with_outputs(written.decode("utf-8", "surrogateescape"), plan.task, outputs)
        writing.replace(self._claim.run_dir, directory.PROMPT, text.encode("utf-8", "surrogateescape"))
        self._claim.replace_prompt(directory.open_prompt(self._claim.run_dir))
        return None

    def _wait_for_ends(self, run_dirs: Sequence[str]) -> Verdict | None:
        """Wait until all of these runs have completed; return the ending if this run cannot start then."""
        from tmuxagents.launch import predecessors  # noqa: PLC0415  (few runs wait for others)

        waiting_for: str | None = None
        for run_dir in run_dirs:
            run, verdict = predecessors.judge(run_dir)
            while run is not None:
                if run.run_id != waiting_for:
                    waiting_for = run.run_id
                    self._announce_wait(slots.following_words([waiting_for]))
                handle = process.open_wrapper(directory.identity_of(run.wrapper))
                try:  # a moment, or until its wrapper ends
                    self._console.wait(_LOOK_S if handle is not None else _SOON_S, handle)
                finally:
                    if handle is not None:
                        os.close(handle)
                if self._is_stopped():
                    return self._stopped
                run, verdict = predecessors.judge(run_dir)
            if verdict is not None:
                return verdict
        return None

    def _wait_for_slot(self, queue: Queue, most: int) -> Verdict | None:
        name = slots.ticket_name(time.time_ns(), self._claim.plan.run_id)
        ticket, begun = queue.draw(name), time.monotonic()
        shown: int | None = None
        try:
            while True:
                older = slots.before(name, queue.tickets())
                while older and not queue.is_held(older[0]):
                    older.pop(0)  # dead ones at the front do not count
                position = len(older)
                if position == 0:
                    self.slot = queue.take(most)
                if self.slot is not None:
                    return None
                waited_s = time.monotonic() - begun
                if waited_s >= slots.RUSH_S and position != shown:
                    shown = position
                    self._console.recorder.event(events.queued(position))
                    self._announce_wait(slots.waiting_words(position))
                self._console.wait(slots.pause_s(position, waited_s))
                if self._is_stopped():
                    return self._stopped
        finally:
            queue.give_back(name, ticket)

    def _announce_wait(self, words: str) -> None:
        """Announce what the run waits for, in its window and to its launcher."""
        self._console.announce(words)
        self._queued()

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
