"""`codex exec --json`: one prompt, one turn, lines on stdout.

What must not be believed: an exit code other than 0 after a finished turn; an `error` line, which is also
written when the model is only asked again; an item of the type `error`, which is a warning. A patch that the
sandbox refuses is no item at all: only stderr tells of it. Tokens come once, at the end, and count the whole
session.

Pure.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Reading
from tmuxagents.agents.codex.items import ItemReader, figures, is_retry
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from tmuxagents.runs.events import Event

_KEYS = (
    *("input_tokens", "cached_input_tokens", "cache_write_input_tokens"),
    *("output_tokens", "reasoning_output_tokens"),
)
_REFUSED = (1, 2)  # exit codes without a first line: an unknown session, a wrong flag, a broken configuration


class ExecReader(ItemReader):
    """Reads one child. `baseline`: what its session had used before."""

    def __init__(self, baseline: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._baseline = baseline or {}
        self._is_open = False  # a turn has begun and not ended
        self._failure: str | None = None

    def _session(self, raw: dict[str, Any], _now: float) -> Reading:
        return Reading(self.takes_session(raw.get("thread_id")))

    def _begun(self, _raw: dict[str, Any], _now: float) -> Reading:
        self._is_open = True
        return Reading(self.works_again())

    def _item_began(self, raw: dict[str, Any], now: float) -> Reading:
        return self.item_began(raw.get("item"), now)

    def _item_ended(self, raw: dict[str, Any], now: float) -> Reading:
        return self.item_ended(raw.get("item"), now)

    def _completed(self, raw: dict[str, Any], _now: float) -> Reading:
        self._is_open = False
        told = figures(raw.get("usage"), _KEYS, "session")
        for key in ("input", "cacheRead", "cacheWrite", "output", "totalTokens", "reasoning"):
            told[key] = max(0, told[key] - raw_json.figure(self._baseline.get(key), integral=True))
        return Reading([events.usage(told), *self.finish("stop")])

    def _failed(self, raw: dict[str, Any], _now: float) -> Reading:
        self._is_open = False
        error = raw.get("error")
        message = raw_json.sentence(error.get("message")) if isinstance(error, dict) else None
        return Reading(self.failed(message or self._failure))

    def _error(self, raw: dict[str, Any], _now: float) -> Reading:
        message = raw_json.sentence(raw.get("message")) or ""
        if is_retry(message):
            return Reading([self.retry(message)])
        self._failure = message or self._failure
        return NOTHING

    def _updated(self, _raw: dict[str, Any], _now: float) -> Reading:
        return ACTIVE

    def left(self, exit_code: int | None) -> list[Event]:
        """Judge a child that left without ending its turn, or without beginning one."""
        if self.session is None and exit_code in _REFUSED:
            return self.finish("config")
        if self._is_open and self._failure and exit_code:
            return self.failed(self._failure)
        return []

    takes: ClassVar = {
        "thread.started": _session,
        "turn.started": _begun,
        "item.started": _item_began,
        "item.updated": _updated,
        "item.completed": _item_ended,
        "turn.completed": _completed,
        "turn.failed": _failed,
        "error": _error,
    }
