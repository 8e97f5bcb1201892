"""Show runs on each tmux server: status text, counts, marks on windows. Joins.

Each server has a thread of its own for its calls, so a server that does not answer delays no other. For a
silent server, only the newest view and the newest notices are kept.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

from tmuxagents import tmux
from tmuxagents.registry.database import Scope
from tmuxagents.registry.rows import server_of
from tmuxagents.runs import words
from tmuxagents.tmux.servers import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from concurrent.futures import Future

    from tmuxagents.registry.database import Registry, Tally
    from tmuxagents.watcher.telling import Attention

MARK_S = 5.0  # how long the mark of a run that has just ended is shown


class Screens:
    """The living servers that have runs or have launched runs."""

    def __init__(
        self, wake: Callable[[], None], complain: Callable[[str], None], furnish: Callable[[tmux.Tmux], None]
    ) -> None:
        self._wake = wake
        self._complain = complain
        self._furnish = furnish
        self._screens: dict[str, Screen] = {}
        self._dead: set[str] = set()
        self._marks: dict[str, list[tuple[float, str]]] = {}  # server -> until when, and the words
        self._messages: set[str] = set()

    def due(self) -> float | None:
        """Return when a mark fades or a screen is due, whichever comes first."""
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

    def notify(self, servers: Iterable[str], words: str) -> None:
        """Notify people on their terminals at these servers."""
        for screen in filter(None, map(self._screen, servers)):
            screen.notices.append(words)

    def add(self, server: str, chore: Chore) -> None:
        """Have a chore done at a window of a server."""
        screen = self._screen(server)
        if screen is not None:
            screen.add(chore)

    def update(self, book: Registry, attention: Attention, lost: Collection[str] = ()) -> None:
        """Show the counts in the registry, and the failures that no person has looked at.

        `lost`: the machines that do not answer.
        """
        rows = [row for row in book.open_rows() if row.host in lost] if lost else []
        now = time.monotonic()
        left = {server: [one for one in marks if one[0] > now] for server, marks in self._marks.items()}
        self._marks = {server: marks for server, marks in left.items() if marks}
        for server in book.servers():
            screen = self._screen(server)
            if screen is None or screen.has_ended():
                continue
            words = [words for _, words in self._marks.get(server, ())]
            scope = Scope("server", server)
            unreachable = sum(scope.holds(row) for row in rows)
            view = _view(book.tally(scope), words, attention.marks(server), unreachable)
            view.message = server in self._messages
            screen.want(view)
        self._messages.clear()

    def has_faded(self) -> bool:
        """Say whether the time of a mark is over."""
        now = time.monotonic()
        return any(until <= now for marks in self._marks.values() for until, _ in marks)

    def step(self) -> dict[str, tmux.RunWindow]:
        """Let each screen go on; return the windows that have just been found, by run."""
        now = time.monotonic()
        found: dict[str, tmux.RunWindow] = {}
        for server, screen in list(self._screens.items()):
            found |= screen.step(now)
            if screen.over:
                del self._screens[server]
                self._marks.pop(server, None)
                self._dead.add(server)
        return found

    def flush(self, limit_s: float) -> None:
        """Show everything that is still wanted before the watcher leaves, as far as servers answer."""
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
            parts = server_of(key)
            server = None if parts is None else tmux.ServerLife(*parts)
            if server is None or not server.lives:
                self._dead.add(key)
                return None
            self._screens[key] = Screen(server, self._wake, self._complain, self._furnish)
        return self._screens[key]


def _view(tally: Tally, marks: Sequence[str], lasting: Sequence[str], unreachable: int) -> View:
    """Return a view. It shows `marks` for a moment, and `lasting` ones until a person looks at the runs."""
    now = time.time()
    counts = {**tally.by_status, "total": sum(tally.by_status.values())}
    plain = words.status_text(
        counts, tally.waiting, last_end=tally.last_end, now=now, unreachable=unreachable
    )
    later = words.with_marks(lasting, plain)
    then: list[tuple[float, str]] = [(MARK_S + 1, later)] if marks else []
    fades = words.fades_in(counts, last_end=tally.last_end, now=now)
    if plain and fades is not None:
        then.append((fades, words.with_marks(lasting, "")))
    both = [*(one for one in lasting if one not in marks), *marks]
    values = {name: str(figure) for name, figure in counts.items()} | {"waiting": str(tally.waiting)}
    return View(values={"status": words.with_marks(both, plain), **values}, then=then)


EVERY_S = 0.25  # between two pushes
AGAIN_S = 5.0  # until a server that did not answer, or whose socket is gone, is asked again
MOST_NOTICES = 20  # that wait for one server; of more, the oldest are dropped


@dataclass(slots=True, kw_only=True, eq=False)
class View:
    """The values for a server to show now, and the texts for later: (after how many seconds, text)."""

    values: dict[str, str]
    then: Sequence[tuple[float, str]]
    message: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class Chore:
    """A change of a run's window. It closes after `close_s` seconds; None: it stays."""

    run_id: str
    window: str
    state: str
    close_s: float | None = None
    seen: Callable[[], None] | None = None  # called if a person looks at the window right then


