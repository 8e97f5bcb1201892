"""Every tool's way in and out: its caller, the progress of its children, and its answer. Joins."""

from __future__ import annotations

import math
import os
import time
from typing import NamedTuple

from tmuxagents import records
from tmuxagents.errors import BadRequest, NoSuchRun
from tmuxagents.launch.launch import Launcher
from tmuxagents.registry import lookup
from tmuxagents.runs.endings import Standing
from tmuxagents.runs.inspect import Follower, RunView
from tmuxagents.runs.lifecycle import RunState
from tmuxagents.tools import answers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol, Self

    from tmuxagents.launch.call import Call, Task
    from tmuxagents.runs.events import Event

    class Interrupts(Protocol):
        """Reports requests to cancel a call, while its context is entered."""

        @property
        def handle(self) -> int:
            """The descriptor that becomes readable when the call is to be cancelled."""

        def came(self) -> bool:
            """Say whether the call is to be cancelled."""

        def __enter__(self) -> Self: ...

        def __exit__(self, *_: object) -> None: ...


DEBOUNCE_S = 0.05  # changes within this time are reported together
LEAST_S = 0.1  # the least time between two reports


class Answer(NamedTuple):
    """The answer of a tool."""

    text: str
    details: Mapping[str, Any]
    warnings: Sequence[str] = ()

    def document(self, *, whole: bool) -> dict[str, Any]:
        """Return the answer as JSON, with whole documents of runs or brief ones."""
        return answers.result(self.text, self.details if whole else answers.compact(self.details))


class Door(NamedTuple):
    """The caller of a tool, its folder (None if that was removed), and the receiver of progress documents.

    Without the receiver, `hear`, there is no progress.
    """

    caller: lookup.Caller
    environment: Mapping[str, str]
    interrupts: Interrupts
    folder: str | None
    socket: str | None = None
    hear: Callable[[dict[str, Any]], None] | None = None

    def launcher(self) -> Launcher:
        """Return a launcher for this caller."""
        umask = os.umask(0o077)  # files that we make from here on are private
        return Launcher(self.caller, self.environment, umask=umask, socket=self.socket)

    def find(self, reference: str) -> str:
        """Return the directory of a run; refuse an unknown one with the message of the tools."""
        try:
            return lookup.find_run(reference, self.caller)
        except NoSuchRun as unknown:
            if unknown.kind != "unknown-run":
                raise
            message = answers.not_found(reference)
            raise NoSuchRun(
                message, kind=unknown.kind, hint=unknown.hint, field="runId", candidates=unknown.candidates
            ) from unknown

    def carry_out(
        self, call: Call, children: Sequence[Child], describe: Callable[[], dict[str, Any]]
    ) -> None:
        """Carry out a call. Meanwhile report news of its children, but not too often, by `describe`."""
        pace = Pace()

        def tell() -> float:
            """Report news if it is time to; return the (monotonic) time of the next round."""
            if self.hear is None:
                return math.inf
            now = time.monotonic()
            if sum(child.look() for child in children) > 0:  # not any(), which would skip some
                pace.note(now)
            if pace.is_due(now):
                self.hear(describe())
            return now + DEBOUNCE_S

        with self.interrupts as interrupts:
            tell()
            call.carry_out(tell, interrupts.handle, interrupts.came)
        news = sum(child.settle() for child in children) > 0
        if self.hear is not None and (news or pace.waits):
            self.hear(describe())


def no_cwd() -> BadRequest:
    """Return the refusal of a call without `cwd` whose caller's own folder was removed."""
    message = "The caller's working directory was removed."
    return BadRequest(message, kind="bad-cwd", hint="give cwd", field="cwd")


class Child:
    """One child of a call, as its run was last read. Until its directory exists, the child is queued."""

    def __init__(self, task: Task, take: Callable[[Event], object] | None = None) -> None:
        self._task = task
        self._take = take
        self._follower: Follower | None = None
        self.run = RunView(
            run_dir=task.run_dir,
            plan=task.prepared.plan,
            wrapper=None,
            machine=None,
            result=None,
            state=RunState(),
            activity=None,
            standing=Standing(records.QUEUED),
            mark=None,
            checkpoint=None,
        )

    def look(self) -> bool:
        """Read the run again if it has news; say whether it has changed."""
        before = self.run
        try:
            if self._follower is None:
                if not os.path.isdir(self._task.run_dir):
                    return False
                self._follower = Follower(self._task.run_dir, self._take)
            elif not (self._follower.has_news() or (self._task.ended and not self.run.ended)):
                return False  # a wrapper that dies changes no file: only the call may know of that end
            self.run = self._follower.look()
        except NoSuchRun:  # the directory was removed; the wrapper will make it again
            self._follower = None
        return _stamp(before) != _stamp(self.run)

    def settle(self) -> bool:
        """Read the run for the last time, with or without news; say whether it has changed."""
        before = self.run
        self.look()
        if self._follower is not None:
            self.run = self._follower.look()
        return _stamp(before) != _stamp(self.run)

    def document(self) -> dict[str, Any]:
        """Return the run as a document."""
        return self.run.document(time.time())


def _stamp(run: RunView) -> tuple[Any, ...]:
    return run.standing.status, run.doing, run.state.seq


class Pace:
    """Decides when to report changes, by a monotonic clock."""

    def __init__(self) -> None:
        self._reported_at: float | None = None
        self._since: float | None = None  # the first unreported change

    @property
    def waits(self) -> bool:
        """Say whether there is an unreported change."""
        return self._since is not None

    def note(self, now: float) -> None:
        """Note a change."""
        if self._since is None:
            self._since = now

    def is_due(self, now: float) -> bool:
        """Say whether to report now. If so, the changes count as reported."""
        if self._reported_at is not None and (
            self._since is None or now < max(self._since + DEBOUNCE_S, self._reported_at + LEAST_S)
        ):
            return False
        self._reported_at, self._since = now, None
        return True
