"""Which run attach shows where none is named: chosen in tmux's own tree, or the next that needs somebody."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually
from tests.status.watchers import COMMAND
from tests.terminals import Room, by_key, inside

if TYPE_CHECKING:
    from tests.harness import TmuxServer
    from tests.terminal import Terminal

FAILS = "begin\nanswer error no\nexit 1"


def typing(room: Room, mine: TmuxServer) -> Terminal:
    """Return a person who has typed `attach` into a shell of theirs, and is asked which run they mean."""
    values = [f"-e{name}={value}" for name, value in room.home.environment.items() if name != "TERM"]
    mine.run("new-window", "-t", "=work:", *values, "-c", str(room.home.project), "sh")
    person = room.at_work(mine)
    person.type(f"{' '.join(COMMAND)} attach; echo left $?\r")
    eventually(lambda: mine.run("display-message", "-p", "-t", "=work:", "#{pane_mode}") == "tree-mode")
    return person


def test_inside_tmux_a_run_is_chosen_in_tmuxs_tree_and_nobody_else_is_moved(
    room: Room, mine: TmuxServer
) -> None:
    runs = [
        room.launch("begin\nanswer toolUse x\nsleep 600", "--name", name, **inside(mine)) for name in "vwx"
    ]
    windows = room.windows(mine)
    onlooker = room.at_work(mine, "agents-project")
    before = room.clients(mine)[onlooker.name]
    mine.run("new-session", "-d", "-s", "other", "sleep 600")
    person = typing(room, mine)
    eventually(lambda: all(f": {name}" in person.text for name in "vwx"))
    assert "- other" not in person.text  # nor any other session that has no run
    other = next(run_id for run_id in runs if windows[run_id] != before)
    wanted = mine.run("display-message", "-p", "-t", windows[other], "#{window_name}")
    # A letter at a time, as a person: tmux takes what comes too fast for a paste.
    for key in ("/", wanted, "\r"):
        typed(mine, person, key)
    typed(mine, person, "\r")
    room.looks_at(person, windows[other], mine)
    assert room.clients(mine)[onlooker.name] == before
    assert "@tmuxagents_chosen" not in mine.run("show-options", "-w", "-t", windows[other])
    eventually(lambda: "left 0" in mine.run("capture-pane", "-p", "-t", "=work:"))


def typed(mine: TmuxServer, person: Terminal, key: str) -> None:
    """Let a person press a key, and wait until tmux has drawn what came of it."""
    before = len(person.output)
    person.type(key)
    eventually(lambda: len(person.output) > before)
    mine.run("display-message", "-p", "")


def test_who_leaves_the_tree_has_chosen_nothing(room: Room, mine: TmuxServer) -> None:
    for _ in range(2):
        room.launch(**inside(mine))
    person = typing(room, mine)
    window = room.clients(mine)[person.name]
    typed(mine, person, "q")
    eventually(lambda: "left 0" in mine.run("capture-pane", "-p", "-t", "=work:"))
    assert room.clients(mine)[person.name] == window


def test_where_a_run_is_on_another_server_rows_are_shown(room: Room, mine: TmuxServer) -> None:
    near, far = room.launch(**inside(mine)), room.launch()
    values = [f"-e{name}={value}" for name, value in room.home.environment.items() if name != "TERM"]
    mine.run("new-window", "-t", "=work:", *values, "-c", str(room.home.project), "sh")
    person = room.at_work(mine)
    person.type(f"{' '.join(COMMAND)} attach\r")
    person.shows("1-2, Enter for the newest, q to leave: ")
    assert near[:8] in person.text
    assert far[:8] in person.text
    person.type("2\r")
    room.looks_at(person, room.windows(mine)[near], mine)


@pytest.mark.parametrize("watched", [True, False])
def test_next_is_first_what_failed_then_what_works(room: Room, mine: TmuxServer, *, watched: bool) -> None:
    person = room.at_work(mine)
    if not watched:
        room.home.run("x")  # it keeps watchers away: nobody tells the registry who has failed
    first = room.launch(**inside(mine))
    done = room("launch", FAILS, **inside(mine))
    failed = done.stdout.strip()
    assert room.result(failed)["status"] == "failed"
    second = room.launch(**inside(mine))
    windows = room.windows(mine)
    seen = []
    for _ in range(4):
        assert room("attach", "--next", **by_key(mine, person)).returncode == 0
        seen.append(room.clients(mine)[person.name])
    assert seen == [windows[run_id] for run_id in (failed, first, second, failed)]
    room("stop", first, second)
    assert room("attach", "--next", **by_key(mine, person)).returncode == 0
    assert room.clients(mine)[person.name] == windows[failed]
