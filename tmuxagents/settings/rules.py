"""The rules of settings, one per kind of value. Each turns a given value into the value in force.

Pure.
"""

from __future__ import annotations

from tmuxagents.text import figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_DURATION = "a duration like 90s or 5m"
_LONGEST = 4096
MOST = 10**9  # the largest figure: 30 years in seconds


def seconds(value: Any) -> Any:
    """Return a duration such as 5m in seconds; return anything else, even a number, unchanged."""
    found = figures.parse_duration(value) if isinstance(value, str) and value[-1:].isalpha() else None
    return value if found is None else int(found) if found.is_integer() else found


def time_limit_fault(value: Any) -> str | None:
    """Return the fault of a time limit in a launch, a file or a tool; None if it has none."""
    value = seconds(value)
    if type(value) not in (int, float) or not value >= 1:  # NaN is no number, either
        return f"must be {_DURATION}, at least 1s"
    return f"must be at most {MOST} seconds" if value > MOST else None


def json_or_text(text: str) -> Any:
    """Return the value of a text that is JSON, else the text."""
    import json  # noqa: PLC0415  (few set such a value, and every wrapper would pay for it)

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


class Rule:
    """The values that a key may have."""

    warns = True  # whether a bad value in a file is worth a warning

    def __init__(self, default: Any) -> None:
        self.default = default

    def literal(self, text: str) -> Any:
        """Return the value in the text of an environment variable."""
        return text

    def read(self, value: Any) -> tuple[Any, str | None]:
        """Return the value in force, and a complaint about the given one, if any."""
        return value, None

    def bad(self, wanted: str) -> tuple[Any, str]:
        """Return the default, and a complaint with the wanted values."""
        import json  # noqa: PLC0415  (most settings are right)

        default = "" if self.default is None else f"; {json.dumps(self.default)} is used"
        return self.default, f"must be {wanted}{default}"


class Number(Rule):
    """A figure with a range. A figure out of range is clamped; anything else gives the default."""

    wanted = "a number"

    def __init__(
        self, default: float, least: float, most: float | None = None, *, warns: bool = True
    ) -> None:
        super().__init__(default)
        self.least = least
        self.most = most
        self.warns = warns

    def literal(self, text: str) -> Any:
        """Return a number, or the text that is not one."""
        return json_or_text(text)

    def clamped(self, value: float) -> float:
        """Return the nearest figure in the range."""
        return min(max(value, self.least), MOST if self.most is None else self.most)

    def read(self, value: Any) -> tuple[float, str | None]:
        """Return the figure to use."""
        span = f"at least {self.least:g}" if self.most is None else f"from {self.least:g} to {self.most:g}"
        if type(value) not in (int, float) or value - value != 0:
            return self.bad(f"{self.wanted}, {span}")
        used = self.clamped(value)
        if self.most is None and used < value:
            span = f"at most {MOST}"
        return used, None if used == value else f"must be {span}; {used:.10g} is used"


class Duration(Number):
    """A duration such as 5m, or a figure. The value in force is in seconds."""

    wanted = _DURATION

    def read(self, value: Any) -> tuple[float, str | None]:
        """Return the seconds to use."""
        return super().read(seconds(value))


class Choice(Rule):
    """One of a few words. The default is the first one; with `optional`, it is None."""

    def __init__(self, *words: str, optional: bool = False) -> None:
        super().__init__(None if optional else words[0])
        self.words = words

    def read(self, value: Any) -> tuple[Any, str | None]:
        """Return the word."""
        if isinstance(value, str) and value in self.words:
            return value, None
        return self.bad(f"one of {', '.join(self.words)}")


class Variables(Rule):
    """Variables for a child's environment. Their values are never shown."""

    hidden = "(set)"

    def literal(self, text: str) -> Any:
        """Return the value of the JSON that a person typed."""
        return json_or_text(text)

    def read(self, value: Any) -> tuple[Any, str | None]:
        """Return the variables by name."""
        if isinstance(value, dict) and all(map(self._fits, value.items())):
            return value, None
        return self.bad('an object of names and texts, as {"NAME": "text"}')

    @staticmethod
    def _fits(one: tuple[Any, Any]) -> bool:
        name, text = one
        return name.isidentifier() and name.isascii() and isinstance(text, str) and "\0" not in text


