"""Counts, amounts of money, durations, and the results of `ls` and `find`, in few characters. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_UNITS = ("", "k", "M", "G")
_STEP = 1000
_LEAST, _CENTS_FROM = 0.00005, 0.99995  # costs: the least that has a figure, the least in whole cents
_MINUTE, _HOUR = 60, 3600
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_WRITTEN = {"y": 365 * 86400, "w": 7 * 86400, **_SECONDS}  # units that people may write, too
_MOST_DIGITS = 18
DURATIONS = "90s, 5m or 1h30m"


def count(number: float) -> str:
    """Return a count in at most four characters: `999`, `3.4k`, `12k`, `1.2M`."""
    power = 0
    while power < len(_UNITS) - 1 and number / _STEP**power >= _STEP - 0.5:
        power += 1
    value = number / _STEP**power
    digits = 1 if power and value < 9.95 else 0  # noqa: PLR2004  (what rounds to 10 has none)
    return f"{value:.{digits}f}{_UNITS[power]}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number of things: `1 tool`, `3 tools`. `plural`: given if it is not the noun and an s."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def tokens(used: Mapping[str, Any]) -> str:
    """Return the tokens of input and output: `↑12k ↓3.4k`; empty if there are none."""
    arrows = (("↑", used.get("input")), ("↓", used.get("output")))
    return " ".join(f"{arrow}{count(number)}" for arrow, number in arrows if number)


def money(cost: float) -> str:
    """Return an amount of dollars, with more digits if it is small; empty if there is none."""
    if cost <= 0:
        return ""
    if cost < _LEAST:
        return "<$0.0001"
    whole, _, part = f"{cost:.4f}".partition(".")
    exact = part.rstrip("0").ljust(2, "0")
    return f"${whole}.{exact}" if cost < _CENTS_FROM else f"${cost:.2f}"


def lasted(seconds: float) -> str:
    """Return a duration of any length: `0.4s`, `9.5s`, `42s`, `1m 05s`, `1h 02m`."""
    if seconds < 9.95:  # noqa: PLR2004  (what rounds to 10 has no digit)
        return f"{max(0.0, seconds):.1f}s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m {whole % _MINUTE:02}s"
    return f"{whole // _HOUR}h {whole % _HOUR // _MINUTE:02}m"


def clock(seconds: float) -> str:
    """Return a moment of a run, counted from its start: `0:04`, `12:30`, `1:02:09`."""
    whole = max(0, int(seconds))
    hours, minutes = whole // _HOUR, whole % _HOUR // _MINUTE
    return f"{hours}:{minutes:02}:{whole % _MINUTE:02}" if hours else f"{minutes}:{whole % _MINUTE:02}"


# --- durations that people write and compare -------------------------------------------------------------


def parse_duration(text: str) -> float | None:
    """Return a duration in seconds; a number without a unit means seconds. None if it is no duration."""
    if _is_figure(text):
        return float(text)
    seconds, figure, largest = 0.0, "", float("inf")
    for letter in text:
        size = _WRITTEN.get(letter)
        if size is None:
            figure += letter
            continue
        if size >= largest or not _is_figure(figure):
            return None
        seconds, figure, largest = seconds + float(figure) * size, "", size
    return seconds if text and not figure else None


def span(seconds: float) -> str:
    """Return a duration in at most seven columns: `7s`, `1m 05s`, `2h 03m`, `12d 04h`."""
    whole = max(0, int(seconds))
    for name, smaller in ("dh", "hm", "ms"):
        size = _SECONDS[name]
        if whole >= size:
            return f"{whole // size}{name} {whole % size // _SECONDS[smaller]:02}{smaller}"
    return f"{whole}s"


def exact(seconds: float) -> str:
    """Return a duration that was chosen, not measured: `90s` is `1m 30s`, `600s` is `10m`."""
    if seconds < _SECONDS["m"]:
        return f"{seconds:.10g}s"
    text = span(seconds)
    return text[:-4] if text[-4:-1] == " 00" else text


def age(seconds: float) -> str:
    """Return the largest unit of a duration: `7s`, `5m`, `3h`, `12d`."""
    whole = max(0, int(seconds))
    return next(f"{whole // size}{name}" for name, size in _SECONDS.items() if whole >= size or size == 1)


def _is_figure(text: str) -> bool:
    digits = text.replace(".", "", 1)
    return digits.isascii() and digits.isdecimal() and len(text) <= _MOST_DIGITS


# --- what tools list --------------------------------------------------------------------------------------

LISTING_TOOLS = ("ls", "find")
_NOTICE = "["  # a tool's remark in its listing begins so
_EMPTY, _NONE = "(empty directory)", "No files found matching pattern"
_MORE = ("resultLimitReached", "entryLimitReached")


def sum_up(tool: str, text: str, details: Any = None, *, cut: bool = False) -> str | None:
    """Return the summary of a listing, None for other tools. `cut`: the text is only its beginning."""
    if tool not in LISTING_TOOLS:
        return None
    whole = text.rpartition("\n")[0] if cut else text  # the last line may be torn
    found = [line for line in filled_lines(whole) if not line.startswith(_NOTICE)]
    if isinstance(details, dict):
        truncation = details.get("truncation")
        cut |= bool(truncation.get("truncated", True) if isinstance(truncation, dict) else truncation)
        cut |= any(details.get(key) for key in _MORE)
    more = "+" if cut else ""
    if tool == "find":
        matches = 0 if found == [_NONE] else len(found)
        return counted(matches, "match", "matches") + more
    if found in ([], [_EMPTY]):
        return f"(empty){more}"
    dirs = sum(line.rstrip().endswith("/") for line in found)
    counts = ((len(found) - dirs, "file"), (dirs, "dir"))
    return ", ".join(counted(number, word) for number, word in counts if number) + more


def filled_lines(text: str) -> list[str]:
    """Return the lines of a text that are not blank."""
    return [line for line in text.split("\n") if line.strip()]
