"""The wrapper's terminal on real ptys: it never delays the run, and is given back as it was."""

from __future__ import annotations

import os
import pty
import re
import select
import termios
import time
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from tests.apart import Apart, apart
from tests.harness import eventually
from tmuxagents.wrapper import terminal
from tmuxagents.wrapper.terminal import CTRL_C, Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")

NOTE = re.compile(rb"\.\.\. (\d+) lines not shown here: see the transcript\n")
KEPT = 256 * 1024
CTRL_S, CTRL_Q, CTRL_Z, CTRL_BACKSLASH = b"\x13", b"\x11", b"\x1a", b"\x1c"


class Screen:
    """A pty: the test reads it, or not, like a terminal emulator; the wrapper has the other end."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        os.set_blocking(self.master, False)
        self.before = termios.tcgetattr(self.slave)
        self.opened: set[int] = set()

    def open(self) -> Terminal:
        """Open the terminal to test; note its descriptors, which a wrapper leaves open and a test closes."""
        before = descriptors()
        shown = Terminal(self.slave)
        self.opened |= descriptors() - before
        return shown

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def read(self, amount: int = 1 << 30) -> bytes:
        """Return the text that is shown now, up to a size."""
        seen = b""
        while len(seen) < amount:
            try:
                seen += os.read(self.master, min(65536, amount - len(seen)))
            except BlockingIOError:
                break
        return seen.replace(b"\r\n", b"\n")

    def hang_up(self) -> None:
        os.close(self.master)
        self.master = -1

    def close(self) -> None:
        for descriptor in self.opened & descriptors() | {self.master, self.slave} - {-1}:
            os.close(descriptor)


def descriptors() -> set[int]:
    """Return our open descriptors, without the one used for that."""
    names = os.listdir("/proc/self/fd")
    return {int(name) for name in names if os.path.lexists(f"/proc/self/fd/{name}")}


@pytest.fixture
def screen() -> Iterator[Screen]:
    made = Screen()
    yield made
    made.close()


def lines(first: int, count: int, width: int = 60) -> bytes:
    return b"".join(b"%08d %s\n" % (number, b"x" * width) for number in range(first, first + count))


def is_frozen(descriptor: int) -> bool:
    try:
        os.write(descriptor, b".")
    except BlockingIOError:
        return True
    return False


def waits(shown: Terminal) -> bool:
    return shown.waiting is not None


def numbers(text: bytes) -> list[int]:
    return [int(line[:8]) for line in text.split(b"\n") if line[:8].isdigit()]


def follow(seen: bytes) -> int:
    """Return how many lines were shown or reported as missing; each must be in its place."""
    told = 0
    for line in seen.splitlines(keepends=True):
        gap = NOTE.fullmatch(line)
        if gap is None:
            assert int(line[:8]) == told
        told += 1 if gap is None else int(gap.group(1))
    return told


def show_all(shown: Terminal, screen: Screen) -> bytes:
    """Read the screen and let the terminal show the rest, as the wrapper's loop does, until nothing waits."""
    seen = b""
    deadline = time.monotonic() + 10
    while shown.waiting is not None and time.monotonic() < deadline:
        seen += screen.read()
        poll = select.poll()
        poll.register(shown.waiting, select.POLLOUT)
        if poll.poll(1000):
            shown.flush()
    assert shown.waiting is None
    return seen + screen.read()


# --- settings of the terminal -----------------------------------------------------------------------------


def test_keys_are_no_signals_and_freeze_nobody_while_it_is_in_use(screen: Screen) -> None:
    screen.open()
    ours = termios.tcgetattr(screen.slave)
    assert screen.before[3] & (termios.ISIG | termios.ICANON | termios.ECHO | termios.IEXTEN)
    assert not ours[0] & (termios.IXON | termios.IXOFF)
    assert not ours[3] & (termios.ISIG | termios.ICANON | termios.ECHO | termios.IEXTEN)
    assert ours[1] == screen.before[1]  # lines still begin at the left


@pytest.mark.parametrize("frozen", [False, True])
def test_leaving_gives_the_terminal_back_as_it_was(screen: Screen, *, frozen: bool) -> None:
    changed = termios.tcgetattr(screen.slave)
    changed[0] ^= termios.IXOFF
    changed[3] ^= termios.ECHOK
    termios.tcsetattr(screen.slave, termios.TCSANOW, changed)
    before = termios.tcgetattr(screen.slave)
    shown = screen.open()
    if frozen:
        shown.show(lines(0, 3000))
    assert termios.tcgetattr(screen.slave) != before
    shown.leave(0.05)
    assert termios.tcgetattr(screen.slave) == before


