"""The man pages: one for each verb, as scripts/man.py writes them from the help."""

from __future__ import annotations

from scripts import man
from tmuxagents.cli import VERBS

PAGES = man.pages()


def test_the_man_pages_are_those_of_the_help() -> None:
    written = {path.name: path.read_text("utf-8") for path in man.TARGET.iterdir()}
    assert written == PAGES, "run scripts/man.py"


def test_each_verb_has_a_page_that_the_first_page_names() -> None:
    assert set(PAGES) == {"tmuxagents.1", *(f"tmuxagents-{verb}.1" for verb in VERBS)}
    for verb in VERBS:
        assert f".BR tmuxagents\\-{verb} (1)\n" in PAGES["tmuxagents.1"]


def test_a_page_has_what_the_help_has_and_nothing_that_roff_would_obey() -> None:
    page = PAGES["tmuxagents-presets.1"]
    assert ".SS tmuxagents presets new\n" in page
    assert "\n.B \\-\\-json\n" in page
    for text in PAGES.values():
        known = (".TH ", ".SH ", ".SS ", ".TP", ".B ", ".BR ", ".br", ".PP")
        assert all(line.startswith(known) for line in text.splitlines() if line[:1] in (".", "'"))
