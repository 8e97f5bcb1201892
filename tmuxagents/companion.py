"""The companion of a pi parent: it reports each change of the session's background runs once.

It works while any run is active and the parent is there. The parent stores every report as an entry of its
session, and a new companion reads these entries first. Where the entries and the run directories differ, the
directories are right. The companion sends only texts and the names of styles; pi chooses the colours. It
imports little, because it runs for as long as the runs do.

Joins.
"""

from __future__ import annotations

import json
import math
import time

from tmuxagents import records
from tmuxagents.cpython import ignoring
from tmuxagents.registry import lookup
from tmuxagents.registry.database import Scope
from tmuxagents.runs import words
from tmuxagents.status import poll
from tmuxagents.status.snapshot import DOCUMENTS, Query, SnapshotBuilder, ensure_watcher
from tmuxagents.status.wait import Waiting
from tmuxagents.system.lifeline import Lifeline
from tmuxagents.text import figures, jsonline, provider_error, safe
from tmuxagents.tools import answers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from tmuxagents.registry.database import Registry
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.status.snapshot import Snapshot

    Row = list[tuple[str, str]]  # (style, text), the styles of render/styles

ROUND_S = 1.0  # between two looks while a run may change without ending: queued, settled, or asking a person
LONG_ROUND_S = 3.0  # between two looks otherwise; ends arrive at once, and the parent reports launches
LINGERS_S = 30.0  # without an active run, because the next launch is often near
_NEWEST = 100  # runs to look at; a new run, which no entry names yet, is one of these


def follow(write: Callable[[bytes], None]) -> int:
    """Report news of the session whose entries come on stdin, as JSON lines; return the exit code."""
    parent = Lifeline()
    try:
        given = json.loads(parent.line() or b"{}")
    except ValueError:
        given = None
    given = given if isinstance(given, dict) else {}
    entries, since = given.get("entries"), given.get("since")
    memory = Memory(entries if isinstance(entries, list) else ())
    since = float(since) if isinstance(since, (int, float)) else time.time()

    def send(document: dict[str, Any]) -> None:
        write(jsonline.encode(document))

    with ignoring(BrokenPipeError):  # the parent has ended
        Companion(lookup.here(), memory, since=since, send=send).stay(parent)
    return 0


class Companion:
    """The reports to one parent's session."""

    def __init__(
        self, caller: Caller, memory: Memory, *, since: float, send: Callable[[dict[str, Any]], None]
    ) -> None:
        self._caller = caller
        self._memory = memory
        self._since = since
        self._send = send
        self._query = poll.background(caller, DOCUMENTS)
        self._status: str | None = None
        self._active: list[Row] = []
        self._news: list[str] = []
        self._gone: list[str] = []
        self._waited_for: set[str] = set()

    def stay(self, parent: Lifeline) -> None:
        """Check the runs again and again, until none has been active for a while or the parent has gone."""
        nudged, leaves_at = True, math.inf
        with Waiting() as waiting:
            while not parent.gone:
                found = self._look(nudged=nudged)
                now = time.monotonic()
                leaves_at = math.inf if found.active or nudged else leaves_at
                leaves_at = leaves_at if found.active else min(leaves_at, now + LINGERS_S)
                if now >= leaves_at:
                    return
                for run_id in set(found.active) - self._waited_for:  # so that its end ends the pause
                    self._waited_for.add(run_id)
                    waiting.add(f"{self._caller.runs}/{run_id}")
                rows = [found.registry_rows[run_id] for run_id in found.active]
                unsteady = any(row.status == records.QUEUED or row.settled or row.needs_input for row in rows)
                round_s = ROUND_S if unsteady else LONG_ROUND_S if rows else math.inf
                nudged = _pause(waiting, min(leaves_at, now + round_s), parent)

    def _look(self, *, nudged: bool) -> Snapshot:
        """Read all runs once, and report news. `nudged`: the parent has written, so answer in any case."""
        found = ensure_watcher(*lookup.with_registry(self._caller, self._ask), self._caller)
        total = found.counts["total"]
        status = (
            words.status_line(found.counts, found.waiting, unreachable=found.unreachable)
            if total or self._memory.runs
            else None
        )
        reports = [
            self._memory.report(one.run) for one in reversed(found.rows) if one.run["runId"] in self._news
        ]
        reports += map(self._memory.report_lost, self._gone)
        active = background_line((one.run for one in reversed(found.rows)), found.at)
        if not reports and (nudged or status != self._status or active != self._active):
            reports = [{"run": None, "update": None, "notice": None}]
        self._status, self._active = status, active
        for line in reports:
            self._send({"v": 1, "status": status, "counts": found.counts, "active": active, **line})
        return found

    def _ask(self, registry: Registry) -> Snapshot:
        builder = SnapshotBuilder(registry, self._query, self._caller)
        found = builder.snapshot
        rows = {row.run_id: row for row in registry.rows(self._query.scope, limit=_NEWEST)}
        recent = [row.run_id for row in rows.values() if row.created_at >= self._since]
        candidates = dict.fromkeys((*self._memory.open, *found.active, *recent))
        existing = [one for one in candidates if builder.sees(one, rows.get(one) or registry.row(one))]
        self._gone = [run_id for run_id in candidates if run_id not in existing]
        read = ((run_id, found.registry_rows[run_id]) for run_id in existing)
        self._news = [
            run_id for run_id, row in read if self._memory.is_news(run_id, row.status, settled=row.settled)
        ]
        return builder.show((*self._news, *found.active), rows.values())


