"""The warm process of the tests (tests/warm.py): every end is told, and a verb that hangs says where."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests import hung
from tests.apart import running
from tests.harness import REPOSITORY

if TYPE_CHECKING:
    from tests.harness import Home

# A signal that comes between two system calls is noticed by Python only after the second one. So the first is
# a sleep here, and both are called without a line of Python between them.
ENDS_BEFORE_THE_WAIT = """
import ctypes, functools, operator, os, socket, time
from tests import warm

class Late(socket.socket):
    def recvmsg(self, *how):
        calls = functools.partial(ctypes.CDLL(None).usleep, 400_000), functools.partial(super().recvmsg, *how)
        return list(map(operator.call, calls))[-1]

ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
serving = os.fork()
if not serving:
    ours.close()
    warm.serve(Late(fileno=theirs.detach()))
    time.sleep(0.1)
    os._exit(7)
theirs.close()
nothing = os.open(os.devnull, os.O_RDWR)
for _ in range(2):
    reading, writing = os.pipe()
    socket.send_fds(ours, [b"."], [os.dup(nothing), writing, nothing, nothing, nothing])
    os.close(writing)
    said = b""
    while warm.is_readable(reading, 5.0) and (piece := os.read(reading, 100)):
        said += piece
    print(said.split()[-1].decode())
ours.close()
os.waitpid(serving, 0)
"""


def test_an_end_that_comes_just_before_the_wait_is_told() -> None:
    words = [sys.executable, "-c", ENDS_BEFORE_THE_WAIT]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["7", "7"], "")


def test_a_verb_that_hangs_says_where(home: Home) -> None:
    reading, writing = os.pipe()
    with pytest.raises(subprocess.TimeoutExpired) as hangs, open(reading, "rb") as nothing:
        home.command("mcp", stdin=nothing, timeout=3)
    os.close(writing)
    (note,) = hangs.value.__notes__
    assert "is at work" in note
    assert "0 -> pipe:[" in note
    assert "/tmuxagents/mcp/" in note  # a line of its traceback
    assert "stdout is held by " in note


def test_who_holds_the_streams_of_one_that_has_ended_is_named() -> None:
    reading, writing = os.pipe()
    with running(["sleep", "60"], stdout=writing) as holder:
        os.close(writing)
        note = hung.told(1, {reading: "stdout"}, reading, has_ended=True)
    os.close(reading)
    assert note == f"process 1 has ended\nstdout is held by {holder.pid} (sleep 60)"
