"""Find the run that a reference means: full id, name, unique beginning of an id, or @last."""

from __future__ import annotations

import os
import re

from tmuxagents.commands.inspect import inspect
from tmuxagents.core import sanitize
from tmuxagents.edges import project, rundir, settings
from tmuxagents.errors import NoSuchRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LAST = "@last"
_ID = re.compile("[0-9a-f]{16}")
_BEGINNING = re.compile("[0-9a-f]{4,15}")
_MOST_CANDIDATES = 8


class Caller:
    """Who asks, and from where."""

    __slots__ = ("owner", "project", "runs")

    def __init__(self, environment: Mapping[str, str], folder: str) -> None:
        self.runs = settings.runs(environment)
        self.owner = environment.get("TMUXAGENTS_OWNER") or environment.get("PI_SESSION_ID")
        self.project = project.project_of(folder, environment.get("HOME") or os.path.expanduser("~"))


def find(reference: str, caller: Caller) -> str:
    """Return the run directory that a reference means."""
    if reference == LAST:
        return _last(caller)
    names = _ids(caller.runs)
    if _ID.fullmatch(reference) and reference in names:
        return f"{caller.runs}/{reference}"
    named = _named(reference, caller, names)
    if named is not None:
        return named
    if _BEGINNING.fullmatch(reference):
        matches = sorted(name for name in names if name.startswith(reference))
        if len(matches) == 1:
            return f"{caller.runs}/{matches[0]}"
        if matches:
            message = f'"{reference}" is the beginning of {len(matches)} run ids.'
            hint = f"give more of it: {', '.join(matches[:_MOST_CANDIDATES])}"
            raise NoSuchRun(message, kind="ambiguous-run", hint=hint, candidates=matches[:_MOST_CANDIDATES])
    raise _unknown(reference, names)


def _ids(runs: str) -> set[str]:
    try:
        return {name for name in os.listdir(runs) if _ID.fullmatch(name)}
    except FileNotFoundError:
        return set()


def _unknown(reference: str, names: set[str]) -> NoSuchRun:
    shown = sanitize.cut(sanitize.line(reference), 40)
    near = sorted(name for name in names if name[:3] == reference[:3])[:_MOST_CANDIDATES] if reference else []
    hint = f"near: {', '.join(near)}" if near else "name it by its id, 4 or more of its digits, or its name"
    return NoSuchRun(f'There is no run "{shown}".', kind="unknown-run", hint=hint, candidates=near)


def _plans(caller: Caller) -> list[dict[str, Any]]:
    """Return the plans of all runs, newest first."""
    read = (rundir.read_meta(f"{caller.runs}/{name}") for name in _ids(caller.runs))
    plans = [plan for plan in read if plan is not None and isinstance(plan.get("createdAt"), (int, float))]
    return sorted(plans, key=lambda plan: (plan["createdAt"], plan["runId"]), reverse=True)


def _last(caller: Caller) -> str:
    for plan in _plans(caller):
        ours = plan.get("owner") == caller.owner if caller.owner else plan.get("project") == caller.project
        if ours:
            return f"{caller.runs}/{plan['runId']}"
    whose = "by this parent" if caller.owner else f"in {sanitize.line(caller.project)}"
    raise NoSuchRun(
        f"No run has been launched {whose} yet.", kind="unknown-run", hint="name the run by its id"
    )


def _named(name: str, caller: Caller, ids: set[str]) -> str | None:
    """Return the run of a name: the live one of this project, else its newest; other projects last."""
    if not ids or _ID.fullmatch(name) or _BEGINNING.fullmatch(name):
        return None
    namesakes = [plan for plan in _plans(caller) if plan.get("name") == name]
    here = [plan for plan in namesakes if plan.get("project") == caller.project] or namesakes
    folders = [f"{caller.runs}/{plan['runId']}" for plan in here]
    return next((folder for folder in folders if not inspect(folder).ended), next(iter(folders), None))


def session(run_dir: str, caller: Caller) -> list[str]:
    """Return the run directories of the session that a run belongs to, oldest first."""
    plan = rundir.read_meta(run_dir) or {}
    of_session = [p for p in _plans(caller) if p.get("sessionId") == plan.get("sessionId")]
    return [f"{caller.runs}/{p['runId']}" for p in reversed(of_session)] or [run_dir]
