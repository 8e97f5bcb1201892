"""What a parent's own session remembers of its background runs, and what it is to be told of them.

The memory is the entries of that session; where they and the run directories differ, the directories decide.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.core import answers, display, sanitize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

LAUNCHED, CHANGED = "pi-subagents:bg-run", "pi-subagents:bg-update"
INFO, WARNING = "info", "warning"
_RESULT = (
    *("exitCode", "signal", "stopReason", "errorMessage", "output", "outputBytes", "model", "usage"),
    *("toolCount", "turns", "messageCount", "startedAt", "endedAt", "leftBehind", "note"),
)


class Told:
    """What was told of one run: how it stood, and whether that was the end or the first answer of it."""

    __slots__ = ("announced", "status")

    def __init__(self, status: str, *, announced: bool = False) -> None:
        self.status = status
        self.announced = announced


class Memory:
    """All that was told: run -> what of it."""

    def __init__(self, entries: Iterable[Any] = ()) -> None:
        self.runs: dict[str, Told] = {}
        for entry in entries:
            self._take(entry)

    def _take(self, entry: Any) -> None:
        """Take in one entry of the session; one that is malformed tells nothing."""
        kind = entry.get("customType") if isinstance(entry, dict) else None
        data = entry.get("data") if isinstance(entry, dict) else None
        if kind not in (LAUNCHED, CHANGED) or not isinstance(data, dict):
            return
        run_id, status = data.get("runId"), data.get("status")
        if not isinstance(run_id, str) or status not in records.STATUSES:
            return
        known = self.runs.get(run_id)
        announced = known is not None and known.announced
        if kind == CHANGED:
            announced = announced or status in records.ENDED or data.get("settled") is True
        self.runs[run_id] = Told(status, announced=announced)

    @property
    def open(self) -> list[str]:
        """Return the runs of whose end nobody was told."""
        return [run_id for run_id, told in self.runs.items() if told.status not in records.ENDED]

    def is_news(self, run_id: str, status: str, *, settled: bool) -> bool:
        """Say whether anything is to be told of a run that stands so."""
        told = self.runs.get(run_id)
        return told is None or told.status != status or (settled and not told.announced)

    def tell(self, run: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is to be told of a run, and remember it: a new one, a change, the one notice."""
        run_id, status = run["runId"], run["status"]
        told = self.runs.get(run_id)
        over = status in records.ENDED or run["settled"]
        changed = over if told is None else told.status != status or (over and not told.announced)
        notice = over and not (told is not None and told.announced)
        self.runs[run_id] = Told(status, announced=over or (told is not None and told.announced))
        return {
            "run": run if told is None else None,
            "update": update(run) if changed else None,
            "notice": describe(run) if notice else None,
        }

    def lose(self, run_id: str) -> dict[str, Any]:
        """Return what is to be told of a run whose files were removed before its end was told."""
        self.runs[run_id] = Told(records.ABORTED, announced=True)
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
    """Return the notice of a run that has ended, or has answered: for the screen, and for the model."""
    good = run["status"] not in (records.FAILED, records.ABORTED)
    name = sanitize.line(str(run["name"] or "")) or answers.label(run)
    how = _how(run)
    where = "Its answer" if good else "What there is of it"
    return {
        "level": INFO if good else WARNING,
        "text": f"{display.mark(name, good=good)} {how}",
        "message": f"Background run {run['runId']} ({name}) {how}. {where}: "
        f"background_agent_status with this runId, or tmuxagents output {run['runId']}",
    }


def _how(run: Mapping[str, Any]) -> str:
    if run["status"] not in records.ENDED:
        return "has answered, and stays"
    after = "" if run["startedAt"] is None else f" after {int(run['elapsedSeconds'])}s"
    if run["status"] == records.COMPLETED:
        return f"completed{after}"
    why = sanitize.line(run["errorMessage"] or "").removesuffix(".")
    return f"{run['status']} ({run['reason']}){after}{': ' if why else ''}{why}"
