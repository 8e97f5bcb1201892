"""The open questions of one child: its events tell of them, and its clocks pause meanwhile. Joins."""

from __future__ import annotations

from tmuxagents.records import NEVER
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, MutableMapping

    from tmuxagents.agents.base import Ask
    from tmuxagents.wrapper.guards import Guards
    from tmuxagents.wrapper.recorder import Recorder

DENY = "deny"
CLOCK = "the clock"  # what answers a question that gets no other answer


class OpenQuestions:
    """What is asked now. A question that nobody answers within `limit_s` is overdue.

    `elsewhere`: who else gives answers.
    """

    def __init__(self, recorder: Recorder, guards: Guards, *, limit_s: float, elsewhere: str) -> None:
        self._recorder = recorder
        self._guards = guards
        self._limit_s = limit_s
        self._elsewhere = elsewhere
        self._open: dict[str, tuple[Ask, float]] = {}  # reported ones, and since when

    def __bool__(self) -> bool:
        return bool(self._open)

    def overdue_at(self) -> float:
        """Return when the first of them is overdue; one that only its own screen can answer never is."""
        return min((at + self._limit_s for ask, at in self._open.values() if ask.id), default=NEVER)

    def overdue(self, now: float) -> list[str]:
        """Return the ids of those that are overdue, each once."""
        late = [ask for ask, at in self._open.values() if ask.id and now >= at + self._limit_s]
        self._open |= {ask.key: (ask, NEVER) for ask in late}
        return [ask.id for ask in late]

    def close(self, one: str, answer: str, by: str) -> Ask | None:
        """Report our answer to a question, or to the oldest if none is named; None if it is closed by now."""
        ask, _ = self._open.pop(one or next(iter(self._open), ""), (None, 0.0))
        if ask is not None:
            self._recorder.event(events.input_given(ask.kind, ask=ask.id, answer=answer, by=by))
        return ask

    def note(
        self, asks: Iterable[Ask], now: float, given: MutableMapping[str, tuple[str, str]] | None = None
    ) -> None:
        """Report what is asked anew, and what no longer is. `given`: answers, and who gave them."""
        there = {ask.key: ask for ask in asks}
        for key in [key for key in self._open if key not in there]:
            ask, _ = self._open.pop(key)
            answer, by = (given or {}).pop(ask.id, (None, self._elsewhere))
            self._recorder.event(events.input_given(ask.kind, ask=ask.id or None, answer=answer, by=by))
        for key, ask in there.items():
            if key not in self._open:
                self._open[key] = ask, now
                asked = events.needs_input(ask.kind, ask.text, ask=ask.id or None, options=ask.options)
                self._recorder.event(asked)
        if self._open:
            self._guards.stand(now)
        else:
            self._guards.go_on(now)
