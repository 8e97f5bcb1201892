"""What a run's pane is written, and when: a real terminal, and moments that the test chooses."""

from __future__ import annotations

import os
import pty
from typing import TYPE_CHECKING

import pytest

from tmuxagents.runs import events
from tmuxagents.runs.documents import plan_of
from tmuxagents.wrapper import recorder as recording
from tmuxagents.wrapper.recorder import Recorder
from tmuxagents.wrapper.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")

NOW = 1000.0
NEVER = float("inf")
END = b"\0"


class Pane:
    """A recorder on a terminal of its own, and who looks at it."""

    def __init__(self, folder: Path) -> None:
        self._master, self._slave = pty.openpty()
        terminal = Terminal(self._slave)
        self.recorder = Recorder(str(folder), plan_of({"runId": folder.name}), {}, terminal, width=80)
        self.recorder.event(events.run_started({}))
        self._calls = 0

    def say(self, at: float) -> bytes:
        """Have the child call a tool; return what comes to be seen at once."""
        self._calls += 1
        path = {"path": f"part{self._calls}"}
        self.recorder.event(events.tool_call(f"call_{self._calls}", "read", path))
        return self.wake(at)

    def wake(self, at: float, *, last: bool = False) -> bytes:
        """Do what is due; return what comes to be seen."""
        self.recorder.flush(at, last=last)
        os.write(self._slave, END)  # a terminal passes on what it is given a moment later
        seen = b""
        while not seen.endswith(END):
            seen += os.read(self._master, 65_536)
        return seen.removesuffix(END)

    def close(self) -> None:
        """Close the terminal."""
        os.close(self._master)
        os.close(self._slave)


@pytest.fixture
def pane(tmp_path: Path) -> Iterator[Pane]:
    shown = Pane(tmp_path)
    yield shown
    shown.close()


def test_what_comes_after_a_silence_is_seen_at_once(pane: Pane) -> None:
    for second in range(5):
        assert b"Reading part" in pane.say(NOW + second)
        assert b"Reading part" in pane.say(NOW + second + 0.1)


def test_a_line_and_the_title_that_is_due_are_one_write_and_wait_for_nothing_more(pane: Pane) -> None:
    seen = pane.say(NOW)
    assert seen.endswith(b"\x1b]2;Reading part1\x07")
    assert seen.count(b"part1") == 2
    assert pane.recorder.show_at == NEVER


def test_at_a_steady_pace_the_pane_is_written_five_times_a_second_and_its_title_twice(pane: Pane) -> None:
    seen = [pane.say(NOW + number / 10) for number in range(100)]
    written = [text for text in seen if text]
    assert len(written) <= 10 / recording.SHOW_EVERY_S + 2
    assert sum(b"\x1b]2;" in text for text in written) <= 10 / recording.TITLE_EVERY_S + 1
    seen.append(pane.wake(NOW + 10, last=True))
    for number in range(1, 101):
        assert b"".join(seen).count(b"Reading part%d\x1b[m" % number) == 1, number


def test_at_a_steady_pace_nothing_needs_a_wake_up_of_its_own(pane: Pane) -> None:
    for number in range(100):
        jitter = 0.004 if number % 3 else 0.0
        pane.say(NOW + number / 10 + jitter)
        assert pane.recorder.show_at >= NOW + (number + 1) / 10


def test_what_waits_is_shown_when_it_is_due_though_nothing_more_comes(pane: Pane) -> None:
    said = [NOW + number / 100 for number in range(10)]
    for moment in said:
        pane.say(moment)
    due = pane.recorder.show_at
    assert said[-1] < due <= said[-1] + recording.SHOW_EVERY_S
    assert b"Reading part10\x1b[m" in pane.wake(due)
    titled = pane.recorder.show_at  # the title alone waits
    assert titled <= NOW + 0.7
    assert pane.wake(titled) == b"\x1b]2;Reading part10\x07"
    assert pane.recorder.show_at == NEVER


def test_the_last_words_do_not_wait(pane: Pane) -> None:
    for number in range(5):
        pane.say(NOW + number / 100)
    seen = pane.wake(NOW + 0.05, last=True)
    assert b"Reading part5\x1b[m" in seen
    assert seen.endswith(b"\x1b]2;Reading part5\x07")


def test_a_flood_is_not_kept_until_it_is_due(pane: Pane) -> None:
    pane.say(NOW)
    pane.say(NOW)
    pane.recorder.event(events.assistant_text("x\n" * 200_000))
    assert b"not shown here" in pane.wake(NOW + 0.01)
