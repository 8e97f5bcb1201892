"""How to call Claude Code, with its stdin kept open: prompt, messages and answers are lines of JSON. Pure.

- A child takes the user's settings, and of its folder only CLAUDE.md, not those of folders above. Without a
  terminal Claude Code asks nobody whether to trust a folder, and would run the hooks of any clone.
- `read-only` is a list of tools that read, and anything that would ask is denied: plan mode runs shell
  commands that a service judges, and its answers are plans. `edit` may change files; a shell command that
  does more is denied. `full` is checked by nobody. `ask` asks us.
- It starts no agents of its own, no timers, and talks to no other session: what launches runs is
  tmuxagents.
- The system prompt of a session is that of its first run, unless a later run has one of its own.

Interactive Claude Code with hooks: its command line, and what its hooks say.

The hooks are in `--settings`, and each sends what it is given to our bridge. Claude Code takes a first
prompt only on its command line, so that has one sentence which includes the prompt's file. Messages go in by
hooks, too: after the next tool, or when it would stop; one that comes while it rests is not taken. What it
used is in its transcript; what a person did not allow, no hook says.
"""

from __future__ import annotations

from tmuxagents.agents import capabilities as words
from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Reading
from tmuxagents.agents.brand import Brand, session_uuid
from tmuxagents.agents.capabilities import NO_COST, OF_RUN
from tmuxagents.agents.claude.reader import ClaudeReader, figures_of
from tmuxagents.agents.envelope import ALLOW, PERMISSION, question
from tmuxagents.agents.hooks.heard import FOLDER_VARIABLE, PATIENT, HookedReader, hook_command
from tmuxagents.runs import events
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar

    from tmuxagents.agents.base import LiveAgent, Talker
    from tmuxagents.agents.brand import AgentFiles
    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event


BRIDGE = f"{__file__.rpartition('/')[0]}/bridge.py"
_HOOKS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
    *("Notification", "Stop", "StopFailure", "SessionEnd"),
)
_ASKS_S = 7 * 24 * 3600  # so long a question may wait for our answer
_TASK = "Do the task in this file: @"
_BY_A_PERSON = ("prompt_input_exit", "logout", "clear")  # why a session ended
_NOT_DONE = "The child did not end its turn."


class ClaudeLive:
    """How Claude Code runs live."""

    folder_variable = FOLDER_VARIABLE
    bridge: str | None = BRIDGE

    def arguments(self, plan: Plan, run_dir: str) -> list[str]:
        """Return its flags."""
        one = {"type": "command", "command": hook_command()}
        hooks: dict[str, Any] = {name: [{"hooks": [one]}] for name in _HOOKS}
        asks = {"type": "command", "command": hook_command(PATIENT), "timeout": _ASKS_S}
        hooks[PATIENT] = [{"hooks": [asks]}]
        settings = jsonline.encode({"hooks": hooks}).decode().strip()
        line = [*AGENT.set_up(plan, run_dir), f"--settings={settings}"]
        prompt = f"{run_dir}/prompt.txt"
        if plan.reopens:
            return line
        return [*line, f"--allowed-tools=Read(/{prompt})", "--", f'{_TASK}"{prompt}"']

    def reader(self, sent: Callable[[int], Event | None]) -> ClaudeLiveReader:
        """Return a reader for one child. `sent` returns the message that has a number."""
        return ClaudeLiveReader(sent)


LIVE = ClaudeLive()


