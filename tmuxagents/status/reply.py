"""The reply of a child to one message, found in the run's events. Pure.

The events say when a message was taken, which may be long before the child reads it: it reads steering
messages one by one after a turn, and follow-ups when it is done. So the order of turns decides to which
message a text replies.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.runs.events import Event

_FOLLOW_UP, _STOP = "followUp", "stop"


class ReplyFinder:
    """Folds events. `number`: of the message, given as soon as it is known."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.text: str | None = None
        self.is_taken = False
        self.is_over = False  # no later text belongs to the reply
        self.is_finished = False
        self._is_idle = False
        self._steering: list[int | None] = []  # taken and not read yet; None is a person's
        self._following: list[int | None] = []
        self._read: list[int | None] = []  # what the child is answering now

    def take(self, event: Event) -> None:
        """Fold one event."""
        if self.is_over:
            return
        if event.type in ("message_sent", "human_input"):
            self._queue(event.fields.get("inboxId"), event.fields.get("kind"))
        elif event.type == "assistant_text":
            if self.is_taken and (self.number in self._read or self.text is None):
                self.text = event.fields.get("text") or self.text
        elif event.type == "turn_end":
            self._end_turn(finished=event.fields.get("stopReason") == "stop")
        elif event.type == "settled":
            self.is_over, self._is_idle = self.is_taken, True
            self._steering, self._following, self._read = [], [], []

    def _queue(self, number: int | None, kind: object) -> None:
        if kind == _STOP:
            return
        self.is_taken = self.is_taken or (number is not None and number == self.number)
        if self._is_idle:
            self._read.append(number)
        elif kind == _FOLLOW_UP:
            self._following.append(number)
        else:
            self._steering.append(number)
        self._is_idle = False

    def _end_turn(self, *, finished: bool) -> None:
        if self.is_taken:
            self.is_finished = finished
            self.is_over = finished and self.number in self._read
        if finished:
            self._read = []
        queue = self._steering or (self._following if finished else [])
        if queue:
            self._read.append(queue.pop(0))
