"""Make the registry's row of a run from its run directory. Joins."""

from __future__ import annotations

import os
import time

from tmuxagents import records
from tmuxagents.errors import NoSuchRun
from tmuxagents.records import Facts
from tmuxagents.registry import current, database
from tmuxagents.registry.database import Row
from tmuxagents.registry.rows import VOLATILE
from tmuxagents.runs import directory, endings, inspect, lifecycle, words
from tmuxagents.runs.events import is_figure
from tmuxagents.runs.reading import presence_of
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.runs.inspect import RunView
    from tmuxagents.tmux.servers import ServerLife

TEXT_LIMIT = 200
_LONGEST_START = 4096  # characters of an answer that are searched for its first line
_MOST_DOCUMENT = 64 * 1024  # bytes; a longer one is made from the run's directory each time


def row_of(run_dir: str) -> Row | None:
    """Return the row of a run directory, None if there is no run in it.

    The events of an ended run are not read, since there may be thousands of such runs.
    """
    plan = directory.read_plan(run_dir)
    if plan is None:
        return None
    wrapper = directory.read_wrapper(run_dir)
    machine = directory.read_machine(run_dir)
    presence = presence_of(wrapper, machine)
    result = directory.read_result(run_dir)
    if result is None or presence == records.HERE:
        try:
            return row(inspect.inspect(run_dir))
        except NoSuchRun:  # removed while it was read
            return None
    state = lifecycle.RunState()
    state.started_at = _figure(result.get("startedAt"))
    state.model, state.text = _text(result.get("model")), _text(result.get("output"))
    cost = result["usage"].get("cost") if isinstance(result.get("usage"), dict) else None
    state.usage["cost"] = _figure(cost) or 0.0
    standing = endings.state_of(Facts(presence=presence, started=True, result=result), state)
    return row(
        inspect.RunView(
            run_dir=run_dir,
            plan=plan,
            wrapper=wrapper,
            machine=machine,
            result=result,
            state=state,
            activity=None,
            standing=standing,
            mark=None,
            checkpoint=None,
        )
    )


def row(run: RunView) -> Row:
    """Return the row of a run, from its current state."""
    plan, how, state = run.plan, run.standing.verdict, run.state
    return Row(
        run.run_id,
        session_id=plan.session_id,
        name=plan.name,
        project=plan.project,
        owner=plan.owner,
        mode=plan.mode,
        preset=plan.preset,
        cwd=plan.cwd,
        task=plan.task[:TEXT_LIMIT],
        created_at=plan.created_at or 0.0,
        timeout=plan.timeout,
        status=run.standing.status,
        reason=how.reason if how else None,
        activity=(_activity(run) or "")[:TEXT_LIMIT] or None,
        attended=state.attended,
        settled=how is None and state.settled,
        needs_input=how is None and state.needs_input,
        started_at=_figure(state.started_at),
        ended_at=_figure(run.ended_at),
        last_event_at=_figure(state.last_event_at),
        elapsed_s=_figure(run.elapsed(0.0)) if how else None,
        concluded=run.result is not None,
        event_seq=state.seq,
        changed_at=_changed_at(run),
        announced=directory.is_announced(run.run_dir),
        launcher=plan.tmux_launcher,
        model=state.model or plan.resolved_model,
        cost=_figure(state.usage["cost"]),
        host=run.host or (_text((run.wrapper or {}).get("host")) if run.standing.foreign else None),
        **_place(run),
        **_standing(run),
    )


def _activity(run: RunView) -> str | None:
    """Return what a run does now or waits for; for an ended run, the error or the beginning of its answer."""
    how = run.standing.verdict
    if how is not None and how.status == records.COMPLETED:
        lines = (run.state.text or "")[:_LONGEST_START].splitlines()
        first = next((line for line in lines if line.strip()), None)
        if run.state.denied:  # a run with denied tool calls must not look like plain success
            return f"{words.denied(run.state.denied)}: {first}" if first else words.denied(run.state.denied)
        return first
    if how is not None:
        return how.error_message
    if run.standing.status == records.RUNNING and run.state.asks:
        return f"asks: {run.state.asks[0]['text']}"
    if run.standing.status == records.RUNNING and run.plan.driver == records.LIVE:
        state = run.state
        return words.live_activity(run.activity, settled=state.settled, needs_input=state.needs_input)
    return run.doing


def _standing(run: RunView) -> dict[str, Any]:
    """Return the columns that let readers use the row without reading the run again (registry/current)."""
    # The state of a run on another machine follows from its files alone; a word takes the wrapper's place.
    wrapper = records.MIRRORED if run.machine is not None else current.pulse_of(run.wrapper)
    if run.mark is None or wrapper is None:
        return {}

    def document() -> str | None:
        fields = run.document(0.0)
        del fields[VOLATILE]
        text = jsonline.encode(fields).decode()
        return text if len(text) <= _MOST_DOCUMENT else None

    return {"wrapper": wrapper, "mark": run.mark, "document": document, "checkpoint": run.checkpoint}


def reported_columns(row: Row) -> tuple[Any, ...]:
    """Return the columns whose changes `poll --since` and `--follow` report, and the tmux server."""
    return (row.status, row.attended, row.settled, row.needs_input, row.concluded, row.server)


def reported_state(run: RunView) -> tuple[Any, ...]:
    """Return the same values as `reported_columns` for a run, without making its row."""
    live, state = run.standing.verdict is None, run.state
    asked = (state.attended, live and state.settled, live and state.needs_input)
    return (run.standing.status, *asked, run.result is not None, _place(run).get("server"))


def is_news(before: tuple[Any, ...], now: tuple[Any, ...]) -> bool:
    """Say whether a change of these values is worth reporting: any, unless only the server became unknown."""
    *stood, there = before
    *stands, here = now
    return stood != stands or (here is not None and here != there)


def key_of(server: ServerLife) -> str | None:
    """Return the registry's name of a tmux server; None for a server of another machine."""
    if server.start_time is None:
        return None
    return database.server_key(server.socket, server.pid, server.start_time)


def _changed_at(run: RunView) -> float:
    """Return when the run's status last changed.

    If unsure, the time is too late: a reader may see a change twice, but must not miss one. The result of a
    lost run is written long after its last sign of life, so the file's time counts as well.
    """
    now = time.time()
    if run.result is None:
        return now
    try:
        written = os.stat(f"{run.run_dir}/{directory.RESULT}").st_mtime
    except OSError:
        return now
    return max(written, _figure(run.ended_at) or 0.0)


def _place(run: RunView) -> dict[str, str | None]:
    tmux = run.place
    if tmux is None:
        return {}
    socket, pid, started = tmux.get("socketPath"), tmux.get("serverPid"), tmux.get("serverStartTime")
    is_recorded = isinstance(socket, str) and type(pid) is int and type(started) is int
    server = database.server_key(str(socket), int(pid or 0), int(started or 0)) if is_recorded else None
    return {"server": server, "window": _text(tmux.get("window")), "pane": _text(tmux.get("pane"))}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _figure(value: Any) -> float | None:
    return float(value) if is_figure(value) else None
