"""Whose turn it is: tickets in the order of their numbers, the oldest first."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_DIGITS = 20
# Of many that come at one moment, those before us may be about to begin: nobody waits for a slot as yet.
RUSH_S = 0.1
_RUSH_PAUSE_S = 0.005
_SHOWN = 8  # digits of another run's id


def ticket_name(number_ns: int, run_id: str) -> str:
    """Return the name of a ticket; names sort as their owners came."""
    return f"{number_ns:0{_DIGITS}d}-{run_id}"


def before(mine: str, tickets: Iterable[str]) -> list[str]:
    """Return the tickets that come before mine, the oldest first."""
    return sorted(name for name in tickets if name < mine)


def pause_s(position: int, waited_s: float = RUSH_S) -> float:
    """Return how long to wait before looking again: who stands far behind looks seldom, but for a rush."""
    return min(1.0, 0.05 * (position + 1)) if waited_s >= RUSH_S else _RUSH_PAUSE_S


def waiting_words(position: int) -> str:
    """Say that a run waits for a slot."""
    return f"waiting for a slot, {position} before you" if position else "waiting for a slot"


def following_words(run_ids: Iterable[str]) -> str:
    """Say that a run waits for others."""
    return f"waits for {', '.join(run_id[:_SHOWN] for run_id in run_ids)}"