def test_nothing_that_is_typed_is_a_signal_or_stops_the_screen(screen: Screen) -> None:
    shown = screen.open()
    keys = CTRL_C + CTRL_Z + CTRL_BACKSLASH + CTRL_S + b"a\r\x7f\xff"
    screen.type(keys)
    assert eventually(shown.pressed) == keys.replace(b"\r", b"\n")  # as a tty that is not raw has it
    shown.show(b"still here\n")
    assert screen.read() == b"still here\n"  # no echo either


def test_a_screen_that_was_frozen_before_goes_on(screen: Screen) -> None:
    screen.type(CTRL_S)
    os.set_blocking(screen.slave, False)
    eventually(lambda: is_frozen(screen.slave))
    screen.read()
    shown = screen.open()
    shown.show(b"not frozen\n")
    assert screen.read() == b"not frozen\n"


def test_the_descriptors_of_others_stay_blocking(screen: Screen) -> None:
    shown = screen.open()
    assert os.get_blocking(screen.slave)
    shown.show(b"x\n")
    shown.pressed()
    assert os.get_blocking(screen.slave)


def test_no_program_that_is_started_inherits_the_terminal(screen: Screen) -> None:
    screen.open()
    assert screen.opened
    assert not any(os.get_inheritable(descriptor) for descriptor in screen.opened)


def test_the_width_is_that_of_the_screen_now(screen: Screen) -> None:
    shown = screen.open()
    assert shown.columns is None  # a pty begins with none
    for width in (80, 133):
        termios.tcsetwinsize(screen.master, (24, width))
        assert shown.columns == width
    screen.hang_up()
    assert shown.columns in (None, 133)  # and no error


# --- a terminal that takes what it is given -----------------------------------------------------------------


def test_what_is_shown_is_seen_at_once(screen: Screen) -> None:
    shown = screen.open()
    assert shown.is_terminal
    shown.show(b"one\n")
    assert screen.read() == b"one\n"
    shown.show(b"")
    shown.show(b"two\nthree\n")
    shown.show(b"\a")
    assert screen.read() == b"two\nthree\n\a"
    assert shown.waiting is None


