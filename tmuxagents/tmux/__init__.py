"""tmux: one server, by its socket. It decides nothing and prints nothing. Touches: tmux.

    windows  open, find, mark, close          clients  clients, showing a run, handing a terminal over
    status   what the status line shows       options  a person's options, read and given back
    servers  which server is which, without asking it     sessions  those of layouts

No text of a user is in any name, target, directory or format: ids and fixed words only (script). Every call
is bounded (runner). Sessions, windows and panes are libtmux's objects, made and commanded by `library`, which
alone imports it; docs/architecture.md lists what stays below it, and why.
"""

from __future__ import annotations

from tmuxagents.tmux import servers
from tmuxagents.tmux.runner import Denied, NoServer, Runner, TmuxRefused, Unanswered, client_version
from tmuxagents.tmux.servers import (
    Options,
    ServerLife,
    TmuxCaller,
    caller,
    is_denied,
    listening,
    may_be_made,
    refuse_impossible,
    socket_folder,
)
from tmuxagents.tmux.style import Status
from tmuxagents.tmux.windows import Home, Opened, Order, RunWindow, RunWindows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.tmux.clients import Clients
    from tmuxagents.tmux.library import BoundedServer
    from tmuxagents.tmux.place import ChosenServer
    from tmuxagents.tmux.servers import Keys
    from tmuxagents.tmux.sessions import Sessions

__all__ = [
    "Denied",
    "Home",
    "NoServer",
    "Opened",
    "Order",
    "RunWindow",
    "ServerLife",
    "Tmux",
    "TmuxCaller",
    "TmuxRefused",
    "Unanswered",
    "caller",
    "choose_place",
    "client_version",
    "is_denied",
    "listening",
    "may_be_made",
    "refuse_impossible",
    "socket_folder",
]


class Tmux:
    """One server, alive or not. If a call has to start it, `umask` is what windows of people get on it."""

    __slots__ = ("_runner", "options", "socket", "status", "windows")

    def __init__(self, socket: str, *, umask: int | None = None) -> None:
        self.socket = servers.resolved(socket)
        self._runner = Runner(self.socket, umask)
        self.windows = RunWindows(self._runner)
        self.status = Status(self._runner)
        self.options = Options(self._runner)

    @property
    def _library(self) -> BoundedServer:
        from tmuxagents.tmux.library import BoundedServer  # noqa: PLC0415  (40 ms)

        return BoundedServer(self._runner)

    @property
    def clients(self) -> Clients:
        """Return the access to clients."""
        from tmuxagents.tmux.clients import Clients  # noqa: PLC0415  (a launch needs none of it)

        return Clients(self._library)

    @property
    def sessions(self) -> Sessions:
        """Return what there is to do with sessions of layouts."""
        from tmuxagents.tmux.sessions import Sessions  # noqa: PLC0415  (a launch needs none of it)

        return Sessions(self._library)

    @property
    def keys(self) -> Keys:
        """Return what there is to do with keys."""
        from tmuxagents.tmux.servers import Keys  # noqa: PLC0415  (as above)

        return Keys(self._runner)

    def identity(self) -> ServerLife:
        """Return which life of which server answers. Raises NoServer and Unanswered."""
        (pid,) = self._runner.ask(["display-message", "-p", "#{pid}"])
        return servers.server_of(self.socket, int(pid))


def choose_place(
    environment: Mapping[str, str], *, flag: str | None, setting: str | None
) -> tuple[ChosenServer, TmuxCaller | None]:
    """Return the server that a call means, and where in tmux the caller is."""
    from tmuxagents.tmux import place  # noqa: PLC0415  (the watcher chooses none)

    inside = caller(environment)
    wanted = {
        place.FLAG: flag,
        place.ENVIRONMENT: environment.get("TMUXAGENTS_SOCKET"),
        place.SETTING: setting,
    }
    chosen = place.choose(
        wanted,
        folder=socket_folder(environment),
        caller=inside.server.socket if inside else None,
        caller_lives=inside is not None and inside.lives,
    )
    return chosen, inside
