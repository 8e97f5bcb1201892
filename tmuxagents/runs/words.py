"""Format runs for people: the status line, lines of changes, the usage of runs. Pure.

No text of a run can do harm here: all of it goes through text/safe.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.text import figures, safe
from tmuxagents.text.width import ELLIPSIS, columns, fit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    Usage = Mapping[str, float]

RUNNING, COMPLETED, ERROR = "running", "completed", "error"
_TOOL_WORDS = {records.QUEUED: RUNNING, records.FAILED: ERROR, records.ABORTED: ERROR}
WIDTH = 100  # of a line if there is no terminal to ask
NONE = "-"
SHORT_ID = 8
TITLE = 24  # columns of a task that is shown instead of a name
CHANGE_BYTES = 80
NO_CHANGE, RESET = "no change", "reset"
_CELL = 40  # longer than any valid name
QUIET_FROM_S = 30.0
FADES_AFTER_S = 300.0  # after the last end; then the status line is empty
_MARK = 32  # columns for the name of a run that has just ended: the longest valid name
_MARKS = 44  # columns for all of these names; the rest is counted


class SnapshotRow:
    """One run as a line of a snapshot: its document, and what else is shown of it."""

    __slots__ = ("activity", "host", "quiet_s", "run", "short", "unreachable_s")

    def __init__(  # noqa: PLR0913  (what is shown of a run besides its document)
        self,
        run: Mapping[str, Any],
        short: str,
        *,
        activity: str | None = None,
        host: str | None = None,
        quiet_s: float = 0.0,
        unreachable_s: float | None = None,
    ) -> None:
        self.run = run
        self.short = short
        self.activity = activity  # what it is doing now, or what it waits for
        self.host = host  # the machine that it lives on, if not this one
        self.quiet_s = quiet_s  # how long a running child has said and done nothing new
        self.unreachable_s = unreachable_s  # how long that machine has not answered


# --- ids --------------------------------------------------------------------------------------------------


def short_id(run_id: str, others: Iterable[str] = ()) -> str:
    """Return a beginning of an id that no other id has."""
    others = tuple(others)
    for length in range(SHORT_ID, len(run_id)):
        if not any(other.startswith(run_id[:length]) for other in others):
            return run_id[:length]
    return run_id


def title(name: Any, task: Any) -> str:
    """Return what people call a run: its name, or the first words of its task. Never give it to tmux."""
    return cell(name) if name else fit(plain(task), TITLE)


def doing(shown: SnapshotRow) -> str | None:
    """Return what a run is doing, and how long it has been quiet: `npm test · quiet 45s`.

    If the run's machine does not answer, the time since its last answer is shown instead.
    """
    if shown.unreachable_s is not None:
        lost = f"{cell(shown.host)} unreachable for {figures.span(shown.unreachable_s)}"
        return f"{lost}{_SEPARATOR}{shown.activity}" if shown.activity else lost
    if shown.quiet_s < QUIET_FROM_S:
        return shown.activity
    quiet = f"quiet {figures.span(shown.quiet_s)}"
    return f"{shown.activity}{_SEPARATOR}{quiet}" if shown.activity else quiet


def denied(count: int) -> str:
    """Return how many tool calls a child was not allowed."""
    return f"{count} denied"


def status(run: Mapping[str, Any]) -> str:
    """Return the status of a run, with its denied tool calls, so that it does not look like plain success."""
    count = run.get("denied")
    return f"{run['status']}, {denied(count)}" if count else str(run["status"])


def live_activity(activity: str | None, *, settled: bool, needs_input: bool) -> str:
    """Return what a live run is doing now, or that it waits for a person."""
    if needs_input:
        return "live, waits for a person"
    return f"live{', settled' if settled else ''}{f': {activity}' if activity else ''}"


# --- the status line --------------------------------------------------------------------------------------


def status_line(counts: Mapping[str, int], waiting: int, whose: str = "bg", *, unreachable: int = 0) -> str:
    """Return the status text: always how many are running, the other counts if they are not zero.

    `whose` says which runs are counted, `unreachable` how many of them work on machines that do not answer.
    """
    parts = [f"{counts[records.RUNNING]} running"]
    more = (
        (counts[records.QUEUED], "queued"),
        (unreachable, "unreachable"),
        (waiting, "waiting"),
        (counts[records.FAILED], "failed"),
    )
    parts += [f"{count} {word}" for count, word in more if count]
    return f"{whose}: {', '.join(parts)} / {counts['total']} total"


def status_text(
    counts: Mapping[str, int], waiting: int, *, last_end: float, now: float, unreachable: int = 0
) -> str:
    """Return the text of the status line. It becomes empty some time after the last end."""
    fades = fades_in(counts, last_end=last_end, now=now)
    return status_line(counts, waiting, unreachable=unreachable) if fades is None or fades > 0 else ""


def fades_in(counts: Mapping[str, int], *, last_end: float, now: float) -> float | None:
    """Return in how many seconds the status line becomes empty; None as long as a run is active."""
    active = counts[records.QUEUED] + counts[records.RUNNING]
    return None if active else last_end + FADES_AFTER_S - now


def mark(name: str, status: str = records.COMPLETED) -> str:
    """Return the mark of a run that has just ended, for the status line."""
    plain = "".join(sign for sign in safe.line(name) if sign.isprintable() and sign != "#")
    return f"{records.SIGNS.get(status, records.SIGNS[records.COMPLETED])} {fit(plain, _MARK) or NONE}"


def with_marks(marks: Sequence[str], text: str) -> str:
    """Return a status text after the marks of runs that have just ended, the last end first."""
    room = _MARKS
    shown: list[str] = []
    for one in reversed(marks):
        room -= columns(one) + 1
        if shown and room < 0:
            shown.append(f"+{len(marks) - len(shown)}")
            break
        shown.append(one)
    return " ".join([*shown, *([text] if text else [])])


# --- lines ----------------------------------------------------------------------------------------------


def cell(value: Any) -> str:
    """Return a value of a run, which anyone may have written, as a short text."""
    return fit(plain(value), _CELL) if value else NONE


def plain(value: Any) -> str:
    """Return a value of a run as a text of any length, on one line."""
    return (safe.line(value) if value and isinstance(value, str) else "") or NONE


def detailed(shown: SnapshotRow, state: str | None = None) -> str:
    """Return the status of a run, or its `state` if given, with the reason of a failure and the host."""
    status = shown.run["status"]
    if status in (records.FAILED, records.ABORTED):
        return f"{status} ({cell(shown.run['reason'])})"
    state = state or str(status)
    return state if shown.host is None or status in records.ENDED else f"{state} (on {cell(shown.host)})"


def change_line(shown: SnapshotRow) -> str:
    """Return the line of a changed run: at most 80 bytes, even with a long name."""
    run = shown.run
    time = NONE if run["startedAt"] is None else f"{int(run['elapsedSeconds'])}s"
    reason = f" {cell(run['reason'])}" if run["status"] in (records.FAILED, records.ABORTED) else ""
    before, after = f"{shown.short} {run['status']} ", f" {time}{reason}"
    name = plain(run["name"])
    room = CHANGE_BYTES - safe.size_of(before + after)
    if safe.size_of(name) > room:
        name = safe.first_bytes(name, max(0, room - safe.size_of(ELLIPSIS))) + ELLIPSIS
    return safe.first_bytes(before + name + after, CHANGE_BYTES)


def changes(runs: Sequence[SnapshotRow], cursor: str, *, reset: bool) -> list[str]:
    """Return the lines of changed runs, and the next cursor."""
    lines = [change_line(run) for run in runs] or [NO_CHANGE]
    return [*([RESET] if reset else []), *lines, f"cursor {cursor}"]


def stopped_line(shown: SnapshotRow, *, was_over: bool = False) -> str:
    """Return the line of a run after a stop."""
    outcome = f"had already ended ({shown.run['status']})" if was_over else detailed(shown)
    return f"{shown.short} {outcome}"


def cause(message: str) -> str:
    """Return the message of a failure on one line; a provider's JSON becomes a sentence."""
    if "{" not in message and message != records.CANCELLED_MESSAGE:
        return safe.line(message)
    from tmuxagents.text.provider_error import sentence  # noqa: PLC0415  (for few errors)

    return sentence(message)


