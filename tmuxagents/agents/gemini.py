"""How to call Gemini CLI (`--output-format stream-json`), and how to read it. Pure.

What a user must know. With `edit`, Gemini CLI may change files, but not run commands. It does not even offer
the model a tool that the level forbids, and the model may then claim that the task is done. So nothing is
denied, and `completed` means only that the model's last answer is whole. We always give `--skip-trust`:
without a person, Gemini CLI refuses to work in a folder that was never trusted. So the project's own
`.gemini` settings apply. A prompt that starts with `/` is a command to Gemini CLI, and `@path` in a prompt
includes that file. Gemini CLI cannot run live: it takes hooks only from the user's or the project's settings,
or from a system file if root owns that file and all folders above it.

A `result` line says how a turn ended. It reports success even if an `error` line before it reported a loop,
an empty answer or a hook that blocked. After a signal, Gemini CLI exits with 0 and without a result. After
errors of the API, it exits with an HTTP status modulo 256. When it retries an answer that broke off, no line
takes back the words of the first try. It reports the exit code of a shell command only if the command printed
nothing. Otherwise, only the usual last words of a failed command show the failure.
"""

from __future__ import annotations

import re

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Agent, Reading
from tmuxagents.agents.brand import LineReader, session_uuid
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.agents.capabilities import AgentFiles, Capabilities
    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event

_SHELL = "run_shell_command"
TOOLS = ("read_file", _SHELL, "replace", "write_file", "grep_search", "glob", "list_directory", "web_fetch")
_MODES = {"read-only": "default", "edit": "auto_edit", "full": "yolo"}


class Gemini(Agent):
    """The agent Gemini CLI."""

    name = "gemini"
    program = "gemini"
    how_to_install = "npm install -g @google/gemini-cli"
    how_to_log_in = "start gemini and log in, or set GEMINI_API_KEY"
    home_variable = "GEMINI_CLI_HOME"
    keeps_unanswered = False
    tools = TOOLS

    def arguments(self, plan: Plan, _run_dir: str) -> list[str]:
        """Return the flags of a batch run. The task goes to stdin."""
        line = ["--output-format", "stream-json", "--skip-trust"]
        line += ["--approval-mode", _MODES[plan.permission or "edit"]]
        if plan.resolved_model:
            line += ["--model", plan.resolved_model]
        if plan.child_session:
            return [*line, "--resume", plan.child_session]
        return [*line, "--session-id", session_uuid(plan)]

    def reader(self, _plan: Plan, _run_dir: str) -> GeminiReader:
        """Return a reader for one child."""
        return GeminiReader()

    def agent_files(self) -> AgentFiles:
        """Return where its own agent files are, and what they mean."""
        from tmuxagents.agents.capabilities import AgentFiles  # noqa: PLC0415  (only presets ask)

        return AgentFiles(
            agent=self.name,
            title="Gemini CLI",
            own=".gemini/agents",
            project=(".gemini/agents",),
            tools={"read_file": ("read",), "run_shell_command": ("bash",), "replace": ("edit",)}
            | {"write_file": ("write",), "grep_search": ("grep",), "search_file_content": ("grep",)}
            | {"glob": ("find",), "list_directory": ("ls",)},
        )

    def capabilities(self) -> Capabilities:
        """Return its capabilities."""
        from tmuxagents.agents.capabilities import Capabilities  # noqa: PLC0415  (no wrapper needs them)

        return Capabilities(oldest="0.61.0", tested="0.61.0")


AGENT = Gemini()


# --- its output ---

_LIMIT_CODE, _CONFIG_CODES = 53, (41, 42, 52)  # exit codes: login, input, settings
_LIMITS = ("Maximum session turns", "Loop detected")
_REFUSED, _NOT_OFFERED = "policy_violation", "tool_not_registered"
_FAILED = re.compile(  # the end of a command's output, or the text in place of it
    r"^Command (exited with code|terminated by signal): .+\Z"
    r"|^\S+: .*: (No such file or directory|Permission denied)\Z|: (command )?not found\Z",
    re.MULTILINE,
)


