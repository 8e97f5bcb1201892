"""Children that may launch children: which of them may, how many levels deep, and how many runs. Joins.

A limited number of runs may descend from one first run, the root; ended ones count, too. Only the user's own
presets allow nesting. The plan of a child's run sets the limit, and the child's environment can only lower
it. This is a rule for agents that follow rules, not a sandbox: docs/presets.md describes what it does not
prevent.
"""

from __future__ import annotations

import os

from tmuxagents import records
from tmuxagents.errors import BadRequest
from tmuxagents.records import is_run_id
from tmuxagents.runs import directory, writing
from tmuxagents.system import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.records import Plan, SetUp

CHILD, RUN = "PI_SUBAGENTS_CHILD", "TMUXAGENTS_RUN"
DEPTH, ROOT = "TMUXAGENTS_NESTING", "TMUXAGENTS_ROOT"
MOST_RUNS = 16  # of one root, itself included
MOST_LEVELS = 3
_DAY_S = 86_400  # the clock may have been set back by this much


class NestingPermission:
    """A child's permission to launch children: the root of their runs, and the levels allowed below them."""

    __slots__ = ("depth", "root")

    def __init__(self, root: str, depth: int) -> None:
        self.root = root
        self.depth = depth


def check(environment: Mapping[str, str], runs: str) -> NestingPermission | None:
    """Return the permission of the child that calls, None if no child calls; raise if it has none."""
    if not is_child(environment):
        return None
    # It must really work in the run that its environment names.
    run_id = environment.get(RUN, "")
    run_dir, given = f"{runs}/{run_id}", None
    wrapper = directory.identity_of(directory.read_wrapper(run_dir)) if is_run_id(run_id) else None
    if wrapper is not None and process.presence(wrapper) == records.HERE:
        plan = directory.read_plan(run_dir)
        if plan is not None and process.descends_from(wrapper.pid, wrapper.start_time):
            given = permission_of(environment, plan)
    if given is None:
        hint = "do the work yourself, or say in your answer what should be delegated"
        raise BadRequest("A child agent may not launch agents of its own.", kind="nested", hint=hint)
    if _count(given.root, runs) >= MOST_RUNS:
        raise _crowded(given.root)
    return given


def refuse_crowd(run_dir: str) -> None:
    """Remove a run that was just made, and raise, if too many runs share its root.

    Each launcher makes its run first and counts afterwards. So the last of several to count sees all runs.
    """
    root = _root_of(run_dir)
    runs, run_id = os.path.split(run_dir)
    if root not in (None, run_id) and _count(str(root), runs) > MOST_RUNS:
        writing.remove_unbegun(run_dir)
        raise _crowded(str(root))


def _crowded(root: str) -> BadRequest:
    message = f"{MOST_RUNS} runs descend from run {root[:8]} already, which is the limit."
    hint = "do the rest yourself, or say in your answer what should be delegated"
    return BadRequest(message, kind="nested", hint=hint)


def _root_of(run_dir: str) -> str | None:
    """Return the root of a run, possibly the run itself; None without nesting."""
    plan = directory.read_plan(run_dir)
    return plan.root or None if plan else None


def _count(root: str, runs: str) -> int:
    """Count the runs that share a root, ended ones too. Plans of runs older than the root are not read."""
    top = directory.read_plan(f"{runs}/{root}")
    since = top.created_at - _DAY_S if top and top.created_at is not None else 0.0
    count = 0
    with os.scandir(runs) as entries:
        for entry in entries:
            try:
                is_young = is_run_id(entry.name) and entry.stat(follow_symlinks=False).st_mtime >= since
            except OSError:  # removed this moment
                continue
            count += is_young and _root_of(entry.path) == root
    return count


# --- the rules ----------------------------------------------------------------------------------------------


def is_child(environment: Mapping[str, str]) -> bool:
    """Say whether a child is calling: ours, or that of another program with the same mark."""
    return environment.get(CHILD) == "1"


def depth_of(set_up: SetUp) -> int:
    """Return how many levels of children a run may have below it, by its plan."""
    depth = set_up.nesting
    return depth if depth is not None and 0 <= depth <= MOST_LEVELS else 0


def permission_of(environment: Mapping[str, str], plan: Plan) -> NestingPermission | None:
    """Return a child's permission, by its environment and the plan of its run; None if it has none."""
    text = environment.get(DEPTH, "")
    depth = min(int(text), depth_of(plan)) if text.isascii() and text.isdigit() and len(text) == 1 else 0
    if depth < 1 or not plan.root or not is_run_id(plan.root):
        return None
    return NestingPermission(plan.root, depth - 1)


def bounded(run_id: str, set_up: SetUp, given: NestingPermission | None) -> tuple[SetUp, str | None]:
    """Return the set-up with the levels that are really allowed below the run, and the run's root.

    `set_up` has the levels that the run's preset wants. `given`: the permission of the child that launches.
    """
    wanted = depth_of(set_up)
    if given is not None:
        return set_up.changed(nesting=min(wanted, given.depth) if wanted else given.depth), given.root
    return set_up, run_id if wanted else None


def variables(plan: Plan, *, home: str, socket: str | None) -> dict[str, str]:
    """Return a child's variables for nesting.

    A child that may launch gets the state directory and the tmux server, too: so its children are counted
    with it, and their windows open beside its own.
    """
    root, depth = plan.root, depth_of(plan)
    if not root:
        return {}
    where = {"TMUXAGENTS_HOME": home, **({"TMUXAGENTS_SOCKET": socket} if socket else {})}
    return {DEPTH: str(depth), ROOT: root, **(where if depth else {})}
