#!/usr/bin/env python3
"""Write `docs/modules.md`: a paragraph for each subject, then its modules by the first sentence of each.

The paragraph is the docstring of the folder's `__init__.py`. `--check` only tells whether the file is as it
would be written.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tmuxagents"
TARGET = ROOT / "docs" / "modules.md"
HEAD = """# Modules

Where to find what: a section for each subject, the lowest first, and the first sentence of each module.
A module is pure (text and records in, text and records out), touches one thing outside, or joins others.
The shape that they make is in [architecture.md](architecture.md). Written by `scripts/modules_doc.py`.
"""
ORDER = (
    *("", "text", "system", "settings", "runs", "tmux", "registry", "agents", "agents/pi", "integrate"),
    *(
        "render",
        "slurm",
        "presets",
        "status",
        "launch",
        "attach",
        "views",
        "machines",
        "layouts",
        "tools",
        "wrapper",
        "upkeep",
        "watcher",
    ),
    *("mcp", "cli", "cli/verbs"),
)
KIND = re.compile(r"\s*\b(Pure|Joins|Touches: [^.\n]+)\.$")


def text() -> str:
    """Return the whole document."""
    folders: dict[str, list[Path]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        folders.setdefault(str(path.parent.relative_to(PACKAGE)).removeprefix("."), []).append(path)
    order = [*(name for name in ORDER if name in folders), *sorted(set(folders) - set(ORDER))]
    return "\n".join([HEAD, *(_part(folder, folders[folder]) for folder in order)])


def _part(folder: str, paths: list[Path]) -> str:
    title = f"## {folder or 'tmuxagents'}/"
    rows = [_row(path) for path in paths if path.name != "__init__.py"]
    about, kind = _said(next(path for path in paths if path.name == "__init__.py"))
    own = f" (`__init__.py` itself: {kind}.)" if kind else ""
    return "\n".join([title, "", f"{about}{own}", "", "| module | | |", "|---|---|---|", *rows, ""])


def _row(path: Path) -> str:
    first, kind = _said(path)
    return f"| `{path.name}` | {first} | {kind} |"


def _said(path: Path) -> tuple[str, str]:
    """Return the first line of a module's docstring, and its kind."""
    paragraphs = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n\n")
    kinds = [KIND.search(paragraph) for paragraph in (paragraphs[0], paragraphs[-1])]
    kind = next((match[1] for match in kinds if match), "")
    return KIND.sub("", paragraphs[0]).replace("\n", " "), kind[:1].lower() + kind[1:].replace(":", "")


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
