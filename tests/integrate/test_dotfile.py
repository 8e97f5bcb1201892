"""A person's configuration file: written whole or not at all; links, modes and owners stay."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from tests.apart import apart, become_somebody, file_size, let_in, mount_folder, mount_privately
from tmuxagents.errors import Unusable
from tmuxagents.integrate import disk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_file_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert disk.read(str(tmp_path / "no" / "such")) is None


def test_a_new_file_is_like_any_that_the_person_makes(tmp_path: Path) -> None:
    path = tmp_path / "conf"

    def make() -> None:
        os.umask(0o027)
        disk.replace(str(path), None, b"x\n")

    apart(make)
    assert (path.read_bytes(), mode(path)) == (b"x\n", 0o640)
    assert [entry.name for entry in tmp_path.iterdir()] == ["conf"]


def test_a_new_private_file_is_for_no_other_user(tmp_path: Path) -> None:
    path = tmp_path / "conf"
    disk.replace(str(path), None, b"x\n", private=True)
    assert mode(path) == 0o600
    path.chmod(0o644)
    disk.replace(str(path), b"x\n", b"y\n", private=True)
    assert mode(path) == 0o644  # a person chose this


@pytest.mark.parametrize("wanted", [0o600, 0o644, 0o755, 0o666])
def test_the_mode_stays(tmp_path: Path, wanted: int) -> None:
    path = tmp_path / "conf"
    path.write_bytes(b"old")
    path.chmod(wanted)
    disk.replace(str(path), b"old", b"new")
    assert (path.read_bytes(), mode(path)) == (b"new", wanted)


def test_the_owner_stays(tmp_path: Path) -> None:
    path = tmp_path / "conf"
    path.write_bytes(b"old")
    # Without root, a file can only get one of the user's own groups.
    owner = (1234, 2345) if os.getuid() == 0 else (os.getuid(), os.getgroups()[-1])
    os.chown(path, *owner)
    disk.replace(str(path), b"old", b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == owner


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, path = tmp_path / "dotfiles" / "conf", tmp_path / "conf"
    real.parent.mkdir()
    real.write_bytes(b"old")
    path.symlink_to("dotfiles/conf")
    disk.replace(str(path), disk.read(str(path)), b"new")
    assert path.readlink().name == "conf"
    assert path.is_symlink()
    assert (real.read_bytes(), real.is_symlink()) == (b"new", False)
    disk.replace(str(path), b"new", None)
    assert (path.is_symlink(), real.exists()) == (True, False)


def test_what_somebody_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "conf"
    path.write_bytes(b"theirs")
    for before, after in ((b"old", b"new"), (None, b"new"), (b"old", None)):
        with pytest.raises(Unusable, match="it has just been changed"):
            disk.replace(str(path), before, after)
    assert path.read_bytes() == b"theirs"


def test_a_full_disk_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "conf"
    path.write_bytes(b"old")
    with file_size(10), pytest.raises(Unusable) as raised:
        disk.replace(str(path), b"old", b"x" * 100)
    assert "cannot be used" in raised.value.message
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["conf"]


def test_where_we_may_not_write_the_person_is_told_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    path = folder / "conf"
    path.write_bytes(b"old")
    let_in(tmp_path)

    def write() -> tuple[str, str | None, str]:
        become_somebody()
        with pytest.raises(Unusable) as raised:
            disk.replace(str(path), b"old", b"new")
        return raised.value.message, raised.value.hint, raised.value.kind

    message, hint, kind = apart(write)
    assert message == f"{path} cannot be used: Permission denied."
    assert "--dry-run" in str(hint)
    assert kind == "no-permission"


def test_a_file_that_is_mounted_cannot_be_replaced_and_stays(tmp_path: Path) -> None:
    path, other = tmp_path / "conf", tmp_path / "other"
    for file in (path, other):
        file.write_bytes(b"old")

    def write() -> str:
        mount_privately()
        mount_folder(other, path)
        with pytest.raises(Unusable) as raised:
            disk.replace(str(path), b"old", b"new")
        return raised.value.message

    assert "cannot be used" in apart(write)
    assert (path.read_bytes(), other.read_bytes()) == (b"old", b"old")


@pytest.mark.parametrize("what", ["folder", "fifo"])
def test_something_else_in_its_place_is_refused_and_never_waited_for(tmp_path: Path, what: str) -> None:
    path = tmp_path / "conf"
    if what == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(Unusable, match="cannot be used"):
        disk.read(str(path))
