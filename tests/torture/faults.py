"""Faults that befall many live runs at once, each by a real provoker: what is done, and to whom.

An act gets a fleet whose children all work. It does the fault, lets half of the runs end under it where that
is the point, puts the machine right again and says so (`fleet.well`). The rest is the fleet's.
"""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness import BOOT, alive, eventually, links_of, stop
from tests.torture.fleet import CLOSED, LOST, NotProvoked, mount
from tmuxagents.registry import database
from tmuxagents.system import process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.torture.fleet import Fleet, Member

    Act = Callable[[Fleet], None]

MOUNTS = ("unshare", "-m") if os.getuid() == 0 else ("unshare", "-Urm")
USER = ("unshare", "-Ur")
SPACE, INODES = "48m", "4000"
_WATCHES = 2


class Fault:
    """One row of the table of faults."""

    def __init__(
        self,
        name: str,
        act: Act,
        *,
        before: Act | None = None,
        prefix: tuple[str, ...] = (),
        wrappers: str = "",
        provoker: str = "real",
    ) -> None:
        self.name = name
        self.act = act
        self.before = before  # done before anything is launched
        self.prefix = prefix  # what the whole case is started by: namespaces of its own
        self.wrappers = wrappers  # TMUXAGENTS_FAULT of all wrappers: then the provoker is the hook
        self.provoker = "hook" if wrappers else provoker


# --- somebody is killed or stopped ---


def kill_watchers(fleet: Fleet) -> None:
    for _ in range(4):
        fleet.kill_watcher()
        for member in fleet.some(0.1, [member for member in fleet.members if not fleet.has_gone(member)]):
            _kill_wrapper(fleet, member)
        time.sleep(fleet.dice.uniform(0.0, 0.2))
        fleet.well()  # and whoever finds a lost run starts a watcher
    fleet.kill_watcher()
    fleet.open("a")
    fleet.well()


def _kill_wrapper(fleet: Fleet, member: Member) -> None:
    process.send(*fleet.wrapper(member), signal.SIGKILL)
    member.harm(LOST)


def kill_wrappers(fleet: Fleet) -> None:
    for member in fleet.some():
        _kill_wrapper(fleet, member)
    fleet.well()


def kill_wrappers_at_any_instant(fleet: Fleet) -> None:
    """Kill them while their children end: the run has ended as planned, or was lost, and nothing between."""
    victims = fleet.behind("a")
    fleet.gate("a").touch()
    for member in victims:
        member.allowed.add(LOST)
        time.sleep(fleet.dice.uniform(0.0, 0.03))
        process.send(*fleet.wrapper(member), signal.SIGKILL)
    fleet.open("a")
    fleet.well()


def kill_children(fleet: Fleet) -> None:
    for member in fleet.some():
        os.kill(fleet.child(member), signal.SIGKILL)
        member.harm(("failed", "signal"))
        eventually(lambda member=member: fleet.has_gone(member), 60)
    fleet.well()


def kill_windows(fleet: Fleet) -> None:
    windows = fleet.windows()
    assert fleet.server is not None
    for member in fleet.some():
        fleet.server.run("kill-window", "-t", windows[member.run_id])
        member.harm(CLOSED)
    _see_them_go(fleet)


def kill_server(fleet: Fleet) -> None:
    assert fleet.server is not None
    fleet.server.run("kill-server")
    _all_closed(fleet)


def murder_server(fleet: Fleet) -> None:
    assert fleet.server is not None
    process.send(fleet.server.pid, fleet.server.started, signal.SIGKILL)
    _all_closed(fleet)


def _all_closed(fleet: Fleet) -> None:
    for member in fleet.members:
        member.harm(CLOSED)
    _see_them_go(fleet)


def _see_them_go(fleet: Fleet) -> None:
    for member in fleet.members:
        if CLOSED in member.stands:
            eventually(lambda member=member: fleet.has_gone(member), 60)
    fleet.well()


