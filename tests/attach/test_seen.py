"""When a person has looked at a run, and when not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually
from tests.terminals import Room, by_key, inside
from tmuxagents.runs import directory

if TYPE_CHECKING:
    from tests.harness import TmuxServer

FAILS = "begin\nanswer error no\nexit 1"


def failed(room: Room, task: str = FAILS, **variables: str) -> str:
    run_id = room("launch", "--name", "broken", task, **variables).stdout.strip()
    assert room.result(run_id)["status"] == "failed"
    return run_id


def marked(server: TmuxServer) -> bool:
    return "✗ broken" in server.run("display-message", "-p", "#{E:@tmuxagents_status}")


@pytest.mark.parametrize("words", [["attach"], ["output"], ["transcript"]], ids=" ".join)
def test_who_looks_at_a_failure_takes_its_mark_away(room: Room, mine: TmuxServer, words: list[str]) -> None:
    run_id = failed(room, **inside(mine))
    person = room.at_work(mine)
    eventually(lambda: marked(mine))
    assert room(*words[1:], "output", run_id).returncode == 1  # a program is no person
    assert directory.seen_at(room.run_dir(run_id)) == 0.0
    if words == ["attach"]:
        assert room("attach", run_id, **by_key(mine, person)).returncode == 0
    else:
        room.person(*words, run_id).left()
    assert directory.seen_at(room.run_dir(run_id)) > 0.0
    eventually(lambda: not marked(mine))


def test_who_has_the_window_on_the_screen_when_it_fails_has_seen_that(room: Room, mine: TmuxServer) -> None:
    person = room.at_work(mine)
    run_id = room.launch("begin\nanswer toolUse x\nsleep 3\nanswer error no\nexit 1", **inside(mine))
    assert room("attach", run_id, **by_key(mine, person)).returncode == 0
    begun = directory.seen_at(room.run_dir(run_id))
    assert room.result(run_id)["status"] == "failed"
    eventually(lambda: directory.seen_at(room.run_dir(run_id)) > begun)
