"""The tmux edge: the same tests on the real tmux and on the fake, then what only the real one can show.

Private sockets only. A stopped server costs its callers 5 s each, so those wait side by side.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import inspect
import os
import pty
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.edges.apart import at_once
from tests.fakes import tmux as fakes
from tests.harness import REPOSITORY, TmuxServer, alive, eventually
from tmuxagents.edges import process, tmux
from tmuxagents.edges.tmux import clients, library, opening, runner, script, servers, status, windows
from tmuxagents.errors import Unusable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

OWNER, OTHER = "a" * 16, "b" * 16
NAMES = ("agents-app", f"agents-app-{OWNER[:4]}")
SLEEP = ("/bin/sleep", "600")
EVIL = "#(touch {marker}) #{{pid}} #[fg=red] %H ; '\"\\$HOME~;"


def new_run() -> str:
    return secrets.token_hex(8)


def an_order(run_id: str, argv: Sequence[str] = SLEEP, name: str = "scout") -> tmux.Order:
    return tmux.Order(run_id, name=name, argv=argv, state="queued")


def home(*, owner: str = OWNER, **more: Any) -> tmux.Home:
    return tmux.Home(NAMES if owner == OWNER else ("agents-app", "agents-app-other"), owner=owner, **more)


# --- the real world ---------------------------------------------------------------------------------------


class Screen:
    """A terminal with a tmux client on it, and all that the client ever wrote there."""

    def __init__(self, *argv: str) -> None:
        self.output = bytearray()
        self._master, slave = pty.openpty()
        self.name = os.ttyname(slave)
        environment = {
            "PATH": os.environ["PATH"],
            "TERM": "xterm",
            "HOME": "/nonexistent",
            "SHELL": "/bin/sh",
        }
        self.process = subprocess.Popen(
            ["setsid", "-c", *argv], stdin=slave, stdout=slave, stderr=slave, env=environment
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while piece := os.read(self._master, 65536):
                self.output += piece

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(5)
        os.close(self._master)


class Real:
    """A private server with a person's session and terminals before it; the fake has the same verbs."""

    def __init__(self, folder: Path) -> None:
        self._server = TmuxServer(folder)
        self.socket = str(self._server.socket)
        self.screens: dict[str, Screen] = {}
        self.tmux = tmux.Tmux(self.socket)

    def run(self, *words: str) -> str:
        return self._server.run(*words)

    def start(self) -> None:
        self._server.__enter__()

    @property
    def pid(self) -> int:
        return self._server.pid

    def vanish(self) -> None:
        self.run("kill-server")
        assert process.wait_gone(self._server.pid, self._server.started, 5)

    def restart(self) -> None:
        self.vanish()
        eventually(self._started, 5)

    def _started(self) -> bool:
        try:
            self.start()
        except subprocess.CalledProcessError:  # "server exited unexpectedly": the last one is not quite gone
            return False
        return True

    @property
    def stopped(self) -> bool:
        raise NotImplementedError

    @stopped.setter
    def stopped(self, stopped: bool) -> None:
        os.kill(self.pid, signal.SIGSTOP if stopped else signal.SIGCONT)

    def stranger(self, name: str) -> str:
        return self.run(
            "new-window", "-d", "-P", "-F", "#{window_id}", "-t", "work:", "-n", name, "sleep 600"
        )

    def sit_down(self, *argv: str) -> Screen:
        screen = Screen(*argv)
        self.screens[screen.name] = screen
        return screen

    def attach(self, session: str | None = None) -> str:
        target = session or "=work"
        screen = self.sit_down("tmux", "-u", "-S", self.socket, "attach-session", "-t", target)
        eventually(lambda: screen.name in self.run("list-clients", "-F", "#{client_name}"))
        return screen.name

    def leave(self, client: str) -> None:
        self.run("detach-client", "-t", client)
        self.screens[client].process.wait(5)

    def looks_at(self, client: str) -> str:
        return self._of_client(client, "#{window_id}")

    def pane_of(self, client: str) -> str:
        return self._of_client(client, "#{pane_id}")

    def _of_client(self, client: str, what: str) -> str:
        rows = self.run("list-clients", "-F", f"#{{client_name}} {what}").splitlines()
        return dict(row.split(" ") for row in rows)[client]

    def end_program(self, window: str) -> None:
        os.kill(int(self.run("display-message", "-p", "-t", window, "#{pane_pid}")), signal.SIGKILL)
        # A pane's end can be noticed late (its SIGCHLD is lost now and then before 3.6).
        eventually(lambda: self.run("display-message", "-p", "-t", window, "#{pane_dead}") == "1")

    def retag(self, window: str, run_id: str) -> None:
        self.run("set-option", "-w", "-t", window, opening.RUN, run_id)

    def pass_s(self, seconds: float) -> None:
        time.sleep(seconds)

    def window_ids(self) -> set[str]:
        return set(self.run("list-windows", "-a", "-F", "#{window_id}").splitlines())

    def tty_of(self, pane: str) -> str:
        return self.run("display-message", "-p", "-t", pane, "#{pane_tty}")

    def name_of(self, window: str) -> str:
        return self.run("display-message", "-p", "-t", window, "#{window_name}")

    def state_of(self, window: str) -> str:
        return self.run("show-options", "-wv", "-t", window, opening.STATE)

    def session_names(self) -> set[str]:
        return set(self.run("list-sessions", "-F", "#{session_name}").splitlines())

    @property
    def status_line(self) -> str:
        return self.run("display-message", "-p", "#{E:@tmuxagents_status}")

    def close_all(self) -> None:
        for screen in self.screens.values():
            screen.close()
        end_server(self.socket)  # also one that a test began
        self._server.__exit__()


class Fake(fakes.World):
    def __init__(self, _folder: Path) -> None:
        super().__init__()
        self.tmux: Any = fakes.Tmux(self)


World = Real | Fake


@pytest.fixture(autouse=True)
def views_look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_LOOK_S", 1)


