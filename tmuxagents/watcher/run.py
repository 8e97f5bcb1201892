"""Run one watcher, from taking the lock to leaving: each round reads, saves, shows and announces. Joins.

The watcher always has a registry. While the file cannot be used, a database in memory replaces it; later the
file gets everything learned meanwhile. The log has each complaint once, since most would come every round.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time

from tmuxagents import tmux
from tmuxagents.errors import TmuxAgentsError, Unusable
from tmuxagents.registry import database, lookup
from tmuxagents.registry.database import Scope
from tmuxagents.registry.lookup import Caller, reconcile
from tmuxagents.settings import load
from tmuxagents.system import places, process, watcher_lock
from tmuxagents.tmux import place
from tmuxagents.watcher.runs import Runs
from tmuxagents.watcher.screens import Screens
from tmuxagents.watcher.telling import Hooks, Telling
from tmuxagents.watcher.waking import Sleeper, Tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    from tmuxagents.registry.database import Registry, Row

    T = TypeVar("T")

ROUND_S = 0.05
SWEEP_S = 2.0  # between two checks of everything that no event reports
SWEEP_DEAF_S = 0.5  # the same, while no event reports changes
IDLE_S = 60.0
_LAST_SHOWINGS_S = 6.0  # longer than one call of tmux may take
_LATEST = 200  # the runs that are searched for unseen failures at the beginning
_TAKE_S = 0.2  # how long another process may hold the lock to test it


def main(arguments: list[str]) -> None:
    """Run the watcher of a state directory, unless it has one; exit without Python's slow shutdown."""
    home = os.path.abspath(arguments[0])
    places.refuse_foreign(home)
    handed = watcher_lock.adopt(home, int(arguments[1])) if len(arguments) > 1 else None
    held = watcher_lock.take(home, _TAKE_S) if handed is None else handed
    if held is not None:
        watcher_lock.settle(home)
        process.raise_limits()
        Watcher(home, os.environ).run(held)
    os._exit(0)


