"""What the readers of all live agents with hooks share: presence, typing, messages that were taken. Pure."""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import Reading
from tmuxagents.agents.brand import LineReader, LiveAsks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tmuxagents.runs.events import Event


HOOK = f"{__file__.rpartition('/')[0]}/hook.py"
PYTHON = "TMUXAGENTS_PYTHON"  # the variable in which the hooks find our Python
PATIENT = "PermissionRequest"  # the hook that waits as long as a question is open (see hook.py)
FOLDER_VARIABLE = "TMUXAGENTS_BRIDGE"  # where the bridge finds its two FIFOs


def hook_command(name: str = "") -> str:
    """Return the command line of a hook, for a shell; `name`: for agents that do not say it themselves."""
    return f'"${PYTHON}" -I -S "{HOOK}" {name}'.rstrip()


class HookedReader(LineReader):
    """Reads the lines of the bridge of one live agent."""

    def listen(self, sent: Callable[[int], Event | None]) -> None:
        """Begin. `sent` returns the message that has a number."""
        self._sent = sent
        self.is_connected = False
        self.has_begun = False
        self.typed = False
        self.has_left = False  # by a person
        self.asks = LiveAsks()
        self.settlings = 0

    def feed(self, line: bytes, now: float) -> Reading:
        """Read one line."""
        self.is_connected = True
        return super().feed(line, now)

    def settle(self, told: list[Event], stop_reason: str) -> Reading:
        """Report the end of a turn."""
        self.asks.open.clear()
        self.settlings += 1
        told = [*self.works_again(), *told, *self.finish(stop_reason, aborted=stop_reason == "aborted")]
        told[-1].fields["attended"] = self.typed
        return Reading(told, active=True)

    def taken(self, raw: dict[str, Any], _now: float) -> Reading:
        """Report a message that the child has taken."""
        number = raw_json.whole(raw.get("inboxId"))
        sent = None if number is None else self._sent(number)
        return Reading([] if sent is None else [*self.works_again(), sent], active=True)
