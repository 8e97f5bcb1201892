"""Check the values of a layout file: one check per kind of value, which notes each fault with its line. Pure.

The layout of a project may hold nothing that runs a command: who clones it has not agreed to any. tmux 3.3a
ends, with all its sessions, at an arrangement that it does not understand, so these texts are checked to the
last figure.
"""

from __future__ import annotations

import re

from tmuxagents.errors import Fault
from tmuxagents.launch import tasks
from tmuxagents.records import is_name
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from tmuxagents.text.yaml import Loaded

    Place = tuple[str | int, ...]

OURS = "x-tmuxagents"
VERSION = 1
_BAD = "bad-layout"
_OPTION = re.compile(r"@?[a-z][a-z0-9_-]{0,63}")
_LONGEST_COMMAND = 4000
_EMPTY_PANES = (None, "blank", "pane")  # tmuxp's words for a pane with a shell and nothing else
# Keys that run commands, or let tmux run them: a project's file may not have them anywhere.
_COMMANDS = (
    *("shell_command", "shell_command_before", "before_script", "options", "options_after"),
    *("global_options", "environment", "window_shell", "shell", "launch"),
)


class Checks:
    """The values of one file, and all that is wrong with them."""

    def __init__(self, loaded: Loaded, path: str, *, is_trusted: bool) -> None:
        self.faults: list[Fault] = []
        self._loaded = loaded
        self._path = path
        self._is_trusted = is_trusted

    def fault(self, place: Place, why: str) -> None:
        """Note what is wrong at a place."""
        line, field = self._line(place), _field(place)
        where = f"{self._path}, line {line}: {field}: " if field else f"{self._path}, line {line}: "
        self.faults.append(Fault(_BAD, f"{where}{why}.", field=field or None))

    def _line(self, place: Place) -> int:
        """Return the line of a place, or of the value around it if the place does not exist."""
        lines = self._loaded.lines
        return next((lines[place[:end]] for end in range(len(place), -1, -1) if place[:end] in lines), 1)

    def _at(self, place: Place, *, written: bool = False) -> Any:
        value = self._loaded.written if written else self._loaded.value
        for step in place:
            inside = value.get(step) if isinstance(value, dict) else None
            value = value[step] if isinstance(value, list) and isinstance(step, int) else inside
        return value

    # --- what holds others ------------------------------------------------------------------------------

    def mapping(self, place: Place) -> Mapping[str, Any]:
        """Return keys and values; none for a value of another type."""
        value = self._at(place)
        if isinstance(value, dict):
            return value
        self.fault(place, "here `key: value` lines are expected")
        return {}

    def listed(self, place: Place) -> Sequence[Any]:
        """Return a list that holds something."""
        value = self._at(place)
        if isinstance(value, list) and value:
            return value
        self.fault(place, f"here a list of {place[-1]} is expected")
        return ()

    def keys(self, place: Place, known: Sequence[str]) -> None:
        """Note each key that means nothing here, and each that a project's file may not have."""
        value = self._at(place)
        for key in value if isinstance(value, dict) else ():
            if key in _COMMANDS and not self._is_trusted:
                self.fault(
                    (*place, key), "the layout of a project may not have this: a clone must not run commands"
                )
            elif key not in known:
                self.fault((*place, key), f"this key is not supported; there are {', '.join(known)}")

    def ours(self, place: Place, known: Sequence[str]) -> Mapping[str, Any]:
        """Return our own keys of a place."""
        if not isinstance(self._at(place), dict) or OURS not in self._at(place):
            return {}
        fields = self.mapping((*place, OURS))
        self.keys((*place, OURS), known)
        return fields

    def pane(self, place: Place) -> tuple[Sequence[str], Mapping[str, Any], Mapping[str, Any]]:
        """Return the commands of a pane, our own keys of it, and all of its keys."""
        value = self._at(place)
        if isinstance(value, dict):
            self.keys(place, ("shell_command", "focus", "start_directory", OURS))
            return self._commands((*place, "shell_command")), self.ours(place, ("show", "run")), value
        if value in _EMPTY_PANES:
            return (), {}, {}
        if not self._is_trusted:
            self.fault(place, "the layout of a project may not have commands: a clone must not run any")
        return self._commands(place), {}, {}

    def _commands(self, place: Place) -> Sequence[str]:
        value = self._at(place)
        commands = value if isinstance(value, list) else [] if value is None else [value]
        for command in commands:
            if not isinstance(command, str) or not command.isprintable() or len(command) > _LONGEST_COMMAND:
                self.fault(place, "a command is one line of text")
                return ()
        return commands

    # --- single values ----------------------------------------------------------------------------------

    def text(self, place: Place, value: Any) -> str | None:
        """Return a text on one line."""
        if value is None or (isinstance(value, str) and value.strip()):
            return None if value is None else safe.line(value)
        self.fault(place, "this must be a text")
        return None

    def name(self, place: Place, value: Any, *, otherwise: str) -> str:
        """Return the name of a session or window: to tmux a name is code."""
        if value is None:
            return otherwise
        if isinstance(value, str) and is_name(value):
            return value
        self.fault(
            place,
            "a name has up to 32 of the letters a-z, 0-9, - and _, and begins with none of the last two",
        )
        return otherwise

    def word(self, place: Place, value: Any, known: Sequence[str]) -> str | None:
        """Return one of some words."""
        if value is None:
            return None
        if isinstance(value, str) and value in known:
            return value
        self.fault(place, f"this must be {' or '.join(known)}")
        return None

    def flag(self, place: Place, value: Any) -> bool:
        """Return yes or no; tmuxp's files have it as a text, too."""
        if value in (None, True, False):
            return bool(value)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        self.fault(place, "this must be true or false")
        return False

    def reference(self, place: Place, value: Any) -> str | None:
        """Return what a run is called by."""
        if value is None:
            return None
        if isinstance(value, str) and (value == "@last" or is_name(value)):
            return value
        self.fault(place, "this must be newest, or the name or id of a run, in quotes")
        return None

    def version(self, place: Place, value: Any) -> None:
        """Note a version that is not ours."""
        if value is not None and value != VERSION:
            self.fault(place, f"this must be {VERSION}; a later one is for a later tmuxagents")

    def folder(self, place: Place, value: Any) -> str | None:
        """Return a directory; of a project's file, one that lies in the project."""
        if value is None:
            return None
        if not isinstance(value, str) or not value or "\n" in value:
            self.fault(place, "this must be a directory")
            return None
        leaves = value.startswith(("/", "~")) or ".." in value.split("/")
        if leaves and not self._is_trusted:
            self.fault(place, "in the layout of a project this must be a directory in it")
            return None
        return value

    def arrangement(self, place: Place, *, panes: int | None) -> str | None:
        """Return the arrangement of a window's panes, if tmux accepts it for this number of panes."""
        *above, key = place
        inside = self._at(tuple(above))
        if not isinstance(inside, dict) or key not in inside:
            return TILED if panes is None else None
        value = self._at(place)
        why = fault(value, panes) if isinstance(value, str) else "this must be a text"
        if why is not None:
            self.fault(place, why)
            return None
        return str(value)

    def options(self, place: Place) -> Mapping[str, str]:
        """Return options of tmux as they were written."""
        *above, key = place
        inside = self._at(tuple(above))
        if not self._is_trusted or not isinstance(inside, dict) or key not in inside:
            return {}
        self.mapping(place)
        found = {}
        written = self._at(place, written=True)
        for name, value in written.items() if isinstance(written, dict) else ():
            if not _OPTION.fullmatch(name) or not isinstance(value, str) or not value.isprintable():
                self.fault((*place, name), "this is no option with a value on one line")
            else:
                found[name] = {"true": "on", "false": "off"}.get(value, value)
        return found

    def launch(self, place: Place) -> Iterator[Mapping[str, Any]]:
        """Yield the tasks that are launched; each as in a file for `run --tasks`."""
        if not self._is_trusted or self._at(place) is None:
            return
        for number, item in enumerate(self.listed(place)):
            before = len(self.faults)
            for fault in tasks.item_faults(item, "this"):
                key = (fault.field or "").partition(".")[2]
                self.fault((*place, number, *([key] if key else [])), fault.message.rstrip("."))
            if len(self.faults) == before:
                yield item


