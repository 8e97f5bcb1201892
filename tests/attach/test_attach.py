"""`attach` by the installed command, with people at real terminals: what does each of them see?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually
from tests.status.watchers import COMMAND, checked, sleeper, wrapped_by
from tests.terminals import WORKS, Room, by_key, end_server, inside, stopped
from tmuxagents import tmux
from tmuxagents.system import process

if TYPE_CHECKING:
    from tests.harness import TmuxServer

NOTICE = "read-only transcript: `send` and typing need --live\n"
ATTACHES = 24  # enough to go from each run to each other one; torture has the large numbers


def everything_set(server: TmuxServer) -> list[str]:
    """Return all that a person may have set on a server, and in their session."""
    asked = (
        *(["show-options", "-s"], ["show-options", "-g"], ["show-options", "-wg"], ["show-hooks", "-g"]),
        *(["show-options", "-t", "=work:"], ["show-options", "-w", "-t", "=work:"], ["list-keys"]),
        *(["show-environment", "-g"], ["show-environment", "-t", "=work:"]),
    )
    lines = [server.run(*words).splitlines() for words in asked]
    return [
        line for told in lines for line in told if not line.startswith("@tmuxagents_")
    ]  # the documented ones


# --- outside of tmux --------------------------------------------------------------------------------------


def test_outside_of_tmux_the_terminal_becomes_a_client(room: Room) -> None:
    run_id = room.launch()
    person = room.person("attach", run_id[:8], TERM="xterm-256color")
    room.looks_at(person, room.windows()[run_id])
    with open(f"/proc/{person.process.pid}/environ", "rb") as file:
        environment = dict(pair.split(b"=", 1) for pair in file.read().split(b"\0") if pair)
    assert os.path.basename(os.readlink(f"/proc/{person.process.pid}/exe")) == "tmux"
    assert environment[b"TERM"] == b"xterm-256color"
    assert b"TMUX" not in environment
    room.tmux("detach-client", "-t", person.name)
    assert person.left() == 0
    assert person.text.startswith(NOTICE)
    assert person.text.count(NOTICE) == 1


def test_the_second_who_looks_has_a_view_of_their_own_which_goes_with_them(room: Room) -> None:
    runs = [room.launch(), room.launch()]
    windows = room.windows()
    people = [room.person("attach", run_id) for run_id in runs]
    for person, run_id in zip(people, runs, strict=True):
        room.looks_at(person, windows[run_id])
    eventually(lambda: len(room.views()) == 1)
    for person in people:
        person.process.kill()
    eventually(lambda: room.views() == [] and room.clients() == {})
    assert room.windows() == windows


def test_a_server_that_is_gone_is_ignored_with_one_line(room: Room) -> None:
    run_id = room.launch()
    person = room.person("attach", run_id, TMUX="/nowhere/tmux,1,0", TMUX_PANE="%0")
    room.looks_at(person, room.windows()[run_id])
    warning = "warning: $TMUX names a tmux server that is gone (/nowhere/tmux): ignored.\n"
    assert person.text.startswith(warning + NOTICE)


def test_a_pane_that_does_not_know_that_it_is_one_gets_no_tmux_inside_it(
    room: Room, mine: TmuxServer
) -> None:
    run_id = room.launch(**inside(mine))
    person = room.at_work(mine)
    command = f"cd {room.home.project} && {' '.join(COMMAND)} attach {run_id}; exec sleep 600"
    mine.run(
        *(
            "new-window",
            "-t",
            "=work:",
            *(f"-e{name}={value}" for name, value in room.home.environment.items()),
        ),
        *("env", "-u", "TMUX", "-u", "TMUX_PANE", "sh", "-c", command),
    )
    room.looks_at(person, room.windows(mine)[run_id], mine)
    assert list(room.clients(mine)) == [person.name]


def test_without_a_terminal_there_is_an_exact_hint(room: Room) -> None:
    run_id = room.launch()
    hint = f"A window needs a terminal to be shown on.\nhint: in a terminal: tmuxagents attach {run_id[:8]}\n"
    for redirected in ("<&-", ">out", "</dev/null >out"):
        person = room.sit_down("sh", "-c", f'"$0" attach {run_id} {redirected}', *COMMAND)
        assert (person.left(), person.text) == (3, hint)
    error = checked(room("attach", "--json").stdout, "error")["error"]
    assert (error["kind"], error["exit"]) == ("no-tty", 3)
    assert room.clients() == {}


# --- inside tmux ------------------------------------------------------------------------------------------


def test_inside_tmux_the_client_is_switched_and_comes_back(room: Room, mine: TmuxServer) -> None:
    person = room.at_work(mine)
    mine.run("new-window", "-t", "=work:", "sleep 600")
    before, everything = room.clients(mine), everything_set(mine)
    run_id = room.launch(**inside(mine))
    assert room.clients(mine) == before
    done = room("attach", run_id, **inside(mine))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", NOTICE)
    assert room.clients(mine) == {person.name: room.windows(mine)[run_id]}
    assert room("attach", "--back", **inside(mine, "=agents-project:")).returncode == 0
    assert room.clients(mine) == before
    assert (everything_set(mine), room.views(mine)) == (everything, [])


def test_a_person_types_it_into_their_own_shell(room: Room, mine: TmuxServer) -> None:
    run_id = room.launch(**inside(mine))
    environment = [f"-e{name}={value}" for name, value in room.home.environment.items()]
    folder = str(room.home.project)
    mine.run("new-window", "-t", "=work:", *environment, "-c", folder, "sh")
    person = room.at_work(mine)
    person.type(f"{' '.join(COMMAND)} attach\n")
    room.looks_at(person, room.windows(mine)[run_id], mine)
    person.shows("so far")


def test_the_client_that_shows_the_pane_is_meant_and_no_other(room: Room, mine: TmuxServer) -> None:
    run_id = room.launch(**inside(mine))
    mine.run("new-session", "-d", "-s", "other", "sleep 600")
    mine.run("new-session", "-d", "-s", "unseen", "sleep 600")
    person = room.at_work(mine)
    onlooker = room.at_work(mine, "other")
    before = room.clients(mine)
    unseen = room("attach", run_id, "--json", **inside(mine, "=unseen:"))
    assert checked(unseen.stdout, "error")["error"]["kind"] == "no-tty"
    assert room.clients(mine) == before
    assert room("attach", run_id, **inside(mine, "=other:")).returncode == 0
    assert room.clients(mine) == before | {onlooker.name: room.windows(mine)[run_id]}
    assert room.clients(mine)[person.name] == before[person.name]


def test_a_key_of_tmux_can_call_it(room: Room, mine: TmuxServer) -> None:
    person = room.at_work(mine)
    before = room.clients(mine)
    run_id = room.launch(**inside(mine))
    values = " ".join(f"'{name}={value}'" for name, value in room.home.environment.items())
    command = f"cd {room.home.project} && env {values} {' '.join(COMMAND)}"
    for key, words in (("F5", "attach --next"), ("F6", "attach --back")):
        mine.run("bind-key", "-n", key, "run-shell", "-b", f"{command} {words} 2>/dev/null")
    mine.run("bind-key", "-n", "F7", "display-popup", "-E", f"{command} attach {run_id} 2>/dev/null")
    person.type("\x1b[15~")
    room.looks_at(person, room.windows(mine)[run_id], mine)
    person.type("\x1b[17~")
    eventually(lambda: room.clients(mine) == before)
    person.type("\x1b[18~")
    room.looks_at(person, room.windows(mine)[run_id], mine)


def test_back_is_step_by_step_and_then_home(room: Room, mine: TmuxServer) -> None:
    person = room.at_work(mine)
    home = room.clients(mine)
    runs = [room.launch(**inside(mine)) for _ in range(3)]
    windows = room.windows(mine)
    room.person("attach", runs[2])  # so that the others' session is not free for the person
    eventually(lambda: len(room.clients(mine)) == 2)

    def goes(*words: str) -> str:
        assert room("attach", *words, **by_key(mine, person)).returncode == 0
        window = room.clients(mine)[person.name]
        return next((str(runs.index(run_id)) for run_id in runs if windows[run_id] == window), window)

    assert [goes(runs[0]), goes(runs[0]), goes("--next"), goes("--next"), goes("--next")] == list("00210")
    mine.run("kill-window", "-t", windows[runs[1]])
    room.result(runs[1])
    assert [goes("--back") for _ in range(3)] == ["2", "0", home[person.name]]
    assert len(room.views(mine)) <= 1


def test_who_came_from_outside_goes_back_outside(room: Room, mine: TmuxServer) -> None:
    run_id = room.launch(**inside(mine))
    people = [room.person("attach", run_id) for _ in range(2)]
    eventually(lambda: len(room.clients(mine)) == 2)
    for person in people:
        assert room("attach", "--back", **by_key(mine, person)).returncode == 0
        assert person.left() == 0
    eventually(lambda: room.views(mine) == [])


def test_who_showed_nothing_before_is_told(room: Room, mine: TmuxServer) -> None:
    person = room.at_work(mine)
    before = room.clients(mine)
    done = room("attach", "--back", "--json", **inside(mine))
    error = checked(done.stdout, "error")["error"]
    assert (error["kind"], error["message"]) == ("no-window", "This terminal showed nothing else before.")
    assert room.clients(mine) == before == {person.name: before[person.name]}
    outside = room.person("attach", "--back")
    assert outside.left() == 2
    outside.shows("--back is for terminals inside tmux.\n")


def test_runs_in_the_persons_own_session_are_shown_there(room: Room, mine: TmuxServer) -> None:
    person = room.at_work(mine)
    before, everything = room.clients(mine), everything_set(mine)
    run_id = room.launch(TMUXAGENTS_SESSION="current", **inside(mine))
    assert room("attach", run_id, **inside(mine)).returncode == 0
    assert room.clients(mine) == {person.name: room.windows(mine)[run_id]}
    assert room("attach", "--back", **by_key(mine, person)).returncode == 0
    assert room.clients(mine) == before
    assert everything_set(mine) == everything
    assert mine.run("show-environment", "-h", "-t", "=work:") == ""


# --- the way back -----------------------------------------------------------------------------------------


def last_used(server: TmuxServer) -> list[str]:
    """Return the clients used in the latest second: a key means the latest client of its session."""
    rows = server.run("list-clients", "-F", "#{client_activity} #{client_name}").splitlines()
    latest = max(row.partition(" ")[0] for row in rows)
    return [row.partition(" ")[2] for row in rows if row.startswith(f"{latest} ")]


@pytest.mark.parametrize("where", ["same server", "other server"])
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "with another client"])
def test_prefix_d_leads_back_to_the_pane_that_the_person_left(
    room: Room, mine: TmuxServer, where: str, *, beside: bool
) -> None:
    """Another client of the same session stays where it is, whatever happens meanwhile."""
    run_id = room.launch(**(inside(mine) if where == "same server" else {}))
    there = mine if where == "same server" else None
    person = room.at_work(mine)
    mine.run("new-window", "-t", "=work:", "sleep 600")
    mine.run("split-window", "-t", "=work:", "sleep 600")
    mine.run("split-window", "-t", "=work:", "sleep 600")
    mine.run("select-pane", "-t", "=work:.1")
    if beside:
        room.at_work(mine)

        def calls() -> bool:
            person.type(" ")
            return last_used(mine) == [person.name]

        eventually(calls)
    before = room.panes(mine)
    assert room("attach", run_id, **by_key(mine, person)).returncode == 0
    assert room.clients(there)[person.name] == room.windows(there)[run_id]
    onlooker = {name: place for name, place in before.items() if name != person.name}
    assert {name: room.panes(mine)[name] for name in onlooker} == onlooker
    if not beside:  # a program opens and chooses windows and panes in the person's session
        mine.run("select-pane", "-t", "=work:.2")
        mine.run("new-window", "-t", "=work:", "sleep 600")
    room.detach(person, there)
    eventually(lambda: room.panes(mine) == before)
    assert person.process.poll() is None
    eventually(lambda: room.views(there) == [])
    room.detach(person, mine)
    assert person.left() == 0
    assert "sessions should be nested" not in person.text


def test_prefix_d_after_several_runs_leads_back_home(room: Room, mine: TmuxServer) -> None:
    person = room.at_work(mine)
    before = room.panes(mine)
    runs = [room.launch(**inside(mine)) for _ in range(2)]
    for run_id in (*runs, runs[0]):
        assert room("attach", run_id, **by_key(mine, person)).returncode == 0
        assert room.clients(mine)[person.name] == room.windows(mine)[run_id]
    room.detach(person, mine)
    eventually(lambda: room.panes(mine) == before)


def test_a_person_who_has_switched_to_their_session_leaves_tmux_there(room: Room, mine: TmuxServer) -> None:
    run_id = room.launch(**inside(mine))
    person = room.at_work(mine)
    for _ in range(3):
        assert room("attach", run_id, **by_key(mine, person)).returncode == 0
        mine.run("switch-client", "-c", person.name, "-t", "=work")
    room.detach(person, mine)
    assert person.left() == 0
    assert person.text.rstrip().endswith("[detached (from session work)]")


def test_a_terminal_is_back_when_the_window_it_shows_closes(room: Room, mine: TmuxServer) -> None:
    mine.run("set-option", "-g", "detach-on-destroy", "off")
    run_id = room.launch(**inside(mine))
    person = room.at_work(mine)
    before = room.panes(mine)
    assert room("attach", run_id, **by_key(mine, person)).returncode == 0
    mine.run("kill-window", "-t", room.windows(mine)[run_id])
    eventually(lambda: room.panes(mine) == before)


@pytest.mark.parametrize("gone", ["pane", "window", "session"])
def test_what_has_gone_meanwhile_is_not_come_back_to(room: Room, mine: TmuxServer, gone: str) -> None:
    run_id = room.launch(**inside(mine))
    person = room.at_work(mine)
    mine.run("split-window", "-t", "=work:", "sleep 600")
    mine.run("new-window", "-d", "-t", "=work:", "sleep 600")
    assert room("attach", run_id, **by_key(mine, person)).returncode == 0
    mine.run(f"kill-{gone}", "-t", "=work:" if gone != "session" else "=work")
    room.detach(person, mine)
    if gone == "session":
        assert person.left() == 0
        assert "The tmux session that this terminal came from has ended." in person.text
    else:
        eventually(lambda: mine.run("list-clients", "-F", "#{session_name}") == "work")


def test_a_terminal_keeps_the_rights_it_was_attached_with(room: Room, mine: TmuxServer) -> None:
    run_id = room.launch(**inside(mine))
    argv = ("tmux", "-u", "-S", str(mine.socket), "attach-session", "-f", "ignore-size,active-pane")
    person = room.sit_down(*argv, "-t", "=work")
    eventually(lambda: person.name in room.clients(mine))
    flags = ("list-clients", "-F", "#{client_flags}")
    before = mine.run(*flags)
    assert room("attach", run_id, **by_key(mine, person)).returncode == 0
    room.detach(person, mine)
    eventually(lambda: person.name in room.clients(mine) and room.views(mine) == [])
    assert "ignore-size" in before
    assert mine.run(*flags) == before


def test_a_shell_of_any_kind_does_not_keep_a_terminal_from_coming_back(room: Room, mine: TmuxServer) -> None:
    run_id = room.launch(**inside(mine))
    mine.run("set-option", "-t", "=work:", "default-shell", "/bin/false")
    person = room.at_work(mine)
    before, everything = room.panes(mine), everything_set(mine)
    assert room("attach", run_id, **by_key(mine, person)).returncode == 0
    assert "/bin/sh" not in mine.run("show-options", "-t", room.views(mine)[0])
    room.detach(person, mine)
    eventually(lambda: room.panes(mine) == before)
    assert everything_set(mine) == everything


# --- between servers --------------------------------------------------------------------------------------


def test_a_terminal_hops_to_another_server_and_back(room: Room, mine: TmuxServer) -> None:
    mine.run("new-session", "-d", "-s", "other", "sleep 600")
    person, other = room.at_work(mine), room.at_work(mine, "other")
    before = room.clients(mine)
    run_id = room.launch()
    window = room.windows()[run_id]
    for leave in ("detached", "--back", "killed"):
        assert room("attach", run_id, **by_key(mine, person)).returncode == 0
        room.looks_at(person, window)
        stays = {other.name: before[other.name]}
        assert (room.clients(), room.clients(mine)) == ({person.name: window}, stays)
        if leave == "detached":
            room.detach(person)
        elif leave == "--back":
            pid = int(room.tmux("display-message", "-p", "#{pid}"))
            session = room.tmux("list-clients", "-F", "#{session_id}").removeprefix("$")
            assert room("attach", "--back", TMUX=f"{room.own},{pid},{session}").returncode == 0
        else:
            (pid,) = (int(pid) for pid in room.tmux("list-clients", "-F", "#{client_pid}").split())
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: room.clients(mine) == before)
        assert room.clients() == {}
    eventually(lambda: room.views() == [])
    assert (room.windows(), person.process.poll()) == ({run_id: window}, None)
    mine.run("detach-client", "-t", person.name)
    assert person.left() == 0
    assert "sessions should be nested" not in person.text


def test_from_a_nested_server_the_outer_client_is_switched(room: Room, mine: TmuxServer) -> None:
    run_id = room.launch(**inside(mine))
    person = room.at_work(mine)
    inner = room.another("inner")
    command = f"TMUX= exec tmux -S {inner.socket} attach-session -t =work"
    mine.run("new-window", "-t", "=work:", "-e", "TERM=screen", "sh", "-c", command)
    eventually(lambda: len(room.clients(inner)) == 1)
    assert room("attach", run_id, **inside(inner)).returncode == 0
    assert room.clients(mine) == {person.name: room.windows(mine)[run_id]}
    assert len(room.clients(inner)) == 1


@pytest.mark.parametrize("where", ["outside", "inside", "other server"])
def test_read_only_is_for_the_look_alone(room: Room, mine: TmuxServer, where: str) -> None:
    run_id = room.launch(**(inside(mine) if where == "inside" else {}))
    there = mine if where == "inside" else None
    person = room.at_work(mine) if where != "outside" else room.person("attach", "-r", run_id)
    if where != "outside":
        before = room.clients(mine)
        assert room("attach", "--read-only", run_id, **inside(mine)).returncode == 0
    room.looks_at(person, room.windows(there)[run_id], there)
    person.type("\x03")  # no key reaches the window
    rights = ("list-clients", "-F", "#{client_name} #{client_readonly}")
    told = mine.run(*rights) if there else room.tmux(*rights)
    assert told == f"{person.name} 1"
    room.detach(person, there)
    if where == "outside":
        assert person.left() == 0
    else:
        eventually(lambda: room.clients(mine) == before)
        assert mine.run(*rights) == f"{person.name} 0"
    assert json.loads(room("poll", "--json", run_id).stdout)["runs"][0]["status"] == "running"


@pytest.mark.parametrize("option", ["destroy-unattached", "exit-unattached"])
def test_what_would_end_when_the_terminal_leaves_it_is_not_left(
    room: Room, mine: TmuxServer, option: str
) -> None:
    near, far = room.launch(**inside(mine)), room.launch()
    room.at_work(mine)
    scope = ["-s"] if option == "exit-unattached" else ["-t", "=work:"]
    mine.run("set-option", *scope, option, "on")
    before = room.clients(mine)
    for words in (["attach", far], ["attach", "-r", near], ["attach", near]):
        error = checked(room(*words, "--json", **inside(mine)).stdout, "error")["error"]
        assert (error["exit"], option in error["message"]) == (4, True)
        assert room.clients(mine) == before
    eventually(lambda: room.views() == [], 70)


def test_two_who_look_at_two_runs_stay_while_a_third_attaches_many_times(
    room: Room, mine: TmuxServer
) -> None:
    runs = [room.launch(**inside(mine)) for _ in range(3)]
    windows = room.windows(mine)
    people = [room.person("attach", run_id) for run_id in runs[:2]]
    for person, run_id in zip(people, runs, strict=False):
        room.looks_at(person, windows[run_id], mine)
    stay = room.clients(mine)
    third = room.at_work(mine)
    home = room.clients(mine)[third.name]
    for number in range(ATTACHES // 2):
        run_id = runs[number % 3]
        assert room("attach", run_id, **inside(mine)).returncode == 0
        assert room.clients(mine) == stay | {third.name: windows[run_id]}
        assert room("attach", "--back", **by_key(mine, third)).returncode == 0
        assert room.clients(mine) == stay | {third.name: home}
    for number in range(ATTACHES // 2):
        assert room("attach", "--next", **by_key(mine, third)).returncode == 0
        assert room.clients(mine) == stay | {third.name: windows[runs[2 - number % 3]]}
        assert len(room.views(mine)) <= 2  # the second person's, and the third's
    assert room.windows(mine) == windows


# --- which run --------------------------------------------------------------------------------------------


def test_the_only_live_run_is_meant(room: Room, mine: TmuxServer) -> None:
    person = room.at_work(mine)
    done = room("attach", "--json", **inside(mine))
    error = checked(done.stdout, "error")["error"]
    assert (done.returncode, error["kind"], error["message"]) == (4, "unknown-run", "No run is active here.")
    assert "launch one" in error["hint"]
    ended = room.launch("done fine", **inside(mine))
    room.result(ended)
    run_id = room.launch(**inside(mine))
    assert room("attach", **inside(mine)).returncode == 0
    room.looks_at(person, room.windows(mine)[run_id], mine)
    elsewhere = room("attach", "--json", **inside(mine), TMUXAGENTS_OWNER="somebody")
    error = checked(elsewhere.stdout, "error")["error"]
    assert error["message"] == "No run is active here, but 1 elsewhere."
    assert "poll -A" in error["hint"]


def test_of_several_runs_none_is_guessed(room: Room, mine: TmuxServer) -> None:
    room.at_work(mine)
    before = room.clients(mine)
    runs = [room.launch(**inside(mine)) for _ in range(3)]
    for here in (inside(mine), {}):  # the run is looked for before the terminal
        done = room("attach", "--json", **here)
        error = checked(done.stdout, "error")["error"]
        assert (done.returncode, error["kind"]) == (4, "ambiguous-run")
        assert error["candidates"] == runs[::-1]
    done = room("attach")
    assert done.stderr == f"3 runs are active here.\nhint: name one: tmuxagents attach {runs[2][:8]}\n"
    assert room.clients(mine) == before


def test_a_person_chooses_from_a_list(room: Room) -> None:
    runs = [room.launch(WORKS, "--name", f"n{number}") for number in range(3)]
    person = room.person("attach", TERM="xterm")
    person.shows("Esc leaves")
    places = [person.text.find(f"n{number}") for number in (2, 1, 0)]
    assert -1 < places[0] < places[1] < places[2]
    person.type("x\x7f\x1bOB\x1bOB\x1bOA\r")  # test_keys and test_chooser have the other keys
    room.looks_at(person, room.windows()[runs[1]])


@pytest.mark.parametrize(("typed", "code"), [("\x1b", 0), ("\x03", 130)])
def test_a_person_may_leave_without_a_choice(room: Room, typed: str, code: int) -> None:
    for _ in range(2):
        room.launch()
    person = room.person("attach", TERM="xterm")
    person.shows("Esc leaves")
    if typed == "\x03":
        person.interrupt()
    else:
        person.type(typed)
    assert person.left() == code
    assert room.clients() == {}
    assert NOTICE not in person.text
    assert person.text.rstrip("\n").endswith("\x1b[?1049l")  # the screen is as it was


def test_a_terminal_that_cannot_be_drawn_on_gets_no_list(room: Room) -> None:
    for _ in range(2):
        room.launch()
    person = room.person("attach", TERM="dumb")
    assert person.left() == 4
    person.shows("2 runs are active here.")


def test_next_goes_round_the_newest_first_and_passes_over_what_is_out_of_reach(
    room: Room, mine: TmuxServer
) -> None:
    person = room.at_work(mine)
    runs = [room.launch(**inside(mine)) for _ in range(4)]
    windows = room.windows(mine)
    mine.run("set-option", "-wu", "-t", windows[runs[1]], "@tmuxagents_run")
    room("stop", runs[2])
    seen = []
    for _ in range(4):
        assert room("attach", "--next", **by_key(mine, person)).returncode == 0
        seen.append(room.clients(mine)[person.name])
    assert seen == [windows[runs[number]] for number in (3, 0, 3, 0)]
    assert room("attach", runs[2], **by_key(mine, person)).returncode == 0  # ended, its window still there
    assert room.clients(mine)[person.name] == windows[runs[2]]
    assert room("attach", "--next", **by_key(mine, person)).returncode == 0
    assert room.clients(mine)[person.name] == windows[runs[3]]


def test_a_queued_run_has_a_window_too(room: Room, mine: TmuxServer) -> None:
    room.home.environment["TMUXAGENTS_MAX_RUNNING"] = "1"
    person = room.at_work(mine)
    room.launch(**inside(mine))
    waiting = room("launch", WORKS, **inside(mine)).stdout.strip()
    shown = checked(room("attach", waiting, "--json", **inside(mine)).stdout, "run")
    assert (shown["runId"], shown["status"]) == (waiting, "queued")
    assert room.clients(mine) == {person.name: room.windows(mine)[waiting]}


@pytest.mark.parametrize(
    "words",
    [
        *(["--next", "--back"], ["x", "--next"], ["x", "--back"], ["-r", "--back"], ["a", "b"]),
        *(["--next", "--there"], ["--back", "--there"], ["x", "--resume", "--there"]),
    ],
)
def test_what_excludes_one_another_is_refused(room: Room, words: list[str]) -> None:
    done = room("attach", "--json", *words)
    assert (done.returncode, checked(done.stdout, "error")["error"]["kind"]) == (2, "usage")


# --- launched and shown -----------------------------------------------------------------------------------


def test_a_launch_can_attach_at_once(room: Room) -> None:
    person = room.person("launch", "--attach", WORKS)
    eventually(room.clients)
    ((run_id, window),) = room.windows().items()
    room.looks_at(person, window)
    assert f"Watch it: tmuxagents attach {run_id[:8]}\n{run_id}\n{NOTICE}" in person.text


def test_a_launch_inside_tmux_switches_the_client(room: Room, mine: TmuxServer) -> None:
    person = room.at_work(mine)
    done = room("launch", "--attach", "--json", WORKS, **inside(mine))
    receipt = checked(done.stdout, "receipt")
    assert (done.returncode, done.stderr) == (0, NOTICE)
    assert room.clients(mine) == {person.name: receipt["run"]["tmux"]["window"]}


def test_where_nobody_could_see_it_nothing_is_launched(room: Room, mine: TmuxServer) -> None:
    for here in ({}, inside(mine)):
        done = room("launch", "--attach", "--json", WORKS, **here)
        error = checked(done.stdout, "error")["error"]
        assert (done.returncode, error["kind"]) == (3, "no-tty")
        assert "leave out --attach" in error["hint"]
    assert not (room.home.state / "runs").exists()


# --- what cannot be reached -------------------------------------------------------------------------------


def test_a_stopped_server_is_told_of_in_time_and_nothing_moves_later(room: Room, mine: TmuxServer) -> None:
    """Callers wait for a stopped server at the same time: inside it, outside tmux, and on another server."""
    another = room.another("another")
    near, far, over = room.launch(**inside(mine)), room.launch(), room.launch("done fine")
    room.result(over)
    room.at_work(mine)
    room.at_work(another)
    before = room.clients(mine), room.clients(another)
    places = {near: inside(mine), far: inside(another)}
    own_pid = int(room.tmux("display-message", "-p", "#{pid}"))
    with stopped(mine.pid) as since, stopped(own_pid), ThreadPoolExecutor() as threads:
        person = room.person("attach", "--json", far)
        calls = [threads.submit(room, "attach", "--json", run, **here) for run, here in places.items()]
        read = threads.submit(room, "attach", over)
        refused = [call.result() for call in calls]
        assert ([done.returncode for done in refused], person.left()) == ([3, 3], 3)
        assert time.monotonic() - since < 9.9  # the limit of one call, not of two
        for said in (refused[0].stdout, refused[1].stdout, person.text):
            error = checked(said, "error")["error"]
            assert error["kind"] == "tmux-unreachable"
            assert "did not answer within 5 s" in error["message"]
        assert room("poll").returncode == 0
        assert read.result().returncode == 0  # what an ended run has left is there still
        assert read.result().stderr == f"warning: tmux at {room.own} did not answer within 5 s.\n"
        assert "fine\nCompleted after" in read.result().stdout
        eventually(lambda: time.monotonic() - since > 10)
    assert (room.clients(mine), room.clients(another)) == before
    assert [room.views(server) for server in (mine, another, None)] == [[], [], []]
    for run_id, here in places.items():
        assert room("attach", run_id, **here).returncode == 0


def test_a_socket_that_was_removed_is_told_with_its_remedy(room: Room) -> None:
    run_id = room.launch()
    pid = int(room.tmux("display-message", "-p", "#{pid}"))
    room.own.unlink()
    error = checked(room("attach", "--json", run_id).stdout, "error")["error"]
    assert (error["kind"], error["exit"]) == ("tmux-unreachable", 3)
    assert error["message"] == (
        f"Run {run_id[:8]} is running, but its window cannot be reached: "
        f"the socket {room.own} was removed, but its tmux server lives (pid {pid})."
    )
    assert error["hint"] == f"kill -USR1 {pid} makes the socket anew"
    os.kill(pid, signal.SIGUSR1)
    eventually(room.own.exists)
    person = room.person("attach", run_id)
    room.looks_at(person, room.windows()[run_id])


def test_another_server_on_the_same_socket_is_not_mistaken(room: Room) -> None:
    run_id = room.launch()
    pid = int(room.tmux("display-message", "-p", "#{pid}"))
    moved = room.own.with_name("moved")
    room.own.rename(moved)
    room.tmux("-f", "/dev/null", "new-session", "-d", "-s", "agents-project", "-n", run_id[:8], "sleep 600")
    room.tmux("set-option", "-w", "-t", "agents-project:", "@tmuxagents_run", run_id)  # nothing is worse
    assert room.windows() == {run_id: "@0"}
    error = checked(room("attach", "--json", run_id).stdout, "error")["error"]
    assert error["kind"] == "tmux-unreachable"
    assert (
        f"another tmux server has taken {room.own} from the run's own server (pid {pid})" in error["message"]
    )
    room("stop", run_id)
    assert checked(room("attach", "--json", run_id).stdout, "run")["status"] == "aborted"
    end_server(str(room.own))
    moved.rename(room.own)


def test_a_live_run_whose_window_is_not_there_is_said_to_run(room: Room, mine: TmuxServer) -> None:
    person = room.at_work(mine)
    before = room.clients(mine)
    outside = room.home.run(WORKS).start()
    outside.wait_for("run_started")
    runs = untagged, elsewhere, without_pane = [room.launch(**inside(mine)) for _ in range(3)]
    windows = room.windows(mine)
    new = ("new-window", "-d", "-P", "-F", "#{window_id}", "-t", "agents-project:", "sleep 600")
    keeper, other_keeper = mine.run(*new), mine.run(*new)
    for run_id in (untagged, elsewhere):
        mine.run("set-option", "-wu", "-t", windows[run_id], "@tmuxagents_run")
    mine.run("set-option", "-w", "-t", keeper, "@tmuxagents_run", elsewhere)
    mine.run("join-pane", "-d", "-s", f"{windows[without_pane]}.0", "-t", f"{other_keeper}.0")
    for run_id in (*runs, outside.run_id):
        done = room("attach", "--json", run_id, **inside(mine))
        error = checked(done.stdout, "error")["error"]
        assert (error["kind"], error["exit"]) == ("no-window", 4)
        assert error["message"].startswith(f"Run {run_id[:8]} is running, but its window cannot be reached: ")
        assert error["hint"] == f"tmuxagents transcript -f {run_id[:8]} shows what it does"
        assert room.clients(mine) == before == {person.name: before[person.name]}


def test_a_run_of_another_host_is_looked_at_there(room: Room) -> None:
    run = room.home.run(WORKS)
    with sleeper() as pid:
        wrapped_by(run, pid, boot_id="other", host="far-01234567")
        error = checked(room("attach", "--json", run.run_id).stdout, "error")["error"]
    assert (error["kind"], error["exit"]) == ("no-window", 4)
    assert error["message"] == f"Run {run.run_id[:8]} lives on another host (far-01234567)."


def test_a_run_that_is_being_launched_has_no_window_yet(room: Room) -> None:
    run = room.home.run(WORKS)
    error = checked(room("attach", "--json", run.run_id).stdout, "error")["error"]
    assert (error["kind"], error["exit"]) == ("no-window", 4)
    assert error["message"] == f"Run {run.run_id[:8]} is being launched: its window is not there yet."


# --- what has ended ---------------------------------------------------------------------------------------


def ended(room: Room, text: str = "fine", **variables: str) -> str:
    """Return a run that has ended, and whose server has gone with its window."""
    run_id = room.launch(f"done {text}", **variables)
    room.result(run_id)
    if not variables:
        end_server(str(room.own))
    return run_id


def ended_in_its_window(room: Room, script: str) -> tuple[str, str]:
    """Return a run that has ended, and its window, which is still there."""
    run_id = room.launch(script)
    room.result(run_id)
    window = room.windows()[run_id]
    eventually(lambda: room.tmux("display-message", "-p", "-t", window, "#{pane_dead}") == "1")
    return run_id, window


def seen_at(room: Room, run_id: str, window: str, columns: int) -> tuple[str, list[str]]:
    """Return the process that painted a window last, and all its lines, when a terminal shows it."""
    sized = f'stty cols {columns} rows 30; exec "$@"'
    person = room.sit_down("sh", "-c", sized, "sh", *COMMAND, "attach", run_id, TERM="xterm-256color")
    room.looks_at(person, window)
    facts = ("display-message", "-p", "-t", window, "#{pane_dead} #{window_width}")
    eventually(lambda: room.tmux(*facts) == f"1 {columns}")
    eventually(lambda: "── " in room.tmux("capture-pane", "-p", "-t", window))
    lines = room.tmux("capture-pane", "-p", "-J", "-S", "-", "-t", window).splitlines()
    room.tmux("detach-client", "-t", person.name)
    assert person.left() == 0
    return room.tmux("display-message", "-p", "-t", window, "#{pane_pid}"), lines


def test_the_window_of_an_ended_run_is_painted_again_for_a_narrower_terminal(room: Room) -> None:
    run_id, window = ended_in_its_window(room, 'tool read {"path": "a.py"}\ndone ' + "many words " * 20)
    first, before = seen_at(room, run_id, window, 80)
    second, lines = seen_at(room, run_id, window, 44)
    assert max(map(len, before)) > 44 >= max(len(line.rstrip()) for line in lines)
    for beginning in ("✓ Reading a.py ", "  many words", "✓ completed in "):
        assert any(line.startswith(beginning) for line in lines)
    third, _ = seen_at(room, run_id, window, 80)
    assert first != second == third


def test_a_window_that_is_painted_again_holds_a_long_story_once(room: Room) -> None:
    run_id, window = ended_in_its_window(
        room, 'tool read {"path": "a.py"}\ndone ' + "a long answer of many words " * 200
    )
    first, _ = seen_at(room, run_id, window, 80)
    second, lines = seen_at(room, run_id, window, 44)
    assert max(len(line.rstrip()) for line in lines) <= 44
    assert sum(line.startswith("✓ Reading a.py ") for line in lines) == 1
    third, again = seen_at(room, run_id, window, 44)
    assert first != second == third
    assert again == lines


def test_a_window_with_a_line_that_no_event_has_keeps_it(room: Room) -> None:
    plain = "this line is no event, and only the window and the transcript have it"
    hidden = "".join(f"\\x{ord(letter):02x}" for letter in plain)  # the window shows the task, too
    run_id, window = ended_in_its_window(room, f"raw {hidden}\\n\ndone fine")
    first, _ = seen_at(room, run_id, window, 80)
    second, lines = seen_at(room, run_id, window, 44)
    assert any(plain in line for line in lines)
    assert first == second


def test_a_run_that_has_ended_is_shown_in_its_window_while_that_is_there(
    room: Room, mine: TmuxServer
) -> None:
    person = room.at_work(mine)
    run_id = ended(room, **inside(mine))
    assert room("attach", run_id, **inside(mine)).returncode == 0
    room.looks_at(person, room.windows(mine)[run_id], mine)


def test_what_is_left_of_a_run_is_printed_where_nobody_looks(room: Room) -> None:
    run_id = ended(room, "all is \x1b[31mred\x1b[0m")
    done = room("attach", run_id, PAGER="false")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == room("transcript", run_id).stdout
    assert "all is red\nCompleted after" in done.stdout
    assert checked(room("attach", run_id, "--json").stdout, "run")["status"] == "completed"
    assert tmux.listening(str(room.own)) is None  # nothing was started


def test_a_persons_pager_is_their_own_line_of_shell_and_no_text_of_a_run_is(room: Room) -> None:
    marker, out = room.home.folder / "marker", room.home.folder / "out"
    evil = f"$(touch {marker}) `touch {marker}` ; touch {marker} #(touch {marker}) ' \" %s"
    run_id = ended(room, evil)
    pager = f"""f() {{ cat "$@" > '{out}.'"$((1 + 1))"; }}; f | cat; echo "paged: $?" """
    person = room.person("attach", run_id, PAGER=pager)
    assert person.left() == 0
    assert person.text == "paged: 0\n"
    assert room("transcript", run_id).stdout == (room.home.folder / "out.2").read_text()
    assert evil in (room.home.folder / "out.2").read_text()
    assert not marker.exists()


def test_without_a_pager_it_is_printed(room: Room) -> None:
    run_id = ended(room)
    for pager in ("", "cat", "/nowhere/pager -x", "nosuchpager"):
        person = room.person("attach", run_id, PAGER=pager)
        assert person.left() == 0
        assert "fine\nCompleted after" in person.text


def test_less_is_the_pager_of_who_names_none(room: Room) -> None:
    run_id = ended(room)
    person = room.person("attach", run_id)
    person.shows("Completed after")
    person.shows("(END)")
    person.type("\x03")
    eventually(lambda: person.text.count("(END)") == 2)
    person.type("q")
    assert person.left() == 0


def test_a_pager_may_be_left_early(room: Room) -> None:
    run_id = room.launch(
        "\n".join(["begin", *(f"answer toolUse {'x' * 9000}" for _ in range(12)), "done fine"])
    )
    room.result(run_id)
    end_server(str(room.own))
    person = room.person("attach", run_id, PAGER="head -c 3; exit 1")
    assert person.left() == 0
    assert person.text == "Run"


def test_a_stale_id_after_a_restart_is_never_shown(room: Room, mine: TmuxServer) -> None:
    run_id = room.launch("done fine", **inside(mine))
    room.result(run_id)
    window = room.windows(mine)[run_id]
    mine.run("kill-server")
    assert process.wait_gone(mine.pid, mine.started, 5)
    eventually(lambda: restarted(mine))
    while window not in mine.run("list-windows", "-a", "-F", "#{window_id}").splitlines():
        mine.run("new-window", "-d", "-t", "=work:", "-n", run_id[:8], "sleep 600")
    room.at_work(mine)
    before = room.clients(mine)
    done = room("attach", run_id, **inside(mine))
    assert "fine\nCompleted after" in done.stdout
    assert room.clients(mine) == before


def restarted(server: TmuxServer) -> bool:
    try:
        server.__enter__()
    except subprocess.CalledProcessError:  # the last one is not quite gone
        return False
    return True


# --- started small ----------------------------------------------------------------------------------------


def test_to_say_that_there_is_no_run_takes_no_libtmux(room: Room) -> None:
    line = """from tmuxagents import cli
import atexit, sys
atexit.register(lambda: sys.stderr.write(" ".join(sys.modules)))
cli.main(sys.argv[1:])"""
    argv = [sys.executable, "-c", line, "attach"]
    environment = room.home.environment
    done = subprocess.run(
        argv, env=environment, cwd=room.home.project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 4
    modules = {name.partition(".")[0] for name in done.stderr.split()}
    assert modules & {"libtmux", "yaml", "watchdog", "rich", "asyncio"} == set()
