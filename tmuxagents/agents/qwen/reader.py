"""Read the stream of Qwen Code, and talk to it. Pure.

Qwen Code's usage figures are those of the session, and include calls in the background. At a limit of its
own, Qwen Code exits with 53 or 55 and writes no result. An answer that was cut at the model's output limit
looks like a whole one.

Qwen Code's stdin may stay open for prompts, interrupts and answers. Qwen Code asks about every call that its
approval mode does not allow. Unless a person is to be asked, we deny the call and name the permission level
as the reason. Qwen Code reads one prompt after another, each when the turn before it is over. If no answer
comes within ten minutes, it treats the question as denied; only the result of the tool shows this.
"""

from __future__ import annotations

from tmuxagents.agents import capabilities as words
from tmuxagents.agents import envelope
from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, Reading
from tmuxagents.agents.brand import usage_of
from tmuxagents.agents.envelope import EnvelopeReader, EnvelopeTalker
from tmuxagents.runs import events
from tmuxagents.runs.events import STOP
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.runs.events import Event, InboxMessage


_LIMITS = (53, 55)  # exit codes: too many turns; too many tool calls, or too much time
_FIGURES = ("input", "cacheRead", "output")


class QwenReader(EnvelopeReader):
    """Reads one Qwen Code."""

    shows_cuts = False
    snapshots: tuple[bytes, ...] = (b'{"type":"stream_event",',)

    def __init__(self, baseline: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._before = {key: raw_json.count((baseline or {}).get(key)) for key in _FIGURES}
        self._calls_used = dict.fromkeys(_FIGURES, 0)  # without calls in the background

    def usage(self, raw: dict[str, Any]) -> list[Event]:
        """Return the usage of this turn: the session's figures less those of the runs and turns before."""
        figures, before = figures_of(raw.get("usage")), self._before
        self._before = {key: max(figures[key], before[key]) for key in _FIGURES}
        self._calls_used = dict.fromkeys(_FIGURES, 0)
        return usage_of({key: self._before[key] - before[key] for key in _FIGURES}, words.OF_SESSION)

    def left(self, exit_code: int | None) -> list[Event]:
        """Return the usage of a run without a result, and its end if Qwen Code had reached its own limit."""
        if self.settled:
            return super().left(exit_code)
        self._texts.clear()  # the beginning of an answer
        reported = usage_of(self._calls_used, words.OF_SESSION)
        return reported + self.finish("limit") if exit_code in _LIMITS else reported

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:
        """Read one line: also the usage of a model call, and a retry."""
        if kind == "assistant":
            for key, figure in figures_of(raw_json.table(raw.get("message")).get("usage")).items():
                self._calls_used[key] += figure
        if kind != "system:retry":
            return super().take(kind, raw, now)
        data = raw.get("data")
        if not isinstance(data, dict):
            return ACTIVE
        if data.get("preserveText") is False:  # the retry discards an answer that broke off
            self._texts.clear()
        retry = events.retry(
            attempt=raw_json.whole(data.get("attempt")),
            most=raw_json.whole(data.get("maxRetries")),
            delay_ms=raw_json.whole(data.get("delayMs")),
            message=None,
        )
        return Reading([retry], active=True)


def figures_of(raw: Any) -> dict[str, int]:
    """Return usage figures under our names. Qwen Code's input includes what it read from a cache."""
    figures = raw_json.table(raw)
    names = ("input_tokens", "cache_read_input_tokens", "output_tokens")
    both, cached, output = (raw_json.count(figures.get(name)) for name in names)
    return {"input": max(0, both - cached), "cacheRead": cached, "output": output}


# --- talking to it ---

_LONGEST_MS = 600_000  # its longest wait for an answer
_LEVEL = "the permission level"


class QwenTalker(EnvelopeTalker, QwenReader):
    """Reads and talks to one Qwen Code. Without `asks_people`, the answer to every question is no."""

    def __init__(self, baseline: Mapping[str, Any] | None = None, *, asks_people: bool = False) -> None:
        super().__init__(baseline)
        self._asks_people = asks_people
        self._in_turn = True
        self._is_interrupted = False

    @property
    def is_idle(self) -> bool:
        """Say whether no turn runs."""
        return not self._in_turn

    def begin(self, prompt: str) -> bytes:
        """Return a greeting and the prompt. Without the greeting, Qwen Code would ask no questions."""
        greeting = envelope.request("begin", subtype="initialize", timeout={"canUseTool": _LONGEST_MS})
        return greeting + self._say(prompt)

    def say(self, message: InboxMessage) -> bytes | None:
        """Return the line for a message or an interrupt; None for a message while a turn runs."""
        if message.kind == STOP:
            if not self._in_turn:
                return b""
            self._is_interrupted = True
            return envelope.request(f"stop-{message.inbox_id}", subtype="interrupt")
        return None if self._in_turn else self._say(message.text or "")

    def _say(self, text: str) -> bytes:
        self._in_turn, self.settled = True, False
        body = {"role": "user", "content": [{"type": "text", "text": text}]}
        return jsonline.encode(
            {"type": "user", "session_id": "", "message": body, "parent_tool_use_id": None}
        )

    def asked(self, request_id: str, request: dict[str, Any]) -> Reading:
        """Take a question, or answer no to it."""
        if self._asks_people:
            return super().asked(request_id, request)
        return self.answered(request_id, request, envelope.DENY, _LEVEL)

    def answered(self, request_id: str, request: dict[str, Any], answer: str, by: str) -> Reading:
        """Return the answer to a question, and report the call that it denies."""
        reply = envelope.decision(request, answer, by, by_index=True)
        denied = []
        if reply["behavior"] == envelope.DENY:
            denied = self.deny(request.get("tool_use_id"), request.get("tool_name"), f"denied by {by}")
        return Reading(denied, active=True, reply=envelope.respond(request_id, reply))

    def is_refused(self, _raw: dict[str, Any], call: Any) -> bool:
        """Say whether a call ends with its question still open, and forget the question."""
        asked = self._asked.items()
        found = [request_id for request_id, (_, request) in asked if request.get("tool_use_id") == call]
        for request_id in found:
            del self._asked[request_id]
        return bool(found) and not self._is_interrupted

    def turn_over(self, raw: dict[str, Any]) -> list[Event]:
        """Report the end of a turn."""
        reported = super().turn_over(raw)
        self._in_turn = self._is_interrupted = False
        return reported

    def ending(self, raw: dict[str, Any]) -> str | None:
        """Return how the turn ended. Qwen Code reports an interrupted turn as a failed one."""
        how = super().ending(raw)
        return "aborted" if how == "error" and self._is_interrupted else how
