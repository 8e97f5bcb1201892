"""The displays and announcements of a watcher: status lines, windows and their closing, messages, onEnd."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import Home, TmuxServer, alive, eventually, shows_messages, stop
from tests.status.watchers import registry_of, told, wrapped_by
from tests.terminal import Terminal
from tests.watcher.lookouts import Lookout, end, place_of, record, settle, shown, working
from tmuxagents import tmux
from tmuxagents.runs import directory, events, writing
from tmuxagents.system import process, watcher_lock
from tmuxagents.text import jsonline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness import Run

SHELL = ["/bin/sleep", "1000"]
POOL = 4  # threads of a watcher that conclude runs


@pytest.fixture
def watched(home: Home) -> Lookout:
    return Lookout(home)


@pytest.fixture
def another(tmp_path: Path) -> Iterator[TmuxServer]:
    folder = tmp_path / "another"
    folder.mkdir()
    with TmuxServer(folder) as server:
        yield server


def shows(server: TmuxServer, text: str, limit_s: float = 20.0) -> None:
    eventually(lambda: shown(server) == text, limit_s)


def ended_on(watched: Lookout, server: TmuxServer, status: str, **plan: Any) -> Run:
    """Return a run that has ended on a server and was not announced yet."""
    run = watched.home.run("x", **plan)
    with working(run, server) as sleeper:
        end(run, sleeper, status, "done" if status == "completed" else "error")
    return run


# --- the status line --------------------------------------------------------------------------------------


def test_the_status_line_tells_what_works_what_ended_and_then_only_the_counts(
    watched: Lookout, tmux_server: TmuxServer
) -> None:
    first, second = watched.home.run("x", name="scout"), watched.home.run("x", preset="a#(b) #[fg=red]c")
    third = watched.home.run("x")
    with working(first, tmux_server) as one, working(second, tmux_server) as two:
        watched.start()
        shows(tmux_server, "bg: 2 running / 2 total")
        begun = time.monotonic()
        end(first, one)
        shows(tmux_server, "✓ scout bg: 1 running / 2 total")
        told(second, events.Event("needs_input", {"kind": "confirm", "text": "?"}))
        shows(tmux_server, "✓ scout bg: 1 running, 1 waiting / 2 total")
        end(second, two, "failed", "error")
        shows(tmux_server, "✗ a(b) [fg=red]c ✓ scout bg: 0 running, 1 failed / 2 total")
        with working(third, tmux_server):
            shows(tmux_server, "✗ a(b) [fg=red]c bg: 1 running, 1 failed / 3 total")
            assert 4.5 < time.monotonic() - begun < 60
    settle(third)
    text = f"■ {third.run_id[:8]} ✗ a(b) [fg=red]c bg: 0 running, 1 failed / 3 total"
    shows(tmux_server, text)


def test_counts_are_there_for_themes(watched: Lookout, tmux_server: TmuxServer) -> None:
    ended_on(watched, tmux_server, "failed")
    ended_on(watched, tmux_server, "aborted")
    with working(watched.home.run("x"), tmux_server):
        watched.start()
        names = ("running", "queued", "waiting", "completed", "failed", "aborted", "total")
        form = " ".join(f"#{{E:@tmuxagents_{name}}}" for name in names)
        eventually(lambda: tmux_server.run("display-message", "-p", form) == "1 0 0 0 1 1 3")


def test_a_server_shows_what_it_has_and_what_was_launched_from_it(
    watched: Lookout, tmux_server: TmuxServer, another: TmuxServer
) -> None:
    launcher = f"{another.pid}.{another.started}.{another.socket}"
    here = watched.home.run("x")
    from_there = watched.home.run(
        "x", name="guest", tmux={"socket": "x", "session": "y", "launcher": launcher}
    )
    with working(here, tmux_server), working(from_there, tmux_server) as sleeper:
        watched.start()
        shows(tmux_server, "bg: 2 running / 2 total")
        shows(another, "bg: 1 running / 1 total")
        end(from_there, sleeper)
        shows(another, "✓ guest bg: 0 running / 1 total")
        shows(tmux_server, "✓ guest bg: 1 running / 2 total")


def test_the_status_line_empties_by_itself_some_time_after_the_last_end(
    watched: Lookout, tmux_server: TmuxServer
) -> None:
    run = watched.home.run("x")
    with working(run, tmux_server):
        record(run, at=time.time() - 285)
    watched.start()
    shows(tmux_server, f"✓ {run.run_id[:8]} bg: 0 running / 1 total")
    watched.kill()  # no watcher is left
    shows(tmux_server, "bg: 0 running / 1 total")
    shows(tmux_server, "", 40)


def test_what_is_long_over_is_not_shown_again(watched: Lookout, tmux_server: TmuxServer) -> None:
    run = watched.home.run("x")
    with working(run, tmux_server):
        record(run, at=time.time() - 400)
        writing.announce(str(run.folder))
    watched.start()
    eventually(lambda: tmux_server.run("show-options", "-gqv", "@tmuxagents_status"))
    assert shown(tmux_server) == ""
    eventually(lambda: tmux_server.run("display-message", "-p", "#{E:@tmuxagents_total}") == "1")
    assert shown(tmux_server) == ""


def test_a_person_keeps_all_options_but_those_that_are_ours(
    watched: Lookout, tmux_server: TmuxServer
) -> None:
    def options() -> list[str]:
        scopes = (["-g"], ["-s"], ["-wg"], ["-t", "work"], ["-w", "-t", "work"])
        return [line for scope in scopes for line in tmux_server.run("show-options", *scope).splitlines()]

    before = options()
    run = watched.home.run("done fine").start_in(tmux_server)
    run.wait_gone()
    eventually(lambda: "bg: 0 running / 1 total" in shown(tmux_server))
    ours = {line for line in options() if line not in before}
    assert {line.split()[0] for line in ours} == {
        f"@tmuxagents_{name}"
        for name in ("status", "running", "queued", "waiting", "completed", "failed", "aborted", "total")
    }
    assert [line for line in options() if line not in ours] == before


# --- servers that do not answer ---------------------------------------------------------------------------


def test_a_stopped_server_delays_nobody_and_is_right_when_it_goes_on(
    watched: Lookout, tmux_server: TmuxServer, another: TmuxServer
) -> None:
    watched.hook()
    stuck, free = watched.home.run("x", name="stuck"), watched.home.run("x", name="free")
    with working(stuck, tmux_server) as one, working(free, another) as two:
        watched.start()
        shows(tmux_server, "bg: 1 running / 1 total")
        shows(another, "bg: 1 running / 1 total")
        stop(tmux_server.pid)
        begun = time.monotonic()
        end(stuck, one)
        end(free, two)
        settle(stuck, free)
        eventually(lambda: len(watched.announced()) == 2)
        eventually(lambda: watched.has_saved(stuck, announced=True))
        eventually(lambda: shown(another).startswith("✓ free"))
        more = [ended_on(watched, another, "completed", name=f"more{number}") for number in range(3)]
        settle(*more)
        eventually(lambda: "bg: 0 running / 4 total" in shown(another))
        assert time.monotonic() - begun < 5  # before the call to the stopped one is given up
        process.send(tmux_server.pid, tmux_server.started, signal.SIGCONT)
        eventually(lambda: shown(tmux_server).endswith("bg: 0 running / 1 total"), 30)


def test_nothing_grows_while_a_server_is_silent_or_gone(
    watched: Lookout, tmux_server: TmuxServer, another: TmuxServer
) -> None:
    with working(watched.home.run("x"), another):
        pid, _ = watched.start()
        shows(another, "bg: 1 running / 1 total")
        stop(tmux_server.pid)
        runs = [ended_on(watched, tmux_server, "completed") for _ in range(10)]
        settle(*runs)
        threads = len(os.listdir(f"/proc/{pid}/task"))
        handles = len(os.listdir(f"/proc/{pid}/fd"))
        runs += [ended_on(watched, tmux_server, "completed") for _ in range(10)]
        settle(*runs)
        more = len(os.listdir(f"/proc/{pid}/task"))
        assert more <= threads + POOL  # which may not have had its full size yet
        eventually(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= handles)  # a call that is under way has some
        process.send(tmux_server.pid, tmux_server.started, signal.SIGKILL)
        settle(ended_on(watched, tmux_server, "completed"))
        eventually(lambda: len(os.listdir(f"/proc/{pid}/task")) < more)
        shows(another, "bg: 1 running / 1 total")
        assert watched.watcher()[0] == pid


def test_a_dead_server_costs_no_rounds(
    watched: Lookout, tmux_server: TmuxServer, another: TmuxServer
) -> None:
    with working(watched.home.run("x"), another):
        pid, _ = watched.start()
        tmux_server.__exit__()
        settle(ended_on(watched, tmux_server, "completed"))
        shows(another, "bg: 1 running / 1 total")

        def is_quiet() -> bool:
            before = naps(pid)
            time.sleep(1.0)
            return naps(pid) - before <= 5

        eventually(is_quiet)


def naps(pid: int) -> int:
    """Return how often a process has waited."""
    lines = Path(f"/proc/{pid}/task/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("voluntary")).split()[1])


def test_a_silent_server_does_not_keep_it(watched: Lookout, tmux_server: TmuxServer) -> None:
    stop(tmux_server.pid)
    ended_on(watched, tmux_server, "completed")
    pid, started = watched.start(**{watcher_lock.IDLE: "0.2"})
    assert process.wait_gone(pid, started, 20)
    assert watched.home.watcher() is None


def test_another_server_at_the_socket_of_one_is_shown_nothing(
    watched: Lookout, tmux_server: TmuxServer, another: TmuxServer
) -> None:
    run = watched.home.run("x")
    tmux_server.socket.unlink()  # its server lives on behind it
    at_its_place = TmuxServer(tmux_server.socket.parent)
    with working(run, tmux_server), working(watched.home.run("x"), another), at_its_place as successor:
        watched.start()
        shows(another, "bg: 1 running / 1 total")
        eventually(lambda: "is not its socket any more" in watched.log())
        assert successor.run("show-options", "-gqv", "@tmuxagents_status") == ""


def test_a_server_whose_socket_comes_back_is_shown_what_is_true_then(
    watched: Lookout, tmux_server: TmuxServer
) -> None:
    run = watched.home.run("x")
    with working(run, tmux_server) as sleeper:
        watched.start()
        shows(tmux_server, "bg: 1 running / 1 total")
        tmux_server.socket.unlink()
        end(run, sleeper, "failed", "error")
        eventually(lambda: "is not its socket any more" in watched.log())
        os.kill(tmux_server.pid, signal.SIGUSR1)
        eventually(tmux_server.socket.exists)
        eventually(lambda: shown(tmux_server).endswith("bg: 0 running, 1 failed / 1 total"))


def test_counts_are_never_wrong_though_the_registry_is_removed(
    watched: Lookout, tmux_server: TmuxServer
) -> None:
    runs = [watched.home.run("x") for _ in range(4)]
    seen = set()
    with contextlib.ExitStack() as all_of_them:
        sleepers = [all_of_them.enter_context(working(run, tmux_server)) for run in runs]
        watched.start()
        shows(tmux_server, "bg: 4 running / 4 total")
        for run, sleeper in zip(runs, sleepers, strict=True):
            for side in ("", "-wal", "-shm"):
                Path(registry_of(watched.home) + side).unlink()
            end(run, sleeper)
            until = time.monotonic() + 0.5
            while time.monotonic() < until:
                seen.add(shown(tmux_server).partition("bg: ")[2])
    eventually(lambda: shown(tmux_server).endswith("bg: 0 running / 4 total"))
    assert seen <= {f"{number} running / 4 total" for number in range(5)}


# --- windows ----------------------------------------------------------------------------------------------


class Windowed:
    """A run with a marked window on a server, and a process in place of its wrapper."""

    def __init__(
        self, watched: Lookout, server: TmuxServer, *, begins: bool = True, says: str = "running", **plan: Any
    ) -> None:
        self.run = watched.home.run("x", **plan)
        self.server = server
        edge = tmux.Tmux(str(server.socket))
        order = tmux.Order(self.run.run_id, name="x", argv=SHELL, state=says)
        self.opened = edge.windows.open(order, tmux.Home(["agents-app"], owner="0" * 16))
        self.window = self.opened.window
        place = place_of(server) | {"window": self.window, "pane": self.opened.pane}
        pane_pid = server.run("display-message", "-p", "-t", self.window, "#{pane_pid}")
        self.place = place
        wrapped_by(self.run, int(pane_pid), tmux=place)
        self.wrapper = int(pane_pid)
        if begins:
            self.begin()

    def begin(self) -> None:
        told(self.run, events.run_started({"pid": 1, "pidStartTime": 1, "wrapperPid": 1}))

    def end(self, status: str = "completed") -> None:
        record(self.run, status, "done" if status == "completed" else "error")
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.wrapper, signal.SIGKILL)

    def state(self) -> str | None:
        """Return the state that the window of the run shows; None without a window."""
        return self._option("@tmuxagents_state")

    def is_armed(self) -> bool:
        return bool(self._option("@tmuxagents_close"))

    def _option(self, name: str) -> str | None:
        rows = self.server.run("list-windows", "-a", "-F", f"#{{window_id}}=#{{{name}}}").splitlines()
        return dict(row.split("=", 1) for row in rows).get(self.window)


def test_windows_show_how_their_runs_ended_and_those_of_completed_ones_close(
    watched: Lookout, tmux_server: TmuxServer
) -> None:
    watched.settings(keepWindows=1)
    good, bad = Windowed(watched, tmux_server), Windowed(watched, tmux_server)
    watched.start()
    assert (good.state(), bad.state()) == ("running", "running")
    good.end()
    bad.end("failed")
    eventually(lambda: bad.state() == "failed")
    eventually(lambda: good.state() is None)
    assert not bad.is_armed()
    assert tmux_server.run("list-windows", "-t", "work", "-F", "#{window_id}")


def test_an_impossible_window_of_one_run_keeps_no_other_window_from_being_marked(
    watched: Lookout, tmux_server: TmuxServer
) -> None:
    odd, fine = Windowed(watched, tmux_server), Windowed(watched, tmux_server)
    wrapper = odd.run.folder / directory.WRAPPER
    wrapper.write_text(wrapper.read_text().replace(f'"{odd.window}"', '"@x"'))  # a child can write it
    watched.start()
    # The watcher learns the real windows at its first visit to the server; a second change needs another.
    told(fine.run, events.Event("needs_input", {"kind": "confirm", "text": "?"}))
    eventually(lambda: fine.state() == "waiting")
    told(fine.run, events.Event("input_given", {"kind": "confirm", "text": None}))
    eventually(lambda: fine.state() == "running")
    odd.end("failed")
    settle(odd.run)
    fine.end("failed")
    eventually(lambda: fine.state() == "failed")
    eventually(lambda: f"run {odd.run.run_id}: no id of tmux: '@x'" in watched.log())


def test_a_window_says_so_as_long_as_its_run_waits_for_somebody(
    watched: Lookout, tmux_server: TmuxServer
) -> None:
    asks, works = Windowed(watched, tmux_server), Windowed(watched, tmux_server)
    watched.start()
    told(asks.run, events.Event("needs_input", {"kind": "confirm", "text": "?"}))
    eventually(lambda: asks.state() == "waiting")
    assert works.state() == "running"
    told(asks.run, events.Event("input_given", {"kind": "confirm", "text": None}))
    eventually(lambda: asks.state() == "running")
    told(asks.run, events.Event("needs_input", {"kind": "confirm", "text": "?"}))
    eventually(lambda: asks.state() == "waiting")
    asks.end("failed")
    eventually(lambda: asks.state() == "failed")


def test_a_window_says_so_as_long_as_its_run_waits_for_its_turn(
    watched: Lookout, tmux_server: TmuxServer
) -> None:
    waits, follows = (
        Windowed(watched, tmux_server, begins=False),
        Windowed(watched, tmux_server, begins=False),
    )
    asks, begins = Windowed(watched, tmux_server), Windowed(watched, tmux_server, begins=False)
    watched.start()
    for one in (waits, follows):
        told(one.run, events.Event("queued", {"position": 1}))
    told(asks.run, events.Event("needs_input", {"kind": "confirm", "text": "?"}))
    eventually(lambda: (waits.state(), follows.state(), asks.state()) == ("queued", "queued", "waiting"))
    waits.begin()
    eventually(lambda: waits.state() == "running")
    watched.kill()
    follows.begin()
    told(asks.run, events.Event("input_given", {"kind": "confirm", "text": None}))
    watched.start()  # what it did not see itself it puts right as well
    eventually(lambda: (follows.state(), asks.state()) == ("running", "running"))
    assert begins.state() == "running"  # it waits for nothing: it is about to begin


def test_a_window_of_a_job_that_never_waited_for_slurm_says_that_it_works(
    watched: Lookout, tmux_server: TmuxServer
) -> None:
    watched.start()
    asks = Windowed(watched, tmux_server)
    told(asks.run, events.Event("needs_input", {"kind": "confirm", "text": "?"}))
    eventually(lambda: asks.state() == "waiting")  # the watcher knows the windows there are by now
    job = Windowed(watched, tmux_server, begins=False, says="queued")
    marker = {"v": 1, "engine": "slurm", "state": "submitted", "handle": {"job": "7"}, "tmux": job.place}
    writing.replace(str(job.run.folder), directory.MACHINE, jsonline.encode(marker))
    writing.take_plan(str(job.run.folder), (job.run.folder / directory.META).read_bytes())
    job.begin()
    eventually(lambda: job.state() == "running")


def test_a_window_that_is_looked_at_is_not_closed(
    watched: Lookout, tmux_server: TmuxServer, home: Home
) -> None:
    watched.settings(keepWindows=1)
    seen, unseen = Windowed(watched, tmux_server), Windowed(watched, tmux_server)
    attach = ["tmux", "-S", str(tmux_server.socket), "attach", "-t", f"{seen.opened.session}:{seen.window}"]
    person = Terminal(attach, home.environment, home.folder)
    try:
        eventually(lambda: tmux_server.run("list-clients", "-F", "#{window_id}") == seen.window)
        watched.start()
        seen.end()
        unseen.end()
        eventually(lambda: unseen.state() is None)
        eventually(seen.is_armed)
        assert seen.state() == "completed"
        tmux_server.run("detach-client", "-s", seen.opened.session)
        eventually(lambda: seen.state() is None)
    finally:
        person.close()


KEEP = {
    "all": (False, False),
    "failed": (True, False),
    "none": (True, True),
    300: (True, False),
}


@pytest.mark.parametrize("keep", KEEP)
def test_which_windows_are_to_close(watched: Lookout, tmux_server: TmuxServer, keep: str | int) -> None:
    watched.settings(keepWindows=keep)
    good, bad = Windowed(watched, tmux_server), Windowed(watched, tmux_server)
    watched.start()
    good.end()
    bad.end("failed")
    for one, closes in zip((good, bad), KEEP[keep], strict=True):
        eventually(lambda one=one: one.state() in ("completed", "failed", None))
        if not closes:
            assert not one.is_armed()
        elif keep == 300:
            eventually(one.is_armed)
        else:
            eventually(lambda one=one: one.state() is None)


def test_at_its_start_it_sees_to_windows_that_nobody_has_seen_to(
    watched: Lookout, tmux_server: TmuxServer
) -> None:
    watched.settings(keepWindows=2)
    early, told_already = Windowed(watched, tmux_server), Windowed(watched, tmux_server)
    for one in (early, told_already):
        one.end()
    writing.announce(str(told_already.run.folder))  # by a watcher that was killed just then
    watched.start()
    for one in (early, told_already):
        eventually(lambda one=one: one.state() is None)


def test_only_the_runs_own_window_is_touched(watched: Lookout, tmux_server: TmuxServer) -> None:
    watched.settings(keepWindows="none")
    one = Windowed(watched, tmux_server)
    tmux_server.run("set-option", "-w", "-t", one.window, "@tmuxagents_run", "0" * 16)
    watched.start()
    one.end()
    settle(one.run)
    eventually(lambda: shown(tmux_server).startswith("✓"))
    other = Windowed(watched, tmux_server)
    other.end()
    eventually(lambda: other.state() is None)
    assert one.state() == "running"


# --- settings: notify, onEnd ------------------------------------------------------------------------------


@pytest.mark.parametrize("notify", ["bell", "off"])
def test_without_marks_the_status_line_has_only_counts(
    watched: Lookout, tmux_server: TmuxServer, notify: str
) -> None:
    watched.settings(notify=notify)
    run = watched.home.run("done fine").start()
    run.wait()
    settle(run)
    assert (b"\a" in bytes(run.screen).rpartition(b"\x1b]2;")[2].partition(b"\a")[2]) == (notify == "bell")
    settle(ended_on(watched, tmux_server, "completed"))
    shows(tmux_server, "bg: 0 running / 1 total")


def test_a_message_is_shown_unless_it_would_stop_screens(
    watched: Lookout, tmux_server: TmuxServer, home: Home
) -> None:
    watched.settings(notify="message")
    person = Terminal(["tmux", "-S", str(tmux_server.socket), "attach"], home.environment, home.folder)
    try:
        eventually(lambda: tmux_server.run("list-clients"))
        watched.start()
        settle(ended_on(watched, tmux_server, "completed", name="scout"))
        shows(tmux_server, "✓ scout bg: 0 running / 1 total")

        def told() -> list[str]:
            lines = tmux_server.run("show-messages").splitlines()
            return [line for line in lines if " message: " in line and "scout" in line]

        if shows_messages():
            eventually(told)
            assert "needs tmux 3.6" not in watched.log()
        else:
            eventually(lambda: "needs tmux 3.6" in watched.log())
            assert told() == []
    finally:
        person.close()


def test_on_end_is_run_once_with_its_words_and_ended_at_its_limit(watched: Lookout) -> None:
    watched.hook("1000")
    first = watched.home.run("x")
    record(first)
    watched.start()
    settle(first)
    eventually(lambda: len(watched.announced()) == 2)
    begun = time.monotonic()
    assert watched.announced()[0] == f"{first.run_id} completed"
    pid = int(watched.announced()[1].split()[1])
    entries = Path(f"/proc/{pid}/environ").read_text().split("\0")
    environment = dict(entry.split("=", 1) for entry in entries if entry)
    assert (environment["TMUXAGENTS_RUN"], environment["TMUXAGENTS_STATUS"]) == (first.run_id, "completed")
    assert environment["TMUXAGENTS_HOME"] == str(watched.home.state)
    second = watched.home.run("x")
    record(second, "failed", "error")  # other announcements come meanwhile
    settle(second)
    eventually(lambda: f"{second.run_id} failed" in watched.announced())
    assert alive(pid)
    eventually(lambda: not alive(pid))
    assert time.monotonic() - begun > 8


def test_an_on_end_that_cannot_be_run_is_a_line_in_the_log(watched: Lookout) -> None:
    watched.settings(onEnd=["/nowhere/at/all"])
    first, second = watched.home.run("x"), watched.home.run("x")
    record(first)
    watched.start()
    settle(first)
    eventually(lambda: "onEnd cannot be run" in watched.log())
    watched.hook()
    record(second)
    eventually(lambda: watched.announced() == [f"{second.run_id} completed"])
    assert len(watched.log().splitlines()) == 1


def test_a_project_names_no_command_to_run(watched: Lookout, tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    settings = watched.home.project / ".pi" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"subagents": {"onEnd": ["touch", str(evil)], "notify": "off"}}))
    run = watched.home.run("x")
    record(run)
    watched.hook()
    watched.start()
    eventually(lambda: watched.announced() == [f"{run.run_id} completed"])
    assert not evil.exists()


def test_it_waits_for_its_last_on_end_before_it_leaves(watched: Lookout) -> None:
    watched.hook("2")
    run = watched.home.run("x")
    record(run)
    pid, started = watched.start(**{watcher_lock.IDLE: "0.1"})
    eventually(lambda: len(watched.announced()) == 2)
    hook = int(watched.announced()[1].split()[1])
    assert process.wait_gone(pid, started, 20)
    assert not alive(hook)