class GeminiReader(LineReader):
    """Reads one Gemini CLI. An answer comes in pieces, which end with a line of another kind."""

    shows_cuts = False

    def __init__(self) -> None:
        super().__init__()
        self._answer: list[str] = []
        self._piece_at = 0.0
        self._trouble: str | None = None  # the reported reason why it stopped in the middle

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:
        """Read one line."""
        reported: list[Event] = []
        match kind:
            case "init":
                self.model = raw_json.word(raw.get("model"))
                session = raw_json.key(raw.get("session_id"))
                reported = [events.session_started(session, model=self.model)] if session else []
            case "message":
                text = raw_json.text(raw.get("content"))
                if raw.get("role") != "assistant" or not text:
                    return ACTIVE
                self._trouble = None
                before, self._piece_at = self._piece_at, _seconds(raw.get("timestamp"))
                # Gemini CLI waits for a second before another try. If an answer breaks off in a sentence,
                # pauses that long and continues with a capital, it counts as two answers. Both are kept.
                last = self._answer[-1].rstrip()[-1:] if self._answer else ""
                breaks_off = (last.isalnum() or last == ",") and text[:1].isupper()
                reported = self._report_text() if breaks_off and self._piece_at - before >= 1.0 else []
                self._answer.append(text)
                reported = [*self.works_again(), *reported]
            case "tool_use":
                self._trouble = None
                reported = [*self.works_again(), *self._report_text()]
                reported += self.call(raw.get("tool_id"), raw.get("tool_name"), raw.get("parameters"), now)
            case "tool_result":
                reported = self._tool_result(raw, now)
            case "error":
                self._trouble = raw_json.sentence(raw.get("message")) or "It stopped without an answer."
            case "result":
                reported = self._result(raw)
            case _:
                return NOTHING
        return Reading(reported, active=True)

    def _report_text(self) -> list[Event]:
        """Return the answer so far, and begin another."""
        text = "".join(self._answer)
        self._answer = []
        return [events.assistant_text(text)] if text.strip() else []

    def _tool_result(self, raw: dict[str, Any], now: float) -> list[Event]:
        error, call = raw_json.table(raw.get("error")), raw.get("tool_id")
        why, call_id = raw_json.text(error.get("message")) or "", raw_json.key(call) or ""
        output = raw_json.text(raw.get("output")) or why
        tool, _ = self.calls.get(call_id, ("", 0.0))
        kind = error.get("type")
        if tool and (kind == _REFUSED or (kind == _NOT_OFFERED and tool in TOOLS)):
            del self.calls[call_id]
            return [events.denied(call_id, tool, why or output)]
        failed = raw.get("status") == "error" or (tool == _SHELL and _FAILED.search(output) is not None)
        return self.result(call, output, now, failed=failed)

    def _result(self, raw: dict[str, Any]) -> list[Event]:
        reported = self._report_text()
        stats = raw_json.table(raw.get("stats"))
        names = ("total_tokens", "input_tokens", "output_tokens", "input", "cached")
        whole, asked, output, new, cached = (raw_json.count(stats.get(name)) for name in names)
        thoughts = max(0, whole - asked - output)  # only the total includes these; `input` excludes the cache
        if total := new + output + cached + thoughts:
            figures = {"input": new, "output": output, "cacheRead": cached, "cacheWrite": 0, "cost": 0}
            own = {"totalTokens": total, "reasoning": thoughts, "costKind": "none", "basis": "run"}
            reported.append(events.usage({**figures, **own}))
        if raw.get("status") == "success" and self._trouble is None:
            return [*reported, *self.finish("stop")]
        error = raw_json.table(raw.get("error"))
        message = raw_json.sentence(error.get("message"))
        if message is not None and message.startswith("[API Error: "):
            # The words of the API, in a message such as [API Error: {"error":{"message":"no such key"}}].
            inner = message.removeprefix("[API Error: ").partition("]\n")[0].removesuffix("]")
            of_api = raw_json.table((raw_json.parse(inner.encode()) or {}).get("error"))
            message = raw_json.sentence(of_api.get("message")) or inner
        message = self.error_message = message or self._trouble
        why = "length" if "exceeded the token limit" in (message or "") else "error"
        if error.get("type") == "FatalTurnLimitedError" or (message or "").startswith(_LIMITS):
            why = "limit"
        return [*reported, *self.finish(why)]

    def left(self, exit_code: int | None) -> list[Event]:
        """Return the end that the exit code means, if there was no `result` line."""
        if self.settled:
            return []
        if exit_code == _LIMIT_CODE:
            return self.finish("limit")
        return self.finish("config") if exit_code in _CONFIG_CODES else []


def _seconds(timestamp: Any) -> float:
    """Return the seconds in a day of a timestamp such as 2026-11-19T12:11:45.947Z; 0 for any other value."""
    try:
        hours, minutes, seconds = str(timestamp)[11:23].split(":")
        return int(hours) * 3600 + int(minutes) * 60 + float(seconds)
    except ValueError:
        return 0.0
