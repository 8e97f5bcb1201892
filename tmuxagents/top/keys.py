"""The keys of `top`: their actions, the help, and the hints in the last line. Pure."""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents.top.rows import ACCENT, PLAIN, STRONG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tmuxagents.top.rows import Entry, Spans

ATTACH, MESSAGE, STOP, RETRY, RESUME, OUTPUT = "attach", "message", "stop", "retry", "resume", "output"
DIFF, COPY, SEARCH, AGAIN, BEFORE, CLEAR = "diff", "copy", "search", "search_next", "search_previous", "clear"
FOCUS, ZOOM, COLUMNS, RIGHT, LEFT = "focus", "zoom", "columns", "sort_right", "sort_left"
ENDED, EVERYWHERE, HELP, PALETTE, LEAVE = "ended", "everywhere", "help", "palette", "leave"
UP, DOWN, PAGE_UP, PAGE_DOWN, FIRST, LAST = "up", "down", "page_up", "page_down", "first", "last"


class Key(NamedTuple):
    """Keys of one action: their names in textual, their names for people, the action, and its help."""

    names: tuple[str, ...]
    shown: str
    action: str
    help: str


GROUPS = {
    "the chosen run": (
        Key(("enter",), "Enter", ATTACH, "attach: show its window (of an ended run, its transcript)"),
        Key(("m",), "m", MESSAGE, "send it a message"),
        Key(("s", "x"), "s x", STOP, "stop it, after a question"),
        Key(("r",), "r", RETRY, "retry: launch its task again (ended runs)"),
        Key(("R",), "R", RESUME, "resume: open its session again and go on (ended runs)"),
        Key(("o",), "o", OUTPUT, "its answer in your pager"),
        Key(("d",), "d", DIFF, "only its edits; once more: the whole transcript"),
        Key(("y",), "y", COPY, "copy its id"),
    ),
    "the screen": (
        Key(("tab", "shift+tab"), "Tab", FOCUS, "go to the transcript, and back"),
        Key(("slash",), "/", SEARCH, "search: runs in the table, words in the transcript"),
        Key(("n",), "n N", AGAIN, "the next and the previous place that was found"),
        Key(("N",), "", BEFORE, ""),
        Key(("escape",), "Esc", CLEAR, "end the search"),
        Key(("z",), "z", ZOOM, "the transcript alone; once more: both"),
        Key(("greater_than_sign",), "< >", RIGHT, "sort by another column (or click its title)"),
        Key(("less_than_sign",), "", LEFT, ""),
        Key(("c",), "c", COLUMNS, "choose the columns"),
        Key(("a",), "a", ENDED, "show also what ended long ago"),
        Key(("A",), "A", EVERYWHERE, "show all projects"),
        Key(("question_mark",), "?", HELP, "this help"),
        Key(("colon", "ctrl+p"), ":", PALETTE, "find an action by its name"),
        Key(("q", "ctrl+c"), "q", LEAVE, "leave"),
    ),
    "moving": (
        Key(("up", "k"), "↑ k", UP, "one line up"),
        Key(("down", "j"), "↓ j", DOWN, "one line down"),
        Key(("pageup",), "PgUp", PAGE_UP, "one page up"),
        Key(("pagedown", "space"), "PgDn", PAGE_DOWN, "one page down"),
        Key(("home", "g"), "g", FIRST, "to the beginning"),
        Key(("end", "G"), "G", LAST, "to the end; a transcript is followed from there"),
    ),
}
MOVES = (UP, DOWN, PAGE_UP, PAGE_DOWN, FIRST, LAST)
ACTIONS = {name: key.action for group in GROUPS.values() for key in group for name in key.names}


def of(action: str) -> list[str]:
    """Return the keys of an action."""
    return [name for name, found in ACTIONS.items() if found == action]


def hints(entry: Entry | None, *, in_detail: bool, ended: bool) -> Iterator[tuple[str, str]]:
    """Yield keys and what they do, the most helpful first."""
    if entry is not None:
        yield "Enter", "attach" if not entry.ended else "read"
        if entry.ended:
            yield from (("r", "retry"), ("R", "resume"))
        else:
            yield from (
                (("m", "message"), ("s", "stop")) if entry.run["driver"] == "live" else (("s", "stop"),)
            )
        yield "/", "search"
        yield "Tab", "table" if in_detail else "transcript"
        yield "?", "help"
        yield from (("d", "diff"), ("o", "output"), ("y", "copy id"))
    else:
        yield "?", "help"
    yield "a", "recent only" if ended else "all"
    yield "q", "quit"


def page() -> list[Spans]:
    """Return the help: all keys in their groups."""
    lines: list[Spans] = []
    for title, group in GROUPS.items():
        lines += [[], [(STRONG, f" {title}")]]
        lines += [[(ACCENT, f"   {key.shown:<7}"), (PLAIN, f" {key.help} ")] for key in group if key.shown]
    return lines[1:]


def actions(text: str) -> list[tuple[str, str, str]]:
    """Return the actions that fit a text, as (keys, action, help), except moves. All fit an empty text."""
    words = text.lower().split()
    found = (
        key for group in list(GROUPS.values())[:2] for key in group if key.shown and key.action != PALETTE
    )
    return [
        (key.shown, key.action, key.help)
        for key in found
        if all(word in f"{key.action} {key.help}".lower() for word in words)
    ]
