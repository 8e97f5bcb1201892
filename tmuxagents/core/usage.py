"""What runs have used: summed up, and as the one line that stands below what they came to."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Usage = Mapping[str, float]

_KEYS = ("input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost")
_UNITS = ("", "k", "M", "G")
_STEP = 1000
_SEPARATOR = " · "
_LEAST, _CENTS_FROM = 0.00005, 0.99995  # of a cost: less is no figure, more needs no four digits


def total(usages: Sequence[Usage]) -> dict[str, float]:
    """Return the sum of what several runs have used."""
    found = {key: sum(usage[key] for usage in usages) for key in _KEYS}
    return found | {"cost": round(found["cost"], 10)}


def line(usages: Sequence[Usage]) -> str:
    """Return what runs have used together: `3 runs · ↑12k ↓3.4k · $0.0123`; nothing if it is nothing."""
    used = total(usages)
    arrows = (("↑", used["input"]), ("↓", used["output"]))
    tokens = " ".join(f"{arrow}{figure(count)}" for arrow, count in arrows if count)
    spent = [part for part in (tokens, _money(used["cost"])) if part]
    if not spent:
        return ""
    return _SEPARATOR.join([f"{len(usages)} {'run' if len(usages) == 1 else 'runs'}", *spent])


def figure(count: float) -> str:
    """Return a count in at most four characters: `999`, `3.4k`, `12k`, `1.2M`."""
    power = 0
    while power < len(_UNITS) - 1 and count / _STEP**power >= _STEP - 0.5:
        power += 1
    value = count / _STEP**power
    digits = 1 if power and value < 9.95 else 0  # noqa: PLR2004  (what rounds to 10 has none)
    return f"{value:.{digits}f}{_UNITS[power]}"


def _money(cost: float) -> str:
    if cost <= 0:
        return ""
    if cost < _LEAST:
        return "<$0.0001"
    return f"${cost:.4f}" if cost < _CENTS_FROM else f"${cost:.2f}"
