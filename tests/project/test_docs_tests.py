"""Each test that a page names as its proof is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`")
PROOFS = sorted(
    {found for page in (ROOT / "docs").glob("*.md") for found in NAMED.findall(page.read_text("utf-8"))}
)


def test_there_are_proofs() -> None:
    assert len([test for _, test in PROOFS if test]) > 30


@pytest.mark.parametrize(("path", "test"), PROOFS)
def test_a_named_test_is_there(path: str, test: str) -> None:
    text = (ROOT / path).read_text("utf-8")
    assert not test or f"\ndef {test}(" in text
