"""A call in a few lines: the end of its output, the diff of an edit, the head of a new file.

Pure.
"""

from __future__ import annotations

from tmuxagents.records import Record
from tmuxagents.runs import events, narration
from tmuxagents.text import jsonline, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    Part = tuple[str, str]  # kind of a line, its words

OUTPUT, ADDED, REMOVED, SAME, GAP = "output", "added", "removed", "same", "gap"
BETWEEN = "⋯"
_LONGEST = 400  # characters of a line
_READ_FROM = 64 * 1024  # characters of a text that are looked at
_CELLS = 40_000  # of the table that compares two texts; larger texts are not compared line by line
_MOST_LINES = 10**9
_MOST_SIZE = 16 * 1024 * 1024
_MOST_EDITS = 50
_AROUND = 2  # unchanged lines beside a change
_TAB = 4
_EXITED = "exited with code "
_OLD, _NEW = ("oldText", "old_string", "oldString"), ("newText", "new_string", "newString")
_CODE = 3  # digits of an exit code
SIGNS = {ADDED: "+ ", REMOVED: "- ", SAME: "  "}  # at the beginning of a diff's lines


class Limits(Record):
    """How much of a call is shown."""

    output: int  # lines of a call that went well
    failed: int  # lines of a call that failed
    edited: int  # lines of a diff
    written: int  # lines of a new file
    answer: int  # characters of an answer
    all: bool  # show the text that was read or listed, not only its size
    blocks: int  # that a story keeps
    size: int  # characters of all kept blocks

    __slots__ = tuple(__annotations__)


WINDOW = Limits(
    output=3, failed=6, edited=24, written=5, answer=32 * 1024, all=False, blocks=10_000, size=_MOST_SIZE
)
WHOLE = Limits(
    output=200,
    failed=200,
    edited=400,
    written=400,
    answer=_MOST_SIZE,
    all=True,
    blocks=10_000,
    size=_MOST_SIZE,
)


def change_of(tool: str, args: Any, limits: Limits) -> list[Part]:
    """Return the change that a call is about to make: the diff of its edits, or the head of its new file."""
    if not isinstance(args, dict):
        return []
    if tool == "write" and isinstance(content := args.get("content"), str):
        written = [(ADDED, line) for line in _lines(content)]
        return _head(written, limits.written, content.removesuffix("\n").count("\n") + 1 - limits.written)
    parts: list[Part] = []
    for before, after in _pairs(args) if tool == "edit" else ():
        if parts:
            parts.append((GAP, BETWEEN))
        parts += _near_changes(list(diff(before, after)))
    return _head(parts, limits.edited, len(parts) - limits.edited)


def about(tool: str, args: Any) -> str:
    """Return the part of a call that its phrase lacks: the size of a change, or all arguments."""
    if not isinstance(args, dict) or not args:
        return ""
    if tool == "edit":
        parts = [part for edit in _pairs(args) for part in diff(*edit)]
        added, removed = (sum(what == wanted for what, _ in parts) for wanted in (ADDED, REMOVED))
        return f"+{added} -{removed}"
    if tool == "write" and isinstance(content := args.get("content"), str):
        return _amount(content.removesuffix("\n").count("\n") + bool(content))
    if narration.phrase_of_call(tool, args)[1] is not None:
        return ""
    return safe.line(jsonline.encode(args)[:_LONGEST].decode("utf-8", "replace"))


def summary(tool: str, fields: Mapping[str, Any]) -> str:
    """Return how much a call has read or listed; an empty text for other calls."""
    counted, text = fields.get("summary"), fields.get("text")
    if isinstance(counted, str):
        return safe.line(counted)
    if tool != "read" or not isinstance(text, str):
        return ""
    return _amount(_count(_output_lines(fields)))


