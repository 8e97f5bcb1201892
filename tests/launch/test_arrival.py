"""The wait for wrappers that answer late: several windows at once, launches given up, calls cancelled."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually
from tmuxagents.errors import Unusable
from tmuxagents.launch.arrival import heard
from tmuxagents.launch.call import Call
from tmuxagents.launch.launch import Launcher
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.launch.prepare import prepare
from tmuxagents.registry.lookup import Caller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.desk import Desk

_LATE = '#!/bin/sh\nwhile [ ! -e {go} ]; do sleep 0.02; done\nexec {python} "$@"\n'


class Late:
    """A launcher whose wrappers do not begin before `let` is called."""

    def __init__(self, desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.desk = desk
        self._go = folder / "go"
        self.python, python = sys.executable, folder / "python"
        python.write_text(_LATE.format(go=self._go, python=sys.executable))
        python.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(python))
        desk.home.be_watched()
        self.environment = {**desk.home.environment, "TMUXAGENTS_MAX_CONCURRENCY": "3"}
        caller = Caller(self.environment, str(desk.home.project))
        self.launcher = Launcher(caller, self.environment, umask=0o022)

    def let(self) -> None:
        self._go.touch()

    def request(self, task: str) -> LaunchRequest:
        project = str(self.desk.home.project)
        return LaunchRequest(task=task, cwd=project, project=project, agent="pi")

    def call(self, *tasks: str) -> Call:
        return Call(self.launcher, prepare(self.launcher, [self.request(task) for task in tasks]), most=3)

    def windows(self) -> int:
        done = subprocess.run(
            ["tmux", "-S", self.launcher.place.socket, "list-windows", "-a", "-F", "#{@tmuxagents_run}"],
            capture_output=True,
            text=True,
            check=False,
        )
        return len(done.stdout.split())


@pytest.fixture
def late(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Late]:
    """Lend a launcher whose wrappers are late."""
    before = os.umask(0o077)
    yield Late(desk, tmp_path, monkeypatch)
    os.umask(before)


def carried_out(call: Call, look: Callable[[], None], is_cancelled: Callable[[], bool]) -> None:
    def tell() -> float:
        look()
        return time.monotonic() + 0.02

    reading, writing = os.pipe()
    try:
        call.carry_out(tell, reading, is_cancelled)
    finally:
        os.close(reading)
        os.close(writing)


def test_a_call_opens_its_windows_while_none_has_answered_and_never_too_many(late: Late) -> None:
    seen: list[int] = []

    def look() -> None:
        seen.append(late.windows())
        if seen.count(3) > 3:  # so it stays while no wrapper answers
            late.let()

    call = late.call(*(f"done {number}" for number in range(5)))
    carried_out(call, look, lambda: False)
    assert (max(seen[: seen.index(3) + 4]), [task.ended for task in call.tasks]) == (3, [True] * 5)
    outputs = [late.desk.result(task.run_id)["output"] for task in call.tasks]
    assert outputs == [str(number) for number in range(5)]


def test_a_call_that_is_cancelled_before_anybody_answered_starts_nobody(late: Late) -> None:
    call = late.call(*(f"pid started{number}\ndone x" for number in range(4)))
    carried_out(call, lambda: None, lambda: late.windows() == 3)
    how = [late.desk.result(task.run_id) for task in call.tasks]
    assert {(one["status"], one["reason"]) for one in how} == {("aborted", "parent")}
    late.let()
    eventually(lambda: late.windows() == 0)  # nothing else would ever close them
    assert late.desk.home.recorded() == {}
    assert not list(late.desk.home.state.glob("runs/*/*.fifo"))


ENDS = {  # what a window's program does, and what the message says
    "a python that is gone": (None, "with exit code 1: {python} cannot be executed."),
    "its pane is dead": ("echo no room here; sleep 0.3; exit 7", "with exit code 7: no room here"),
    "it is killed": ("kill -9 $$", "its program ended at once"),
    "its window is closed": ("tmux kill-pane -t $TMUX_PANE", "it was closed at once."),
    "its server is killed": ("sleep 0.3; kill -9 $PPID", "server ended at once."),  # once it has answered us
}


@pytest.mark.parametrize("end", list(ENDS))
def test_a_window_that_dies_at_once_is_given_up_at_once_and_says_why(late: Late, end: str) -> None:
    script, words = ENDS[end]
    python = Path(sys.executable)
    prepared = late.launcher.prepare(late.request("done x"))
    socket = late.launcher.place.socket
    Path(socket).parent.mkdir(mode=0o700, exist_ok=True)
    subprocess.run(
        ["tmux", "-S", socket, "new-session", "-d", "-s", "other"], check=True
    )  # outlives the window
    if script is None:
        python.unlink()
    else:
        watcher = f'case "$*" in *_watch.py*) exec {late.python} "$@";; esac'
        python.write_text(f"#!/bin/sh\n{watcher}\n{script}\nsleep 60\n")
    arrival = late.launcher.begin(prepared)
    begun = time.monotonic()
    with pytest.raises(Unusable) as refused:
        arrival.wait()
    assert (
        time.monotonic() - begun < 15
    )  # it was 30; on a machine that is not busy it is a quarter of a second
    assert words.format(python=python) in refused.value.message
    assert (refused.value.kind, refused.value.exit_code) == ("window", 3)
    result = late.desk.result(prepared.plan.run_id)
    assert (result["status"], result["reason"]) == ("failed", "window")
    assert result["errorMessage"] == refused.value.message


def test_who_is_given_up_ends_and_who_came_meanwhile_works_on(late: Late) -> None:
    first, second = (late.launcher.begin(late.launcher.prepare(late.request(f"done {n}"))) for n in (1, 2))
    assert heard([first, second], 0.0) == []
    assert first.give_up("Nobody wanted it any more.") is False
    late.let()
    while not heard([second], 10.0):
        pass
    assert second.give_up("Too late for that.") is True
    results = [late.desk.result(os.path.basename(one.run_dir)) for one in (first, second)]
    assert [(one["status"], one["reason"]) for one in results] == [
        ("failed", "window"),
        ("completed", "done"),
    ]
    assert results[0]["errorMessage"] == "Nobody wanted it any more."
