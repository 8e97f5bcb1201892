"""A live child in its window: it gets the terminal, a bridge tells of it, and at last both are ours again."""

from __future__ import annotations

import os
import signal

from tmuxagents.core import endings
from tmuxagents.edges import process
from tmuxagents.edges.bridge import Bridge
from tmuxagents.edges.inbox import Inbox
from tmuxagents.wrapper.live_talk import Talk
from tmuxagents.wrapper.live_watch import LiveWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tmuxagents.agents.base import Live as LiveAgent
    from tmuxagents.core.endings import Cause
    from tmuxagents.core.lifecycle import RunState
    from tmuxagents.edges.terminal import Terminal
    from tmuxagents.records import Exit, Verdict
    from tmuxagents.wrapper.signals import Signals

_NO_TERMINAL = endings.misconfigured("A live child needs a terminal, and this run has none.")
_SHOW_LIMIT_S = 0.5


def _silence() -> None:
    """Tell nobody."""


class Live:
    """What is different about a live run, from before its child starts until after it has ended."""

    def __init__(
        self,
        run_dir: str,
        meta: Mapping[str, Any],
        agent: LiveAgent,
        *,
        terminal: Terminal,
    ) -> None:
        self._run_dir = run_dir
        self._meta = meta
        self._agent = agent
        self._terminal = terminal
        self.slot: int | None = None  # given back when it has settled in a person's hands
        self.ring: Callable[[], None] = _silence  # called then
        self._bridge = Bridge(run_dir)
        self._reader = agent.reader()
        self.variables = {agent.folder_variable: run_dir}

    def borrow(self) -> bool:
        """Let the child have the terminal; say whether there is one."""
        return os.isatty(0) and os.isatty(1) and self._terminal.lend(_SHOW_LIMIT_S)

    def refusal(self) -> Verdict:
        """Return the ending of a run that has no terminal."""
        return _NO_TERMINAL.verdict()

    def arguments(self, meta: Mapping[str, Any], run_dir: str) -> list[str]:
        """Return what stands behind the program on the child's command line."""
        return self._agent.arguments(meta, run_dir)

    def pipe(self) -> tuple[int, int]:
        """Return where the child is heard, and a descriptor that is closed once it has started."""
        return self._bridge.events, os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def started(self, child: int) -> None:
        """Send the keys of the terminal to the child from now on; it may have stopped for want of them."""
        self._terminal.give_to(child)
        process.send_group(child, signal.SIGCONT)

    def watch(self, *, signals: Signals, begun_at: float, **parts: Any) -> LiveWatch:
        """Return the watch over the child."""
        signals.attend_to(signal.SIGUSR1)  # somebody has put something into the inbox
        has_task = self._meta.get("reopens") is not True
        talk = Talk(self._bridge, Inbox(self._run_dir), has_task=has_task)
        own: dict[str, Any] = {
            "talk": talk,
            "reader": self._reader,
            "has_task": has_task,
            "begun_at": begun_at,
        }
        return LiveWatch(**own, rests=self._rests, signals=signals, **parts)

    def _rests(self) -> None:
        """Give the slot back, and tell who may wait for it: a person's child has settled."""
        slot, self.slot = self.slot, None
        if slot is not None:
            os.close(slot)
        self.ring()

    def take_back(self) -> None:
        """Have the terminal again."""
        self._bridge.forget_names()
        self._terminal.take_back()

    def verdict(
        self,
        state: RunState,
        exit: Exit,  # noqa: A002  (the word of the contract)
        *,
        cause: Cause | None,
        lingered: bool,
    ) -> Verdict:
        """Say how the run ended."""
        if cause is None and not lingered and self._terminal.is_hung_up:
            cause = endings.WINDOW_CLOSED  # its end was quicker than the word of it
        person = self._reader.typed or self._reader.left
        return endings.live_verdict(state, exit, cause=cause, lingered=lingered, person=person)
