"""When the events of a run come again in a replay: in their own time, faster or slower, with pauses. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_FASTER = 2.0
_APART_S = 0.001  # events of one moment, so that each is a step
_SLOWEST, _FASTEST = 1 / 64, 4096.0


class ReplayClock:
    """The clock of a replay. `now` is the reader's clock, `moments` are those of the run."""

    __slots__ = ("_at", "_began", "_due", "_moments", "_paused", "_speed")

    def __init__(self, moments: Sequence[float], *, speed: float, now: float) -> None:
        self._moments = [moments[0]]
        for moment in moments[1:]:
            self._moments.append(max(moment, self._moments[-1] + _APART_S))
        self._at = moments[0]  # the moment of the run at which the replay was, when it began to run
        self._began = now
        self._speed = speed
        self._paused = False
        self._due = 0

    def clock(self, now: float) -> float:
        """Return the moment of the run that the replay has come to."""
        return self._at if self._paused else self._at + (now - self._began) * self._speed

    def due(self, now: float) -> int:
        """Return the number of events to show by now."""
        clock = self.clock(now)
        while self._due < len(self._moments) and self._moments[self._due] <= clock:
            self._due += 1
        return self._due

    def wait(self, now: float) -> float | None:
        """Return the seconds until the next event; None during a pause and at the end."""
        due = self.due(now)
        if self._paused or due == len(self._moments):
            return None
        return (self._moments[due] - self.clock(now)) / self._speed

    def pause(self, now: float) -> None:
        """Pause, or continue."""
        self._set(self.clock(now), now)
        self._paused = not self._paused

    def step(self, now: float) -> None:
        """Go to the next event at once."""
        due = self.due(now)
        if due < len(self._moments):
            self._set(self._moments[due], now)

    def change(self, now: float, *, faster: bool) -> None:
        """Double the speed, or halve it."""
        self._set(self.clock(now), now)
        self._speed = min(_FASTEST, max(_SLOWEST, self._speed * (_FASTER if faster else 1 / _FASTER)))

    def _set(self, at: float, now: float) -> None:
        self._at, self._began = at, now
