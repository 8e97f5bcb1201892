"""Read the stream of Qwen Code: tries again, and what the session has used. Pure.

Its figures are those of the session, and hold calls in the background. At a limit of its own it exits with 53
or 55 and writes no result. An answer that was cut at the model's output limit looks like a whole one.
"""

from __future__ import annotations

from tmuxagents.agents import capabilities as words
from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, Reading
from tmuxagents.agents.envelope import EnvelopeReader
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from tmuxagents.runs.events import Event

_LIMITS = (53, 55)  # turns; tool calls or time
_FIGURES = ("input", "cacheRead", "output")


class QwenReader(EnvelopeReader):
    """Reads one Qwen Code."""

    tells_cuts = False
    snapshots: tuple[bytes, ...] = (b'{"type":"stream_event",',)

    def __init__(self, baseline: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._before = {key: raw_json.figure((baseline or {}).get(key), integral=True) for key in _FIGURES}
        self._calls_used = dict.fromkeys(_FIGURES, 0)  # without calls in the background

    def usage(self, raw: dict[str, Any]) -> list[Event]:
        """Return what this turn used: the figures less those of the runs and turns before."""
        told, before = figures_of(raw.get("usage")), self._before
        self._before = {key: max(told[key], before[key]) for key in _FIGURES}
        self._calls_used = dict.fromkeys(_FIGURES, 0)
        return usage_of({key: int(self._before[key] - before[key]) for key in _FIGURES})

    def left(self, exit_code: int | None) -> list[Event]:
        """Return how a run ended that wrote no result: at a limit of its own, or not by itself."""
        if self.settled:
            return super().left(exit_code)
        self._texts.clear()  # the beginning of an answer
        told = usage_of(self._calls_used)
        return told + self.finish("limit") if exit_code in _LIMITS else told

    def _assistant(self, raw: dict[str, Any], now: float) -> Reading:
        message = raw.get("message")
        for key, figure in figures_of(message.get("usage") if isinstance(message, dict) else None).items():
            self._calls_used[key] += figure
        return super()._assistant(raw, now)

    def _retry(self, raw: dict[str, Any], _now: float) -> Reading:
        """Report another try; of an answer that was broken off nothing may be left."""
        data = raw.get("data")
        if not isinstance(data, dict):
            return ACTIVE
        if data.get("preserveText") is False:
            self._texts.clear()
        told = events.retry(
            attempt=raw_json.whole(data.get("attempt")),
            most=raw_json.whole(data.get("maxRetries")),
            delay_ms=raw_json.whole(data.get("delayMs")),
            message=None,
        )
        return Reading([told], active=True)

    takes: ClassVar = EnvelopeReader.takes | {"assistant": _assistant, "system:retry": _retry}


def figures_of(raw: Any) -> dict[str, int]:
    """Return figures in our words: its input holds what was read from a cache."""
    used = raw if isinstance(raw, dict) else {}
    names = ("input_tokens", "cache_read_input_tokens", "output_tokens")
    both, cached, output = (int(raw_json.figure(used.get(name), integral=True)) for name in names)
    return {"input": max(0, both - cached), "cacheRead": cached, "output": output}


def usage_of(figures: dict[str, int], basis: str = words.OF_SESSION) -> list[Event]:
    """Return the event of what was used, if that is anything."""
    total = sum(figures.values())
    more = {"totalTokens": total, "costKind": words.NO_COST, "basis": basis}
    return [events.usage({**figures, **more})] if total else []
