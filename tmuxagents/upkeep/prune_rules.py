"""What may be removed: which runs are old enough and needed by nobody, and what is said about it. Pure."""

from __future__ import annotations

from tmuxagents import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence
    from typing import Any

KEPT = 100  # the newest runs stay, however old they are
RUN, WINDOW, LINK, ROW, LEFTOVER = "run", "window", "link", "row", "leftover"
_KINDS = {RUN: "run", WINDOW: "window", LINK: "link", ROW: "registry row", LEFTOVER: "leftover"}
_STEPS = ((86400, "day"), (3600, "hour"), (60, "minute"))
_UNIT = 1000


class Past:
    """A run's facts for pruning. `concluded`: its ending is written; `polled`: a caller has seen it."""

    __slots__ = ("concluded", "created_at", "ended_at", "polled", "run_id", "session_id", "status")

    def __init__(
        self, run_id: str, *, session_id: str, status: str, concluded: bool, polled: bool, **at: float | None
    ) -> None:
        self.run_id = run_id
        self.session_id = session_id
        self.status = status
        self.concluded = concluded
        self.polled = polled
        self.created_at = at["created_at"] or 0.0
        self.ended_at = at["ended_at"]

    @property
    def last_at(self) -> float:
        """Return when it ended, or else when it was made."""
        return self.created_at if self.ended_at is None else self.ended_at


def expired(
    runs: Iterable[Past], *, keep_s: float | None, now: float, needed: Container[str] = ()
) -> list[Past]:
    """Return the runs that are older than they are kept, oldest first. `needed`: live runs build on these.

    A session goes as a whole: its later runs build on the earlier ones.
    """
    if keep_s is None:
        return []
    all_ = sorted(runs, key=lambda run: (run.created_at, run.run_id))
    old = [run for run in all_[:-KEPT] if _may_go(run, now - keep_s) and run.run_id not in needed]
    gone = {run.run_id for run in old}
    kept = {run.session_id for run in all_ if run.run_id not in gone}
    return [run for run in old if run.session_id not in kept]


def _may_go(run: Past, before: float) -> bool:
    unseen = run.status == records.FAILED and not run.polled
    return run.concluded and run.status in records.ENDED and not unseen and run.last_at < before


# --- said -------------------------------------------------------------------------------------------------


class Removed:
    """One thing that was removed, or would be: a run, window, link, row of the registry, or leftover."""

    __slots__ = ("bytes", "ended_at", "path", "run_id", "status", "what")

    def __init__(
        self, what: str, *, run_id: str | None = None, path: str | None = None, size: int = 0
    ) -> None:
        self.what = what
        self.run_id = run_id
        self.path = path
        self.bytes = size
        self.status: str | None = None  # of a run
        self.ended_at: float | None = None

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        at = None if self.ended_at is None else round(self.ended_at, 3)
        keys = ("what", "runId", "path", "bytes", "status", "endedAt")
        values = (self.what, self.run_id, self.path, self.bytes, self.status, at)
        return dict(zip(keys, values, strict=True))


def line(removed: Removed, now: float, *, dry_run: bool) -> str:
    """Return what was removed, as one line."""
    what = {
        RUN: f"run {removed.run_id} ({removed.status}{_ago(removed, now)}): {size(removed.bytes)}",
        WINDOW: f"the window of run {removed.run_id} on {removed.path}",
        LINK: f"the link {removed.path}",
        ROW: f"the registry's row of run {removed.run_id}",
        LEFTOVER: f"{removed.path}: {size(removed.bytes)}",
    }[removed.what]
    return f"{_verb(dry_run=dry_run)} {what}"


def total(removed: Sequence[Removed], *, dry_run: bool) -> str:
    """Return what all of it comes to."""
    counts = {kind: sum(one.what == kind for one in removed) for kind in _KINDS}
    words = [f"{count} {_KINDS[kind]}{'s' * (count != 1)}" for kind, count in counts.items() if count]
    if not words:
        return "nothing to prune"
    return f"{_verb(dry_run=dry_run)} {', '.join(words)}: {size(sum(one.bytes for one in removed))}"


def _verb(*, dry_run: bool) -> str:
    return "would remove" if dry_run else "removed"


def _ago(removed: Removed, now: float) -> str:
    if removed.ended_at is None:
        return ""
    age = now - removed.ended_at
    figures = ((int(age // seconds), word) for seconds, word in _STEPS)
    return next((f" {n} {word}{'s' * (n != 1)} ago" for n, word in figures if n > 0), " just now")


def size(count: int) -> str:
    """Return a number of bytes as people write it."""
    figure, units = float(count), ["bytes", "KB", "MB", "GB", "TB"]
    while round(figure, 1) >= _UNIT and len(units) > 1:
        figure /= _UNIT
        units.pop(0)
    return f"{count} bytes" if units[0] == "bytes" else f"{figure:.1f} {units[0]}"