@pytest.fixture(params=[Real, Fake], ids=["real", "fake"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made: World = request.param(tmp_path)
    made.start()
    yield made
    made.close_all()


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Real]:
    made = Real(tmp_path)
    made.start()
    yield made
    made.close_all()


@pytest.fixture
def nowhere(tmp_path: Path) -> Iterator[str]:
    """A socket where no server is yet; the one that a test starts there is ended."""
    path = str(tmp_path / "new")
    yield path
    end_server(path)


def end_server(path: str) -> None:
    pid = servers.listening(path)
    started = process.start_time(pid) if pid else None
    if pid and started:
        process.send(pid, started, signal.SIGCONT, signal.SIGKILL)


# --- the same on both -------------------------------------------------------------------------------------


def test_the_fake_has_the_verbs_of_the_edge() -> None:
    real, fake = tmux.Tmux("/x"), fakes.Tmux(fakes.World())
    assert verbs(real) == verbs(fake)
    for part in ("windows", "clients", "status", "options"):
        assert verbs(getattr(real, part)) == verbs(getattr(fake, part))


def verbs(of: object) -> dict[str, str]:
    methods = inspect.getmembers(of, inspect.ismethod)
    texts = {name: str(inspect.signature(method)) for name, method in methods if not name.startswith("_")}
    return {name: text.replace("tmux.", "") for name, text in texts.items()}


def test_a_window_is_opened_behind_everybodys_back(world: World) -> None:
    person = world.attach()
    seen = world.looks_at(person)
    run_id = new_run()
    opened = world.tmux.windows.open(an_order(run_id), home())
    assert opened.session_name == "agents-app"
    assert world.name_of(opened.window) == "scout"
    assert world.state_of(opened.window) == "queued"
    assert opened.server == world.tmux.identity()
    assert world.looks_at(person) == seen
    found = world.tmux.windows.find(run_id)
    assert found is not None
    assert (found.window, found.session, found.run_id) == (opened.window, opened.session, run_id)
    assert (found.watched, found.dead) == (0, False)


def test_windows_of_a_project_share_a_session(world: World) -> None:
    first, second = (world.tmux.windows.open(an_order(new_run()), home()) for _ in range(2))
    assert first.session == second.session
    assert first.window != second.window
    assert first.pane != second.pane
    assert world.session_names() == {"work", "agents-app"}


def test_projects_of_one_name_have_sessions_of_their_own(world: World) -> None:
    other = world.tmux.windows.open(an_order(new_run()), home(owner=OTHER))
    ours = [world.tmux.windows.open(an_order(new_run()), home()) for _ in range(2)]
    assert other.session_name == "agents-app"
    assert [opened.session_name for opened in ours] == [NAMES[1], NAMES[1]]
    assert world.tmux.windows.open(an_order(new_run()), home(owner=OTHER)).session == other.session


def test_a_project_stays_in_its_session_when_the_first_name_becomes_free(world: World) -> None:
    run_id = new_run()
    other = world.tmux.windows.open(an_order(run_id), home(owner=OTHER))
    world.tmux.windows.open(an_order(new_run()), home())
    world.tmux.windows.kill(other.window, run_id)
    assert world.tmux.windows.open(an_order(new_run()), home()).session_name == NAMES[1]


def test_without_a_free_name_nothing_is_opened(world: World) -> None:
    world.tmux.windows.open(an_order(new_run()), home(owner=OTHER))
    with pytest.raises(Unusable) as raised:
        world.tmux.windows.open(an_order(new_run()), tmux.Home(NAMES[:1], owner=OWNER))
    assert raised.value.kind == "window"


def test_a_window_can_go_to_a_session_that_is_named_by_its_id(world: World) -> None:
    pane = world.pane_of(world.attach())
    session = world.tmux.clients.session_of(pane)
    opened = world.tmux.windows.open(an_order(new_run()), tmux.Home(session=session))
    assert (opened.session, opened.session_name) == (session, "work")
    with pytest.raises(Unusable) as raised:
        world.tmux.windows.open(an_order(new_run()), tmux.Home(session="$99"))
    assert raised.value.kind == "window"


def test_no_run_no_window(world: World) -> None:
    world.stranger("scout")
    assert world.tmux.windows.find(new_run()) is None
    assert world.tmux.windows.all() == {}


def test_all_windows_of_runs_are_listed(world: World) -> None:
    world.stranger("scout")
    opened = {run: world.tmux.windows.open(an_order(run), home()).window for run in (new_run(), new_run())}
    assert {run: window.window for run, window in world.tmux.windows.all().items()} == opened


def test_a_command_that_has_ended_leaves_its_window(world: World) -> None:
    run_id = new_run()
    world.end_program(world.tmux.windows.open(an_order(run_id), home()).window)
    dead = world.tmux.windows.find(run_id)
    assert dead is not None
    assert dead.dead


def test_state_is_shown_on_the_runs_own_window_only(world: World) -> None:
    run_id, stranger = new_run(), world.stranger("scout")
    window = world.tmux.windows.open(an_order(run_id), home()).window
    assert world.tmux.windows.set_state(window, run_id, "completed")
    assert world.state_of(window) == "completed"
    assert not world.tmux.windows.set_state(window, new_run(), "failed")
    assert not world.tmux.windows.set_state(stranger, run_id, "failed")
    assert not world.tmux.windows.set_state("@999", run_id, "failed")
    assert world.state_of(window) == "completed"


def test_only_the_runs_own_window_is_closed(world: World) -> None:
    run_id, stranger = new_run(), world.stranger("scout")
    window = world.tmux.windows.open(an_order(run_id), home()).window
    before = world.window_ids()
    assert not world.tmux.windows.kill(window, new_run())
    assert not world.tmux.windows.kill(stranger, run_id)
    assert not world.tmux.windows.kill("@999", run_id)
    assert world.window_ids() == before
    assert world.tmux.windows.kill(window, run_id)
    assert world.window_ids() == before - {window}
    assert not world.tmux.windows.kill(window, run_id)


def test_a_window_that_lives_or_is_looked_at_is_not_closed_for_having_ended(world: World) -> None:
    ended, lives, seen = (new_run() for _ in range(3))
    opened = {run: world.tmux.windows.open(an_order(run), home()) for run in (ended, lives, seen)}
    person = world.attach()
    assert world.tmux.clients.show(person, opened[seen].window, session=opened[seen].session, run_id=seen)
    for run in (ended, seen):
        world.end_program(opened[run].window)
    assert not world.tmux.windows.close_ended(opened[ended].window, lives)
    assert [world.tmux.windows.close_ended(opened[run].window, run) for run in opened] == [True, False, False]
    assert set(world.tmux.windows.all()) == {lives, seen}


def test_a_window_that_a_person_has_split_is_not_closed_for_having_ended(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    theirs = real.run("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", opened.window, "sleep 600")
    real.end_program(opened.window)
    assert not real.tmux.windows.close_ended(opened.window, run_id)
    real.run("kill-pane", "-t", theirs)
    assert real.tmux.windows.close_ended(opened.window, run_id)


def test_a_stale_id_after_a_restart_is_never_touched(world: World) -> None:
    run_id = new_run()
    opened = world.tmux.windows.open(an_order(run_id), home())
    world.restart()
    while opened.window not in world.window_ids():
        world.stranger("editor")
    person = world.attach()
    seen, before = world.looks_at(person), world.window_ids()
    assert world.tmux.identity() != opened.server
    assert not world.tmux.windows.kill(opened.window, run_id)
    assert not world.tmux.windows.set_state(opened.window, run_id, "failed")
    assert not world.tmux.windows.arm_close(opened.window, run_id, 1)
    assert not world.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id)
    assert world.tmux.clients.prepare_view(opened.window, session=opened.session, run_id=run_id) is None
    assert (world.looks_at(person), world.window_ids()) == (seen, before)


def test_without_a_server_there_is_a_third_answer(world: World) -> None:
    world.vanish()
    run_id = new_run()
    for ask in (
        world.tmux.identity,
        partial(world.tmux.windows.find, run_id),
        world.tmux.windows.all,
        partial(world.tmux.windows.kill, "@1", run_id),
        world.tmux.clients.all,
        partial(world.tmux.status.push, {"status": ""}),
    ):
        with pytest.raises(tmux.NoServer):
            ask()
    assert world.tmux.windows.open(an_order(run_id), home()).session_name == "agents-app"
    assert world.tmux.windows.find(run_id) is not None


def test_a_window_is_closed_after_its_time(world: World) -> None:
    closing, armed_twice, retagged, failed, seen = (new_run() for _ in range(5))
    opened = {
        run: world.tmux.windows.open(an_order(run), home())
        for run in (closing, armed_twice, retagged, failed, seen)
    }
    person = world.attach()
    assert world.tmux.clients.show(person, opened[seen].window, session=opened[seen].session, run_id=seen)
    for run in (closing, armed_twice, armed_twice, retagged, seen):
        assert world.tmux.windows.arm_close(opened[run].window, run, 1)
    assert not world.tmux.windows.arm_close(opened[failed].window, new_run(), 1)
    world.retag(opened[retagged].window, failed[::-1])
    assert set(world.tmux.windows.all()) >= set(opened) - {retagged}
    world.pass_s(1.5)
    assert set(world.tmux.windows.all()) == {failed, failed[::-1], seen}
    world.leave(person)  # after a look, it is closed so long after the next time that nobody looks
    world.pass_s(1.2)
    assert set(world.tmux.windows.all()) == {failed, failed[::-1]}


def test_a_run_is_shown_to_one_client_and_nobody_elses_view_is_moved(world: World) -> None:
    run, other = new_run(), new_run()
    opened = [world.tmux.windows.open(an_order(run_id), home()) for run_id in (other, run)]
    onlooker, person = world.attach(opened[0].session), world.attach()
    show = partial(world.tmux.clients.show, session=opened[1].session)
    assert not show(person, opened[1].window, run_id=other)
    assert show(person, opened[1].window, run_id=run)
    assert world.looks_at(person) == opened[1].window
    assert world.looks_at(onlooker) == opened[0].window
    views = [name for name in world.session_names() if name.startswith(windows.VIEW)]
    assert len(views) == 1
    there = world.tmux.windows.find(run)
    assert there is not None
    assert there.session == opened[1].session
    assert world.tmux.windows.all()[run].session == opened[1].session
    world.tmux.clients.back(person)
    eventually(lambda: views[0] not in world.session_names(), 3)
    assert world.tmux.windows.find(run) is not None


def test_a_run_is_shown_in_its_own_session_where_nobody_else_looks(world: World) -> None:
    run, other = new_run(), new_run()
    first, second = (world.tmux.windows.open(an_order(run_id), home()) for run_id in (other, run))
    person = world.attach()
    before = world.looks_at(person)
    for opened, run_id in ((second, run), (first, other)):
        assert world.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id)
        assert world.looks_at(person) == opened.window
    assert world.session_names() == {"work", "agents-app"}
    world.tmux.clients.back(person)
    assert world.looks_at(person) == before