def output_end(fields: Mapping[str, Any], limits: Limits) -> tuple[list[Part], int | None]:
    """Return the end of a call's output, and its exit code if it failed with one.

    The end is the last lines that are not blank. A row above them counts the lines that are not shown.
    """
    failed = fields.get("isError") is True
    most = limits.failed if failed else limits.output
    lines, code = _output_lines(fields), None
    if failed and lines:
        _, exited, digits = str(lines[-1]).strip().rpartition(_EXITED)
        if exited and digits.isdecimal() and len(digits) <= _CODE:
            code = int(digits)
            del lines[-1]
    while lines and not str(lines[-1]).strip():
        del lines[-1]
    if len(lines) <= most:
        parts = [(OUTPUT, line) if isinstance(line, str) else (GAP, f"… {_amount(line)}") for line in lines]
        return parts, code
    above = _count(lines)
    kept: list[Part] = []
    for line in reversed(lines):
        if not isinstance(line, str) or len(kept) == most:
            break
        above -= 1
        if line.strip():
            kept.append((OUTPUT, line))
    return [*([(GAP, f"… {_amount(above)} above")] if above else []), *reversed(kept)], code


def _output_lines(fields: Mapping[str, Any]) -> list[str | int]:
    """Return the lines of a result; a number stands for as many lines that its event leaves out."""
    text, tail, left_out = (fields.get(key) for key in ("text", "tail", "leftOut"))
    if not isinstance(text, str):
        return []
    if not isinstance(tail, str):
        return [*_lines(text)]
    head = text[: events.RESULT_TEXT_LIMIT]
    if type(left_out) is not int or not 0 < left_out < _MOST_LINES:
        return [*_lines(head + tail)]
    return [*_lines(head.rpartition("\n")[0]), left_out, *_lines(tail)]


def _count(lines: Iterable[str | int]) -> int:
    return sum(1 if isinstance(line, str) else line for line in lines)


def _amount(lines: int) -> str:
    return f"{lines:,} {'line' if lines == 1 else 'lines'}"


def _head(parts: list[Part], most: int, more: int) -> list[Part]:
    """Return the first lines, above the number of the others. If only one other is left, it is shown."""
    return (
        parts
        if len(parts) <= most + 1
        else [*parts[:most], (GAP, f"… {_amount(more).replace(' ', ' more ')}")]
    )


def _pairs(args: Mapping[str, Any]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the lines before and after each edit of a call."""
    edits = args.get("edits")
    for edit in edits[:_MOST_EDITS] if isinstance(edits, list) else [args]:
        if isinstance(edit, dict):
            yield _lines(_first(edit, _OLD)), _lines(_first(edit, _NEW))


def _first(edit: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((value for key in keys if isinstance(value := edit.get(key), str)), "")


def _near_changes(parts: Sequence[Part]) -> Iterator[Part]:
    """Leave out the unchanged lines that are far from a change."""
    changed = (number for number, (what, _) in enumerate(parts) if what != SAME)
    near = {number + beside for number in changed for beside in range(-_AROUND, _AROUND + 1)}
    shown = [number for number in range(len(parts)) if number in near]
    for before, number in zip([*shown[:1], *shown], shown, strict=False):
        if number > before + 1:
            yield GAP, BETWEEN
        yield parts[number]


def diff(before: Sequence[str], after: Sequence[str]) -> Iterator[Part]:
    """Yield the lines of two texts: those that were removed, added, or stayed."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    yield from ((SAME, line) for line in before[:start])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if len(old) * len(new) > _CELLS:
        yield from ((REMOVED, line) for line in old)
        yield from ((ADDED, line) for line in new)
    else:
        yield from _compared(old, new)
    yield from ((SAME, line) for line in before[len(before) - end :])


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[Part]:
    """Compare line by line: the longest common lines stay."""
    common = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for row in range(len(old) - 1, -1, -1):
        for column in range(len(new) - 1, -1, -1):
            same = old[row] == new[column]
            below, beside = common[row + 1][column], common[row][column + 1]
            common[row][column] = common[row + 1][column + 1] + 1 if same else max(below, beside)
    row = column = 0
    while row < len(old) or column < len(new):
        if row < len(old) and column < len(new) and old[row] == new[column]:
            yield SAME, old[row]
            row, column = row + 1, column + 1
        elif column == len(new) or (row < len(old) and common[row + 1][column] >= common[row][column + 1]):
            yield REMOVED, old[row]
            row += 1
        else:
            yield ADDED, new[column]
            column += 1


def _lines(text: str) -> list[str]:
    """Return the lines of a text, without control sequences and of bounded length."""
    clean = safe.text(text[:_READ_FROM]).removesuffix("\n").expandtabs(_TAB)
    return [line[:_LONGEST].rstrip() for line in clean.split("\n")] if clean else []
