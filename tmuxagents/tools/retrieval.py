"""The tools get_subagent_output, get_subagent_session and list_subagent_profiles. Joins.

Of the sessions that delegate_to_subagents has made for one parent, these tools know only the latest. The
command line knows every session whose files exist.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from tmuxagents import records
from tmuxagents.errors import NoSuchRun
from tmuxagents.registry import lookup, sessions
from tmuxagents.registry.database import Scope
from tmuxagents.runs import conversation, directory, output
from tmuxagents.runs.inspect import inspect
from tmuxagents.runs.words import status_word
from tmuxagents.settings import load
from tmuxagents.status import ending_text
from tmuxagents.tools import answers
from tmuxagents.tools.door import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from tmuxagents.launch.demands import Faults
    from tmuxagents.records import Plan
    from tmuxagents.registry.database import Registry, Row
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.conversation import RunMessages
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.tools.door import Door

MOST_SESSIONS, MOST_RUNS = 32, 10


def get_subagent_output(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Return the last text of a session's latest run; a line above it says if that is no finished answer."""
    faults.refuse()
    run_dirs = _session(arguments, door)
    run = inspect(run_dirs[-1])
    answer = output.answer(run)
    text = answer if answer and answer.strip() else conversation.output(output.read_messages(run_dirs[-1]))
    _mark([run], door)
    shape, name = _shape(run)
    is_over = run.ended or run.state.settled
    head = (
        ending_text.warning(shape, answer)
        if is_over
        else f"still {shape['status']}; what follows is no answer yet"
    )
    text = answers.with_work(f"{head}\n\n{text}" if head else text, shape)
    return Answer(text, output_details(shape, name, len(run_dirs), _most_lines(door)))


