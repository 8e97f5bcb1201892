"""Folders for files of ours: made where they are missing, gone again where they are empty."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from tmuxagents.edges import ownfolder
from tmuxagents.errors import Unusable

if TYPE_CHECKING:
    from pathlib import Path


def test_what_was_missing_is_made_and_removed_again(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    assert ownfolder.missing(str(deep)) == 3
    ownfolder.make(str(deep), private=True)
    assert (ownfolder.missing(str(deep)), stat.S_IMODE(deep.stat().st_mode)) == (0, 0o700)
    ownfolder.make(str(deep), private=True)
    ownfolder.remove(str(deep), 2)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_stays(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    ownfolder.make(str(deep), private=False)
    (tmp_path / "a" / "mine").touch()
    ownfolder.remove(str(deep), 2)
    assert ownfolder.names(str(tmp_path / "a")) == ["mine"]
    assert ownfolder.names(str(tmp_path / "a" / "mine")) == ownfolder.names(str(deep)) == []


def test_what_is_in_the_way_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    for path in ("a", "a/b"):
        with pytest.raises(Unusable) as refusal:
            ownfolder.make(str(tmp_path / path), private=False)
        assert refusal.value.message.startswith(str(tmp_path / "a"))
