"""The folders that scripts fill and remove: of another user none is used, whatever lies in it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.apart import NOBODY, let_in
from tests.project.test_quickstart import PICTURES, QUICKSTART, Newcomer
from tests.tmux.test_foreign_tmux import Impostor

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    made = Newcomer(tmp_path)
    yield made
    made.leave()


@pytest.mark.parametrize(
    ("variable", "mark", "program", "arguments"),
    [
        ("TMUXAGENTS_DEMO_DIR", ".quickstart", QUICKSTART, ()),
        ("TMUXAGENTS_DEMO_DIR", ".quickstart", QUICKSTART, ("--clean",)),
        ("TMUXAGENTS_DEMO_DIR", ".quickstart", PICTURES, ()),
        ("TMUXAGENTS_DEV_DIR", "lock", QUICKSTART, ()),
        ("TMUXAGENTS_DEV_DIR", "lock", QUICKSTART, ("--clean",)),
    ],
)
def test_a_folder_of_another_user_is_neither_used_nor_removed(
    newcomer: Newcomer, variable: str, mark: str, program: Path, arguments: tuple[str, ...]
) -> None:
    theirs = newcomer.folder / "theirs"
    theirs.mkdir()
    (theirs / mark).touch()
    if os.getuid() == 0:
        os.chown(theirs, NOBODY, NOBODY)
    else:
        theirs = Path("/proc/1")
    before = sorted(os.listdir(theirs))
    newcomer.environment[variable] = str(theirs)
    done = newcomer(*arguments, program=program)
    assert done.returncode in (2, 3), done.stderr
    assert str(theirs) in done.stderr
    assert sorted(os.listdir(theirs)) == before


def test_a_tmux_server_of_others_where_the_demos_would_be_is_told_nothing(newcomer: Newcomer) -> None:
    impostor = Impostor(newcomer.folder)
    folder = newcomer.sockets / f"tmux-{os.getuid()}"
    folder.mkdir(parents=True)
    let_in(folder)
    try:
        if os.getuid() == 0:
            for one in (newcomer.sockets, folder):
                os.chown(one, NOBODY, NOBODY)
        else:
            newcomer.sockets.rename(newcomer.folder / "elsewhere")
            newcomer.sockets.symlink_to(newcomer.folder / "elsewhere")
        impostor.pose(folder / "tmuxagents")
        started = newcomer()
        assert (started.returncode, "belongs to somebody else" in started.stderr) == (3, True), started.stderr
        assert newcomer("--clean").returncode == 0
        assert impostor.has_heard_nothing()
    finally:
        impostor.leave()
        if newcomer.sockets.is_symlink():
            newcomer.sockets.unlink()
        shutil.rmtree(newcomer.sockets, ignore_errors=True)
