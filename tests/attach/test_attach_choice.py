"""Which run `attach` shows if none is named: chosen from a list, or the next one that needs a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually
from tests.status.watchers import COMMAND
from tests.terminals import WORKS, Room, by_key, inside

if TYPE_CHECKING:
    from tests.harness import TmuxServer
    from tests.terminal import Terminal

FAILS = "begin\nanswer error no\nexit 1"


def at_a_shell(room: Room, mine: TmuxServer) -> Terminal:
    """Return a person at a shell in a window of their session."""
    values = [f"-e{name}={value}" for name, value in room.home.environment.items() if name != "TERM"]
    mine.run("new-window", "-t", "=work:", *values, "-c", str(room.home.project), "sh")
    return room.at_work(mine)


def choosing(person: Terminal) -> None:
    person.type(f"{' '.join(COMMAND)} attach; echo left $?\r")
    person.shows("Attach to which run?")


def pane(mine: TmuxServer) -> str:
    return mine.run("capture-pane", "-p", "-t", "=work:")


def typed(mine: TmuxServer, person: Terminal, keys: str, shows: str) -> None:
    """Let a person press keys, and wait until the pane shows the effect."""
    person.type(keys)
    eventually(lambda: shows in pane(mine))


def test_a_run_is_chosen_by_words_and_nobody_else_is_moved(room: Room, mine: TmuxServer) -> None:
    runs = {name: room.launch(WORKS, "--name", name, **inside(mine)) for name in ("build", "crawl", "write")}
    windows = room.windows(mine)
    onlooker = room.at_work(mine, "agents-project")
    before = room.clients(mine)[onlooker.name]
    person = at_a_shell(room, mine)
    choosing(person)
    assert all(name in pane(mine) for name in runs)
    typed(mine, person, "cra", "run? cra_")
    assert "build" not in pane(mine)
    person.type("\r")
    room.looks_at(person, windows[runs["crawl"]], mine)
    assert room.clients(mine)[onlooker.name] == before


@pytest.mark.parametrize("where", ["pane", "popup"])
def test_escape_leaves_without_a_choice_and_arrows_choose(room: Room, mine: TmuxServer, where: str) -> None:
    runs = [room.launch(**inside(mine)) for _ in range(2)]
    person = at_a_shell(room, mine)
    window, left = room.clients(mine)[person.name], room.folder / "left"

    def call() -> None:
        begun = len(person.output)
        if where == "pane":
            person.type(f"{' '.join(COMMAND)} attach; touch {left}\r")
        else:
            values = " ".join(f"'{name}={value}'" for name, value in room.home.environment.items())
            command = (
                f"cd {room.home.project} && env {values} TERM=screen {' '.join(COMMAND)} attach; touch {left}"
            )
            mine.run("bind-key", "-n", "F7", "display-popup", "-w", "90%", "-h", "90%", "-E", command)
            person.type("\x1b[18~")
        eventually(lambda: b"Esc leaves" in person.output[begun:])

    call()
    person.type("\x1b")
    eventually(left.exists)
    assert room.clients(mine)[person.name] == window
    call()
    person.type("\x1b[B")
    person.type("\r")
    room.looks_at(person, room.windows(mine)[runs[0]], mine)  # the newest is the first one


def test_failed_runs_can_be_chosen_wherever_they_are_and_are_first(room: Room, mine: TmuxServer) -> None:
    near, far = room.launch(**inside(mine)), room.launch()
    failed = room("launch", "--name", "broken", FAILS).stdout.strip()
    room.result(failed)
    person = at_a_shell(room, mine)
    choosing(person)
    lines = [line for line in pane(mine).splitlines() if line]
    assert [line.split()[1] for line in lines[2:5]] == [failed[:8], far[:8], near[:8]]
    person.type("\r")
    room.looks_at(person, room.windows()[failed])


@pytest.mark.parametrize("watched", [True, False])
def test_next_is_what_failed_unseen_then_what_works_and_then_all_again(
    room: Room, mine: TmuxServer, *, watched: bool
) -> None:
    person = room.at_work(mine)
    if not watched:
        room.home.run("x")  # it keeps watchers away: no process tells the registry which run failed
    first = room.launch(**inside(mine))
    done = room("launch", FAILS, **inside(mine))
    failed = done.stdout.strip()
    assert room.result(failed)["status"] == "failed"
    second = room.launch(**inside(mine))
    windows = room.windows(mine)
    shown = []

    def goes() -> str:
        assert room("attach", "--next", **by_key(mine, person)).returncode == 0
        shown.append(room.clients(mine)[person.name])
        return shown[-1]

    for _ in range(4):
        goes()
    assert shown == [windows[run_id] for run_id in (failed, second, first, failed)]
    again = room("launch", FAILS, **inside(mine)).stdout.strip()
    assert room.result(again)["status"] == "failed"
    assert goes() == room.windows(mine)[again]  # it was not seen yet
    room("stop", first, second)
    assert goes() == windows[failed]
