"""The table: what was measured, beside its floor and its goal."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Figure:
    """One line: what, its floor and ours as words, the figure that has a goal, and the goal."""

    row: int
    what: str
    floor: str
    ours: str
    figure: float
    goal: float | None = None  # none: told for its own sake
    unit: str = "x"

    @property
    def met(self) -> bool | None:
        """Say whether the goal is reached; None where there is none."""
        return None if self.goal is None else self.figure <= self.goal

    def cells(self) -> tuple[str, ...]:
        """Return the line's cells."""
        goal = "" if self.goal is None else f"≤ {number(self.goal)} {self.unit}"
        verdict = {True: "yes", False: "**no**", None: ""}[self.met]
        return (
            str(self.row),
            self.what,
            self.floor,
            self.ours,
            f"{number(self.figure)} {self.unit}",
            goal,
            verdict,
        )

    def document(self) -> dict[str, Any]:
        """Return the JSON object of this line."""
        return {**asdict(self), "met": self.met}


def ratio(  # noqa: PLR0913  (the cells of a line)
    row: int, what: str, floor: float, ours: float, *, goal: float | None, of: str = ""
) -> Figure:
    """Return the line of two times in milliseconds that are compared."""
    words = f"{of} {number(floor)} ms".strip()
    return Figure(row, what, words, f"{number(ours)} ms", ours / floor, goal)


def number(value: float) -> str:
    """Return a figure with as many digits as mean anything."""
    if value and abs(value) < 0.1:  # noqa: PLR2004
        return f"{value:.3f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 100 else f"{value:,.0f}"  # noqa: PLR2004


HEAD = ("#", "figure", "floor", "ours", "ratio", "goal", "met")


def markdown(figures: Sequence[Figure]) -> list[str]:
    """Return the lines of the table."""
    rows = [HEAD, *(figure.cells() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]


def machine() -> str:
    """Return one line on what this was measured on."""
    tmux = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout.strip()
    system = f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}"
    return f"{os.cpu_count()} cores, {system}, CPython {platform.python_version()}, {tmux}"
