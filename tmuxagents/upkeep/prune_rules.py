"""The rules of prune: which old runs it removes, and the words of its report. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tmuxagents import records
from tmuxagents.text import figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence
    from typing import Any

KEPT = 100  # the newest runs stay, however old they are
RUN, WINDOW, LINK, ROW, LEFTOVER = "run", "window", "link", "row", "leftover"
_KINDS = {RUN: "run", WINDOW: "window", LINK: "link", ROW: "registry row", LEFTOVER: "leftover"}
_STEPS = ((86400, "day"), (3600, "hour"), (60, "minute"))
_UNIT = 1000


class Past(NamedTuple):
    """A run's facts for pruning. `concluded`: its ending is written; `polled`: a caller has seen it."""

    run_id: str
    session_id: str
    status: str
    concluded: bool
    polled: bool
    created_at: float
    ended_at: float | None

    @property
    def last_at(self) -> float:
        """Return the time when the run ended, or else when it was made."""
        return self.created_at if self.ended_at is None else self.ended_at


def expired(
    runs: Iterable[Past], *, keep_s: float | None, now: float, needed: Container[str] = ()
) -> list[Past]:
    """Return the runs to remove: those older than `keep_s`, oldest first. Active runs build on `needed`.

    A session is removed as a whole, because its later runs build on the earlier ones.
    """
    if keep_s is None:
        return []
    all_ = sorted(runs, key=lambda run: (run.created_at, run.run_id))
    old = [
        run
        for run in all_[:-KEPT]
        if run.concluded
        and run.status in records.ENDED
        and (run.status != records.FAILED or run.polled)  # someone should see a failure first
        and run.last_at < now - keep_s
        and run.run_id not in needed
    ]
    gone = {run.run_id for run in old}
    kept = {run.session_id for run in all_ if run.run_id not in gone}
    return [run for run in old if run.session_id not in kept]


# --- the report -------------------------------------------------------------------------------------------


@dataclass
class Removed:
    """One thing that was removed or, in a dry run, would be: a run, window, link, row or leftover."""

    what: str
    run_id: str | None = None
    path: str | None = None
    size: int = 0
    status: str | None = None  # of a run
    ended_at: float | None = None
    of_others: bool = False  # its run belongs to another parent session, or to none

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
        at = None if self.ended_at is None else round(self.ended_at, 3)
        what = {"what": self.what, "runId": self.run_id, "path": self.path}
        return {**what, "bytes": self.size, "status": self.status, "endedAt": at}


def line(removed: Removed, now: float, *, dry_run: bool) -> str:
    """Return what was removed, as one line."""
    ago = ""
    if removed.ended_at is not None:
        age = now - removed.ended_at
        steps = ((int(age // seconds), word) for seconds, word in _STEPS)
        ago = next((f" {figures.counted(n, word)} ago" for n, word in steps if n > 0), " just now")
    what = {
        RUN: f"run {removed.run_id} ({removed.status}{ago}): {size(removed.size)}",
        WINDOW: f"the window of run {removed.run_id} on {removed.path}",
        LINK: f"the link {removed.path}",
        ROW: f"the registry's row of run {removed.run_id}",
        LEFTOVER: f"{removed.path}: {size(removed.size)}",
    }[removed.what]
    return f"{_verb(dry_run=dry_run)} {what}"


def total(removed: Sequence[Removed], *, dry_run: bool) -> str:
    """Return the counts and the size of everything removed, as one line."""
    counts = {kind: sum(one.what == kind for one in removed) for kind in _KINDS}
    others = {kind: sum(one.what == kind and one.of_others for one in removed) for kind in _KINDS}
    words = [
        figures.counted(count, _KINDS[kind]) + (f" ({others[kind]} of other parents)" if others[kind] else "")
        for kind, count in counts.items()
        if count
    ]
    if not words:
        return "nothing to prune"
    bytes_ = sum(one.size for one in removed)  # windows and rows have none
    return f"{_verb(dry_run=dry_run)} {', '.join(words)}{f': {size(bytes_)}' if bytes_ else ''}"


def _verb(*, dry_run: bool) -> str:
    return "would remove" if dry_run else "removed"


def size(count: int) -> str:
    """Return a number of bytes as people write it."""
    figure, units = float(count), ["bytes", "KB", "MB", "GB", "TB"]
    while round(figure, 1) >= _UNIT and len(units) > 1:
        figure /= _UNIT
        units.pop(0)
    return figures.counted(count, "byte") if units[0] == "bytes" else f"{figure:.1f} {units[0]}"
