"""Folders for our files: made if they are missing, removed when they are empty."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from tmuxagents.errors import Unusable
from tmuxagents.integrate import disk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def test_what_was_missing_is_made_and_removed_again(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    assert disk.missing(str(deep)) == 3
    disk.make(str(deep), private=True)
    assert (disk.missing(str(deep)), stat.S_IMODE(deep.stat().st_mode)) == (0, 0o700)
    disk.make(str(deep), private=True)
    disk.remove(str(deep), 2)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_stays(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    disk.make(str(deep), private=False)
    (tmp_path / "a" / "mine").touch()
    disk.remove(str(deep), 2)
    assert disk.names(str(tmp_path / "a")) == ["mine"]
    assert disk.names(str(tmp_path / "a" / "mine")) == disk.names(str(deep)) == []


def test_what_is_in_the_way_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    for path in ("a", "a/b"):
        with pytest.raises(Unusable) as refusal:
            disk.make(str(tmp_path / path), private=False)
        assert refusal.value.message.startswith(str(tmp_path / "a"))
