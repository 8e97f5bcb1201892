"""docs/modules.md names every module, in the words of the module itself."""

from __future__ import annotations

from scripts import modules_doc


def test_the_list_of_modules_is_up_to_date() -> None:
    assert modules_doc.TARGET.read_text("utf-8") == modules_doc.text(), "run scripts/modules_doc.py"


def test_every_module_says_what_it_is() -> None:
    assert [row for row in modules_doc.text().splitlines() if row.endswith("|  |")] == []
