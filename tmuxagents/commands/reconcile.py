"""The registry and the runs folder brought together: which runs there are. Light: all looks begin with it."""

from __future__ import annotations

import os
import time

from tmuxagents.edges.marks import SETTLED_NS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.edges.registry import Registry

_DIGITS = "0123456789abcdef"
_LENGTH = 16


def is_run_id(name: str) -> bool:
    """Say whether a name is a run's id."""
    return len(name) == _LENGTH and is_beginning(name)


def is_beginning(text: str) -> bool:
    """Say whether a run's id could begin so."""
    return len(text) <= _LENGTH and not text.strip(_DIGITS)


def reconcile(book: Registry, runs: str) -> None:
    """Tell the registry of runs that it does not know, and of runs whose directories are gone.

    Where there are none this costs one stat: a folder's time changes with each name in it that comes or goes,
    and the registry remembers at which time it knew them all.
    """
    folder, settled = _folder(runs)
    if folder is None or book.folder() != folder:
        _take_in(book, runs, folder if settled else None)


def _folder(runs: str) -> tuple[str | None, bool]:
    """Return what a folder is known by as long as no name in it comes or goes, and whether that is sure."""
    try:
        facts = os.stat(runs)
    except FileNotFoundError:
        return None, False
    age = time.time_ns() - facts.st_mtime_ns
    return f"{facts.st_dev}.{facts.st_ino}.{facts.st_mtime_ns}", age > SETTLED_NS


def _take_in(book: Registry, runs: str, folder: str | None) -> None:
    """Compare the whole folder with the registry. `folder`: what it is known by, where that is sure."""
    from tmuxagents.commands.learn import row_of  # noqa: PLC0415  (almost every look finds all as it was)

    known = book.ids()  # before the listing: a launch that comes between is then not taken for a removal
    listed = _listed(runs)
    others = listed - known
    new = [row for name in filter(is_run_id, others) if (row := row_of(f"{runs}/{name}")) is not None]
    gone = [run_id for run_id in known - listed if not os.path.isdir(f"{runs}/{run_id}")]
    # A directory that is no run may become one, by its wrapper's hand, without the folder's time telling.
    sure = folder if len(new) == sum(map(is_run_id, others)) else None
    if new or gone or sure:
        book.absorb(new, gone, sure)


def _listed(runs: str) -> set[str]:
    try:
        return set(os.listdir(runs))
    except FileNotFoundError:
        return set()
