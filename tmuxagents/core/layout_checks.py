"""What may stand in a layout file: one check a kind of value, which notes what is wrong, with its line.

The layout of a project may hold nothing that runs a command: who clones it has not agreed to any.
"""

from __future__ import annotations

import re

from tmuxagents.core import arrangement, sanitize, tasks
from tmuxagents.errors import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from tmuxagents.core.frontmatter import Loaded

    Place = tuple[str | int, ...]

OURS = "x-tmuxagents"
VERSION = 1
_BAD = "bad-layout"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_OPTION = re.compile(r"@?[a-z][a-z0-9_-]{0,63}")
_REFERENCE = re.compile(r"@last|[a-z0-9][a-z0-9_-]{0,31}")
_LONGEST_COMMAND = 4000
_EMPTY_PANES = (None, "blank", "pane")  # tmuxp's words for a pane with a shell and nothing else
# What runs commands, or lets tmux run them: in a project's file it is refused wherever it stands.
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
        """Return the line of a place, or, where there is none, of what it would stand in."""
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
        """Return keys and values; none where something else stands there."""
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
            return None if value is None else sanitize.line(value)
        self.fault(place, "this must be a text")
        return None

    def name(self, place: Place, value: Any, *, otherwise: str) -> str:
        """Return the name of a session or window: to tmux a name is code."""
        if value is None:
            return otherwise
        if isinstance(value, str) and _NAME.fullmatch(value):
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
        if isinstance(value, str) and _REFERENCE.fullmatch(value):
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
        """Return how the panes of a window are arranged, if tmux takes that for so many panes."""
        *above, key = place
        inside = self._at(tuple(above))
        if not isinstance(inside, dict) or key not in inside:
            return arrangement.TILED if panes is None else None
        value = self._at(place)
        why = arrangement.fault(value, panes) if isinstance(value, str) else "this must be a text"
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
        shown = f"[{step}]" if isinstance(step, int) else sanitize.cut(sanitize.line(step), 40)
        words += shown if isinstance(step, int) or not words else f".{shown}"
    return words
