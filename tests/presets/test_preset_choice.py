"""Which file of a name counts, which one is meant, and that nothing is hidden silently."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.presets.preset_files import FOLDERS, catalogue, file
from tmuxagents.errors import BadConfig, BadRequest
from tmuxagents.presets import catalogue as presets_catalogue

if TYPE_CHECKING:
    from tmuxagents.presets.preset import PresetFile

RANKED = (("preset", "project"), ("profile", "project"), ("preset", "global"), ("profile", "global"))


def one(kind: str, source: str, *, name: str = "scout", stem: str = "a", more: str = "") -> PresetFile:
    header = f"name: '{name}'\ndescription: d{more}"
    return file(header, kind=kind, source=source, name=f"{stem}.md")


@pytest.mark.parametrize("places", list(itertools.permutations(RANKED, 2)))
def test_project_counts_before_user_then_preset_before_profile(places: tuple[tuple[str, str], ...]) -> None:
    found = catalogue(*(one(*place) for place in places))
    winner, loser = sorted(places, key=RANKED.index)
    assert [(read.kind, read.source) for read in found.presets] == [winner, loser]
    assert found.choose("scout") is found.presets[0]
    assert [read.hidden_by for read in found.presets] == [None, f"{FOLDERS[winner]}/a.md"]
    assert found.warnings == []


def test_the_hidden_file_is_the_users_best() -> None:
    found = catalogue(*(one(*place) for place in RANKED))
    assert [read.hides for read in found.presets] == [
        "/home/dev/.pi/agent/subagents/a.md",
        "/home/dev/.pi/agent/subagents/a.md",
        "/home/dev/.pi/agent/agent-profiles/a.md",
        None,
    ]


def test_of_two_in_one_folder_the_last_counts_and_both_are_named() -> None:
    found = catalogue(
        one("preset", "global", stem="a", more="1"), one("preset", "global", stem="b", more="2")
    )
    folder = "/home/dev/.pi/agent/subagents"
    assert found.choose("scout").path == f"{folder}/b.md"
    assert found.warnings == [
        f'two files have the name "scout": {folder}/a.md and {folder}/b.md; the last one counts'
    ]


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ("scout", RANKED[0]),
        ("project:scout", RANKED[0]),
        ("global:scout", RANKED[2]),
    ],
)
def test_a_source_chooses(wanted: str, place: tuple[str, str]) -> None:
    chosen = catalogue(*(one(*each) for each in RANKED)).choose(wanted)
    assert (chosen.kind, chosen.source) == place


def test_a_name_cannot_pass_for_a_source() -> None:
    # A clone must not answer to `-p global:scout`, by which somebody means his own.
    found = catalogue(one("preset", "project", name="global:scout"), one("preset", "global"))
    assert found.choose("global:scout").source == "global"
    with pytest.raises(BadRequest):
        catalogue(one("preset", "project", name="global:scout")).choose("global:scout")
    assert catalogue(one("preset", "project", name="other:scout")).choose("other:scout").name == "other:scout"


# --- unknown ----------------------------------------------------------------------------------------------


def refusal(wanted: str, *names: str) -> BadRequest:
    found = catalogue(*(one("preset", "global", name=name, stem=name) for name in names))
    with pytest.raises(BadRequest) as caught:
        found.choose(wanted)
    return caught.value


def test_an_unknown_name_lists_those_there_are() -> None:
    error = refusal("repo-scuot", "writer", "repo-scout")
    assert error.message == 'Unknown preset: "repo-scuot". Available presets: repo-scout, writer'
    assert (error.kind, error.hint, error.candidates) == (
        "unknown-preset",
        "Did you mean repo-scout?",
        ["repo-scout"],
    )


def test_a_task_in_the_place_of_a_name_is_told_from_a_misspelt_one() -> None:
    assert (refusal("Find what has no test.", "scout").hint or "").startswith("-p names a preset")
    assert refusal("Find it", "Find it all").hint == "Did you mean Find it all?"


def test_where_there_are_none_it_says_so() -> None:
    error = refusal("x")
    assert error.message == 'Unknown preset: "x". Available presets: (none)'
    assert (error.hint, error.candidates) == ("tmuxagents presets list shows what there is", [])


def test_a_name_of_the_other_source_is_pointed_out() -> None:
    error = refusal("project:writer", "writer", "writes")
    assert error.message == 'Unknown preset: "project:writer". Available presets: writer, writes'
    assert (error.hint, error.candidates) == ("there is one that is not project: writer", ["writer"])


def test_profiles_have_a_word_of_their_own() -> None:
    found = catalogue(one("profile", "global", name="b", stem="b"), one("preset", "global", name="a"))
    error = found.unknown("X", "profile")
    assert (error.message, error.kind) == (
        'Unknown profile: "X". Available profiles: a, b',
        "unknown-profile",
    )
    with pytest.raises(BadRequest, match='Unknown profile: "X"'):
        found.choose("X", refuse=lambda name: found.unknown(name, "profile"))


# --- bad files --------------------------------------------------------------------------------------------


def test_other_bad_files_are_a_warning_each_and_stop_nothing() -> None:
    found = catalogue(
        file("name: a\nb: [", name="one.md"),
        file("name: a", name="two.md"),
        one("preset", "global", stem="x"),
    )
    assert found.choose("scout").name == "scout"
    assert [warning.partition(": ")[0] for warning in found.warnings] == [
        "Failed to load preset from /home/dev/.pi/agent/subagents/one.md",
        "Failed to load preset from /home/dev/.pi/agent/subagents/two.md",
    ]


def test_a_bad_file_that_was_asked_for_is_an_error() -> None:
    found = catalogue(file("name: scout\ntools:", name="s.md"))
    with pytest.raises(BadConfig) as caught:
        found.choose("scout")
    error = caught.value
    path = "/home/dev/.pi/agent/subagents/s.md"
    assert error.message.startswith(f"Failed to load preset from {path}: description: it is missing")
    assert (error.kind, error.exit_code, error.hint) == ("bad-preset", 2, "correct the file")
    assert [fault.field for fault in error.faults] == ["description", "tools"]
    assert error.faults[1].message.startswith(f"{path}: line 3, tools: it is empty")


def test_a_bad_file_of_a_project_does_not_silently_give_way_to_the_users() -> None:
    found = catalogue(file("name: scout", source="project"), one("preset", "global"))
    with pytest.raises(BadConfig) as caught:
        found.choose("scout")
    assert caught.value.hint == "correct the file, or ask for global:NAME"
    assert found.choose("global:scout").source == "global"


def test_a_bad_file_that_would_not_count_anyway_does_not_matter() -> None:
    found = catalogue(file("name: scout"), one("preset", "project"))
    assert found.choose("scout").source == "project"


def test_a_file_without_a_readable_name_is_meant_by_its_own_if_nothing_else_is() -> None:
    broken = file("name: [", kind="profile", name="scout.md")
    with pytest.raises(BadConfig) as caught:
        catalogue(broken).choose("scout")
    assert caught.value.kind == "bad-profile"
    assert catalogue(broken, one("preset", "global", stem="x")).choose("scout").kind == "preset"
    with pytest.raises(BadRequest, match="Unknown preset"):
        catalogue(broken).choose("scout.md")


# --- what hides what --------------------------------------------------------------------------------------


def hiding(project: str, own: str) -> str | None:
    found = catalogue(one("preset", "project", more=project), one("preset", "global", more=own))
    return presets_catalogue.hiding(found.choose("scout"))


def test_a_project_that_hides_the_users_file_is_told() -> None:
    words = "preset scout: project file hides /home/dev/.pi/agent/subagents/a.md"
    assert hiding("\ntools: read", "\ntools: read,bash") == words
    assert hiding("\ntools: read,bash,ls", "\ntools: read") == f"{words} and allows more tools (bash, ls)"
    assert hiding("", "\ntools: read") == f"{words} and allows more tools (all)"


def test_nothing_is_told_where_nothing_of_the_users_is_hidden() -> None:
    found = catalogue(one("preset", "project"), one("profile", "project"))
    assert presets_catalogue.hiding(found.choose("scout")) is None
    found = catalogue(one("preset", "global"), one("profile", "global"))
    assert presets_catalogue.hiding(found.choose("scout")) is None


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("writer", "/p/writer.md is skipped: why"),
        ("global:writer", "/p/writer.md is skipped: why"),
        ("anything", "/q/subagents is skipped: why"),
        ("project:scout", "there is one that is not project: scout"),
    ],
)
def test_a_file_that_was_skipped_is_what_an_unknown_name_may_mean(wanted: str, hint: str) -> None:
    skipped = {path: f"{path} is skipped: why" for path in ("/q/subagents", "/p/writer.md")}
    found = presets_catalogue.Catalogue([one("preset", "global")], skipped=skipped)
    with pytest.raises(BadRequest) as caught:
        found.choose(wanted)
    assert caught.value.hint == hint


def test_a_file_without_a_name_is_no_preset_and_no_complaint() -> None:
    found = catalogue(one("preset", "global"), file("description: notes", kind="profile", name="notes.md"))
    assert [read.name for read in found.presets] == ["scout"]
    assert (found.bad, found.warnings) == ([], [])
