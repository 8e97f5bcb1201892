"""What is public in the package is used by the package itself, and not by tests alone."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.project.sources import FILES, nodes, tree

# What a library calls by its name.
CALLED_BY_OTHERS = {
    "cli/group.py Verbs.format_commands",
    "cli/values.py DurationType.convert",
    "cli/values.py _Statuses.convert",
    "watcher/waking.py _Ears.dispatch",
    "watcher/waking.py _Doubts.emit",
}
# Handlers of a screen: textual calls them by how their names begin.
BY_TEXTUAL = ("top/", ("on_", "action_", "check_action", "compose", "render_line", "watch_"))
# Only the conformance vectors ask for these. This list may shrink, and nothing may be added to it.
STILL_THERE = {"runs/conversation.py shortened", "views/board.py call_line"}


def dotted(file: str) -> str:
    """Return the name by which a module is imported."""
    return ".".join(["tmuxagents", *Path(file).with_suffix("").parts]).removesuffix(".__init__")


class _Module:
    """The names that one module defines, and those that it uses."""

    def __init__(self, file: str, modules: set[str]) -> None:
        self.file = file
        self.name = dotted(file)
        self.attributes: set[str] = set()
        self.used: set[str] = set()
        modules_here: dict[str, set[str]] = {}
        for node in nodes(self.file):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    self.used.add(whole)
                    if whole in modules:
                        modules_here.setdefault(alias.asname or alias.name, set()).add(whole)
        for node in nodes(self.file):
            if isinstance(node, ast.Name):
                self.used.add(f"{self.name}.{node.id}")
            elif isinstance(node, ast.Attribute):
                self.attributes.add(node.attr)
                holder = node.value.id if isinstance(node.value, ast.Name) else ""
                self.used |= {f"{module}.{node.attr}" for module in modules_here.get(holder, ())}

    def _is_private(self, name: str) -> bool:
        folder, beginnings = BY_TEXTUAL
        return name.startswith("_") or (self.file.startswith(folder) and name.startswith(beginnings))

    def defined(self) -> dict[str, str]:
        """Return file and name of each public thing -> its whole name, or `.name` for a method."""
        found = {}
        for node in tree(self.file).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                if not node.name.startswith("_") and not node.decorator_list:  # those of a verb are click's
                    found[f"{self.file} {node.name}"] = f"{self.name}.{node.name}"
                for inner in node.body if isinstance(node, ast.ClassDef) else ():
                    if isinstance(inner, ast.FunctionDef) and not self._is_private(inner.name):
                        found[f"{self.file} {node.name}.{inner.name}"] = f".{inner.name}"
        return found


def unused() -> set[str]:
    """Return what no line of the package names: functions and classes by module, methods by name alone."""
    names = set(map(dotted, FILES))
    read = [_Module(file, names) for file in FILES]
    used = {name for module in read for name in module.used}
    used |= {f".{name}" for module in read for name in module.attributes}
    return {thing for module in read for thing, name in module.defined().items() if name not in used}


def test_nothing_public_is_there_for_tests_alone() -> None:
    assert unused() == CALLED_BY_OTHERS | STILL_THERE


def test_each_private_constant_is_read_where_it_is() -> None:
    left = []
    for file in FILES:
        names = [node for node in nodes(file) if isinstance(node, ast.Name)]
        read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        constants = [node for node in tree(file).body if isinstance(node, ast.Assign | ast.AnnAssign)]
        made = {node.id for one in constants for node in ast.walk(one) if isinstance(node, ast.Name)}
        left += [f"{file} {name}" for name in made - read if name.startswith("_") and name[1:2] != "_"]
    assert left == []