def stop_watcher(fleet: Fleet) -> None:
    pid, started = fleet.watcher()
    stop(pid)
    fleet.open("a")
    fleet.well()  # nothing depends on it
    process.send(pid, started, signal.SIGCONT)


def stop_server(fleet: Fleet) -> None:
    assert fleet.server is not None
    stop(fleet.server.pid)
    try:
        fleet.open("a")
        fleet.well()
        refused = fleet.command("launch", f"pid late\nsleep 1\n{fleet.number}")
        if refused.returncode != 3:
            fleet.wrong.append(f"a launch on a stopped server ends with {refused.returncode}")
    finally:
        process.send(fleet.server.pid, fleet.server.started, signal.SIGCONT)
    fleet.server.run("display-message", "-p", "well again")
    if "late" in fleet.home.recorded():
        fleet.wrong.append("a launch that was refused has started a child")


def remove_socket(fleet: Fleet) -> None:
    assert fleet.server is not None
    fleet.server.socket.unlink()
    fleet.open("a")
    process.send(fleet.server.pid, fleet.server.started, signal.SIGUSR1)  # tmux makes it again
    eventually(fleet.server.socket.exists)
    fleet.well()


def kill_launchers(fleet: Fleet) -> None:
    """Kill commands while they launch: each run has begun once, or never, and what began goes its way."""
    begun = {path.name for path in (fleet.home.state / "runs").iterdir()}
    tries = fleet.number
    for number in range(tries):
        task = f"pid extra-{number}\ndone extra"
        with subprocess.Popen(
            ["tmuxagents", "launch", task],
            cwd=fleet.home.project,
            env=fleet.home.environment | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as launcher:
            time.sleep(fleet.dice.uniform(0.05, 0.35))
            launcher.kill()
    fleet.well()
    for half_made in (fleet.home.state / "runs").glob(".new-*"):  # prune removes it when it is an hour old
        shutil.rmtree(half_made)
    extra = {path.name for path in (fleet.home.state / "runs").iterdir()} - begun
    for run_id in extra:
        _check_orphan(fleet, run_id)
    starts = fleet.home.record.read_text().split()
    doubled = [n for n in range(tries) if starts.count(f"extra-{n}") > 1]
    if doubled:
        fleet.wrong.append(f"launches that were killed have started two children: {doubled}")


def _check_orphan(fleet: Fleet, run_id: str) -> None:
    """Stop what waits for a launcher that was killed; else it must have gone its way to its end."""
    done = fleet.command("stop", run_id, "--json")
    result = fleet.home.state / "runs" / run_id / "result.json"
    if done.returncode != 0 or not result.exists():
        fleet.wrong.append(f"a run whose launcher was killed cannot be stopped: {done.stdout[:200]}")
    fleet.forget(run_id)


# --- the state directory ---


def on_a_small_disk(*options: str) -> Act:
    return lambda fleet: mount(
        fleet.home.state, "-t", "tmpfs", "-o", ",".join(("mode=700", *options)), "tmpfs"
    )


def fill_disk(fleet: Fleet) -> None:
    for member in fleet.members:
        member.incomplete = True
    hog = fleet.home.state / "hog"
    with hog.open("wb", buffering=0) as file:
        _until_full(lambda: file.write(b"x" * 4096))
    if os.statvfs(fleet.home.state).f_bavail:
        raise NotProvoked("the small disk does not become full")
    _under_a_full_disk(fleet)
    hog.unlink()
    fleet.well()


def use_up_inodes(fleet: Fleet) -> None:
    for member in fleet.members:
        member.incomplete = True
    hogs = fleet.home.state / "hogs"
    hogs.mkdir()
    _until_full(lambda: tempfile.mkdtemp(dir=hogs))
    _under_a_full_disk(fleet)
    shutil.rmtree(hogs)
    fleet.well()


def _until_full(act: Callable[[], object]) -> None:
    try:
        for _ in range(100_000):
            act()
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return
        raise
    raise NotProvoked("the small disk takes everything")


def _under_a_full_disk(fleet: Fleet) -> None:
    before = set((fleet.home.state / "runs").iterdir())
    refused = fleet.command("launch", "--json", "pid late\ndone late")
    if refused.returncode != 3 or '"no-space"' not in refused.stdout:
        fleet.wrong.append(f"a launch without room ends with {refused.returncode}: {refused.stdout[:200]}")
    made = set((fleet.home.state / "runs").iterdir()) - before
    if made or "late" in fleet.home.recorded():
        fleet.wrong.append(f"a launch without room has made {made}")
    fleet.open("a", until=fleet.has_said_all)


def make_read_only(fleet: Fleet) -> None:
    """Mount the state directory over itself: what is open stays so, nothing more is opened to be written."""
    for member in fleet.members:
        member.incomplete = True
    mount(fleet.home.state, "--bind", str(fleet.home.state))
    mount(fleet.home.state, "-o", "remount,bind,ro")
    refused = fleet.command("launch", "--json", "pid late\ndone late")
    if refused.returncode != 3:
        fleet.wrong.append(f"a launch on a read-only disk ends with {refused.returncode}")
    fleet.open("a", until=fleet.has_said_all)
    if fleet.command("poll", "-A").returncode:
        fleet.wrong.append("poll does not answer on a read-only disk")
    subprocess.run(["umount", str(fleet.home.state)], check=True)
    fleet.well()


def remove_directories(fleet: Fleet) -> None:
    for member in fleet.some(among=fleet.behind("a")):
        member.incomplete, member.stands = True, set()  # it is unknown until its wrapper has made it again
        shutil.rmtree(fleet.folder(member))
    fleet.well()
    fleet.open("a", until=fleet.has_said_all)
    eventually(lambda: all((fleet.folder(m) / "result.json").exists() for m in fleet.behind("a")), 60)


def remove_locks(fleet: Fleet) -> None:
    for member in fleet.some():
        (fleet.folder(member) / "run.lock").unlink()
        wrapper = subprocess.run(  # a second one, which finds the lock free
            [sys.executable, "-I", "-S", str(BOOT), str(fleet.folder(member))],
            env=fleet.home.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=30,
        )
        if wrapper.returncode != 4:
            fleet.wrong.append(f"a second wrapper ends with {wrapper.returncode}")
    fleet.kill_watcher()
    fleet.open("a")
    fleet.well()


# --- the registry ---


def on_registry(damage: Callable[[Path], None]) -> Act:
    def act(fleet: Fleet) -> None:
        path = Path(database.path_of(str(fleet.home.state)))
        eventually(path.exists)
        damage(path)
        fleet.well()
        fleet.open("a")
        fleet.well()

    return act


def _delete(path: Path) -> None:
    for side in ("", "-wal", "-shm"):
        Path(f"{path}{side}").unlink(missing_ok=True)


def _truncate(path: Path) -> None:
    os.truncate(path, 5000)


def _garbage(path: Path) -> None:
    _delete(path)
    path.write_bytes(b"garbage " * 4000)


def _set_version(version: int) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(f"PRAGMA user_version = {version}")

    return damage


def lock_registry(fleet: Fleet) -> None:
    path = database.path_of(str(fleet.home.state))
    locker = sqlite3.connect(path, isolation_level=None)
    locker.execute("BEGIN EXCLUSIVE")
    fleet.open("a")
    time.sleep(3.0)
    locker.execute("ROLLBACK")
    locker.close()
    fleet.well()


# --- limits of the kernel ---


def limit(name: str, value: int) -> Act:
    def before(_: Fleet) -> None:
        try:
            Path(f"/proc/sys/user/{name}").write_text(str(value))
        except OSError as error:
            raise NotProvoked(str(error)) from error

    return before


def without_events(fleet: Fleet) -> None:
    fleet.open("a")
    fleet.well()
    pid, _ = fleet.watcher()
    links = links_of(pid)
    watches = [path.read_text() for path in Path(f"/proc/{pid}/fdinfo").iterdir()]
    if "anon_inode:inotify" in links and sum(text.count("inotify wd:") for text in watches) > _WATCHES:
        raise NotProvoked("the watcher has as many watches as it wants")


def overflow_events(fleet: Fleet) -> None:
    pid, started = fleet.watcher()
    stop(pid)
    queue = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    paths = [fleet.folder(member) / "stderr.log" for member in fleet.members]
    for number in range(queue + 4000):  # in turn, so that the kernel cannot take two for one
        os.close(os.open(paths[number % len(paths)], os.O_WRONLY | os.O_CREAT))
    fleet.open("a")
    process.send(pid, started, signal.SIGCONT)
    fleet.well()
    try:
        eventually(lambda: _complains(fleet, "overflowed"))
    except AssertionError:
        raise NotProvoked("the queue has not overflowed") from None


def _complains(fleet: Fleet, word: str) -> bool:
    return any(word in path.read_text() for path in fleet.home.state.glob("hosts/*/logs/watcher.log*"))


def use_up_descriptors(fleet: Fleet) -> None:
    assert fleet.server is not None
    for member in fleet.members:
        member.incomplete = True
    pids = [fleet.watcher()[0], fleet.server.pid, *(pid for pid, _ in fleet.living().values())]
    with _no_more_descriptors(pids):
        refused = fleet.command("launch", "pid late\ndone late")
        if refused.returncode != 3:
            fleet.wrong.append(
                f"a launch without descriptors ends with {refused.returncode}: {refused.stderr}"
            )
        fleet.open("a", until=fleet.has_said_all)
        time.sleep(1.0)
    fleet.well()
    if "late" in fleet.home.recorded():
        fleet.wrong.append("a launch that was refused has started a child")


@contextmanager
def _no_more_descriptors(pids: list[int]) -> Iterator[None]:
    before = {}
    for pid in pids:
        before[pid] = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        taken = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
        free = next(number for number in range(len(taken) + 1) if number not in taken)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, before[pid][1]))
    yield
    for pid, limits in before.items():
        if alive(pid):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)


