#!/usr/bin/env python3
"""Write `tmuxagents/schemas/*.json` out of the shared shapes; `--check` only tells which files differ.

Every schema stands alone: what it points to is copied into its `$defs`, so that none needs a network.
The JSON files are never edited by hand.
"""

import json
import re
import sys
import textwrap
from pathlib import Path

# Started as a program, Python looks for modules beside this file only.
sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts.schema_documents import DOCUMENTS
from scripts.schema_shapes import SHAPES, Schema

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "tmuxagents" / "schemas"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
WIDTH = 100


def compose(name: str) -> Schema:
    """Put one schema together, with the shared shapes it uses and no others."""
    description, shape = DOCUMENTS[name]
    head = {"$schema": DRAFT, "title": f"tmuxagents {name}", "description": description}
    used = pointed_to(shape)
    shared = {"$defs": {key: SHAPES[key] for key in SHAPES if key in used}} if used else {}
    return head | {key: value for key, value in shape.items() if key != "description"} | shared


def pointed_to(shape: Schema) -> set[str]:
    """Name the shared shapes behind a shape's pointers, and behind theirs."""
    direct = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(shape)))
    return direct.union(*(pointed_to(SHAPES[name]) for name in direct))


def written(value: object, indent: int = 0, taken: int = 0) -> str:
    """Write JSON for people: what fits on a line stays on it, lists of words are filled like prose."""
    flat = json.dumps(value, ensure_ascii=False)
    if indent + taken + len(flat) < WIDTH or not isinstance(value, dict | list):
        return flat
    pad, end = " " * (indent + 2), "\n" + " " * indent
    if isinstance(value, dict):
        keys = {key: f"{json.dumps(key)}: " for key in value}
        items = [f"{pad}{keys[key]}{written(value[key], indent + 2, len(keys[key]))}" for key in value]
        return "{\n" + ",\n".join(items) + end + "}"
    if not any(isinstance(item, dict | list) for item in value):  # words: there is no space in any of them
        lines = textwrap.wrap(flat[1:-1], WIDTH - len(pad), break_on_hyphens=False)
        return "[\n" + "\n".join(pad + line for line in lines) + end + "]"
    return "[\n" + ",\n".join(pad + written(item, indent + 2) for item in value) + end + "]"


def main(arguments: list[str]) -> int:
    """Write the schemas, or with `--check` name those that differ from what would be written."""
    texts = {TARGET / f"{name}.json": written(compose(name)) + "\n" for name in DOCUMENTS}
    if arguments == ["--check"]:
        differ = [
            path for path, text in texts.items() if not path.exists() or path.read_text("utf-8") != text
        ]
        for path in differ:
            print(f"{path.relative_to(ROOT)} differs: run scripts/schemas.py", file=sys.stderr)
        return 1 if differ else 0
    if arguments:
        print("usage: schemas.py [--check]", file=sys.stderr)
        return 2
    for path, text in texts.items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
