"""Imports only point down, each library has one owner, and what is pure touches nothing."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
JOINS = {"commands", "wrapper", "watcher", "tree", "configured"}
DOORS = {"cli", "serve", "__main__", "_wrap", "_watch"}
GROUND = {"records", "jsonline", "errors"}
HALVES = {"agents", "edges", "core", *GROUND}
# part -> the parts it may import: those below it, and its own kind
MAY_IMPORT: dict[str, set[str]] = {
    "version": set(),
    "errors": set(),
    "records": {"errors"},
    "jsonline": set(),  # it knows nothing else
    "core": {"core", *GROUND},
    "edges": {"edges", *GROUND},
    "agents": {"agents", "core", *GROUND},
    **dict.fromkeys(JOINS, JOINS | HALVES),
    **dict.fromkeys(DOORS, {"cli", "serve", "version"} | JOINS | HALVES),
}
OWNERS = {
    "click": ("cli/",),
    "libtmux": ("edges/tmux/",),
    "watchdog": ("edges/tail.py",),
    "_sqlite3": ("edges/registry",),
    "sqlite3": (),  # the same with dates: slower to import than to ask
    "yaml": ("core/",),
}
# What core and agents may know of the world: nothing that asks it anything.
PURE = {
    "__future__",
    "binascii",
    "collections",
    "difflib",
    "hashlib",
    "json",
    "math",
    "re",
    "typing",
    "unicodedata",
    "yaml",
}

DOORS_OF_PYTHON = {"open", "print", "input", "exec", "eval", "compile", "breakpoint", "__import__"}

FILES = sorted(str(path.relative_to(ROOT / "tmuxagents")) for path in (ROOT / "tmuxagents").rglob("*.py"))


def part_of(names: list[str]) -> str:
    """Return the part that a module below the package belongs to; the package itself is its version."""
    return names[0].removesuffix(".py") if names and names != ["__init__.py"] else "version"


def imports(file: str) -> Iterator[tuple[str, list[str]]]:
    """Yield (library, path inside it) of each import in a file, those for type checkers too."""
    for node in ast.walk(ast.parse((ROOT / "tmuxagents" / file).read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno} imports by a relative name"
            library, *path = str(node.module).split(".")
            yield from ((library, [*path, alias.name]) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], alias.name.split(".")[1:]) for alias in node.names)


def inside(names: list[str]) -> str:
    """Return the part that an import from `tmuxagents` means."""
    return part_of([] if names == ["__version__"] else names)


@pytest.mark.parametrize("file", FILES)
def test_imports_point_down(file: str) -> None:
    own = {inside(path) for library, path in imports(file) if library == "tmuxagents"}
    assert own - MAY_IMPORT[part_of(file.split("/"))] == set()


@pytest.mark.parametrize("file", FILES)
def test_each_library_stays_with_its_owner(file: str) -> None:
    libraries = {library for library, _ in imports(file)}
    assert [name for name in libraries & set(OWNERS) if not file.startswith(OWNERS[name])] == []


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith(("core/", "agents/"))])
def test_what_is_pure_knows_nothing_of_the_world(file: str) -> None:
    assert {library for library, _ in imports(file)} - PURE - {"tmuxagents"} == set()
    tree = ast.parse((ROOT / "tmuxagents" / file).read_text("utf-8"))
    assert {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & DOORS_OF_PYTHON == set()


@pytest.mark.parametrize("file", ["__init__.py", "records.py", "errors.py"])
def test_the_foundation_imports_nothing_at_run_time(file: str) -> None:
    body = ast.parse((ROOT / "tmuxagents" / file).read_text("utf-8")).body
    taken = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in taken] in ([], ["from __future__ import annotations"])
