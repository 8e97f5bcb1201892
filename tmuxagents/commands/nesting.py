"""Whether a child may launch children of its own: by its environment, its run, and how many there are.

It is a rule for agents that keep to rules, no sandbox: docs/presets.md says what it does not keep out.
"""

from __future__ import annotations

import os

from tmuxagents import records
from tmuxagents.commands.reconcile import is_run_id
from tmuxagents.core import nesting
from tmuxagents.core.events import is_figure
from tmuxagents.edges import process, rundir, rundir_writing
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.core.nesting import Leave

_DAY_S = 86_400  # a clock may be set back meanwhile


def check(environment: Mapping[str, str], runs: str) -> Leave | None:
    """Return what a child passes on to its children, None to nobody's child; raise if it may not launch."""
    if not nesting.is_child(environment):
        return None
    given = _leave(environment, runs)
    if given is None:
        hint = "do the work yourself, or say in your answer what should be delegated"
        raise BadRequest("A child agent may not launch agents of its own.", kind="nested", hint=hint)
    if _count(given.root, runs) >= nesting.MOST_RUNS:
        raise _crowded(given.root)
    return given


def refuse_crowd(run_dir: str) -> None:
    """Remove a run that was just made, and raise, if it is one more than may share its root.

    Who launches writes first and counts then: of several at once the last to count sees all.
    """
    root = nesting.root_of(rundir.read_meta(run_dir) or {})
    runs, run_id = os.path.split(run_dir)
    if root not in (None, run_id) and _count(str(root), runs) > nesting.MOST_RUNS:
        rundir_writing.remove_unbegun(run_dir)
        raise _crowded(str(root))


def _crowded(root: str) -> BadRequest:
    message = f"{nesting.MOST_RUNS} runs descend from run {root[:8]} already, which is the most."
    hint = "do the rest yourself, or say in your answer what should be delegated"
    return BadRequest(message, kind="nested", hint=hint)


def _leave(environment: Mapping[str, str], runs: str) -> Leave | None:
    """Return what a child passes on. The run that it names must be the one that it works in."""
    run_id = environment.get(nesting.RUN, "")
    if not is_run_id(run_id):
        return None
    run_dir = f"{runs}/{run_id}"
    wrapper = rundir.identity_of(rundir.read_wrapper(run_dir))
    if wrapper is None or process.presence(wrapper) != records.HERE:
        return None
    from tmuxagents.edges import lineage  # noqa: PLC0415  (few children may launch any)

    if not lineage.descends_from(wrapper.pid, wrapper.start_time):
        return None
    return nesting.leave(environment, rundir.read_meta(run_dir) or {})


def _count(root: str, runs: str) -> int:
    """Return how many runs share a root, ended ones too. Those that are older than it are not read."""
    begun = (rundir.read_meta(f"{runs}/{root}") or {}).get("createdAt")
    since = float(begun) - _DAY_S if begun is not None and is_figure(begun) else 0.0
    with os.scandir(runs) as entries:
        young = [entry.path for entry in entries if is_run_id(entry.name) and _changed_at(entry) >= since]
    return sum(nesting.root_of(rundir.read_meta(path) or {}) == root for path in young)


def _changed_at(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat(follow_symlinks=False).st_mtime
    except OSError:  # removed this moment
        return 0.0
