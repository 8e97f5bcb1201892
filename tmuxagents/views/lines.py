"""The children of a call: their latest actions and their state, in lines that fit on a screen. Pure.

`LastLines` turns the events of one child into lines: previews of its calls, what it says, and what its
listings found. `call_picture` makes the picture of a call from these lines and the runs' documents. It has a
block for each child or, if the blocks do not fit, a line. A line of a picture is a list of parts, each with
its colour beside its text. So the text of a child cannot change a colour.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tmuxagents import records
from tmuxagents.runs import events, words
from tmuxagents.runs.endings import PARENT
from tmuxagents.runs.narration import OpenCalls
from tmuxagents.status import table
from tmuxagents.text import figures, safe
from tmuxagents.views import previews

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.runs.events import Event
    from tmuxagents.views.previews import Place

    Line = list[tuple[str, str]]  # colour, text


TEXT, TOOL = "text", "tool"
KEPT = 500
DEFAULT_LINES = 15
_ARROW = "→ "
_UNDER = "  "
_LONGEST = 4000  # characters of one line; the answer itself has the rest


class LastLine(NamedTuple):
    """One line, and its kind: the child's own text, or a report of a call."""

    text: str
    kind: str


class LastLines:
    """The lines of one child (the last ones, and all that are kept) and the progress of its todo list."""

    def __init__(self, place: Place, most: int = DEFAULT_LINES) -> None:
        self.all: list[LastLine] = []
        self.todo_total: int | None = None
        self.todo_completed: int | None = None
        self.tool_count = 0
        self._place = place
        self._most = most
        self._listed = OpenCalls(KEPT)  # calls of ls and find

    @property
    def lines(self) -> list[LastLine]:
        """Return the latest lines."""
        return self.all[max(0, len(self.all) - self._most) :]

    def append(self, text: str, kind: str) -> list[LastLine]:
        """Add the lines of a text, without escape sequences and empty lines; return them."""
        rows = [
            LastLine(safe.cut(line.rstrip(), _LONGEST), kind)
            for line in figures.filled_lines(safe.text(text))
        ]
        self.all += rows
        self._forget()
        return rows

    def take(self, event: Event) -> list[LastLine]:
        """Add the lines of one event; return them."""
        fields = event.fields
        if event.type == "assistant_text":
            return self.append(events.text_of(fields.get("text")), TEXT)
        if event.type == "stderr":
            return self.append(f"[stderr]: {events.text_of(fields.get('text'))}", TEXT)
        if event.type == "tool_call":
            return self._call(fields)
        if event.type == "tool_result" and fields.get("isError") is not True:
            return self._result(fields)
        return []

    def _call(self, fields: Mapping[str, Any]) -> list[LastLine]:
        """Add the preview of a call, and count what it does to the todo list."""
        self.tool_count += 1
        tool, args = events.text_of(fields.get("toolName")), fields.get("args")
        arguments = args if isinstance(args, dict) else {}
        if tool == "write_todos":
            written = len(_list(arguments.get("todos")))
            if arguments.get("mode") == "append":
                self.todo_total = (self.todo_total or 0) + written
            else:
                self.todo_total, self.todo_completed = written, 0
        elif tool == "edit_todos" and arguments.get("action") in ("complete", "abandon"):
            self.todo_completed = (self.todo_completed or 0) + len(_list(arguments.get("indices")))
        rows = self.append(_ARROW + previews.preview(tool, args, self._place), TOOL)
        if tool in figures.LISTING_TOOLS:
            self._listed.open(events.text_of(fields.get("callId")) or None, tool, rows[0])
        return rows

    def _result(self, fields: Mapping[str, Any]) -> list[LastLine]:
        """Put the summary of a listing under its call, even if other calls came between."""
        tool, call_id = events.text_of(fields.get("toolName")), events.text_of(fields.get("callId")) or None
        if tool not in figures.LISTING_TOOLS:
            return []
        _, call = self._listed.answered(call_id, tool) or (tool, None)
        # The reader's summary is of the whole result, ours only of its beginning.
        text = events.text_of(fields.get("text"))
        is_cut = len(text) > events.RESULT_TEXT_LIMIT
        words = safe.line(events.text_of(fields.get("summary"))) or figures.sum_up(tool, text, cut=is_cut)
        at = next((number for number, row in enumerate(self.all) if row is call), None)
        row = LastLine(f"{_UNDER}{words}" if at is not None else f"{_UNDER}{tool}: {words}", TOOL)
        self.all.insert(len(self.all) if at is None else at + 1, row)
        self._forget()
        return [row]

    def _forget(self) -> None:
        del self.all[:-KEPT]


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


# --- what stands out --------------------------------------------------------------------------------------

