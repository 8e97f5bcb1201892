"""What each tmux server is to show of its runs: status text, counts, what becomes of windows."""

from __future__ import annotations

import time

from tmuxagents.core import display
from tmuxagents.edges import tmux
from tmuxagents.edges.registry import Scope
from tmuxagents.watcher.screen import EVERY_S, Screen, View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tmuxagents.edges.registry import Registry, Tally
    from tmuxagents.watcher.screen import Chore

MARK_S = 5.0


class Screens:
    """All living servers that have or launched runs."""

    def __init__(self, wake: Callable[[], None], complain: Callable[[str], None]) -> None:
        self._wake = wake
        self._complain = complain
        self._screens: dict[str, Screen] = {}
        self._dead: set[str] = set()
        self._marks: dict[str, list[tuple[float, str]]] = {}  # server -> until when, and what
        self._messages: set[str] = set()

    def due(self) -> float | None:
        """Return when there is something to be done."""
        marks = [until for marks in self._marks.values() for until, _ in marks]
        return min(
            [*marks, *(due for one in self._screens.values() if (due := one.due) is not None)], default=None
        )

    def mark(self, servers: Iterable[str], words: str, *, message: bool) -> None:
        """Put a run that has just ended in front of the status text, for a while."""
        until = time.monotonic() + MARK_S
        for server in servers:
            self._marks.setdefault(server, []).append((until, words))
            if message:
                self._messages.add(server)

    def add(self, server: str, chore: Chore) -> None:
        """Have something done about a window."""
        screen = self._screen(server)
        if screen is not None:
            screen.add(chore)

    def update(self, book: Registry) -> None:
        """Have shown what the registry says now."""
        now = time.monotonic()
        left = {server: [one for one in marks if one[0] > now] for server, marks in self._marks.items()}
        self._marks = {server: marks for server, marks in left.items() if marks}
        for server in book.servers():
            screen = self._screen(server)
            if screen is None or screen.has_ended():
                continue
            words = [words for _, words in self._marks.get(server, ())]
            view = _view(book.tally(Scope("server", server)), words)
            view.message = server in self._messages
            screen.want(view)
        self._messages.clear()

    def has_faded(self) -> bool:
        """Say whether a mark has had its time."""
        now = time.monotonic()
        return any(until <= now for marks in self._marks.values() for until, _ in marks)

    def step(self) -> dict[str, tmux.Window]:
        """Go on; return the windows of runs that have just been found, by run."""
        now = time.monotonic()
        found: dict[str, tmux.Window] = {}
        for server, screen in list(self._screens.items()):
            found |= screen.step(now)
            if screen.over:
                del self._screens[server]
                self._marks.pop(server, None)
                self._dead.add(server)
        return found

    def flush(self, limit_s: float) -> None:
        """Let what is wanted be shown before we leave, as far as servers answer."""
        deadline = time.monotonic() + limit_s
        while (now := time.monotonic()) < deadline:
            self.step()
            busy = [screen for screen in self._screens.values() if screen.is_busy(now)]
            if not busy:
                return
            for screen in busy:
                screen.wait(min(deadline - now, EVERY_S))

    def _screen(self, key: str) -> Screen | None:
        if key in self._dead:
            return None
        if key not in self._screens:
            server = server_of(key)
            if server is None or not server.lives:
                self._dead.add(key)
                return None
            self._screens[key] = Screen(server, self._wake, self._complain)
        return self._screens[key]


def server_of(key: str) -> tmux.Server | None:
    """Return the server that the registry has a name of; None for no name of one."""
    pid, started, socket = [*key.split(".", 2), "", ""][:3]
    if not (pid.isdigit() and started.isdigit() and socket):
        return None
    return tmux.Server(socket, int(pid), int(started))


def _view(tally: Tally, marks: Sequence[str]) -> View:
    now = time.time()
    counts = {**tally.by_status, "total": sum(tally.by_status.values())}
    plain = display.status_text(counts, tally.waiting, last_end=tally.last_end, now=now)
    then: list[tuple[float, str]] = [(MARK_S + 1, plain)] if marks else []
    fades = display.fades_in(counts, last_end=tally.last_end, now=now)
    if plain and fades is not None:
        then.append((fades, ""))
    values = {name: str(figure) for name, figure in counts.items()} | {"waiting": str(tally.waiting)}
    return View({"status": display.with_marks(marks, plain), **values}, then)
