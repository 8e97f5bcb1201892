"""Qwen Code: one prompt on stdin, lines of JSON on stdout.

- A level of permission is an approval mode. Tools that would ask are not declared to its model, so nothing is
  denied: a child without the tool for its task may well read as completed.
- The settings of its folder apply, unless the user has switched on folder trust in Qwen Code. A prompt that
  begins with `/` is a command to it. It takes no text for its system prompt, which would be on the command
  line.
- At a limit of its own it exits with 53 or 55 and writes no result.
- It does not run live: its second output says neither when a turn has ended nor whether it was broken off.
- Its figures are those of the session, and hold calls in the background. An answer that was cut at the
  model's output limit looks like a whole one.

Pure.
"""

from __future__ import annotations

from tmuxagents.agents import capabilities as words
from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, Reading
from tmuxagents.agents.brand import Brand, session_uuid
from tmuxagents.agents.envelope import EnvelopeReader
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event

_MODES = {words.READ_ONLY: "plan", words.EDIT: "auto-edit", words.FULL: "yolo"}
_TOOLS = {
    "read": "read_file",
    "bash": "run_shell_command",
    "edit": "edit",
    "write": "write_file",
    "grep": "grep_search",
    "find": "glob",
    "ls": "glob",  # it declares no other tool that lists files
}
# It is no parent of agents, of timers, or of talks with other sessions.
_NEVER = ("agent", "list_agents", "send_message", "cron_create", "loop_wakeup")
_LIMITS = (53, 55)  # turns; tool calls or time
_FIGURES = ("input", "cacheRead", "output")


class Qwen(Brand):
    """The adapter."""

    name = "qwen"
    program = "qwen"
    how_to_install = "npm install -g @qwen-code/qwen-code"
    how_to_log_in = "start qwen and type /auth, or set OPENAI_API_KEY"
    tools = tuple(dict.fromkeys(_TOOLS.values()))

    def arguments(self, plan: Plan, _run_dir: str) -> list[str]:
        """Return the flags of a batch run."""
        resumes = plan.child_session
        line = ["--output-format=stream-json", "--include-partial-messages"]
        line.append(f"--resume={resumes}" if resumes else f"--session-id={session_uuid(plan)}")
        line.append(f"--approval-mode={_MODES.get(plan.permission or words.EDIT, 'plan')}")
        if plan.resolved_model and plan.model_source != "agent":
            line.append(f"--model={plan.resolved_model}")
        line += [f"--core-tools={tool}" for tool in dict.fromkeys(plan.tools or ())]
        line += [f"--exclude-tools={tool}" for tool in _NEVER]
        return [*line, "--allowed-mcp-server-names=none"]

    def key_variables(self, key: str, _provider: str | None) -> Mapping[str, str]:
        """Return the variable that gives it an API key."""
        return {"OPENAI_API_KEY": key}

    def environment(self, _agent_dir: str, _plan: Plan | None) -> Mapping[str, str]:
        """Return what keeps its stderr to what matters."""
        return {"QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"}

    def reader(self, plan: Plan, _run_dir: str) -> QwenReader:
        """Return a reader for one child."""
        return QwenReader(plan.baseline)

    def capabilities(self) -> words.Capabilities:
        """Return what it can do."""
        return words.USUAL.changed(
            tools=_TOOLS,
            reads_tools=True,
            usage=words.OF_SESSION,
            oldest="0.24.4",
            tested="0.24.4",
        )


AGENT = Qwen()


class QwenReader(EnvelopeReader):
    """Reads one Qwen Code."""

    tells_cuts = False

    snapshots: tuple[bytes, ...] = (b'{"type":"stream_event",',)

    def __init__(self, baseline: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._before = {key: raw_json.figure((baseline or {}).get(key), integral=True) for key in _FIGURES}
        self._calls_used = dict.fromkeys(_FIGURES, 0)  # without calls in the background

    def usage(self, raw: dict[str, Any]) -> list[Event]:
        """Return what this run used: the figures less those of the runs before."""
        told = _figures(raw.get("usage"))
        return _used({key: max(0, int(told[key] - self._before[key])) for key in _FIGURES})

    def left(self, exit_code: int | None) -> list[Event]:
        """Return how a run ended that wrote no result: at a limit of its own, or not by itself."""
        if self.settled:
            return super().left(exit_code)
        self._texts.clear()  # the beginning of an answer
        told = _used(self._calls_used)
        return told + self.finish("limit") if exit_code in _LIMITS else told

    def _assistant(self, raw: dict[str, Any], now: float) -> Reading:
        message = raw.get("message")
        for key, figure in _figures(message.get("usage") if isinstance(message, dict) else None).items():
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


def _figures(raw: Any) -> dict[str, int]:
    """Return figures in our words: its input holds what was read from a cache."""
    used = raw if isinstance(raw, dict) else {}
    names = ("input_tokens", "cache_read_input_tokens", "output_tokens")
    both, cached, output = (int(raw_json.figure(used.get(name), integral=True)) for name in names)
    return {"input": max(0, both - cached), "cacheRead": cached, "output": output}


def _used(figures: dict[str, int]) -> list[Event]:
    total = sum(figures.values())
    more = {"totalTokens": total, "costKind": words.NO_COST, "basis": words.OF_SESSION}
    return [events.usage({**figures, **more})] if total else []
