"""The tmux server of tmuxagents alone: it has marks, keys and a way out without any setup."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually
from tests.terminals import Room, inside
from tmuxagents.integrate import tmux_texts

if TYPE_CHECKING:
    from tests.harness import TmuxServer


@pytest.fixture
def room(room: Room) -> Room:
    """A room that is watched: the watcher furnishes our own server."""
    room.home.be_watched()
    return room


def furnished(room: Room) -> bool:
    return room.tmux("show-options", "-gqv", tmux_texts.CLOSES) == "q"


def test_it_gets_marks_and_keys_and_q_closes_what_has_ended(room: Room) -> None:
    failed = room("launch", "--name", "broken", "begin\nanswer error no\nexit 1").stdout.strip()
    room.result(failed)
    person = room.person("attach", failed, TERM="xterm-256color")
    room.looks_at(person, room.windows()[failed])
    eventually(lambda: furnished(room))
    assert "switch-client -T tmuxagents" in room.tmux("list-keys", "-T", "prefix", "A")
    assert f"env TMUXAGENTS_HOME={room.home.state} " in room.tmux("list-keys", "-T", tmux_texts.TABLE, "n")
    window = room.windows()[failed]
    eventually(lambda: "✗" in room.tmux("display-message", "-p", "-t", window, "#{E:window-status-format}"))
    person.shows("C-b d: back")
    person.type("q")
    eventually(lambda: failed not in room.windows() if room.clients() else True)
    assert person.left() == 0


def test_letters_reach_a_program_that_lives_there_in_their_order(room: Room) -> None:
    room.launch()
    eventually(lambda: furnished(room))
    room.tmux("new-window", "-n", "person", "exec cat")
    person = room.sit_down("tmux", "-u", "-S", str(room.own), "attach-session", TERM="xterm-256color")
    eventually(lambda: person.name in room.clients())
    for letter in "quick quiet qqq":
        person.type(letter)
    eventually(lambda: "quick quiet qqq" in room.tmux("capture-pane", "-p"))


def test_what_the_persons_configuration_binds_stays(room: Room) -> None:
    (room.home.folder / ".tmux.conf").write_text(
        "bind-key A display-message mine\nbind-key -n q display-message quit\n"
    )
    room.launch()
    eventually(lambda: room.tmux("show-options", "-gqv", tmux_texts.MARK))
    room.launch()  # the watcher has made another round
    assert "display-message mine" in room.tmux("list-keys", "-T", "prefix", "A")
    assert "display-message quit" in room.tmux("list-keys", "-T", "root", "q")


def test_a_persons_server_gets_nothing_of_it(room: Room, mine: TmuxServer) -> None:
    asked = (
        ["list-keys"],
        ["show-options", "-g", "window-status-format"],
        ["show-options", "-g", "status-left"],
    )
    before = [mine.run(*words) for words in asked]
    room.launch(**inside(mine))
    eventually(lambda: "@tmuxagents_status" in mine.run("show-options", "-g"))
    assert [mine.run(*words) for words in asked] == before
