"""The tmux edge, only the real one: servers that start, end, stop."""

from __future__ import annotations

import concurrent.futures
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.apart import at_once
from tests.harness import eventually
from tests.terminal import Terminal
from tests.tmux.worlds import SEEN, Real, an_order, home, new_run
from tmuxagents import tmux
from tmuxagents.system import process
from tmuxagents.tmux.clients import Client
from tmuxagents.tmux.servers import ServerLife

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def open_one(path: str, **more: Any) -> tuple[str, str]:
    """Open a window; return its run and its session."""
    run_id = new_run()
    return run_id, tmux.Tmux(path).windows.open(an_order(run_id), home(**more)).session


def test_32_first_launches_at_once_lose_nothing(nowhere: str) -> None:
    opened = at_once([partial(open_one, nowhere)] * 32)
    assert len({session for _, session in opened}) == 1
    assert set(tmux.Tmux(nowhere).windows.all()) == {run for run, _ in opened}


def test_the_last_window_may_close_while_another_opens(nowhere: str) -> None:
    ours = tmux.Tmux(nowhere)
    run_id = new_run()
    opened = ours.windows.open(an_order(run_id), home())
    for _ in range(20):
        assert ours.windows.close_pane(opened.pane, run_id)  # and with it session and server
        run_id = new_run()
        opened = ours.windows.open(an_order(run_id), home())
        assert ours.windows.find(run_id) is not None


def test_a_command_that_ends_at_once_is_no_error(nowhere: str) -> None:
    for _ in range(10):
        run_id = new_run()
        tmux.Tmux(nowhere).windows.open(an_order(run_id, ["/bin/true"]), home())
        assert tmux.Tmux(nowhere).windows.find(run_id) is not None


def test_a_stopped_server_is_unanswered_in_time_and_what_it_does_later_does_no_harm(real: Real) -> None:
    run_id, late = new_run(), new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    client = Client(name="/dev/pts/0", session="$0", window="@0", pane="%0", control=False)
    asked: list[Callable[[], object]] = [
        partial(tmux.Tmux(f"{real.socket}").windows.open, an_order(late), home()),
        partial(real.tmux.windows.find, run_id),
        real.tmux.windows.all,
        partial(real.tmux.windows.set_state, opened.window, run_id, "completed"),
        partial(real.tmux.windows.close_ended, opened.window, late),
        real.tmux.identity,
        real.tmux.clients.all,
        partial(real.tmux.clients.show, "/dev/pts/0", "@0", session="$0", run_id=run_id),
        partial(real.tmux.clients.hand_over, client, socket=real.socket, session="view-x"),
        partial(real.tmux.status.push, {"status": "x"}),
        partial(real.tmux.options.read, "status-right"),
        partial(real.tmux.options.write, "@x", "y" * 100_000),
    ]
    real.tmux.windows.find(run_id)  # libtmux is imported
    real.stopped = True
    with concurrent.futures.ThreadPoolExecutor(len(asked)) as side_by_side:
        took = list(side_by_side.map(seconds_until_unanswered, asked))
    assert max(took) < 5.9
    real.stopped = False
    eventually(lambda: real.tmux.windows.find(late))
    assert real.tmux.windows.find(run_id) is not None


def seconds_until_unanswered(ask: Callable[[], object]) -> float:
    began = time.monotonic()
    with pytest.raises(tmux.Unanswered):
        ask()
    return time.monotonic() - began


def test_a_server_that_is_killed_is_told_from_one_that_is_out_of_reach(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    os.unlink(real.socket)
    with pytest.raises(tmux.NoServer, match=real.socket):
        real.tmux.windows.find(run_id)
    assert opened.server.lives
    os.kill(real.pid, signal.SIGUSR1)
    eventually(lambda: os.path.exists(real.socket))
    assert real.tmux.windows.find(run_id) is not None
    real.vanish()
    eventually(lambda: not opened.server.lives)
    with pytest.raises(tmux.NoServer):
        real.tmux.windows.find(run_id)


def test_a_server_that_we_start_knows_nothing_of_who_starts_it(
    nowhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "LC_TIME": "C"}
    for name in ("TMUXAGENTS_RUN", "TMUXAGENTS_ROLE", "PI_SUBAGENTS_CHILD", "SOME_API_KEY", "TMUX_PANE"):
        monkeypatch.setenv(name, "secret")
    for name, value in kept.items():
        monkeypatch.setenv(name, value)
    before = os.umask(0o077)
    try:
        ours = tmux.Tmux(nowhere, umask=before)
        opened = ours.windows.open(an_order(new_run(), ["/bin/sh", "-c", "umask; exec cat"]), home())
    finally:
        os.umask(before)
    said = tmux_says(nowhere, "show-environment", "-g")
    assert "secret" not in said
    assert set(kept.items()) <= {tuple(line.split("=", 1)) for line in said.splitlines()}
    eventually(lambda: f"{before:04o}" in tmux_says(nowhere, "capture-pane", "-p", "-t", opened.pane))


@pytest.fixture
def person_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "own", "found"), [("off", True, "on"), ("always", True, "always"), ("off", False, "off")]
)
def test_pi_finds_modified_keys_on_a_server_that_is_ours_alone(
    nowhere: str, person_home: Path, wanted: str, *, own: bool, found: str
) -> None:
    (person_home / ".tmux.conf").write_text(f"set -s extended-keys {wanted}\n")
    open_one(nowhere, own=own)
    eventually(lambda: tmux_says(nowhere, "show-options", "-sv", "extended-keys").strip() == found)


