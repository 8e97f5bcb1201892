"""How soon a child is read again: real pipes, and moments that the test chooses."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tmuxagents.agents.pi.command import AGENT
from tmuxagents.agents.pi.live import PiLiveReader
from tmuxagents.runs import events, logs
from tmuxagents.runs.documents import plan_of
from tmuxagents.wrapper.guards import Guards
from tmuxagents.wrapper.recorder import Recorder
from tmuxagents.wrapper.streams import EVERY_S, Streams
from tmuxagents.wrapper.terminal import StoryWindow, Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tmuxagents.agents.base import Reader

pytestmark = pytest.mark.usefixtures("nothing_hangs")

NOW = 1000.0


class Ear:
    """The streams of one child, whose output the test writes."""

    def __init__(self, folder: Path, room: int = 256 * 1024, reader: Reader | None = None) -> None:
        out, self._mouth = os.pipe()
        fcntl.fcntl(out, fcntl.F_SETPIPE_SZ, room)
        err, self._other = os.pipe()
        for handle in (out, err):
            os.set_blocking(handle, False)
        window = StoryWindow(Terminal(), {})
        self.recorder = Recorder(str(folder), plan_of({"runId": folder.name}), {}, window, width=80)
        self.recorder.event(events.run_started({}))
        self.streams = Streams(
            (out, err),
            reader=reader or AGENT.reader(),
            recorder=self.recorder,
            guards=Guards(started_at=NOW, timeout_s=600, debounce_s=30, loop_count=0),
            looped=lambda _cause, _now: None,
        )
        self.at = NOW
        self.said = 0

    def say(self, at: float, length: int = 20) -> float:
        """Let the child print a line, and read it; return how long the child then stays unread."""
        self.said += 1
        call = {"type": "tool_execution_start", "toolCallId": f"c{self.said}", "toolName": "read"}
        self.speak(json.dumps({**call, "args": {"path": "x" * length}}).encode() + b"\n")
        self.streams.hear(at)
        return self.streams.due_at - at

    def chat(self) -> list[float]:
        """Print a line ten times a second, read when due; return how long the child stays unread."""
        given = []
        for _ in range(30):
            given.append(self.say(self.at))
            self.at += max(0.1, given[-1])
        return given

    def speak(self, words: bytes) -> None:
        """Print something that is not read yet."""
        os.write(self._mouth, words)

    def listen(self) -> None:
        """Read the output, as the watch does when a rest is over."""
        self.streams.hear(self.at)

    def call(self, took: float) -> int | None:
        """Let a call end after a time; return the duration in its event."""
        self.say(self.at)
        self.at += took
        end = {"type": "tool_execution_end", "toolCallId": f"c{self.said}", "toolName": "read", "result": {}}
        self.speak(json.dumps(end).encode() + b"\n")
        self.listen()
        self.recorder.flush(self.at)
        events = (Path(self.recorder.run_dir) / "events.jsonl").read_text().splitlines()
        lasted: int | None = json.loads(events[-1])["durationMs"]
        return lasted

    def close(self) -> None:
        for handle in (self.streams.stdout, self.streams.stderr, self._mouth, self._other):
            if handle is not None:
                os.close(handle)


@pytest.fixture
def ear(tmp_path: Path) -> Iterator[Ear]:
    made = Ear(tmp_path)
    yield made
    made.close()


def test_who_has_just_begun_to_speak_is_heard_at_once(ear: Ear) -> None:
    assert [ear.say(NOW + turn * 0.01) for turn in range(7)] == [0] * 7


def test_who_says_a_little_often_has_time_until_there_is_more(ear: Ear) -> None:
    given = ear.chat()
    assert given[20:] == pytest.approx([EVERY_S] * 10)


def test_who_speaks_seldom_is_heard_at_once(ear: Ear) -> None:
    assert [ear.say(NOW + turn * 0.5) for turn in range(30)] == [0] * 30


def test_who_was_silent_is_heard_at_once_again(ear: Ear) -> None:
    ear.chat()
    ear.listen()
    assert ear.streams.due_at < ear.at  # there was nothing, and no wake-up is due for that
    after = ear.at + 5
    assert [ear.say(after + turn * 0.01) for turn in range(7)] == [0] * 7


def test_who_says_much_is_never_made_to_wait(ear: Ear) -> None:
    given = [ear.say(NOW + turn * EVERY_S, length=20_000) for turn in range(30)]
    assert given[5:] == [0] * 25


def test_a_flood_ends_the_waiting(ear: Ear) -> None:
    ear.chat()
    assert ear.say(ear.at, length=40_000) == 0
    assert ear.say(ear.at + 0.001) == 0


def test_what_it_says_meanwhile_is_heard_all_the_same_when_it_is_asked_for(ear: Ear) -> None:
    ear.chat()
    ear.speak(b'{"type":"agent_settled"}\n')
    ear.streams.hear_now(ear.at)
    assert ear.recorder.state.settled


def test_who_has_a_small_pipe_is_not_made_to_wait_until_it_is_full(tmp_path: Path) -> None:
    ear = Ear(tmp_path, room=8192)
    given = [ear.say(NOW + turn * 0.1, length=2000) for turn in range(40)]
    ear.close()
    assert given == [0] * 40


def test_how_long_a_call_took_is_not_said_where_that_would_be_our_rests(ear: Ear) -> None:
    assert ear.call(0.1) == 100
    ear.chat()
    assert ear.call(0.1) is None
    ear.listen()
    ear.at += 60
    assert ear.call(0.2) == 200
    ear.chat()
    assert ear.call(7.0) == 7000


def test_a_live_child_is_always_heard_at_once_and_the_length_of_its_calls_is_known(tmp_path: Path) -> None:
    ear = Ear(tmp_path, reader=PiLiveReader(lambda _: None))
    given = ear.chat()
    took = ear.call(0.1)
    ear.close()
    assert (set(given), took) == ({0.0}, 100)


def test_who_is_heard_now_and_then_is_never_taken_for_silent() -> None:
    assert EVERY_S + 0.1 < logs.QUIET_S  # else each hearing would wake the watcher
