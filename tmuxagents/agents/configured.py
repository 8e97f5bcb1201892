"""Agents that the user's own settings define: any command, or one that speaks ACP. Pure.

A command gets the prompt on its stdin; its stdout is the answer, and its exit code is the evidence. ACP
carries prompt, session, mode and model, so nothing is added to the command line.
"""

from __future__ import annotations

from tmuxagents.agents.base import Agent, Reader, Reading
from tmuxagents.agents.capabilities import EDIT
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.agents.acp.talker import AcpTalker
    from tmuxagents.agents.base import Oversized
    from tmuxagents.agents.capabilities import Capabilities
    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event

# The command lines of agents, by their usual names.
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
        # Gemini CLI loads no session in the minute of its start, and has lost one that was loaded twice.
        self.keeps_sessions = self.program != "gemini"
        self.how_to_install = f"as its own documentation says; agents.{name}.command names its command line"

    def environment(self, _agent_dir: str, plan: Plan | None) -> Mapping[str, str]:
        """Return the rules that opencode needs for a permission level: its modes forbid nothing."""
        words = plan.agent_command if plan and plan.agent_command else (self.program,)
        # Another program may start opencode: `npx opencode-ai acp`.
        names = [word.rpartition("/")[2] for word in words]
        if plan is None or not any(name.startswith("opencode") for name in names):
            return {}
        from tmuxagents.agents.opencode import command as opencode  # noqa: PLC0415  (others do not need it)

        return opencode.permission(plan.permission or EDIT)

    def reader(self, plan: Plan, run_dir: str) -> Reader:
        """Return the talker, which reads as well."""
        return self.talker(plan, run_dir)

    def talker(self, plan: Plan, _run_dir: str) -> AcpTalker:
        """Return a talker for one child."""
        from tmuxagents.agents.acp.talker import AcpTalker  # noqa: PLC0415  (a launcher needs no talker)

        return AcpTalker(plan, self.name)

    def capabilities(self) -> Capabilities:
        """Return what the protocol can do. If an agent lacks a part of it, the run ends before its prompt."""
        from tmuxagents.agents import capabilities as can  # noqa: PLC0415  (no wrapper needs them)

        return can.Capabilities(
            seats=(can.DUPLEX,),
            permissions=can.PERMISSIONS,
            steer=True,
            cost=can.ESTIMATED,
        )


class Command(Agent):
    """A command of the user's settings with the type `command`."""

    how_to_log_in = "nothing is known of its models"
    keeps_sessions = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.program = name
        self.how_to_install = f"as its own documentation says; agents.{name}.command names its command line"

    def reader(self, _plan: Plan, _run_dir: str) -> Reader:
        """Return a reader for one child."""
        return TextReader()

    def capabilities(self) -> Capabilities:
        """Return the capabilities of a command: it takes a prompt, answers, and exits."""
        from tmuxagents.agents import capabilities as can  # noqa: PLC0415  (no wrapper needs them)

        return can.Capabilities(
            seats=(can.COMMAND,),
            takes_model=False,
            permissions=(),
            default_permission=None,
            resume=False,
            evidence=can.BY_EXIT,
        )


KINDS = {"acp": Acp, "command": Command}

# --- the output of a command ---

MOST_LETTERS = 1024 * 1024  # of an answer: its beginning is kept
_CUT = "\n[... cut: the answer is longer; stdout.log has all of it ...]"


class TextReader(Reader):
    """Reads the text of one child."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []
        self._room = MOST_LETTERS

    def feed(self, line: bytes, _now: float) -> Reading:
        """Read one line of the answer."""
        text = line.decode("utf-8", "replace")
        if len(text) >= self._room:
            self.left_out = True
            text, self._room = text[: self._room], 0
        if self._room or text:
            self._lines.append(text)
        self._room = max(0, self._room - len(text) - 1)
        return Reading(active=True, plain=line.decode("utf-8", "replace"))

    def feed_oversized(self, line: Oversized, now: float) -> Reading:
        """Read the beginning of a line that was too long to keep."""
        self.left_out = True
        return self.feed(line.head, now)

    def ended(self, exit_code: int | None, _text: bytes | None = None) -> list[Event]:
        """Return the answer and, if the command exited with 0, the end of its turn."""
        text = "\n".join(self._lines) + (_CUT if self.left_out else "")
        reported = [events.assistant_text(text)] if text.strip() else []
        if exit_code != 0:
            return reported
        self.settled = True
        return [*reported, events.turn_end("stop", evidence="exit"), events.settled(aborted=False)]