def test_a_view_ends_with_its_client(world: World) -> None:
    run = new_run()
    opened = world.tmux.windows.open(an_order(run), home())
    world.attach(opened.session)
    person = world.attach()
    assert world.tmux.clients.show(person, opened.window, session=opened.session, run_id=run)
    world.leave(person)
    eventually(lambda: world.session_names() == {"work", "agents-app"}, 3)
    assert world.tmux.windows.find(run) is not None


def test_who_looks_at_what(world: World) -> None:
    opened = world.tmux.windows.open(an_order(new_run()), home())
    person, onlooker = world.attach(), world.attach(opened.session)
    everybody = {client.name: client for client in world.tmux.clients.all()}
    assert set(everybody) == {person, onlooker}
    assert everybody[onlooker].session == opened.session
    assert everybody[onlooker].window == opened.window
    assert not everybody[onlooker].control
    assert [client.name for client in world.tmux.clients.all(opened.session)] == [onlooker]
    assert world.tmux.clients.session_of(opened.pane) == opened.session
    assert world.tmux.clients.session_of("%999") is None
    found = [world.tmux.clients.at(pane) for pane in (opened.pane, world.pane_of(person))]
    assert [client.name if client else None for client in found] == [onlooker, person]
    assert world.tmux.clients.at("%999") is None
    by_terminal = world.tmux.clients.at(world.tty_of(opened.pane))
    assert by_terminal is not None
    assert by_terminal.name == onlooker
    assert world.tmux.clients.at("/dev/pts/9999") is None


def test_what_is_known_of_who_looks(world: World) -> None:
    run_id = new_run()
    opened = world.tmux.windows.open(an_order(run_id), home())
    person, onlooker = world.attach(), world.attach(opened.session)
    trail = f"{person},$0:@0,{new_run()}"
    show = partial(world.tmux.clients.show, person, opened.window, session=opened.session, run_id=run_id)
    assert show(trail=trail)
    seen = {client.name: client for client in world.tmux.clients.all()}
    assert (seen[person].trail, seen[person].view, seen[person].run_id) == (trail, True, run_id)
    assert (seen[onlooker].trail, seen[onlooker].view, seen[onlooker].run_id) == ("", False, run_id)
    with pytest.raises(ValueError, match="no trail"):
        tmux.Tmux("/x").clients.show(person, "@0", session="$0", run_id=run_id, trail="#(x)")


def test_a_client_returns_to_where_it_was_and_moves_nobody_there(world: World) -> None:
    run_id, second = new_run(), world.stranger("second")
    opened = world.tmux.windows.open(an_order(run_id), home())
    person = world.attach()
    (client,) = world.tmux.clients.all()
    before = (client.session, client.window)
    show = partial(world.tmux.clients.show, person, opened.window, session=opened.session, run_id=run_id)

    def back(window: str, session: str) -> str:
        assert show(trail=f"{person},$0:@0")
        (shown,) = [client for client in world.tmux.clients.all() if client.name == person]
        assert world.tmux.clients.return_to(shown, window, session=session)
        (there,) = [client for client in world.tmux.clients.all() if client.name == person]
        assert there.session == before[0]
        return there.window

    assert back(second, before[0]) == second
    assert back("@999", before[0]) == second
    assert back(before[1], before[0]) == before[1]
    onlooker = world.attach()
    assert back(second, before[0]) == before[1]
    assert world.looks_at(onlooker) == before[1]
    (client,) = [client for client in world.tmux.clients.all() if client.name == person]
    assert not world.tmux.clients.return_to(client, second, session="$99")
    assert world.looks_at(person) == before[1]
    assert all(client.trail == "" for client in world.tmux.clients.all(opened.session))


def test_a_client_is_detached(world: World) -> None:
    person, onlooker = world.attach(), world.attach()
    world.tmux.clients.detach(person)
    eventually(lambda: [client.name for client in world.tmux.clients.all()] == [onlooker])


