"""Skills: where they are looked for, which file a name means, what a profile makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from tmuxagents.errors import BadRequest
from tmuxagents.presets import catalogue


def file(path: str, text: str | None, *, is_declared: bool = True) -> catalogue.SkillFile:
    return catalogue.SkillFile(path, path.rsplit("/", 2)[-2], is_declared, text)


def indexed(*files: catalogue.SkillFile) -> list[tuple[str, str, str | None]]:
    return [(name, skill.path, skill.body) for name, skill in catalogue.index_skills(files).items()]


# --- where ---


def test_skills_are_looked_for_from_the_child_up_to_its_project_then_with_the_user() -> None:
    found = catalogue.skill_folders(cwd="/w/p/a/b", project="/w/p", agent_dir="/h/.pi/agent", home="/h")
    assert found == [
        ("/w/p/a/b/.pi/skills", "/w/p"),
        ("/w/p/a/b/.agents/skills", "/w/p"),
        ("/w/p/a/.pi/skills", "/w/p"),
        ("/w/p/a/.agents/skills", "/w/p"),
        ("/w/p/.pi/skills", "/w/p"),
        ("/w/p/.agents/skills", "/w/p"),
        ("/h/.pi/agent/skills", None),
        ("/h/.agents/skills", None),
    ]


@pytest.mark.parametrize(
    ("cwd", "project", "near"),
    [
        ("/w/p", "/w/p", [("/w/p/.pi/skills", "/w/p"), ("/w/p/.agents/skills", "/w/p")]),
        ("/tmp/x", "/w/p", [("/tmp/x/.pi/skills", "/tmp/x"), ("/tmp/x/.agents/skills", "/tmp/x")]),
        ("/", "/", [("/.pi/skills", "/"), ("/.agents/skills", "/")]),
    ],
)
def test_a_child_that_works_elsewhere_has_its_own_folder(cwd: str, project: str, near: list[Any]) -> None:
    assert catalogue.skill_folders(cwd=cwd, project=project, agent_dir="/a", home="/h")[:-2] == near


def test_up_to_the_root() -> None:
    found = catalogue.skill_folders(cwd="/x", project="/", agent_dir="/a", home="/h")
    assert [folder for folder, _ in found[:4]] == [
        *("/x/.pi/skills", "/x/.agents/skills", "/.pi/skills", "/.agents/skills")
    ]


# --- which ---


@pytest.mark.parametrize(
    ("text", "name", "body"),
    [
        ("---\nname: coding\n---\nBody.\n", "coding", "Body."),
        ("---\nname: ' coding '\n---\n\n\nBody.", "coding", "Body."),
        ("---\ndescription: x\n---\nBody.", "folder", "Body."),
        ("---\nname: 5\n---\nBody.", "folder", "Body."),
        ("---\nname: ''\n---\nBody.", "folder", "Body."),
        ("Body only.\n", "folder", "Body only."),
        ("---\nname: x\nno end", "folder", "---\nname: x\nno end"),
        ("---\ndescription: a: b: c\n---\nBody.", "folder", "Body."),
        ("---\nname: [\n---\nBody.", "folder", "Body."),
        ("---\nname: x\n---\n", "x", ""),
    ],
)
def test_a_skill_has_the_name_of_its_header_else_of_its_folder(text: str, name: str, body: str) -> None:
    assert indexed(file("/s/folder/SKILL.md", text)) == [(name, "/s/folder/SKILL.md", body)]


@pytest.mark.parametrize("header", ["", "---\nname: ' '\n---\n", "---\nname: 5\n---\n"])
def test_blanks_around_the_name_of_a_folder_belong_to_no_name(header: str) -> None:
    files = [file("/s/ coding /SKILL.md", f"{header}Body."), file("/s/ /SKILL.md", f"{header}Body.")]
    assert indexed(*files) == [("coding", "/s/ coding /SKILL.md", "Body.")]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("---\nname: x\ndescription: y\n---\nBody.", ["x"]),
        ("---\nname: x\n---\nBody.", []),
        ("---\ndescription: y\n---\nBody.", []),
        ("---\nname: x\ndescription: 5\n---\nBody.", []),
        ("# Read me", []),
        (None, []),
    ],
)
def test_a_loose_file_is_a_skill_if_it_says_so(text: str | None, names: list[str]) -> None:
    assert [name for name, _, _ in indexed(file("/s/x.md", text, is_declared=False))] == names


def test_of_two_with_one_name_the_first_counts() -> None:
    files = [file("/near/x/SKILL.md", "a"), file("/far/x/SKILL.md", "b"), file("/far/y/SKILL.md", "c")]
    assert indexed(*files) == [("x", "/near/x/SKILL.md", "a"), ("y", "/far/y/SKILL.md", "c")]


def test_one_that_cannot_be_read_hides_none_that_can() -> None:
    files = [file("/near/x/SKILL.md", None), file("/far/x/SKILL.md", "b"), file("/far/y/SKILL.md", None)]
    assert indexed(*files) == [("x", "/far/x/SKILL.md", "b"), ("y", "/far/y/SKILL.md", None)]


# --- what a profile makes of them ---

KNOWN = catalogue.index_skills(
    [
        file("/s/a/SKILL.md", "A"),
        file("/s/b/SKILL.md", "B"),
        file("/s/none/SKILL.md", ""),
        file("/s/no/SKILL.md", None),
    ]
)


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, False),
        ({"loadSkills": [], "suggestedSkills": []}, False),
        ({"loadSkills": ["a"]}, True),
        ({"suggestedSkills": ["a"]}, True),
    ],
)
def test_skills_are_looked_for_only_if_a_profile_names_any(fields: dict[str, Any], *, wanted: bool) -> None:
    assert catalogue.skills_are_wanted(fields) is wanted


@pytest.mark.parametrize(
    ("fields", "resolved"),
    [
        ({"model": "m", "suggestedSkills": []}, {"model": "m", "suggestedSkills": []}),
        (
            {"loadSkills": ["none", "a", "a"]},
            {"appendSystemPrompt": '\n\n<loaded_skill name="a">\nA\n</loaded_skill>'},
        ),
        ({"loadSkills": ["none"], "appendSystemPrompt": "x"}, {"appendSystemPrompt": "x"}),
    ],
)
def test_resolving(fields: dict[str, Any], resolved: dict[str, Any]) -> None:
    before = dict(fields)
    assert catalogue.resolve_skills(fields, KNOWN) == resolved
    assert fields == before


@pytest.mark.parametrize("key", ["suggestedSkills", "loadSkills"])
def test_unknown_and_unreadable_skills_are_refused(key: str) -> None:
    with pytest.raises(BadRequest) as unknown:
        catalogue.resolve_skills({key: ["a", "x", "x", "no"]}, KNOWN)
    assert unknown.value.message == 'Unknown skills: "x". Available skills: a, b, none, no'
    with pytest.raises(BadRequest) as unreadable:
        catalogue.resolve_skills({key: ["a", "no"]}, KNOWN)
    assert unreadable.value.message == 'Could not read skill "no": /s/no/SKILL.md'
    assert {unknown.value.kind, unreadable.value.kind} == {"unknown-skill"}


def test_a_profile_that_names_no_skills_stays_as_it_is() -> None:
    profiles: list[dict[str, Any]] = [{}, {"loadSkills": []}, {"suggestedSkills": [], "model": "m"}]
    for fields in profiles:
        assert catalogue.resolve_skills(fields, {}) == fields
