"""The rules of the tree: who imports whom, what each module is, how large it may be.

docs/architecture.md says them in words.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.project.sources import FILES, PACKAGE, ROOT, nodes, tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# Each may import what stands before it, and itself; those of one line know nothing of each other.
LEVELS = (
    ("__init__", "cpython", "errors", "records", "text"),
    ("system",),
    ("runs", "settings", "tmux"),
    ("agents", "integrate", "machines", "registry", "render", "slurm"),
    ("presets", "status"),
    ("attach", "launch", "views"),
    ("layouts", "tools", "top", "upkeep", "wrapper"),
    ("companion", "mcp", "watcher"),
    ("cli",),
    ("__main__", "_watch", "_wrap"),
)
GROUND = {"records": {"errors"}, "text": {"cpython", "errors"}}  # of the first line, who may know whom
OWNERS = {
    "click": ("cli/",),
    "libtmux": ("tmux/",),
    "watchdog": ("watcher/waking.py",),
    "_ctypes": ("cpython.py",),
    "_functools": ("cpython.py",),
    "_json": ("cpython.py",),
    "_signal": ("cpython.py",),
    "_sqlite3": ("cpython.py", "registry/"),
    "rich": ("top/",),
    "sqlite3": (),  # the same with dates: slower to import than to ask
    "textual": ("top/",),
    "yaml": ("text/yaml.py", "presets/"),
}
# What a pure module may know of the world: nothing that asks it anything.
PURE = {
    "__future__",
    "binascii",
    "collections",
    "dataclasses",
    "difflib",
    "hashlib",
    "json",
    "math",
    "re",
    "tomllib",
    "typing",
    "unicodedata",
    "yaml",
}
PURE_TOO = {  # the codec and the hash in C, without the packages around them
    "text/jsonline.py": {"sys", "cpython.py"},
    "tmux/place.py": {"cpython.py"},
}
DOORS_OF_PYTHON = {"open", "print", "input", "exec", "eval", "compile", "breakpoint", "__import__"}
MOST_LINES, MOST_FILES, MOST_OF_A_FUNCTION = 350, 22, 50

_NAMES = frozenset(FILES)
KIND = re.compile(r"(?:^|\s)(Pure|Joins|Touches: [^.\n]+)\.$")


def domain(names: list[str]) -> str:
    """Return the subject of a module, as the words of its path; the package itself is its version."""
    return names[0].removesuffix(".py") if names and names != ["__version__"] else "__init__"


def level(name: str) -> int:
    return next(number for number, names in enumerate(LEVELS) if name in names)


@functools.cache
def imports(file: str) -> list[tuple[str, list[str]]]:
    """Return (library, path inside it) of each import: lazy ones and those for type checkers, too."""
    found = [node for node in nodes(file) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert not [node for node in found if getattr(node, "level", 0)], f"{file} imports by a relative name"
    return named(found)


def named(statements: Iterable[ast.Import | ast.ImportFrom]) -> list[tuple[str, list[str]]]:
    """Return (library, path inside it) of all that statements import."""
    found: list[tuple[str, list[str]]] = []
    for node in statements:
        prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            library, *path = f"{prefix}{alias.name}".split(".")
            found.append((library, path))
    return found


@functools.cache
def kind(file: str) -> str | None:
    """Return what a module says of itself: at the end of its first paragraph, or as its last."""
    paragraphs = (ast.get_docstring(tree(file)) or "").split("\n\n")
    found = [KIND.search(paragraph) for paragraph in (paragraphs[0], paragraphs[-1])]
    return next((match[1] for match in found if match), None)


def is_a_list(file: str) -> bool:
    """Say whether a file only says what its folder is."""
    return file.endswith("__init__.py") and len(tree(file).body) == 1


def module(path: list[str]) -> str | None:
    """Return the file that an import from the package means."""
    for end in (len(path), len(path) - 1):
        for name in (f"{'/'.join(path[:end])}.py", "/".join([*path[:end], "__init__.py"])):
            if name in _NAMES:
                return name
    return None


def at_import(body: Iterable[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that a module carries out when it is imported itself."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from at_import(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from at_import(ast.iter_child_nodes(node))


def imported_first(file: str) -> set[str]:
    """Return the files whose import ends before that of a file; packages around it have only begun."""
    found = set()
    for library, path in named(at_import(tree(file).body)):
        meant = module(path) if library == "tmuxagents" else None
        if meant is not None:
            found |= {meant} | (packages(meant) - packages(file))
    return found


def packages(file: str) -> set[str]:
    """Return the packages that a file is in, or is."""
    return {str(folder / "__init__.py") for folder in Path(file).parents}


def breaking(rule: Callable[[str], set[str]], files: Iterable[str] = FILES) -> dict[str, set[str]]:
    """Return the files that break a rule, each with what breaks it."""
    return {file: wrong for file in files if (wrong := rule(file))}


def test_imports_point_down() -> None:
    def rule(file: str) -> set[str]:
        own = domain(file.split("/"))
        others = {domain(path) for library, path in imports(file) if library == "tmuxagents"}
        others -= {own} | GROUND.get(own, set())
        return {other for other in others if level(other) >= level(own)}

    assert breaking(rule) == {}


def test_any_module_may_be_imported_first() -> None:
    """Else a verb might work beside others (tests/warm.py), and not by itself."""
    order = TopologicalSorter({file: imported_first(file) for file in FILES})
    assert len(list(order.static_order())) == len(FILES)  # a circle would raise


@pytest.mark.parametrize("folder", ["tmuxagents", "scripts", "tests"])
def test_what_is_silenced_has_its_reason(folder: str) -> None:
    bare = re.compile(r"# (noqa: [A-Z0-9, ]+|type: ignore\[[a-z, -]+\])$", re.MULTILINE)
    found = {path: bare.findall(path.read_text("utf-8")) for path in (ROOT / folder).rglob("*.py")}
    assert {str(path): silenced for path, silenced in found.items() if silenced} == {}


def test_each_library_stays_with_its_owner() -> None:
    def rule(file: str) -> set[str]:
        libraries = {library for library, _ in imports(file)}
        return {name for name in libraries & set(OWNERS) if not file.startswith(OWNERS[name])}

    assert breaking(rule) == {}


def test_each_module_says_what_it_is() -> None:
    assert [file for file in FILES if not is_a_list(file) and kind(file) is None] == []


def test_what_is_pure_knows_nothing_of_the_world() -> None:
    def rule(file: str) -> set[str]:
        libraries = {library for library, _ in imports(file)}
        wrong = libraries - PURE - PURE_TOO.get(file, set()) - {"tmuxagents"}
        names = {node.id for node in nodes(file) if isinstance(node, ast.Name)}
        wrong |= names & DOORS_OF_PYTHON
        others = {name for name in ours(file) if not is_a_list(name) and kind(name) != "Pure"}
        return wrong | (others - PURE_TOO.get(file, set()))

    assert breaking(rule, [file for file in FILES if kind(file) == "Pure"]) == {}


def test_what_touches_joins_nothing() -> None:
    def rule(file: str) -> set[str]:
        return {name for name in ours(file) if kind(name) == "Joins" and not is_a_list(name)}

    assert breaking(rule, [file for file in FILES if str(kind(file)).startswith("Touches")]) == {}


def ours(file: str) -> set[str]:
    """Return the modules of the package that a file imports."""
    found = {module(path) for library, path in imports(file) if library == "tmuxagents"}
    return {name for name in found if name}


def test_nothing_private_crosses_a_module() -> None:
    def rule(file: str) -> set[str]:
        crossing = {path[-1] for library, path in imports(file) if library == "tmuxagents" and path}
        return {name for name in crossing if name.startswith("_")} - {"__version__"}

    assert breaking(rule) == {}


def test_files_and_functions_can_be_read_at_once() -> None:
    def rule(file: str) -> set[str]:
        wrong = {"the file"} if len((PACKAGE / file).read_text("utf-8").splitlines()) > MOST_LINES else set()
        for node in nodes(file):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
                wrong |= {node.name} if lines > MOST_OF_A_FUNCTION else set()
        return wrong

    assert breaking(rule) == {}


def test_folders_can_be_read_at_once() -> None:
    sizes = Counter(str(Path(file).parent) for file in FILES if not is_a_list(file))
    assert {folder: count for folder, count in sizes.items() if count > MOST_FILES} == {}


# `runs/endings`, `tmuxagents/cli/__init__.py`, `runs/endings.state_of`: each names something that is there.
SUBJECTS = "|".join(sorted({file.split("/")[0] for file in FILES if "/" in file}))
REFERENCE = re.compile(
    rf"(?<![\w/.~-])(?:tmuxagents/)?((?:{SUBJECTS})(?:/[a-z_]+)+)(?:\.py)?(?:\.(\w+))?(?![\w/])"
)
PAGES = sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("*.md"), *PACKAGE.rglob("*.py")])
PAGES.remove(ROOT / "CHANGELOG.md")  # it tells of former trees, too
ELSEWHERE = {"tmux/tmux", "text/plain", "text/markdown", "tools/list"}  # words of protocols, a file of tmux


def test_each_module_that_is_named_is_there() -> None:
    def rule(page: str) -> set[str]:
        wrong = set()
        for found in REFERENCE.finditer((ROOT / page).read_text("utf-8")):
            file = module(found[1].split("/"))
            if found[1] in ELSEWHERE or (PACKAGE / found[1]).exists():
                continue
            is_there = file is not None and file.startswith(found[1])
            if not is_there or (found[2] and not defines(str(file), found[2])):
                wrong.add(found[0])
        return wrong

    assert breaking(rule, [str(page.relative_to(ROOT)) for page in PAGES]) == {}


def defines(file: str, name: str) -> bool:
    """Say whether a module has a name, by the words of its source."""
    source = (PACKAGE / file).read_text("utf-8")
    return re.search(rf"^(?:def |class |    def )?{name}\b", source, re.MULTILINE) is not None


@pytest.mark.parametrize("file", ["__init__.py", "records.py", "errors.py"])
def test_the_foundation_imports_nothing_at_run_time(file: str) -> None:
    taken = [node for node in tree(file).body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in taken] in ([], ["from __future__ import annotations"])


def swallows_all(file: str) -> bool:
    """Say whether a module catches all errors somewhere and raises none of them again."""
    handlers = [node for node in nodes(file) if isinstance(node, ast.ExceptHandler)]
    total = [node for node in handlers if node.type is None or ast.unparse(node.type).endswith("Exception")]
    return any(not any(isinstance(inner, ast.Raise) for inner in ast.walk(node)) for node in total)


def test_the_page_names_each_place_where_all_errors_end() -> None:
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    table = page.partition("## Boundaries for all errors")[2].partition("\n## ")[0].split("\n|", 3)[-1]
    rows = [line.split("|")[0] for line in table.split("\n|")]
    named = {f"{name}.py" for row in rows for name in re.findall(r"`([\w/]+)`", row)}
    assert named == {file for file in FILES if swallows_all(file)}


# Where the keys of a plan are written, and where `meta` is something else: `_meta` of MCP, click's own.
OTHER_METAS = {"runs/documents.py", "mcp/protocol.py", "cli/group.py"}


def test_only_runs_documents_reads_a_plan_by_its_keys() -> None:
    def rule(file: str) -> set[str]:
        source = (PACKAGE / file).read_text("utf-8") if file not in OTHER_METAS else ""
        return set(re.findall(r"\b(?:meta|plan)(?:\[|\.get\()[\"']\w+", source))

    assert breaking(rule) == {}


def test_a_public_class_name_exists_once() -> None:
    names = Counter(
        node.name
        for file in FILES
        for node in nodes(file)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, count in names.items() if count > 1} == set()
