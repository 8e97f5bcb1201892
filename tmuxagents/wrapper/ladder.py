"""How a child is ended: TERM to its group, TERM to all that is left, KILL. Decided once, not taken back.

And how what it left is ended after it.
"""

from __future__ import annotations

from tmuxagents import tree
from tmuxagents.core import events
from tmuxagents.core.endings import NEVER
from tmuxagents.edges import process
from tmuxagents.edges.bare import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tmuxagents.core.endings import Cause
    from tmuxagents.tree import Scope
    from tmuxagents.wrapper.recorder import Recorder

KILL_AFTER_S = 5.0
GIVE_UP_AFTER_S = 9.0  # a child that we may not signal, or that the kernel will not let go
# Tools in sessions of their own get their TERM early enough to have had their time when the KILL comes.
ASK_REST_AFTER_S = KILL_AFTER_S - tree.TERM_S


class Ladder:
    """The steps down for one child. `cause` is None while it ends only because it lingers."""

    __slots__ = ("_child", "_scope", "_steps", "begun", "cause", "hopeless", "killed")

    def __init__(self, child: int, scope: Scope) -> None:
        self._child = child
        self._scope = scope
        self._steps: list[tuple[float, Callable[[], None]]] = []
        self.begun = False  # the child is being ended
        self.cause: Cause | None = None
        self.killed = False
        self.hopeless = False

    def begin(self, cause: Cause | None, now: float) -> None:
        """Begin to end the child; the first cause stays."""
        if self.begun:
            return
        self.begun = True
        self.cause = cause
        self._steps = [
            (now + ASK_REST_AFTER_S, self._ask_rest),
            (now + KILL_AFTER_S, self._kill),
            (now + GIVE_UP_AFTER_S, self._give_up),
        ]
        process.send_group(self._child, signal.SIGTERM, signal.SIGCONT)

    def next_at(self) -> float:
        """Return when the next step is due."""
        return self._steps[0][0] if self._steps else NEVER

    def step(self, now: float) -> None:
        """Take the steps that are due."""
        while self._steps and now >= self._steps[0][0]:
            self._steps.pop(0)[1]()

    def _ask_rest(self) -> None:
        tree.ask(self._scope)

    def _kill(self) -> None:
        self.killed = True
        process.send_group(self._child, signal.SIGKILL)

    def _give_up(self) -> None:
        self.hopeless = True


def end_left(scope: Scope, recorder: Recorder, *, hard: bool) -> None:
    """End what the child left, and tell of what lives on. Where nobody can look, the ending stands."""
    try:
        left = tree.end(scope, hard=hard)
    except OSError as error:
        recorder.hint(f"What the child left running could not be looked for ({error.strerror}).")
        return
    for spared in left:
        recorder.event(events.left_behind(pid=spared.pid, comm=spared.comm, why=spared.why))
