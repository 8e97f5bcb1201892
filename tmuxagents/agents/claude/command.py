"""How to call Claude Code, and how to read a live one. Pure.

In a batch run, Claude Code's stdin stays open: prompt, messages and answers are lines of JSON.

- A child uses the user's settings. From its folder it reads only CLAUDE.md; from the folders above, nothing.
  Without a terminal, Claude Code does not ask whether to trust a folder. So it would run the hooks of any
  cloned repository.
- `read-only` allows a list of tools that read, and denies anything that needs a question. It is not Claude
  Code's plan mode, in which a service judges shell commands, and answers are plans. `edit` may also change
  files; other shell commands are denied. With `full`, nothing is checked. With `ask`, Claude Code sends
  each question to the wrapper.
- A child may not start sub-agents or timers, or talk to other sessions. Only tmuxagents launches runs.
- A session keeps the system prompt of its first run, unless a later run has one of its own.

A live child has hooks in `--settings`, and each hook sends its input to our bridge. Claude Code takes a first
prompt only from its command line, so the command line holds one sentence with the path of the prompt file.
Messages go in by hooks, too: after the next tool, or when Claude Code is about to stop. A message that
arrives while Claude Code is idle is not delivered. Usage comes from Claude Code's transcript. No hook reports
that a person has denied a call.
"""

from __future__ import annotations

from tmuxagents.agents import capabilities as words
from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Agent, LiveAgent, Reading, inside
from tmuxagents.agents.brand import PATIENT, HookedReader, hook_command, session_uuid, usage_of
from tmuxagents.agents.claude.reader import ClaudeReader, figures_of
from tmuxagents.agents.envelope import ALLOW, PERMISSION, question
from tmuxagents.runs import events
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.agents.base import Sent, Talker
    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event


BRIDGE = f"{__file__.rpartition('/')[0]}/bridge.py"
_HOOKS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
    *("Notification", "Stop", "StopFailure", "SessionEnd"),
)
_ASKS_S = 7 * 24 * 3600  # how long a question may wait for our answer
_TASK = "Do the task in this file: @"
_MODES = {
    words.READ_ONLY: "dontAsk",
    words.EDIT: "acceptEdits",
    words.FULL: "bypassPermissions",
    words.ASK: "default",
}
_MEANS = {mode: level for level, mode in _MODES.items()}
_READING = ("Read", "Grep", "Glob")
_NEVER = ("Task", "Agent", "Workflow", "CronCreate", "ScheduleWakeup", "ListAgents", "SendMessage")
# Our names of tools -> its own.
_TOOLS = {
    "read": "Read",
    "bash": "Bash",
    "edit": "Edit",
    "write": "Write",
    "grep": "Grep",
    "find": "Glob",
    "ls": "Glob",  # Claude Code has no other tool that lists files
}