def _pause(waiting: Waiting, until: float, parent: Lifeline) -> bool:
    """Sleep until a run has ended, the parent has written or time is up; say whether it has written."""
    while not waiting.done():
        waiting.pause(until, parent.handle)
        if parent.speaks():
            return bool(list(parent.lines()))
        if time.monotonic() >= until:
            break
    return False


def everything(caller: Caller) -> Query:
    """Return the query for all runs of the session, whatever launched them, including ended ones."""
    own = poll.background(caller).scope
    return Query(Scope(own.kind, own.key, also=own.also), active=False)


# --- past reports ---

LAUNCHED, CHANGED = "pi-subagents:bg-run", "pi-subagents:bg-update"
INFO, WARNING = "info", "warning"
_RESULT = (
    *("exitCode", "signal", "stopReason", "errorMessage", "output", "outputBytes", "model", "usage"),
    *("toolCount", "turns", "messageCount", "startedAt", "endedAt", "leftBehind", "note"),
)


class LastReport(records.Record):
    """The last report about one run: its status, and whether its end or first answer was reported."""

    __slots__ = ("announced", "status")

    status: str
    announced: bool


class Memory:
    """The last report about each run."""

    def __init__(self, entries: Iterable[Any] = ()) -> None:
        self.runs: dict[str, LastReport] = {}
        for entry in entries:  # malformed ones are ignored
            if not isinstance(entry, dict):
                continue
            kind, data = entry.get("customType"), entry.get("data")
            if kind not in (LAUNCHED, CHANGED) or not isinstance(data, dict):
                continue
            run_id, status = data.get("runId"), data.get("status")
            if not isinstance(run_id, str) or status not in records.STATUSES:
                continue
            last = self.runs.get(run_id)
            announced = last is not None and last.announced
            if kind == CHANGED:
                announced = announced or status in records.ENDED or data.get("settled") is True
            self.runs[run_id] = LastReport(status=status, announced=announced)

    @property
    def open(self) -> list[str]:
        """Return the runs whose end was not reported."""
        return [run_id for run_id, report in self.runs.items() if report.status not in records.ENDED]

    def is_news(self, run_id: str, status: str, *, settled: bool) -> bool:
        """Say whether there is anything new to report about a run."""
        last = self.runs.get(run_id)
        return last is None or last.status != status or (settled and not last.announced)

    def report(self, run: Mapping[str, Any]) -> dict[str, Any]:
        """Return the report about a run (its start, a change, the one notice), and remember it."""
        run_id, status = run["runId"], run["status"]
        last = self.runs.get(run_id)
        announced = last is not None and last.announced
        over = status in records.ENDED or run["settled"]
        notice = over and not announced
        changed = notice or (last is not None and last.status != status)
        self.runs[run_id] = LastReport(status=status, announced=over or announced)
        return {
            "run": run if last is None else None,
            "update": update(run) if changed else None,
            "notice": describe(run) if notice else None,
        }

    def report_lost(self, run_id: str) -> dict[str, Any]:
        """Return the report about a run whose files were removed before its end was reported."""
        self.runs[run_id] = LastReport(status=records.ABORTED, announced=True)
        text = f"Background run {run_id} is gone: its files were removed."
        gone = {
            "runId": run_id,
            "status": records.ABORTED,
            "reason": "lost",
            "settled": False,
            "result": None,
        }
        return {"run": None, "update": gone, "notice": {"level": WARNING, "text": text, "message": text}}


