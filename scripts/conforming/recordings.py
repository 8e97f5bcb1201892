"""Recordings of real agents in a folder: what each wrote and was told, how it ended, and the true verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH, DUPLEX, ACP, LIVE = "batch", "duplex", "acp", "live"
_META = ".meta.json"


class NoRecordings(Exception):
    """A folder without recordings, and why."""


class Recording:
    """One process of an agent: `NAME.jsonl`, `NAME.meta.json` and what lies beside them."""

    def __init__(self, meta: Path) -> None:
        self.name = meta.name.removesuffix(_META)
        self._beside = meta.parent
        self.meta: dict[str, Any] = json.loads(meta.read_bytes())
        self.brand = str(self.meta.get("brand") or meta.parent.name)
        self.seat = str(self.meta.get("seat") or BATCH)
        self.verdict: dict[str, Any] = self.meta["verdict"]

    def __repr__(self) -> str:
        return f"{self.brand}/{self.name}"

    def file(self, ending: str) -> Path:
        """Return the path of one of its files, which may not be there."""
        return self._beside / f"{self.name}{ending}"

    @property
    def stdout(self) -> bytes:
        """What it wrote, byte for byte."""
        path = self.file(".jsonl")
        return path.read_bytes() if path.exists() else b""

    @property
    def stderr(self) -> list[str]:
        """Return the lines of its stderr."""
        path = self.file(".stderr")
        return path.read_text("utf-8", "replace").split("\n") if path.exists() else []

    @property
    def said(self) -> list[tuple[float, dict[str, Any]]]:
        """What the recorded client wrote to it, each with its moment."""
        path = self.file(".in.jsonl")
        lines = path.read_bytes().splitlines() if path.exists() else []
        told = [json.loads(line) for line in lines]
        return [(one["t"], one["msg"]) for one in told if isinstance(one.get("msg"), dict)]

    def moment(self, number: int) -> float:
        """Return when a line of its stdout came."""
        moments = self.meta.get("line_s") or [0.0]
        return float(moments[min(number, len(moments) - 1)])

    @property
    def before(self) -> dict[str, Any] | None:
        """What its session had used before this run, in our words; None for a new session."""
        first = self.meta.get("first")
        served = first.get("served") if isinstance(first, dict) else None
        if not isinstance(served, dict):
            return None
        used = figures(served)
        return {**used, "cacheWrite": 0, "totalTokens": sum(used.values()), "cost": _cost(first) or 0}

    @property
    def session(self) -> str | None:
        """The session that it continued; None for a new one."""
        first = self.meta.get("first")
        return str(self.verdict.get("session")) if isinstance(first, dict) else None


def figures(served: dict[str, Any]) -> dict[str, int]:
    """Return what the model charged, in our words."""
    return {"input": served["uncached"], "cacheRead": served["cached"], "output": served["output"]}


def _cost(first: Any) -> float | None:
    raw = (first.get("usageTold") or {}).get("raw")
    return raw.get("total_cost_usd") if isinstance(raw, dict) else None


def find(folders: list[str]) -> list[Recording]:
    """Return the recordings in folders and the folders below them, or raise NoRecordings."""
    found = [one for folder in folders for one in _in(Path(folder))]
    if not found:
        raise NoRecordings(
            f"{' '.join(folders)}: no recording here: NAME.jsonl with a NAME.meta.json that has a verdict"
        )
    return found


def _in(folder: Path) -> Iterator[Recording]:
    if not folder.is_dir():
        raise NoRecordings(f"{folder} is no folder")
    for path in sorted(folder.rglob(f"*{_META}")):
        try:
            meta = json.loads(path.read_bytes())
        except ValueError as error:
            raise NoRecordings(f"{path} is not JSON: {error}") from error
        if isinstance(meta, dict) and isinstance(meta.get("verdict"), dict):
            yield Recording(path)
