"""What came of each cell the last time, in one file: so one brand or ending can be tried again alone."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scripts.truth.cell import Cell
from scripts.truth.endings import ENDINGS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Json = dict[str, Any]
TOGETHER = "together"


def _read(path: Path) -> Json:
    said: Json = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return said


def kept(path: Path, order: Sequence[str] = ()) -> list[Cell]:
    """Return the kept cells: brand by brand in an order, and the endings in theirs."""
    said = _read(path)
    brands = [brand for brand in said if brand != TOGETHER]
    return [
        Cell(**{**said[brand][one.name], "ending": one})
        for brand in sorted(brands, key=lambda name: order.index(name) if name in order else len(order))
        for one in ENDINGS
        if one.name in said[brand]
    ]


def together(path: Path) -> Json | None:
    """Return what came of the round of several brands at once; None if it was not tried."""
    return _read(path).get(TOGETHER)


def keep(path: Path, cells: Sequence[Cell], together: Json | None = None) -> None:
    """Keep cells, each in the place of the one before."""
    said = _read(path)
    for cell in cells:
        said.setdefault(cell.brand, {})[cell.ending.name] = {**asdict(cell), "ending": cell.ending.name}
    if together is not None:
        said[TOGETHER] = together
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(new, path)