def test_only_a_view_that_nobody_looks_at_is_ended_at_once(world: World) -> None:
    run_id = new_run()
    opened = world.tmux.windows.open(an_order(run_id), home())
    world.attach(opened.session)
    person = world.attach()
    assert world.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id)
    (view,) = [client for client in world.tmux.clients.all() if client.view]
    everything = world.session_names()
    for session in (view.session, opened.session, "$0", "$99"):
        world.tmux.clients.end_view(session)
    assert world.session_names() == everything
    world.tmux.clients.back(person)
    world.tmux.clients.end_view(view.session)
    assert world.session_names() == {"work", "agents-app"}
    assert world.tmux.windows.find(run_id) is not None


def test_who_showed_nothing_before_cannot_go_back(world: World) -> None:
    with pytest.raises(tmux.Refused, match="last session"):
        world.tmux.clients.back(world.attach())


def test_the_status_line_is_declared_once_and_then_pushed(world: World) -> None:
    world.attach()
    assert world.tmux.status.declare()
    assert not world.tmux.status.declare()
    for text in ("bg: 2 running, 1 failed / 5 total", "✓ scout · bg: 1 running;", ""):
        world.tmux.status.push({"status": text, "running": "2"})
        assert world.status_line == text
    world.tmux.status.withdraw()
    assert world.status_line == ""
    assert world.tmux.status.declare()


def test_the_status_text_changes_by_itself_unless_something_was_pushed(world: World) -> None:
    world.tmux.status.declare()
    world.tmux.status.push({"status": "✓ a, b} bg: 0 running / 1 total"}, [(1, "never"), (2, "")])
    world.tmux.status.push({"status": "bg: 1 running / 2 total", "running": "1"})
    world.pass_s(1.5)
    assert world.status_line == "bg: 1 running / 2 total"
    world.tmux.status.push({"status": "✗ (it's) bg: 0 running"}, [(1, "soon ~ $HOME ; `x`"), (3, "")])
    assert world.status_line == "✗ (it's) bg: 0 running"
    world.pass_s(1.6)
    assert world.status_line == "soon ~ $HOME ; `x`"
    world.pass_s(2)
    assert world.status_line == ""


def test_a_tmux_that_would_freeze_screens_shows_no_message(world: World) -> None:
    person = world.attach()
    world.tmux.status.declare()
    world.tmux.status.push({"status": "bg: 1 running / 1 total"})
    assert not world.tmux.status.message()
    world.leave(person)
    assert world.tmux.status.message()  # there is nobody to see it


@pytest.mark.parametrize("values", [{"status": "#[fg=red]"}, {"status": "a\x1bb"}, {"other": "x"}])
def test_what_is_no_text_for_a_status_line_is_refused(world: World, values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"status line|other|#|x1b"):
        world.tmux.status.push(values)


def test_an_option_of_a_person_is_read_and_given_back(world: World) -> None:
    before = world.tmux.options.read("status-right")
    assert before
    assert world.tmux.options.read("@ours") is None
    for text in ("007", "on", f"{before} #{{E:@tmuxagents_status}}", '"q" \\ $HOME ~ %H ;\n #(x) é␞;', ""):
        world.tmux.options.write("status-right", text)
        assert world.tmux.options.read("status-right") == text
    world.tmux.options.write("status-right", before)
    assert world.tmux.options.read("status-right") == before
    world.tmux.options.write("status-right", "some text")
    assert world.tmux.options.width("status-right") == len("some text")
    world.tmux.options.write("status-right", before)
    world.tmux.options.write("@ours", "x")
    world.tmux.options.write("@ours", None)
    assert world.tmux.options.read("@ours") is None


