"""The profile command: what is answered, what is done, what is asked before."""

from __future__ import annotations

from typing import Any

import pytest

from tests.presets.preset_files import preset, profile
from tmuxagents.presets import describe

KNOWN: dict[str, dict[str, Any]] = {"a": {"model": "m"}, "b": {}}


@pytest.mark.parametrize("line", ["", "list", "ls", "list a", "  "])
def test_all_are_listed(line: str) -> None:
    text = "Subagent profiles:\n  profile: a, model=m\n  profile: b"
    assert describe.profile_answer(line, KNOWN).note == ("info", text)


@pytest.mark.parametrize("line", ["show a", "a", "a b"])
def test_one_is_shown(line: str) -> None:
    assert describe.profile_answer(line, KNOWN).note == ("info", "Profile: a\n  model:             m")


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("show", ("warning", "Usage: /profile show <name>")),
        ("show x", ("error", 'Profile "x" not found. Available: a, b')),
        ("create", ("warning", "Usage: /profile create <name>  (alphanumeric, hyphens, underscores)")),
        ("new a/b", ("warning", "Usage: /profile create <name>  (alphanumeric, hyphens, underscores)")),
        ("new a", ("warning", 'Profile "a" already exists. Use /profile edit a to modify it.')),
        ("edit", ("warning", "Usage: /profile edit <name>")),
        ("edit x", ("error", 'Profile "x" not found. Use /profile create x to create it.')),
        ("rm", ("warning", "Usage: /profile delete <name>")),
        ("x", ("warning", "Usage: /profile [list|show <name>|create <name>|edit <name>|delete <name>]")),
    ],
)
def test_what_cannot_be_done_is_said(line: str, note: tuple[str, str]) -> None:
    answer = describe.profile_answer(line, KNOWN)
    assert (answer.note, answer.act, answer.question) == (note, None, None)


def test_who_removes_is_asked_first_and_then_told_that_there_was_none() -> None:
    answer = describe.profile_answer("remove x", KNOWN)
    assert answer.question == ("Delete profile?", 'Delete subagent profile "x"?')
    assert (answer.note, answer.afterwards) == (None, ("error", 'Profile "x" not found.'))


def test_without_profiles_none_is_available() -> None:
    assert describe.profile_answer("show x", {}).note == ("error", 'Profile "x" not found. Available: (none)')


@pytest.mark.parametrize(
    ("line", "act", "name"),
    [
        ("create c", "create", "c"),
        ("new C-_9", "create", "C-_9"),
        ("edit a", "edit", "a"),
        ("delete a", "delete", "a"),
        ("rm b", "delete", "b"),
    ],
)
def test_what_is_to_be_done(line: str, act: str, name: str) -> None:
    answer = describe.profile_answer(line, KNOWN)
    assert (answer.note, answer.act, answer.name) == (None, act, name)
    assert (answer.question is not None) == (act == "delete")


def test_what_begins_so_is_offered() -> None:
    assert describe.profile_completions("e", KNOWN) == ["edit"]
    assert describe.profile_completions("a", KNOWN) == ["a"]
    assert describe.profile_completions("z", KNOWN) is None


def test_what_was_saved_is_said() -> None:
    assert describe.profile_saved(preset()) == 'Preset "scout" saved to global subagents.'
    expected = 'Profile "p" saved to project agent-profiles.'
    assert describe.profile_saved(profile(source="project")) == expected
