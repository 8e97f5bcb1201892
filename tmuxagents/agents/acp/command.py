"""How to call an agent that speaks ACP: the command of the user's settings, or a known launch line. Pure.

Prompt, session, mode and model go over the protocol: nothing is added to the command line.
"""

from __future__ import annotations

from tmuxagents.agents.base import Agent
from tmuxagents.agents.capabilities import EDIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.agents.acp.talker import AcpTalker
    from tmuxagents.agents.base import Reader
    from tmuxagents.agents.capabilities import Capabilities
    from tmuxagents.records import Plan

# Launch lines of agents by the names that people call them by.
LAUNCH = {
    "auggie": ("auggie", "--acp"),
    "claude-acp": ("claude-agent-acp",),
    "codex-acp": ("codex-acp",),
    "copilot-acp": ("copilot", "--acp"),
    "cursor": ("cursor-agent", "acp"),
    "gemini-acp": ("gemini", "--acp"),
    "goose": ("goose", "acp"),
    "kimi": ("kimi", "acp"),
    "opencode-acp": ("opencode", "acp"),
    "pi-acp": ("pi-acp",),
    "qwen-acp": ("qwen", "--acp"),
    "vibe": ("vibe-acp",),
}


class Acp(Agent):
    """An agent of the user's settings with the type `acp`."""

    how_to_log_in = "log in with the agent itself"

    def __init__(self, name: str) -> None:
        self.name = name
        self.program, *self.program_arguments = LAUNCH.get(name, (name,))
        # Gemini CLI loads none in the minute in which it began, and has lost one that it tried to load twice.
        self.keeps_sessions = self.program != "gemini"
        self.how_to_install = f"as its own documentation says; agents.{name}.command names its command line"

    def environment(self, _agent_dir: str, plan: Plan | None) -> Mapping[str, str]:
        """Return the rules that opencode needs for a permission level: its modes forbid nothing."""
        program = plan.agent_command[0] if plan and plan.agent_command else self.program
        if plan is None or program.rpartition("/")[2] != "opencode":
            return {}
        from tmuxagents.agents.opencode import command as opencode  # noqa: PLC0415  (others need it not)

        return opencode.permission(plan.permission or EDIT)

    def reader(self, plan: Plan, run_dir: str) -> Reader:
        """Return the talker, which reads as well."""
        return self.talker(plan, run_dir)

    def talker(self, plan: Plan, _run_dir: str) -> AcpTalker:
        """Return what talks to one child."""
        from tmuxagents.agents.acp.talker import AcpTalker  # noqa: PLC0415  (a launcher needs no talker)

        return AcpTalker(plan, self.name)

    def capabilities(self) -> Capabilities:
        """Return what the protocol can do; what an agent lacks of it ends the run before its prompt."""
        from tmuxagents.agents import capabilities as can  # noqa: PLC0415  (no wrapper needs them)

        return can.USUAL.changed(
            seats=(can.DUPLEX,),
            permissions=can.PERMISSIONS,
            steer=True,
            cost=can.ESTIMATED,
        )


AGENT = Acp  # by a name of the user's