class Flag(Rule):
    """True or false, and nothing that only resembles them."""

    def literal(self, text: str) -> Any:
        """Return the meaning of a word such as 1 or false."""
        return {"1": True, "true": True, "0": False, "false": False}.get(text.lower(), text)

    def read(self, value: Any) -> tuple[Any, str | None]:
        """Return the flag."""
        return (value, None) if isinstance(value, bool) else self.bad("true or false")


class Text(Rule):
    """A line of text that `fits`."""

    def __init__(
        self, wanted: str = "a line of text", fits: Callable[[str], bool] = bool, default: str | None = None
    ) -> None:
        super().__init__(default)
        self._wanted = wanted
        self._fits = fits

    def read(self, value: Any) -> tuple[Any, str | None]:
        """Return the line without blanks around it."""
        line = value.strip() if isinstance(value, str) else ""
        is_good = len(line) <= _LONGEST and line.isprintable() and self._fits(line)
        return (line, None) if is_good else self.bad(self._wanted)


def is_socket(line: str) -> bool:
    """Say whether a line can be the name of a tmux server, as for `tmux -L`, or a path, as for `tmux -S`."""
    return line not in ("", ".", "..") and ("/" not in line or line.startswith("/"))


class Argv(Rule):
    """A program and its arguments."""

    def literal(self, text: str) -> Any:
        """Return a program without arguments: a variable is not split into words."""
        return [text]

    def read(self, value: Any) -> tuple[Any, str | None]:
        """Return the words."""
        if isinstance(value, list) and value and all(map(self._fits, value)) and value[0]:
            return value, None
        return self.bad('a list of words, as ["program", "argument"]')

    @staticmethod
    def _fits(word: Any) -> bool:
        return isinstance(word, str) and "\0" not in word


class Names(Rule):
    """A list of names."""

    def literal(self, text: str) -> Any:
        """Return the names that a person typed with commas between them."""
        return [name.strip() for name in text.split(",") if name.strip()]

    def read(self, value: Any) -> tuple[Any, str | None]:
        """Return the names, each once."""
        if isinstance(value, list) and all(isinstance(name, str) and name.isidentifier() for name in value):
            return list(dict.fromkeys(value)), None
        return self.bad('a list of names, as ["claude", "opencode"]')


class Age(Rule):
    """How old a run may become, such as `30d`, or `all`. A bad value counts as `all`, so nothing is lost."""

    def read(self, value: Any) -> tuple[Any, str | None]:
        """Return the age as written."""
        if isinstance(value, str) and (value == "all" or self.seconds(value) is not None):
            return value, None
        return "all", 'must be an age like "30d" or "12h", or "all"; nothing is removed meanwhile'

    @staticmethod
    def seconds(value: str) -> float | None:
        """Return an age in seconds; None for `all`."""
        found = seconds(value)
        return None if isinstance(found, str) else float(found)


class Windows(Duration):
    """How long windows of ended runs stay: a word, or a duration for those that completed."""

    words = ("all", "failed", "none")

    def __init__(self, default: float) -> None:
        super().__init__(default, 0)

    def read(self, value: Any) -> tuple[Any, str | None]:
        """Return the word, or the seconds."""
        if isinstance(value, str) and value in self.words:
            return value, None
        used, complaint = super().read(value)
        return used, complaint and f"must be {', '.join(self.words)} or {self.wanted}; {used:g} is used"

    @staticmethod
    def meaning(value: float | str) -> tuple[float | None, bool]:
        """Return how long a completed run's window stays (None: for ever), and if a failed one closes."""
        if isinstance(value, str):
            return {"all": None, "failed": 0.0, "none": 0.0}[value], value == "none"
        return value, False