# Names of colours in pi's themes.
MUTED, ADDED, REMOVED = "muted", "toolDiffAdded", "toolDiffRemoved"
_CHANGED = r"\+\d+/-\d+"
# An edit ends with its counts, as +3/-1. In other lines they are a separate word; in a URL they mean nothing.
_EDITED = re.compile(
    rf"( *(?:→ )?edit → .* (?={_CHANGED}$)|(?!.*://)(?:.*? )??(?={_CHANGED}(?: |$)))"
    r"(\+\d+)(/)(-\d+)((?s:.*))"
)
_FOUND = r"(\d+)( (?:files?|dirs?|match(?:es)?)\b(?s:.*))"
_PARTS = (
    (_EDITED, (MUTED, ADDED, MUTED, REMOVED, MUTED)),
    (re.compile(r"( *(?:→ )?write → .* )(\+\d+)$"), (MUTED, ADDED)),
    (re.compile(r"(.*?)(\()(\d+)( lines?\))((?s:.*))"), (MUTED, MUTED, ADDED, MUTED, MUTED)),
    (re.compile(rf"( +(?:(?:ls|find): )?){_FOUND}"), (MUTED, ADDED, MUTED)),
    (re.compile(rf"( *(?:→ )?(?:ls|find) → .* → (?=[1-9])){_FOUND}"), (MUTED, ADDED, MUTED)),
)


def spans(line: str) -> list[tuple[str, str]]:
    """Return the parts of a line of kind `tool`, each as (colour, text); together they are the line."""
    for pattern, colours in _PARTS:
        if found := pattern.match(line):
            return list(zip(colours, found.groups(), strict=True))
    return [(MUTED, line)]


# --- the picture of a call --------------------------------------------------------------------------------

_PLAIN, _BOLD, _DIM, _RED = "", "1", "2", "31"
_COLOURS = {ADDED: "32", REMOVED: "31", MUTED: _DIM}
_INDENT, _BETWEEN = "  ", " · "


class ChildView:
    """One child of a call: its run document, its name for people, and its last lines."""

    __slots__ = ("lines", "name", "run", "state")

    def __init__(self, run: dict[str, Any], lines: Sequence[LastLine] = ()) -> None:
        self.run = run
        self.lines = lines
        self.name = words.title(run["name"], run["task"])
        self.state = table.state(run)


def call_picture(children: Sequence[ChildView], height: int) -> list[Line]:
    """Return lines that fit into this height: a block for each child if possible, else a line for each."""
    head = [call_summary(children)] if len(children) > 1 else []
    blocks = [call_block(child) for child in children]
    if sum(map(len, blocks)) + len(head) <= height or len(children) == 1:
        found = [*head, *(line for lines in blocks for line in lines)]
        return found if len(found) <= height else [found[0], *found[len(found) - height + 1 :]]
    room = height - len(head)
    busy_first = sorted(children, key=lambda child: child.run["status"] in records.ENDED)
    shown = busy_first if len(children) <= room else busy_first[: max(0, room - 1)]
    lines = []
    for child in shown:
        line = call_title(child)
        doing = next((row.text.strip() for row in reversed(child.lines) if row.text.strip()), "")
        if doing and child.run["status"] not in records.ENDED:
            line.append((_DIM, f"  {doing}"))
        lines.append(line)
    more = [] if len(shown) == len(children) else [[(_DIM, f"… {len(children) - len(shown)} more")]]
    return [*head, *lines, *more]


def call_summary(children: Sequence[ChildView]) -> Line:
    """Return the number of children, the number in each state, and their usage."""
    states = [child.state for child in children]
    counts = [f"{states.count(state)} {state}" for state in table.STATES if state in states]
    used = words.spent([child.run["usage"] for child in children])
    return [
        (_BOLD, f"{len(children)} runs: "),
        (_PLAIN, ", ".join(counts)),
        (_DIM, f"{_BETWEEN}{used}" if used else ""),
    ]


def call_block(child: ChildView) -> list[Line]:
    """Return the title of a child and, while it works, its last lines."""
    if child.run["status"] in records.ENDED:
        return [call_title(child)]
    lines: list[Line] = []
    for row in child.lines:
        parts = spans(row.text) if row.kind == TOOL else [(_PLAIN, row.text)]
        lines.append([(_PLAIN, _INDENT), *((_COLOURS.get(colour, _PLAIN), text) for colour, text in parts)])
    return [call_title(child), *lines]


def call_title(child: ChildView) -> Line:
    """Return the name of a child, its time, its usage and, if it failed, the cause."""
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
    calls = figures.counted(tools, "tool") if tools else ""
    aside = "".join(f"{_BETWEEN}{part}" for part in (calls, words.spent([run["usage"]])) if part)
    name_colour = _PLAIN if run["status"] in records.ENDED else _BOLD
    return [
        (colour, sign),
        (name_colour, f" {child.name}"),
        (_RED if "31" in colour else _PLAIN, f"  {how}"),
        (_DIM, aside),
    ]
