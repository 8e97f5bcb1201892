"""Watch a batch child whose stdin stays open for messages, replies and answers while it works. Joins.

The child is done when it has settled and has handled every message. Then we close its stdin and give it the
usual grace to exit. While a child has an open question, its clocks pause.
"""

from __future__ import annotations

import os
import signal

from tmuxagents.records import NEVER
from tmuxagents.runs import events
from tmuxagents.runs.events import INBOX_ANSWER
from tmuxagents.runs.logs import Inbox
from tmuxagents.wrapper.watch import ChildWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, MutableMapping

    from tmuxagents.agents.base import Ask, Talker
    from tmuxagents.runs.events import InboxMessage
    from tmuxagents.wrapper.claim import Claim
    from tmuxagents.wrapper.guards import Guards
    from tmuxagents.wrapper.recorder import Recorder
    from tmuxagents.wrapper.watch import WatchParts


DENY = "deny"
CLOCK = "the clock"  # the source of the answer to a question that was overdue


class OpenQuestions:
    """The open questions of a child. A question without an answer within `limit_s` is overdue.

    `elsewhere` names the source of answers that do not come from us.
    """

    def __init__(self, recorder: Recorder, guards: Guards, *, limit_s: float, elsewhere: str) -> None:
        self._recorder = recorder
        self._guards = guards
        self._limit_s = limit_s
        self._elsewhere = elsewhere
        self._open: dict[str, tuple[Ask, float]] = {}  # recorded questions, and since when they are open

    def __bool__(self) -> bool:
        return bool(self._open)

    def overdue_at(self) -> float:
        """Return when the first question is overdue. One that is only on the agent's screen never is."""
        return min((at + self._limit_s for ask, at in self._open.values() if ask.id), default=NEVER)

    def take_overdue(self, now: float) -> list[str]:
        """Return the ids of overdue questions; each id is returned only once."""
        late = [ask for ask, at in self._open.values() if ask.id and now >= at + self._limit_s]
        self._open |= {ask.key: (ask, NEVER) for ask in late}
        return [ask.id for ask in late]

    def close(self, one: str, answer: str, by: str) -> Ask | None:
        """Record our answer to a question, or to the oldest if `one` is empty; None if it is not open."""
        ask, _ = self._open.pop(one or next(iter(self._open), ""), (None, 0.0))
        if ask is not None:
            self._recorder.event(events.input_given(ask.kind, ask=ask.id, answer=answer, by=by))
        return ask

    def note(
        self, asks: Iterable[Ask], now: float, given: MutableMapping[str, tuple[str, str]] | None = None
    ) -> None:
        """Record new questions, and those that are closed by now. `given`: their answers and sources."""
        open_now = {ask.key: ask for ask in asks}
        for key in [key for key in self._open if key not in open_now]:
            ask, _ = self._open.pop(key)
            answer, by = (given or {}).pop(ask.id, (None, self._elsewhere))
            self._recorder.event(events.input_given(ask.kind, ask=ask.id or None, answer=answer, by=by))
        for key, ask in open_now.items():
            if key not in self._open:
                self._open[key] = ask, now
                asked = events.needs_input(ask.kind, ask.text, ask=ask.id or None, options=ask.options)
                self._recorder.event(asked)
        if self._open:
            self._guards.pause(now)
        else:
            self._guards.resume(now)


LOOK_EVERY_S = 2.0  # between two looks into the inbox without a signal


class ChildInput:
    """Our end of a child's stdin. Writing never blocks: text that the pipe does not take now waits."""

    def __init__(self, handle: int) -> None:
        os.set_blocking(handle, False)
        self._handle: int | None = handle
        self._rest = b""
        self._closes = False

    @property
    def waiting(self) -> int | None:
        """Return the descriptor to wait on until more can be written; None if nothing waits."""
        return self._handle if self._rest else None

    @property
    def is_closed(self) -> bool:
        """Say whether nothing more can be written."""
        return self._handle is None or self._closes

    def write(self, text: bytes) -> None:
        """Write a text, now or as soon as the pipe takes it."""
        if not self.is_closed:
            self._rest += text
            self.flush()

    def flush(self) -> None:
        """Write the waiting text, as far as the pipe takes it now."""
        if self._handle is None:
            return
        try:
            while self._rest:
                self._rest = self._rest[os.write(self._handle, self._rest) :]
        except BlockingIOError:
            return
        except OSError:  # the child has closed its end
            self._rest = b""
        if self._closes:
            os.close(self._handle)
            self._handle = None

    def close(self) -> None:
        """Close the pipe, once all waiting text is written."""
        self._closes = True
        self.flush()


