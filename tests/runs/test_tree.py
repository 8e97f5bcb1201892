"""Real processes: a run's leftovers are ended wherever they are; processes in use are spared."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.apart import NOBODY, apart, running
from tests.harness import REPOSITORY, eventually
from tmuxagents.runs import leftovers
from tmuxagents.runs.leftovers import LeftoverScope
from tmuxagents.system import process, process_table, watcher_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

pytestmark = pytest.mark.usefixtures("nothing_hangs")

MARK, ROLE = "TMUXAGENTS_RUN", "TMUXAGENTS_ROLE"
OTHER_RUN = "fedcba9876543210"
PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
SYS_EXIT = {"x86_64": 60, "aarch64": 93}

LISTEN = """
import os, socket, sys, time
book, path, leads, nap = sys.argv[1:]
if leads == "leads":
    os.setsid()
made = socket.socket(socket.AF_UNIX)
made.bind(path)
made.listen()
if os.fork() == 0:
    book += "-below"
with open(book, "w") as file:
    print(os.getpid(), file=file)
time.sleep(float(nap))
"""


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


class Family:
    """The processes of one test. Each writes its number into a file of its name, and then naps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run_id = secrets.token_hex(8)
        self.nap = f"600.{secrets.randbelow(10**9):09}"  # only this family naps exactly so long
        self.marked = {**PATH, MARK: self.run_id}
        self.naps = f"sleep {self.nap} & wait"  # for a shell that stays and receives signals
        self._own: list[int] = []

    def scope(
        self,
        since: int,
        *,
        wrapper: int | None = None,
        child: tuple[int, int] | None = None,
        keep: bool = False,
    ) -> LeftoverScope:
        """Return the selection of this run's processes."""
        return LeftoverScope(
            run_id=self.run_id, uid=os.getuid(), wrapper=wrapper, child=child, keep=keep, since=since
        )

    def line(self, name: str, then: str | None = None, *, first: str = ":") -> str:
        """Return the script of a process: it runs `first` before it writes its number."""
        return f"{first}; echo $$ >{self.folder}/{name}; {then or f'exec sleep {self.nap}'}; : {self.nap}"

    def found(
        self,
        name: str,
        *before: str,
        first: str = ":",
        then: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start a process and wait until it is there; `before`: the command that starts its shell."""
        argv = [*before, "/bin/sh", "-c", self.line(name, then, first=first)]
        self._own.append(os.posix_spawnp(argv[0], argv, self.marked if environment is None else environment))
        self.wait(name)

    def found_stopped(self, name: str) -> None:
        self.found(name, then="kill -STOP $$")
        eventually(lambda: state(self.wait(name)) == "T")

    def found_listener(self, name: str, leads: str, environment: Mapping[str, str]) -> None:
        """Start a process that listens on a unix socket, and a child of it."""
        book, socket = str(self.folder / name), str(self.folder / f"{name}.socket")
        argv = [sys.executable, "-I", "-S", "-c", LISTEN, book, socket, leads, self.nap]
        self._own.append(os.posix_spawn(argv[0], argv, environment))
        self.wait(name)
        self.wait(f"{name}-below")

    def found_watcher(self, name: str, environment: Mapping[str, str]) -> None:
        """Start a real watcher with a state directory of its own."""
        home = f"{self.folder}-{name}/{self.nap}"
        idle = {**PATH, **environment, watcher_lock.IDLE: "600"}
        argv = watcher_lock.argv(home)
        pid = os.posix_spawn(argv[0], argv, {**idle, **watcher_lock.surroundings(home, idle)})
        self._own.append(pid)
        (self.folder / name).write_text(f"{pid}\n")
        eventually(lambda: watcher_lock.holder(home))

    def found_forked(self, name: str, act: Callable[[], None]) -> None:
        """Fork this process."""
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                act()
            os._exit(1)
        self._own.append(pid)
        (self.folder / name).write_text(f"{pid}\n")

    def wait(self, name: str) -> int:
        """Wait until a process has written its number; return the number."""
        path = self.folder / name
        return int(eventually(lambda: path.exists() and path.read_text().strip()))

    def living(self) -> set[str]:
        """Return the names of the processes that live."""
        return {name for name, pid in self._books().items() if pid.isdigit() and self._is_ours(int(pid))}

    def stopped(self) -> set[str]:
        return {name for name in self.living() if state(self.wait(name)) == "T"}

    def _books(self) -> dict[str, str]:
        return {path.name: path.read_text().strip() for path in self.folder.iterdir() if path.is_file()}

    def _is_ours(self, pid: int) -> bool:
        """Say whether this process lives and is of the family: another process may have the number by now."""
        if process.start_time(pid) is None:
            return False
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            return self.nap.encode() in words or not words or pid in self._own
        return False

    def name_of(self, pid: int) -> str:
        return next((name for name, text in self._books().items() if text == str(pid)), f"stranger {pid}")

    def end_all(self) -> None:
        """End the processes that a test has left: those with known numbers, and those with our mark."""
        numbers = {self.wait(name) for name in self.living()}
        for row in process_table.table(since=0):
            if row.pid in numbers or row.marker == self.run_id:
                process.send(row.pid, row.start_time, signal.SIGKILL)
        for pid in self._own:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    folder = tmp_path / "family"
    folder.mkdir()
    made = Family(folder)
    yield made
    made.end_all()


class Ended:
    """What was spared, and how long the end took."""

    def __init__(self, spared: dict[str, str], seconds: float) -> None:
        self.spared = spared
        self.seconds = seconds


def end_as_wrapper(
    family: Family, grow: Callable[[], None], *, keep: bool = False, hard: bool = False
) -> Ended:
    """Act as a wrapper in a process of its own: start the family below it, then end what is left."""

    def act() -> Ended:
        process.become_subreaper()
        me = process.myself()
        grow()
        scope = family.scope(me.start_time, wrapper=me.pid, keep=keep)
        begun = time.monotonic()
        spared = leftovers.end(scope, hard=hard)
        seconds = time.monotonic() - begun
        return Ended({family.name_of(one.pid): one.why for one in spared}, seconds)

    return apart(act, 30)


# --- descendants --------------------------------------------------------------------------------------------


def test_all_below_are_ended_wherever_they_went(family: Family) -> None:
    def grow() -> None:
        family.found("child")
        family.found("session", "setsid")
        family.found("background", "nohup")
        family.found("stranger", "env", "-i", "setsid")
        family.found("parent", then=f"(/bin/sh -c '{family.line('grandchild')}') & wait")
        family.found("gone", then=f"setsid /bin/sh -c '{family.line('orphan')}' & exit 0")
        family.found_stopped("stopped")
        for name in ("grandchild", "orphan"):
            family.wait(name)
        everybody = {
            "child",
            "session",
            "background",
            "stranger",
            "parent",
            "grandchild",
            "orphan",
            "stopped",
        }
        eventually(lambda: family.living() == everybody)  # "gone" leaves after its orphan has come

    ended = end_as_wrapper(family, grow)
    assert ended.spared == {}
    assert ended.seconds < 1.5  # all exited when they were asked
    assert family.living() == set()


def test_who_is_founded_while_the_table_is_read_by_one_that_then_leaves_is_ended(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = family.folder / "gate"
    waits = f"until [ -e {gate} ]; do sleep 0.02; done"
    listing = os.listdir

    def list_slowly(path: str) -> list[str]:
        """List the processes; before anything else is read of them, the parent founds another and leaves."""
        found = listing(path)
        if path == "/proc" and not gate.exists():
            gate.touch()
            family.wait("late")
            eventually(lambda: "parent" not in family.living())
        return found

    def grow() -> None:
        family.found("parent", then=f"{waits}; setsid /bin/sh -c '{family.line('late')}' & exit 0")
        monkeypatch.setattr(os, "listdir", list_slowly)

    assert end_as_wrapper(family, grow).spared == {}
    assert gate.exists()
    assert family.living() == set()


def test_nothing_left_takes_no_time(family: Family) -> None:
    ended = end_as_wrapper(family, lambda: None)
    assert ended.spared == {}
    assert ended.seconds < 0.5


def test_who_was_asked_has_two_seconds_to_leave_and_so_have_its_heirs(family: Family) -> None:
    bye, last_words = family.folder / "bye", family.folder / "last-words"

    def grow() -> None:
        family.found("polite", first=f"trap 'echo bye >{bye}; exit' TERM", then=family.naps)
        family.found("stubborn", "setsid", first="trap '' TERM HUP INT", then=f"{family.naps}; wait")
        family.found("deaf", first="trap '' TERM")
        heir = f"env -i setsid /bin/sh -c '{family.line('heir')}'"
        last_words.write_text(f"trap '' TERM; {heir} & exit")  # the heir stays, too, when it is asked
        family.found("testator", first=f"trap '. {last_words}' TERM", then=family.naps)

    ended = end_as_wrapper(family, grow)
    assert bye.read_text() == "bye\n"
    assert family.wait("heir") > 0
    assert 2.0 <= ended.seconds < 3.5
    assert ended.spared == {}
    assert family.living() == set()


def test_who_had_its_time_is_killed_at_once(family: Family) -> None:
    bye = family.folder / "bye"

    def grow() -> None:
        family.found("polite", first=f"trap 'echo bye >{bye}; exit' TERM", then=family.naps)
        family.found("deaf", "setsid", first="trap '' TERM")

    ended = end_as_wrapper(family, grow, hard=True)
    assert ended.seconds < 1
    assert family.living() == set()
    assert not bye.exists()


def test_a_program_whose_first_thread_has_ended_is_ended_too(family: Family) -> None:
    def threaded() -> None:
        threading.Thread(target=signal.pause).start()
        ctypes.CDLL(None).syscall(SYS_EXIT[os.uname().machine], 0)  # of this thread alone

    def grow() -> None:
        family.found_forked("threaded", threaded)
        pid = family.wait("threaded")
        eventually(lambda: state(pid) == "Z")
        assert len(os.listdir(f"/proc/{pid}/task")) == 2

    def act() -> list[str]:
        process.become_subreaper()
        me = process.myself()
        grow()
        pid = family.wait("threaded")
        leftovers.end(family.scope(me.start_time, wrapper=me.pid))
        left = os.listdir(f"/proc/{pid}/task")
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return left

    assert len(apart(act)) < 2


# --- carriers of the marker, wherever they are --------------------------------------------------------------


def test_carriers_of_the_marker_are_ended_with_all_below_them(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "TERM_S", 60.0)  # nothing makes it wait
    since = process.myself().start_time
    family.found("bystander", environment=PATH)
    family.found("carrier", "setsid")
    family.found("parent", then=f"env -i /bin/sh -c '{family.line('unmarked')}' & wait")
    family.wait("unmarked")
    family.found("other-run", "setsid", environment={**PATH, MARK: OTHER_RUN})
    begun = time.monotonic()
    spared = leftovers.end(family.scope(since))
    assert time.monotonic() - begun < 9
    assert spared == []  # processes that have nothing to do with the run are not listed as spared
    assert family.living() == {"bystander", "other-run"}


def test_carriers_from_before_the_run_are_not_of_it(family: Family) -> None:
    family.found("older")
    since = process.start_time(family.wait("older"))
    assert since is not None
    scope = family.scope(since + 1)
    assert leftovers.end(scope) == []
    assert family.living() == {"older"}
    assert leftovers.end(family.scope(since)) == []
    assert family.living() == set()


CONCLUDE = """
import os, sys
from tmuxagents.runs import leftovers as tree
run_id, wrapper, nap = sys.argv[1:]
child = os.posix_spawn("/bin/sleep", ["sleep", nap], os.environ)
above = os.getpid() if wrapper == "wrapper" else None
scope = tree.LeftoverScope(run_id=run_id, uid=os.getuid(), wrapper=above)
if wrapper != "wrapper":
    tree.freeze(scope)
spared = tree.end(scope)
print(len(spared), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize("who", ["wrapper", "concluder"])
def test_nobody_ends_himself_though_he_carries_the_marker(family: Family, who: str) -> None:
    argv = [sys.executable, "-c", CONCLUDE, family.run_id, who, family.nap]
    with running(argv, env=family.marked, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as ending:
        out, _ = ending.communicate(timeout=20)
    assert out.split() == ["0", str(-signal.SIGTERM)]


# --- the run's own child, where its wrapper is gone ---------------------------------------------------------


def test_the_child_of_a_lost_run_is_ended_with_its_session_whatever_it_listens_on(family: Family) -> None:
    since = process.myself().start_time
    family.found_listener("child", "leads", family.marked)
    family.found_listener("service", "leads", family.marked)
    pid = family.wait("child")
    started = process.start_time(pid)
    assert started is not None
    spared = leftovers.end(family.scope(since, child=(pid, started)))
    assert [family.name_of(one.pid) for one in spared] == ["service"]
    assert family.living() == {"service", "service-below"}


def test_what_an_ended_child_left_in_its_session_is_ended_without_any_marker(family: Family) -> None:
    since = process.myself().start_time
    left = f"env -i /bin/sh -c '{family.line('left')}' & "
    family.found("child", "setsid", then=f"{left} kill -STOP $$")
    family.wait("left")
    pid = family.wait("child")
    started = process.start_time(pid)
    assert started is not None
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: process.start_time(pid) is None)
    assert family.living() == {"left"}
    leftovers.end(family.scope(since, child=(pid, started)))
    assert family.living() == set()


def test_who_has_the_number_of_the_child_by_now_is_left_alone_with_his_session(family: Family) -> None:
    since = process.myself().start_time
    family.found("stranger", "setsid", then=f"/bin/sh -c '{family.line('below')}' & wait", environment=PATH)
    family.wait("below")
    pid = family.wait("stranger")
    started = process.start_time(pid)
    assert started is not None
    assert leftovers.end(family.scope(since, child=(pid, started - 1))) == []
    assert family.living() == {"stranger", "below"}


# --- frozen -------------------------------------------------------------------------------------------------


def test_all_that_is_left_is_stopped_and_what_is_spared_goes_on(family: Family) -> None:
    since = process.myself().start_time
    family.found("parent", then=f"/bin/sh -c '{family.line('below')}' & wait")
    family.wait("below")
    family.found("stubborn", "setsid", first="trap '' TERM HUP INT CONT")
    family.found_listener("service", "leads", family.marked)
    family.found("bystander", environment=PATH)
    scope = family.scope(since)
    leftovers.freeze(scope)
    eventually(lambda: family.stopped() == {"parent", "below", "stubborn"})
    leftovers.end(scope, hard=True)
    assert family.living() == {"service", "service-below", "bystander"}


def test_who_founds_others_for_ever_does_not_keep_it_from_ending(family: Family) -> None:
    since = process.myself().start_time
    family.found("founder", "setsid", then=f"while :; do setsid sleep {family.nap} & sleep 0.01; done")
    scope = family.scope(since)
    leftovers.freeze(scope)
    leftovers.end(scope)
    assert family.living() == set()
    assert [row.pid for row in process_table.table(since=since) if row.marker == family.run_id] == []


# --- what is spared -----------------------------------------------------------------------------------------


def test_services_and_other_runs_and_all_below_them_are_spared(family: Family) -> None:
    def grow() -> None:
        family.found_listener("service", "leads", family.marked)
        family.found_listener("no-service", "follows", family.marked)
        family.found_watcher("watcher", {})
        family.found_watcher("marked-watcher", family.marked)
        for name, environment in {
            "other-run": {**PATH, MARK: OTHER_RUN},
            "liar": {**family.marked, ROLE: "watcher"},
        }.items():
            below = f"env {MARK}={family.run_id} /bin/sh -c '{family.line(f'below-{name}')}'"
            family.found(name, "setsid", then=f"{below} & wait", environment=environment)
            family.wait(f"below-{name}")
        family.found("leader", "setsid")

    ended = end_as_wrapper(family, grow)
    service = "is a service: it leads its own session and listens on a unix socket"
    assert ended.spared == {
        "service": service,
        "other-run": f"belongs to run {OTHER_RUN}",
        "watcher": "is a watcher of tmuxagents",
        "marked-watcher": "is a watcher of tmuxagents",
    }
    assert family.living() == {
        *("service", "service-below", "other-run", "below-other-run", "watcher", "marked-watcher"),
    }
    assert ended.seconds < 1.5


@pytest.mark.parametrize("as_wrapper", [True, False])
def test_a_tmux_server_that_a_child_started_is_spared_with_its_windows(
    family: Family, *, as_wrapper: bool
) -> None:
    socket = family.folder / "socket"
    tmux = ["tmux", "-f", "/dev/null", "-S", str(socket)]

    def grow() -> None:
        window = ["/bin/sh", "-c", family.line("window")]  # as words, so that no login shell is involved
        subprocess.run([*tmux, "new-session", "-d", *window], env=family.marked, check=True, timeout=10)
        asked = [*tmux, "display-message", "-p", "#{pid}"]
        server = subprocess.run(asked, env=PATH, check=True, capture_output=True, text=True, timeout=10)
        (family.folder / "server").write_text(server.stdout)
        family.wait("window")
        family.found("tool", "setsid")

    try:
        if as_wrapper:
            spared = end_as_wrapper(family, grow).spared
        else:
            grow()
            left = leftovers.end(family.scope(process.myself().start_time))
            spared = {family.name_of(one.pid): one.why for one in left}
        assert spared == {"server": "is a service: it leads its own session and listens on a unix socket"}
        assert family.living() >= {"window"}
        assert "tool" not in family.living()
        answer = subprocess.run(
            [*tmux, "list-panes", "-a", "-F", "#{pane_pid}"], capture_output=True, timeout=10, check=True
        )
        assert int(answer.stdout) == family.wait("window")
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True, timeout=10)
    eventually(lambda: process.start_time(family.wait("server")) is None)


def test_whoever_is_to_be_kept_is_kept_and_named_once(family: Family) -> None:
    def grow() -> None:
        family.found("parent", then=f"/bin/sh -c '{family.line('below')}' & wait")
        family.wait("below")
        family.found("session", "setsid")
        family.found("stranger", "env", "-i", "setsid")
        family.found_listener("service", "leads", family.marked)

    ended = end_as_wrapper(family, grow, keep=True, hard=True)
    service = ended.spared.pop("service")
    assert service.startswith("is a service")
    assert ended.spared == dict.fromkeys(("parent", "session", "stranger"), "is kept in the background")
    assert family.living() == {"parent", "below", "session", "stranger", "service", "service-below"}


if os.getuid() == 0:  # only root can have children of another user

    def test_a_process_of_another_user_is_spared(family: Family) -> None:
        def somebody() -> None:
            os.setuid(NOBODY)
            os.execv("/bin/sleep", ["sleep", family.nap])

        def grow() -> None:
            family.found_forked("somebody", somebody)
            pid = family.wait("somebody")
            eventually(lambda: Path(f"/proc/{pid}/comm").read_text() == "sleep\n")

        assert end_as_wrapper(family, grow).spared == {"somebody": "belongs to another user"}
        assert family.living() == {"somebody"}


# --- asked, not ended ---------------------------------------------------------------------------------------


def test_all_are_asked_once_and_nobody_is_waited_for(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "TERM_S", 60.0)
    since = process.myself().start_time
    asked = family.folder / "asked"
    family.found("stubborn", first=f"trap 'echo asked >>{asked}' TERM", then="while :; do sleep 0.02; done")
    family.found("leaves", "setsid")
    family.found_stopped("stopped")
    family.found_listener("service", "leads", family.marked)
    begun = time.monotonic()
    leftovers.ask(family.scope(since))
    assert time.monotonic() - begun < 15
    eventually(asked.exists)
    eventually(lambda: family.living() == {"stubborn", "service", "service-below"})
    assert asked.read_text() == "asked\n"
