"""The checks of a layout file, one for each kind of value. Each records a fault with its line. Pure.

A project's layout may contain nothing that runs a command: cloning a project is no consent. tmux 3.3a
crashes, with all its sessions, if it does not understand an arrangement of panes. So every figure of an
arrangement is checked.
"""

from __future__ import annotations

import re

from tmuxagents.errors import Fault
from tmuxagents.launch import plan, tasks
from tmuxagents.records import is_name, is_run_id
from tmuxagents.settings import rules
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from tmuxagents.text.yaml import Loaded

    Place = tuple[str | int, ...]

OURS = "x-tmuxagents"
VERSION = 1
_NO_MAPPING = "here `key: value` lines are expected"
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
    """The values of one file, and the faults found in them."""

    def __init__(self, loaded: Loaded, path: str, *, is_trusted: bool) -> None:
        self.faults: list[Fault] = []
        self._loaded = loaded
        self._path = path
        self._is_trusted = is_trusted

    def fault(self, place: Place, why: str) -> None:
        """Record a fault at a place."""
        lines, field = self._loaded.lines, ""  # `windows[0].layout`
        # A place without a line gets the line of the nearest place around it.
        line = next((lines[place[:end]] for end in range(len(place), -1, -1) if place[:end] in lines), 1)
        for step in place:
            shown = f"[{step}]" if isinstance(step, int) else safe.cut(safe.line(step), 40)
            field += shown if isinstance(step, int) or not field else f".{shown}"
        where = f"{self._path}, line {line}: {field}: " if field else f"{self._path}, line {line}: "
        self.faults.append(Fault(_BAD, f"{where}{why}.", field=field or None))

    def _at(self, place: Place, *, written: bool = False) -> Any:
        value = self._loaded.written if written else self._loaded.value
        for step in place:
            inside = value.get(step) if isinstance(value, dict) else None
            value = value[step] if isinstance(value, list) and isinstance(step, int) else inside
        return value

    # --- mappings and lists -----------------------------------------------------------------------------

    def keys(self, place: Place, known: Sequence[str]) -> None:
        """Record each unsupported key of a mapping, and each that a project's file may not have."""
        value = self._at(place)
        if not isinstance(value, dict):
            self.fault(place, _NO_MAPPING)
            return
        for key in value:
            if key in _COMMANDS and not self._is_trusted:
                why = "a project's layout may not have this: a cloned repository must not run commands"
                self.fault((*place, key), why)
            elif key not in known:
                self.fault((*place, key), f"this key is not supported; there are {', '.join(known)}")

    def ours(self, place: Place, known: Sequence[str]) -> None:
        """Check the keys below `x-tmuxagents` in the same way, if there are any."""
        if self._is_given((*place, OURS)):
            self.keys((*place, OURS), known)

    def listed(self, place: Place) -> Iterator[Place]:
        """Yield the place of each item in a list, which must not be empty."""
        value = self._at(place)
        if isinstance(value, list) and value:
            yield from ((*place, number) for number in range(len(value)))
        else:
            self.fault(place, f"here a list of {place[-1]} is expected")

    def pane(self, place: Place) -> Sequence[str]:
        """Return the commands of a pane."""
        value = self._at(place)
        if isinstance(value, dict):
            self.keys(place, ("shell_command", "focus", "start_directory", OURS))
            self.ours(place, ("show", "run"))
            return self._commands((*place, "shell_command"))
        if value in _EMPTY_PANES:
            return ()
        if not self._is_trusted:
            self.fault(place, "a project's layout may not have commands: a cloned repository must run none")
        return self._commands(place)

    def _commands(self, place: Place) -> Sequence[str]:
        value = self._at(place)
        commands = value if isinstance(value, list) else [] if value is None else [value]
        for command in commands:
            if not isinstance(command, str) or not command.isprintable() or len(command) > _LONGEST_COMMAND:
                self.fault(place, "a command is one line of text")
                return ()
        return commands

    # --- single values ----------------------------------------------------------------------------------

    def text(self, place: Place) -> str:
        """Return a text on one line."""
        value = self._at(place)
        if value is None or (isinstance(value, str) and value.strip()):
            return safe.line(value or "")
        self.fault(place, "this must be a text")
        return ""

    def name(self, place: Place, *, otherwise: str) -> str:
        """Return the name of a session or window, which must be plain: tmux interprets other names."""
        value = self._at(place)
        if isinstance(value, str) and is_name(value):
            return value
        if value is not None:
            self.fault(place, "a name has up to 32 of a-z, 0-9, - and _, and starts with a letter or digit")
        return otherwise

    def word(self, place: Place, known: Sequence[str]) -> str | None:
        """Return one of several words."""
        value = self._at(place)
        if value is None or (isinstance(value, str) and value in known):
            return value
        self.fault(place, f"this must be {' or '.join(known)}")
        return None

    def flag(self, place: Place) -> bool:
        """Return true or false, which tmuxp's files may also write as a text."""
        value = self._at(place)
        if value in (None, True, False):
            return bool(value)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        self.fault(place, "this must be true or false")
        return False

    def reference(self, place: Place) -> str | None:
        """Return a reference to a run: a name, an id, `newest` or `@last`."""
        value = self._at(place)
        if value is None:
            return None
        if isinstance(value, str) and (value == "@last" or is_run_id(value) or plan.is_name(value)):
            return value
        self.fault(place, "this must be newest, or the name or id of a run, in quotes")
        return None

    def version(self, place: Place) -> None:
        """Record a fault for a version other than our own."""
        if self._at(place) not in (None, VERSION):
            self.fault(place, f"this must be {VERSION}; a later one is for a later tmuxagents")

    def folder(self, place: Place) -> str | None:
        """Return a directory; a project's file may only name one in the project."""
        value = self._at(place)
        if value is None:
            return None
        if not isinstance(value, str) or not value or "\n" in value:
            self.fault(place, "this must be a directory")
            return None
        if not self._is_trusted and (value.startswith(("/", "~")) or ".." in value.split("/")):
            self.fault(place, "in the layout of a project this must be a directory in it")
            return None
        return value

    def _is_given(self, place: Place) -> bool:
        inside = self._at(place[:-1])
        return isinstance(inside, dict) and place[-1] in inside

    def arrangement(self, place: Place, *, panes: int | None) -> str | None:
        """Return the arrangement of a window's panes, if tmux accepts it for this number of panes."""
        if not self._is_given(place):
            return TILED if panes is None else None
        value = self._at(place)
        why = fault(value, panes) if isinstance(value, str) else "this must be a text"
        if why is not None:
            self.fault(place, why)
            return None
        return str(value)

    def options(self, place: Place) -> Mapping[str, str]:
        """Return options of tmux as they were written."""
        if not self._is_trusted or not self._is_given(place):
            return {}
        written, found = self._at(place, written=True), {}
        if not isinstance(written, dict):
            self.fault(place, _NO_MAPPING)
            return {}
        for name, value in written.items():
            if not _OPTION.fullmatch(name) or not isinstance(value, str) or not value.isprintable():
                self.fault((*place, name), "this must be an option with a value on one line")
            else:
                found[name] = {"true": "on", "false": "off"}.get(value, value)
        return found

    def launch(self, place: Place) -> Iterator[Mapping[str, Any]]:
        """Yield the tasks to launch, each in the form of a file for `run --tasks`."""
        if not self._is_trusted or self._at(place) is None:
            return
        for inside in self.listed(place):
            item = self._at(inside)
            before = len(self.faults)
            for fault in tasks.item_faults(item, "this"):
                key = (fault.field or "").partition(".")[2]
                self.fault((*inside, *([key] if key else [])), fault.message.rstrip("."))
            if len(self.faults) == before:
                yield {**item, "timeout": rules.seconds(item["timeout"])} if "timeout" in item else item


