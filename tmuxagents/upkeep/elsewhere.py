"""A run that is removed here and works on another machine: it is removed there, too. Joins."""

from __future__ import annotations

import os

from tmuxagents.errors import TmuxAgentsError
from tmuxagents.machines import relay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tmuxagents.runs.inspect import RunView
    from tmuxagents.upkeep.prune import Pruned

_GONE = "unknown-run"


def prune(runs: Iterable[RunView], pruned: Pruned) -> None:
    """Let their machines remove these runs, with their checkouts; what stays there is a warning."""
    for run in runs:
        if not run.is_far or pruned.dry_run:
            continue
        try:
            there = relay.carry_out(run, ["prune", run.run_id], os.environ)
        except TmuxAgentsError as why:
            if why.kind != _GONE:
                pruned.warnings.append(f"run {run.run_id} stays on {run.host}: {why.message}")
        else:
            pruned.warnings += [f"{run.host}: {warning}" for warning in there.get("warnings") or ()]
