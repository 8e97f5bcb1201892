"""A shell command as people read it: its first line, without the change into where it is anyway, wrapped."""

from __future__ import annotations

from tmuxagents.core import paths, sanitize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_AND = " && "
_CONTINUED = " &&\n│ "
_MARK = len("│ ")  # of a continued row: it counts where parts are joined to one
_HERE = "."
_MOST = 4000  # characters that are looked at: a program in one line must not fill the window


def shown(command: str, *, cwd: str, home: str, first: int, following: int) -> str:
    """Return the first line of a command for reading, in rows of these widths."""
    line = sanitize.text(command).split("\n", 1)[0].strip()[:_MOST]
    rest = collapse_cd(collapse_cd(line, cwd), f"{cwd}/")
    if rest in ("", _HERE):
        return f"cd {_HERE}"
    return wrap(paths.shorten_in_text(rest, cwd=cwd, home=home), first, following)


def collapse_cd(command: str, cwd: str) -> str:
    """Return a command without a `cd` to the working directory before it; `.` where that was all of it."""
    words, target = command[:2], command[2:].lstrip()
    if words != "cd" or command[2:] == target or not target.startswith(cwd):
        return command
    behind = target[len(cwd) :]
    if not behind:
        return _HERE
    rest = behind.lstrip()
    return rest[2:].lstrip() if rest != behind and rest.startswith("&&") else command


def wrap(command: str, first: int, following: int | None = None) -> str:
    """Return a command in rows: as many of its `&&` parts a row as fit, a part that is too long cut.

    The first part has `first` columns; another one that begins a row, and a row of several, `following`.
    """
    if len(command) <= first:
        return command
    steps = [step for step in command.split(_AND) if step] or [""]
    return _CONTINUED.join(_rows(steps, first, first if following is None else following))


def _rows(steps: list[str], first: int, following: int) -> Iterator[str]:
    width, mark, row = first, 0, steps[0]
    for step in steps[1:]:
        if len(row) <= width and mark + len(row) + len(_AND) + len(step) <= following:
            row, width = row + _AND + step, following
            continue
        yield sanitize.cut(row, width)
        width, mark, row = following, _MARK, step
    yield sanitize.cut(row, width)