def _field(place: Place) -> str:
    """Return a place as people write it: `windows[0].layout`."""
    words = ""
    for step in place:
        shown = f"[{step}]" if isinstance(step, int) else safe.cut(safe.line(step), 40)
        words += shown if isinstance(step, int) or not words else f".{shown}"
    return words


NAMES = ("even-horizontal", "even-vertical", "main-horizontal", "main-vertical", "tiled")
TILED = "tiled"
_TEXT = re.compile(r"([0-9a-f]{4}),(.+)", re.DOTALL)
_PLACE = re.compile(
    r"([1-9][0-9]{0,3})x([1-9][0-9]{0,3}),([0-9]{1,4}),([0-9]{1,4})(?:,[0-9]{1,9}(?![0-9x]))?"
)
_SUM_BITS = 16
_BESIDE, _BELOW = "{}", "[]"  # the directions of cells beside, or below, one another
_DEEPEST = 64


class _Odd(Exception):
    """What is wrong with a text."""


class _Cell:
    """A pane, or cells beside or below one another."""

    __slots__ = ("cells", "height", "left", "top", "way", "width")

    def __init__(self, figures: Sequence[str]) -> None:
        self.width, self.height, self.left, self.top = map(int, figures)
        self.way = ""
        self.cells: list[_Cell] = []

    def panes(self) -> int:
        """Return how many panes it holds."""
        return sum(cell.panes() for cell in self.cells) if self.cells else 1