class ClaudeLiveReader(HookedReader):
    """Reads what the hooks of one Claude Code say."""

    def __init__(self, sent: Callable[[int], Event | None]) -> None:
        super().__init__()
        self.listen(sent)
        self._asking: dict[str, str] = {}  # question: the tool that may not be used yet
        self._counted: dict[str, None] = {}  # answers whose usage is known

    def kind(self, raw: Any) -> str:
        """Return the name of the hook, or the kind of a line of the bridge."""
        return raw_json.word(raw.get("hook_event_name")) or super().kind(raw)

    def _start(self, raw: dict[str, Any], _now: float) -> Reading:
        session = raw_json.key(raw.get("session_id"))
        self.model = raw_json.word(raw.get("model")) or self.model
        return Reading([] if session is None else [events.session_started(session, model=self.model)])

    def _used(self, raw: dict[str, Any], _now: float) -> Reading:
        """Report what one call of the model used: the transcript has a line for each block of its answer."""
        said = raw.get("message")
        message = said if isinstance(said, dict) else {}
        known = raw_json.key(message.get("id"))
        if known is None or known in self._counted or message.get("stop_reason") is None:
            return NOTHING
        raw_json.remember(self._counted, known, None)
        figures = figures_of(message.get("usage"))
        total = sum(figures.values())
        # That of a run: it may come behind the end of the turn, and is no work.
        told = events.usage(
            {**figures, "totalTokens": total, "cost": 0, "costKind": NO_COST, "basis": OF_RUN}
        )
        return Reading([told] if total else [])

    def _prompt(self, raw: dict[str, Any], _now: float) -> Reading:
        text = raw_json.text(raw.get("prompt")) or ""
        is_ours = text.startswith(_TASK) and not self.has_begun
        self.has_begun = True
        self.asks.open.clear()
        told = self.works_again()
        if not is_ours:
            self.typed = True
            told.append(events.human_input(text))
        return Reading(told, active=True)

    def _call(self, raw: dict[str, Any], now: float) -> Reading:
        told = self.works_again()
        told += self.call(raw.get("tool_use_id"), raw.get("tool_name"), raw.get("tool_input"), now)
        return Reading(told, active=True)

    def _done(self, raw: dict[str, Any], now: float) -> Reading:
        return self._ended(raw, _words(raw.get("tool_response")), now, failed=False)

    def _failed(self, raw: dict[str, Any], now: float) -> Reading:
        return self._ended(raw, raw_json.text(raw.get("error")) or "", now, failed=True)

    def _ended(self, raw: dict[str, Any], text: str, now: float, *, failed: bool) -> Reading:
        self.asks.open = {key: ask for key, ask in self.asks.open.items() if ask.id}
        return Reading(self.result(raw.get("tool_use_id"), text, now, failed=failed), active=True)

    def _ask(self, raw: dict[str, Any], _now: float) -> Reading:
        """Take a question. The bridge gives it an id, and says when it is closed."""
        ask = question(raw_json.text(raw.get("ask")) or "", {**raw, "input": raw.get("tool_input")})
        self.asks.ask(ask)
        self._asking[ask.id] = raw_json.word(raw.get("tool_name")) or "tool"
        return ACTIVE

    def _asks_no_longer(self, raw: dict[str, Any], _now: float) -> Reading:
        self.asks.open.pop(raw_json.text(raw.get("ask")) or "", None)
        return ACTIVE

    def _answered(self, raw: dict[str, Any], _now: float) -> Reading:
        """Report what our answer denies: no hook does."""
        ask = self.asks.answered(raw)
        if ask is None or ask.kind != PERMISSION or raw.get("answer") == ALLOW:
            return ACTIVE
        tool = self._asking[ask.id]
        call = next((known for known, (name, _) in reversed(self.calls.items()) if name == tool), None)
        return Reading([events.denied(call, tool, f"denied by {self.asks.given[ask.id][1]}")], active=True)

    def _stop(self, raw: dict[str, Any], _now: float) -> Reading:
        answer = raw_json.text(raw.get("last_assistant_message"))
        self.error_message = None
        return self.settle([events.assistant_text(answer)] if answer else [], "stop")

    def _stop_failure(self, raw: dict[str, Any], _now: float) -> Reading:
        self.error_message = raw_json.sentence(raw.get("last_assistant_message"))
        return self.settle([], "length" if raw.get("error") == "max_output_tokens" else "error")

    def _notice(self, raw: dict[str, Any], _now: float) -> Reading:
        """Conclude from its idleness that a turn was broken off: no hook says so at once."""
        if self.settled or not self.has_begun or raw.get("notification_type") != "idle_prompt":
            return NOTHING
        self.error_message = _NOT_DONE
        return self.settle([], "aborted")

    def _end(self, raw: dict[str, Any], _now: float) -> Reading:
        self.has_left = raw.get("reason") in _BY_A_PERSON
        return NOTHING

    takes: ClassVar = {
        "assistant": _used,
        "SessionStart": _start,
        "UserPromptSubmit": _prompt,
        "PreToolUse": _call,
        "PostToolUse": _done,
        "PostToolUseFailure": _failed,
        "PermissionRequest": _ask,
        "Notification": _notice,
        "Stop": _stop,
        "StopFailure": _stop_failure,
        "SessionEnd": _end,
        "bridge_taken": HookedReader.taken,
        "bridge_answer": _answered,
        "bridge_closed": _asks_no_longer,
    }


def _words(response: Any) -> str:
    """Return what a tool gave, as text."""
    if not isinstance(response, dict):
        return raw_json.text(response) or ""
    file = response.get("file")
    inner = file if isinstance(file, dict) else response
    said = [raw_json.text(inner.get(key)) for key in ("stdout", "stderr", "content", "filePath")]
    return next(filter(None, said), "")


_MODES = {
    words.READ_ONLY: "dontAsk",
    words.EDIT: "acceptEdits",
    words.FULL: "bypassPermissions",
    words.ASK: "default",
}
_MEANS = {mode: level for level, mode in _MODES.items()}
_READING = ("Read", "Grep", "Glob")
_NEVER = ("Task", "Agent", "Workflow", "CronCreate", "ScheduleWakeup", "ListAgents", "SendMessage")
# What may be named besides the tools that are ours, too.
_TOOLS = {
    "read": "Read",
    "bash": "Bash",
    "edit": "Edit",
    "write": "Write",
    "grep": "Grep",
    "find": "Glob",
    "ls": "Glob",  # it has no other tool that lists files
}


