"""A shell command as people read it: its first line, without the change into where it is anyway, wrapped."""

from __future__ import annotations

from tmuxagents.core import paths, sanitize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_AND = " && "
_CONTINUED = " &&\n│ "
_HERE = "."
_MOST = 4000  # characters that are looked at: a program in one line must not fill the window


def shown(command: str, *, cwd: str, home: str, first: int, following: int) -> str:
    """Return the first line of a command for reading, in rows of these widths."""
    line = sanitize.text(command).split("\n", 1)[0].strip()[:_MOST]
    rest = collapse_cd(line, cwd)
    if rest in ("", _HERE):
        return f"cd {_HERE}"
    return wrap(paths.shorten_in_text(rest, cwd=cwd, home=home), first, following)


def collapse_cd(command: str, cwd: str) -> str:
    """Return a command without a `cd` to the working directory before it; `.` where that was all of it."""
    if not command.startswith("cd "):
        return command
    target = command[3:].lstrip()
    for name in (cwd, f"{cwd}/"):
        rest = target[len(name) :].lstrip() if target.startswith(name) else _HERE
        if not rest:
            return _HERE
        if rest.startswith("&&"):
            return rest[2:].lstrip()
    return command


def wrap(command: str, first: int, following: int | None = None) -> str:
    """Return a command in rows: as many of its `&&` parts a row as fit, a part that is too long cut."""
    if len(command) <= first:
        return command
    return _CONTINUED.join(_rows(command.split(_AND), first, first if following is None else following))


def _rows(steps: list[str], first: int, following: int) -> Iterator[str]:
    width, row = first, steps[0]
    for step in steps[1:]:
        if len(row) + len(_AND) + len(step) <= width:
            row += _AND + step
            continue
        yield sanitize.cut(row, width)
        width, row = following, step
    yield sanitize.cut(row, width)
