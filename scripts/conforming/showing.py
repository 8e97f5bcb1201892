"""Adapters for what people see of a child: previews, its window, phrases, the view of several children."""

from __future__ import annotations

from typing import Any

from scripts.conforming.words import HOME, our_status
from tmuxagents.runs import conversation
from tmuxagents.runs.events import Event
from tmuxagents.runs.narration import Narrator
from tmuxagents.text import figures, paths, safe
from tmuxagents.views import board, lines, previews
from tmuxagents.views.lines import TEXT, LastLines
from tmuxagents.views.previews import Place

_WIDTH = 160
_UNDER = "  "  # what stands under a call is indented

Given = dict[str, Any]


def place(given: Given) -> Place:
    """Return where the child of a case works."""
    cwd, home = given.get("cwd") or "/", given.get("home") or HOME
    return Place(cwd=cwd, home=home, width=given.get("width") or _WIDTH)


def tool_call(given: Given) -> str:
    """Return one call as one line."""
    return previews.preview(given["tool"], given.get("args"), place(given))


def bash_command(given: Given) -> str:
    """Return a command in rows."""
    return paths.wrap(given["cmd"], given["first"], given.get("cont"))


def change_of_directory(given: Given) -> str:
    """Return a command without the change into where it is."""
    return paths.collapse_cd(given["cmd"], given["cwd"])


def path(given: Given) -> str:
    """Return one path as it is shown."""
    return paths.shorten(given["path"], cwd=given["cwd"], home=given.get("home") or HOME)


def paths_in_text(given: Given) -> str:
    """Return a text with all its paths as they are shown."""
    return paths.shorten_in_text(given["text"], cwd=given["cwd"], home=given.get("home") or HOME)


def tool_result(given: Given) -> str | None:
    """Return what a listing amounts to, as it stands under its call."""
    found = figures.sum_up(given["tool"], given["text"], given.get("details"))
    return None if found is None else f"{_UNDER}{found}"


def filled_lines(given: Given) -> int:
    """Return how many lines hold anything."""
    return len(figures.filled_lines(given["text"]))


def coloured(given: Given) -> str:
    """Return a line, what stands out in it between the names of its colours."""
    return "".join(f"[{colour}]{part}[/{colour}]" for colour, part in lines.spans(given["line"]))


def plain(given: Given) -> str:
    """Return a text without escape sequences."""
    return safe.text(given["text"])


def rolling(given: Given) -> Given:
    """Return which lines are shown, and how many are kept."""
    shown = LastLines(Place(cwd="/", home=HOME), given["max"])
    for line in given["lines"]:
        shown.append(line, TEXT)
    return {"lines": [row.text for row in shown.lines], "all": len(shown.all)}


def phrases(given: Any) -> Any:
    """Return the phrase of an event, or of each of several."""
    narrator = Narrator()
    steps = given if isinstance(given, list) else [given]
    events = [Event(step["type"], {key: step[key] for key in step if key != "type"}) for step in steps]
    told = [narrator.phrase(event) for event in events]
    return told if isinstance(given, list) else told[0]


def delegate_call(given: Given) -> str:
    """Return a call of delegate_to_subagents as one line."""
    return board.call_line(given.get("args"))


def delegate_result(given: Given) -> list[str]:
    """Return the view of a call's children, without its colours."""
    windows = given.get("windows") or []
    told = board.view(windows, expanded=bool(given.get("expanded")), now_ms=given.get("now") or 0)
    return [words for _, words in told]


def progress_summary(given: Given) -> str:
    """Return how the children of a call stand."""
    return board.progress_text(our_status(word) for word in given["statuses"])


def shortened(given: Given) -> str:
    """Return the first lines of a text."""
    return conversation.shortened(given["content"], given["maxLines"])
