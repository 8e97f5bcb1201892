"""The wrapper's terminal, lent to a child: the keys, the display, and taking it back."""

from __future__ import annotations

import os
import pty
import select
import sys
import termios
from typing import TYPE_CHECKING

import pytest

from tests.apart import running
from tests.harness import REPOSITORY, eventually
from tmuxagents.wrapper.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("nothing_hangs")

# A session of its own, as a window's: it lends its terminal to a child that spoils it, and takes it back.
LENDS = """
import os, signal, sys, termios
from tmuxagents.system import process
from tmuxagents.wrapper.terminal import Terminal
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
before = termios.tcgetattr(0)
screen = Terminal()
assert screen.lend(1.0)
screen.show(b"NOT SHOWN")
script = "stty raw -echo; printf '\\\\033[?1049h\\\\033[?1003hSPOILT'; read -r line; kill -9 $$"
child = process.spawn("/bin/sh", ["sh", "-c", script], dict(os.environ), streams=(0, 1, 2), own_session=False)
screen.give_to(child)
process.send_group(child, signal.SIGCONT)
assert os.getsid(child) == os.getsid(0) and os.getpgid(child) == child
_, status = os.waitpid(child, 0)
assert os.tcgetpgrp(0) == child
screen.take_back()
assert os.tcgetpgrp(0) == os.getpgrp()
screen.show(b"SHOWN AGAIN\\n")
screen.ring(); screen.ring()
screen.leave(1.0)
assert termios.tcgetattr(0) == before, "modes"
print("STATUS", os.waitstatus_to_exitcode(status), flush=True)
"""


@pytest.fixture
def line() -> Iterator[tuple[int, int]]:
    ends = pty.openpty()
    yield ends
    for end in ends:
        os.close(end)


def test_a_child_that_is_killed_leaves_a_usable_terminal(line: tuple[int, int]) -> None:
    master, slave = line
    argv = ["setsid", "-c", sys.executable, "-c", LENDS]
    with running(argv, stdin=slave, stdout=slave, stderr=slave, cwd=REPOSITORY) as program:
        seen = b""

        def more() -> bytes:
            nonlocal seen
            if select.select([master], [], [], 0)[0]:
                seen += os.read(master, 65536)
            return seen

        eventually(lambda: b"SPOILT" in more())
        os.write(master, b"x\n\r")
        eventually(lambda: b"STATUS" in more() or program.poll() is not None)
        assert program.wait(20) == 0, seen
        more()
    assert b"STATUS -9" in seen
    assert b"NOT SHOWN" not in seen
    assert b"SHOWN AGAIN" in seen
    again = seen[seen.index(b"SPOILT") :]
    for off in (b"\x1b[?1049l", b"\x1b[?1003l", b"\x1b[?2004l", b"\x1b[?25h"):
        assert off in again
    assert seen.count(b"\a") == 1


def test_a_terminal_that_hung_up_is_known(line: tuple[int, int]) -> None:
    master, slave = os.openpty()
    screen = Terminal(slave)
    before = screen.is_hung_up
    os.close(master)
    assert (before, screen.is_hung_up) == (False, True)
    screen.take_back()
    screen.ring()
    for handle in (slave, screen.keys, screen._handle):
        assert handle is not None
        os.close(handle)
    assert termios.tcgetattr(line[1])


def test_without_a_terminal_there_is_nothing_to_lend() -> None:
    reading, writing = os.pipe()
    screen = Terminal(writing)
    assert (screen.lend(0.1), screen.is_hung_up) == (False, False)
    screen.ring()
    os.close(writing)
    assert os.read(reading, 10) == b""
    os.close(reading)
