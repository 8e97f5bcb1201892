"""The watcher's lock and start: many callers start one watcher, which is detached from all of them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.apart import apart, at_once
from tests.harness import PATH, REPOSITORY, eventually
from tmuxagents.system import process, watcher_lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

pytestmark = pytest.mark.usefixtures("nothing_hangs")

ENVIRONMENT = {"PATH": PATH, watcher_lock.IDLE: "60"}


class State:
    """A state directory, and whoever watches over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = str(folder)

    @property
    def lock(self) -> Path:
        return self.folder / "hosts" / process.host() / watcher_lock.LOCK

    @property
    def log(self) -> Path:
        return self.folder / "hosts" / process.host() / "logs" / watcher_lock.LOG

    def ensure(self, **more: str) -> bool:
        return watcher_lock.ensure(self.home, ENVIRONMENT | more)

    def watcher(self) -> int:
        found: tuple[int, int] = eventually(lambda: watcher_lock.holder(self.home))
        return found[0]

    def is_free(self) -> bool:
        held = watcher_lock.take(self.home)
        if held is not None:
            os.close(held)
        return held is not None

    def end(self) -> None:
        while not self.is_free():
            found = watcher_lock.holder(self.home)
            if found is not None:
                process.send(*found, signal.SIGKILL)
                process.wait_gone(*found, 5)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    made = State(tmp_path / "state")
    yield made
    made.end()


def environment_of(pid: int) -> dict[str, str]:
    entries = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(entry.split("=", 1) for entry in entries if entry)


def test_one_of_many_that_look_at_once_starts_the_watcher(state: State) -> None:
    assert sum(at_once([state.ensure] * 20)) == 1
    pid = state.watcher()
    assert not state.ensure()
    assert state.watcher() == pid


def test_the_lock_is_held_from_the_first_look_on(state: State) -> None:
    assert state.ensure()
    assert not state.is_free()
    state.watcher()
    assert not state.is_free()


def test_a_watcher_belongs_to_nobody(state: State, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    of_others = {
        "TMUXAGENTS_RUN": "a" * 16,
        "PI_SUBAGENTS_CHILD": "1",
        "TMUXAGENTS_OWNER": "me",
        "KEY": "secret",
    }
    of_others |= {"TMUX": "/x,1,0", "TMUX_PANE": "%1", "PYTHONPATH": "/nowhere"}
    kept = {"HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": "/x", "PI_AGENT_DIR": "/agent"}
    monkeypatch.chdir(tmp_path)
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)  # noqa: FBT003  (its only form)
    assert state.ensure(**of_others, **kept)
    os.close(writing)
    pid = state.watcher()
    assert os.read(reading, 1) == b""  # nobody else has its other end
    assert os.getsid(pid) == pid
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    eventually(lambda: os.readlink(f"/proc/{pid}/fd/2") == str(state.log))
    assert {os.readlink(f"/proc/{pid}/fd/{number}") for number in (0, 1)} == {"/dev/null"}
    seen = environment_of(pid)
    assert kept.items() <= seen.items()
    assert (seen["TMUXAGENTS_ROLE"], seen["TMUXAGENTS_HOME"]) == ("watcher", state.home)
    assert not of_others.keys() & seen.keys()
    os.close(reading)


def test_a_watcher_is_no_child_of_who_started_it_and_leaves_no_zombie(state: State) -> None:
    def act() -> tuple[bool, int, list[str]]:
        started = state.ensure()
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        return started, os.getpid(), children

    started, pid, children = apart(act)
    assert (started, children) == (True, [])
    ancestors = [int(Path(f"/proc/{state.watcher()}/stat").read_text().rpartition(")")[2].split()[1])]
    assert pid not in ancestors


def test_a_wrapper_that_is_everybodys_reaper_gets_no_watcher_for_a_child(state: State) -> None:
    def act() -> list[str]:
        process.become_subreaper()
        process.become_subreaper(on=False)
        state.ensure()
        state.watcher()
        return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()

    assert apart(act) == []


def test_a_second_watcher_leaves_with_0_and_touches_nothing(state: State) -> None:
    state.ensure()
    first = state.watcher()
    second = subprocess.run(watcher_lock.argv(state.home), env=ENVIRONMENT, check=False, timeout=20)
    assert second.returncode == 0
    assert state.watcher() == first
    assert watcher_lock.holder(state.home) == (first, process.start_time(first))