class Claude(Agent):
    """The agent Claude Code."""

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
        """Return the flags that batch and live runs share."""
        level = plan.permission or words.EDIT
        resumes = plan.child_session
        line = [f"--resume={resumes}" if resumes else f"--session-id={session_uuid(plan)}"]
        if plan.resolved_model and plan.model_source != "agent":
            line.append(f"--model={plan.resolved_model}")
        line += [f"--permission-mode={_MODES.get(level, _MODES[words.READ_ONLY])}"]
        tools = list(dict.fromkeys(plan.tools or ()))
        if level == words.READ_ONLY:
            tools = [tool for tool in tools if tool in _READING] if tools else list(_READING)
        if tools or level == words.READ_ONLY:
            line.append(f"--tools={','.join(tools)}")
        line += [f"--disallowed-tools={','.join(_NEVER)}", "--strict-mcp-config"]
        line += ["--setting-sources=user", "--add-dir=."]
        own = "--system-prompt-file" if plan.preset_kind == "profile" else "--append-system-prompt-file"
        added = "--append-system-prompt-file"
        files = ((own, plan.system_prompt_path), (added, plan.append_system_prompt_path))
        prompts = [f"{flag}={inside(path, run_dir)}" for flag, path in files if path]
        if prompts and resumes:  # otherwise the continued session would ignore them
            prompts.append("--system-prompt-snapshot=off")
        return line + prompts

    def environment(self, _agent_dir: str, plan: Plan | None) -> Mapping[str, str]:
        """Return the variables that let a child read its folder's CLAUDE.md, and permit `full` to root."""
        own = {"CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1"}
        return own | ({"IS_SANDBOX": "1"} if plan and plan.permission == words.FULL else {})

    def key_variables(self, key: str, _provider: str | None) -> Mapping[str, str]:
        """Return the variables that give an API key, and clear the token, which would take precedence."""
        return {"ANTHROPIC_API_KEY": key, "ANTHROPIC_AUTH_TOKEN": ""}

    def reader(self, plan: Plan, _run_dir: str) -> ClaudeReader:
        """Return a reader for one child."""
        return ClaudeReader(_cost_before(plan))

    def talker(self, plan: Plan, _run_dir: str) -> Talker:
        """Return a talker for one child."""
        from tmuxagents.agents.claude.reader import ClaudeTalker  # noqa: PLC0415  (a live child needs none)

        return ClaudeTalker(plan.run_id, _cost_before(plan))

    def live(self) -> LiveAgent:
        """Return its live form."""
        return LIVE

    def live_arguments(self, plan: Plan, run_dir: str) -> list[str]:
        """Return the flags of a live run."""
        one = {"type": "command", "command": hook_command()}
        hooks: dict[str, Any] = {name: [{"hooks": [one]}] for name in _HOOKS}
        asks = {"type": "command", "command": hook_command(PATIENT), "timeout": _ASKS_S}
        hooks[PATIENT] = [{"hooks": [asks]}]
        settings = jsonline.encode({"hooks": hooks}).decode().strip()
        line = [*self.set_up(plan, run_dir), f"--settings={settings}"]
        if plan.reopens:
            return line
        prompt = f"{run_dir}/prompt.txt"
        return [*line, f"--allowed-tools=Read(/{prompt})", "--", f'{_TASK}"{prompt}"']

    def agent_files(self) -> words.AgentFiles:
        """Return where its own agent files are, and what they mean."""
        return words.AgentFiles(
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
        """Return its capabilities."""
        return words.Capabilities(
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


def _cost_before(plan: Plan) -> float:
    cost = (plan.baseline or {}).get("cost")
    return cost if isinstance(cost, (int, float)) else 0.0


# --- a live one ---


class ClaudeLiveReader(HookedReader):
    """Reads the hooks and the transcript of one live Claude Code, as the bridge passes them on."""

    left_by: Sequence[str] = ("prompt_input_exit", "logout", "clear")

    def __init__(self, sent: Sent) -> None:
        super().__init__(sent)
        self._asking: dict[str, str] = {}  # question -> the tool that it asks about
        self._counted: dict[str, None] = {}  # answers whose usage is counted

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:  # noqa: PLR0911  (a case for each hook)
        """Read the input of a hook, a line of the transcript, or a line of the bridge."""
        tool = raw.get("tool_name")
        match kind:
            case "SessionStart":
                session = raw_json.key(raw.get("session_id"))
                self.model = raw_json.word(raw.get("model")) or self.model
                return Reading([events.session_started(session, model=self.model)] if session else [])
            case "UserPromptSubmit":
                text = raw_json.text(raw.get("prompt")) or ""
                is_ours = text.startswith(_TASK) and not self.has_begun
                self.has_begun = True
                self.asks.open.clear()
                reported = self.works_again()
                return Reading(reported if is_ours else [*reported, self.human_input(text)], active=True)
            case "assistant":
                return Reading(self._used(raw_json.table(raw.get("message"))))
            case "PreToolUse":
                call = self.call(raw.get("tool_use_id"), tool, raw.get("tool_input"), now)
                return Reading([*self.works_again(), *call], active=True)
            case "PostToolUse" | "PostToolUseFailure":
                failed = kind == "PostToolUseFailure"
                output = raw_json.text(raw.get("error")) or "" if failed else _words(raw.get("tool_response"))
                # The bridge reports no end of a question without an id. The end of a call shows it.
                self.asks.open = {key: ask for key, ask in self.asks.open.items() if ask.id}
                return Reading(self.result(raw.get("tool_use_id"), output, now, failed=failed), active=True)
            case "PermissionRequest":  # the bridge gives it an id, and reports when it is closed
                ask = question(raw_json.text(raw.get("ask")) or "", {**raw, "input": raw.get("tool_input")})
                self.asks.ask(ask)
                self._asking[ask.id] = raw_json.word(tool) or "tool"
                return ACTIVE
            case "bridge_closed":
                self.asks.open.pop(raw_json.text(raw.get("ask")) or "", None)
                return ACTIVE
        return super().take(kind, raw, now)

    def _used(self, message: dict[str, Any]) -> list[Event]:
        """Report the usage of a model call once: the transcript has a line for each block of its answer."""
        message_id = raw_json.key(message.get("id"))
        if message_id is None or message_id in self._counted or message.get("stop_reason") is None:
            return []
        raw_json.remember(self._counted, message_id, None)
        # Counted for the run: it may come after the end of the turn, and does not show work.
        return usage_of(figures_of(message.get("usage")), words.OF_RUN)

    def answered(self, raw: dict[str, Any]) -> list[Event]:
        """Report a call that our answer has denied, since no hook reports it."""
        ask = self.asks.answered(raw)
        if ask is None or ask.kind != PERMISSION or raw.get("answer") == ALLOW:
            return []
        tool = self._asking[ask.id]
        call = next((call_id for call_id, (name, _) in reversed(self.calls.items()) if name == tool), None)
        return [events.denied(call, tool, f"denied by {self.asks.given[ask.id][1]}")]

    def stopped(self, hook: str, raw: dict[str, Any]) -> Reading:
        """Report the end of a turn."""
        last_message = raw.get("last_assistant_message")
        if hook == "Stop":
            self.error_message, answer = None, raw_json.text(last_message)
            return self.settle([events.assistant_text(answer)] if answer else [], "stop")
        if hook == "StopFailure":
            self.error_message = raw_json.sentence(last_message)
            return self.settle([], "length" if raw.get("error") == "max_output_tokens" else "error")
        if raw.get("notification_type") != "idle_prompt":
            return NOTHING
        self.error_message = "The child did not end its turn."
        return self.settle([], "aborted")


def _words(response: Any) -> str:
    """Return the output of a tool as text."""
    if not isinstance(response, dict):
        return raw_json.text(response) or ""
    file = response.get("file")
    inner = file if isinstance(file, dict) else response
    texts = [raw_json.text(inner.get(key)) for key in ("stdout", "stderr", "content", "filePath")]
    return next(filter(None, texts), "")


LIVE = LiveAgent(AGENT.live_arguments, ClaudeLiveReader, BRIDGE)
