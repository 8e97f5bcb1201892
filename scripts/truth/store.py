"""What came of each cell the last time, in one file: so one brand or ending can be tried again alone."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scripts.truth.cell import Cell
from scripts.truth.endings import ENDINGS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Json = dict[str, Any]


def kept(path: Path) -> list[Cell]:
    """Return the kept cells: brand by brand, and the endings in their order."""
    said: Json = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return [
        Cell(**{**said[brand][one.name], "ending": one})
        for brand in said
        for one in ENDINGS
        if one.name in said[brand]
    ]


def keep(path: Path, cells: Sequence[Cell]) -> None:
    """Keep cells, each in the place of the one before."""
    said: Json = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for cell in cells:
        said.setdefault(cell.brand, {})[cell.ending.name] = {**asdict(cell), "ending": cell.ending.name}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
