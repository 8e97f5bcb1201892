"""The conformance vectors: cases that every implementation of the pure parts has to pass."""

import json
from pathlib import Path
from typing import Any

import pytest

_FILE = Path(__file__).parents[1] / "data" / "vectors.json"
_GROUPS: dict[str, list[dict[str, Any]]] = json.loads(_FILE.read_text("utf-8"))["groups"]


def group(name: str) -> list[Any]:
    """Return the cases of one group, as (in, out), for parametrize; where it is refused, out is the error."""
    return [
        pytest.param(case["in"], case["out"] if "out" in case else case["error"], id=case["id"])
        for case in _GROUPS[name]
    ]
