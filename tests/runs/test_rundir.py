"""Reading a run directory: a damaged document counts as missing, and no file there blocks the reader."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import obstacles
from tests.apart import NOBODY, Apart, apart
from tests.harness import eventually
from tests.obstacles import FIFO, FOLDER, HUGE, LINK, NOTHING
from tests.runs.run_files import RESULT, WRAPPER, read_meta
from tmuxagents.runs import directory, writing
from tmuxagents.runs.logs import Appender

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("nothing_hangs")

DOCUMENTS: dict[str, Callable[[str], object]] = {
    directory.META: read_meta,
    directory.RESULT: directory.read_result,
    directory.WRAPPER: directory.read_wrapper,
}


def test_no_file_of_another_user_is_read(run_dir: str) -> None:
    written = {
        directory.META: {"runId": os.path.basename(run_dir)},
        directory.RESULT: RESULT,
        directory.WRAPPER: WRAPPER,
    }
    for name, document in written.items():
        path = Path(run_dir, name)
        path.write_text(f"{json.dumps(document)}\n")
        assert DOCUMENTS[name](run_dir) == document
        assert directory.read_lines(str(path), 0)[1] == path.stat().st_size
        os.chown(path, NOBODY, NOBODY)
        assert DOCUMENTS[name](run_dir) is None
        assert directory.read_lines(str(path), 0) == ([], 0)


@pytest.mark.parametrize("obstacle", [NOTHING, FOLDER, FIFO, LINK, HUGE])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_is_none_is_none(run_dir: str, name: str, obstacle: str) -> None:
    obstacles.put(obstacle, Path(run_dir, name))

    def act() -> tuple[object, float, int]:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begun = time.monotonic()
        read = DOCUMENTS[name](run_dir)
        took = time.monotonic() - begun
        return read, took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak

    read, took, kilobytes = apart(act)
    assert read is None
    assert took < 5
    assert kilobytes < 20_000


GARBAGE = {
    "empty": b"",
    "torn": b'{"status":"completed","reason":"do',
    "null": b"null",
    "list": b'[{"status":"completed","reason":"done"}]',
    "nul bytes": b"\0" * 5000,
    "no text": b"\xff\xfe\xfd{}",
    "deep": b"[" * 100_000,
    "deep in an object": b'{"a":' * 100_000,
    "a long figure": b'{"status":"completed","reason":"done","n":' + b"1" * 10_000 + b"}",
    "two documents": b"{}\n{}",
}


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_garbage_is_none(run_dir: str, name: str, garbage: str) -> None:
    Path(run_dir, name).write_bytes(GARBAGE[garbage])
    assert DOCUMENTS[name](run_dir) is None


NO_STATUS: list[Any] = ["running", "queued", "Completed", "", None, 1, ["completed"], {}]
NO_REASON: list[Any] = [None, 1, ["done"]]


@pytest.mark.parametrize(
    "changes", [*({"status": word} for word in NO_STATUS), *({"reason": word} for word in NO_REASON)]
)
def test_a_result_that_does_not_say_how_it_ended_is_none(run_dir: str, changes: dict[str, Any]) -> None:
    path = Path(run_dir, directory.RESULT)
    path.write_text(json.dumps(RESULT))
    assert directory.read_result(run_dir) == RESULT
    path.write_text(json.dumps(RESULT | changes))
    assert directory.read_result(run_dir) is None


def test_a_run_that_is_a_link_is_read(run_dir: str) -> None:
    writing.write_result(run_dir, RESULT)
    os.symlink(run_dir, f"{run_dir}-linked")  # as a project links its runs
    assert directory.read_result(f"{run_dir}-linked") == RESULT


def test_an_identity_is_whole_or_none() -> None:
    found = directory.identity_of(WRAPPER)
    assert found is not None
    assert (found.host, found.boot_id, found.pid_namespace, found.pid, found.start_time) == (
        "h",
        "b",
        3,
        4,
        5,
    )
    assert directory.identity_of(None) is None
    never: list[Any] = [None, True, 4.0, [4], {}]
    for key in ("host", "bootId", "pidNamespace", "pid", "startTime"):
        for wrong in [*never, 4 if isinstance(WRAPPER[key], str) else "4"]:
            assert directory.identity_of({**WRAPPER, key: wrong}) is None, (key, wrong)
        assert directory.identity_of({k: v for k, v in WRAPPER.items() if k != key}) is None, key


def test_bytes_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "file"
    content = random.Random(1).randbytes(3_000_000)
    path.write_bytes(content)
    assert directory.read_bytes(str(path)) == content
    assert directory.read_bytes(str(path), limit=3_000_000) == content
    assert directory.read_bytes(str(path), limit=2_999_999) is None
    path.write_bytes(b"")
    assert directory.read_bytes(str(path)) == b""


@pytest.mark.parametrize("obstacle", [NOTHING, FOLDER, FIFO, LINK])
def test_what_is_no_file_has_no_bytes_and_no_lines(tmp_path: Path, obstacle: str) -> None:
    path = tmp_path / "file"
    obstacles.put(obstacle, path)
    assert apart(lambda: directory.read_lines(str(path), 0), 3) == ([], 0)
    assert apart(lambda: directory.read_bytes(str(path)), 3) is None


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
@pytest.mark.parametrize("limit", [None, 1000])
def test_a_device_has_no_bytes_and_no_lines(device: str, limit: int | None) -> None:
    assert apart(lambda: directory.read_lines(device, 0), 3) == ([], 0)

    def act() -> bytes | None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))  # so that no test can fill the memory
        return directory.read_bytes(device, limit=limit)

    assert apart(act, 2) is None


def test_a_fifo_that_somebody_fills_is_not_drunk(run_dir: str) -> None:
    path = f"{run_dir}/{directory.RESULT}"
    os.mkfifo(path)

    def fill() -> None:
        with open(path, "wb", buffering=0) as file, contextlib.suppress(BrokenPipeError):
            while True:
                file.write(b"x" * 65536)

    filling = Apart(fill)
    try:
        with open(path, "rb", buffering=0) as held:  # so that the other process has a reader
            assert held.read(1) == b"x"
            assert apart(lambda: directory.read_result(run_dir), 3) is None
    finally:
        filling.kill()


def test_lines_come_whole_at_any_split(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    text = b"{}\n\n\r\n\xe2\x80\xa8\x85\x0b\0\xff\nb\ntorn"
    expected = text.split(b"\n")[:-1]
    for first in range(len(text) + 1):
        for second in range(first, len(text) + 1):
            found: list[bytes] = []
            offset = 0
            for end in (first, second, len(text)):
                path.write_bytes(text[:end])
                lines, offset = directory.read_lines(str(path), offset)
                found += lines
            assert (found, offset) == (expected, len(text) - len(b"torn"))


def test_lines_of_a_file_that_shrank_or_vanished_are_none(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo\n")
    assert directory.read_lines(str(path), 4) == ([b"two"], 8)
    for offset in (8, 9, 10_000):
        assert directory.read_lines(str(path), offset) == ([], offset)
    path.unlink()
    assert directory.read_lines(str(path), 4) == ([], 4)


def test_lines_are_followed_while_they_are_written(tmp_path: Path) -> None:
    path = str(tmp_path / "lines")
    wanted = [b"%d %s" % (number, b"x" * (number % 3000)) for number in range(2000)]

    def write() -> None:
        appender = Appender(path)
        for number, line in enumerate(wanted):
            if number == 1000:
                eventually((tmp_path / "seen").exists)
            appender.append(line + b"\n")

    writing = Apart(write)
    found: list[bytes] = []
    offset = 0
    deadline = time.monotonic() + 20
    while len(found) < len(wanted) and time.monotonic() < deadline:
        lines, offset = directory.read_lines(path, offset)
        found += lines
        if found:
            (tmp_path / "seen").touch()
    writing.result()
    assert found == wanted


@pytest.mark.parametrize("most", [1, 2, 7, 1000])
def test_a_long_log_is_read_in_pieces_of_whole_lines(tmp_path: Path, most: int) -> None:
    log = tmp_path / "log"
    lines = [b"x" * length for length in (0, 1, 5, 300, 2)]
    log.write_bytes(b"\n".join(lines) + b"\ntorn")
    read, offset = [], 0
    while piece := directory.read_lines(str(log), offset, most):
        some, offset = piece
        if not some:
            break
        read += some
    assert (read, offset) == (lines, log.stat().st_size - len("torn"))


def test_the_place_of_a_file_is_its_own(run_dir: str) -> None:
    first, second = Path(run_dir, "first"), Path(run_dir, "second")
    first.touch()
    second.symlink_to(first)
    assert directory.place_of(str(first)) not in (None, directory.place_of(str(second)))
    os.link(first, f"{run_dir}/third")
    assert directory.place_of(f"{run_dir}/third") == directory.place_of(str(first))
    assert directory.place_of(f"{run_dir}/none") is None


def test_the_prompt_is_opened_as_a_file_that_can_be_read_to_its_end(run_dir: str) -> None:
    Path(run_dir, directory.PROMPT).write_bytes(b"do it")
    handle = directory.open_prompt(run_dir)
    assert os.get_blocking(handle)
    assert not os.get_inheritable(handle)
    assert os.read(handle, 100) == b"do it"
    os.close(handle)


@pytest.mark.parametrize("obstacle", [NOTHING, FOLDER, FIFO, LINK])
def test_what_is_no_prompt_is_an_error_and_blocks_nobody(run_dir: str, obstacle: str) -> None:
    obstacles.put(obstacle, Path(run_dir, directory.PROMPT))

    def act() -> int:
        before = len(os.listdir("/proc/self/fd"))
        with pytest.raises(OSError, match=directory.PROMPT):
            directory.open_prompt(run_dir)
        return len(os.listdir("/proc/self/fd")) - before

    assert apart(act, 5) == 0
