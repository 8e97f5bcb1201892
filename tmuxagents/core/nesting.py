"""Children that may launch children: who may, how deep, and how many may share one root.

A preset of the user's opens it (`nesting`), and nothing else does. What a child's environment says counts
only downwards: the plan of its run has the most that it may.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

CHILD, RUN = "PI_SUBAGENTS_CHILD", "TMUXAGENTS_RUN"
DEPTH, ROOT = "TMUXAGENTS_NESTING", "TMUXAGENTS_ROOT"
MOST_RUNS = 16  # of one root, itself included
MOST_LEVELS = 3


class Leave:
    """What a child that may launch children passes on to them: their root, and how deep they may go."""

    __slots__ = ("depth", "root")

    def __init__(self, root: str, depth: int) -> None:
        self.root = root
        self.depth = depth


def is_child(environment: Mapping[str, str]) -> bool:
    """Say whether who calls is a child of ours, or of another program that marks them so."""
    return environment.get(CHILD) == "1"


def depth_of(plan: Mapping[str, Any]) -> int:
    """Return how many levels of children a run may have below it, by its plan."""
    depth = plan.get("nesting")
    return depth if type(depth) is int and 0 <= depth <= MOST_LEVELS else 0


def root_of(plan: Mapping[str, Any]) -> str | None:
    """Return the run that a run descends from, itself if it is the top; None where none has children."""
    root = plan.get("root")
    return root if isinstance(root, str) and root else None


def leave(environment: Mapping[str, str], plan: Mapping[str, Any]) -> Leave | None:
    """Return what a child passes on, by its environment and the plan of its run; None if it may not."""
    said = environment.get(DEPTH, "")
    depth = min(int(said), depth_of(plan)) if said.isascii() and said.isdigit() and len(said) == 1 else 0
    root = root_of(plan)
    return Leave(root, depth - 1) if depth >= 1 and root is not None else None


def plan_keys(run_id: str, wanted: int, given: Leave | None) -> dict[str, Any]:
    """Return what a plan says of it. `wanted`: by the run's own preset; `given`: by the child that asks."""
    if given is not None:
        return {"nesting": min(wanted, given.depth) if wanted else given.depth, "root": given.root}
    return {"nesting": wanted, "root": run_id} if wanted else {}


def variables(plan: Mapping[str, Any], *, home: str, socket: str | None) -> dict[str, str]:
    """Return what a child's environment gets of it: where it may launch also the state directory and server.

    Its children are then counted where it is itself, and open beside it.
    """
    root, depth = root_of(plan), depth_of(plan)
    if root is None:
        return {}
    where = {"TMUXAGENTS_HOME": home, **({"TMUXAGENTS_SOCKET": socket} if socket else {})}
    return {DEPTH: str(depth), ROOT: root, **(where if depth else {})}
