"""Any command as an agent: the prompt on its stdin, its stdout is the answer, its exit code is the evidence.

Pure.
"""

from __future__ import annotations

from tmuxagents.agents.base import Agent, Reader, Reading
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.agents.base import Oversized
    from tmuxagents.agents.capabilities import Capabilities
    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event

MOST_LETTERS = 1024 * 1024  # of an answer: its beginning is kept
_CUT = "\n[... cut: the answer is longer; stdout.log has all of it ...]"


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
        """Return what a command can do: take a prompt, answer, and exit."""
        from tmuxagents.agents import capabilities as can  # noqa: PLC0415  (no wrapper needs them)

        return can.USUAL.changed(
            seats=(can.COMMAND,),
            takes_model=False,
            permissions=(),
            default_permission=None,
            resume=False,
            evidence=can.BY_EXIT,
        )


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
        """Read what is left of a line that was too long to keep."""
        self.left_out = True
        return self.feed(line.head, now)

    def ended(self, exit_code: int | None, _text: bytes | None = None) -> list[Event]:
        """Return the answer and, if it exited with 0, that this is the end of it."""
        text = "\n".join(self._lines) + (_CUT if self.left_out else "")
        told = [events.assistant_text(text)] if text.strip() else []
        if exit_code != 0:
            return told
        self.settled = True
        return [*told, events.turn_end("stop", evidence="exit"), events.settled(aborted=False)]


AGENT = Command  # by a name of the user's