class Screen:
    """One server in one of its lives."""

    def __init__(
        self,
        server: tmux.ServerLife,
        wake: Callable[[], None],
        complain: Callable[[str], None],
        furnish: Callable[[tmux.Tmux], None],
    ) -> None:
        self._server = server
        self._furnish = furnish
        self._tmux = tmux.Tmux(server.socket)
        self._thread = ThreadPoolExecutor(1)
        self._wake = wake
        self._complain = complain
        self._wanted: View | None = None
        self._shown: dict[str, str] | None = None
        self._chores: dict[str, Chore] = {}
        self._known = False  # its format is set, and its windows were looked for
        self._work: Future[dict[str, tmux.RunWindow]] | None = None
        self._at_work: tuple[View | None, list[Chore]] = (None, [])
        self._not_before = 0.0
        self.notices: deque[str] = deque(maxlen=MOST_NOTICES)
        self.over = False

    @property
    def due(self) -> float | None:
        """Return when the next call is due; None if there is nothing to do, or a call is at work."""
        return None if self._work is not None or not self._is_behind else self._not_before

    def is_busy(self, now: float) -> bool:
        """Say whether a call is at work, or one can begin without waiting for a silent server."""
        ready = self._is_behind and self._not_before <= now + EVERY_S
        return not self.over and (self._work is not None or ready)

    @property
    def _is_behind(self) -> bool:
        changed = self._wanted is not None and (self._wanted.values != self._shown or self._wanted.message)
        return changed or bool(self._chores) or bool(self.notices)

    def want(self, view: View) -> None:
        """Show this view from now on, with the message of the one before if that was not begun."""
        begun = self._work is not None and self._at_work[0] is self._wanted
        if self._wanted is not None and self._wanted.message and not begun:
            view.message = True  # the message has not been shown yet
        self._wanted = view

    def add(self, chore: Chore) -> None:
        """Take a chore; it replaces an older one for the same run."""
        self._chores[chore.run_id] = chore

    def has_ended(self) -> bool:
        """Say whether the server has ended; then nothing more is done."""
        if not self.over and not self._server.lives:
            self.over = True
            self._thread.shutdown(wait=False)
        return self.over

    def step(self, now: float) -> dict[str, tmux.RunWindow]:
        """Finish and begin calls; return the windows of runs if they have just been found."""
        found = self._finish(now) if self._work is not None and self._work.done() else {}
        if self._work is None and not self.over and self._is_behind and now >= self._not_before:
            view, chores = self._wanted, list(self._chores.values())
            pushed = view if view is not None and (view.values != self._shown or view.message) else None
            self._at_work = (pushed, chores)
            self._not_before = now + EVERY_S
            notices = list(self.notices)
            self.notices.clear()  # each is made once or never
            self._work = self._thread.submit(self._carry_out, pushed, chores, notices)
            self._work.add_done_callback(lambda _: self._wake())
        return found

    def wait(self, limit_s: float) -> None:
        """Wait until the call at work is done; if none is, until the next may begin."""
        if self._work is not None:
            wait([self._work], limit_s)
        else:
            time.sleep(min(limit_s, max(0.0, self._not_before - time.monotonic())))

    def _finish(self, now: float) -> dict[str, tmux.RunWindow]:
        work, self._work = self._work, None
        view, chores = self._at_work
        error = work.exception() if work is not None else None
        if error is not None:
            # Any error counts as no answer: the server is asked again, unless its process is gone.
            self._shown = None  # unknown
            if self._at_work[0] is not None:
                self._at_work[0].message = False  # a message is shown once or never
            self._not_before = now + AGAIN_S
            if not self.has_ended():
                self._complain(f"tmux at {self._server.socket}: {error}")
            return {}
        if view is not None:
            self._shown = view.values
            if self._wanted is view:
                view.message = False
        for chore in chores:
            if self._chores.get(chore.run_id) is chore:
                del self._chores[chore.run_id]
        return work.result() if work is not None else {}

    def _carry_out(
        self, view: View | None, chores: Sequence[Chore], notices: Sequence[str]
    ) -> dict[str, tmux.RunWindow]:
        """Make the calls, in the server's thread."""
        if tmux.listening(self._server.socket) not in (self._server.pid, UNKNOWN):
            raise tmux.NoServer(f"{self._server.socket} is not its socket any more", kind="tmux-unreachable")
        found: dict[str, tmux.RunWindow] = {}
        if not self._known:
            self._tmux.status.declare()
            self._furnish(self._tmux)
            found = self._tmux.windows.all()
        if view is not None:
            self._tmux.status.push(view.values, view.then)
            if view.message and not self._tmux.status.message():
                self._complain("notify: message needs tmux 3.6; before, a message would stop every screen")
        for chore in chores:
            try:
                watched = self._tmux.windows.set_state(chore.window, chore.run_id, chore.state)
            except ValueError as error:  # a child can write anything into wrapper.json
                self._complain(f"run {chore.run_id}: {error}")
                continue
            if watched and chore.seen is not None:
                with contextlib.suppress(OSError):  # it stays marked
                    chore.seen()
            if watched is not None and chore.close_s is not None:
                self._tmux.windows.arm_close(chore.window, chore.run_id, round(chore.close_s))
        for words_ in notices:
            self._tmux.status.notify(words_)
        self._known = True
        return found