@pytest.mark.parametrize("what", ["lock", "folder", "state directory"])
def test_a_watcher_whose_lock_was_removed_leaves_so_that_another_can_be_the_one(
    state: State, what: str
) -> None:
    state.ensure()
    pid = state.watcher()
    started = process.start_time(pid)
    assert started is not None
    if what == "lock":
        state.lock.unlink()
    else:
        gone = state.folder if what == "state directory" else state.folder / "hosts"
        gone.rename(gone.with_name("removed"))
    assert process.wait_gone(pid, started, 10)
    assert state.ensure()
    assert state.watcher() != pid


def test_a_dead_holder_is_none(state: State) -> None:
    state.ensure()
    pid = state.watcher()
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: watcher_lock.holder(state.home) is None)
    assert state.lock.read_text().startswith(f"{pid} ")
    state.lock.write_text("rubbish here\n")
    assert watcher_lock.holder(state.home) is None


def test_a_handed_descriptor_that_is_no_lock_is_not_believed(state: State, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("")
    with (tmp_path / "other").open() as other:
        assert watcher_lock.adopt(state.home, other.fileno()) is None
    assert watcher_lock.adopt(state.home, 999) is None
    held = watcher_lock.take(state.home)
    assert held is not None
    adopted = watcher_lock.adopt(state.home, held)
    assert adopted is not None
    os.close(held)
    assert not state.is_free()
    os.close(adopted)
    assert state.is_free()


def test_the_lock_of_a_file_that_was_replaced_is_not_taken(state: State) -> None:
    held = watcher_lock.take(state.home)
    assert held is not None
    assert watcher_lock.holds(state.home, held)
    state.lock.unlink()
    assert not watcher_lock.holds(state.home, held)
    assert state.is_free()
    os.close(held)


def broken_home(folder: Path) -> Mapping[str, str]:
    (folder / "state").write_text("a file")
    return {}


def broken_interpreter(folder: Path) -> Mapping[str, str]:
    return {"executable": str(folder / "no-python")}


@pytest.mark.parametrize("how", [broken_home, broken_interpreter])
def test_a_machine_that_cannot_have_a_watcher_gets_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: object
) -> None:
    assert callable(how)
    for name, value in how(tmp_path).items():
        monkeypatch.setattr(sys, name, value)
    state = State(tmp_path / "state")
    state.ensure()
    if how is broken_interpreter:
        eventually(state.is_free)
    else:
        assert not state.ensure()


def test_who_may_write_nothing_starts_nothing(tmp_path: Path) -> None:
    def act() -> bool:
        os.setuid(65534)
        return watcher_lock.ensure(str(tmp_path / "state"), ENVIRONMENT)

    tmp_path.chmod(0o700)
    assert apart(act) is False


def test_the_package_beside_the_boot_file_is_the_one_that_runs(state: State, tmp_path: Path) -> None:
    other = tmp_path / "site" / "tmuxagents"
    shutil.copytree(REPOSITORY / "tmuxagents", other, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "site" / "json.py").write_text(
        "raise SystemExit(9)\n"
    )  # nothing beside it hides Python's own
    seen = tmp_path / "seen"
    (other / "watcher" / "run.py").write_text(
        "def main(arguments):\n"
        "    import json, sys, watchdog, tmuxagents\n"
        f"    open({str(seen)!r}, 'w').write(' '.join([tmuxagents.__file__, *arguments]))\n"
    )
    subprocess.run(
        [sys.executable, "-P", str(other / "_watch.py"), state.home], env=ENVIRONMENT, check=True, timeout=20
    )
    assert seen.read_text() == f"{other}/__init__.py {state.home}"


def test_the_log_is_bounded_and_its_last_part_is_kept(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    def act() -> list[int]:
        watcher_lock.settle(state.home)
        for number in range(30):
            os.write(2, b"%03d" % number + b"x" * 997)
            watcher_lock.bound_log(state.home)
        return [number for number in (0, 1, 2) if os.get_inheritable(number)]

    monkeypatch.setattr(watcher_lock, "_MOST_LOG", 10_000)
    assert apart(act) == [0, 1, 2]
    kept = [state.log.with_name(f"{state.log.name}.1"), state.log]
    assert sorted(path.name for path in state.log.parent.iterdir()) == sorted(path.name for path in kept)
    assert all(path.stat().st_size <= 11_000 and path.stat().st_mode & 0o777 == 0o600 for path in kept)
    assert b"029" in b"".join(path.read_bytes() for path in kept)


def test_a_look_at_a_lock_that_is_held_starts_no_process(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = watcher_lock.take(state.home)
    assert held is not None
    monkeypatch.setattr(process, "spawn", partial(pytest.fail, "a process was started"))
    assert not state.ensure()
    os.close(held)
