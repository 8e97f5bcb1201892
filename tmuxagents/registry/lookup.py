"""Find runs: open the registry, bring it up to date with the run directories, and look up ids and names.

The answers never depend on the file of the registry: if it is missing, damaged or of a newer program, a
database in memory replaces it this once, filled from the run directories.

Joins.
"""

from __future__ import annotations

import os
import time

from tmuxagents.records import could_begin_run_id, is_run_id
from tmuxagents.registry import database
from tmuxagents.registry.current import CurrentCheck
from tmuxagents.registry.database import Scope
from tmuxagents.runs.marks import RELIABLE_AFTER_NS
from tmuxagents.system import places
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeVar

    from tmuxagents.errors import NoSuchRun
    from tmuxagents.registry.database import Registry, Row

    T = TypeVar("T")

LAST = "@last"
# Words that come in place of a run's name, and the hint for each.
_OF_WORD = {
    **dict.fromkeys(("last", "latest", "newest"), "the newest run is called @last"),
    **dict.fromkeys(("all", "*"), "all at once: tmuxagents stop --all, poll --wait, poll --all"),
    "": "this name is empty: a variable may have no value; tmuxagents poll lists the runs",
}
# The variables in which parents name their session. Ours comes first. Codex sets its own for its shells, but
# not for its MCP servers.
OWNERS = (
    *("TMUXAGENTS_OWNER", "PI_SESSION_ID", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"),
    *("QWEN_CODE_SESSION_ID", "COPILOT_AGENT_SESSION_ID"),
)
PATIENCE_S = 2.0  # a reader can read the run directories instead
SHORTEST_ID = 4  # digits of an id that are enough to name a run
_SHORTEST_NAME = 2
_LONGEST = 40
_NEAR = 3
_MOST_CANDIDATES = 8
_TRIES = 2
# The last process that closes a database flushes its log first. A process that just exits saves that time.
_left_open: list[Registry] = []


class Caller:
    """The caller of a command, and where it was called."""

    __slots__ = ("_checked", "_home", "_project", "_user_home", "folder", "owner", "taken_over")

    def __init__(self, environment: Mapping[str, str], folder: str) -> None:
        self.folder = folder
        self._home = places.home(environment)
        self._checked = False
        self.owner = next(filter(None, map(environment.get, OWNERS)), None)
        # Runs of another session that this one continues, as a fork does.
        self.taken_over = tuple(filter(is_run_id, environment.get("TMUXAGENTS_RUNS", "").split()))
        self._user_home = places.user_home(environment)
        self._project: str | None = None

    @property
    def home(self) -> str:
        """Return the state directory; raise Unusable if another user could have written there."""
        if not self._checked:
            places.refuse_foreign(self._home)
            self._checked = True
        return self._home

    @property
    def runs(self) -> str:
        """Return the folder of all run directories."""
        return f"{self.home}/runs"

    @property
    def project(self) -> str:
        """Return the caller's project. It is found on demand, since that looks into several folders."""
        if self._project is None:
            from tmuxagents.system import project  # noqa: PLC0415  (few callers ask)

            self._project = project.project_of(self.folder, self._user_home)
        return self._project

    @property
    def scope(self) -> Scope:
        """Return the caller's own runs: those of its owner, or of its project if it has none."""
        return Scope("owner", self.owner) if self.owner else Scope("project", self.project)


def here() -> Caller:
    """Return the caller of this process."""
    return Caller(os.environ, working_directory() or "/")  # a removed folder belongs to no project


def working_directory() -> str | None:
    """Return the working directory; None if it was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None


# --- asking ------------------------------------------------------------------------------------------------


def with_registry(caller: Caller, ask: Callable[[Registry], T], *, last: bool = False) -> tuple[T, list[str]]:
    """Call `ask` with the registry, or with one in memory; return the answer, and warnings for people.

    `ask` is called again if the registry fails in the middle of it. `last`: the process ends after the
    answer, so the registry is not closed.
    """
    path = database.path_of(caller.home)
    warnings: list[str] = []
    fault: database.Damaged | None = None
    if not (os.path.exists(path) or os.path.isdir(caller.runs)):
        with database.open_blank() as book:  # nothing was ever launched here, and a query makes no files
            reconcile(book, caller.runs)
            return ask(book), warnings
    for _ in range(_TRIES):
        fault = None
        try:
            return _ask_file(path, caller, ask, last=last), warnings
        except database.Damaged as damage:
            warnings.append(set_aside(path, damage))
        except database.Unfit as why:
            warnings.append(f"the registry is not used ({why}); the run directories are read instead")
            break
        except (AttributeError, LookupError, TypeError, ValueError):
            # SQLite does not check what rows hold. The next try may show that the rows were not at fault, but
            # a run that was changing.
            fault = database.Damaged(database.ODD, database.identity_of(path))
    with database.open_memory() as book:
        reconcile(book, caller.runs)
        answer = ask(book)
    # The rows were at fault, not our code: the directories just answered the same question.
    if fault is not None:
        warnings.append(set_aside(path, fault))
    return answer, warnings


def _ask_file(path: str, caller: Caller, ask: Callable[[Registry], T], *, last: bool) -> T:
    book = database.open_file(path, PATIENCE_S)
    try:
        reconcile(book, caller.runs)
        answer = ask(book)
    except BaseException:
        book.close()
        raise
    if last:
        _left_open.append(book)
    else:
        book.close()
    return answer


def set_aside(path: str, damage: database.Damaged) -> str:
    """Move a damaged registry out of the way; return a sentence about it for people."""
    from tmuxagents.registry import schema  # noqa: PLC0415  (a registry is hardly ever damaged)

    try:
        aside = schema.set_aside(path, damage.identity, PATIENCE_S)
    except database.Unfit as why:
        return f"the registry is damaged ({damage}) and cannot be set aside ({why})"
    return (
        f"the registry was damaged ({damage}) and is made anew from the run directories; it lies in {aside}"
    )


# --- finding ----------------------------------------------------------------------------------------------


def find_run(reference: str, caller: Caller) -> str:
    """Return the run directory that a reference means: full id, name, unique beginning of an id, or @last."""
    if is_run_id(reference) and os.path.isdir(f"{caller.runs}/{reference}"):
        return f"{caller.runs}/{reference}"  # nothing else can be meant
    run_id, _ = with_registry(caller, lambda book: locate(reference, caller, book))
    return f"{caller.runs}/{run_id}"


def session(run_dir: str, caller: Caller) -> list[str]:
    """Return the run directories of the session that a run belongs to, oldest first."""
    own = os.path.basename(run_dir)

    def ask(book: Registry) -> list[str]:
        known = book.row(own)
        return [row.run_id for row in book.session(known.session_id)] if known else [own]

    return [f"{caller.runs}/{run_id}" for run_id in with_registry(caller, ask)[0]]


def mark_answered(caller: Caller, run_ids: Iterable[str]) -> None:
    """Remember that the caller has got the answers of these runs."""
    if ids := list(run_ids):
        with_registry(caller, lambda book: book.mark_answered(ids, caller.owner or ""))


def locate(reference: str, caller: Caller, book: Registry) -> str:
    """Return the id of the run that a reference means, or raise NoSuchRun."""
    if reference == LAST:
        for newest in book.rows(caller.scope, limit=1):
            return newest.run_id
        whose = "by this parent" if caller.owner else f"in {safe.line(caller.project)}"
        message = f"No run has been launched {whose} yet."
        raise _no_such_run(message, hint="name the run by its id")
    if is_run_id(reference):
        if book.row(reference) is not None:
            return reference
        raise _unknown(reference, book)
    is_long = len(reference) >= SHORTEST_ID and could_begin_run_id(reference)
    matches = book.beginning(reference) if is_long else []
    if len(matches) == 1:
        return matches[0]
    if not matches:
        return _named(reference, caller, book)
    message = f'"{reference}" is the beginning of {len(matches)} run ids.'
    candidates = matches[:_MOST_CANDIDATES]
    hint = f"give more of it: {', '.join(candidates)}"
    raise _no_such_run(message, kind="ambiguous-run", hint=hint, candidates=candidates)


def _unknown(reference: str, book: Registry, names: Sequence[str] = ()) -> NoSuchRun:
    from difflib import get_close_matches  # noqa: PLC0415  (most references mean a run)

    start = reference[:_NEAR]
    is_start = len(start) == _NEAR and could_begin_run_id(start)
    near = book.beginning(start) if is_start else []
    near = [*map(_shown, get_close_matches(reference[:_LONGEST], names, n=_NEAR)), *near[:_MOST_CANDIDATES]]
    hint = (
        f"did you mean {', '.join(near)}?"
        if near
        else _OF_WORD.get(reference)
        or "name it by its name or id, or by a beginning of one (two letters, four digits)"
    )
    return _no_such_run(f'There is no run "{_shown(reference)}".', hint=hint, candidates=near)


def _shown(text: str) -> str:
    return safe.cut(safe.line(text), _LONGEST)


def _no_such_run(
    message: str, *, kind: str = "unknown-run", hint: str, candidates: Sequence[str] = ()
) -> NoSuchRun:
    from tmuxagents.errors import NoSuchRun  # noqa: PLC0415  (most references mean a run)

    return NoSuchRun(message, kind=kind, hint=hint, candidates=candidates)


def _named(name: str, caller: Caller, book: Registry) -> str:
    """Return the run with a name, or the one whose name begins so.

    Of several runs, the caller's own come first, then those of this project; of these, a live one, or else
    the newest.
    """
    namesakes = book.named(name)
    if not namesakes:
        names = book.names(caller.project) or book.names()
        longer = [one for one in names if one.startswith(name)] if len(name) >= _SHORTEST_NAME else []
        if len(longer) > 1:
            shown = [_shown(one) for one in longer[:_MOST_CANDIDATES]]
            message = f'"{_shown(name)}" is the beginning of {len(longer)} names.'
            hint = f"give more of it: {', '.join(shown)}"
            raise _no_such_run(message, kind="ambiguous-run", hint=hint, candidates=shown)
        if not longer:
            raise _unknown(name, book, names)
        namesakes = book.named(longer[0])
    own = [row for row in namesakes if caller.owner and row.owner == caller.owner] or namesakes
    nearest = [row for row in own if row.project == caller.project] or own
    return next((row for row in nearest if is_active(row, caller, book)), nearest[0]).run_id


def is_active(row: Row, caller: Caller, book: Registry) -> bool:
    """Say whether a run is active. If its row is not current, its directory tells."""
    if row.concluded or CurrentCheck(caller.runs).is_current(row):
        return not row.concluded
    from tmuxagents.errors import NoSuchRun  # noqa: PLC0415  (not needed for a current row)
    from tmuxagents.runs.inspect import inspect  # noqa: PLC0415  (as above)

    checkpoint = book.checkpoints([row.run_id]).get(row.run_id)
    try:
        return not inspect(f"{caller.runs}/{row.run_id}", checkpoint=checkpoint).ended
    except NoSuchRun:  # removed a moment ago
        return False


def reconcile(book: Registry, runs: str) -> None:
    """Add runs that the registry does not know, and drop runs whose directories are gone.

    If there are none, this costs one stat: a folder's time changes when a name in it comes or goes, and the
    registry stores the time at which it knew all names.
    """
    folder, is_reliable = None, False
    try:
        facts = os.stat(runs)
    except FileNotFoundError:
        pass
    else:
        folder = f"{facts.st_dev}.{facts.st_ino}.{facts.st_mtime_ns}"
        is_reliable = time.time_ns() - facts.st_mtime_ns > RELIABLE_AFTER_NS
        if book.folder() == folder:
            return
    from tmuxagents.registry.learn import row_of  # noqa: PLC0415  (most calls find no change)

    registered = book.ids()  # before the listing, so that a launch in between is not taken for a removal
    try:
        listed = set(os.listdir(runs))
    except FileNotFoundError:
        listed = set()
    others = listed - registered
    new = [row for name in filter(is_run_id, others) if (row := row_of(f"{runs}/{name}")) is not None]
    gone = [run_id for run_id in registered - listed if not os.path.isdir(f"{runs}/{run_id}")]
    # A wrapper may restore the run in a directory that is no run; the folder's time would not show that.
    is_complete = is_reliable and len(new) == sum(map(is_run_id, others))
    complete_at = folder if is_complete else None
    if new or gone or complete_at:
        book.absorb(new, gone, complete_at)
