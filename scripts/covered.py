"""scripts/coverage: what the pure modules miss, held against the figures of tests/data/coverage.json."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = ROOT / "tests" / "data" / "coverage.json"


def main() -> int:
    """Print what is missing; say whether it is no more than is allowed."""
    measured = json.loads(Path(sys.argv[1]).read_text("utf-8"))["files"]
    pure = {name: facts for name, facts in measured.items() if is_pure(name)}
    missing = {name: lacks(facts) for name, facts in pure.items() if lacks(facts)}
    if "--write" in sys.argv[2:]:
        ALLOWED.write_text(json.dumps(missing, indent=2, sort_keys=True) + "\n", "utf-8")
    allowed = json.loads(ALLOWED.read_text("utf-8"))
    worse = {name: count for name, count in missing.items() if count > allowed.get(name, 0)}
    for name in worse:
        lines, branches = pure[name]["missing_lines"], pure[name]["missing_branches"]
        print(f"{name}: lines {lines} and branches {branches} are not taken by any pure test")
    for name in sorted(set(allowed) - set(missing)):
        print(f"{name} misses nothing any more: take it out of {ALLOWED.relative_to(ROOT)}")
    print(f"{len(pure)} pure modules, {len(pure) - len(missing)} of them covered to the last branch")
    return 1 if worse or not pure else 0


def lacks(facts: dict[str, Any]) -> int:
    """Return how many lines and branches are missing."""
    return int(facts["summary"]["missing_lines"]) + int(facts["summary"]["missing_branches"])


def is_pure(name: str) -> bool:
    """Say whether a module declares itself pure, at the end of a paragraph of its docstring."""
    said = ast.get_docstring(ast.parse((ROOT / name).read_text("utf-8"))) or ""
    return any(paragraph.rstrip().endswith("Pure.") for paragraph in said.split("\n\n"))


if __name__ == "__main__":
    sys.exit(main())
