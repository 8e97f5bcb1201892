"""What the readers of all live agents with hooks share: the end of a turn, messages that were taken. Pure."""

from __future__ import annotations

from tmuxagents.agents.base import Reading
from tmuxagents.agents.brand import LineReader, LiveReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.runs.events import Event


HOOK = f"{__file__.rpartition('/')[0]}/hook.py"
PYTHON = "TMUXAGENTS_PYTHON"  # the variable in which the hooks find our Python
PATIENT = "PermissionRequest"  # the hook that waits as long as a question is open (see hook.py)


def hook_command(name: str = "") -> str:
    """Return the command line of a hook, for a shell; `name`: for agents that do not say it themselves."""
    return f'"${PYTHON}" -I -S "{HOOK}" {name}'.rstrip()


class HookedReader(LiveReader, LineReader):
    """Reads the lines of the bridge of one live agent."""

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:
        """Read a line of the bridge: a message that the child has taken."""
        if kind != "bridge_taken":
            return super().take(kind, raw, now)
        taken = self.taken(raw)
        return Reading([*self.works_again(), *taken] if taken else [], active=True)

    def settle(self, told: list[Event], stop_reason: str) -> Reading:
        """Report the end of a turn."""
        self.asks.open.clear()
        told = [*self.works_again(), *told, *self.finish(stop_reason, aborted=stop_reason == "aborted")]
        self.count_settling(told[-1])
        return Reading(told, active=True)
