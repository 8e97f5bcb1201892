"""When a person has looked at a run, and when not."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually
from tests.terminals import Room, by_key, inside
from tmuxagents.runs import directory

if TYPE_CHECKING:
    from tests.harness import TmuxServer

FAILS = "begin\nanswer error no\nexit 1"


@pytest.fixture
def room(room: Room) -> Room:
    """A room that is watched: the watcher shows the marks, and who has a window on the screen has seen it."""
    room.home.be_watched()
    return room


def marked(server: TmuxServer) -> set[str]:
    words = server.run("display-message", "-p", "#{E:@tmuxagents_status}").split()
    return {name for sign, name in pairwise(words) if sign == "✗"}


def test_who_looks_at_a_failure_takes_its_mark_away(room: Room, mine: TmuxServer) -> None:
    verbs = ("attach", "output", "transcript")
    runs = {verb: room("launch", "--name", verb, FAILS, **inside(mine)).stdout.strip() for verb in verbs}
    assert {room.result(run_id)["status"] for run_id in runs.values()} == {"failed"}
    person = room.at_work(mine)
    eventually(lambda: marked(mine) == set(verbs))
    for verb, run_id in runs.items():
        assert room("output", run_id).returncode == 1  # a program is no person
        assert directory.seen_at(room.run_dir(run_id)) == 0.0
        if verb == "attach":
            assert room(verb, run_id, **by_key(mine, person)).returncode == 0
        else:
            room.person(verb, run_id).left()
        assert directory.seen_at(room.run_dir(run_id)) > 0.0
        eventually(lambda: verb not in marked(mine))  # noqa: B023  (asked at once)
    assert marked(mine) == set()


def test_who_has_the_window_on_the_screen_when_it_fails_has_seen_that(room: Room, mine: TmuxServer) -> None:
    person = room.at_work(mine)
    run_id = room.launch("begin\nanswer toolUse x\nsleep 3\nanswer error no\nexit 1", **inside(mine))
    assert room("attach", run_id, **by_key(mine, person)).returncode == 0
    begun = directory.seen_at(room.run_dir(run_id))
    assert room.result(run_id)["status"] == "failed"
    eventually(lambda: directory.seen_at(room.run_dir(run_id)) > begun)
