"""The list of runs: a row for each, coloured and cut for a terminal. Pure.

On a narrow terminal whole columns are left out, the least important first. Without a terminal all columns are
shown, and only the last one (the activity or the answer) is cut.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.runs import words
from tmuxagents.runs.words import NONE
from tmuxagents.text import figures, safe
from tmuxagents.text.width import GAP, columns, fit, padded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from tmuxagents.runs.words import SnapshotRow

    Run = Mapping[str, Any]  # a run document, or as much of one as a row needs

WAITING, SETTLED = "waiting", "settled"
_DIM, _BOLD = "2", "1"
# state -> its sign, and its colour as a terminal knows it
STATES = {
    WAITING: ("?", "1;35"),
    SETTLED: ("○", "1;35"),
    records.RUNNING: ("●", "36"),
    records.QUEUED: ("…", _DIM),
    records.COMPLETED: (records.SIGNS[records.COMPLETED], "32"),
    records.FAILED: (records.SIGNS[records.FAILED], "31"),
    records.ABORTED: (records.SIGNS[records.ABORTED], _DIM),
}
_SIGN, _ID, _NAME, _PRESET, _STATUS = "", "ID", "NAME", "PRESET", "STATUS"
_TIME, _AGE, _MODEL, _COST, _ACTIVITY = "TIME", "AGE", "MODEL", "COST", "ACTIVITY"
_IN_COLOUR = (_SIGN, _STATUS)
_RIGHT = (_TIME, _AGE, _COST)
_OPTIONAL = (_PRESET, _MODEL, _COST)  # left out on a terminal if they are empty for all runs
_GIVE_WAY = (_PRESET, _MODEL, _COST, _AGE, _TIME, _STATUS)
_WIDE = 100  # a narrower terminal shows neither reasons nor limits
_LEAST_ACTIVITY, _LEAST_NAME = 16, 8
_LEAST_SAID = 40  # columns of the activity or answer, without a terminal
_NAME_SHARE = 4  # of a terminal's width


def lines(
    runs: Sequence[SnapshotRow], now: float, *, width: int | None = None, paints: bool = False
) -> list[str]:
    """Return the lines of the list; none if there is no run. `width`: of the terminal, if there is one."""
    if not runs:
        return []
    is_narrow = width is not None and width < _WIDE
    rows = [_cells(shown, now, is_narrow=is_narrow) for shown in runs]
    grid = {heading: [heading, *(row[heading] for row in rows)] for heading in rows[0]}
    if width is None:
        del grid[_SIGN]
    else:
        _narrow(grid, width)
    _align(grid, width)
    run_of_row = [None, *(shown.run for shown in runs)]  # the first row has the headings
    found = []
    for run, cells in zip(run_of_row, zip(*grid.values(), strict=True), strict=True):
        colours = _colours(grid, run) if paints else [""] * len(grid)
        *before, last = cells
        texts = [*(cell + GAP for cell in before), last.rstrip()]
        found.append(painted(zip(colours, texts, strict=True), width))
    return found


def state(run: Run) -> str:
    """Return the status of a run, or that it waits for a person."""
    if run["status"] in records.ENDED:
        return str(run["status"])
    return WAITING if run["needsInput"] else SETTLED if run["settled"] else str(run["status"])


def painted(parts: Iterable[tuple[str, str]], width: int | None = None) -> str:
    """Return a line of coloured parts, cut at the width of the terminal."""
    found = ""
    for colour, text in parts:
        kept = text if width is None else fit(text, width) if width > 0 else ""
        found += f"\x1b[{colour}m{kept}\x1b[0m" if colour and kept.strip() else kept
        if width is not None:
            width = width - columns(kept) if kept == text else 0
    return found.rstrip()


# --- cells ------------------------------------------------------------------------------------------------


def _cells(shown: SnapshotRow, now: float, *, is_narrow: bool) -> dict[str, str]:
    run = shown.run
    took = NONE if run["startedAt"] is None else figures.span(run["elapsedSeconds"])
    limit = run["timeout"] if run["status"] == records.RUNNING and took != NONE and not is_narrow else None
    limit = limit if type(limit) in (int, float) else None
    if run["status"] not in records.ENDED:
        activity = words.plain(words.doing(shown))
    elif run["status"] != records.COMPLETED:
        activity = words.cause(words.plain(run["errorMessage"]))
    else:  # the start of its answer
        first = next((line for line in (run["output"] or "").splitlines() if line.strip()), "")
        activity = safe.line(first).lstrip("#> ").replace("**", "").replace("`", "") or NONE
    return {
        _SIGN: STATES[state(run)][0],
        _ID: shown.short,
        _NAME: words.title(run["name"], run["task"]),
        _PRESET: words.cell(run["preset"]),
        _STATUS: state(run) if is_narrow else words.detailed(shown, state(run)),
        _TIME: f"{took} of {figures.exact(limit)}" if limit else took,
        _AGE: figures.age(now - run["createdAt"]) if run["createdAt"] else NONE,
        _MODEL: words.cell(run["model"]).rpartition("/")[2],
        _COST: figures.money(run["usage"]["cost"] or 0.0) or NONE,
        _ACTIVITY: activity,
    }


# --- laid out ---------------------------------------------------------------------------------------------


def _align(grid: dict[str, list[str]], width: int | None) -> None:
    """Make the cells of each column equally wide; the last column is cut at the space that is left."""
    *before, last = grid
    for heading in before:
        if heading in _RIGHT:
            wide = max(map(columns, grid[heading]))
            grid[heading] = [" " * (wide - columns(cell)) + cell for cell in grid[heading]]
        else:
            grid[heading] = padded(grid[heading])
    taken = sum(columns(grid[heading][0]) + len(GAP) for heading in before)
    room = max(_LEAST_SAID, words.WIDTH - taken) if width is None else max(1, width - taken)
    grid[last] = [fit(cell, room) for cell in grid[last]]


def _colours(headings: Iterable[str], run: Run | None) -> list[str]:
    """Return the colours of a run's cells; without a run, those of the headings."""
    if run is None:
        return [_DIM for _ in headings]
    has_ended = run["status"] in records.ENDED
    colours = dict.fromkeys(_IN_COLOUR, STATES[state(run)][1])
    if not has_ended:
        colours[_NAME] = _BOLD
    return [colours.get(heading, _DIM if has_ended else "") for heading in headings]


def _narrow(grid: dict[str, list[str]], width: int) -> None:
    """Leave out empty columns, cut names, then leave out more columns until the activity has room."""
    for heading in _OPTIONAL:
        if all(cell == NONE for cell in grid[heading][1:]):
            del grid[heading]
    room = max(_LEAST_NAME, width // _NAME_SHARE)
    for heading in (_NAME, _PRESET):
        if heading in grid:
            grid[heading] = [fit(cell, room) for cell in grid[heading]]
    for heading in _GIVE_WAY:
        wide = sum(max(map(columns, cells)) + len(GAP) for name, cells in grid.items() if name != _ACTIVITY)
        if wide + _LEAST_ACTIVITY > width:
            grid.pop(heading, None)
