"""Give a live child the terminal of its window, and talk to it over a bridge. Joins.

The wrapper and the bridge talk through two FIFOs, one for events and one for orders. They are made before the
child. Their names are removed once the child has opened them, so that no other process finds them. We hold
both ends of each FIFO, so that each has a reader and a writer while we live.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys

from tmuxagents.agents.base import FOLDER_VARIABLE
from tmuxagents.runs import endings, events
from tmuxagents.runs.directory import LIVE_EVENTS, LIVE_FILES, LIVE_ORDERS
from tmuxagents.runs.events import INBOX_ANSWER, STOP
from tmuxagents.runs.logs import Inbox
from tmuxagents.system import process, removal
from tmuxagents.text import jsonline
from tmuxagents.wrapper.live_watch import LiveWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tmuxagents.agents.base import LiveAgent
    from tmuxagents.records import Exit, Plan, Verdict
    from tmuxagents.runs.endings import Cause
    from tmuxagents.runs.events import Event, InboxMessage
    from tmuxagents.runs.lifecycle import RunState
    from tmuxagents.wrapper.claim import Claim
    from tmuxagents.wrapper.terminal import Terminal
    from tmuxagents.wrapper.watch import WatchParts

_NO_TERMINAL = endings.misconfigured("A live child needs a terminal, and this run has none.")
_SHOW_LIMIT_S = 0.5


class Live:
    """The wrapper's work for a live run, from before the child's start until after its end.

    When the child settles in a person's hands, `slot` is given back and `ring` is called.
    """

    def __init__(  # noqa: PLR0913  (the parts of a run that a live one needs)
        self,
        claim: Claim,
        agent: LiveAgent,
        terminal: Terminal,
        *,
        slot: int | None,
        ring: Callable[[], None],
        ask_limit_s: float,
    ) -> None:
        self._agent = agent
        self._terminal = terminal
        self._slot = slot
        self._ring = ring
        self._bridge = Bridge(claim.run_dir)
        has_task = not claim.plan.reopens
        inbox = Inbox(claim.run_dir)
        self._talk = BridgeTalk(self._bridge, inbox, has_task=has_task, ask_limit_s=ask_limit_s)
        self._reader = agent.reader(self._talk.taken)
        self._files = f"{claim.run_dir}/{LIVE_FILES}"
        self.variables = {FOLDER_VARIABLE: claim.run_dir}

    def borrow(self) -> bool:
        """Lend the terminal to the child; say whether there is one."""
        return os.isatty(0) and os.isatty(1) and self._terminal.lend(_SHOW_LIMIT_S)

    def refusal(self) -> Verdict:
        """Return the ending of a run that has no terminal."""
        return _NO_TERMINAL.verdict()

    def arguments(self, plan: Plan, run_dir: str) -> list[str]:
        """Return the arguments of the child's command line."""
        return self._agent.arguments(plan, run_dir)

    def bridged(self, command: list[str]) -> list[str]:
        """Return the command line to start: the agent's own, behind our bridge program if it needs one."""
        bridge = self._agent.bridge
        return command if bridge is None else [sys.executable, "-I", "-S", bridge, *command]

    def pipe(self) -> tuple[int, int]:
        """Return the descriptor from which we read events, and one to close once the child has started."""
        return self._bridge.events, os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def started(self, child: int) -> None:
        """Send the terminal's keys to the child; continue it, since it may have stopped without them."""
        self._terminal.give_to(child)
        process.send_group(child, signal.SIGCONT)

    def watch(self, parts: WatchParts, *, begun_at: float) -> LiveWatch:
        """Return the watch over the child."""
        parts.console.signals.attend_to(signal.SIGUSR1)  # a message has come into the inbox
        return LiveWatch(parts, self._reader, self._talk, rests=self._rests, begun_at=begun_at)

    def _rests(self) -> None:
        """Give the slot back and ring the bell: the child has settled in a person's hands."""
        slot, self._slot = self._slot, None
        if slot is not None:
            os.close(slot)
        self._ring()

    def take_back(self) -> None:
        """Take the terminal back."""
        self._bridge.forget_names()
        self._terminal.take_back()

    def remove_files(self) -> None:
        """Remove the files that a killed bridge program has left. Call this after the agent has ended."""
        with contextlib.suppress(OSError):
            removal.remove(self._files)

    def verdict(
        self,
        state: RunState,
        exit: Exit,  # noqa: A002  (the word of the contract)
        *,
        cause: Cause | None,
        lingered: bool,
    ) -> Verdict:
        """Return how the run ended."""
        if cause is None and not lingered and self._terminal.is_hung_up:
            cause = endings.WINDOW_CLOSED  # the child ended before our own SIGHUP came
        person = self._reader.typed or self._reader.has_left
        return endings.live_verdict(state, exit, cause=cause, lingered=lingered, person=person)


