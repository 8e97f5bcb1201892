"""What a wrapper says to the pi in its window: the task, messages from the inbox, that it may leave."""

from __future__ import annotations

from tmuxagents.core import events
from tmuxagents.edges.inbox import STOP, Inbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.core.events import Event
    from tmuxagents.edges.bridge import Bridge
    from tmuxagents.edges.inbox import Message

TASK = 0  # the number under which the task is taken
_TAKEN_WITHIN_S = 11.0  # a second more than the bridge waits


class Talk:
    """The orders to one bridge, and what of them has been taken."""

    def __init__(self, bridge: Bridge, inbox: Inbox, *, has_task: bool) -> None:
        self._bridge = bridge
        self._inbox = inbox
        self._has_task = has_task
        self._is_begun = False
        self._ordered: dict[int, tuple[Message, float]] = {}  # number -> message, until when it is waited for

    @property
    def waiting(self) -> int | None:
        """Return the descriptor to wait on until more can be said."""
        return self._bridge.waiting

    def go_on(self) -> None:
        """Say what could not be said yet."""
        self._bridge.flush()

    def begin(self, now: float) -> None:
        """Say the first words: the bridge is there."""
        if self._is_begun:
            return
        self._is_begun = True
        self._bridge.forget_names()
        if self._has_task:
            self._bridge.order({"order": "task"})
        self.look(now)

    def look(self, now: float) -> None:
        """Pass on what came into the inbox."""
        if (
            not self._is_begun or self._bridge.waiting is not None
        ):  # what it cannot take yet stays in the inbox
            return
        for message in self._inbox.fresh():
            self._ordered[message.inbox_id] = message, now + _TAKEN_WITHIN_S
            what = {"inboxId": message.inbox_id, "kind": message.kind, "text": message.text}
            self._bridge.order({"order": "abort" if message.kind == STOP else "say", **what})

    def taken(self, number: int) -> Event | None:
        """Take note of what has been taken; return what there is to tell."""
        message, _ = self._ordered.pop(number, (None, 0.0))
        return None if message is None else events.message_sent(number, message.kind, message.text)

    def busy_until(self, now: float) -> float | None:
        """Return until when a message may still be taken; None if none is under way."""
        return max((until for _, until in self._ordered.values() if until > now), default=None)

    def let_leave(self, settlings: int) -> None:
        """Let the child leave, if it still is as it was when it settled for the so manieth time."""
        self._bridge.order({"order": "leave", "settlings": settlings})
