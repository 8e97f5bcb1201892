"""What is remembered of installed agents: the text of agents.json, what of it makes sense, how long it holds.

As good as lost at any time: whatever is not exactly as it was written is forgotten, and asked anew.
"""

from __future__ import annotations

import json

from tmuxagents.core import models as rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_ROUNDED_S = 0.001
SILENCE_S = 60.0  # so long one that did not tell all is not asked again: it may have been a busy moment
MOST_ENTRIES = 16
_MODEL = {"id", "provider", *rules.FACTS}
# Names, never values: an agent offers the models that it has credentials for, and some come by variables.
_CREDENTIALS = frozenset({"KEY", "TOKEN", "PROFILE", "PROJECT", "CREDENTIALS", "REGION", "LOCATION"})


def parse(text: bytes | None) -> dict[str, dict[str, Any]]:
    """Return the entries of a memory; none where it makes no sense."""
    try:
        document = json.loads(text or b"")
    except (ValueError, RecursionError):
        return {}
    entries = document.get("agents") if isinstance(document, dict) and document.get("v") == 1 else None
    if not isinstance(entries, dict):
        return {}
    return {key: entry for key, entry in entries.items() if _makes_sense(entry)}


def written(entries: Mapping[str, dict[str, Any]], key: str, entry: dict[str, Any]) -> bytes:
    """Return a memory with one entry more, or another in its place; the oldest are forgotten."""
    others = sorted((other for other in entries if other != key), key=lambda other: _age(entries[other]))
    kept = {other: entries[other] for other in others[-(MOST_ENTRIES - 1) :]}
    return json.dumps({"v": 1, "agents": {**kept, key: entry}}).encode("ascii")


def holds(entry: Mapping[str, Any], stamp: Sequence[Any], now: float) -> bool:
    """Say whether what is remembered is still so. A silence is not remembered for long."""
    if entry["stamp"] != stamp:
        return False
    # The moment was rounded; one that is later than a moment from now was written under another clock.
    told = entry["models"] is not None and entry["version"] is not None
    return told or -_ROUNDED_S <= now - entry["askedAt"] < SILENCE_S


def generation(former: Mapping[str, Any] | None, models: Sequence[Mapping[str, Any]] | None) -> int:
    """Return the number of a list of models; while nothing is known it stays what it was."""
    number: int = former["generation"] if former else 0
    if models is None:
        return number
    before = former["models"] if former else None
    ids = None if before is None else [model["id"] for model in before]
    return rules.next_generation(number, ids, [model["id"] for model in models])


def credentials(environment: Mapping[str, str]) -> list[str]:
    """Return the names of variables that may be what an agent logs in with."""
    named = (name for name, value in environment.items() if value)
    return sorted(name for name in named if name.upper().rpartition("_")[2] in _CREDENTIALS)


def _age(entry: Mapping[str, Any]) -> float:
    asked_at: float = entry["askedAt"]
    return asked_at


def _makes_sense(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    models, warnings, version = entry.get("models"), entry.get("warnings"), entry.get("version")
    return (
        (version is None or isinstance(version, str))
        and (models is None or (isinstance(models, list) and all(map(_is_model, models))))
        and isinstance(warnings, list)
        and all(isinstance(warning, str) for warning in warnings)
        and type(entry.get("generation")) is int
        and type(entry.get("askedAt")) in (int, float)
        and isinstance(entry.get("stamp"), list)
    )


def _is_model(row: Any) -> bool:
    return isinstance(row, dict) and row.keys() >= _MODEL and isinstance(row["id"], str)
