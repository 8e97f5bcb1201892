"""Read the stream of Claude Code: retries, denials, and what each turn used. Pure.

A `result` line has the tokens of its turn, but the cost of the whole session; the cost of the turn is given
by model. Pieces of messages show that the model writes, and what a call used if its turn never ends.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, Reading
from tmuxagents.agents.capabilities import ESTIMATED, OF_RUN
from tmuxagents.agents.envelope import EnvelopeReader
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from tmuxagents.runs.events import Event

_FIGURES = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cacheRead": "cache_read_input_tokens",
    "cacheWrite": "cache_creation_input_tokens",
}
_BROKEN = "The connection to the model broke off in the middle of the answer."


class ClaudeReader(EnvelopeReader):
    """Reads one Claude Code."""

    snapshots: tuple[bytes, ...] = (b'{"type":"stream_event","event":{"type":"content_block_',)

    def __init__(self, cost_before: float = 0.0) -> None:
        super().__init__()
        self._cost = cost_before  # of the session so far, for versions that tell nothing else
        self._calls_used = dict.fromkeys(_FIGURES, 0)  # by calls of a turn that has not ended
        self._lacks_end = False  # the last message has begun, and not ended as the model ends one

    def is_refused(self, raw: dict[str, Any], call: Any, _text: str) -> bool:
        """Say whether the line says that permission was refused; a call that was broken off was not."""
        about = raw.get("tool_result_meta")
        for one in about if isinstance(about, list) else []:
            if isinstance(one, dict) and one.get("id") == call:
                decision = one.get("permission_decision")
                return isinstance(decision, dict) and decision.get("decision") == "reject"
        return False

    def usage(self, raw: dict[str, Any]) -> list[Event]:
        """Return the tokens and the cost of the turn."""
        self._calls_used = dict.fromkeys(_FIGURES, 0)
        return self._used(figures_of(raw.get("usage")), self._cost_of(raw))

    def left(self, exit_code: int | None) -> list[Event]:
        """Return what a turn used that has not ended; its cost is not known."""
        told = super().left(exit_code)
        return told + (self._used(self._calls_used, 0) if not self.settled else [])

    def _used(self, figures: dict[str, int], cost: float) -> list[Event]:
        total = sum(figures.values())
        if not total and not cost:
            return []
        words = {"costKind": ESTIMATED, "basis": OF_RUN}
        return [events.usage({**figures, "totalTokens": total, "cost": cost, **words})]

    def _cost_of(self, raw: dict[str, Any]) -> float:
        before, total = self._cost, raw_json.figure(raw.get("total_cost_usd"), integral=False)
        self._cost = max(before, total)
        by_model = raw.get("model_usage_since_last_result")
        if isinstance(by_model, dict):
            costs = [one.get("costUSD") for one in by_model.values() if isinstance(one, dict)]
            return sum(raw_json.figure(cost, integral=False) for cost in costs)
        return max(0.0, total - before)

    def _retry(self, raw: dict[str, Any], _now: float) -> Reading:
        status, error = raw_json.whole(raw.get("error_status")), raw_json.word(raw.get("error"))
        told = events.retry(
            attempt=raw_json.whole(raw.get("attempt")),
            most=raw_json.whole(raw.get("max_retries")),
            delay_ms=raw_json.whole(raw.get("retry_delay_ms")),
            message=f"HTTP {status}: {error}" if status and error else error,
        )
        return Reading([*self._opened(raw), *self.works_again(), told], active=True)

    def _permission_denied(self, raw: dict[str, Any], _now: float) -> Reading:
        why = raw_json.sentence(raw.get("message")) or "It was not allowed."
        return Reading(self.deny(raw.get("tool_use_id"), raw.get("tool_name"), why), active=True)

    def _piece(self, raw: dict[str, Any], _now: float) -> Reading:
        """Read where a message begins or ends."""
        event = raw.get("event")
        if not isinstance(event, dict):
            return ACTIVE
        kind = event.get("type")
        if kind == "message_delta":
            for key, figure in figures_of(event.get("usage")).items():
                self._calls_used[key] += figure
        if raw.get("parent_tool_use_id") is not None:
            return ACTIVE
        if kind in ("message_start", "message_delta"):
            self._lacks_end = kind == "message_start"
        told = self.works_again() if kind == "message_start" else []
        return Reading([*told, *self._told_texts()], active=True)

    def ending(self, raw: dict[str, Any]) -> str | None:
        """Return how the turn ended: a connection that broke off in the last answer reads as success."""
        how = super().ending(raw)
        lacks_end, self._lacks_end = self._lacks_end, False
        if how != "stop" or not lacks_end:
            return how
        self.why = _BROKEN
        return "error"

    takes: ClassVar = EnvelopeReader.takes | {
        "system:api_retry": _retry,
        "system:permission_denied": _permission_denied,
        "stream_event": _piece,
    }


def figures_of(raw: Any) -> dict[str, int]:
    """Return the figures of a usage in our words."""
    used = raw if isinstance(raw, dict) else {}
    return {key: int(raw_json.figure(used.get(name), integral=True)) for key, name in _FIGURES.items()}