class Watcher:
    """The watcher of one state directory."""

    def __init__(self, home: str, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment
        self._folder = f"{home}/runs"
        self._idle_s = float(environment.get(watcher_lock.IDLE) or IDLE_S)
        self._complain = Complaints()
        self._tail = Tail(self._folder)
        self._waiting = Sleeper(self._tail.soon, [self._tail.now])
        self._runs = Runs(self._folder, self._waiting, self._complain)
        self._book = Book(home, self._complain)
        self._screens = Screens(self._waiting.wake, self._complain, self._furnish)
        self._hooks = Hooks(self._waiting.wake, self._complain)
        self._telling = Telling(self._folder, environment, self._screens, self._hooks)
        self._held = -1
        self._seen: tuple[str, int] | None = None  # the registry as last read: its name, its last change
        self._unreachable: frozenset[str] = frozenset()  # machines that do not answer
        self._round_at = self._sweep_at = 0.0
        self._busy_at = time.monotonic()

    def run(self, held: int) -> None:
        """Watch until there is nothing to do and no new run."""
        self._held = held
        watcher_lock.sign(held)
        names: set[str] = set()
        while True:
            self._watch(names)
            if not watcher_lock.holds(self._home, self._held):
                return  # the lock was removed or replaced: other processes now see another one, or none
            self._prune()
            self._screens.flush(_LAST_SHOWINGS_S)
            # First let go, then look: a run that begins from now on finds the lock free and starts a watcher.
            os.close(self._held)
            names = self._begun()
            if not names:
                return
            taken = watcher_lock.take(self._home)
            if taken is None:
                return
            self._held = taken
            watcher_lock.sign(taken)

    def _watch(self, names: set[str]) -> None:
        """Go round until it has been quiet for long, or the lock is no longer ours."""
        self._busy_at = time.monotonic()
        self._telling.begin(self._book.use(lambda book: book.rows(Scope("all"), limit=_LATEST)))
        while True:
            self._round(names)
            now = time.monotonic()
            if self._runs.busy or self._hooks.busy:
                self._busy_at = now
            if now - self._busy_at >= self._idle_s or not watcher_lock.holds(self._home, self._held):
                return
            # A run that writes is read in the next round anyway: only urgent news comes before that.
            woken = self._waiting.wait(self._due() - time.monotonic(), patiently=self._runs.has_writers)
            names = woken.gone
            rest = self._round_at + ROUND_S - time.monotonic()
            if not woken.urgent and rest > 0:
                names |= self._waiting.wait(rest, patiently=True).gone

    def _begun(self) -> set[str]:
        """Look once more for new runs, after the lock was let go; return them."""
        self._seen = None
        names = self._runs.note_events(self._tail.changed()) | self._sweep()
        return {name for name in names if self._runs.is_new(name)}

    def _prune(self) -> None:
        """Remove runs that are older than the settings allow, now that no run is active."""
        from tmuxagents.upkeep.prune import prune_old  # noqa: PLC0415  (once, at the end of hours)

        try:
            prune_old(Caller(self._environment, "/"), load.load(self._environment, None), windows=False)
        except (OSError, TmuxAgentsError) as error:
            self._complain(f"old runs cannot be removed: {error}")

    def _furnish(self, server: tmux.Tmux) -> None:
        """Give marks and keys to the server that is for tmuxagents alone, if it has none."""
        if server.socket != f"{tmux.socket_folder(self._environment)}/{place.OWN}":
            return
        from tmuxagents.integrate.tmux import furnish  # noqa: PLC0415  (for this one server)

        furnish(server, f"env TMUXAGENTS_HOME={self._home} {sys.executable} -P -m tmuxagents")

    # --- a round

    def _due(self) -> float:
        """Return when the next round is due if nothing wakes the watcher before."""
        dues = [self._sweep_at, self._screens.due(), 0.0 if self._runs.is_pressed else None]
        dues.append(self._round_at + ROUND_S if self._runs.has_writers else None)
        idle_at = self._busy_at + self._idle_s if not self._runs.busy else None
        return min(due for due in (*dues, idle_at) if due is not None)

    def _round(self, names: set[str]) -> None:
        self._round_at = time.monotonic()
        changed = self._tail.changed()
        names = names | self._runs.note_events(changed) | self._runs.with_news()
        doubt = self._tail.doubts()
        if doubt is not None:
            self._complain(f"watching: {doubt}")
        sweep = doubt is not None or self._round_at >= self._sweep_at
        if sweep:
            names |= self._sweep()
        rows, endings = self._runs.attend(names, all_of_it=sweep)
        self._hooks.step()
        seen = self._telling.attention.look(None if sweep else changed)
        # Save the rows, then show them, then announce the endings: in this order.
        if rows:
            self._book.use(lambda book: book.save(rows.values()))
        self._telling.show_standing(rows.values(), self._runs.waited)
        self._telling.tell(endings)
        if rows or endings or sweep or seen or self._screens.has_faded():
            self._book.use(
                lambda book: self._screens.update(book, self._telling.attention, self._unreachable)
            )
        found = self._screens.step()
        if found:
            rows_found = self._book.use(lambda book: [book.row(run_id) for run_id in found])
            self._telling.see_to_found(filter(None, rows_found), found)

    def _sweep(self) -> set[str]:
        """Check everything that no event reports; return the runs that have to be read."""
        watcher_lock.bound_log(self._home)
        names, unheard = self._runs.due(self._tail.since)
        if unheard:
            self._complain("changes come without events: they are looked for instead")
            self._tail.mistrust()
        why = self._tail.check()
        if why is not None:
            self._complain(f"{why}: changes are looked for instead")
        # Each machine with active runs needs a mirror.
        hosts = self._runs.hosts
        self._unreachable = frozenset()
        if hosts:
            from tmuxagents.machines import link  # noqa: PLC0415  (most runs work here)

            for host in hosts:
                link.ensure_mirror(self._home, host, self._environment)
            self._unreachable = frozenset(link.unreachable(self._home)) & hosts
        self._sweep_at = time.monotonic() + (SWEEP_DEAF_S if self._tail.deaf else SWEEP_S)
        return names | self._runs.unknown(self._book.use(self._open_rows))

    def _open_rows(self, book: Registry) -> list[Row]:
        """Return the rows of all runs that have not ended or were not announced, if the registry changed."""
        reconcile(book, self._folder)
        with book.reading():
            seen = (book.name(), book.last_change())
            rows = [] if seen == self._seen else [*book.open_rows(), *book.unannounced()]
            new = list(self._runs.unknown(rows))
            self._runs.checkpoints = book.checkpoints(new) if new else {}
        self._seen = seen
        return rows


# --- its log and its registry -----------------------------------------------------------------------------

_MOST = 200  # how many different complaints are remembered
_LONGEST = 1000


class Complaints:
    """Logs each complaint once. Stderr is the log."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def __call__(self, words: str) -> None:
        """Log a complaint, unless it was logged before."""
        words = words.replace("\n", " ")[:_LONGEST]
        if words in self._logged:
            return
        if len(self._logged) >= _MOST:
            self._logged.clear()
        self._logged.add(words)
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {words}\n"
        with contextlib.suppress(OSError):
            os.write(2, line.encode("utf-8", "replace"))


PATIENCE_S = 0.5  # for another process that writes; all runs wait meanwhile
AGAIN_S = 5.0  # between two attempts to use a file that failed
_TRIES = 3


class Book:
    """The registry of a state directory, or its replacement."""

    def __init__(self, home: str, complain: Callable[[str], None]) -> None:
        self._path = database.path_of(home)
        self._runs = f"{home}/runs"
        self._complain = complain
        self._file: Registry | None = None
        self._memory: Registry | None = None
        self._name = ""
        self._again_at = 0.0

    def use(self, act: Callable[[Registry], T]) -> T:
        """Let `act` query or change the registry. If the file fails meanwhile, `act` is called again."""
        if self._memory is not None and time.monotonic() >= self._again_at:
            # Can the file be used again? Then it gets everything learned meanwhile.
            self._again_at = time.monotonic() + AGAIN_S
            try:
                self._whole_file().save(self._memory.rows(Scope("all")))
            except (database.Damaged, database.Unfit, Unusable):
                self._close_file()
            else:
                self._memory.close()
                self._memory = None
        for _ in range(_TRIES if self._memory is None else 0):
            try:
                return act(self._whole_file())
            except database.Damaged as damage:
                self._close_file()
                self._complain(lookup.set_aside(self._path, damage))
            except (database.Unfit, Unusable) as why:
                self._close_file()
                self._complain(f"the registry is not used ({why}); the run directories are read instead")
                break
        if self._memory is None:
            self._memory = database.open_memory()
            self._again_at = time.monotonic() + AGAIN_S
            reconcile(self._memory, self._runs)
        return act(self._memory)

    def _whole_file(self) -> Registry:
        """Return the registry in the file; if the file was replaced, bring it up to date first."""
        if self._file is None:
            self._file = database.open_file(self._path, PATIENCE_S)
        name = self._file.name()
        if name != self._name:
            reconcile(self._file, self._runs)
            self._name = name
        return self._file

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._name = None, ""
