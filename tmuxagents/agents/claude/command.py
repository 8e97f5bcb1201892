"""How to call Claude Code, with its stdin kept open: prompt, messages and answers are lines of JSON.

- A child takes the user's settings, and of its folder only CLAUDE.md, not those of folders above. Without a
  terminal Claude Code asks nobody whether to trust a folder, and would run the hooks of any clone.
- `read-only` is a list of tools that read, and anything that would ask is denied: plan mode runs shell
  commands that a service judges, and its answers are plans. `edit` may change files; a shell command that
  does more is denied. `full` is checked by nobody. `ask` asks us.
- It starts no agents of its own, no timers, and talks to no other session: what launches runs is
  tmuxagents.
- The system prompt of a session is that of its first run, unless a later run has one of its own.

Pure.
"""

from __future__ import annotations

from tmuxagents.agents import capabilities as words
from tmuxagents.agents.brand import Brand, session_uuid
from tmuxagents.agents.claude.reader import ClaudeReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.agents.agent_files import AgentFiles
    from tmuxagents.agents.base import LiveAgent, Talker
    from tmuxagents.records import Plan

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
        from tmuxagents.agents.claude.talker import ClaudeTalker  # noqa: PLC0415  (a live child needs none)

        return ClaudeTalker(plan.run_id, _cost_before(plan))

    def live(self) -> LiveAgent:
        """Return how it runs live."""
        from tmuxagents.agents.claude import live  # noqa: PLC0415  (a batch child pays nothing for it)

        return live.LIVE

    def agent_files(self) -> AgentFiles:
        """Return what its own agent files mean."""
        from tmuxagents.agents import agent_files  # noqa: PLC0415  (only presets ask)

        return agent_files.USUAL.changed(
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