def test_more_than_the_kernel_holds_is_seen_in_order(screen: Screen) -> None:
    shown = screen.open()
    text = lines(0, KEPT // 100)
    shown.show(text)
    assert shown.waiting is not None
    assert show_all(shown, screen) == text


# --- a terminal that nobody reads ---------------------------------------------------------------------------


def test_a_screen_that_nobody_reads_blocks_nobody_and_costs_little(screen: Screen) -> None:
    shown = screen.open()
    text = lines(0, 500)

    def act() -> tuple[float, int, int]:
        tracemalloc.start()
        begun = time.monotonic()
        for _ in range(2000):
            shown.show(text)
        took = time.monotonic() - begun
        return took, tracemalloc.get_traced_memory()[1], len(shown._unshown)

    took, peak, waiting = apart(act, 30)
    assert took < 15
    assert waiting <= KEPT
    assert peak < 4 * KEPT


def test_what_was_skipped_is_said_when_the_screen_is_read_again(screen: Screen) -> None:
    shown = screen.open()
    for first in range(0, 10_000, 100):
        shown.show(lines(first, 100))
    seen = show_all(shown, screen)
    assert NOTE.search(seen)
    assert follow(seen) == 10_000
    assert len(numbers(seen)) > KEPT // 100  # so much waited
    shown.show(b"and on\n")
    assert screen.read() == b"and on\n"


def test_what_was_skipped_is_said_where_it_is_missing(screen: Screen) -> None:
    shown = screen.open()
    for first in range(0, 10_000, 100):
        shown.show(lines(first, 100))
    seen = screen.read(100_000)
    shown.flush()
    shown.show(lines(10_000, 10))  # there is room again, though not all that waited has been seen
    seen += show_all(shown, screen)
    shown.show(lines(10_010, 10))
    seen += show_all(shown, screen)
    assert NOTE.search(seen)
    assert follow(seen) == 10_020
    assert numbers(seen)[-10:] == list(range(10_010, 10_020))


def test_each_gap_is_told_with_its_own_figure(screen: Screen) -> None:
    shown = screen.open()
    seen = b""
    for start in (0, 10_000):
        for first in range(start, start + 10_000, 100):
            shown.show(lines(first, 100))
        seen += show_all(shown, screen)
        assert follow(seen) == start + 10_000
    assert len(NOTE.findall(seen)) >= 2


def test_a_text_larger_than_all_that_may_wait_is_seen_or_said_to_be_missing(screen: Screen) -> None:
    shown = screen.open()
    count = 2 * KEPT // 70
    shown.show(lines(0, count))
    assert follow(show_all(shown, screen)) == count


def test_leaving_shows_what_still_waits(screen: Screen) -> None:
    text = lines(0, KEPT // 100)

    def act() -> bool:
        shown = screen.open()
        shown.show(text)
        waited = shown.waiting is not None
        shown.leave(10)
        return waited and shown.waiting is None

    seen = b""

    def reader() -> bool:
        nonlocal seen
        seen += screen.read()
        return len(seen) >= len(text)

    leaving = Apart(act)
    eventually(reader)
    assert leaving.result()
    assert seen + screen.read() == text


def test_leaving_a_screen_that_nobody_reads_takes_a_moment_and_no_more(screen: Screen) -> None:
    shown = screen.open()
    shown.show(lines(0, KEPT // 100))
    begun = time.monotonic()
    shown.leave(0.2)
    assert 0.2 <= time.monotonic() - begun < 15
    assert termios.tcgetattr(screen.slave) == screen.before


def test_leaving_at_once_when_nothing_waits(screen: Screen) -> None:
    shown = screen.open()
    shown.show(b"bye\n")
    begun = time.monotonic()
    shown.leave(60)
    assert time.monotonic() - begun < 15
    assert screen.read() == b"bye\n"


# --- keys ---------------------------------------------------------------------------------------------------


def test_keys_are_taken_as_they_come(screen: Screen) -> None:
    shown = screen.open()
    assert shown.pressed() == b""
    screen.type(b"a")
    assert eventually(shown.pressed) == b"a"
    screen.type(CTRL_C)
    assert eventually(shown.pressed) == CTRL_C
    assert shown.pressed() == b""


def test_keys_wake_up_who_waits_for_them(screen: Screen) -> None:
    shown = screen.open()
    assert shown.keys is not None
    poll = select.poll()
    poll.register(shown.keys, select.POLLIN)
    assert poll.poll(0) == []
    screen.type(b"k")
    assert poll.poll(5000) == [(shown.keys, select.POLLIN)]
    assert shown.pressed() == b"k"
    assert poll.poll(0) == []


# --- a terminal that goes away ------------------------------------------------------------------------------


def test_a_hang_up_raises_nothing(screen: Screen) -> None:
    shown = screen.open()
    shown.show(lines(0, KEPT // 100))
    assert waits(shown)
    screen.hang_up()
    shown.show(b"more\n")
    assert not waits(shown)
    assert shown.pressed() == b""
    assert shown.keys is None  # waiting on it again would never end
    assert shown.pressed() == b""
    shown.flush()
    shown.show(b"more\n")
    begun = time.monotonic()
    shown.leave(60)
    assert time.monotonic() - begun < 15


def test_keys_from_before_the_hang_up_do_not_hide_it(screen: Screen) -> None:
    shown = screen.open()
    screen.type(b"q")
    screen.hang_up()
    keys = [shown.pressed() for _ in range(3)]
    assert keys[-1] == b""
    assert shown.keys is None


def test_a_terminal_that_had_gone_before_is_none(screen: Screen) -> None:
    screen.hang_up()
    shown = screen.open()
    shown.show(b"x\n")
    shown.flush()
    assert shown.pressed() == b""
    assert shown.waiting is None
    shown.leave(0.1)


# --- no terminal --------------------------------------------------------------------------------------------


def test_a_file_is_no_terminal_and_nothing_is_written_to_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb+") as file:
        shown = Terminal(file.fileno())
        check_absent(shown)
        assert os.get_blocking(file.fileno())
    assert path.read_bytes() == b""


def test_a_pipe_is_no_terminal_and_nothing_is_written_to_it() -> None:
    reading, writing = os.pipe()
    check_absent(Terminal(writing))
    assert os.get_blocking(writing)
    os.close(writing)
    assert os.read(reading, 10) == b""
    os.close(reading)


@pytest.mark.parametrize("kind", ["device", "closed", "never open"])
def test_what_is_no_terminal_at_all_is_none(kind: str) -> None:
    if kind == "never open":
        check_absent(Terminal(-1))
        return
    descriptor = os.open("/dev/null", os.O_RDWR)
    if kind == "device":
        check_absent(Terminal(descriptor))
        os.close(descriptor)
        return
    os.close(descriptor)
    check_absent(Terminal(descriptor))


def check_absent(shown: Terminal) -> None:
    assert not shown.is_terminal
    assert shown.columns is None
    assert shown.keys is None
    shown.show(b"x\n")
    shown.flush()
    assert shown.waiting is None
    assert shown.pressed() == b""
    shown.leave(0.1)


def test_the_terminal_of_standard_output_is_taken_by_default(screen: Screen) -> None:
    def act() -> bool:
        os.dup2(screen.slave, 1)
        shown = terminal.Terminal()
        shown.show(b"here\n")
        return shown.is_terminal

    assert apart(act)
    assert eventually(screen.read) == b"here\n"