REGISTRY = {
    "deleted": _delete,
    "truncated": _truncate,
    "garbage": _garbage,
    "of an older program": _set_version(0),
    "of a newer program": _set_version(99),
}
FAULTS = [
    Fault("nothing at all", lambda fleet: fleet.well()),
    Fault("watcher and some wrappers killed -9", kill_watchers),
    Fault("wrappers killed -9", kill_wrappers),
    Fault("wrappers killed -9 at any instant", kill_wrappers_at_any_instant),
    Fault("children killed -9", kill_children),
    Fault("launchers killed -9 at any instant", kill_launchers),
    Fault("kill-window", kill_windows),
    Fault("kill-server", kill_server),
    Fault("tmux server killed -9", murder_server),
    Fault("socket removed", remove_socket),
    Fault("watcher stopped", stop_watcher),
    Fault("tmux server stopped", stop_server),
    *(Fault(f"registry {name}", on_registry(damage)) for name, damage in REGISTRY.items()),
    Fault("registry locked for seconds", lock_registry),
    Fault("disk full", fill_disk, before=on_a_small_disk(f"size={SPACE}"), prefix=MOUNTS),
    Fault("no more inodes", use_up_inodes, before=on_a_small_disk(f"nr_inodes={INODES}"), prefix=MOUNTS),
    Fault("disk read-only", make_read_only, prefix=MOUNTS),
    Fault("run directories removed", remove_directories),
    Fault("run.lock removed", remove_locks),
    Fault("no inotify", without_events, before=limit("max_inotify_instances", 0), prefix=USER),
    Fault(
        "inotify watches used up", without_events, before=limit("max_inotify_watches", _WATCHES), prefix=USER
    ),
    Fault("inotify queue overflows", overflow_events),
    Fault("too many open files", use_up_descriptors),
]
