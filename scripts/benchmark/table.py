"""The table: what was measured, beside its floor and its goal."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
    points: tuple[tuple[int, float], ...] = ()  # of a curve: how many, and what it costs then

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

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Figure:
        """Return the line of a JSON object."""
        known = {field.name: document[field.name] for field in fields(cls)}
        return cls(**known | {"points": tuple((count, value) for count, value in known["points"])})

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
    if value and abs(value) < 0.1:  # noqa: PLR2004  (digits that people read)
        return f"{value:.3f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 100 else f"{value:,.0f}"  # noqa: PLR2004  (digits that people read)


HEAD = ("#", "figure", "floor", "ours", "ratio", "goal", "met")


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return a table, its first row the head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])