class DuplexWatch(ChildWatch):
    """Watches one child and talks to it. A question without an answer within `ask_limit_s` is denied."""

    def __init__(
        self, parts: WatchParts, talker: Talker, stdin: ChildInput, inbox: Inbox, *, ask_limit_s: float
    ) -> None:
        super().__init__(parts, talker)
        parts.console.signals.attend_to(signal.SIGUSR1)  # a message has come into the inbox
        self._talker = talker
        self._input = self._channel = stdin
        self._inbox = inbox
        self._unsaid: list[InboxMessage] = []  # messages that the child could not take yet
        self._questions = OpenQuestions(
            self._recorder, self._guards, limit_s=ask_limit_s, elsewhere="the child"
        )
        self._looked_at = 0.0
        self._streams.reply = self._input.write

    # --- what is there ---

    def _step_at(self) -> float:
        return min(super()._step_at(), self._looked_at + LOOK_EVERY_S, self._questions.overdue_at())

    def _note_settling(self, now: float) -> None:
        """Note after reading whether the child is done. One with open questions or unread messages is not."""
        self._note_asks(now)
        is_done = self._reader.settled and self._talker.is_idle and not self._unsaid
        if not is_done:
            self._settled_at = None
        elif self._settled_at is None:
            self._look(now)
            if not self._unsaid and self._talker.is_idle:
                self._settled_at = now
                self._input.close()

    def _note_asks(self, now: float) -> None:
        """Record new questions, and those that were closed without our answer."""
        self._questions.note(self._talker.asks, now)
        self._guarded_until = self._guards.deadline()

    # --- what we do about it ---

    def _on_signals(self, caught: frozenset[int], now: float, *, ended: bool) -> None:
        if not ended and signal.SIGUSR1 in caught:
            self._look(now)

    def _decide(self, now: float) -> None:
        if now >= self._looked_at + LOOK_EVERY_S:
            self._look(now)
        for one in self._questions.take_overdue(now):
            self._answer(one, DENY, CLOCK, now)
        super()._decide(now)

    def _look(self, now: float) -> None:
        """Pass on new messages from the inbox, in their order."""
        self._looked_at = now
        if self._input.is_closed or self._ladder.begun:
            return
        fresh = self._inbox.fresh()
        for message in fresh:
            if message.kind == INBOX_ANSWER:
                self._answer(message.ask or "", message.text or "", message.by or "a parent", now)
        self._unsaid += [message for message in fresh if message.kind != INBOX_ANSWER]
        while self._unsaid:
            message = self._unsaid[0]
            words = self._talker.say(message)
            if words is None:
                return
            self._unsaid.pop(0)
            self._input.write(words)
            if not self._talker.acknowledges:
                self._recorder.event(events.message_sent(message.inbox_id, message.kind, message.text))
                self._settled_at = None

    def _answer(self, one: str, answer: str, by: str, now: float) -> None:
        """Answer a question, unless it is closed by now."""
        ask = self._questions.close(one, answer, by)
        if ask is None:
            return
        reading = self._talker.answer(ask.id, answer, by)
        for event in reading.events:
            self._recorder.event(event)
        self._input.write(reading.reply)
        self._note_asks(now)


class Talk:
    """The conversation with one child, set up before the child starts."""

    def __init__(self, talker: Talker, claim: Claim, *, ask_limit_s: float) -> None:
        self.talker = talker
        self._run_dir = claim.run_dir
        with open(claim.prompt, "rb", closefd=False) as prompt:
            self._prompt = prompt.read().decode("utf-8", "replace")
        self._ask_limit_s = ask_limit_s
        self._stdin = -1

    def pipe(self) -> int:
        """Make the pipe of the child's stdin; return the child's end."""
        theirs, self._stdin = os.pipe2(os.O_CLOEXEC)
        return theirs

    def watch(self, parts: WatchParts) -> DuplexWatch:
        """Send the prompt, and return the watch over the child."""
        stdin = ChildInput(self._stdin)
        stdin.write(self.talker.begin(self._prompt))
        return DuplexWatch(parts, self.talker, stdin, Inbox(self._run_dir), ask_limit_s=self._ask_limit_s)