WRONG: list[Callable[[], object]] = [
    lambda: an_order("ABCDEF0123456789"),
    lambda: an_order("0123"),
    lambda: an_order(new_run(), name="x#(touch y)"),
    lambda: an_order(new_run(), name="-d"),
    lambda: an_order(new_run(), name=""),
    lambda: an_order(new_run(), name="é"),
    lambda: an_order(new_run(), name="x" * 49),
    lambda: an_order(new_run(), argv=["sleep", "1"]),
    lambda: an_order(new_run(), argv=[]),
    lambda: tmux.Home(["work:0"], owner=OWNER),
    lambda: tmux.Home(["work"], owner="mine"),
    lambda: tmux.Home(session="@1"),
    lambda: tmux.Home(session="$1;"),
    lambda: script.a_client("/dev/pts/#{x}"),
    lambda: script.by_shell(["display-message", "it's"]),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_no_word_of_a_user_comes_near_tmux(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="no "):
        wrong()


def test_a_word_for_tmux_is_refused_by_either(world: World) -> None:
    for wrong in (
        partial(world.tmux.windows.find, "x"),
        partial(world.tmux.windows.kill, "work:1", new_run()),
        partial(world.tmux.windows.set_state, "@1", new_run(), "#{pid}"),
    ):
        with pytest.raises(ValueError, match="no "):
            wrong()


# --- only the real one: servers that start, end, stop ----------------------------------------------------


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
        assert ours.windows.kill(opened.window, run_id)  # and with it session and server
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
    client = tmux.Client("/dev/pts/0", session="$0", window="@0", pane="%0", control=False)
    asked: list[Callable[[], object]] = [
        partial(tmux.Tmux(f"{real.socket}").windows.open, an_order(late), home()),
        partial(real.tmux.windows.find, run_id),
        real.tmux.windows.all,
        partial(real.tmux.windows.set_state, opened.window, run_id, "completed"),
        partial(real.tmux.windows.kill, opened.window, late),
        real.tmux.identity,
        real.tmux.clients.all,
        partial(real.tmux.clients.show, "/dev/pts/0", "@0", session="$0", run_id=run_id),
        partial(real.tmux.clients.hand_over, client, socket=real.socket, view="view-x"),
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
    assert ours.windows.kill(opened[1].window, runs[1])
    time.sleep(0.3)
    for run, window in ((runs[0], opened[0]), (runs[2], opened[2])):
        found = ours.windows.find(run)
        assert found is not None
        assert not found.dead
        assert tmux_says(nowhere, "display-message", "-p", "-t", window.window, "#W") == "scout\n"
    assert not (tmp_path / "shell-was-used").exists()
    screen = Screen("tmux", "-u", "-S", nowhere, "attach-session")
    try:
        eventually(ours.clients.all)
        tmux_says(nowhere, "detach-client", "-t", screen.name)
    finally:
        screen.close()
    assert set(ours.windows.all()) == {runs[0], runs[2]}  # also when somebody was there, and left


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
        real.tmux.windows.kill(opened.window, run_id)
    assert everything() == before
    real.tmux.status.declare()
    real.tmux.status.push({"status": "x"})
    added = set(everything()[1].splitlines()) - set(before[1].splitlines())
    assert {line.split(" ")[0].rpartition("_")[0] for line in added} == {"@tmuxagents"}
    real.tmux.status.withdraw()
    assert everything() == before


# --- odd neighbours, odd words ----------------------------------------------------------------------------


def test_odd_panes_elsewhere_break_nothing(real: Real, tmp_path: Path) -> None:
    odd = tmp_path / "new\nline"
    odd.mkdir()
    real.run("new-window", "-d", "-t", "work:", "-c", str(odd), "sleep 600")
    title = "printf '\\033]2;a\N{SYMBOL FOR RECORD SEPARATOR}b\\007'; sleep 600"
    real.run("new-window", "-t", "work:", title)
    eventually(
        lambda: "\N{SYMBOL FOR RECORD SEPARATOR}" in real.run("list-panes", "-a", "-F", "#{pane_title}")
    )
    person = real.attach()
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    found = real.tmux.windows.find(run_id)
    assert found is not None
    assert found.window == opened.window
    assert [client.name for client in real.tmux.clients.all()] == [person]
    assert real.tmux.clients.at(real.pane_of(person)) is not None
    real.tmux.status.push({"status": "x"})


def test_a_live_child_cannot_hide_its_own_window(real: Real) -> None:
    run_id = new_run()
    title = "printf '\\033]2;a\N{SYMBOL FOR RECORD SEPARATOR}b\\007'; exec cat"
    opened = real.tmux.windows.open(an_order(run_id, ["/bin/sh", "-c", title]), home())
    eventually(
        lambda: "\N{SYMBOL FOR RECORD SEPARATOR}" in real.run("list-panes", "-a", "-F", "#{pane_title}")
    )
    with pytest.raises(ValueError, match=r"zip|argument"):
        library.windows(runner.Runner(real.socket), "1")
    found = real.tmux.windows.find(run_id)
    assert found is not None
    assert found.window == opened.window


@pytest.mark.parametrize(
    "hook", ["kill-window", "rename-window other", "new-window", "next-window", "run-shell 'exit 1'"]
)
def test_a_hook_of_a_person_never_makes_us_tag_another_window(real: Real, hook: str) -> None:
    real.stranger("scout")
    real.run("set-hook", "-g", "after-new-window", hook)
    real.tmux.windows.open(an_order(new_run()), home())
    before = real.window_ids()
    run_id = new_run()
    with contextlib.suppress(Unusable):
        real.tmux.windows.open(an_order(run_id), home())
    found = real.tmux.windows.all()
    assert run_id not in found or found[run_id].window not in before


def test_everything_works_in_the_c_locale(real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.delenv("LANG", raising=False)
    run_id = new_run()
    opened = real.tmux.windows.open(
        an_order(run_id, ["/bin/sh", "-c", "echo '\N{SNOWMAN}'; exec cat"]), home()
    )
    assert real.tmux.windows.find(run_id) is not None
    real.tmux.status.declare()
    real.tmux.status.push({"status": "\N{CHECK MARK} scout"})
    assert real.status_line == "\N{CHECK MARK} scout"
    eventually(lambda: "\N{SNOWMAN}" in real.run("capture-pane", "-p", "-t", opened.pane))


def test_a_command_line_arrives_to_the_byte_and_runs_nothing(real: Real, tmp_path: Path) -> None:
    marker, record = tmp_path / "marker", tmp_path / "record"
    evil = EVIL.format(marker=marker)
    folder = tmp_path / f"d#(touch {marker.name}) x;"
    folder.mkdir()
    writer = tmp_path / "writer"
    writer.write_text('#!/bin/sh\nout=$1\nshift\nprintf "%s\\0" "$@" >>"$out"\nexec cat\n')
    writer.chmod(0o755)
    words = [
        evil,
        ";",
        "a;",
        "a\\;",
        "\\",
        "",
        " ",
        "~",
        "$HOME",
        "${x}",
        "%1",
        "{",
        "}",
        "é\nx\t\x01",
        "-d",
        "#",
        ";;",
        "\udcff",
    ]
    real.attach()
    session = None
    for _ in range(12):
        argv = [str(writer), str(record), *words]
        where = home(folder=str(folder))
        opened = real.tmux.windows.open(an_order(new_run(), argv), where)
        session = opened.session
        real.tmux.options.write("@text", evil)
        assert real.tmux.options.read("@text") == evil
    expected = "".join(f"{word}\0" for word in words).encode("utf-8", "surrogateescape") * 12
    eventually(lambda: record.exists() and len(record.read_bytes()) >= len(expected))
    assert record.read_bytes() == expected
    assert real.run("display-message", "-p", "-t", f"{session}:", "#{session_path}") == str(folder)
    time.sleep(0.3)
    assert not marker.exists()
    assert not (folder / marker.name).exists()
    assert not (tmp_path / marker.name).exists()


def test_a_sockets_path_is_no_code(tmp_path: Path) -> None:
    folder = tmp_path / "s#(touch marker) #{pid}"
    folder.mkdir()
    odd = Real(folder)
    odd.start()
    try:
        person = odd.attach()
        for _ in range(12):
            run_id = new_run()
            opened = odd.tmux.windows.open(an_order(run_id), home())
            assert odd.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id)
            odd.tmux.clients.back(person)
            assert odd.tmux.windows.arm_close(opened.window, run_id, 1)
        eventually(lambda: odd.tmux.windows.all() == {}, 5)
        assert not list(tmp_path.rglob("marker"))
        assert not Path("/marker").exists()
    finally:
        odd.close_all()


# --- how dear it is ---------------------------------------------------------------------------------------


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Count the tmux processes since the last time this was asked."""
    log = tmp_path / "tmux-calls"
    stub = tmp_path / "bin" / "tmux"
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/sh\necho "$@" >>"{log}"\nexec {found_tmux()} "$@"\n')
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stub.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(runner, "_client", None)
    monkeypatch.setattr(runner, "_known", {})

    def since() -> int:
        count = len(log.read_text().splitlines()) if log.exists() else 0
        log.unlink(missing_ok=True)
        return count

    return since


def found_tmux() -> str:
    found = process.find_program("tmux", os.environ["PATH"])
    assert found is not None
    return found


def test_how_many_processes_each_call_is(real: Real, nowhere: str, counted: Callable[[], int]) -> None:
    tmux.Tmux(nowhere).windows.open(an_order(new_run()), home())
    assert counted() == 2  # the version of the client, and the window with its session and server
    person = real.attach()
    counted()
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    assert counted() == 2  # a look, and the window with its session
    real.tmux.windows.open(an_order(new_run()), home())
    assert counted() == 1
    calls: list[tuple[int, Callable[[], object]]] = [
        (1, partial(real.tmux.windows.find, run_id)),
        (1, real.tmux.windows.all),
        (1, partial(real.tmux.windows.set_state, opened.window, run_id, "completed")),
        (1, partial(real.tmux.windows.arm_close, opened.window, run_id, 300)),
        (1, partial(real.tmux.clients.at, opened.pane)),
        (1, partial(real.tmux.clients.show, person, opened.window, session=opened.session, run_id=run_id)),
        (2, real.tmux.status.declare),
        (1, real.tmux.status.declare),
        (2, partial(real.tmux.status.push, {"status": "x", "running": "1"})),
        (1, partial(real.tmux.windows.kill, opened.window, run_id)),
        (0, partial(tmux.listening, real.socket)),
        (0, partial(tmux.caller, {"TMUX": f"{real.socket},{real.pid},0"})),
    ]
    for expected, act in calls:
        act()
        assert counted() == expected, act


def test_a_launch_and_a_push_do_not_import_libtmux(real: Real) -> None:
    program = (
        f"import sys\nsys.path.insert(0, {str(REPOSITORY)!r})\n"
        "from tmuxagents.edges import tmux\n"
        f"ours = tmux.Tmux({real.socket!r})\n"
        f"home = tmux.Home(['agents-app'], owner={OWNER!r})\n"
        f"ours.windows.open(tmux.Order({new_run()!r}, name='x', argv=['/bin/cat'], state='queued'), home)\n"
        "ours.status.push({'status': 'x'})\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    argv = [sys.executable, "-I", "-S", "-c", program]  # without what a venv or a measurement adds
    done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=20)
    assert not {"libtmux", "click", "pathlib", "dataclasses", "shutil"} & set(done.stdout.split())


def test_all_of_libtmux_goes_through_our_runner() -> None:
    library.server(runner.Runner("/nowhere"))
    held = {
        name: vars(module)["tmux_cmd"]
        for name, module in sys.modules.items()
        if name.startswith("libtmux") and "tmux_cmd" in vars(module)
    }
    assert {"libtmux.common", "libtmux.neo", "libtmux.server"} <= set(held)
    assert set(held.values()) == {library.TmuxCommand}


# --- shown on terminals -----------------------------------------------------------------------------------


def test_from_outside_a_run_is_shown_only_if_the_window_is_its_own(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    argv = real.tmux.clients.attach_argv(opened.window, session=opened.session, run_id=run_id)
    person = real.sit_down(*argv)
    eventually(lambda: real.tmux.clients.all(opened.session))
    assert real.looks_at(person.name) == opened.window
    wrong = real.tmux.clients.attach_argv(opened.window, session=opened.session, run_id=new_run())
    gone = subprocess.run(wrong, capture_output=True, text=True, check=False, timeout=5)
    assert gone.stdout == "The window is gone.\n"
    second = real.sit_down(
        *real.tmux.clients.attach_argv(opened.window, session=opened.session, run_id=run_id, read_only=True)
    )
    eventually(lambda: len(real.tmux.clients.all()) == 2)
    assert real.looks_at(second.name) == opened.window
    assert len(real.tmux.clients.all(opened.session)) == 1  # the second has a view of its own
    assert real.run("list-clients", "-F", "#{client_name} #{client_readonly}").count(f"{second.name} 1") == 1
    real.leave(second.name)
    eventually(lambda: real.session_names() == {"work", "agents-app"}, 3)


def test_a_terminal_is_handed_over_and_comes_back(real: Real, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    there = Real(tmp_path / "there")
    there.start()
    try:
        run_id = new_run()
        opened = there.tmux.windows.open(an_order(run_id), home())
        person = real.attach()
        (client,) = real.tmux.clients.all()
        view = there.tmux.clients.prepare_view(opened.window, session=opened.session, run_id=run_id)
        assert view is not None
        real.tmux.clients.hand_over(client, socket=there.socket, view=view, read_only=True)
        eventually(there.tmux.clients.all)
        assert there.run("list-clients", "-F", "#{client_readonly}") == "1"
        assert real.tmux.clients.all() == []
        assert there.looks_at(person) == opened.window
        there.run("detach-client", "-t", person)
        eventually(real.tmux.clients.all)
        assert real.tmux.clients.all()[0].session == client.session
        assert there.tmux.clients.all() == []
        eventually(lambda: there.session_names() == {"work", "agents-app"}, 3)
    finally:
        there.close_all()


def test_a_view_that_nobody_comes_to_goes(real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_UNSEEN_S", 1)
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    assert real.tmux.clients.prepare_view(opened.window, session=opened.session, run_id=run_id)
    assert len(real.session_names()) == 3
    eventually(lambda: real.session_names() == {"work", "agents-app"}, 5)
    assert real.tmux.windows.find(run_id) is not None


def test_windows_that_somebody_opened_in_a_view_are_not_ended_with_it(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    real.attach(opened.session)
    person = real.attach()
    assert real.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id)
    (view,) = [client.session for client in real.tmux.clients.all() if client.view]
    own = real.run("new-window", "-d", "-P", "-F", "#{window_id}", "-t", f"{view}:", "sleep 600")
    real.leave(person)
    real.tmux.clients.end_view(view)
    real.pass_s(2.5)  # the view has looked twice
    assert own in real.window_ids()
    real.run("kill-window", "-t", own)
    eventually(lambda: real.session_names() == {"work", "agents-app"}, 5)
    assert real.tmux.windows.find(run_id) is not None


def test_a_trail_is_seen_by_no_program_and_no_option(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    person = real.attach()
    before = real.run("show-options", "-t", opened.session)
    trail = f"{person},$0:@0"
    assert real.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id, trail=trail)
    assert real.tmux.clients.all()[0].trail == trail
    shown = real.run("split-window", "-P", "-F", "#{pane_pid}", "-t", f"{opened.session}:", "exec sleep 60")
    with open(f"/proc/{shown}/environ", "rb") as environment:
        assert b"TRAIL" not in environment.read()
    assert "TRAIL" not in real.run("show-environment", "-t", opened.session)
    assert real.run("show-options", "-t", opened.session) == before


def test_it_is_known_what_ends_when_a_client_leaves(real: Real) -> None:
    person = real.attach()
    (client,) = real.tmux.clients.all()
    assert (client.holds_session, client.holds_server, client.read_only) == (False, False, False)
    real.run("set-option", "-t", "work", "destroy-unattached", "on")
    real.run("set-option", "-s", "exit-unattached", "on")
    (client,) = real.tmux.clients.all()
    assert (client.holds_session, client.holds_server) == (True, True)
    real.attach()
    assert not any(client.holds_session or client.holds_server for client in real.tmux.clients.all())
    real.run("switch-client", "-r", "-c", person)
    assert [client.name for client in real.tmux.clients.all() if client.read_only] == [person]
    real.run("set-option", "-s", "exit-unattached", "off")


def test_a_tag_may_be_anything_in_a_window_of_somebody_else(real: Real) -> None:
    person = real.attach()
    for tag in ("a b  c", "two\nlines", "#{pid} #(x)"):
        real.run("set-option", "-w", "-t", "work:", opening.RUN, tag)
        (client,) = real.tmux.clients.all()
        assert (client.name, client.trail) == (person, "")


def test_who_may_only_look_may_only_look_when_the_terminal_comes_back(real: Real, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    there = Real(tmp_path / "there")
    there.start()
    try:
        run_id = new_run()
        opened = there.tmux.windows.open(an_order(run_id), home())
        person = real.sit_down("tmux", "-u", "-S", real.socket, "attach-session", "-r", "-t", "=work")
        eventually(real.tmux.clients.all)
        view = there.tmux.clients.prepare_view(opened.window, session=opened.session, run_id=run_id)
        assert view is not None
        real.tmux.clients.hand_over(real.tmux.clients.all()[0], socket=there.socket, view=view)
        eventually(there.tmux.clients.all)
        there.tmux.clients.detach(person.name)
        eventually(real.tmux.clients.all)
        assert [client.read_only for client in real.tmux.clients.all()] == [True]
    finally:
        there.close_all()


def test_a_client_that_detaches_from_a_view_does_not_end_the_server(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    real.attach(opened.session)
    for _ in range(8):  # with destroy-unattached on, half of these crash tmux 3.3a
        argv = real.tmux.clients.attach_argv(opened.window, session=opened.session, run_id=run_id)
        person = real.sit_down(*argv)
        eventually(lambda: len(real.tmux.clients.all()) == 2)
        real.leave(person.name)
    assert real.tmux.identity() == opened.server


def test_a_timer_does_no_harm_when_its_window_and_session_have_gone(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    assert real.tmux.windows.arm_close(opened.window, run_id, 1)
    real.run("kill-session", "-t", opened.session)
    time.sleep(1.3)
    assert real.tmux.identity() == opened.server
    assert real.session_names() == {"work"}


def test_a_terminal_is_not_handed_over_by_words_that_a_shell_would_read(real: Real) -> None:
    real.attach()
    (client,) = real.tmux.clients.all()
    with pytest.raises(Unusable, match="handed over"):
        real.tmux.clients.hand_over(client, socket="/tmp/it's", view="view-1")
    assert len(real.tmux.clients.all()) == 1
    gone = tmux.Client("/dev/pts/999", session="$0", window="@0", pane="%0", control=False)
    with pytest.raises(tmux.Refused, match="999"):
        real.tmux.clients.hand_over(gone, socket=real.socket, view="view-1")


def test_a_program_in_control_mode_is_a_client_without_a_screen(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    control = subprocess.Popen(
        ["tmux", "-u", "-S", real.socket, "-C", "attach-session", "-t", opened.session],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        eventually(real.tmux.clients.all)
        (client,) = real.tmux.clients.all()
        assert client.control
        assert real.tmux.clients.at(opened.pane) is None
        real.tmux.status.push({"status": "x"})
    finally:
        assert control.stdin is not None
        control.stdin.close()
        control.wait(5)


def test_a_push_outlives_a_client_that_has_just_left(real: Real) -> None:
    run = runner.Runner(real.socket)
    assert run.run(status._refresh("/dev/pts/999"), script.say("on")).text.endswith("on\n")


THEIRS = [None, '#(echo job) %H:%M, #{pane_title} {x} "q" $HOME #[fg=red]', "", "#W #{E:@tmuxagents_status}"]


@pytest.mark.parametrize("theirs", THEIRS)
def test_our_session_shows_our_text_before_what_the_person_has_there(real: Real, theirs: str | None) -> None:
    if theirs is not None:
        real.tmux.options.write("status-right", theirs)
    before = [real.run("show-options", *scope) for scope in (["-g"], ["-t", "work"])]
    session = real.tmux.windows.open(an_order(new_run()), home()).session
    assert [real.run("show-options", *scope) for scope in (["-g"], ["-t", "work"])] == before
    real.tmux.status.declare()
    real.tmux.status.push({"status": "bg: 1 running / 1 total"})
    line = real.run("display-message", "-p", "-t", session, "#{T:status-right}")
    assert line.count("bg: 1 running / 1 total") == 1
    if theirs is None:
        assert line.startswith('bg: 1 running / 1 total "')
        length = int(real.run("display-message", "-p", "-t", session, "#{status-right-length}"))
        assert length == int(real.run("show-options", "-gv", "status-right-length")) + 100
    if theirs is not None and "@tmuxagents" not in theirs:
        assert real.run("show-options", "-vt", session, "status-right").endswith(f" ,}}{theirs}")
    real.tmux.status.push({"status": ""})
    assert "bg:" not in real.run("display-message", "-p", "-t", session, "#{T:status-right}")


def test_a_push_changes_the_status_line_and_redraws_little(real: Real) -> None:
    real.run("set-option", "-g", "status-right", "#{E:@tmuxagents_status}")
    real.tmux.status.declare()
    real.tmux.status.push({"status": "bg: 1 running / 1 total"})
    screen = real.screens[real.attach()]
    eventually(lambda: b"bg: 1 running" in screen.output)
    time.sleep(0.2)
    before = len(screen.output)
    real.tmux.status.push({"status": "bg: 2 running / 2 total"})
    eventually(lambda: b"2 running / 2" in screen.output[before:])
    time.sleep(0.1)
    assert len(screen.output) - before < 600


# --- no tmux, an old one, one that is not ours ------------------------------------------------------------


def with_stub(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(runner, "_client", None)
    monkeypatch.setattr(runner, "_known", {})
    folder = folder / "stub"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    if program:
        (folder / "tmux").write_text(f"#!/bin/sh\n{program}\n")
        (folder / "tmux").chmod(0o755)


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        ("", "tmux-missing"),
        ("echo tmux 2.6", "tmux-old"),
        ("echo tmux 3.0a", "tmux-old"),
        ("echo tmux 3.2", "tmux-old"),
        ("echo tmux next-3.2", "tmux-old"),
        ("echo something else", "tmux-old"),
        ("exit 1", "tmux-old"),
    ],
)
def test_a_tmux_that_is_missing_or_old_is_refused_before_anything_starts(
    nowhere: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, kind: str
) -> None:
    with_stub(tmp_path, monkeypatch, program)
    with pytest.raises(Unusable) as raised:
        tmux.Tmux(nowhere).windows.open(an_order(new_run()), home())
    assert raised.value.kind == kind
    assert raised.value.hint
    assert not os.path.exists(nowhere)


@pytest.mark.parametrize("version", ["3.2a", "3.3a", "3.10", "4.0", "next-3.9", "master", "3.5-rc"])
def test_a_tmux_that_is_new_enough_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    with_stub(tmp_path, monkeypatch, f"echo called >>{tmp_path}/calls; echo tmux {version}")
    assert [tmux.client_version() for _ in range(3)] == [version] * 3
    assert (tmp_path / "calls").read_text() == "called\n"


def test_a_server_that_is_older_than_its_client_is_refused(
    real: Real, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as replaced:
        with_stub(tmp_path, replaced, "echo 3.1c")
        with pytest.raises(Unusable, match=r"3\.1c") as raised:
            real.tmux.identity()
    assert raised.value.kind == "tmux-old"


def test_a_tmux_that_hangs_is_unanswered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(tmp_path, monkeypatch, "exec /bin/sleep 60")
    monkeypatch.setattr(runner, "LIMIT_S", 0.3)
    with pytest.raises(tmux.Unanswered):
        tmux.client_version()


@pytest.mark.parametrize(
    "words",
    [
        "error connecting to /x/s (Permission denied)",
        "error connecting to /x/s (Operation not permitted)",
        "error creating /x/s (Permission denied)",
    ],
)
def test_a_socket_that_we_may_not_use_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    with_stub(tmp_path, monkeypatch, f"echo '{words}' >&2; exit 1")
    with pytest.raises(tmux.Denied, match="/x/s") as raised:
        tmux.Tmux("/x/s").identity()
    assert "/x/s" in str(raised.value.hint)


def test_a_socket_with_too_long_a_path_is_said(tmp_path: Path) -> None:
    (tmp_path / ("x" * 120)).mkdir()
    with pytest.raises(tmux.Denied, match="too long") as raised:
        tmux.Tmux(f"{tmp_path}/{'x' * 120}/s").windows.open(an_order(new_run()), home())
    assert "TMUX_TMPDIR" in str(raised.value.hint)


def test_servers_of_another_age_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(tmp_path, monkeypatch, "echo 'protocol version mismatch (client 8, server 7)' >&2; exit 1")
    with pytest.raises(Unusable, match="different ages") as raised:
        tmux.Tmux("/x/s").identity()
    assert raised.value.kind == "tmux-old"


def test_a_program_that_cannot_be_started_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(tmp_path, monkeypatch, "exit 0")
    (tmp_path / "stub" / "tmux").write_bytes(b"\x7fELF of another machine")
    with pytest.raises(Unusable, match="cannot be started") as raised:
        tmux.client_version()
    assert raised.value.kind == "tmux-unreachable"


def test_a_server_that_only_ever_dies_is_given_up(
    nowhere: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = "echo server exited unexpectedly >&2; exit 1"
    with_stub(tmp_path, monkeypatch, f'[ "$2" = -V ] && echo tmux 3.3a && exit\n{dying}')
    monkeypatch.setattr(opening, "_LIMIT_S", 0.2)
    with pytest.raises(tmux.NoServer):
        tmux.Tmux(nowhere).windows.open(an_order(new_run()), home())


def test_what_libtmux_is_told_is_told_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(tmp_path, monkeypatch, '[ "$2" = -V ] && echo tmux 3.3a && exit\necho odd >&2; exit 1')
    with pytest.raises(tmux.Refused, match="odd"):
        tmux.Tmux("/x/s").windows.find(new_run())


def test_tmux_has_its_own_words_for_what_it_refuses(real: Real) -> None:
    with pytest.raises(tmux.Refused, match="nosuch"):
        real.tmux.options.write("nosuch", "x")
    long = ["/bin/echo", "x" * 20_000]
    with pytest.raises(tmux.Refused, match="too long") as raised:
        real.tmux.windows.open(an_order(new_run(), long), home())
    assert raised.value.kind == "window"


def test_the_folder_of_sockets_is_made_as_tmux_makes_it(tmp_path: Path) -> None:
    path = f"{tmp_path}/tmux-1/tmuxagents"
    servers.make_folder(path)
    assert os.stat(os.path.dirname(path)).st_mode & 0o7777 == 0o700
    servers.make_folder(path)
    os.chmod(os.path.dirname(path), 0o777)
    with pytest.raises(Unusable, match="Others"):
        servers.make_folder(path)
    with pytest.raises(Unusable, match="There can be no tmux socket"):
        servers.make_folder(f"{tmp_path}/a/b/c")


def test_a_server_of_another_user_is_refused(real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.getuid() == 0:
        os.chown(real.socket, 12345, 12345)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 12345)
    monkeypatch.setattr(runner, "_known", {})
    with pytest.raises(Unusable, match="belongs to another user"):
        real.tmux.identity()


# --- which server is which --------------------------------------------------------------------------------


def test_where_the_caller_is(real: Real) -> None:
    variable = f"{real.socket},{real.pid},0"
    caller = tmux.caller({"TMUX": variable, "TMUX_PANE": "%0"})
    assert caller is not None
    assert (caller.lives, caller.pane) == (True, "%0")
    assert caller.server == real.tmux.identity()
    real.restart()
    after = tmux.caller({"TMUX": variable})
    assert after is not None
    assert not after.lives
    assert after.server != real.tmux.identity()


@pytest.mark.parametrize("variable", ["", "x", "/x", "/x,1", "/x,a,0", "relative,1,0", "/x,²,0"])
def test_outside_tmux_there_is_no_caller(variable: str) -> None:
    assert tmux.caller({"TMUX": variable}) is None
    assert tmux.caller({}) is None


def test_nobody_listens(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "none", tmp_path / "file", tmp_path / ("x" * 200)):
        assert tmux.listening(str(path)) is None


def test_who_listens_is_not_waited_for(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as busy, contextlib.ExitStack() as waiting:
        busy.bind(str(tmp_path / "busy"))
        busy.listen(0)
        assert tmux.listening(str(tmp_path / "busy")) == os.getpid()
        with contextlib.suppress(BlockingIOError):
            while True:
                one = waiting.enter_context(socket.socket(socket.AF_UNIX))
                one.settimeout(0)
                one.connect(str(tmp_path / "busy"))
        assert tmux.listening(str(tmp_path / "busy")) == servers.UNKNOWN


def test_the_socket_folder_is_tmuxs_own(tmp_path: Path) -> None:
    assert tmux.socket_folder({}) == f"/tmp/tmux-{os.getuid()}"
    assert tmux.socket_folder({"TMUX_TMPDIR": ""}) == f"/tmp/tmux-{os.getuid()}"
    assert tmux.socket_folder({"TMUX_TMPDIR": f"{tmp_path}/none"}) == f"/tmp/tmux-{os.getuid()}"
    (tmp_path / "link").symlink_to(tmp_path)
    folder = tmux.socket_folder({"TMUX_TMPDIR": f"{tmp_path}/link"})
    assert folder == f"{os.path.realpath(tmp_path)}/tmux-{os.getuid()}"
    named = subprocess.run(
        ["tmux", "-L", "x", "list-sessions"],
        env={"PATH": os.environ["PATH"], "TMUX_TMPDIR": f"{tmp_path}/link"},
        capture_output=True,
        text=True,
        check=False,
        timeout=5,
    )
    assert f"{folder}/x" in named.stderr  # tmux itself says the same


def test_a_server_is_the_same_only_if_everything_agrees() -> None:
    one = tmux.Server("/x", 1, 2)
    assert one == tmux.Server("/x", 1, 2)
    assert hash(one) == hash(tmux.Server("/x", 1, 2))
    assert one not in (tmux.Server("/y", 1, 2), tmux.Server("/x", 2, 2), tmux.Server("/x", 1, 3), "/x")
    assert not tmux.Server("/x", 1, None).lives
    assert alive(os.getpid())
