"""Logs of whole lines: what fits is written at once, the rest is counted, a torn line damages no other."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests import obstacles
from tests.apart import apart, file_size, mount_privately, mount_tmpfs
from tests.obstacles import FIFO, FOLDER, LINK
from tmuxagents.runs import directory
from tmuxagents.runs.logs import Appender, knock

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def test_what_is_appended_is_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"before\n")
    appender = Appender(str(path))
    appender.append(b"")
    assert path.read_bytes() == b"before\n"
    appender.append(b"one\n")
    assert path.read_bytes() == b"before\none\n"
    appender.append(b"two\nthree\n")
    appender.close()
    appender.append(b"four\n")
    appender.close()
    assert path.read_bytes() == b"before\none\ntwo\nthree\nfour\n"
    assert appender.lost == 0


@pytest.mark.parametrize(
    ("limit", "expected", "lost"),
    [
        (10, b"aaaaaaaaa\nddd\n", 2),  # no byte of the next line fitted, so no line is torn
        (14, b"aaaaaaaaa\nbbbb\nddd\n", 2),  # a part of it fitted, so the next one starts a new line
        (20, b"aaaaaaaaa\nbbbbbbbbb\nddd\n", 1),  # all of it fitted
        (21, b"aaaaaaaaa\nbbbbbbbbb\nc\nddd\n", 1),
    ],
)
def test_after_a_torn_line_the_next_begins_anew(
    tmp_path: Path, limit: int, expected: bytes, lost: int
) -> None:
    path = tmp_path / "log"

    def act() -> int:
        appender = Appender(str(path))
        with file_size(limit):
            for letter in (b"a", b"b", b"c"):
                appender.append(letter * 9 + b"\n")
        appender.append(b"ddd\n")
        return appender.lost

    assert apart(act) == lost
    assert path.read_bytes() == expected


def test_a_torn_line_that_gets_nothing_but_its_end_is_ended_once(tmp_path: Path) -> None:
    path = tmp_path / "log"

    def act() -> int:
        appender = Appender(str(path))
        with file_size(4):
            appender.append(b"aaaaaa\n")
        with file_size(5):
            appender.append(b"bbbbbb\n")
        appender.append(b"ccc\n")
        return appender.lost

    assert apart(act) == 2
    assert path.read_bytes() == b"aaaa\nccc\n"


def test_a_really_full_disk_costs_lines_and_no_more(tmp_path: Path) -> None:
    line = b"x" * 99 + b"\n"

    def act() -> tuple[int, list[bytes]]:
        mount_privately()
        mount_tmpfs(tmp_path, "64k")
        (tmp_path / "ballast").write_bytes(b"x" * 32768)
        appender = Appender(f"{tmp_path}/log")
        for _ in range(1000):
            appender.append(line)
        lost = appender.lost
        (tmp_path / "ballast").unlink()
        appender.append(b"again\n")
        assert appender.lost == lost
        return lost, directory.read_lines(f"{tmp_path}/log", 0)[0]

    lost, lines = apart(act)
    assert lost > 500
    assert lines[-1] == b"again"
    assert set(lines[:-2]) == {line[:-1]}
    assert len(lines) - 2 == 1000 - lost


@pytest.mark.parametrize("obstacle", [FOLDER, FIFO, LINK])
def test_what_lies_in_the_way_costs_lines_and_blocks_nobody(tmp_path: Path, obstacle: str) -> None:
    path = tmp_path / "log"
    obstacles.put(obstacle, path)

    def act() -> tuple[int, int]:
        appender = Appender(str(path))
        for _ in range(3):
            appender.append(b"line\n")
        lost = appender.lost
        obstacles.take_away(obstacle, path)
        appender.append(b"at last\n")
        return lost, appender.lost

    assert apart(act, 5) == (3, 3)
    assert path.read_bytes() == b"at last\n"


def test_a_folder_that_was_removed_costs_lines_until_it_is_there_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    appender = Appender(f"{folder}/log")
    appender.append(b"old\n")
    shutil.rmtree(folder)
    appender.reopen()
    appender.append(b"lost\n")
    assert appender.lost == 1
    folder.mkdir()
    appender.append(b"new\n")
    appender.close()
    assert (folder / "log").read_bytes() == b"new\n"


def test_it_knows_whether_its_file_is_still_in_place(tmp_path: Path) -> None:
    path = tmp_path / "log"
    appender = Appender(str(path))
    assert appender.is_in_place()  # there is no open file yet
    appender.append(b"one\n")
    assert appender.is_in_place()
    path.rename(tmp_path / "moved")
    assert not appender.is_in_place()
    path.write_bytes(b"another's\n")
    assert not appender.is_in_place()
    path.unlink()
    path.symlink_to(tmp_path / "moved")
    assert not appender.is_in_place()
    path.unlink()
    appender.reopen()
    assert appender.is_in_place()
    appender.append(b"two\n")
    appender.close()
    assert path.read_bytes() == b"two\n"
    assert (tmp_path / "moved").read_bytes() == b"one\n"


def test_after_a_torn_line_and_a_new_file_nothing_is_left_of_the_tear(tmp_path: Path) -> None:
    path = tmp_path / "log"

    def act() -> None:
        appender = Appender(str(path))
        with file_size(3):
            appender.append(b"torn line\n")
        path.rename(tmp_path / "moved")
        appender.reopen()
        appender.append(b"new\n")

    apart(act)
    assert (tmp_path / "moved").read_bytes() == b"tor"
    assert path.read_bytes() == b"new\n"


def test_only_we_can_read_it(tmp_path: Path) -> None:
    Appender(str(tmp_path / "log")).append(b"secret\n")
    assert os.stat(tmp_path / "log").st_mode & 0o777 == 0o600


def test_a_knock_leaves_a_file_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    before = os.stat(path)
    assert knock(str(path))
    after = os.stat(path)
    assert (after.st_mtime_ns, after.st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns)
    assert path.read_bytes() == b"one\n"


@pytest.mark.parametrize("obstacle", [FOLDER, FIFO, LINK])
def test_a_knock_at_what_is_no_file_is_none(tmp_path: Path, obstacle: str) -> None:
    path = tmp_path / "log"
    obstacles.put(obstacle, path)
    assert not apart(lambda: knock(str(path)), 5)


def test_a_knock_makes_no_file(tmp_path: Path) -> None:
    assert not knock(str(tmp_path / "log"))
    assert not (tmp_path / "log").exists()
