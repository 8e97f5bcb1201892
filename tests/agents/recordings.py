"""The recordings of one brand for its tests: their names, and the differences from the true verdict."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.conforming import recordings, truth

if TYPE_CHECKING:
    from scripts.conforming.recordings import Recording

FOLDER = Path(__file__).parents[1] / "data" / "agents"


def of(brand: str, *seats: str) -> dict[str, Recording]:
    """Return the recordings of a brand by their names; of these seats, if any are named."""
    found = recordings.find([str(FOLDER / brand)])
    return {one.name: one for one in found if not seats or one.seat in seats}


def differences(recording: Recording) -> list[str]:
    """Return all differences: of the lines read whole, and read in pieces cut anywhere."""
    dice = random.Random(repr(recording))  # the same pieces each time

    def pieces(text: bytes) -> list[bytes]:
        ends = sorted(dice.randrange(len(text) + 1) for _ in range(min(len(text), 40)))
        return [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]

    return truth.differences(recording) + truth.differences(recording, pieces)
