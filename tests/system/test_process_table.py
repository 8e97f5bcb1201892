"""The table of all processes: parents, marks, roles, listening sockets, hidden descriptors."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from tests.apart import Apart, apart, become_somebody, running, set_dumpable
from tests.harness import eventually
from tmuxagents.system import fault_injection, process, process_table, watcher_lock

if TYPE_CHECKING:
    from tmuxagents.records import ProcessRow

pytestmark = pytest.mark.usefixtures("nothing_hangs")

SLEEP = "/bin/sleep"
MARK = "TMUXAGENTS_RUN"
LISTEN = """
import os, socket, sys, time
kind, path, leads = sys.argv[1:]
if leads == "leads":
    os.setsid()
family = socket.AF_INET if kind == "tcp" else socket.AF_UNIX
made = socket.socket(family)
made.bind(("127.0.0.1", 0) if kind == "tcp" else "\\0" + path if kind == "abstract" else path)
if kind != "bound":
    made.listen()
print(flush=True)
time.sleep(600)
"""


def row_of(pid: int, *, since: int = 0) -> ProcessRow:
    (found,) = [row for row in process_table.table(since=since) if row.pid == pid]
    return found


@pytest.mark.parametrize("every", [2, 3, 5])
def test_reads_that_fail_now_and_then_hide_nobody(sleeper: subprocess.Popen[bytes], every: int) -> None:
    # A leader of a session: its list of sockets takes many reads where many processes listen.
    with running([SLEEP, "60"], env={MARK: "0123456789abcdef"}, start_new_session=True) as leader:

        def look() -> list[str | None]:
            fault_injection.install({fault_injection.VARIABLE: f"read:{every}:EIO"})
            rows = {row.pid: row for row in process_table.table(since=0)}
            assert sleeper.pid in rows
            assert process.start_time(leader.pid) == rows[leader.pid].start_time
            return [rows[leader.pid].marker]

        assert apart(look) == ["0123456789abcdef"]


def test_a_row_tells_who_it_is(sleeper: subprocess.Popen[bytes]) -> None:
    row = row_of(sleeper.pid)
    assert (row.ppid, row.session, row.uid) == (os.getpid(), os.getsid(0), os.getuid())
    assert row.start_time == process.start_time(sleeper.pid)
    assert row.comm == "sleep"
    assert (row.marker, row.role, row.listens) == (None, None, False)


@pytest.mark.parametrize("name", ["a) R 1 (b", "x y", ")", "((", "new\nline", "ümlaut"])
def test_no_name_of_a_program_confuses_the_table(tmp_path: Path, name: str) -> None:
    shutil.copy(SLEEP, tmp_path / name)
    with running([str(tmp_path / name), "600"]) as odd:
        row = row_of(odd.pid)
        assert (row.comm, row.ppid, row.start_time) == (name, os.getpid(), process.start_time(odd.pid))


@pytest.mark.parametrize(
    ("environment", "marker", "role"),
    [
        ({}, None, None),
        ({MARK: "0123456789abcdef"}, "0123456789abcdef", None),
        ({"TMUXAGENTS_ROLE": "watcher"}, None, None),
        ({"A": "1", MARK: "ab", "B": "2", "TMUXAGENTS_ROLE": "watcher", "C": "x" * 100_000}, "ab", None),
        ({"NOT_" + MARK: "ab", "X": f"{MARK}=ab", MARK + "S": "ab", "TASK": f"\n{MARK}=ab"}, None, None),
    ],
)
def test_a_row_tells_marker_and_role(
    environment: dict[str, str], marker: str | None, role: str | None
) -> None:
    with running([SLEEP, "600"], env={"A": "", **environment}) as marked:
        row = row_of(marked.pid)
        assert (row.marker, row.role) == (marker, role)


def test_a_role_is_what_a_process_is_and_not_what_it_says(tmp_path: Path) -> None:
    home = str(tmp_path / "state")
    environment = watcher_lock.surroundings(home, {"PATH": os.environ["PATH"], watcher_lock.IDLE: "600"})
    naps = [sys.executable, "-P", "-c", "import time; time.sleep(600)", *watcher_lock.argv(home)]
    with running(watcher_lock.argv(home), env=environment) as watcher, running(naps, env=environment) as liar:
        eventually(lambda: watcher_lock.holder(home) == (watcher.pid, process.start_time(watcher.pid)))
        assert row_of(watcher.pid).role == "watcher"
        assert row_of(liar.pid).role is None
    for role in ("hook", "x" * 60_000):
        with running([SLEEP, "600"], env={"TMUXAGENTS_ROLE": role}) as liar:  # it is no child of a watcher
            assert row_of(liar.pid).role is None


@pytest.mark.parametrize(
    ("kind", "leads", "expected"),
    [
        ("path", "leads", True),
        ("abstract", "leads", True),
        ("path", "follows", False),
        ("bound", "leads", False),
        ("tcp", "leads", False),
    ],
)
def test_a_row_tells_who_leads_a_session_and_listens(
    tmp_path: Path, kind: str, leads: str, *, expected: bool
) -> None:
    argv = [sys.executable, "-I", "-S", "-c", LISTEN, kind, str(tmp_path / "socket"), leads]
    with running(argv, stdout=subprocess.PIPE) as listener:
        assert listener.stdout
        listener.stdout.readline()
        row = row_of(listener.pid)
        assert row.listens == expected
        assert (row.session == row.pid) == (leads == "leads")


def test_who_becomes_a_program_right_now_has_the_marks_of_that() -> None:
    marks = {MARK: "0123456789abcdef", "TMUXAGENTS_ROLE": "watcher"}
    for _ in range(300):  # the whole table takes longer than that moment
        with running([SLEEP, "600"], env=marks) as marked:
            assert process_table._marks(marked.pid) == ("0123456789abcdef", "watcher")


def test_who_has_an_empty_environment_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(["env", "-i", SLEEP, "600"], env={}) as bare:
        comm = Path(f"/proc/{bare.pid}/comm")
        eventually(lambda: comm.read_text() == "sleep\n" and not process_table._is_starting(bare.pid))
        pauses: list[float] = []
        monkeypatch.setattr(time, "sleep", pauses.append)
        assert process_table._marks(bare.pid) == (None, None)
        assert pauses == []


def test_a_thread_of_the_kernel_is_not_waited_for() -> None:
    kernels = [row for row in process_table.table(since=0) if row.comm == "kthreadd"]
    assert not any(process_table._is_starting(row.pid) for row in kernels)  # none is seen in a container


def test_of_older_processes_only_the_cheap_part_is_read(sleeper: subprocess.Popen[bytes]) -> None:
    with running([SLEEP, "600"], env={MARK: "ab"}) as marked:
        start = row_of(marked.pid).start_time
        assert row_of(marked.pid, since=start).marker == "ab"
        assert row_of(marked.pid, since=start + 1).marker is None
        assert row_of(sleeper.pid, since=start + 1).comm == "sleep"


def test_everybody_is_in_the_table_once() -> None:
    pids = [row.pid for row in process_table.table(since=0)]
    assert len(pids) == len(set(pids))
    assert {1, os.getpid(), os.getppid()} <= set(pids)


def test_processes_that_come_and_go_while_one_looks_do_no_harm() -> None:
    def churn() -> None:
        while True:
            children = [os.posix_spawn("/bin/true", ["true"], {MARK: "ab"}, setsid=True) for _ in range(10)]
            for pid in children:
                os.waitpid(pid, 0)

    churning = Apart(churn)
    seen: set[int] = set()

    deadline = time.monotonic() + 60
    while len(seen) <= 20 and time.monotonic() < deadline:  # without a pause: each lives only for a moment
        seen.update(row.pid for row in process_table.table(since=0) if row.ppid == churning.pid)
    churning.kill()
    assert len(seen) > 20


class Hidden:
    """A process of a user other than root that hides its files in /proc, as ssh-agent does."""

    def __init__(self, *, leads: bool) -> None:
        self._ready, ready = os.pipe()
        self._apart = Apart(lambda: self._be(ready, leads=leads))
        os.close(ready)
        assert os.read(self._ready, 1) == b"r"
        self.pid = self._apart.pid

    @staticmethod
    def _be(ready: int, *, leads: bool) -> None:
        become_somebody()
        if leads:
            os.setsid()
        set_dumpable(dumpable=False)
        os.write(ready, b"r")
        signal.pause()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._apart.kill()
        os.close(self._ready)


@pytest.mark.parametrize("leads", [True, False])
def test_who_hides_and_leads_a_session_passes_for_a_service(*, leads: bool) -> None:
    with Hidden(leads=leads) as hidden, socket.socket(socket.AF_UNIX) as somewhere:
        somewhere.bind(f"\0tmuxagents-edges-{os.getpid()}")
        somewhere.listen()  # so that there is something it could hold

        def act() -> tuple[int, bool, str | None]:
            become_somebody()
            with pytest.raises(PermissionError):
                os.listdir(f"/proc/{hidden.pid}/fd")
            row = row_of(hidden.pid)
            return row.uid - os.getuid(), row.listens, row.marker

        assert apart(act) == (0, leads, None)
