"""Phrases that have made texts of this project hard to read: none of them comes back.

They are looked for in docs, and in the docstrings, comments and messages of the package.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from tests.project.sources import PACKAGE, ROOT, nodes

if TYPE_CHECKING:
    from pathlib import Path

PHRASES = re.compile(
    r"\b(?:whoever|somebody|so many(?!\w)|of ours\b|of theirs|of yours that|behind us"
    r"|who (?:has|have|had|asks|asked|looks|waits|was|is to|reads)"
    r"|nobody (?:has|is|can|will|may|must|who|waits|knows|hears|looks|reads|asks|else)"
    r"|(?:is|are|was|were|be|been|being) told(?: of| to)?|stands?\b(?! (?:for|out|alone|still))|stood"
    r"|says of|said of|tells? (?:of|by)|for so long|by so much|is the (?:least|most)[.;]|in the place of"
    r"|what (?:it|they) came to|(?<!there )is (?-i:none)\b|by itself alone|goes on with)\b",
    re.IGNORECASE,
)
CLEAN = [
    "tmuxagents",
    *("README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md"),
    *(str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").glob("*.md"))),
]
GENERATED = {"docs/modules.md", "docs/tools.md"}  # out of docstrings and the catalogue


def words(path: Path) -> list[tuple[int, str]]:
    """Return the prose of a file by line: comments and strings of a module, all of any other file."""
    lines = list(enumerate(path.read_text("utf-8").splitlines(), 1))
    if path.suffix != ".py":
        return lines
    found = [(number, line.partition("#")[2]) for number, line in lines if "#" in line]
    for node in nodes(str(path.relative_to(PACKAGE))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += enumerate(node.value.splitlines(), node.lineno)
    return found


def files() -> list[Path]:
    """Return the files that are checked."""
    paths = [ROOT / name for name in CLEAN if name not in GENERATED]
    return [
        file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*.[mpt][dys]")))
    ]


def test_no_text_has_a_phrase_that_readers_stumble_over() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {found[0]}"
        for path in files()
        for line, text in words(path)
        for found in PHRASES.finditer(text)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "text", ["who has waited", "Nobody knows it.", "as it stands", "is told of it", "tells of"]
)
def test_a_phrase_is_found(text: str) -> None:
    assert PHRASES.search(text)
