"""How to call an agent that speaks ACP: the command of the user's settings, or a known launch line. Pure.

Prompt, session, mode and model go over the protocol: nothing is added to the command line.
"""

from __future__ import annotations

from tmuxagents.agents.brand import Brand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.agents.acp.talker import AcpTalker
    from tmuxagents.agents.base import Questions, Reader
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


class Acp(Brand):
    """An agent of the user's settings with the type `acp`."""

    how_to_log_in = "log in with the agent itself"

    def __init__(self, name: str) -> None:
        self.name = name
        self.launch: Sequence[str] = LAUNCH.get(name, (name,))
        self.program = self.launch[0]
        self.how_to_install = f"as its own documentation says; agents.{name}.command names its command line"

    def arguments(self, _plan: Plan, _run_dir: str) -> list[str]:
        """Return nothing: its command line is whole."""
        return []

    def reader(self, plan: Plan, run_dir: str) -> Reader:
        """Return the talker, which reads as well."""
        return self.talker(plan, run_dir)

    def talker(self, plan: Plan, _run_dir: str) -> AcpTalker:
        """Return what talks to one child."""
        from tmuxagents.agents.acp.talker import AcpTalker  # noqa: PLC0415  (a launcher needs no talker)

        return AcpTalker(plan, self.name)

    def questions(self) -> Questions:
        """Return no questions."""
        from tmuxagents.agents import version_question  # noqa: PLC0415  (no wrapper asks)

        return version_question.NoQuestion(None)

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