def follow_line(shown: SnapshotRow, width: int = WIDTH) -> str:
    """Return the line of a run for `poll --follow`."""
    run = shown.run
    about = cause(plain(run["errorMessage"])) if run["status"] in records.ENDED else shown.activity
    elapsed = NONE if run["startedAt"] is None else figures.span(run["elapsedSeconds"])
    if elapsed != NONE and run["status"] == records.RUNNING and type(run["timeout"]) in (int, float):
        elapsed += f" of {figures.exact(run['timeout'])}"
    parts = (shown.short, title(run["name"], run["task"]), detailed(shown), elapsed, plain(about))
    return fit(" ".join(parts), width)


_KEYS = ("input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost")
_SEPARATOR = " · "


def total(usages: Sequence[Usage]) -> dict[str, float]:
    """Return the sum of several usages."""
    found = {key: sum(usage[key] for usage in usages) for key in _KEYS}
    return found | {"cost": round(found["cost"], 10)}


def line(usages: Sequence[Usage]) -> str:
    """Return the usage of runs as one line: `3 runs · ↑12k ↓3.4k · $0.0123`; empty if it is zero."""
    used = spent(usages)
    return f"{figures.counted(len(usages), 'run')}{_SEPARATOR}{used}" if used else ""


def spent(usages: Sequence[Usage]) -> str:
    """Return tokens and cost of several usages: `↑12k ↓3.4k · $0.0123`; empty if they are zero."""
    used = total(usages)
    return _SEPARATOR.join(filter(None, (figures.tokens(used), figures.money(used["cost"]))))


def status_word(status: str) -> str:
    """Return the tools' word for a status."""
    return _TOOL_WORDS.get(status, status)
