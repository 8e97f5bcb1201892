"""The pace of writing to a run's window: a real terminal, and moments that the test chooses."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import termios
from typing import TYPE_CHECKING

import pytest

from tmuxagents.records import Verdict
from tmuxagents.runs import events
from tmuxagents.runs.documents import plan_of
from tmuxagents.text.width import columns
from tmuxagents.wrapper import recorder as recording
from tmuxagents.wrapper.recorder import Recorder
from tmuxagents.wrapper.terminal import StoryWindow, Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")

NOW = 1000.0
NEVER = float("inf")
END = b"\0"
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\x1b\].*?\x07")


class Pane:
    """A recorder on a terminal of its own, which the test reads."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self._master, self._slave = pty.openpty()
        self.terminal = Terminal(self._slave)
        self.resize(80)
        window = StoryWindow(self.terminal, environment or {})
        self.recorder = Recorder(str(folder), plan_of({"runId": folder.name}), {}, window, width=80)
        self.recorder.event(events.run_started({}))
        self._calls = 0

    def say(self, at: float) -> bytes:
        """Let the child call a tool, and end the call; return the text that is shown at once."""
        self.call()
        self.end()
        return self.wake(at)

    def call(self) -> None:
        """Let the child call a tool."""
        self._calls += 1
        path = {"path": f"part{self._calls}"}
        self.recorder.event(events.tool_call(f"call_{self._calls}", "read", path))

    def end(self) -> None:
        """End the call."""
        call = f"call_{self._calls}"
        self.recorder.event(events.tool_result(call, "read", is_error=False, text="x", duration_ms=None))

    def resize(self, columns: int) -> None:
        """Give the terminal another width."""
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def wake(self, at: float, *, last: bool = False) -> bytes:
        """Do what is due; return the text that is shown."""
        self.recorder.flush(at, last=last)
        seen = b""
        while self.terminal.waiting is not None:  # it is full until somebody reads
            seen += os.read(self._master, 65_536)
            self.terminal.flush()
        os.write(self._slave, END)  # a terminal passes on what it is given a moment later
        while not seen.endswith(END):
            seen += os.read(self._master, 65_536)
        return seen.removesuffix(END)

    def thaw(self, at: float | None = None) -> bytes:
        """Read until nothing waits; return the text. With `at`, the recorder also does what is due then."""
        seen = b""
        os.set_blocking(self._master, False)
        for _ in range(1000):
            with contextlib.suppress(BlockingIOError):
                seen += os.read(self._master, 65_536)
            self.terminal.flush()
            if at is not None:
                self.recorder.flush(at)
        return seen

    def close(self) -> None:
        """Close the terminal."""
        os.close(self._master)
        os.close(self._slave)


@pytest.fixture(autouse=True)
def _in_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "tmux-256color")


@pytest.fixture
def pane(tmp_path: Path) -> Iterator[Pane]:
    shown = Pane(tmp_path)
    yield shown
    shown.close()


def test_times_count_from_the_start_of_the_run_though_nothing_is_shown_of_it(pane: Pane) -> None:
    window = StoryWindow(pane.terminal, {})
    said = [events.run_started({}), events.tool_call("1", "read", {"path": "a.py"})]
    said.append(events.tool_result("1", "read", is_error=False, text="x", duration_ms=None))
    for event, at in zip(said, (1000.0, 1060.0, 1065.0), strict=True):
        event.at = at
        window.take(event, 0)
    assert b"1:05" in window.painted(NOW)


def test_what_comes_after_a_silence_is_seen_at_once(pane: Pane) -> None:
    for second in range(5):
        assert b"Reading part" in pane.say(NOW + second)
        assert b"Reading part" in pane.say(NOW + second + 0.1)