def update(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a change."""
    ended = run["status"] in records.ENDED
    return {
        **{key: run[key] for key in ("runId", "status", "reason", "settled")},
        "result": {key: run[key] for key in _RESULT} if ended else None,
    }


def describe(run: Mapping[str, Any]) -> dict[str, str]:
    """Return the notice of a run that has ended or answered: a text for the screen, and one for the model."""
    good = run["status"] not in (records.FAILED, records.ABORTED)
    name = answers.label(run)
    after = "" if run["startedAt"] is None else f" after {int(run['elapsedSeconds'])}s"
    if run["status"] not in records.ENDED:
        how = "has answered, and stays"
    elif run["status"] == records.COMPLETED:
        how = f"completed{after}"
    else:
        why = safe.line(run["errorMessage"] or "").removesuffix(".")
        how = f"{run['status']} ({run['reason']}){after}{': ' if why else ''}{why}"
    where = "Its answer" if good else "What there is of it"
    return {
        "level": INFO if good else WARNING,
        "text": f"{words.mark(name, run['status'])} {how}",
        "message": f"Background run {run['runId']} ({name}) {how}. {where}: "
        f"background_agent_status with this runId, or tmuxagents output {run['runId']}",
    }


# --- runs as lines ---

_SEPARATOR = " · "
_WAITS = ("?", "bold magenta")
_SIGNS = {
    records.QUEUED: ("…", "dim"),
    records.RUNNING: ("●", "cyan"),
    records.COMPLETED: (records.SIGNS[records.COMPLETED], "green"),
    records.FAILED: (records.SIGNS[records.FAILED], "red"),
    records.ABORTED: (records.SIGNS[records.ABORTED], "red"),
}


def child_line(run: Mapping[str, Any], now: float) -> dict[str, Any]:
    """Return the parts of a child's line. `run`: a run document, or an entry of `details.windows`."""
    status = run.get("state") or run["status"]
    sign, style = _SIGNS[status]
    return {
        "sign": sign,
        "style": style,
        "name": _name(run),
        "facts": _facts(run, status, now),
        "doing": safe.line(run.get("activity") or "") if status == records.RUNNING else "",
        "why": provider_error.sentence(run["errorMessage"] or "")
        if status in (records.FAILED, records.ABORTED)
        else "",
    }


def background_line(runs: Iterable[Mapping[str, Any]], now: float) -> list[Row]:
    """Return a line for each active run: its name, how long it has worked, and what it does."""
    found: list[Row] = []
    for run in runs:
        if run["status"] in records.ENDED:
            continue
        sign, style = _WAITS if run["needsInput"] else _SIGNS[run["status"]]
        line = [(style, f"{sign} "), ("bold", _name(run)), ("dim", f"  {_facts(run, run['status'], now)}")]
        doing = safe.line(run["activity"] or "")
        found.append([*line, ("", f"  {doing}")] if doing else line)
    return found


def _name(run: Mapping[str, Any]) -> str:
    return safe.line(run.get("name") or run.get("preset") or "") or str(run["runId"])[:8]


def _facts(run: Mapping[str, Any], status: str, now: float) -> str:
    """Return status, duration, tools and costs of a run, as far as they are known."""
    used: Mapping[str, Any] = run.get("usage") or {}
    count = run["toolCount"]
    lasted = 0.0
    if "elapsedSeconds" in run:
        lasted = run["elapsedSeconds"]
    elif run["startedAt"] is not None:  # an entry of `details.windows`, in milliseconds
        ended = run["completedAt"]
        lasted = (now * 1000 if ended is None else ended) / 1000 - run["startedAt"] / 1000
    parts = (
        status if status != records.RUNNING else "",
        "" if run["startedAt"] is None else figures.lasted(lasted),
        figures.counted(count, "tool") if count else "",
        figures.tokens(used),
        figures.money(used.get("cost") or 0.0),
    )
    return _SEPARATOR.join(part for part in parts if part)
