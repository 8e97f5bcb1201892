"""Doctor's judgements: which versions suffice, how much room is enough, which texts hold a key. Pure."""

from __future__ import annotations

import json
import re

from tmuxagents.text import yaml
from tmuxagents.text.checks import BROKEN, WARNING, Check, broken, warning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MEGABYTE = 1024 * 1024
_LITTLE_SPACE = 100 * MEGABYTE
_KEY_NAMES = frozenset(("apikey", "api-key", "x-api-key", "authorization"))
_NAMED = "|".join(sorted(_KEY_NAMES))
_KEY = re.compile(rf"(?i)[\"']?\b(?:{_NAMED})[\"']?\s*:\s*[\"']?([^\s\"',}}]+)")  # for broken JSON
_REFERENCE = re.compile(r"!|.*\$\{?[A-Za-z_]", re.DOTALL)  # pi's: a command that prints the key, a variable
_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})(?:\.\d{1,6})?")
_SHOWN = 3
_LOGINS = "auth.json"  # of pi: it holds nothing but keys
# What pi needs: the least version, what needs it, how to get it. fd has --no-require-git since 8.7.
_PROGRAMS = {
    "node": ((22, 19), "pi itself", "install node 22.19 or newer"),
    "rg": ((0, 0), "pi's tool grep", "install it: apt install ripgrep"),
    "fd": ((8, 7), "pi's tool find", "install fd 8.7 or newer: https://github.com/sharkdp/fd/releases"),
}


def version(text: bytes | None) -> tuple[str, tuple[int, int]] | None:
    """Return the version in a program's output, as text and as numbers."""
    found = None if text is None else _VERSION.search(text[:512].decode("ascii", "replace"))
    return (found[0], (int(found[1]), int(found[2]))) if found else None


def program(name: str, path: str | None, output: bytes | None) -> Check:
    """Judge a program that pi needs by what it prints as its version."""
    least, user, hint = _PROGRAMS[name]
    if path is None:
        return Check(name, f"Not on PATH, and {user} needs it", BROKEN if name == "node" else WARNING, hint)
    found = version(output)
    if found is None:
        return warning(name, f"{path} does not report its version", hint)
    if found[1] < least:
        return warning(name, f"{path} is {found[0]}, too old for {user}", hint)
    return Check(name, f"{path} is {found[0]}")


def space(folder: str, free: int, files: int | None) -> Check:
    """Judge the room on a disk. `files`: how many more it can hold, None without a limit."""
    hint = f"make room: df -h {folder}"
    if free < MEGABYTE or files == 0:
        return broken("disk", f"The disk of {folder} is full", hint)
    if free < _LITTLE_SPACE:
        return warning("disk", f"Only {free // MEGABYTE} MB are left on the disk of {folder}", hint)
    return Check("disk", f"{free // MEGABYTE} MB are free at {folder}")


def settings(rows: Iterable[tuple[str, Any, str]]) -> Check:
    """Report the settings that are not at their defaults, with their sources."""
    changed = [f"{key} {value} ({source})" for key, value, source in rows if source != "default"]
    return Check("settings", ", ".join(changed) or "all at their defaults")


def some(things: Iterable[str]) -> str:
    """Return the first of several things, and how many more there are."""
    all_ = list(things)
    more = f" and {len(all_) - _SHOWN} more" if len(all_) > _SHOWN else ""
    return ", ".join(all_[:_SHOWN]) + more


def file_holds_key(path: str, text: bytes | None) -> bool:
    """Say whether one of a person's files holds a key, by its name and its text; None: there is no file."""
    if text is None or path.endswith(f"/{_LOGINS}"):
        return text is not None
    return header_holds_key(text) if path.endswith(".md") else holds_key(text)


def holds_key(text: bytes) -> bool:
    """Say whether one of pi's JSON files holds a key itself, not just a reference to one."""
    try:
        left = [json.loads(text)]
    except (ValueError, RecursionError):  # pi allows comments, and one of them may hold a key as well
        return any(_is_key(match[1]) for match in _KEY.finditer(text.decode("utf-8", "replace")))
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
    """Say whether the header of a preset or profile holds a key, or variables that may be one."""
    header, _ = yaml.split(text.decode("utf-8", "replace"))
    try:
        fields = yaml.load(header or "").value
    except yaml.Malformed:
        return _KEY.search(header or "") is not None
    return isinstance(fields, dict) and bool(fields.get("apiKey") or fields.get("env"))


def extension(loaded: str, own: str, *, there: bool) -> Check:
    """Report which extension pi loads: ours, one of another tmuxagents, or a missing one."""
    hint = "tmuxagents integrate pi"
    if loaded == own:
        return Check("pi", "loads the extension of this tmuxagents")
    if there:
        return warning("pi", f"Loads the extension of another tmuxagents: {loaded}", hint)
    return warning("pi", f"Looks for tmuxagents at {loaded}, and nothing is there", hint)
