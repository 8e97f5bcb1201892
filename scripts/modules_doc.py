#!/usr/bin/env python3
"""Write `docs/modules.md`: every module of the package with the first line of what it says of itself.

`--check` only tells whether the file is as it would be written.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "modules.md"
HEAD = """# Modules

Every module, by what it says of itself. Written by `scripts/modules_doc.py`; the shape that they make is in
[architecture.md](architecture.md).
"""
FOLDERS = {
    "": "the ways in, the vocabulary, and what two layers join",
    "core": "pure rules: text and records in, text and records out",
    "agents": "pure: one brand of child a file",
    "edges": "thin: each talks to one thing outside",
    "edges/tmux": "the only way to tmux",
    "commands": "one plain function a verb: the order of its steps",
    "wrapper": "the process in the window, around the child",
    "watcher": "the process beside all runs",
    "serve": "ways in for parents",
    "cli": "every click declaration",
}


def text() -> str:
    """Return the whole document."""
    package = ROOT / "tmuxagents"
    folders: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        folder = str(path.parent.relative_to(package)).removeprefix(".")
        said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        folders.setdefault(folder, []).append(f"| `{path.name}` | {said.splitlines()[0] if said else ''} |")
    order = [*FOLDERS, *sorted(set(folders) - set(FOLDERS))]
    parts = [_part(folder, folders[folder]) for folder in order if folder in folders]
    return "\n".join([HEAD, *parts])


def _part(folder: str, rows: list[str]) -> str:
    title = f"## tmuxagents/{folder}{'/' if folder else ''}"
    return "\n".join([title, "", f"{FOLDERS.get(folder, '')}", "", "| module | |", "|---|---|", *rows, ""])


def main() -> int:
    """Write the document, or say that it is not as it would be written."""
    wanted = text()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(wanted, "utf-8")
    elif not TARGET.exists() or TARGET.read_text("utf-8") != wanted:
        print("docs/modules.md is not up to date: run scripts/modules_doc.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
