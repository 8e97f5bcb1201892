"""Messages to a child while it works: their kinds, and one of them as the inbox holds it. Pure."""

from __future__ import annotations

STEER, FOLLOW_UP, STOP = "steer", "followUp", "stop"
ANSWER = "answer"  # to a question of the child
KINDS = (STEER, FOLLOW_UP, STOP, ANSWER)


class InboxMessage:
    """One message. `text` is None if the kind says it all; an answer has its question and who gave it."""

    __slots__ = ("ask", "by", "inbox_id", "kind", "text")

    def __init__(
        self, inbox_id: int, kind: str, text: str | None, *, ask: str | None = None, by: str | None = None
    ) -> None:
        self.inbox_id = inbox_id
        self.kind = kind
        self.text = text
        self.ask = ask
        self.by = by