class Claude(Brand):
    """The adapter."""

    name = "claude"
    home_variable = "CLAUDE_CONFIG_DIR"
    program = "claude"
    how_to_install = "npm install -g @anthropic-ai/claude-code"
    how_to_log_in = "start claude and type /login, or set ANTHROPIC_API_KEY"
    tools = ("Read", "Bash", "Edit", "Write", "Grep", "Glob")

    def arguments(self, plan: Plan, run_dir: str) -> list[str]:
        """Return the flags of a batch run."""
        driven = ["-p", "--output-format=stream-json", "--input-format=stream-json", "--verbose"]
        asks = ["--permission-prompt-tool=stdio"] if plan.permission == words.ASK else []
        return [*driven, "--include-partial-messages", *asks, *self.set_up(plan, run_dir)]

    def set_up(self, plan: Plan, run_dir: str) -> list[str]:
        """Return the flags that a batch run and a live one share."""
        level = plan.permission or words.EDIT
        resumes = plan.child_session
        line = [f"--resume={resumes}" if resumes else f"--session-id={session_uuid(plan)}"]
        if plan.resolved_model and plan.model_source != "agent":
            line.append(f"--model={plan.resolved_model}")
        line += [f"--permission-mode={_MODES.get(level, _MODES[words.READ_ONLY])}"]
        tools = list(dict.fromkeys(plan.tools or ()))
        if level == words.READ_ONLY:
            tools = [tool for tool in tools if tool in _READING] if tools else list(_READING)
            line.append(f"--tools={','.join(tools)}")
        elif tools:
            line.append(f"--tools={','.join(tools)}")
        line += [f"--disallowed-tools={','.join(_NEVER)}", "--strict-mcp-config"]
        line += ["--setting-sources=user", "--add-dir=."]
        return line + _system_prompt(plan, run_dir)

    def environment(self, _agent_dir: str, plan: Plan | None) -> Mapping[str, str]:
        """Return what lets it read the CLAUDE.md of its folder, and, as root, do everything if it may."""
        own = {"CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1"}
        return own | ({"IS_SANDBOX": "1"} if plan and plan.permission == words.FULL else {})

    def key_variables(self, key: str, _provider: str | None) -> Mapping[str, str]:
        """Return the variable that gives it an API key; a token would take precedence."""
        return {"ANTHROPIC_API_KEY": key, "ANTHROPIC_AUTH_TOKEN": ""}

    def reader(self, plan: Plan, _run_dir: str) -> ClaudeReader:
        """Return a reader for one child."""
        return ClaudeReader(_cost_before(plan))

    def talker(self, plan: Plan, _run_dir: str) -> Talker:
        """Return what talks to one child."""
        from tmuxagents.agents.claude.reader import ClaudeTalker  # noqa: PLC0415  (a live child needs none)

        return ClaudeTalker(plan.run_id, _cost_before(plan))

    def live(self) -> LiveAgent:
        """Return how it runs live."""
        return LIVE

    def agent_files(self) -> AgentFiles:
        """Return what its own agent files mean."""
        from tmuxagents.agents import brand  # noqa: PLC0415  (only presets ask)

        return brand.USUAL.changed(
            agent=self.name,
            title="Claude Code",
            project=(".claude/agents",),
            tools={"read": ("read",), "bash": ("bash",), "edit": ("edit",), "multiedit": ("edit",)}
            | {"write": ("write",), "grep": ("grep",), "glob": ("find",), "ls": ("ls",)},
            own_tools=("WebFetch", "WebSearch", "TodoWrite", "NotebookEdit"),
            permission=("permissionMode", {"plan": words.READ_ONLY, **_MEANS}),
            harmless=("color", "background"),
        )

    def capabilities(self) -> words.Capabilities:
        """Return what it can do."""
        return words.USUAL.changed(
            seats=(words.DUPLEX, words.LIVE),
            permissions=words.PERMISSIONS,
            steer=True,
            system_prompt=(words.ADD, words.REPLACE),
            tools=_TOOLS,
            reads_tools=True,
            cost=words.ESTIMATED,
            oldest="2.1.328",
            tested="2.1.328",
        )


AGENT = Claude()


def _system_prompt(plan: Plan, run_dir: str) -> list[str]:
    """Return the flags of a system prompt; without the last a session that continues would ignore it."""
    own = "--system-prompt-file" if plan.preset_kind == "profile" else "--append-system-prompt-file"
    files = ((own, plan.system_prompt_path), ("--append-system-prompt-file", plan.append_system_prompt_path))
    line = [f"{flag}={path if path.startswith('/') else f'{run_dir}/{path}'}" for flag, path in files if path]
    return [*line, "--system-prompt-snapshot=off"] if line and plan.child_session else line


def _cost_before(plan: Plan) -> float:
    cost = (plan.baseline or {}).get("cost")
    return cost if isinstance(cost, (int, float)) else 0.0
