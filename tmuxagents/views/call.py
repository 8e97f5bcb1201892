"""The picture of a call that works: a block for each child or, if these do not fit, a line. Pure.

A line comes as its parts, each with its colour as a terminal knows it.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.runs import words
from tmuxagents.runs.endings import PARENT
from tmuxagents.status import table
from tmuxagents.text import figures, safe
from tmuxagents.views import lines as views_lines
from tmuxagents.views.lines import TOOL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tmuxagents.views.lines import LastLine

    Line = list[tuple[str, str]]  # colour, text

_PLAIN, _BOLD, _DIM, _RED = "", "1", "2", "31"
_COLOURS = {views_lines.ADDED: "32", views_lines.REMOVED: "31", views_lines.MUTED: _DIM}
_INDENT, _BETWEEN = "  ", " · "


class ChildView:
    """One child of a call: its run document, the name a person knows it by, the last lines of what it did."""

    __slots__ = ("lines", "name", "run", "state")

    def __init__(self, run: dict[str, Any], lines: Sequence[LastLine] = ()) -> None:
        self.run = run
        self.lines = lines
        self.name = words.title(run["name"], run["task"])
        self.state = table.state(run)


def picture(children: Sequence[ChildView], height: int) -> list[Line]:
    """Return lines that fit into the height: blocks if possible, else a line for each child."""
    head = [summary(children)] if len(children) > 1 else []
    blocks = [block(child) for child in children]
    if sum(map(len, blocks)) + len(head) <= height or len(children) == 1:
        found = [*head, *(line for lines in blocks for line in lines)]
        return found if len(found) <= height else [found[0], *found[len(found) - height + 1 :]]
    room = height - len(head)
    busy_first = sorted(children, key=lambda child: child.run["status"] in records.ENDED)
    shown = busy_first if len(children) <= room else busy_first[: max(0, room - 1)]
    more = [] if len(shown) == len(children) else [[(_DIM, f"… {len(children) - len(shown)} more")]]
    return [*head, *map(_one_line, shown), *more]


def summary(children: Sequence[ChildView]) -> Line:
    """Return how many children there are, how many of them are in which state, and what they have used."""
    states = [child.state for child in children]
    counts = [f"{states.count(state)} {state}" for state in table.STATES if state in states]
    used = words.spent([child.run["usage"] for child in children])
    return [
        (_BOLD, f"{len(children)} runs: "),
        (_PLAIN, ", ".join(counts)),
        (_DIM, f"{_BETWEEN}{used}" if used else ""),
    ]


def block(child: ChildView) -> list[Line]:
    """Return the title of a child and, while it works, the last lines of what it did."""
    if child.run["status"] in records.ENDED:
        return [title(child)]
    lines: list[Line] = []
    for row in child.lines:
        parts = views_lines.spans(row.text) if row.kind == TOOL else [(_PLAIN, row.text)]
        lines.append([(_PLAIN, _INDENT), *((_COLOURS.get(colour, _PLAIN), text) for colour, text in parts)])
    return [title(child), *lines]


def title(child: ChildView) -> Line:
    """Return the name of a child, how long it has worked, what it has used and, if it failed, why."""
    run, state = child.run, child.state
    sign, colour = table.STATES[state]
    took = figures.span(run["elapsedSeconds"])
    limit = f" of {figures.exact(run['timeout'])}" if run["timeout"] else ""
    if run["status"] in (records.FAILED, records.ABORTED):
        why = words.cause(run["errorMessage"] or run["reason"] or "")
        was_cancelled = run["reason"] == PARENT.reason
        how = (
            f"cancelled after {took}" if was_cancelled else f"{state} after {took}{': ' if why else ''}{why}"
        )
    elif run["status"] == records.COMPLETED:
        how = f"{state} in {took}"
    elif run["startedAt"] is None:
        how = f"{state}{': ' if run['activity'] else ''}{safe.line(run['activity'] or '')}"
    else:
        how = f"{took}{limit}" if state == records.RUNNING else f"{state} {took}{limit}"
    tools = run["toolCount"]
    calls = f"{tools} {'tool' if tools == 1 else 'tools'}" if tools else ""
    aside = "".join(f"{_BETWEEN}{part}" for part in (calls, words.spent([run["usage"]])) if part)
    name_colour = _PLAIN if run["status"] in records.ENDED else _BOLD
    return [
        (colour, sign),
        (name_colour, f" {child.name}"),
        (_RED if "31" in colour else _PLAIN, f"  {how}"),
        (_DIM, aside),
    ]


def _one_line(child: ChildView) -> Line:
    doing = next((row.text.strip() for row in reversed(child.lines) if row.text.strip()), "")
    if child.run["status"] in records.ENDED or not doing:
        return title(child)
    return [*title(child), (_DIM, f"  {doing}")]
