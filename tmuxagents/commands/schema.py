"""The JSON Schemas that ship with the package."""

from __future__ import annotations

import difflib
from importlib import resources

from tmuxagents.errors import BadRequest


def names() -> list[str]:
    """Return the documents that have a schema."""
    folder = resources.files("tmuxagents") / "schemas"
    return sorted(
        entry.name.removesuffix(".json") for entry in folder.iterdir() if entry.name.endswith(".json")
    )


def text(name: str) -> str:
    """Return one schema."""
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3)
        message = f'There is no schema "{name[:40]}". Schemas: {", ".join(known)}'
        hint = f"did you mean {near[0]}?" if near else None
        raise BadRequest(message, kind="bad-argument", hint=hint, field="name", candidates=near)
    return (resources.files("tmuxagents") / "schemas" / f"{name}.json").read_text("utf-8")
