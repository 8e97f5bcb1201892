"""Every file that a run leaves is checked against its schema, which must name each of its keys."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from tests.schema_examples import CLOSED
from tmuxagents.runs import directory
from tmuxagents.runs.inspect import inspect

if TYPE_CHECKING:
    from pathlib import Path

_MOST_EVENTS = 300  # of a flood, the first are like the rest


def faults(run_dir: Path) -> list[str]:
    """Return what is not as its schema says."""
    lines, _ = directory.read_lines(f"{run_dir}/{directory.EVENTS}", 0)
    documents: list[tuple[str, Any]] = [("event", json.loads(line)) for line in lines[:_MOST_EVENTS]]
    for name in ("meta", "wrapper", "result"):
        path = run_dir / f"{name}.json"
        if path.exists():
            documents.append((name, json.loads(path.read_text())))
    documents.append(("run", inspect(str(run_dir)).document(time.time())))
    return [
        f"{name}: {fault.json_path}: {fault.message}"
        for name, document in documents
        for fault in CLOSED[name].iter_errors(document)
    ]
