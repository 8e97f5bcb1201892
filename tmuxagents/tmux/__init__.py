"""The access to one tmux server, by its socket. This folder decides nothing, prints nothing. Touches: tmux.

    windows  a run's window: open, find, mark, close      clients  showing a run, handing a terminal over
    style    the look of sessions, the status line        sessions  those of layouts
    servers  the identity of a server, without asking it  place  the choice of a server for a run

Names, targets, directories and formats hold no text of a user, only ids and fixed words (script). Every call
has a time limit (runner). Sessions, windows and panes are objects of libtmux, which only `library` imports.
docs/architecture.md lists the calls that do without libtmux, and why.
"""

from __future__ import annotations

from tmuxagents.tmux import script, servers
from tmuxagents.tmux.runner import Denied, NoServer, Runner, TmuxRefused, Unanswered, client_version, no_tmux
from tmuxagents.tmux.servers import (
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
    from collections.abc import Iterable, Mapping

    from tmuxagents.tmux.clients import Clients
    from tmuxagents.tmux.library import BoundedServer
    from tmuxagents.tmux.place import ChosenServer
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
    "no_tmux",
    "refuse_impossible",
    "socket_folder",
]


class Tmux:
    """One server, alive or not. If a call has to start it, windows that people open there get `umask`."""

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
        """Return the access to sessions of layouts."""
        from tmuxagents.tmux.sessions import Sessions  # noqa: PLC0415  (a launch needs none of it)

        return Sessions(self._library)

    @property
    def keys(self) -> Keys:
        """Return the access to keys."""
        return Keys(self._runner)

    def identity(self) -> ServerLife:
        """Return which life of which server answers. Raises NoServer and Unanswered."""
        (pid,) = self._runner.ask(["display-message", "-p", "#{pid}"])
        return servers.server_of(self.socket, int(pid))


def choose_place(
    environment: Mapping[str, str], *, flag: str | None, setting: str | None
) -> tuple[ChosenServer, TmuxCaller | None]:
    """Return the server that a call means, and the caller's place in tmux."""
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


# --- options and keys as a person has set them ------------------------------------------------------------
#
# They are read and written back unchanged. This goes around libtmux, which changes values when it reads them
# (`007`, `on`, `$HOME`), knows no key bindings, and would put a text on tmux's command line. That line is
# limited to 16 KB, and every process can read it.


class Options:
    """A server's global options."""

    __slots__ = ("_runner",)

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def read(self, name: str) -> str | None:
        """Return an option's value unchanged; None if it is not set."""
        if not self._runner.ask(["show-options", "-gq", _checked(name)]):
            return None
        return "\n".join(self._runner.ask(["show-options", "-gqv", name]))

    def width(self, name: str) -> int:
        """Return how many columns an option's text takes now, as it is shown."""
        return int(self._runner.ask(["display-message", "-p", f"#{{w:#{{T:{_checked(name)}}}}}"])[0])

    def write(self, name: str, value: str | None) -> None:
        """Set an option; None: unset it."""
        words = ["-gu", _checked(name)] if value is None else ["-g", _checked(name), value]
        self._runner.ask(["source-file", "-"], text=f"{script.script(['set-option', *words])}\n".encode())


def _checked(name: str) -> str:
    """Return an option's name if it is safe: tmux obeys formats in names, too."""
    script.a_name(name.removeprefix("@"))
    return name


_KEY_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-")


class Keys:
    """The key tables of one server."""

    __slots__ = ("_runner",)

    def __init__(self, of: Runner) -> None:
        self._runner = of

    def binding(self, table: str, key: str) -> str | None:
        """Return the command that a key is bound to, as tmux lists it; None if there is no binding."""
        # The whole table is listed: for a single key, 3.7 prints nothing, as if nothing were bound.
        answer = self._runner.run(["list-keys", "-T", script.a_name(table)])
        for line in answer.lines if answer.code == 0 else ():
            name, _, command = line.partition(f" -T {table} ")[2].lstrip().partition(" ")
            if name == _a_key(key):
                return command.strip()
        return None

    def bind(self, lines: Iterable[str]) -> None:
        """Carry out lines of a configuration."""
        self._runner.ask(["source-file", "-"], text="".join(f"{line}\n" for line in lines).encode())

    def unbind(self, table: str, key: str) -> None:
        """Let a key do nothing."""
        self._runner.ask(["unbind-key", "-q", "-T", script.a_name(table), _a_key(key)])

    def drop(self, table: str) -> None:
        """Take a whole table away."""
        self._runner.ask(["unbind-key", "-q", "-a", "-T", script.a_name(table)])


def _a_key(word: str) -> str:
    if not _KEY_LETTERS.issuperset(word) or not word or word.startswith("-"):
        raise ValueError(f"no key: {word!r}")
    return word
