"""Runs as words: the status line, the table of `poll`, lines of changes, and what runs have used. Pure.

Whatever a run holds is inert here.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.text import safe
from tmuxagents.text.width import ELLIPSIS, GAP, columns, fit, joined, padded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from tmuxagents.records import Plan

    Usage = Mapping[str, float]

RUNNING, COMPLETED, ERROR = "running", "completed", "error"
_TOOL_WORDS = {records.QUEUED: RUNNING, records.FAILED: ERROR, records.ABORTED: ERROR}


WIDTH = 100  # of a line where there is no terminal to ask
NONE = "-"
SHORT_ID = 8
CHANGE_BYTES = 80
NO_CHANGE, RESET = "no change", "reset"
_HEADER = ("ID", "NAME", "PRESET", "STATUS", "TIME", "ACTIVITY")
_CELL = 40  # enough for every name that we give; more is not ours
_NAMED = (2, 1)  # the columns that give way on a narrow terminal, the first one first
_LEAST_NAME, _LEAST_ACTIVITY = 8, 16
FADES_AFTER_S = 300.0  # the status line is empty so long after the last end
_SCOPES = {"project": " here", "all": " all"}
_MARK = 32  # columns of a name that has just ended: that of any name that we give
_MARKS = 44  # of all of them together; what has no room is counted


class SnapshotRow:
    """One run to be shown: its document, and what is known of it besides."""

    __slots__ = ("activity", "host", "run", "short")

    def __init__(
        self, run: Mapping[str, Any], short: str, *, activity: str | None = None, host: str | None = None
    ) -> None:
        self.run = run
        self.short = short
        self.activity = activity  # what it does now, or waits for
        self.host = host  # the other machine that it lives on


# --- ids --------------------------------------------------------------------------------------------------


def short_id(run_id: str, others: Iterable[str]) -> str:
    """Return the beginning of an id that means no other one."""
    others = tuple(others)
    if not others:
        return run_id[:SHORT_ID]
    for length in range(SHORT_ID, len(run_id)):
        if not any(other.startswith(run_id[:length]) for other in others):
            return run_id[:length]
    return run_id


def receipt_name(plan: Plan, origin: str | None) -> str:
    """Return what a person calls a run that was just launched: its name, its preset and whose that is."""
    names = [_cell(plan.name)] if plan.name else []
    names += [origin] if origin else []
    live = ["live"] if plan.driver == records.LIVE else []
    return ", ".join([*(names or [short_id(plan.run_id, ())]), *live])


def live_activity(activity: str | None, *, settled: bool, needs_input: bool) -> str:
    """Return what a live run does now, or whom it waits for."""
    if needs_input:
        return "live, waits for a person"
    return f"live{', settled' if settled else ''}{f': {activity}' if activity else ''}"


# --- the status line --------------------------------------------------------------------------------------


def status_line(counts: Mapping[str, int], waiting: int, scope: str = "") -> str:
    """Return the counts: what is running always, the others where there are any.

    `scope`: which runs they count, where another line of counts may be on the same screen.
    """
    parts = [f"{counts[records.RUNNING]} running"]
    more = ((counts[records.QUEUED], "queued"), (waiting, "waiting"), (counts[records.FAILED], "failed"))
    parts += [f"{count} {word}" for count, word in more if count]
    return f"bg{_SCOPES.get(scope, '')}: {', '.join(parts)} / {counts['total']} total"


def status_text(counts: Mapping[str, int], waiting: int, *, last_end: float, now: float) -> str:
    """Return what a status line shows: nothing, some time after nothing is left to be said."""
    fades = fades_in(counts, last_end=last_end, now=now)
    return status_line(counts, waiting) if fades is None or fades > 0 else ""


def fades_in(counts: Mapping[str, int], *, last_end: float, now: float) -> float | None:
    """Return in how many seconds there is nothing left to be said; None as long as a run is live."""
    live = counts[records.QUEUED] + counts[records.RUNNING]
    return None if live else last_end + FADES_AFTER_S - now


def mark(name: str, *, good: bool) -> str:
    """Return the text in the status line for a run that has just ended."""
    plain = "".join(sign for sign in safe.line(name) if sign.isprintable() and sign != "#")
    return f"{'✓' if good else '✗'} {fit(plain, _MARK) or NONE}"


def with_marks(marks: Sequence[str], text: str) -> str:
    """Return a status text with those runs in front that have just ended, the last one first."""
    room = _MARKS
    shown: list[str] = []
    for one in reversed(marks):
        room -= columns(one) + 1
        if shown and room < 0:
            shown.append(f"+{len(marks) - len(shown)}")
            break
        shown.append(one)
    return " ".join([*shown, *([text] if text else [])])


# --- the table --------------------------------------------------------------------------------------------


def table(runs: Sequence[SnapshotRow], width: int = WIDTH, *, whole: bool = True) -> list[str]:
    """Return the lines of the table; none at all where there is no run.

    `whole`: names are left as they are, though a line becomes wider than that.
    """
    if not runs:
        return []
    *columns_, activities = zip(_HEADER, *map(_cells, runs), strict=True)
    before = [padded(cells) for cells in columns_]
    if whole:
        return joined(before, activities, width)
    return [fit(line, width) for line in joined(_narrowed(before, width), activities, width)]


def _narrowed(before: Sequence[list[str]], width: int) -> list[list[str]]:
    """Return the columns with names and presets cut as far as that leaves room for what the runs do."""
    found = list(before)
    for number in _NAMED:
        over = sum(columns(cells[0]) + len(GAP) for cells in found) + _LEAST_ACTIVITY - width
        if over > 0:
            room = max(_LEAST_NAME, columns(found[number][0]) - over)
            found[number] = padded([fit(cell.rstrip(), room) for cell in found[number]])
    return found


def _cells(shown: SnapshotRow) -> tuple[str, ...]:
    run = shown.run
    named = (_cell(run["name"]), _cell(run["preset"]))
    said = run["errorMessage"] if run["status"] in records.ENDED else shown.activity
    return (shown.short, *named, _status(shown), _time(run), _text(said))


def _cell(value: Any) -> str:
    return fit(_text(value), _CELL) if value else NONE


def _text(value: Any) -> str:
    return (safe.line(value) if value and isinstance(value, str) else "") or NONE


def _status(shown: SnapshotRow) -> str:
    status, reason = shown.run["status"], shown.run["reason"]
    if status in (records.FAILED, records.ABORTED):
        return f"{status} ({_cell(reason)})"
    return status if shown.host is None or status in records.ENDED else f"{status} (on {_cell(shown.host)})"


def _time(run: Mapping[str, Any]) -> str:
    """Return how long it has worked, and how long it may where it still does."""
    if run["startedAt"] is None:
        return NONE
    elapsed = f"{int(run['elapsedSeconds'])}s"
    if run["status"] != records.RUNNING or type(run["timeout"]) not in (int, float):
        return elapsed
    return f"{elapsed}/{run['timeout']:.10g}s"


# --- lines ------------------------------------------------------------------------------------------------


def change_line(shown: SnapshotRow) -> str:
    """Return one changed run: at most 80 bytes, whatever its name is."""
    run = shown.run
    time = NONE if run["startedAt"] is None else f"{int(run['elapsedSeconds'])}s"
    reason = f" {_cell(run['reason'])}" if run["status"] in (records.FAILED, records.ABORTED) else ""
    before, after = f"{shown.short} {run['status']} ", f" {time}{reason}"
    name = _text(run["name"])
    room = CHANGE_BYTES - safe.size_of(before + after)
    if safe.size_of(name) > room:
        name = safe.first_bytes(name, max(0, room - safe.size_of(ELLIPSIS))) + ELLIPSIS
    return safe.first_bytes(before + name + after, CHANGE_BYTES)


def changes(runs: Sequence[SnapshotRow], cursor: str, *, reset: bool) -> list[str]:
    """Return what has changed, and where to go on from."""
    lines = [change_line(run) for run in runs] or [NO_CHANGE]
    return [*([RESET] if reset else []), *lines, f"cursor {cursor}"]


def stopped_line(shown: SnapshotRow) -> str:
    """Return the status of a run after a stop."""
    return f"{shown.short} {_status(shown)}"


def follow_line(shown: SnapshotRow, width: int = WIDTH) -> str:
    """Return what a run does now, as one line of a log."""
    short, name, _, status, time, activity = _cells(shown)
    return fit(f"{short} {name} {status} {time} {activity}", width)


_KEYS = ("input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost")
_UNITS = ("", "k", "M", "G")
_STEP = 1000
_SEPARATOR = " · "
_LEAST, _CENTS_FROM = 0.00005, 0.99995  # of a cost: less is no figure, more needs no four digits


def total(usages: Sequence[Usage]) -> dict[str, float]:
    """Return the sum of what several runs have used."""
    found = {key: sum(usage[key] for usage in usages) for key in _KEYS}
    return found | {"cost": round(found["cost"], 10)}


def line(usages: Sequence[Usage]) -> str:
    """Return what runs have used together: `3 runs · ↑12k ↓3.4k · $0.0123`; nothing if it is nothing."""
    used = spent(usages)
    return f"{len(usages)} {'run' if len(usages) == 1 else 'runs'}{_SEPARATOR}{used}" if used else ""


def spent(usages: Sequence[Usage]) -> str:
    """Return tokens and cost of runs together: `↑12k ↓3.4k · $0.0123`; nothing if they have used nothing."""
    used = total(usages)
    arrows = (("↑", used["input"]), ("↓", used["output"]))
    tokens = " ".join(f"{arrow}{figure(count)}" for arrow, count in arrows if count)
    return _SEPARATOR.join(part for part in (tokens, money(used["cost"])) if part)


def figure(count: float) -> str:
    """Return a count in at most four characters: `999`, `3.4k`, `12k`, `1.2M`."""
    power = 0
    while power < len(_UNITS) - 1 and count / _STEP**power >= _STEP - 0.5:
        power += 1
    value = count / _STEP**power
    digits = 1 if power and value < 9.95 else 0  # noqa: PLR2004  (what rounds to 10 has none)
    return f"{value:.{digits}f}{_UNITS[power]}"


def money(cost: float) -> str:
    """Return an amount of dollars, the smaller the more exact; nothing for none."""
    if cost <= 0:
        return ""
    if cost < _LEAST:
        return "<$0.0001"
    return f"${cost:.4f}" if cost < _CENTS_FROM else f"${cost:.2f}"


def status_word(status: str) -> str:
    """Return the tools' word for one of our status words."""
    return _TOOL_WORDS.get(status, status)
