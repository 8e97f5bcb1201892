"""One run as a row of `top`: its columns, and which part of it stands out as what. Pure."""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.runs import words
from tmuxagents.text import figures, safe
from tmuxagents.text.width import GAP, fit, padded
from tmuxagents.views import lines as views_lines
from tmuxagents.views.lines import TOOL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.views.lines import LastLine

    Spans = list[tuple[str, str]]  # (style, text): one line of the screen

# Styles; what colour each is, the screen knows.
PLAIN, TITLE, HEAD, ASIDE, PROBLEM = "plain", "title", "head", "aside", "problem"
GOOD, BUSY, CALLS = "good", "busy", "calls"
CHOSEN = "chosen "  # in front of any of these: it is the chosen row
QUIET_S = 10.0  # so long nothing was heard of a run before that is said
WAITING, SETTLED = "waiting", "settled"
_STYLES = {
    records.RUNNING: BUSY,
    records.QUEUED: ASIDE,
    WAITING: CALLS,
    SETTLED: CALLS,
    records.COMPLETED: GOOD,
    records.FAILED: PROBLEM,
    records.ABORTED: PROBLEM,
}
_HEADER = ("ID", "NAME", "STATUS", "TIME", "TOKENS", "COST", "ACTIVITY")
_ID, _STATUS = 0, 2
_FIGURES = (4, 5)
_WIDEST_NAME = 16
_WIDE = 110  # a narrower screen shows an id only of a run that is called by nothing else
_NARROW = 60  # a narrower one no figures: half of one would mislead


class Entry:
    """One run as `top` knows it: its document, and the last lines of what it did."""

    __slots__ = ("host", "lines", "run", "short")

    def __init__(
        self, run: Mapping[str, Any], short: str, *, lines: Sequence[LastLine] = (), host: str | None = None
    ) -> None:
        self.run = run
        self.short = short
        self.lines = lines
        self.host = host

    @property
    def run_id(self) -> str:
        """Return its id."""
        return str(self.run["runId"])

    @property
    def ended(self) -> bool:
        """Say whether it is over."""
        return self.run["status"] in records.ENDED

    @property
    def label(self) -> str:
        """Return what a person calls it."""
        return safe.line(self.run["name"] or self.run["preset"] or "") or self.short

    @property
    def state(self) -> str:
        """Return its status, or what of that a person is to know."""
        if self.run["needsInput"]:
            return WAITING
        return SETTLED if self.run["settled"] else str(self.run["status"])


def haystack(entry: Entry) -> str:
    """Return what a filter is looked for in."""
    run = entry.run
    words = (entry.run_id, run["name"], run["preset"], entry.state, run["task"], run["model"], run["cwd"])
    return " ".join(str(word) for word in words if word).lower()


def _cells(entry: Entry, now: float) -> tuple[str, ...]:
    run = entry.run
    usage = run["usage"]
    return (
        entry.short,
        fit(entry.label, _WIDEST_NAME),
        _status(entry),
        _time(entry),
        figures.count(usage["totalTokens"]) if usage["totalTokens"] else words.NONE,
        figures.money(usage["cost"]) or words.NONE,
        _activity(entry, now),
    )


def _status(entry: Entry) -> str:
    if entry.host is not None and not entry.ended:
        return f"{entry.state} (on {fit(safe.line(entry.host), _WIDEST_NAME)})"
    reason = entry.run["reason"]
    return f"failed ({reason})" if entry.state == records.FAILED else entry.state


def _time(entry: Entry) -> str:
    run = entry.run
    if run["startedAt"] is None:
        return words.NONE
    limit = run["timeout"]
    elapsed = f"{int(run['elapsedSeconds'])}s"
    shows_limit = entry.state == records.RUNNING and type(limit) in (int, float)
    return f"{elapsed}/{limit:.10g}s" if shows_limit else elapsed


def _activity(entry: Entry, now: float) -> str:
    run = entry.run
    if entry.ended:
        return safe.line(run["errorMessage"] or "") or _last(entry)
    heard = run["lastEventAt"]
    quiet = now - heard if entry.state == records.RUNNING and isinstance(heard, (int, float)) else 0.0
    words = (
        (run["activity"] or "") if run["status"] == records.QUEUED else _last(entry) or run["activity"] or ""
    )
    silence = f"quiet {int(quiet)} s" if quiet >= QUIET_S else ""
    return "  ".join(filter(None, (silence, safe.line(words))))


def _last(entry: Entry) -> str:
    return entry.lines[-1].text.strip() if entry.lines else ""


class Table:
    """The rows of a screen of some width: columns as wide as needed, the last one cut."""

    def __init__(self, entries: Sequence[Entry], width: int, now: float) -> None:
        self._entries = entries
        self._rows = [_HEADER, *(_cells(one, now) for one in entries)]
        *shown, last = _columns(self._rows[1:], width)
        self._padded = {at: padded([row[at] for row in self._rows]) for at in shown}
        cells = zip(*self._padded.values(), (row[last] for row in self._rows), strict=True)
        self._lines = [fit(GAP + GAP.join(row), width) for row in cells]

    def head(self) -> Spans:
        """Return the names of the columns."""
        return [(HEAD, self._lines[0])]

    def line(self, number: int, *, is_chosen: bool) -> Spans:
        """Return a row; its status stands out."""
        text = self._lines[number + 1]
        before = [cells[number + 1] for at, cells in self._padded.items() if at < _STATUS]
        start = sum(len(cell) + len(GAP) for cell in ("", *before))
        end = start + len(self._rows[number + 1][_STATUS])
        mark = "> " if is_chosen else GAP
        spans = [
            (PLAIN, mark + text[len(GAP) : start]),
            (_STYLES.get(self._entries[number].state, PLAIN), text[start:end]),
            (PLAIN, text[end:]),
        ]
        return [(CHOSEN + style, words) for style, words in spans] if is_chosen else spans


def _columns(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return which columns there is room for: on a narrow screen none for ids, nor for what no run has."""
    if width >= _WIDE:
        return list(range(len(_HEADER)))
    out = [at for at in _FIGURES if width < _NARROW or all(row[at] == words.NONE for row in rows)]
    return [at for at in range(len(_HEADER)) if at != _ID and at not in out]


def lines(rows: Sequence[LastLine], width: int) -> list[Spans]:
    """Return what a child did, as lines of a screen."""
    fitted = [(row.kind, fit(row.text.replace("\t", " "), width)) for row in rows]
    return [_coloured(text) if kind == TOOL else [(PLAIN, text)] for kind, text in fitted]


def _coloured(text: str) -> Spans:
    styles = {views_lines.ADDED: GOOD, views_lines.REMOVED: PROBLEM, views_lines.MUTED: ASIDE}
    return [(styles.get(colour or "", PLAIN), part) for colour, part in views_lines.spans(text)]
