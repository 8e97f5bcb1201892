"""Permanent removal: all that a child has built at a path, and nothing else."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.apart import apart, at_once, become_somebody, let_in
from tmuxagents.system import removal

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def filled(folder: Path) -> Path:
    """Return a folder with all that can lie in one."""
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").write_bytes(b"x" * 100)
    (folder / "file").write_bytes(b"x" * 11)
    (folder / ".hidden").write_bytes(b"")
    os.mkfifo(folder / "fifo")
    (folder / "dangling").symlink_to("/nonexistent")
    return folder


def test_a_folder_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    folder = filled(tmp_path / "run")
    assert removal.size(str(folder)) == 111
    removal.remove(str(folder))
    assert list(tmp_path.iterdir()) == []


def test_a_file_or_nothing_is_removed_the_same_way(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"xyz")
    assert removal.size(str(file)) == 3
    for _ in range(2):
        removal.remove(str(file))
    assert list(tmp_path.iterdir()) == []
    assert removal.size(str(file)) == 0


def test_no_link_is_followed(tmp_path: Path) -> None:
    theirs = filled(tmp_path / "theirs")
    before = removal.size(str(theirs))
    folder = filled(tmp_path / "run")
    (folder / "a" / "link").symlink_to(theirs)
    (folder / "link").symlink_to(theirs)
    (tmp_path / "link").symlink_to(theirs)
    assert removal.size(str(folder)) == 111
    removal.remove(str(folder))
    removal.remove(str(tmp_path / "link"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["theirs"]
    assert removal.size(str(theirs)) == before


def test_neither_depth_nor_length_of_paths_is_a_limit(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d" * 100, dir_fd=here)
        handle = os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=here)
        os.close(handle)
        deeper = os.open("d" * 100, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    removal.size(str(folder))
    removal.remove(str(folder))
    assert list(tmp_path.iterdir()) == []


def test_modes_that_forbid_it_are_taken_away(tmp_path: Path) -> None:
    let_in(tmp_path)
    open_ = tmp_path / "open"
    open_.mkdir()
    open_.chmod(0o777)

    def act() -> list[str]:
        become_somebody()
        folder = filled(open_ / "run")
        for path in (folder / "a" / "b", folder / "a", folder):
            path.chmod(0)
        removal.remove(str(folder))
        return os.listdir(open_)

    assert apart(act) == []


def test_many_may_remove_the_same_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for number in range(300):
        filled(folder / str(number))
    at_once([partial(removal.remove, str(folder)) for _ in range(3)])
    assert list(tmp_path.iterdir()) == []


def test_what_takes_too_long_is_given_up_and_can_be_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = filled(tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr(removal, "_LIMIT_S", -1.0)
        with pytest.raises(OSError, match="filled again and again"):
            removal.remove(str(folder))
    assert folder.exists()
    removal.remove(str(folder))
    assert list(tmp_path.iterdir()) == []


def test_hidden_it_is_whole_and_under_another_name(tmp_path: Path) -> None:
    folder = filled(tmp_path / "0123456789abcdef")
    hidden = removal.hide(str(folder))
    assert hidden.startswith(f"{tmp_path}/.removing-0123456789abcdef-")
    assert not folder.exists()
    assert removal.size(hidden) == 111
    with pytest.raises(FileNotFoundError):
        removal.hide(str(folder))
