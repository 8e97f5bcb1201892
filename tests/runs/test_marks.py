"""Marks of files: a mark stays the same while a file is not touched, and every change gives another one."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually
from tmuxagents.runs import marks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def test_a_mark_is_the_same_as_long_as_nobody_writes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert marks.mark_of(str(log)) is None
    log.write_text("one")
    seen = {marks.mark_of(str(log)), marks.mark_of(str(log))}
    log.write_text("three")
    seen.add(marks.mark_of(str(log)))
    (tmp_path / "new").write_text("three")
    (tmp_path / "new").rename(log)
    seen.add(marks.mark_of(str(log)))
    assert len(seen) == 3


def test_a_written_file_cannot_be_made_to_look_untouched(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one")
    before, facts = marks.mark_of(str(log)), log.stat()

    def forged() -> bool:
        log.write_text("two")
        os.utime(log, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        return marks.mark_of(str(log)) != before

    eventually(forged)  # two changes within one tick of the clock look alike
    assert log.stat().st_mtime_ns == facts.st_mtime_ns


CHANGES: dict[str, Callable[[Path], object]] = {
    "a name comes": lambda folder: (folder / "new").touch(),
    "a name goes": lambda folder: (folder / "old").unlink(),
    "a file is put over another": lambda folder: (folder / "other").rename(folder / "old"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_folder_is_known_until_a_name_comes_or_goes(tmp_path: Path, change: Callable[[Path], None]) -> None:
    for name in ("old", "other"):
        (tmp_path / name).write_text("x")
    before = marks.mark_of(str(tmp_path))
    assert before is not None
    (tmp_path / "old").write_text("longer")
    assert marks.mark_of(str(tmp_path)) == before
    eventually(lambda: time.time_ns() > before[3] + 50_000_000)
    change(tmp_path)
    assert marks.mark_of(str(tmp_path)) != before


def test_a_folder_that_changes_right_now_is_not_settled(tmp_path: Path) -> None:
    mark = marks.mark_of(str(tmp_path))
    assert mark is not None
    assert not marks.is_reliable(mark)
    assert marks.is_reliable((*mark[:3], mark[3] - marks.RELIABLE_AFTER_NS))


def test_of_both_marks_each_counts() -> None:
    one, other = (1, 2, 3, 4), (1, 2, 3, 5)
    words = {marks.joined(folder, file) for folder in (one, other, None) for file in (one, other, None)}
    assert len(words) == 9
