"""Reports of run directories that change, by real inotify, and the faults of watching."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import select
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from watchdog.events import FileClosedEvent

from tests.harness import REPOSITORY, eventually
from tmuxagents.runs import logs
from tmuxagents.runs.logs import Appender
from tmuxagents.watcher import waking
from tmuxagents.watcher.waking import Tail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchdog.events import FileSystemEvent

pytestmark = pytest.mark.usefixtures("nothing_hangs")

A, B = "a" * 16, "b" * 16


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    (folder / A).mkdir(parents=True)
    return folder


@pytest.fixture
def listening(runs: Path) -> Iterator[Tail]:
    made = Tail(str(runs))
    assert made.check() is None
    assert not made.deaf
    yield made
    made.close()


def rings(handle: int, limit_s: float = 5.0) -> bool:
    return bool(select.select([handle], [], [], limit_s)[0])


def hears(listening: Tail, *names: str) -> None:
    heard: set[str] = set()

    def has() -> bool:
        heard.update(listening.changed())
        return heard == set(names)

    eventually(has)
    while rings(listening.soon, 0.2):  # making a file and writing it are two events
        assert listening.changed() <= set(names)


def test_a_change_is_told_by_the_name_of_its_run(listening: Tail, runs: Path) -> None:
    (runs / A / "events.jsonl").write_text("{}\n")
    assert rings(listening.soon)
    hears(listening, A)
    assert not rings(listening.soon, 0.1)
    with (runs / A / "events.jsonl").open("a") as file:
        file.write("{}\n")
    hears(listening, A)


def test_what_is_written_is_told_when_the_file_is_closed(listening: Tail, runs: Path) -> None:
    with (runs / A / "events.jsonl").open("ab", buffering=0) as file:
        hears(listening, A)  # it was made
        for _ in range(1000):
            file.write(b"{}\n")
        assert not rings(listening.soon, 0.2)
    hears(listening, A)


def test_the_kernel_is_asked_for_nothing_that_comes_with_each_line(listening: Tail) -> None:
    (handle,) = inotify_handles()
    watches = Path(f"/proc/self/fdinfo/{handle}").read_text().split("inotify wd:")[1:]
    masks = [int(re.findall(" mask:([0-9a-f]+)", watch)[0], 16) for watch in watches]
    created, moved, closed_after_writing, left = 0x100, 0xC0, 0x8, 0x400
    wanted = created | moved | closed_after_writing | left
    assert [mask & 0xFFF for mask in masks] == [wanted] * 2  # the folder of all runs, and that of one
    assert not listening.deaf


def test_a_log_is_heard_after_a_silence_and_not_while_it_goes_on(
    listening: Tail, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "QUIET_S", 1e9)
    log = Appender(f"{runs}/{A}/events.jsonl", knocks=True)
    told = count_events(monkeypatch)
    log.append(b"{}\n")
    hears(listening, A)
    for _ in range(1000):
        log.append(b"{}\n")
    assert not rings(listening.soon, 0.2)
    assert told == ["FileCreatedEvent", "FileClosedEvent"]
    monkeypatch.setattr(logs, "QUIET_S", 0.0)
    log.append(b"{}\n")
    hears(listening, A)
    log.close()


def count_events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    told: list[str] = []
    dispatch = waking._Ears.dispatch

    def counted(ears: waking._Ears, event: FileSystemEvent) -> None:
        told.append(type(event).__name__)
        dispatch(ears, event)

    monkeypatch.setattr(waking._Ears, "dispatch", counted)
    return told


def test_a_log_that_nobody_is_to_hear_of_is_not_heard(listening: Tail, runs: Path) -> None:
    log = Appender(f"{runs}/{A}/transcript.log")
    log.append(b"one\n")
    hears(listening, A)  # it was made
    log.append(b"two\n")
    assert not rings(listening.soon, 0.2)
    log.close()


def test_a_knock_is_heard(listening: Tail, runs: Path) -> None:
    (runs / A / "events.jsonl").write_text("{}\n")
    hears(listening, A)
    assert logs.knock(f"{runs}/{A}/events.jsonl")
    hears(listening, A)


def test_a_result_does_not_wait_for_the_next_round(listening: Tail, runs: Path) -> None:
    (runs / A / ".result.json.new").write_text("{}")
    assert rings(listening.soon)
    assert not rings(listening.now, 0.1)
    (runs / A / ".result.json.new").rename(runs / A / "result.json")
    assert rings(listening.now)
    hears(listening, A)


def test_a_run_that_appears_whole_is_told_with_what_is_written_to_it_later(
    listening: Tail, runs: Path
) -> None:
    (runs / ".new").mkdir()
    (runs / ".new" / "meta.json").write_text("{}")
    (runs / ".new").rename(runs / B)
    eventually(lambda: B in listening.changed())

    def is_heard() -> bool:
        with (runs / B / "events.jsonl").open("a") as log:
            log.write("{}\n")
        return rings(listening.soon, 0.2) and B in listening.changed()

    eventually(is_heard)  # its own watch is made a moment after it has appeared


def test_reading_and_removing_is_no_change(listening: Tail, runs: Path) -> None:
    (runs / A / "meta.json").write_text("{}")
    hears(listening, A)
    (runs / A / "meta.json").read_text()
    (runs / A / "meta.json").chmod(0o400)
    (runs / A / "meta.json").unlink()
    assert not rings(listening.soon, 0.3)


def test_many_changes_ring_once_until_they_are_asked_for(listening: Tail, runs: Path) -> None:
    for number in range(50):
        (runs / A / str(number)).write_text("")
    hears(listening, A)
    (runs / A / "last").touch()
    (runs / A / "events.jsonl").write_text("{}\n")
    assert rings(listening.soon)
    assert not rings(listening.now, 0.2)
    assert os.eventfd_read(listening.soon) == 1


def test_a_folder_behind_a_link_is_watched(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(runs)
    through = Tail(str(tmp_path / "link"))
    assert through.check() is None
    (runs / A / "events.jsonl").write_text("{}\n")
    hears(through, A)
    through.close()


def test_a_folder_that_comes_later_is_watched_then(tmp_path: Path) -> None:
    early = Tail(str(tmp_path / "runs"))
    assert (early.check(), early.deaf) == (None, True)
    (tmp_path / "runs" / A).mkdir(parents=True)
    assert (early.check(), early.deaf) == (None, False)
    (tmp_path / "runs" / A / "events.jsonl").write_text("{}\n")
    hears(early, A)
    early.close()


@pytest.mark.parametrize("how", ["removed", "moved away"])
def test_a_folder_that_was_replaced_is_watched_again(
    listening: Tail, runs: Path, tmp_path: Path, how: str
) -> None:
    if how == "removed":
        (runs / A).rmdir()
        runs.rmdir()
    else:
        runs.rename(tmp_path / "away")
    assert (listening.check(), listening.deaf) == (None, True)
    (runs / A).mkdir(parents=True)
    listening.check()
    listening.changed()
    (runs / A / "events.jsonl").write_text("{}\n")
    eventually(lambda: A in listening.changed())


def test_one_folder_needs_one_instance_and_gives_it_back(listening: Tail, runs: Path) -> None:
    for number in range(20):
        (runs / f"{number:016x}").mkdir()
    eventually(lambda: len(listening.changed()) > 0)
    assert instances() == 1
    threads = threading.active_count()
    for _ in range(3):
        runs.rename(runs.with_name("away"))
        runs.with_name("away").rename(runs.with_name("away2"))
        runs.mkdir()
        listening.check()
        runs.with_name("away2").rename(runs.with_name(f"{os.urandom(4).hex()}"))
    eventually(lambda: instances() == 1)
    eventually(lambda: threading.active_count() == threads)
    listening.mistrust()
    assert instances() == 0


def instances() -> int:
    return len(inotify_handles())


def inotify_handles() -> list[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # a thread beside us has closed it
            found += [name] * ("inotify" in os.readlink(f"/proc/self/fd/{name}"))
    return found


def test_a_thread_of_watchdogs_that_died_is_noticed(
    listening: Tail, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    watching = listening._watching
    assert watching is not None
    watching._observer.event_queue.put("rubbish")
    eventually(lambda: not all(thread.is_alive() for thread in watching._threads))
    assert (listening.check(), listening.deaf) == (None, False)
    listening.changed()
    (runs / A / "events.jsonl").write_text("{}\n")
    hears(listening, A)


def test_the_ear_survives_what_it_cannot_understand(listening: Tail, runs: Path) -> None:
    for path in (b"bytes", "", "/", str(runs), "\udcff"):
        listening._ears.dispatch(FileClosedEvent(path))
    listening.changed()
    (runs / A / "events.jsonl").write_text("{}\n")
    hears(listening, A)


def test_who_is_mistrusted_is_tried_again_later(
    listening: Tail, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listening.mistrust()
    assert (listening.check(), listening.deaf) == (None, True)
    monkeypatch.setattr(waking, "AGAIN_S", 0.0)
    listening.mistrust()
    assert (listening.check(), listening.deaf) == (None, False)
    listening.changed()
    (runs / A / "events.jsonl").write_text("{}\n")
    hears(listening, A)


def test_what_watchdog_complains_of_is_a_doubt(listening: Tail) -> None:
    assert listening.doubts() is None
    logging.getLogger("watchdog.observers.inotify_c").warning("Inotify queue overflowed")
    assert listening.doubts() == "Inotify queue overflowed"
    assert listening.doubts() is None


@pytest.mark.parametrize(("limit", "value"), [("max_inotify_instances", 0), ("max_inotify_watches", 0)])
def test_a_machine_without_inotify_is_said_once_and_tried_again(runs: Path, limit: str, value: int) -> None:
    steps = (
        "from tmuxagents.watcher.waking import Tail",
        f"t = Tail({str(runs)!r})",
        "print(t.check(), t.check(), t.deaf, sep='\\n')",
        f"open('/proc/sys/user/{limit}', 'w').write('100')",
        "t._again_at = 0",
        "print(t.check(), t.deaf)",
    )
    act = "; ".join(steps)
    limited = f"echo {value} > /proc/sys/user/{limit} && exec {sys.executable} -c {_quoted(act)}"
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", limited], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    why, *rest = done.stdout.splitlines()
    assert "cannot be watched" in why
    assert rest == ["None", "True", "None False"]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
