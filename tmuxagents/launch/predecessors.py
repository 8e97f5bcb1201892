"""The runs that another run waits for: their answers, or the ending that they cause for it. Joins."""

from __future__ import annotations

import os

from tmuxagents import records
from tmuxagents.errors import NoSuchRun
from tmuxagents.records import Verdict
from tmuxagents.runs import directory
from tmuxagents.runs.inspect import inspect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.runs.inspect import RunView


_SHORT = 8


def judge(run_dir: str) -> tuple[RunView | None, Verdict | None]:
    """Return a run while it is active, or the ending that it causes for the run that waits for it.

    Both are None if the run has completed.
    """
    try:
        run = inspect(run_dir)
    except NoSuchRun:
        return None, _failed(run_dir, "which is gone")
    how = run.standing.verdict
    if how is None:
        return run, None
    if how.status == records.COMPLETED:
        return None, None
    did = "was aborted" if how.status == records.ABORTED else f"failed ({how.reason})"
    return None, _failed(run_dir, f"which {did}")


def output(run_dir: str) -> str | None:
    """Return a run's answer: from its file, or from its events if the file is gone or not ours any more."""
    text = directory.read_bytes(f"{run_dir}/{directory.OUTPUT}", limit=directory.BIGGEST_OUTPUT)
    if text is not None:
        return text.decode("utf-8", "replace")
    try:
        return inspect(run_dir).state.text
    except NoSuchRun:
        return None


def _failed(run_dir: str, what: str) -> Verdict:
    name = os.path.basename(run_dir)[:_SHORT]
    return Verdict(records.FAILED, "dependency", f"Waited for {name}, {what}.")
