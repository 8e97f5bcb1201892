"""Look at the machine, the agent, a person's files and the runs, all at once; nothing is mended."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from tmuxagents import configured
from tmuxagents.commands import examine_agent, examine_machine, examine_runs
from tmuxagents.core import checkup, place
from tmuxagents.core import settings as rules
from tmuxagents.edges import tmux
from tmuxagents.errors import TmuxAgentsError, Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from tmuxagents.commands.known import Caller
    from tmuxagents.core.checkup import Check
    from tmuxagents.core.place import Place

    Look = Callable[["Case"], Sequence[Check]]

# In the order in which they are told. Each is bounded; none waits for another.
LOOKS: tuple[tuple[str, Look], ...] = (
    ("tmux", examine_machine.program),
    ("server", examine_machine.server),
    ("access", examine_machine.access),
    ("state", examine_machine.state),
    ("disk", examine_machine.disk),
    ("proc", examine_machine.proc),
    ("inotify", examine_machine.inotify),
    ("agent", examine_agent.agent),
    ("node", examine_agent.node),
    ("rg", examine_agent.tools),
    ("pi", examine_agent.extension),
    ("presets", examine_agent.presets),
    ("keys", examine_agent.keys),
    ("settings", examine_agent.settings),
    ("registry", examine_runs.registry_file),
    ("watcher", examine_runs.watcher),
    ("runs", examine_runs.runs),
    ("processes", examine_runs.processes),
)


# What lies in the state directory: where that is not ours alone, only `state` is looked at, which says so.
_IN_STATE = ("access", "disk", "inotify", "agent", "registry", "watcher", "runs", "processes")


class Case:
    """What is looked at: who asks, where, with which settings, and which tmux server would be used."""

    def __init__(
        self, caller: Caller, folder: str, environment: Mapping[str, str], *, socket: str | None
    ) -> None:
        self.caller = caller
        self.folder = folder
        self.environment = environment
        self.settings = configured.load(environment, caller.project)
        self._socket = socket

    @property
    def place(self) -> Place:
        """Return which server would be used; raise BadRequest where what is set names none."""
        inside = tmux.caller(self.environment)
        wanted = {
            place.FLAG: self._socket,
            place.ENVIRONMENT: self.environment.get("TMUXAGENTS_SOCKET"),
            place.SETTING: self.settings.tmux_socket,
        }
        return place.choose(
            wanted,
            folder=tmux.socket_folder(self.environment),
            caller=inside.server.socket if inside else None,
            caller_lives=inside is not None and inside.lives,
        )


class Examined:
    """What was found."""

    __slots__ = ("at", "checks", "settings")

    def __init__(self, checks: list[Check], settings: list[tuple[str, Any, str]]) -> None:
        self.at = time.time()
        self.checks = checks
        self.settings = settings

    @property
    def ok(self) -> bool:
        """Say whether nothing is broken."""
        return not any(check.state == checkup.BROKEN for check in self.checks)

    def document(self, version: str) -> dict[str, Any]:
        """Return the document."""
        return {
            "v": 1,
            "at": round(self.at, 3),
            "version": version,
            "ok": self.ok,
            "checks": [check.document() for check in self.checks],
            "settings": [
                {"key": key, "value": value, "source": source} for key, value, source in self.settings
            ],
        }


def examine(case: Case) -> Examined:
    """Look at everything."""
    left_out = () if _is_ours(case.caller) else _IN_STATE
    looks = [(name, look) for name, look in LOOKS if name not in left_out]
    with ThreadPoolExecutor(len(looks)) as pool:
        looked = [pool.submit(_guarded, name, look, case) for name, look in looks]
        checks = [check for one in looked for check in one.result()]
    return Examined(checks, rules.rows(case.settings))


def _is_ours(caller: Caller) -> bool:
    """Say whether the state directory is ours alone."""
    try:
        return bool(caller.home)
    except Unusable:
        return False


def _guarded(name: str, look: Look, case: Case) -> Sequence[Check]:
    """Look; what refuses says by itself what to do."""
    try:
        return look(case)
    except TmuxAgentsError as error:
        return [checkup.broken(name, error.message, error.hint)]
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return [
            checkup.broken(name, f"{where}{error.strerror}", "is this program kept from it by a sandbox?")
        ]
