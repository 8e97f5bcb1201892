"""Deliberate faults: only the n-th call fails, and a program stays right when a call fails now and then."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.apart import Apart, apart
from tmuxagents.runs import directory, leftovers
from tmuxagents.runs.leftovers import LeftoverScope
from tmuxagents.runs.logs import Appender
from tmuxagents.system import fault_injection, process

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("nothing_hangs")

COMMAND = str(Path(sys.executable).with_name("tmuxagents"))


def under(spec: str, act: Callable[[], object], log: Path | None = None) -> object:
    """Carry out an act in a process of its own, under a fault."""

    def faulty() -> object:
        environment = {
            fault_injection.VARIABLE: spec,
            **({fault_injection.LOG: str(log)} if log else {}),
            "KEPT": "1",
        }
        fault_injection.install(environment)
        assert environment == {"KEPT": "1"}
        return act()

    return apart(faulty)


def test_every_nth_call_fails_and_a_line_is_left(tmp_path: Path) -> None:
    def act() -> list[int | None]:
        codes: list[int | None] = []
        for number in range(7):
            try:
                os.mkdir(tmp_path / str(number))
                codes.append(None)
            except OSError as error:
                codes.append(error.errno)
        return codes

    codes = under("mkdir:3:ENOSPC", act, tmp_path / "log")
    full = errno.ENOSPC
    assert codes == [None, None, full, None, None, full, None]
    assert [line.split()[0] for line in (tmp_path / "log").read_text().splitlines()] == ["mkdir:3:ENOSPC"] * 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "3", "4", "6", "log"]


def test_several_faults_come_together() -> None:
    def act() -> tuple[int, int]:
        failed = {"stat": 0, "listdir": 0}
        for _ in range(6):
            for name in failed:
                try:
                    getattr(os, name)("/")
                except OSError:
                    failed[name] += 1
        return failed["stat"], failed["listdir"]

    assert under("stat:2:EIO,listdir:3:EMFILE", act) == (3, 2)


def test_it_kills_as_kill_9_does(tmp_path: Path) -> None:
    def act() -> None:
        fault_injection.install({fault_injection.VARIABLE: "mkdir:2:KILL"})
        os.mkdir(tmp_path / "a")
        os.mkdir(tmp_path / "b")

    with (
        Apart(act) as one,
        pytest.raises(AssertionError, match=f"ended with {-signal.SIGKILL} and no answer"),
    ):
        one.result()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_the_clock_jumps_and_comes_back() -> None:
    before = time.time()
    looks = under("clock:2:-86400", lambda: [time.time() for _ in range(4)])
    assert isinstance(looks, list)
    assert [round((at - before) / 86400) for at in looks] == [0, -1, -1, 0]


@pytest.mark.parametrize(
    "spec", ["nonsense", "write", "write:0:EIO", "write:x:EIO", "write:1:EWHAT", "clock:1:x"]
)
def test_what_is_no_fault_is_refused_in_one_sentence(tmp_path: Path, spec: str) -> None:
    environment = {fault_injection.VARIABLE: spec, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run([COMMAND, "poll"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert (
        done.stderr == f"tmuxagents: TMUXAGENTS_FAULT knows no fault {spec!r}; write it as write:17:ENOSPC\n"
    )


# --- what stays right -------------------------------------------------------------------------------------


def test_leftovers_are_ended_though_descriptors_run_out_now_and_then() -> None:
    mark = f"{os.getpid():016x}"
    with subprocess.Popen(["sleep", "100"], env={"TMUXAGENTS_RUN": mark}, start_new_session=True) as left:
        begun = process.start_time(left.pid) or 0  # not all our children: other tests use some
        scope = LeftoverScope(run_id=mark, uid=os.getuid(), since=begun)
        spared = under("pidfd_open:2:EMFILE,open:997:EMFILE", lambda: len(leftovers.end(scope)))
        assert spared == 0
        assert left.wait(5) == -signal.SIGTERM


@pytest.mark.parametrize("spec", ["open:1:EMFILE", "fstat:1:EIO", "read:1:EIO"])
def test_what_cannot_be_read_is_not_nothing(tmp_path: Path, spec: str) -> None:
    (tmp_path / directory.WRAPPER).write_text("{}")
    (tmp_path / directory.EVENTS).write_text("{}\n")
    readers: list[Callable[[], object]] = [
        lambda: directory.read_wrapper(str(tmp_path)),
        lambda: directory.read_lines(f"{tmp_path}/{directory.EVENTS}", 0),
    ]

    def raised(read: Callable[[], object]) -> bool:
        try:
            read()
        except OSError:
            return True
        return False

    assert under(spec, lambda: [raised(read) for read in readers]) == [True, True]


def test_what_cannot_be_looked_at_has_not_gone(tmp_path: Path) -> None:
    log = Appender(str(tmp_path / "log"))
    log.append(b"line\n")
    place = directory.place_of(str(tmp_path))

    def look() -> tuple[bool, bool]:
        try:
            whole = directory.is_whole(str(tmp_path), place)
        except OSError:
            whole = True  # nobody can say
        return log.is_in_place(), whole

    assert under("stat:1:EIO", look) == (True, True)
    log.close()
