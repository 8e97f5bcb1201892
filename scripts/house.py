"""scripts/house: the figures of the code base, counted from its files, and nothing listed by hand.

A module is a Python file of the package. A private function or method has one underscore before its name; it
is used once where its own module names it in one place. A module has one importer where one other
module imports it, at its head or in a function; imports for the type checker do not count.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tmuxagents"
Function = ast.FunctionDef | ast.AsyncFunctionDef
RUNS = ROOT / "tests" / "data" / "run-v1" / "runs"
WRAPPER = "wrapper.json"
SETTLED_S = 2.2  # so long after a change of a folder the registry relies on what it knows of it
ONE_LINE = 2  # lines that a package has at most which only says what it is


def main() -> None:
    """Print all figures."""
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in trees}
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, Function)]
    private, once = _private(trees.values())
    importers = _importers(trees)
    folders = Counter(path.parent for path in trees)
    largest, files = folders.most_common(1)[0]
    stubs = sum(path.name == "__init__.py" and count <= ONE_LINE for path, count in lines.items())
    classes = Counter(name for tree in trees.values() for name in _classes(tree))
    names = Counter(path.stem for path in trees if path.name != "__init__.py")
    for title, figure in {
        "modules (of them one-line packages)": f"{len(trees)} ({stubs})",
        "lines": f"{sum(lines.values()):,}",
        "files in the largest folder": f"{files} ({largest.relative_to(ROOT)})",
        "lines of a file: median, p90, max": _spread(lines.values()),
        "functions": f"{len(functions):,}",
        "lines of a function: median, p90, max": _spread(
            (node.end_lineno or 0) - node.lineno + 1 for node in functions
        ),
        "private functions used once (of all)": f"{once} of {private:,}",
        "modules with one importer": str(sum(len(who) == 1 for who in importers.values())),
        "class names in two modules or more": str(sum(count > 1 for count in classes.values())),
        "module names in two folders or more": str(sum(count > 1 for count in names.values())),
        "modules of ours that poll imports": str(_of_poll()),
        "modules of ours that a wrapper imports": str(_of_wrapper()),
    }.items():
        print(f"{title:40} {figure}")


def _spread(figures: Iterable[int]) -> str:
    ordered = sorted(figures)
    return f"{statistics.median(ordered):.0f} / {ordered[int(len(ordered) * 0.9)]} / {ordered[-1]}"


def _private(trees: Iterable[ast.Module]) -> tuple[int, int]:
    """Return how many private functions there are, and how many of them are used in one place."""
    found = once = 0
    for tree in trees:
        nodes = list(ast.walk(tree))
        used = Counter(node.id for node in nodes if isinstance(node, ast.Name))
        used += Counter(node.attr for node in nodes if isinstance(node, ast.Attribute))
        mine = [n.name for n in nodes if isinstance(n, Function) and re.match("_[^_]", n.name)]
        found += len(mine)
        once += sum(used[name] == 1 for name in mine)
    return found, once


def _classes(tree: ast.Module) -> set[str]:
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


# --- imports ---


def _importers(trees: dict[Path, ast.Module]) -> dict[str, set[str]]:
    """Return each module with the modules that import it."""
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in trees}
    names = {path: name.removesuffix(".__init__") for path, name in names.items()}
    importers: dict[str, set[str]] = {name: set() for name in names.values()}
    for path, tree in trees.items():
        for target in _imported(tree):
            module = target if target in importers else target.rpartition(".")[0]
            if module in importers and module != names[path]:
                importers[module].add(names[path])
    return importers


def _imported(tree: ast.AST) -> Iterator[str]:
    """Return what is imported: of `from a import b` that is `a.b`, which may be a module or a name in one."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        yield from _imported(node)


# --- what a start imports ---


def _of_wrapper() -> int:
    """Count what the wrapper's own way in imports before it does anything."""
    way_in = ast.parse((PACKAGE / "_wrap.py").read_text("utf-8")).body
    lines = [ast.unparse(node) for node in way_in if isinstance(node, ast.Import | ast.ImportFrom)]
    code = "\n".join(["import sys", f"sys.path.append({str(ROOT)!r})", *lines])
    return _imports(["-I", "-S", "-c", code], {})


def _of_poll() -> int:
    """Count what a poll imports that finds one run, and all about it in the registry."""
    with tempfile.TemporaryDirectory() as home:
        ended = next(
            path.parent for path in RUNS.glob("*/result.json") if not (path.parent / WRAPPER).exists()
        )
        shutil.copytree(ended, Path(home, "runs", ended.name))
        Path(home, "runs", ended.name, "announced").touch()  # else a watcher would be started
        place = {"TMUXAGENTS_HOME": home, "TMUX_TMPDIR": home}
        words = ["-m", "tmuxagents", "poll", "-A", "-a"]
        _imports(words, place)
        time.sleep(SETTLED_S)
        return min(_imports(words, place) for _ in range(3))


def _imports(words: list[str], place: dict[str, str]) -> int:
    argv = [sys.executable, "-X", "importtime", *words]
    done = subprocess.run(argv, env=os.environ | place, capture_output=True, text=True, check=True, cwd=ROOT)
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    return sum(name.partition(".")[0] == PACKAGE.name for name in names)


if __name__ == "__main__":
    main()