_TAKEN_WITHIN_S = 11.0  # a second longer than the bridge waits


class BridgeTalk:
    """The orders to a live child, and the messages among them that it has not taken yet."""

    def __init__(self, bridge: Bridge, inbox: Inbox, *, has_task: bool, ask_limit_s: float) -> None:
        self.bridge = bridge
        self._inbox = inbox
        self.has_task = has_task
        self.ask_limit_s = ask_limit_s  # after this a question is denied, unless a person has the child
        self._is_begun = False
        self._answered: set[str] = set()  # the ids of questions
        # number -> message, and until when we wait for the child to take it
        self._ordered: dict[int, tuple[InboxMessage, float]] = {}

    def begin(self, now: float) -> None:
        """Give the first orders, now that the bridge is there."""
        if self._is_begun:
            return
        self._is_begun = True
        self.bridge.forget_names()
        if self.has_task:
            self.bridge.order({"order": "task"})
        self.look(now)

    def look(self, now: float) -> None:
        """Pass on new messages from the inbox."""
        if not self._is_begun or self.bridge.waiting is not None:
            return  # the messages stay in the inbox until the child can take them
        for message in self._inbox.fresh():
            if message.kind == INBOX_ANSWER:
                self.answer(message.ask or "", message.text or "", message.by or "a parent")
                continue
            self._ordered[message.inbox_id] = message, now + _TAKEN_WITHIN_S
            what = {"inboxId": message.inbox_id, "kind": message.kind, "text": message.text}
            self.bridge.order({"order": "abort" if message.kind == STOP else "say", **what})

    def answer(self, ask: str, answer: str, by: str) -> None:
        """Pass on an answer to a question, once."""
        if ask not in self._answered:
            self._answered.add(ask)
            self.bridge.order({"order": "answer", "ask": ask, "answer": answer, "by": by})

    def taken(self, number: int) -> Event | None:
        """Record that the child has taken a message; return the event, None if no such message was sent."""
        message, _ = self._ordered.pop(number, (None, 0.0))
        return None if message is None else events.message_sent(number, message.kind, message.text)

    def is_busy(self, now: float) -> bool:
        """Say whether the child may still take a message that is under way."""
        return any(until > now for _, until in self._ordered.values())

    def let_leave(self, settlings: int) -> None:
        """Let the child exit, unless it has done more work since its `settlings`-th settling."""
        self.bridge.order({"order": "leave", "settlings": settlings})


_SIZE = 256 * 1024


class Bridge:
    """The wrapper's ends of the two FIFOs."""

    __slots__ = ("_orders", "_run_dir", "_waiting", "events")

    def __init__(self, run_dir: str) -> None:
        self._run_dir = run_dir
        self._waiting = b""
        self.events = self._make(LIVE_EVENTS)
        self._orders = self._make(LIVE_ORDERS)

    def _make(self, name: str) -> int:
        path = f"{self._run_dir}/{name}"
        os.mkfifo(path, 0o600)
        handle = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with contextlib.suppress(OSError):  # an unprivileged user has a limit for all pipes together
            fcntl.fcntl(handle, fcntl.F_SETPIPE_SZ, _SIZE)
        return handle

    @property
    def waiting(self) -> int | None:
        """Return the descriptor to wait on until more orders can be given; None if none wait."""
        return self._orders if self._waiting else None

    def order(self, order: Mapping[str, Any]) -> None:
        """Give an order. This never blocks: what the FIFO does not take now waits."""
        self._waiting += jsonline.encode(order)
        self.flush()

    def flush(self) -> None:
        """Write the waiting orders, as far as the FIFO takes them now."""
        with contextlib.suppress(BlockingIOError):
            while self._waiting:
                self._waiting = self._waiting[os.write(self._orders, self._waiting) :]

    def forget_names(self) -> None:
        """Remove the names of the FIFOs, once the child has opened both."""
        for name in (LIVE_EVENTS, LIVE_ORDERS):
            with contextlib.suppress(OSError):
                os.unlink(f"{self._run_dir}/{name}")
