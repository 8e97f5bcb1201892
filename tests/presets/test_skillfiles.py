"""Folders of skills on a real disk: which files are found, and which texts nobody should believe."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.apart import NOBODY, apart
from tmuxagents.presets import survey

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def put(path: Path, text: str = "Body.") -> Path:
    for folder in reversed(path.parents):
        if not folder.exists():
            folder.mkdir(mode=0o755)
    path.write_text(text)
    path.chmod(0o644)
    return path


def found(folder: Path, within: Path | None = None) -> dict[str, str | None]:
    """Scan a folder; return the texts by path inside it, in the order in which they come."""
    files = survey.scan(str(folder), None if within is None else str(within))
    return {os.path.relpath(file.path, folder): file.text for file in files}


def test_a_folder_that_is_not_there_has_no_skills(tmp_path: Path) -> None:
    put(tmp_path / "file")
    assert found(tmp_path / "missing") == found(tmp_path / "file") == {}


def test_skills_are_found_by_name_however_deep(tmp_path: Path) -> None:
    for name in ("b/SKILL.md", "a/deep/er/SKILL.md", "a/SKILL.txt", "loose.md", "b/more.md", "b/in/SKILL.md"):
        put(tmp_path / name, name)
    for name in (".hidden/SKILL.md", "node_modules/x/SKILL.md", "a/skill.md", "a/loose.md"):
        put(tmp_path / name)
    assert found(tmp_path) == {name: name for name in ("loose.md", "a/deep/er/SKILL.md", "b/SKILL.md")}


def test_a_file_says_what_it_is_and_in_which_folder(tmp_path: Path) -> None:
    put(tmp_path / "x" / "SKILL.md")
    put(tmp_path / "loose.md")
    assert [(file.folder, file.is_declared) for file in survey.scan(str(tmp_path))] == [
        (tmp_path.name, False),
        ("x", True),
    ]


def test_a_folder_that_is_one_skill_is_not_searched(tmp_path: Path) -> None:
    put(tmp_path / "SKILL.md", "whole")
    put(tmp_path / "x" / "SKILL.md")
    assert found(tmp_path) == {"SKILL.md": "whole"}


def test_links_in_circles_and_very_deep_folders_come_to_an_end(tmp_path: Path) -> None:
    put(tmp_path / "a" / "x" / "SKILL.md")
    (tmp_path / "a" / "round").symlink_to(tmp_path)
    deep = tmp_path / "/".join("d" * 12)
    put(deep / "SKILL.md")
    assert apart(lambda: found(tmp_path), 10) == {"a/x/SKILL.md": "Body."}


def test_a_great_many_folders_come_to_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "_MOST_FOLDERS", 10)
    for number in range(20):
        put(tmp_path / f"s{number:02}" / "SKILL.md")
    assert len(found(tmp_path)) == 9


# --- what is not believed ---


def test_what_is_no_text_file_has_no_text_and_blocks_nobody(tmp_path: Path) -> None:
    for name in ("fifo", "folder", "zero", "large", "odd", "dangling"):
        (tmp_path / name).mkdir(mode=0o755)
    os.mkfifo(tmp_path / "fifo" / "SKILL.md")
    (tmp_path / "folder" / "SKILL.md").mkdir()
    (tmp_path / "zero" / "SKILL.md").symlink_to("/dev/zero")
    (tmp_path / "dangling" / "SKILL.md").symlink_to("nowhere")
    put(tmp_path / "large" / "SKILL.md", "x" * (survey.MOST_BYTES + 1))
    (tmp_path / "odd" / "SKILL.md").write_bytes(b"\xff")
    (tmp_path / "odd" / "SKILL.md").chmod(0o644)
    assert set(apart(lambda: found(tmp_path), 10).values()) == {None}


def test_the_largest_text_is_read_whole(tmp_path: Path) -> None:
    put(tmp_path / "x" / "SKILL.md", "x" * survey.MOST_BYTES)
    assert found(tmp_path) == {"x/SKILL.md": "x" * survey.MOST_BYTES}


@pytest.mark.parametrize("open_to_all", ["x/SKILL.md", "x"])
def test_what_others_could_have_written_has_no_text(tmp_path: Path, open_to_all: str) -> None:
    put(tmp_path / "x" / "SKILL.md")
    assert found(tmp_path) == {"x/SKILL.md": "Body."}
    (tmp_path / open_to_all).chmod(0o777)
    assert found(tmp_path) == {"x/SKILL.md": None}


if os.getuid() == 0:  # only root can make files of another user

    def test_what_belongs_to_another_user_has_no_text(tmp_path: Path) -> None:
        os.chown(put(tmp_path / "x" / "SKILL.md"), NOBODY, NOBODY)
        assert found(tmp_path) == {"x/SKILL.md": None}


def test_a_project_may_link_to_its_own_files_a_user_to_all(tmp_path: Path) -> None:
    secret = put(tmp_path / "home" / "secret", "secret")
    ours = put(tmp_path / "proj" / "shared" / "SKILL.md", "ours")
    folder = tmp_path / "proj" / ".pi" / "skills"
    for name, target in {"out": secret, "in": ours}.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "SKILL.md").symlink_to(target)
    (folder / "outer").symlink_to(tmp_path / "home")
    put(tmp_path / "home" / "SKILL.md", "private")
    linked = {"in/SKILL.md": "ours", "out/SKILL.md": "secret", "outer/SKILL.md": "private"}
    assert found(folder) == linked
    assert found(folder, tmp_path / "proj") == {
        name: "ours" if name == "in/SKILL.md" else None for name in linked
    }


# --- the whole ---


def test_the_nearest_skill_counts_and_the_users_own_come_last(tmp_path: Path) -> None:
    project, home = tmp_path / "proj", tmp_path / "home"
    put(project / ".pi/skills/x/SKILL.md", "project's x")
    put(project / "sub/.agents/skills/x/SKILL.md", "nearer x")
    put(home / ".pi/agent/skills/x/SKILL.md", "user's x")
    put(home / ".pi/agent/skills/y/SKILL.md", "user's y")
    put(home / ".agents/skills/z/SKILL.md", "user's z")
    environment = {"HOME": str(home)}
    near = survey.discover(str(project / "sub"), str(project), environment)
    assert {name: skill.body for name, skill in near.items()} == {
        "x": "nearer x",
        "y": "user's y",
        "z": "user's z",
    }
    assert near["x"].path == str(project / "sub/.agents/skills/x/SKILL.md")
    assert survey.discover(str(project), str(project), environment)["x"].body == "project's x"
    moved = survey.discover(
        str(tmp_path), str(tmp_path), {**environment, "PI_AGENT_DIR": str(tmp_path / "other")}
    )
    assert list(moved) == ["z"]
