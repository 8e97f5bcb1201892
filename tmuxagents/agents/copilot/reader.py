"""Read the lines of `copilot --output-format json` as normalised events. Pure.

Its `result` alone proves nothing: a turn is finished if it was idle without having been aborted, if no error
came after the turn had begun, and if `result` says 0. A shell command that fails is a success with an exit
code. It writes what it used to a file when it leaves.

An answer that is cut at the output limit is asked for again, twice at most, and then taken as it is: a turn
whose request went well has no message then. No line tells of an answer that was cut for its content.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, Reading
from tmuxagents.agents.brand import LineReader
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from tmuxagents.runs.events import Event

USAGE = "copilot-usage.json"  # in the run directory
_TRIES_AGAIN = 2
_FIGURES = ("input", "output", "cacheRead", "cacheWrite", "reasoning")
_REFUSALS = range(1, 128)  # exit codes; later ones tell of a signal


class CopilotReader(LineReader):
    """Reads one Copilot CLI. `session`: its id, which only its last line says; `baseline`: used before."""

    tells_cuts = False  # a refusal by a filter ends as an answer does
    file: str | None = USAGE
    snapshots: tuple[bytes, ...] = tuple(
        b'{"type":"%s"' % kind
        for kind in (
            *(b"assistant.message_delta", b"assistant.reasoning_delta", b"assistant.tool_call_delta"),
            *(b"tool.shell_output", b"tool.execution_partial_result", b"session.background_tasks_changed"),
        )
    )

    def __init__(self, session: str = "", baseline: Any = None) -> None:
        super().__init__()
        self._session = session
        self._baseline = baseline or {}
        self._idle = False  # its work is done, and was not broken off
        self._failed = False
        self._why: str | None = None  # of the last request that failed
        self.wordless = False  # the turn has an answer, and no message so far
        self.cut = 0  # turns in a row that ended so

    @property
    def is_cut(self) -> bool:
        """Say whether the last answer was cut at each try."""
        return self.cut >= _TRIES_AGAIN

    def feed(self, line: bytes, now: float) -> Reading:
        """Read one line. Those of a streaming text only show that it works."""
        return ACTIVE if line.startswith(self.snapshots) else super().feed(line, now)

    def _starts(self, raw: dict[str, Any], _now: float) -> Reading:
        self.model = raw_json.word(_data(raw).get("model")) or self.model
        told = [events.session_started(self._session, model=self.model)] if self._session else []
        return Reading(told, active=True)

    def _turn(self, _raw: dict[str, Any], _now: float) -> Reading:
        self._failed = self._idle = self.wordless = False
        self.error_message = None
        return Reading(self.works_again(), active=True)

    def _answered(self, raw: dict[str, Any], _now: float) -> Reading:
        self.wordless = _data(raw).get("outcome") == "success"
        return ACTIVE

    def _turn_over(self, _raw: dict[str, Any], _now: float) -> Reading:
        self.cut += self.wordless
        return ACTIVE

    def _text(self, raw: dict[str, Any], _now: float) -> Reading:
        data = _data(raw)
        if data.get("parentToolCallId"):  # of a sub-agent
            return ACTIVE
        self.model = raw_json.word(data.get("model")) or self.model
        self.wordless = False
        self.cut = 0 if data.get("toolRequests") else self.cut
        text = raw_json.text(data.get("content"))
        return Reading([events.assistant_text(text)] if text else [], active=True)

    def _thoughts(self, raw: dict[str, Any], _now: float) -> Reading:
        text = raw_json.text(_data(raw).get("content"))
        return Reading([events.thinking(text)] if text else [], active=True)

    def _call(self, raw: dict[str, Any], now: float) -> Reading:
        data = _data(raw)
        told = self.call(data.get("toolCallId"), data.get("toolName"), data.get("arguments"), now)
        return Reading(told, active=True)

    def _called(self, raw: dict[str, Any], now: float) -> Reading:
        data = _data(raw)
        call, error = raw_json.key(data.get("toolCallId")), table(data.get("error"))
        said = raw_json.text(table(data.get("result")).get("content")) or ""
        why = raw_json.text(error.get("message")) or ""
        if error.get("code") in ("denied", "rejected") and call in self.calls:
            tool, _ = self.calls.pop(call)
            return Reading([events.denied(call, tool, why)], active=True)
        failed = data.get("success") is not True or bool(
            raw_json.whole(table(data.get("shellExecution")).get("exitCode"))
        )
        return Reading(self.result(call, said or why, now, failed=failed), active=True)

    def _request_failed(self, raw: dict[str, Any], _now: float) -> Reading:
        said = raw_json.sentence(_data(raw).get("errorMessage"))
        self._why = raw_json.sentence(table(raw_json.parse((said or "").encode())).get("message")) or said
        return ACTIVE

    def _retries(self, raw: dict[str, Any], _now: float) -> Reading:
        why = self._why or raw_json.word(_data(raw).get("reason"))
        return Reading([events.retry(attempt=None, most=None, delay_ms=None, message=why)], active=True)

    def _error(self, raw: dict[str, Any], _now: float) -> Reading:
        self._failed = True
        self.error_message = raw_json.sentence(_data(raw).get("message"))
        return ACTIVE

    def _is_idle(self, raw: dict[str, Any], _now: float) -> Reading:
        self._idle = not _data(raw).get("aborted")
        return ACTIVE

    def _result(self, raw: dict[str, Any], _now: float) -> Reading:
        session = raw_json.key(raw.get("sessionId"))
        told: list[Event] = []
        if session and session != self._session:
            told.append(events.session_started(session, model=self.model))
        if self._failed or raw.get("exitCode") != 0:
            return Reading([*told, *self.finish("error")], active=True)
        reason = "length" if self.is_cut else "stop"
        return Reading([*told, *self.finish(reason if self._idle else None)], active=True)

    takes: ClassVar[Mapping[str, Any]] = {
        "session.tools_updated": _starts,
        "assistant.turn_start": _turn,
        "model.call_finished": _answered,
        "assistant.turn_end": _turn_over,
        "assistant.message": _text,
        "assistant.reasoning": _thoughts,
        "tool.execution_start": _call,
        "tool.execution_complete": _called,
        "model.call_failure": _request_failed,
        "assistant.turn_retry": _retries,
        "session.error": _error,
        "assistant.idle": _is_idle,
        "result": _result,
    }

    def used(self, text: bytes) -> list[Event]:
        """Return what the run used, by the file that it writes at its end: its figures are the session's."""
        models = table((raw_json.parse(text) or {}).get("modelMetrics"))
        figures = _usage([table(table(model).get("usage")) for model in models.values()], self._baseline)
        return [events.usage(figures)] if figures["totalTokens"] else []

    def left(self, exit_code: int | None) -> list[Event]:
        """Return that it refused how it was called, if it ended without a line."""
        begun = self.settled or self.model is not None
        return [] if begun or exit_code not in _REFUSALS else self.finish("config")


def _data(raw: dict[str, Any]) -> dict[str, Any]:
    return table(raw.get("data"))


def table(value: Any) -> dict[str, Any]:
    """Return an object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _usage(models: list[dict[str, Any]], baseline: Any) -> dict[str, Any]:
    """Return the figures of the run: those of all models, less what the session had used before."""
    whole = figures_of(models)
    own = {
        key: max(0, whole[key] - int(raw_json.figure(baseline.get(key), integral=True))) for key in _FIGURES
    }
    return {**whole, **own, "totalTokens": sum(own.values()) - own["reasoning"], "basis": "session"}


def figures_of(models: list[dict[str, Any]]) -> dict[str, Any]:
    """Return figures in our words."""

    def told(key: str) -> int:
        return sum(int(raw_json.figure(model.get(key), integral=True)) for model in models)

    read, written = told("cacheReadTokens"), told("cacheWriteTokens")
    own = {
        "input": told("inputTokens") - read - written,
        "output": told("outputTokens"),
        "cacheRead": read,
        "cacheWrite": written,
        "reasoning": told("reasoningTokens"),
    }
    return {**own, "totalTokens": sum(own.values()) - own["reasoning"], "cost": 0, "costKind": "none"}