def checksum(text: str) -> str:
    """Return what tmux puts in front of a layout's text."""
    total = 0
    for letter in text.encode():
        total = ((total >> 1) + ((total & 1) << (_SUM_BITS - 1)) + letter) % (1 << _SUM_BITS)
    return f"{total:04x}"


def fault(layout: str, panes: int | None) -> str | None:
    """Say why tmux would refuse a layout for this number of panes (None: any number), else None."""
    if layout in NAMES:
        return None
    found = _TEXT.fullmatch(layout)
    if found is None:
        return f"it is none of {', '.join(NAMES)}, and no layout as tmux prints one"
    if panes is None:
        return "a window whose panes come and go has one of the named layouts"
    if not found[2].isascii() or checksum(found[2]) != found[1]:
        return "its checksum is wrong: copy it whole, from `tmux list-windows`"
    try:
        count = _count(found[2])
    except _Odd as why:
        return str(why)
    return None if count == panes else f"it is for {count} panes, and the window has {panes}"


def _count(text: str) -> int:
    """Return for how many panes a text is; raise _Odd where tmux would not take it."""
    cell, end = _read(text, 0, 0)
    if end != len(text):
        raise _Odd("it continues after its end")
    _measure(cell)
    return cell.panes()


def _read(text: str, start: int, depth: int) -> tuple[_Cell, int]:
    """Return the cell that begins there, and where it ends."""
    found = _PLACE.match(text, start)
    if found is None or depth > _DEEPEST:
        raise _Odd("it is no layout as tmux prints one")
    cell, end = _Cell(found.groups()), found.end()
    way = next((way for way in (_BESIDE, _BELOW) if text[end : end + 1] == way[0]), "")
    if not way:
        return cell, end
    cell.way = way
    while not cell.cells or text[end : end + 1] == ",":
        inside, end = _read(text, end + 1, depth + 1)
        cell.cells.append(inside)
    if text[end : end + 1] != way[1]:
        raise _Odd("it is no layout as tmux prints one")
    return cell, end + 1


def _measure(cell: _Cell) -> None:
    """Raise _Odd unless the cells inside fill a cell, with one line between each two."""
    at_left, at_top = cell.left, cell.top
    for inside in cell.cells:
        beside = cell.way == _BESIDE
        across = inside.height == cell.height if beside else inside.width == cell.width
        if not across or (inside.left, inside.top) != (at_left, at_top):
            raise _Odd("its figures do not fit together")
        at_left += inside.width + 1 if beside else 0
        at_top += 0 if beside else inside.height + 1
        _measure(inside)
    if not cell.cells:
        return
    ends = (
        (at_left - 1, cell.left + cell.width) if cell.way == _BESIDE else (at_top - 1, cell.top + cell.height)
    )
    if ends[0] != ends[1]:
        raise _Odd("its figures do not fit together")
