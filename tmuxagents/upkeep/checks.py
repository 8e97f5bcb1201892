"""What doctor says: checks as records and lines, which versions are new enough, which texts hold a key.

Pure.
"""

from __future__ import annotations

import json
import re

from tmuxagents.text import safe, yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

OK, WARNING, BROKEN = "ok", "warning", "broken"
LEAST_NODE = (22, 19)
LEAST_FD = (8, 7)  # the first with --no-require-git, which pi's find uses
MEGABYTE = 1024 * 1024
_LITTLE_SPACE = 100 * MEGABYTE
_KEY_NAMES = frozenset(("apikey", "api-key", "x-api-key", "authorization"))
_NAMED = "|".join(sorted(_KEY_NAMES))
_KEY = re.compile(rf"(?i)[\"']?\b(?:{_NAMED})[\"']?\s*:\s*[\"']?([^\s\"',}}]+)")  # where it cannot be parsed
_REFERENCE = re.compile(r"!|.*\$\{?[A-Za-z_]", re.DOTALL)  # pi's: a command that says it, a variable
_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})(?:\.\d{1,6})?")
_SHOWN = 3
_WIDTH = max(map(len, (OK, WARNING, BROKEN)))


class Check:
    """One thing that was looked at. `hint`: what to do, where something is wrong."""

    __slots__ = ("hint", "message", "name", "state")

    def __init__(self, name: str, message: str, *, state: str = OK, hint: str | None = None) -> None:
        self.name = name
        self.message = message
        self.state = state
        self.hint = hint

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {key: getattr(self, key) for key in ("name", "state", "message", "hint")}

    def line(self) -> str:
        """Return it as a line."""
        words = f"{self.name}: {self.message.rstrip('.')}." + (f" To do: {self.hint}" if self.hint else "")
        return f"{self.state:<{_WIDTH}}  {safe.line(words)}"


def warning(name: str, message: str, hint: str) -> Check:
    """Return a check that found something that can be lived with."""
    return Check(name, message, state=WARNING, hint=hint)


def broken(name: str, message: str, hint: str | None) -> Check:
    """Return a check that found something with which no run, or no run like that, can work."""
    return Check(name, message, state=BROKEN, hint=hint or "see the message")


# --- judged -----------------------------------------------------------------------------------------------


def version(text: bytes | None) -> tuple[str, tuple[int, int]] | None:
    """Return the version in what a program says, as words and as figures."""
    found = None if text is None else _VERSION.search(text[:512].decode("ascii", "replace"))
    return (found[0], (int(found[1]), int(found[2]))) if found else None


def node(path: str | None, said: bytes | None, *, needed: bool) -> Check:
    """Judge node, which runs agents that are written for it."""
    least = ".".join(map(str, LEAST_NODE))
    hint = f"install node {least} or newer"
    known = version(said)
    if path is None:
        return (
            broken("node", "The agent needs node, and there is none on PATH", hint) if needed else _unneeded()
        )
    if not needed:
        return _unneeded(f"{path} is {known[0]}" if known else None)
    if known is None:
        return warning("node", f"{path} does not tell its version", hint)
    if known[1] < LEAST_NODE:
        return warning("node", f"{path} is {known[0]}, and {least} is the least for pi", hint)
    return Check("node", f"{path} is {known[0]}")


def _unneeded(words: str | None = None) -> Check:
    return Check(
        "node", f"{words}; the agent does not take it from PATH" if words else "the agent needs none"
    )


def ripgrep(path: str | None, said: bytes | None) -> Check:
    """Judge rg, by which pi greps."""
    hint = "install it: apt install ripgrep"
    if path is None:
        return warning("rg", "There is no rg: pi's tool grep fails, and the run goes on without it", hint)
    known = version(said)
    return Check("rg", f"{path} is {known[0]}") if known else warning("rg", f"{path} does not work", hint)


def fd(path: str | None, said: bytes | None) -> Check:
    """Judge fd, by which pi finds."""
    least = ".".join(map(str, LEAST_FD))
    hint = f"install fd {least} or newer: https://github.com/sharkdp/fd/releases"
    if path is None:
        return warning("fd", "There is no fd: pi's tool find fails, and the run goes on without it", hint)
    known = version(said)
    if known is None:
        return warning("fd", f"{path} does not work", hint)
    if known[1] < LEAST_FD:
        return warning("fd", f"{path} is {known[0]}, too old for pi's tool find", hint)
    return Check("fd", f"{path} is {known[0]}")


def space(folder: str, free: int, files: int | None) -> Check:
    """Judge the room on a disk; `files`: so many more it can have, None: that has no limit."""
    hint = f"make room: df -h {folder}"
    if free < MEGABYTE or files == 0:
        return broken("disk", f"The disk of {folder} is full", hint)
    if free < _LITTLE_SPACE:
        return warning("disk", f"Only {free // MEGABYTE} MB are left on the disk of {folder}", hint)
    return Check("disk", f"{free // MEGABYTE} MB are free at {folder}")


def settings(rows: Iterable[tuple[str, Any, str]]) -> Check:
    """Say which settings are not at their defaults, and where they come from."""
    changed = [f"{key} {value} ({source})" for key, value, source in rows if source != "default"]
    return Check("settings", ", ".join(changed) or "all are at their defaults")


def some(things: Iterable[str]) -> str:
    """Return the first of several things, and how many more there are."""
    all_ = list(things)
    more = f" and {len(all_) - _SHOWN} more" if len(all_) > _SHOWN else ""
    return ", ".join(all_[:_SHOWN]) + more


def holds_key(text: bytes) -> bool:
    """Say whether a JSON file of pi's holds a key itself, and not only where one is to be found."""
    try:
        left = [json.loads(text)]
    except (ValueError, RecursionError):  # pi allows comments, and one of them may hold a key as well
        found = _KEY.finditer(text.decode("utf-8", "replace"))
        return any(_is_key(match[1]) for match in found)
    while left:
        value = left.pop()
        if isinstance(value, dict):
            if any(_is_key(own) for name, own in value.items() if name.lower() in _KEY_NAMES):
                return True
            left += value.values()
        elif isinstance(value, list):
            left += value
    return False


def _is_key(value: Any) -> bool:
    return isinstance(value, str) and value != "" and _REFERENCE.match(value) is None


def header_holds_key(text: bytes) -> bool:
    """Say whether the header of a profile holds a key."""
    header, _ = yaml.split(text.decode("utf-8", "replace"))
    try:
        fields = yaml.load(header or "").value
    except yaml.Malformed:
        return _KEY.search(header or "") is not None
    return isinstance(fields, dict) and bool(fields.get("apiKey"))


def extension(loaded: str, own: str, *, there: bool) -> Check:
    """Return which extension pi loads: ours, that of another tmuxagents, or one that is gone."""
    hint = "tmuxagents integrate pi"
    if loaded == own:
        return Check("pi", "it loads the extension of this tmuxagents.")
    if there:
        return warning("pi", f"It loads the extension of another tmuxagents: {loaded}.", hint)
    return warning("pi", f"It looks for tmuxagents at {loaded}, where it is no more.", hint)
