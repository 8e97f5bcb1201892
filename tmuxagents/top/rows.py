"""One run as a row of `top`: its cells, their styles, and the values to search and sort by. Pure."""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.render import flow
from tmuxagents.runs import words
from tmuxagents.status import table as states
from tmuxagents.text import figures, provider_error, safe
from tmuxagents.text.width import columns, fit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Spans = list[tuple[str, str]]  # (style, text): one line of the screen

# Styles, in the words of render/styles.
PLAIN, STRONG, ASIDE, ACCENT = "", "bold", "dim", "bold cyan"
GOOD, BUSY, BAD, CALLS = "green", "cyan", "red", "bold magenta"
FOUND = "reverse"

TROUBLE = (records.FAILED,)  # states whose cause has a colour
_BEGINNING = 400  # characters of an answer that are searched for its first line
QUIET_S = 10.0  # the row of a run that is silent for longer shows that
# In the order by which runs are sorted.
_STYLES = {
    states.WAITING: CALLS,
    states.SETTLED: CALLS,
    records.RUNNING: BUSY,
    records.QUEUED: ASIDE,
    records.FAILED: BAD,
    records.ABORTED: ASIDE,
    records.COMPLETED: GOOD,
}


class Entry:
    """One run as `top` knows it: its document, and values that are derived from it once."""

    __slots__ = ("ended", "haystack", "host", "label", "name_columns", "run", "run_id", "short", "state")

    def __init__(self, run: Mapping[str, Any], short: str, *, host: str | None = None) -> None:
        self.run = run
        self.short = short
        self.host = host
        self.run_id = str(run["runId"])
        self.ended = run["status"] in records.ENDED
        self.label = words.title(run["name"], run["task"])
        self.name_columns = columns(self.label)
        self.state = states.state(run)
        parts = (
            self.run_id,
            run["name"],
            run["preset"],
            self.state,
            run["task"],
            run["model"],
            run["cwd"],
            host,
        )
        self.haystack = " ".join(str(part) for part in parts if part).lower()

    @property
    def style(self) -> str:
        """Return the style of its state."""
        return _STYLES[self.state]

    @property
    def glyph(self) -> str:
        """Return the sign of its state."""
        return states.STATES[self.state][0]

    def elapsed(self, now: float) -> float:
        """Return for how many seconds it has worked."""
        started = self.run["startedAt"]
        if self.ended or not isinstance(started, (int, float)):
            return float(self.run["elapsedSeconds"])
        return max(0.0, now - started)

    def age(self, now: float) -> float:
        """Return how many seconds ago it was launched."""
        created = self.run["createdAt"]
        return max(0.0, now - created) if isinstance(created, (int, float)) else 0.0

    def order(self) -> tuple[bool, float]:
        """Return its place in the usual order: active runs first, then the newest ones."""
        at = self.run["endedAt"] if self.ended else self.run["createdAt"]
        return self.ended, -(at if isinstance(at, (int, float)) else 0.0)


# --- words ------------------------------------------------------------------------------------------------


def activity(entry: Entry, now: float) -> str:
    """Return the activity of a run or, if it has ended, why it failed or how its answer begins."""
    run = entry.run
    if entry.ended and entry.state != records.COMPLETED:
        return provider_error.sentence(run["errorMessage"] or "") or safe.line(str(run["reason"] or ""))
    if entry.ended:  # the first line of its answer, without the marks of markdown
        drawn = flow.markdown_rows(safe.text((run["output"] or "")[:_BEGINNING]), _BEGINNING)
        lines = ("".join(text for _, text in row).strip() for row in drawn)
        beginning = next((line for line in lines if line), "")
        # Without its denials, the row would read as a plain success.
        denied = words.denied(run["denied"]) if run.get("denied") else ""
        return ": ".join(filter(None, (denied, beginning)))
    where = f"on {safe.line(entry.host)}" if entry.host is not None else ""
    since = run.get("unreachableSince")
    if isinstance(since, (int, float)):
        where += f", unreachable for {figures.span(max(0.0, now - since))}"
    heard = run["lastEventAt"]
    quiet = now - heard if entry.state == records.RUNNING and isinstance(heard, (int, float)) else 0.0
    silence = f"quiet {figures.span(quiet)}" if quiet >= QUIET_S else ""
    return "  ".join(filter(None, (where, silence, safe.line(run["activity"] or ""))))


def amount(entry: Entry) -> str:
    """Return the cost of a run so far; an empty text for none."""
    return figures.money(entry.run["usage"]["cost"])


def tokens(entry: Entry) -> str:
    """Return how many tokens a run has used; an empty text for none."""
    total = entry.run["usage"]["totalTokens"]
    return figures.count(total) if total else ""


def rank(entry: Entry) -> int:
    """Return the place of its state in the order of states."""
    return [*_STYLES].index(entry.state)


def title(entry: Entry, now: float, width: int) -> Spans:
    """Return the line above the detail of a run: its name, status, cost and model."""
    run = entry.run
    how = entry.state
    if run["startedAt"] is not None:
        how += f" {figures.span(entry.elapsed(now))}"
        limit = run["timeout"]
        if entry.state == records.RUNNING and type(limit) in (int, float):
            how += f" of {figures.span(limit)}"
    parts = [(entry.style, f"{entry.glyph} "), (STRONG, entry.label), (entry.style, f"  {how}")]
    extra = (amount(entry), run["model"], run["preset"] if run["preset"] != run["name"] else None)
    parts += [(ASIDE, f"  {safe.line(str(part))}") for part in extra if part]
    return cut(parts, width)


def cut(parts: Spans, width: int) -> Spans:
    """Return spans of at most `width` columns."""
    found: Spans = []
    for style, text in parts:
        kept = fit(text, width) if width > 0 else ""
        found += [(style, kept)] if kept else []
        width -= columns(kept)
        if kept != text:
            break
    return found


# --- searching --------------------------------------------------------------------------------------------


def found_in(lines: Sequence[Spans], search: str) -> list[int]:
    """Return which lines hold a text, whatever its case; none for no text."""
    wanted = search.lower()
    return [
        at for at, line in enumerate(lines) if wanted and wanted in "".join(text for _, text in line).lower()
    ]


def marked(line: Spans, search: str) -> Spans:
    """Return a line in which each place that holds a text is marked."""
    whole, wanted = "".join(text for _, text in line), search.lower()
    low = whole.lower()
    places: list[tuple[int, int]] = []
    at = low.find(wanted) if wanted and len(low) == len(whole) else -1  # lower case can be longer
    while at >= 0:
        places.append((at, at + len(wanted)))
        at = low.find(wanted, at + len(wanted))
    found: Spans = []
    begins = 0
    for style, text in line:
        done = 0
        for start, end in places:
            first, last = max(start - begins, done), min(end - begins, len(text))
            if first < last:
                found += [(style, text[done:first]), (FOUND, text[first:last])]
                done = last
        found.append((style, text[done:]))
        begins += len(text)
    return [(style, text) for style, text in found if text]
