"""run --attach: the child's window on the person's terminal, then the run's result."""

from __future__ import annotations

import os
import signal
import termios
from typing import TYPE_CHECKING

from tests.harness import eventually
from tests.status.watchers import checked
from tests.terminals import Room, inside, stopped

if TYPE_CHECKING:
    from tests.harness import TmuxServer

NOTICE = "read-only transcript: `send` and typing need --live\n"


def run_of(room: Room) -> tuple[str, str]:
    """Wait for the only run; return it and its window."""
    eventually(room.clients)
    ((run_id, window),) = room.windows().items()
    return run_id, window


def test_outside_of_tmux_the_call_goes_on_when_the_person_leaves_the_window(room: Room) -> None:
    go = room.home.folder / "go"
    person = room.person("run", "--attach", f"gate {go}\ndone all good", TERM="xterm-256color")
    _, window = run_of(room)
    room.looks_at(person, window)
    room.detach(person)
    person.shows(" of 10m")  # the call's own picture
    go.touch()
    assert person.left() == 0
    assert person.text.endswith("all good\n")
    assert person.text.startswith(NOTICE)


def test_a_person_may_stay_in_the_window_after_the_end(room: Room) -> None:
    person = room.person("run", "--attach", "begin\nanswer length half\nsettle", TERM="xterm-256color")
    run_id, window = run_of(room)
    room.result(run_id)
    room.looks_at(person, window)
    assert person.process.poll() is None
    room.detach(person)
    assert person.left() == 1
    assert " failed after 0s: The answer was cut at the model's output limit." in person.text
    assert person.text.endswith("half\n")


def test_who_cancels_the_call_gets_the_terminal_back(room: Room) -> None:
    person = room.person("run", "--attach", "begin\nanswer toolUse so far\nsleep 600", TERM="xterm-256color")
    run_id, window = run_of(room)
    room.looks_at(person, window)
    person.process.send_signal(signal.SIGTERM)
    assert person.left() == 143
    assert room.result(run_id)["reason"] == "parent"
    assert "  cancelled after " in person.text


def test_who_cancels_the_call_gets_the_terminal_back_from_a_server_that_does_not_answer(room: Room) -> None:
    person = room.person("run", "--attach", "begin\nanswer toolUse so far\nsleep 600", TERM="xterm-256color")
    run_id, window = run_of(room)
    room.looks_at(person, window)
    with stopped(int(room.tmux("display-message", "-p", "#{pid}"))):
        person.process.send_signal(signal.SIGTERM)
        assert person.left() == 143
    assert room.result(run_id)["reason"] == "parent"
    assert person.text.rindex("\x1b[?1049l") > person.text.rindex("\x1b[?1049h")
    handle = os.open(person.name, os.O_RDONLY | os.O_NOCTTY)
    modes = termios.tcgetattr(handle)[3]
    os.close(handle)
    assert modes & termios.ICANON
    assert modes & termios.ECHO


def test_inside_tmux_the_client_is_switched_and_the_call_waits_where_it_is(
    room: Room, tmux_server: TmuxServer
) -> None:
    person = room.at_work(tmux_server)
    done = room("run", "--attach", "--json", "begin\nsleep 0.5\ndone fine", **inside(tmux_server))
    (run,) = checked(done.stdout)["runs"]
    assert (done.returncode, done.stderr, run["output"]) == (0, NOTICE, "fine")
    room.looks_at(person, run["tmux"]["window"], tmux_server)


def test_where_nobody_could_see_it_nothing_is_launched(room: Room) -> None:
    error = checked(room("run", "--attach", "--json", "done x").stdout, "error")["error"]
    assert (error["kind"], error["exit"], error["hint"]) == (
        *("no-tty", 3, "in a terminal: tmuxagents run --attach, or leave out --attach"),
    )
    file = room.home.folder / "tasks.json"
    file.write_text('["no"]')
    error = checked(room("run", "--attach", "--json", "--tasks", str(file)).stdout, "error")["error"]
    assert (error["kind"], error["exit"]) == ("usage", 2)
    assert error["message"] == "--attach does not go with --tasks: a terminal shows one window."
    assert not (room.home.state / "runs").exists()


def test_children_work_on_where_their_window_cannot_be_shown(room: Room, tmux_server: TmuxServer) -> None:
    person = room.at_work(tmux_server)
    tmux_server.run("set-option", "-t", "=work:", "destroy-unattached", "on")
    done = room("run", "--attach", "begin\nsleep 0.5\ndone fine", **inside(tmux_server))
    assert (done.returncode, "fine" in done.stdout) == (0, True), done.stderr
    assert "warning: not attached: Your tmux session would end when your terminal leaves it" in done.stderr
    assert person.process.poll() is None
