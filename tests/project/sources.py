"""The modules of the package as syntax trees, each read once for all tests that judge the source."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tmuxagents"
FILES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


@functools.cache
def tree(file: str) -> ast.Module:
    """Return the syntax tree of a module, which FILES names."""
    return ast.parse((PACKAGE / file).read_text("utf-8"))


@functools.cache
def nodes(file: str) -> tuple[ast.AST, ...]:
    """Return every node of that tree."""
    return tuple(ast.walk(tree(file)))
