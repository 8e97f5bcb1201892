"""get_subagent_output, get_subagent_session, list_subagent_profiles: what there is to be read."""

from __future__ import annotations

import time

from tmuxagents import configured
from tmuxagents.commands import reading
from tmuxagents.commands.inspect import inspect
from tmuxagents.commands.tools import remembered
from tmuxagents.commands.tools.door import Answer
from tmuxagents.core import catalogue_words, retrieval, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.commands.inspect import Run
    from tmuxagents.commands.tools.door import Door
    from tmuxagents.core.catalogue_check import Faults


def get_subagent_output(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Return the last answer of a session's latest run, also while it works."""
    faults.refuse()
    run_dirs = _session(arguments, door)
    run = inspect(run_dirs[-1])
    said = reading.answer(run)
    text = said if said and said.strip() else retrieval.output(reading.told(run_dirs[-1]))
    shape, name = _shape(run)
    return Answer(text, sessions.output_details(shape, name, len(run_dirs), _most_lines(door)))


def get_subagent_session(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Return the transcript of all runs of a session."""
    faults.refuse()
    run_dirs = _session(arguments, door)
    told = [reading.told(run_dir) for run_dir in run_dirs]
    shape, name = _shape(inspect(run_dirs[-1]))
    details = sessions.session_details(shape, name, told, _most_lines(door))
    return Answer(retrieval.session_output(told), details)


def _session(arguments: Mapping[str, Any], door: Door) -> Sequence[str]:
    reference = arguments["sessionId"]
    run_dirs = remembered.find(reference, door.caller, sessions.unknown_session, field="sessionId")
    return run_dirs[-sessions.MOST_RUNS :]


def _shape(run: Run) -> tuple[dict[str, Any], str]:
    shape = run.document(time.time())
    return shape, remembered.task_name(shape, run.meta)


def _most_lines(door: Door) -> int:
    settings = configured.load(door.environment, door.caller.project)
    return int(settings.numbers["maxLinesPerWindow"])


def list_subagent_profiles(_: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Return a line on each preset and profile that counts here."""
    faults.refuse()
    from tmuxagents.commands import presets  # noqa: PLC0415  (YAML is for who asks for presets)

    settings = configured.load(door.environment, door.caller.project)
    found = presets.survey(door.caller.folder, door.environment, settings)
    lines = {
        preset.name: catalogue_words.profile_line(preset.kind, preset.name, preset.fields)
        for preset in found.presets
        if preset.hidden_by is None
    }
    warnings = [*settings.warnings, *found.warnings]
    if not lines:
        return Answer(catalogue_words.NO_PROFILES, {"count": 0}, warnings)
    return Answer("\n".join(lines.values()), {"count": len(lines), "profiles": lines}, warnings)
