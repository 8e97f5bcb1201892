"""Preset files as they are written: whole or not at all, over nothing, nowhere where others can write."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from tests.apart import apart
from tmuxagents.presets import disk
from tmuxagents.presets.disk import RefusedFile

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")

TEXT = "---\nname: a\ndescription: d\n---\nBody\n"


class Place:
    """A folder, and files in it."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def put(self, path: str, *, mode: int = 0o644) -> Path:
        made = self.home / path
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(TEXT)
        made.chmod(mode)
        return made


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def modes(*paths: Path) -> list[int]:
    return [stat.S_IMODE(path.stat().st_mode) for path in paths]


@pytest.mark.parametrize(
    ("shared", "expected"), [(False, [0o700, 0o700, 0o600]), (True, [0o755, 0o755, 0o644])]
)
def test_a_new_file_and_its_folders(place: Place, *, shared: bool, expected: list[int]) -> None:
    made = place.home / "new/deep/a.md"
    disk.write_new(str(made), "text é", shared=shared)
    assert made.read_text("utf-8") == "text é"
    assert modes(place.home / "new", place.home / "new/deep", made) == expected


def test_a_file_that_is_there_is_not_written_over(place: Place) -> None:
    path = place.put("p/a.md")
    with pytest.raises(FileExistsError):
        disk.write_new(str(path), "other", shared=False)
    (place.home / "p/b.md").symlink_to(place.home / "target")
    with pytest.raises(FileExistsError):
        disk.write_new(f"{place.home}/p/b.md", "other", shared=False)
    assert path.read_text() == TEXT
    assert not (place.home / "target").exists()


def test_nothing_is_written_where_others_can_write(place: Place) -> None:
    (place.home / "open").mkdir()
    (place.home / "open").chmod(0o777)
    with pytest.raises(RefusedFile):
        disk.write_new(f"{place.home}/open/a.md", "x", shared=False)
    assert os.listdir(place.home / "open") == []


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_file_is_replaced_whole_and_keeps_its_mode(place: Place, mode: int) -> None:
    path = place.put("p/a.md", mode=mode)
    disk.replace(str(path), "other")
    assert (path.read_text(), modes(path)) == ("other", [mode])
    assert os.listdir(path.parent) == ["a.md"]


def test_a_linked_file_is_replaced_where_it_lies(place: Place) -> None:
    path = place.put("p/a.md")
    (place.home / "p/b.md").symlink_to("a.md")
    disk.replace(f"{place.home}/p/b.md", "other")
    assert (path.read_text(), os.readlink(place.home / "p/b.md")) == ("other", "a.md")


def test_a_file_that_cannot_be_replaced_stays_as_it_was(place: Place) -> None:
    path = place.put("p/a.md")

    def act() -> str:
        try:
            disk.replace(str(path), "\ud800")
        except UnicodeEncodeError:
            return path.read_text()
        return "written"

    assert (apart(act), os.listdir(path.parent)) == (TEXT, ["a.md"])


def test_a_file_is_removed(place: Place) -> None:
    path = place.put("p/a.md")
    disk.remove(str(path))
    assert not path.exists()
