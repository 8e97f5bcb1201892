"""Read the lines of `copilot --output-format json` as normalised events. Pure.

A `result` line alone proves nothing. A turn is finished only if three things hold: Copilot became idle
without an abort, no error came after the turn began, and `result` says 0. A shell command that fails is
reported as a success with an exit code. When Copilot exits, it writes its usage to a file.

Copilot retries an answer that hits the output limit, at most twice, and then accepts it. We recognise such a
turn by a successful request without a message. No line says that a content filter cut an answer.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Reading
from tmuxagents.agents.brand import LineReader, usage_of
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tmuxagents.runs.events import Event

USAGE = "copilot-usage.json"  # in the run directory
_TRIES_AGAIN = 2
_FIGURES = ("input", "output", "cacheRead", "cacheWrite", "reasoning")
_REFUSALS = range(1, 128)  # exit codes; higher ones mean a signal


class CopilotReader(LineReader):
    """Reads one Copilot CLI. `session`: the id, which only the last line has; `baseline`: earlier usage."""

    shows_cuts = False  # an answer that a filter cut ends like a whole one
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
        self._logged: dict[str, int] = {}  # earlier usage by the session's own log, which is more complete
        self._idle = False  # its work is done, and was not broken off
        self._failed = False
        self._why: str | None = None  # of the last request that failed
        self.wordless = False  # the request has succeeded, but no message has come
        self.cut = 0  # turns in a row that ended without a message

    @property
    def is_cut(self) -> bool:
        """Say whether the last answer was cut at each try."""
        return self.cut >= _TRIES_AGAIN

    def feed(self, line: bytes, now: float) -> Reading:
        """Read one line. A piece of a streaming text only shows that Copilot works."""
        return ACTIVE if line.startswith(self.snapshots) else super().feed(line, now)

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:  # noqa: C901, PLR0912  (a case a kind)
        """Read one line."""
        reported: list[Event] = []
        data = raw_json.table(raw.get("data"))
        match kind:
            case "session.tools_updated":
                self.model = raw_json.word(data.get("model")) or self.model
                reported = [events.session_started(self._session, model=self.model)] if self._session else []
            case "assistant.turn_start":
                self._failed = self._idle = self.wordless = False
                self.error_message = None
                reported = self.works_again()
            case "model.call_finished":
                self.wordless = data.get("outcome") == "success"
            case "model.call_failure":
                message = raw_json.sentence(data.get("errorMessage"))
                inner = raw_json.table(raw_json.parse((message or "").encode()))
                self._why = raw_json.sentence(inner.get("message")) or message
            case "assistant.turn_retry":
                why = self._why or raw_json.word(data.get("reason"))
                reported = [events.retry(attempt=None, most=None, delay_ms=None, message=why)]
            case "assistant.message":
                reported = self._message(data)
            case "assistant.reasoning":
                text = raw_json.text(data.get("content"))
                reported = [events.thinking(text)] if text else []
            case "tool.execution_start":
                reported = self.call(data.get("toolCallId"), data.get("toolName"), data.get("arguments"), now)
            case "tool.execution_complete":
                reported = self._called(data, now)
            case "assistant.turn_end":
                self.cut += self.wordless
            case "session.error":
                self._failed = True
                self.error_message = raw_json.sentence(data.get("message"))
            case "assistant.idle":
                self._idle = not data.get("aborted")
            case "result":
                reported = self._result(raw)
            case _:
                return NOTHING
        return Reading(reported, active=True)

    def _message(self, data: dict[str, Any]) -> list[Event]:
        if data.get("parentToolCallId"):  # of a sub-agent
            return []
        self.model = raw_json.word(data.get("model")) or self.model
        self.wordless = False
        self.cut = 0 if data.get("toolRequests") else self.cut
        text = raw_json.text(data.get("content"))
        return [events.assistant_text(text)] if text else []

    def _called(self, data: dict[str, Any], now: float) -> list[Event]:
        call, error = raw_json.key(data.get("toolCallId")), raw_json.table(data.get("error"))
        output = raw_json.text(raw_json.table(data.get("result")).get("content")) or ""
        why = raw_json.text(error.get("message")) or ""
        if error.get("code") in ("denied", "rejected") and call in self.calls:
            tool, _ = self.calls.pop(call)
            return [events.denied(call, tool, why)]
        code = raw_json.whole(raw_json.table(data.get("shellExecution")).get("exitCode"))
        failed = data.get("success") is not True or bool(code)
        return self.result(call, output or why, now, failed=failed)

    def _result(self, raw: dict[str, Any]) -> list[Event]:
        session = raw_json.key(raw.get("sessionId"))
        reported: list[Event] = []
        if session and session != self._session:
            reported.append(events.session_started(session, model=self.model))
        if self._failed or raw.get("exitCode") != 0:
            return [*reported, *self.finish("error")]
        reason = "length" if self.is_cut else "stop"
        return [*reported, *self.finish(reason if self._idle else None)]

    def note_session(self, lines: Sequence[bytes]) -> None:
        """Take the usage so far from the session's log: that of its last shutdown, and of each call since."""
        for line in lines:
            raw = raw_json.parse(line) or {}
            data = raw_json.table(raw.get("data"))
            if raw.get("type") == "session.usage_record":
                call = figures_of([raw_json.table(data.get("usage"))])
                self._logged = {key: self._logged.get(key, 0) + call[key] for key in _FIGURES}
            elif models := raw_json.table(data.get("accountingSnapshot")).get("modelMetrics"):
                self._logged = _figures_of_models(models)

    def used(self, text: bytes) -> list[Event]:
        """Return the run's usage. The file that Copilot writes at its exit counts the whole session."""
        whole = _figures_of_models((raw_json.parse(text) or {}).get("modelMetrics"))
        before = self._logged or self._baseline
        own = {key: max(0, whole[key] - raw_json.count(before.get(key))) for key in _FIGURES}
        return usage_of(own, "session")

    def left(self, exit_code: int | None) -> list[Event]:
        """Report that Copilot refused its command line, if it exited without a line."""
        begun = self.settled or self.model is not None
        return [] if begun or exit_code not in _REFUSALS else self.finish("config")


def _figures_of_models(models: Any) -> dict[str, int]:
    """Return the usage of all models together."""
    each = raw_json.table(models).values()
    return figures_of([raw_json.table(raw_json.table(model).get("usage")) for model in each])


def figures_of(models: list[dict[str, Any]]) -> dict[str, int]:
    """Return usage figures under our names."""

    def told(key: str) -> int:
        return sum(raw_json.count(model.get(key)) for model in models)

    read, written = told("cacheReadTokens"), told("cacheWriteTokens")
    return {
        "input": max(0, told("inputTokens") - read - written),
        "output": told("outputTokens"),
        "cacheRead": read,
        "cacheWrite": written,
        "reasoning": told("reasoningTokens"),
    }
