"""How to call Gemini CLI (`--output-format stream-json`). Pure.

What a user must know. `edit` lets it change files, not run commands: what a level does not allow is not even
offered to the model, which may then say that it is done. So nothing is denied, and `completed` means only
that the model's last answer is whole. `--skip-trust` is always given, since it refuses to work without a
person in a folder that was never trusted: the project's own `.gemini` settings count. A prompt that starts
with `/` is a command of its own, and `@path` in a prompt includes that file. It cannot run live: it takes
hooks from the user's or the project's settings, and from a system file only if root owns it and all folders
above it.
"""

from __future__ import annotations

from tmuxagents.agents.brand import Brand, session_uuid
from tmuxagents.agents.gemini.reader import TOOLS, GeminiReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.agents.agent_files import AgentFiles
    from tmuxagents.agents.capabilities import Capabilities
    from tmuxagents.records import Plan

_MODES = {"read-only": "default", "edit": "auto_edit", "full": "yolo"}


class Gemini(Brand):
    """The adapter."""

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
        """Return what its own agent files mean."""
        from tmuxagents.agents import agent_files  # noqa: PLC0415  (only presets ask)

        return agent_files.USUAL.changed(
            agent=self.name,
            title="Gemini CLI",
            own=".gemini/agents",
            project=(".gemini/agents",),
            tools={"read_file": ("read",), "run_shell_command": ("bash",), "replace": ("edit",)}
            | {"write_file": ("write",), "grep_search": ("grep",), "search_file_content": ("grep",)}
            | {"glob": ("find",), "list_directory": ("ls",)},
        )

    def capabilities(self) -> Capabilities:
        """Return what it can do."""
        from tmuxagents.agents import capabilities as can  # noqa: PLC0415  (no wrapper needs them)

        return can.USUAL.changed(
            oldest="0.61.0",
            tested="0.61.0",
        )


AGENT = Gemini()
