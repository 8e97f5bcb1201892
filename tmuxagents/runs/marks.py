"""Marks of files and folders, which change with every write. Light: every reader of a live run imports it.

Touches: the run directory.
"""

from __future__ import annotations

import os
import time

EVENTS = "events.jsonl"
Mark = tuple[int, int, int, int]

# Two changes within one tick of the clock leave the same time on a folder. So a mark is reliable only after
# many ticks.
RELIABLE_AFTER_NS = 2_000_000_000


def mark_of(path: str) -> Mark | None:
    """Return the mark of a file or folder; None if there is nothing. It changes with every write.

    A folder's mark changes when a name in it comes or goes. No program can set the time in a mark.
    """
    try:
        facts = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_ctime_ns


def is_reliable(folder: Mark) -> bool:
    """Say whether the mark of a folder is reliable: a very recent change may not show in it."""
    return time.time_ns() - folder[3] > RELIABLE_AFTER_NS


def of_run(run_dir: str) -> str:
    """Return the mark of a run, which changes with its folder and with its events."""
    return joined(mark_of(run_dir), mark_of(f"{run_dir}/{EVENTS}"))


def joined(folder: Mark | None, file: Mark | None) -> str:
    """Return both marks as one text to compare. A file that grows needs no time to settle."""
    return f"{folder} {file}"
