"""The prompt of a child: files or parts of files, the earlier conversation, then the task. Pure.

A file is named as `PATH`, `PATH:A-B`, `PATH:head=N` or as a JSON object. The task comes last, byte for byte,
so that `{previous}` can be filled in later (`with_outputs`).
"""

from __future__ import annotations

import re

from tmuxagents import records
from tmuxagents.errors import BadRequest, Fault
from tmuxagents.text import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from tmuxagents.records import FileText

_SLICE = re.compile(
    r"(?P<path>.+):(?:(?P<start>[0-9]+)-(?P<end>[0-9]+)?|-(?P<until>[0-9]+)"
    r"|head=(?P<head>[0-9]+)|tail=(?P<tail>[0-9]+))",
    re.DOTALL,
)
_NUMBERS = ("start", "end", "head", "tail")
_MOST_DIGITS = 15  # no file has more lines
_HINT = "PATH, PATH:A-B, PATH:A-, PATH:-B, PATH:head=N or PATH:tail=N; lines count from 1"


class FileSpec:
    """One file and the wanted lines: from `start` to `end`, the first `head`, the last `tail`, or all."""

    __slots__ = ("end", "head", "path", "start", "tail")

    def __init__(
        self,
        path: str,
        *,
        start: int | None = None,
        end: int | None = None,
        head: int | None = None,
        tail: int | None = None,
    ) -> None:
        self.path = path  # as the caller wrote it
        self.start = start
        self.end = end
        self.head = head
        self.tail = tail

    def document(self) -> str | dict[str, Any]:
        """Return its JSON value, as in `files`."""
        wanted = {key: getattr(self, key) for key in _NUMBERS if getattr(self, key) is not None}
        return {"path": self.path, **wanted} if wanted else self.path


def parse(spec: str, *, is_file: bool, field: str = "file") -> FileSpec:
    """Parse a word of a command line. `is_file`: a file has exactly this name, so the word is its path."""
    found = None if is_file else _SLICE.fullmatch(spec)
    if found is None:
        return _checked(FileSpec(spec), field)
    digits = {name: found[name] for name in (*_NUMBERS, "until") if found[name] is not None}
    numbers = {name: int(word.lstrip("0")[:_MOST_DIGITS] or "0") for name, word in digits.items()}
    if "until" in numbers:
        numbers["end"] = numbers.pop("until")
    return _checked(FileSpec(found["path"], **numbers), field)


def read(value: Any, *, field: str) -> FileSpec:
    """Parse one entry of `files` in JSON; raise BadRequest if it is invalid."""
    if isinstance(value, str):
        return _checked(FileSpec(value), field)
    if not isinstance(value, dict) or not isinstance(value.get("path"), str):
        raise _refused("must be a path, or an object with a path", field)
    unknown = sorted(set(value) - {"path", *_NUMBERS})
    if unknown:
        raise _refused(f"has an unknown key {unknown[0][:40]!r}", field)
    numbers = {key: value[key] for key in _NUMBERS if value.get(key) is not None}
    for key, number in numbers.items():
        if isinstance(number, float) and number.is_integer():
            numbers[key] = int(number)  # JSON has one kind of numbers
        elif type(number) is not int:
            raise _refused(f"has no whole number as {key}", field)
    return _checked(FileSpec(value["path"], **numbers), field)


def _checked(spec: FileSpec, field: str) -> FileSpec:
    wanted = spec.document()
    keys = set(wanted) - {"path"} if isinstance(wanted, dict) else set()
    if not spec.path:
        raise _refused("has an empty path", field)
    if "\0" in spec.path:
        raise _refused("has a NUL character in its path", field)
    for key in sorted(keys):
        if getattr(spec, key) < 1:
            raise _refused(f"needs {key} to be 1 or more: lines count from 1", field)
    if len(keys) > 1 and keys not in ({"start", "end"}, {"head", "tail"}):  # of head and tail, tail counts
        raise _refused(f"asks for {' and '.join(sorted(keys))} at once", field)
    return spec


def _refused(what: str, field: str) -> BadRequest:
    message = f"{field} {what}"
    return BadRequest(
        message, kind="bad-argument", hint=_HINT, faults=[Fault("bad-argument", message, field=field)]
    )


FILE_LIMIT = 1024 * 1024
PREVIOUS = "{previous}"
_KB = 1024
_GAP = "\n\n"
_FILE = "=== "
_BEFORE, _BEHIND = f"Previously:{_GAP}", f"{_GAP}Instructions:{_GAP}"  # around a transcript


def may_be_read(resolved: str, folder: str, *, allow_outside: bool = False) -> bool:
    """Say whether a file may go into a prompt: it is in the child's folder, or files outside are allowed."""
    return allow_outside or paths.is_inside(resolved, folder)


def file_block(spec: FileSpec, found: FileText) -> str:
    """Return the part of the prompt for one file: its lines, or the reason why they are missing."""
    path = spec.path.encode("utf-8", "replace").decode("utf-8")  # a prompt is UTF-8, a name need not be
    if found.problem == records.OUTSIDE:
        return f"[access denied: path outside project directory: {path}]"
    if found.problem == records.MISSING:
        return f"[file not found: {path}]"
    if found.problem == records.TOO_LARGE:
        size = (found.size + _KB // 2) // _KB
        return f"[file too large: {path} ({size}KB, limit {FILE_LIMIT // _KB}KB)]"
    if found.problem is not None:
        return f"[could not read file: {path}]"
    lines = found.text.removesuffix("\n").split("\n")
    if spec.tail is not None:  # it takes precedence over the head
        lines = lines[max(0, len(lines) - max(0, spec.tail)) :]
    elif spec.head is not None:
        lines = lines[: max(0, spec.head)]
    else:
        first = max(0, (spec.start or 1) - 1)
        lines = lines[first : None if spec.end is None else max(0, spec.end)]
    return f"{_FILE}{path} ===\n" + "\n".join(lines)


def left_out(blocks: Iterable[str]) -> list[str]:
    """Return warnings about the files that are missing in the prompt."""
    return [f"{block[1:-1]}; the prompt says so" for block in blocks if not block.startswith(_FILE)]


def compose(task: str, *, blocks: Iterable[str] = (), transcript: str | None = None) -> str:
    """Return the effective prompt. `transcript`: the session's earlier conversation, if it is replayed."""
    asked = task if transcript is None else f"{_BEFORE}{transcript}{_BEHIND}{task}"
    return _GAP.join((*blocks, asked))


def without_transcript(prompt: str, task: str, length: int | None) -> str:
    """Return an effective prompt without its transcript of `length` characters.

    If the prompt has another form, it was changed after it was written, and only the task is returned.
    """
    if length is None:
        return prompt
    end = len(prompt) - len(f"{_BEHIND}{task}")
    blocks = prompt[: max(0, end - length)]
    if not (prompt.endswith(f"{_BEHIND}{task}") and 0 <= length <= end and blocks.endswith(_BEFORE)):
        return task
    return blocks.removesuffix(_BEFORE) + task


def with_outputs(prompt: str, task: str, outputs: Sequence[str | None]) -> str:
    """Return an effective prompt with the outputs of earlier runs in place of `{previous}`.

    Only the task is changed, not a file, a transcript or an output with this word in it.
    """
    if PREVIOUS not in task or not prompt.endswith(task):
        return prompt
    joined = _GAP.join(output or "" for output in outputs)
    return prompt[: len(prompt) - len(task)] + task.replace(PREVIOUS, joined)
