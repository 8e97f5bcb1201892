"""The bounded log keeps its beginning and its end, with a mark between them; also on a full disk."""

from __future__ import annotations

import os
import random
import shutil
from typing import TYPE_CHECKING

import pytest

from tests import obstacles
from tests.apart import apart, file_size, mount_privately, mount_tmpfs
from tests.obstacles import FIFO, FOLDER, LINK
from tmuxagents.runs import logs
from tmuxagents.runs.logs import RawLog

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")

MB = 1024 * 1024
HEAD, MOST, LEAST_TAIL = 8 * MB, 16 * MB, 4 * MB
STREAM = random.Random(5).randbytes(45 * MB)  # no part of it occurs twice


def same(found: bytes, expected: bytes) -> bool:
    """Compare two texts without printing them: they are megabytes long."""
    return found == expected


def check(path: Path, written: int) -> None:
    """Check what the log keeps of the first `written` bytes of the stream."""
    kept = path.read_bytes()
    assert len(kept) <= MOST
    if written <= MOST:
        assert same(kept, STREAM[:written])
        return
    assert same(kept[:HEAD], STREAM[:HEAD])
    rest = kept[HEAD:]
    assert same(rest[: len(logs.MARK)], logs.MARK)
    tail = rest[len(logs.MARK) :]
    assert LEAST_TAIL <= len(tail) <= 2 * LEAST_TAIL
    assert same(tail, STREAM[written - len(tail) : written])


def test_the_mark_is_a_line_of_its_own_in_words() -> None:
    assert logs.MARK.startswith(b"\n")
    assert logs.MARK.endswith(b"\n")
    assert b"left out" in logs.MARK


@pytest.mark.parametrize("piece", [1 * MB, 3 * MB + 7, 5 * MB, 20 * MB, 45 * MB])
def test_the_beginning_and_the_end_are_kept(tmp_path: Path, piece: int) -> None:
    path = tmp_path / "log"
    log = RawLog(str(path))
    for at in range(0, len(STREAM), piece):
        log.write(STREAM[at : at + piece])
        check(path, min(at + piece, len(STREAM)))
    log.close()
    assert log.lost == 0


def test_lines_of_any_length_make_room_where_it_is_due(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = RawLog(str(path))
    dice = random.Random(6)
    written, due = 0, 0
    while written < 30 * MB:
        length = dice.choice((1, 80, 1000, 4096, 65_536, 300_000))
        log.write(STREAM[written : written + length])
        written += length
        assert path.stat().st_size <= MOST
        if written > due:
            check(path, written)
            due += 2 * MB
    check(path, written)


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_at_the_very_bound(tmp_path: Path, extra: int) -> None:
    path = tmp_path / "log"
    log = RawLog(str(path))
    log.write(STREAM[: MOST + extra])
    check(path, MOST + extra)
    log.write(b"")
    check(path, MOST + extra)
    log.write(STREAM[MOST + extra : MOST + extra + 1])
    check(path, MOST + extra + 1)


def test_a_log_that_is_there_already_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"before\n")
    log = RawLog(str(path))
    log.write(b"after\n")
    log.close()
    log.write(b"closed and opened\n")
    log.close()
    assert path.read_bytes() == b"before\nafter\nclosed and opened\n"


def test_only_we_can_read_it(tmp_path: Path) -> None:
    RawLog(str(tmp_path / "log")).write(b"secret\n")
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


def test_a_write_that_does_not_fit_is_counted_and_the_next_goes_on_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "log"

    def act() -> tuple[int, int]:
        log = RawLog(str(path))
        with file_size(10):
            log.write(b"aaaaa\n")
            log.write(b"bbbbb\n")
            log.write(b"ccccc\n")
        lost = log.lost
        log.write(b"ddddd\n")
        return lost, log.lost

    assert apart(act) == (2, 2)
    assert path.read_bytes() == b"aaaaa\nbbbbddddd\n"


def test_a_really_full_disk_costs_output_and_no_more(tmp_path: Path) -> None:
    def act() -> tuple[int, int, bytes]:
        mount_privately()
        mount_tmpfs(tmp_path, "2m")
        (tmp_path / "ballast").write_bytes(b"x" * MB)
        log = RawLog(f"{tmp_path}/log")
        for at in range(0, 4 * MB, 65_536):
            log.write(STREAM[at : at + 65_536])
        lost = log.lost
        (tmp_path / "ballast").unlink()
        log.write(b"again\n")
        return lost, log.lost, (tmp_path / "log").read_bytes()

    lost, lost_later, kept = apart(act)
    assert lost_later == lost > 40
    assert kept[-6:] == b"again\n"
    assert same(kept[:-6], STREAM[: len(kept) - 6])
    assert len(kept) > MB // 2


@pytest.mark.parametrize("obstacle", [FOLDER, FIFO, LINK])
def test_what_lies_in_the_way_costs_output_and_blocks_nobody(tmp_path: Path, obstacle: str) -> None:
    path = tmp_path / "log"
    obstacles.put(obstacle, path)

    def act() -> int:
        log = RawLog(str(path))
        for _ in range(3):
            log.write(b"line\n")
        return log.lost

    assert apart(act, 5) == 3
    obstacles.take_away(obstacle, path)


def test_without_a_folder_output_is_lost_until_it_is_there(tmp_path: Path) -> None:
    path = tmp_path / "run" / "log"
    log = RawLog(str(path))
    log.write(b"lost\n")
    path.parent.mkdir()
    log.write(b"line\n")
    log.close()
    assert (path.read_bytes(), log.lost) == (b"line\n", 1)


def test_after_its_folder_was_removed_it_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "run" / "log"
    path.parent.mkdir()
    log = RawLog(str(path))
    log.write(STREAM[: 17 * MB])
    shutil.rmtree(path.parent)
    path.parent.mkdir()
    log.reopen()
    log.write(STREAM[: 9 * MB])
    check(path, 9 * MB)
    assert log.lost == 0


def test_a_log_that_its_child_emptied_stays_within_bounds(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = RawLog(str(path))
    log.write(STREAM[: 15 * MB])
    os.truncate(path, 0)
    log.write(STREAM[15 * MB : 40 * MB])
    kept = path.read_bytes()
    assert len(kept) <= MOST
    assert same(kept[-4 * MB :], STREAM[36 * MB : 40 * MB])
    assert log.lost == 0
