"""Watch a live child. Joins.

Until a person types, timeouts and loop rules can end the child. From then on, the person decides. Only this
module decides when a settled live child is made to exit, and whether a child waits for a person.
"""

from __future__ import annotations

import signal

from tmuxagents.agents.base import Ask
from tmuxagents.records import NEVER
from tmuxagents.runs import events, lifecycle
from tmuxagents.system import process
from tmuxagents.wrapper.duplex import CLOCK, DENY, LOOK_EVERY_S, OpenQuestions
from tmuxagents.wrapper.signals import CAUSES
from tmuxagents.wrapper.watch import ChildWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tmuxagents.agents.brand import LiveReader
    from tmuxagents.runs.endings import Cause
    from tmuxagents.wrapper.live import BridgeTalk
    from tmuxagents.wrapper.watch import WatchParts

BEGIN_WITHIN_S = 10.0  # a child that has not begun by then waits for a person: a login, a key, an answer
LEAVE_WITHIN_S = 5.0
_NOT_BEGUN = Ask("", "start", "It has not begun: it may wait for a login, a key or an answer.")
_PERSON = "a person on its screen"


class LiveWatch(ChildWatch):
    """Watches one live child from its start to its end.

    `rests` is called, perhaps several times, once the child has settled in a person's hands.
    """

    def __init__(
        self,
        parts: WatchParts,
        reader: LiveReader,
        talk: BridgeTalk,
        *,
        rests: Callable[[], None],
        begun_at: float,
    ) -> None:
        super().__init__(parts, reader)
        self._live = reader
        self._talk = talk
        self._channel = talk.bridge
        self._rests = rests
        self._begin_by: float | None = begun_at + BEGIN_WITHIN_S if talk.has_task else None
        self._is_opened_for_them = not talk.has_task
        self._looked_at = begun_at
        self._questions = OpenQuestions(
            self._recorder, self._guards, limit_s=talk.ask_limit_s, elsewhere=_PERSON
        )
        self._is_theirs = False
        self._left_at: float | None = None

    # --- what is there ---

    def _next_at(self) -> float:
        due = [self._recorder.show_at, self._ladder.next_at()]
        if not self._ladder.begun:
            due.append(self._looked_at + LOOK_EVERY_S)
            due += [at for at in (self._begin_by,) if at is not None and not self._questions]
            due += [] if self._is_theirs else [self._questions.overdue_at()]
            due.append(self._guards.deadline() if self._settled_at is None else self._leave_by())
        return min(due)

    def _leave_by(self) -> float:
        return NEVER if self._left_at is None else self._left_at + LEAVE_WITHIN_S

    def _note_settling(self, now: float) -> None:
        """Note after reading whether the child has settled, and whether a person has it."""
        live = self._live
        if live.is_connected:
            self._talk.begin(now)
            if self._is_opened_for_them:  # opened again: it has no task, and a person has it
                self._is_opened_for_them = False
                live.typed = live.settled = True
                self._recorder.event(events.settled(aborted=False, attended=True))
        super()._note_settling(now)
        if self._settled_at is None:
            self._left_at = None
        if live.typed and not self._is_theirs:  # from now on, none of our clocks and rules ends it
            self._is_theirs = True
            self._left_at = None
            self._guards.switch_off()
            state = self._recorder.state
            if state.settled and not state.attended:
                self._recorder.event(events.settled(aborted=state.settled_aborted, attended=True))
        self._note_asking(now)

    def _note_asking(self, now: float) -> None:
        asks = list(self._live.asks.open.values())
        if self._live.has_begun:
            self._begin_by = None
        elif not asks and self._begin_by is not None and now >= self._begin_by:
            asks = [_NOT_BEGUN]
        self._questions.note(asks, now, self._live.asks.given)

    # --- what we do about it ---

    def _on_signals(self, caught: frozenset[int], now: float, *, ended: bool) -> None:
        if ended:  # a closing window ends the child and signals us: that signal is the cause
            if not self._ladder.begun:
                self._ladder.cause = next(
                    (cause for number, cause in CAUSES.items() if number in caught), None
                )
            return
        if signal.SIGUSR1 in caught:
            self._look(now)
        if signal.SIGCHLD in caught and process.was_suspended(self._child):  # only we can continue it
            self._terminal.give_to(self._child)
            process.send_group(self._child, signal.SIGCONT)

    def _look(self, now: float) -> None:
        self._looked_at = now
        self._talk.look(now)

    def _decide(self, now: float) -> None:
        self._ladder.step(now)
        if self._ladder.begun:
            return
        if now >= self._looked_at + LOOK_EVERY_S:
            self._look(now)
        self._note_asking(now)
        for one in () if self._is_theirs else self._questions.take_overdue(now):  # a person may take any time
            self._talk.answer(one, DENY, CLOCK)
        if self._settled_at is None:
            cause = self._guards.check(now, self._hear_now)
            if cause is not None:
                self._end(cause, now)
        elif self._is_theirs:
            self._rests()
        elif self._left_at is None:  # the child may leave, unless a message to it is under way
            self._look(now)
            if not self._talk.is_busy(now):
                self._left_at = now
                self._talk.let_leave(self._live.settlings)
        elif now >= self._leave_by():
            lifecycle.leave(self._recorder.state)
            self._ladder.begin(None, now)

    def _end(self, cause: Cause, now: float) -> None:
        """End the child. If it has settled and no person has it, it leaves by itself."""
        if self._settled_at is not None and not self._is_theirs:
            return
        lifecycle.leave(self._recorder.state)  # has an effect only if it has settled
        self._ladder.begin(cause, now)