def get_subagent_session(arguments: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Return the transcript of all runs of a session."""
    faults.refuse()
    run_dirs = _session(arguments, door)
    conversations = [output.read_messages(run_dir) for run_dir in run_dirs]
    _mark(map(inspect, run_dirs), door)
    shape, name = _shape(inspect(run_dirs[-1]))
    details = session_details(shape, name, conversations, _most_lines(door))
    return Answer(conversation.session_output(conversations), details)


def _mark(runs: Iterable[RunView], door: Door) -> None:
    lookup.mark_answered(door.caller, (run.run_id for run in runs if run.ended))


def _session(arguments: Mapping[str, Any], door: Door) -> Sequence[str]:
    reference = arguments["sessionId"]
    run_dirs = find(reference, door.caller, sessions.unknown_session, field="sessionId")
    return run_dirs[-MOST_RUNS:]


def _shape(run: RunView) -> tuple[dict[str, Any], str]:
    shape = run.document(time.time())
    return shape, task_name(shape, run.plan)


def _most_lines(door: Door) -> int:
    settings = load.load(door.environment, door.caller.project)
    return int(settings.numbers["maxLinesPerWindow"])


def list_subagent_profiles(_: Mapping[str, Any], door: Door, faults: Faults) -> Answer:
    """Return a line about each preset and profile that is in force here."""
    faults.refuse()
    from tmuxagents.presets import describe, survey  # noqa: PLC0415  (only this tool needs YAML)

    settings = load.load(door.environment, door.caller.project)
    found = survey.survey(door.caller.folder, door.environment, settings)
    lines = {
        preset.name: describe.choice(preset.kind, preset.name, preset.fields)
        for preset in found.presets
        if preset.hidden_by is None
    }
    warnings = [*settings.warnings, *found.warnings]
    if not lines:
        return Answer(answers.NO_PROFILES, {"count": 0}, warnings)
    return Answer("\n".join(lines.values()), {"count": len(lines), "profiles": lines}, warnings)


def find(reference: str, caller: Caller, refusal: Callable[[str], str], *, field: str) -> list[str]:
    """Return the run directories of a session, oldest first. Refuse a session that the tools do not know."""
    try:
        run_dirs = sessions.find(reference, caller)
    except NoSuchRun as unknown:
        if unknown.kind != "unknown-run":
            raise
        raise _unknown(reference, refusal, field) from unknown
    plan = directory.read_plan(run_dirs[0]) if run_dirs else None
    if plan is None or not _is_kept(plan, caller):
        raise _unknown(reference, refusal, field)
    return run_dirs


def _unknown(reference: str, refusal: Callable[[str], str], field: str) -> NoSuchRun:
    hint = "tmuxagents poll --all lists all runs, tmuxagents output RUN prints the last answer of one"
    return NoSuchRun(refusal(reference), kind="unknown-run", hint=hint, field=field)


def task_name(run: Mapping[str, Any], plan: Plan) -> str:
    """Return the name of a run's task."""
    return plan.task_name or answers.label(run)


# --- which are kept ---------------------------------------------------------------------------------------


def _is_kept(plan: Plan, caller: Caller) -> bool:
    """Say whether the tools still know a session, by the plan of its first run."""
    if plan.task_name is None:
        return True  # another tool or verb made it
    own, owner = plan.session_id, plan.owner
    scope = Scope("owner", owner) if owner else Scope("project", str(plan.project))

    def ask(book: Registry) -> Sequence[Row]:
        return [row for row in book.rows(scope) if row.owner == owner]

    begun: dict[str, float] = {}
    live: set[str] = set()
    for row in lookup.with_registry(caller, ask)[0]:
        begun[row.session_id] = min(row.created_at, begun.get(row.session_id, row.created_at))
        if row.status not in records.ENDED:
            live.add(row.session_id)
    # Only later sessions and active ones can displace this one, so no other plan is read.
    found: list[Session] = []
    for session_id, since in sorted(begun.items(), key=lambda item: -item[1]):
        newer = since >= begun.get(own, 0.0) and len(found) <= MOST_SESSIONS
        first = directory.read_plan(f"{caller.runs}/{session_id}") if newer or session_id in live else None
        if session_id == own or (first is not None and first.task_name is not None):
            found.append(Session(session_id, since, is_live=session_id in live))
    return any(session.session_id == own for session in remembered(found))


# --- the details beside a text ----------------------------------------------------------------------------


def output_details(run: Mapping[str, Any], task_name: str, run_count: int, most_lines: int) -> dict[str, Any]:
    """Return `details` of get_subagent_output. `run`: the document of the session's latest run."""
    return {
        "sessionId": run["sessionId"],
        "status": status_word(run["status"]),
        "taskName": task_name,
        "runCount": run_count,
        "maxLines": most_lines,
        "state": run["status"],
        "reason": run["reason"],
    }


def session_details(
    run: Mapping[str, Any], task_name: str, runs: Sequence[RunMessages], most_lines: int
) -> dict[str, Any]:
    """Return `details` of get_subagent_session. `run`: the document of the session's latest run."""
    return {
        **output_details(run, task_name, len(runs), most_lines),
        "messageCount": sum(len(one.messages) for one in runs),
        "exitCode": run["exitCode"],
        "model": run["model"],
    }


# --- which sessions are remembered ------------------------------------------------------------------------


class Session(NamedTuple):
    """One session of a parent: when its first run started, and whether one of its runs is active."""

    session_id: str
    since: float
    is_live: bool


def remembered(sessions: Sequence[Session], most: int = MOST_SESSIONS) -> list[Session]:
    """Return the sessions that the tools keep. The oldest surplus ones go, but no active session."""
    surplus = len(sessions) - most
    gone: set[str] = set()
    for session in sorted(sessions, key=lambda one: one.since):
        if len(gone) < surplus and not session.is_live:
            gone.add(session.session_id)
    return [session for session in sessions if session.session_id not in gone]


TOOLS = {
    "get_subagent_output": get_subagent_output,
    "get_subagent_session": get_subagent_session,
    "list_subagent_profiles": list_subagent_profiles,
}
