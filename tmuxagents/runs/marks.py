"""What a run's files are known by as long as nobody touches them. Light: every look at a live run asks it.

Touches: the run directory.
"""

from __future__ import annotations

import os
import time

EVENTS = "events.jsonl"
Mark = tuple[int, int, int, int]

# Two changes of a folder within one tick of the clock leave the same time on it; this is many ticks.
SETTLED_NS = 2_000_000_000


def mark_of(path: str) -> Mark | None:
    """Return what a file or folder is known by until somebody writes to it or replaces it; None if none.

    Of a folder: until a name in it comes or goes. No program can set the time that is in it.
    """
    try:
        facts = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_ctime_ns


def is_settled(folder: Mark) -> bool:
    """Say whether the mark of a folder can be relied on: a change of right now may not show in it."""
    return time.time_ns() - folder[3] > SETTLED_NS


def of_run(run_dir: str) -> str:
    """Return what a run is known by until its folder changes, or its events do."""
    return joined(mark_of(run_dir), mark_of(f"{run_dir}/{EVENTS}"))


def joined(folder: Mark | None, file: Mark | None) -> str:
    """Return both marks as one word, to be compared. A file that grows needs no time to settle."""
    return f"{folder} {file}"
