"""A list of rows to choose one from: arrows, a filter by typing, Enter, Esc. It knows no terminal. Pure."""

from __future__ import annotations

from tmuxagents.text.width import columns, fit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LEAVE = -1  # the person chooses nothing
_HELP = "up/down choose, letters filter, Enter attaches, Esc leaves"
_AROUND = 3  # lines that show no run: the question, the header, the help
_REVERSE, _DIM = "\x1b[7m", "\x1b[2m"


class RunChooser:
    """The rows, the words of the filter, and the chosen row."""

    def __init__(self, question: str) -> None:
        self._question = question
        self._header = ""
        self._rows: Sequence[str] = ()
        self._filter = ""
        self._at = 0  # among those that the filter leaves
        self._first = 0  # of them on the screen
        self._height = 1

    def take(self, header: str, rows: Sequence[str]) -> None:
        """Take the rows, or the same ones in another width."""
        self._header, self._rows = header, rows

    @property
    def _left(self) -> list[int]:
        words = self._filter.lower().split()
        return [number for number, row in enumerate(self._rows) if all(word in row.lower() for word in words)]

    def press(self, key: str) -> int | None:
        """Take a key; return the number of the chosen row, LEAVE, or None to go on."""
        left = self._left
        if key == "enter":
            return left[self._at] if left else None
        if key == "escape":
            return LEAVE
        steps = {"up": -1, "down": 1, "page-up": -self._height, "page-down": self._height}
        if key in steps:
            self._at += steps[key]
        elif key in ("home", "end"):
            self._at = 0 if key == "home" else len(left) - 1
        elif key == "backspace" or len(key) == 1:
            self._filter = self._filter[:-1] if key == "backspace" else self._filter + key
            self._at = 0
        self._at = max(0, min(self._at, len(self._left) - 1))
        return None

    def draw(self, width: int, height: int) -> list[str]:
        """Return the lines of the screen."""
        left = self._left
        self._height = max(1, height - _AROUND)
        self._first = max(self._at - self._height + 1, min(self._first, self._at))
        shown = left[self._first : self._first + self._height]
        lines = [fit(f"{self._question} {self._filter}_", width), _DIM + fit(self._header, width)]
        for place, number in enumerate(shown, self._first):
            row = fit(self._rows[number], width)
            chosen = _REVERSE + row + " " * (width - columns(row))
            lines.append(chosen if place == self._at else row)
        if not left:
            lines.append(fit("No run has these words.", width))
        lines += [""] * (height - 1 - len(lines))
        return [*lines[: height - 1], _DIM + fit(_HELP, width)][-height:]
