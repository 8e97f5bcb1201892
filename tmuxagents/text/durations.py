"""Durations as people read and write them: `90s`, `5m`, `1h30m`. Pure."""

from __future__ import annotations

_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_MOST_DIGITS = 18
EXAMPLES = "90s, 5m or 1h30m"


def parse(text: str) -> float | None:
    """Return a duration in seconds; a figure without a unit is seconds already. None if it is no duration."""
    if _is_figure(text):
        return float(text)
    seconds, figure, largest = 0.0, "", float("inf")
    for letter in text:
        size = _SECONDS.get(letter)
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