def test_a_line_and_the_title_that_is_due_are_one_write_and_wait_for_nothing_more(pane: Pane) -> None:
    seen = pane.say(NOW)
    assert seen.endswith(b"\x1b]2;Finished reading part1\x07")
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
    assert pane.wake(titled) == b"\x1b]2;Finished reading part10\x07"
    assert pane.recorder.show_at == NEVER


def test_the_last_words_do_not_wait(pane: Pane) -> None:
    for number in range(5):
        pane.say(NOW + number / 100)
    seen = pane.wake(NOW + 0.05, last=True)
    assert b"Reading part5\x1b[m" in seen
    assert seen.endswith(b"\x1b]2;Finished reading part5\x07")


def test_of_a_flood_the_window_shows_the_end_and_says_so(pane: Pane) -> None:
    pane.say(NOW)
    pane.say(NOW)
    for number in range(300):
        pane.recorder.event(events.assistant_text(f"{number} " + "x" * 1000))
    assert pane.wake(NOW + 0.01) == b""
    seen = pane.wake(NOW + 1)
    assert re.search(rb"\d+ parts are not shown here: see `tmuxagents transcript`", seen)
    assert b"  299\r\n" in seen
    assert b"  200\r\n" not in seen
    for _ in range(1000):
        pane.say(NOW + 1)
    assert b"parts are not shown here" in pane.wake(NOW + 5)


def test_a_call_that_takes_its_time_is_shown_once_before_its_end(pane: Pane) -> None:
    pane.call()
    assert b"Reading" not in pane.wake(NOW).replace(b"\x1b]2;Reading part1\x07", b"")
    assert pane.recorder.show_at == pytest.approx(NOW + 0.3, abs=0.1)
    seen = pane.wake(pane.recorder.show_at)
    assert "▸".encode() in seen
    assert pane.recorder.show_at == NEVER
    pane.end()
    seen = pane.wake(NOW + 1)
    assert seen.startswith(b"\x1b[1A\x1b[J")
    assert "✓".encode() in seen


def test_a_window_of_another_width_is_painted_again_when_it_has_settled(pane: Pane) -> None:
    pane.say(NOW)
    pane.recorder.resized(NOW + 1)
    assert pane.recorder.show_at == NEVER
    for step in range(5):
        pane.resize(60 - step)
        pane.recorder.resized(NOW + 1 + step / 10)
        assert pane.wake(NOW + 1 + step / 10) == b""
    seen = pane.wake(pane.recorder.show_at)
    assert seen.startswith(b"\x1b[H\x1b[2J\x1b[3J")
    assert seen.count(b"Reading part1") == 1
    assert columns(ANSI.sub("", seen.decode()).rstrip("\r\n")) == 56
    assert pane.recorder.show_at == NEVER


def test_a_terminal_that_had_to_skip_something_shows_it_all_again_later(pane: Pane) -> None:
    number = 0
    while pane.terminal.skips == 0:
        pane.recorder.event(events.assistant_text(f"{number} " + "y " * 3000))
        pane.recorder.flush(NOW + number)
        number += 1
    seen = pane.thaw(NOW + number)
    assert b"\x1b[H\x1b[2J\x1b[3J" in seen
    assert b"  %d y y" % (number - 1) in seen.rpartition(b"\x1b[3J")[2]


def test_the_end_is_shown_though_the_terminal_is_slow(pane: Pane) -> None:
    number = 0
    while pane.terminal.waiting is None:
        pane.recorder.event(events.assistant_text(f"{number} " + "y " * 3000))
        pane.recorder.flush(NOW + number)
        number += 1
    pane.recorder.close(Verdict("completed", "done"), 1.0)
    pane.recorder.flush(NOW + number, last=True)
    assert b"completed" in pane.thaw()


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_who_launched_it_without_colours_gets_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], *, coloured: bool
) -> None:
    monkeypatch.setenv("TERM", "tmux-256color")
    shown = Pane(tmp_path, variables)
    assert (b"\x1b[1m" in shown.say(NOW)) is coloured
    shown.close()