# --- the arrangement of panes -----------------------------------------------------------------------------

NAMES = ("even-horizontal", "even-vertical", "main-horizontal", "main-vertical", "tiled")
TILED = "tiled"
_TEXT = re.compile(r"([0-9a-f]{4}),(.+)", re.DOTALL)
_PLACE = re.compile(
    r"([1-9][0-9]{0,3})x([1-9][0-9]{0,3}),([0-9]{1,4}),([0-9]{1,4})(?:,[0-9]{1,9}(?![0-9x]))?"
)
_SUM_BITS = 16
_DEEPEST = 64
_UNKNOWN, _NO_FIT = "it is no layout as tmux prints one", "its figures do not fit together"


class _Odd(Exception):
    """A fault in the text of an arrangement."""


def checksum(text: str) -> str:
    """Return the checksum that tmux puts in front of a layout's text."""
    total = 0
    for letter in text.encode():
        total = ((total >> 1) + ((total & 1) << (_SUM_BITS - 1)) + letter) % (1 << _SUM_BITS)
    return f"{total:04x}"


def fault(layout: str, panes: int | None) -> str | None:
    """Return why tmux would reject a layout for this number of panes (None: any); None if it would not."""
    if layout in NAMES:
        return None
    found = _TEXT.fullmatch(layout)
    if found is None:
        return f"it is not one of {', '.join(NAMES)}, nor a layout as tmux prints it"
    if panes is None:
        return "a window whose panes come and go has one of the named layouts"
    if not found[2].isascii() or checksum(found[2]) != found[1]:
        return "its checksum is wrong: copy it whole, from `tmux list-windows`"
    try:
        _, count, end = _cell(found[2])
        if end != len(found[2]):
            raise _Odd("something follows its end")  # noqa: TRY301  (as any other fault)
    except _Odd as why:
        return str(why)
    return None if count == panes else f"it is for {count} panes, and the window has {panes}"


def _cell(text: str, start: int = 0, depth: int = 0) -> tuple[tuple[int, ...], int, int]:
    """Return the figures, the number of panes and the end of the cell at `start`. Raises _Odd for a bad one.

    Inner cells fill their cell, side by side (`{}`) or one below another (`[]`), with a line between each
    two.
    """
    found = _PLACE.match(text, start)
    if found is None or depth > _DEEPEST:
        raise _Odd(_UNKNOWN)
    width, height, left, top = figures = tuple(map(int, found.groups()))
    end = found.end()
    closing = {"{": "}", "[": "]"}.get(text[end : end + 1])
    if closing is None:
        return figures, 1, end
    is_row, panes, at = closing == "}", 0, (left, top)
    while not panes or text[end : end + 1] == ",":
        (wide, high, *inside), count, end = _cell(text, end + 1, depth + 1)
        if tuple(inside) != at or (high != height if is_row else wide != width):
            raise _Odd(_NO_FIT)
        at = (at[0] + wide + 1, top) if is_row else (left, at[1] + high + 1)
        panes += count
    if text[end : end + 1] != closing:
        raise _Odd(_UNKNOWN)
    if at != ((left + width + 1, top) if is_row else (left, top + height + 1)):
        raise _Odd(_NO_FIT)
    return figures, panes, end + 1