def tmux_says(path: str, *words: str) -> str:
    argv = ["tmux", "-u", "-S", path, *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=10).stdout


HOSTILE = """
set -g destroy-unattached on
set -s exit-unattached on
set -g default-command "echo hijacked; exit 1"
set -g default-shell {shell}
set -g automatic-rename on
set -g allow-rename on
set -g base-index 7
set -g renumber-windows on
set -g remain-on-exit off
set -g set-titles on
set -g set-titles-string "#T #W #S"
set -g status-right "#W #{{E:@tmuxagents_status}} #{{pane_title}}"
set -g pane-border-status top
set -g @tmuxagents_state other
"""


def test_a_persons_settings_do_not_reach_our_windows(
    nowhere: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = tmp_path / "bash"
    shell.write_text(f'#!/bin/sh\ntouch {tmp_path}/shell-was-used\nexec /bin/bash "$@"\n')
    shell.chmod(0o755)
    (tmp_path / ".tmux.conf").write_text(HOSTILE.format(shell=shell))
    (tmp_path / ".bashrc").write_text("exit 3\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", str(shell))
    ours = tmux.Tmux(nowhere)
    runs = [new_run() for _ in range(3)]
    opened = [ours.windows.open(an_order(run), home(own=True)) for run in runs]
    assert ours.windows.close_pane(opened[1].pane, runs[1])
    time.sleep(0.3)
    for run, window in ((runs[0], opened[0]), (runs[2], opened[2])):
        found = ours.windows.find(run)
        assert found is not None
        assert not found.dead
        assert tmux_says(nowhere, "display-message", "-p", "-t", window.window, "#W") == "scout\n"
    assert not (tmp_path / "shell-was-used").exists()
    screen = Terminal(["tmux", "-u", "-S", nowhere, "attach-session"], SEEN, Path("/"))
    try:
        eventually(ours.clients.all)
        tmux_says(nowhere, "detach-client", "-t", screen.name)
    finally:
        screen.close()
    assert set(ours.windows.all()) == {runs[0], runs[2]}  # also when somebody was there, and left


WAITS = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
print(flush=True)
print(signal.sigtimedwait([signal.SIGCHLD], 2) is not None)
"""


@pytest.mark.parametrize("is_it", [True, False])
def test_a_server_is_told_to_look_for_ended_programs_and_no_other_process_is(*, is_it: bool) -> None:
    command = [sys.executable, "-c", WAITS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        server.stdout.readline()
        started = process.start_time(server.pid)
        assert started is not None
        ServerLife("/socket", server.pid, started if is_it else started + 1).look_for_ended()
        assert server.stdout.read() == f"{is_it}\n"
    ServerLife("/socket", os.getpid(), None).look_for_ended()


def test_what_a_person_has_set_is_as_it_was(real: Real) -> None:
    def everything() -> list[str]:
        words = (
            ["show-options", "-s"],
            ["show-options", "-g"],
            ["show-options", "-wg"],
            ["show-hooks", "-g"],
        )
        return [real.run(*one) for one in (*words, ["list-keys"], ["show-environment", "-g"])]

    before = everything()
    person = real.attach()
    for own in (False, False):
        run_id = new_run()
        opened = real.tmux.windows.open(an_order(run_id), home(own=own))
        real.tmux.windows.set_state(opened.window, run_id, "completed")
        real.tmux.windows.arm_close(opened.window, run_id, 300)
        real.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id)
        real.tmux.clients.back(person)
        real.tmux.windows.close_pane(opened.pane, run_id)
    assert everything() == before
    real.tmux.status.declare()
    real.tmux.status.push({"status": "x"})
    added = set(everything()[1].splitlines()) - set(before[1].splitlines())
    assert {line.split(" ")[0].rpartition("_")[0] for line in added} == {"@tmuxagents"}
    real.tmux.status.withdraw()
    assert everything() == before
