"""Read the lines of `opencode run --format json` as normalised events. Pure.

An answer is finished only if the last `step_finish` says `stop`. The exit code says nothing beside it: it is
0 after a permission that was refused because nobody could be asked (the last step then says `tool-calls`),
and 1 after a whole answer if anything failed on the way. An `error` line may be followed by more work; it is
the end if the child exits after it. It tells of a tool when the tool is over.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import Reading
from tmuxagents.agents.brand import LineReader
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from tmuxagents.runs.events import Event

_REFUSED = (
    "The user rejected permission to use this specific tool call",
    "The user has specified a rule which prevents you from using this specific tool call",
)
_NOT_OFFERED = "Model tried to call unavailable tool"  # as one that is denied as a whole is not
TOOLS = ("read", "bash", "edit", "write", "grep", "glob", "webfetch", "task", "todowrite", "skill")
_SIGNALS = 128  # from here on an exit code tells of a signal
_ENDS = {"stop": "stop", "length": "length"}
_GO_ON = ("tool-calls", "unknown")  # after these it asks the model again
_FAILURES = {"MessageAbortedError": "aborted", "MessageOutputLengthError": "length"}


class OpencodeReader(LineReader):
    """Reads one opencode."""

    exit_counts = False

    def __init__(self) -> None:
        super().__init__()
        self.session: str | None = None
        self._stepped = False  # the model was asked
        self.failure: str | None = None  # how it ends if it ends now
        self._broken = 0  # answers in a row that broke off

    def with_session(self, raw: dict[str, Any], *told: Event) -> list[Event]:
        """Return events, after that of the session if it is new."""
        session = raw_json.key(raw.get("sessionID"))
        if session is None or session == self.session:
            return list(told)
        self.session = session
        return [events.session_started(session), *told]

    def _begins(self, raw: dict[str, Any], _now: float) -> Reading:
        self._stepped, self.failure = True, None
        return Reading(self.with_session(raw, *self.works_again()), active=True)

    def _text(self, raw: dict[str, Any], _now: float) -> Reading:
        text = raw_json.text(_part(raw).get("text"))
        return Reading(self.with_session(raw, *([events.assistant_text(text)] if text else [])), active=True)

    def _reasoning(self, raw: dict[str, Any], _now: float) -> Reading:
        text = raw_json.text(_part(raw).get("text"))
        return Reading(self.with_session(raw, *([events.thinking(text)] if text else [])), active=True)

    def _tool(self, raw: dict[str, Any], _now: float) -> Reading:
        part = _part(raw)
        state, call = table(part.get("state")), raw_json.key(part.get("callID"))
        tool, given = raw_json.word(part.get("tool")) or "tool", table(state.get("input"))
        said = raw_json.text(state.get("error")) or raw_json.text(state.get("output")) or ""
        if tool == "invalid":  # how it tells of a call that it could not make
            tool, said = raw_json.word(given.get("tool")) or tool, raw_json.text(given.get("error")) or said
            failed = True
        else:
            code = raw_json.whole(table(state.get("metadata")).get("exit"))
            failed = state.get("status") == "error" or bool(code)
        refused = said.startswith(_REFUSED) or (tool in TOOLS and said.startswith(_NOT_OFFERED))
        told = [events.tool_call(call, tool, given)]
        if failed and refused:
            told.append(events.denied(call, tool, said))
        else:
            lasted = _duration(table(state.get("time")))
            told.append(events.tool_result(call, tool, is_error=failed, text=said, duration_ms=lasted))
        return Reading(self.with_session(raw, *told), active=True)

    def _step_over(self, raw: dict[str, Any], _now: float) -> Reading:
        part = _part(raw)
        reason, told = raw_json.word(part.get("reason")) or "", self.with_session(raw)
        figures = _usage(table(part.get("tokens")), part.get("cost"))
        if figures["totalTokens"]:
            told.append(events.usage(figures))
        if reason == "unknown":
            self._broken += 1
            message = "The answer of the model broke off."
            told.append(events.retry(attempt=self._broken, most=None, delay_ms=None, message=message))
            return Reading(told)  # no activity: it asks again and again, without end
        self._broken = 0
        if reason in _GO_ON:
            return Reading(told, active=True)
        if reason not in _ENDS:
            self.error_message = f"The model ended its answer: {reason}." if reason else None
        return Reading([*told, *self.over(_ENDS.get(reason, "error"))], active=True)

    def over(self, reason: str) -> list[Event]:
        """Return the end of an answer, which is that of the turn."""
        return self.finish(reason)

    def _error(self, raw: dict[str, Any], _now: float) -> Reading:
        error = table(raw.get("error"))
        name, data = raw_json.word(error.get("name")) or "", table(error.get("data"))
        said = raw_json.sentence(data.get("message")) or raw_json.sentence(error.get("message")) or name
        self.failure = _FAILURES.get(name, "error")
        if not self._stepped and name == "UnknownError":  # its server refused the order itself
            self.failure = "config"
            said += " (opencode says so of a model that it does not know.)"
        self.error_message = said or None
        return Reading(self.with_session(raw, *self.works_again()), active=True)

    takes: ClassVar[Mapping[str, Any]] = {
        "step_start": _begins,
        "text": _text,
        "reasoning": _reasoning,
        "tool_use": _tool,
        "step_finish": _step_over,
        "error": _error,
    }

    def left(self, exit_code: int | None) -> list[Event]:
        """Return the end that an error was; without a line at all, it has refused how it was called."""
        if self.settled or exit_code is None:
            return []
        if self.failure is not None:
            return self.finish(self.failure, aborted=self.failure == "aborted")
        return self.finish("config") if 0 < exit_code < _SIGNALS and self.session is None else []


def _part(raw: dict[str, Any]) -> dict[str, Any]:
    return table(raw.get("part"))


def table(value: Any) -> dict[str, Any]:
    """Return an object of the server, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _duration(time: dict[str, Any]) -> int | None:
    start, end = raw_json.whole(time.get("start")), raw_json.whole(time.get("end"))
    return None if start is None or end is None else max(0, end - start)


def _usage(tokens: dict[str, Any], cost: Any) -> dict[str, Any]:
    """Return the figures of one call: its `output` is without the reasoning, ours is with it."""
    cache = table(tokens.get("cache"))
    reasoning = raw_json.figure(tokens.get("reasoning"), integral=True)
    figures = {
        "input": raw_json.figure(tokens.get("input"), integral=True),
        "output": raw_json.figure(tokens.get("output"), integral=True) + reasoning,
        "cacheRead": raw_json.figure(cache.get("read"), integral=True),
        "cacheWrite": raw_json.figure(cache.get("write"), integral=True),
    }
    return {
        **figures,
        "totalTokens": sum(figures.values()),
        "cost": raw_json.figure(cost, integral=False),
        "reasoning": reasoning,
        "costKind": "estimated",
        "basis": "call",
    }
