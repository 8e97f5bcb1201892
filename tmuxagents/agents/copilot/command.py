"""How to call GitHub Copilot CLI (`--output-format json`). Pure.

What a user must know. `edit` lets it change files below its folder and run commands that only read;
`read-only` denies all commands and changes; `full` allows everything, also outside of its folder. It tells
what it used when it has ended, and in tokens alone: there is no cost in money. The text of a preset comes as
custom instructions, beside the user's.
"""

from __future__ import annotations

from tmuxagents.agents.brand import Brand, session_uuid
from tmuxagents.agents.copilot.reader import USAGE, CopilotReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.agents.agent_files import AgentFiles
    from tmuxagents.agents.base import LiveAgent
    from tmuxagents.agents.capabilities import Capabilities
    from tmuxagents.records import Plan

_FOLDERS = "COPILOT_CUSTOM_INSTRUCTIONS_DIRS"
_ALLOWED = {
    "read-only": ("--deny-tool=write", "--deny-tool=shell"),
    "edit": ("--allow-tool=write",),
    "full": ("--allow-all",),
}


class Copilot(Brand):
    """The adapter."""

    name = "copilot"
    program = "copilot"
    how_to_install = "npm install -g @github/copilot"
    how_to_log_in = "run: copilot login"
    home_variable = "COPILOT_HOME"
    prompt_link = "preset.instructions.md"
    tools = ("view", "bash", "edit", "create", "grep", "glob")

    def arguments(self, plan: Plan, run_dir: str) -> list[str]:
        """Return the flags of a batch run. The task goes to stdin."""
        driven = ["--output-format", "json", "--usage-output-file", f"{run_dir}/{USAGE}", "--no-ask-user"]
        return [*driven, *self.set_up(plan)]

    def set_up(self, plan: Plan) -> list[str]:
        """Return the flags that a batch run and a live one share."""
        line = ["--no-auto-update", *_ALLOWED[plan.permission or "edit"]]
        if plan.tools:
            line.append(f"--available-tools={','.join(plan.tools)}")
        if plan.resolved_model:
            line += ["--model", plan.resolved_model]
        if plan.child_session:
            return [*line, f"--resume={plan.child_session}"]
        return [*line, "--session-id", session_uuid(plan)]

    def environment(self, _agent_dir: str, _plan: Plan | None) -> dict[str, str]:
        """Return that the level decides, and not a variable of the user's."""
        return {"COPILOT_ALLOW_ALL": "false", "COPILOT_AUTO_UPDATE": "false"}

    def prompted(self, path: str, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Return the run's folder as one more with instructions: only files of such a name count there."""
        return {_FOLDERS: ",".join(filter(None, (environment.get(_FOLDERS), path.rpartition("/")[0])))}

    def live(self) -> LiveAgent:
        """Return how it runs live."""
        from tmuxagents.agents.copilot import live  # noqa: PLC0415  (a batch child pays nothing for it)

        return live.LIVE

    def reader(self, plan: Plan, _run_dir: str) -> CopilotReader:
        """Return a reader for one child."""
        return CopilotReader(plan.child_session or session_uuid(plan), plan.baseline or {})

    def agent_files(self) -> AgentFiles:
        """Return what its own agent files mean."""
        from tmuxagents.agents import agent_files  # noqa: PLC0415  (only presets ask)

        return agent_files.USUAL.changed(
            agent=self.name,
            title="Copilot CLI",
            project=(".github/agents",),
            titled=False,
            tools=dict.fromkeys(("execute", "shell", "bash", "powershell"), ("bash",))
            | dict.fromkeys(("read", "view", "notebookread"), ("read", "ls"))
            | dict.fromkeys(("edit", "multiedit", "write", "create", "notebookedit"), ("edit", "write"))
            | {"search": ("grep", "find"), "grep": ("grep",), "glob": ("find",)},
            harmless=("target", "infer", "user-invocable", "disable-model-invocation"),
        )

    def capabilities(self) -> Capabilities:
        """Return what it can do."""
        from tmuxagents.agents import capabilities as can  # noqa: PLC0415  (no wrapper needs them)

        return can.USUAL.changed(
            seats=(can.STREAM, can.LIVE),
            system_prompt=(can.ADD,),
            tools={"read": "view", "bash": "bash", "edit": "edit", "write": "create", "grep": "grep"}
            | {"find": "glob", "ls": "view"},
            reads_tools=True,
            usage=can.OF_SESSION,
            oldest="1.0.102",
            tested="1.0.102",
        )


AGENT = Copilot()
