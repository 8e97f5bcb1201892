"""The person's terminal, lent to another program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.harness import REPOSITORY
from tmuxagents.system import foreground

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")

LINES = [b"first\n", b"second\n"]


def test_a_pager_reads_the_lines_on_its_stdin(tmp_path: Path) -> None:
    assert foreground.page(["sh", "-c", f"cat >'{tmp_path}/out'"], LINES)
    assert (tmp_path / "out").read_bytes() == b"".join(LINES)


def test_a_pager_that_leaves_early_was_one() -> None:
    assert foreground.page(["true"], [b"x" * 100_000] * 20)
    assert foreground.page(["sh", "-c", "exit 3"], [b"x" * 100_000] * 20)


@pytest.mark.parametrize(
    "argv", [["/nowhere/pager"], ["sh", "-c", "nosuchprogram"], ["sh", "-c", "/dev/null"]]
)
def test_what_cannot_be_started_was_no_pager(argv: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert not foreground.page(argv, LINES)
    assert capfd.readouterr().out == ""


def test_an_interrupt_is_for_the_pager_alone() -> None:
    handler = signal.getsignal(signal.SIGINT)
    interrupt = f"trap 'exit 7' INT; kill -INT {os.getpid()}; kill -INT $$; sleep 60"
    assert foreground.page(["sh", "-c", interrupt], LINES)
    assert signal.getsignal(signal.SIGINT) is handler


def test_one_goes_on_as_another_program_as_if_it_had_been_called_by_a_shell() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(REPOSITORY)!r})\n"
        "from tmuxagents.system import foreground\n"
        "environment = {'ONLY': 'this', 'PATH': '/usr/bin:/bin'}\n"
        "foreground.become(['sh', '-c', 'echo $0 $ONLY; kill -PIPE $$'], environment)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=20
    )
    assert (done.stdout, done.returncode) == ("sh this\n", -signal.SIGPIPE)


def test_a_program_that_stays_is_killed_even_if_the_terminal_has_gone() -> None:
    program = (
        f"import os, pty, signal, sys; sys.path.insert(0, {str(REPOSITORY)!r})\n"
        "from tmuxagents.system import foreground\n"
        "for number in (signal.SIGHUP, signal.SIGTERM):\n"
        "    signal.signal(number, signal.SIG_IGN)  # so does the program beside us\n"
        "ours, theirs = pty.openpty()\n"
        "os.dup2(theirs, 0)\n"
        "os.close(theirs)\n"
        "beside = foreground.Beside(['sleep', '60'], reads=True)\n"
        "os.close(ours)\n"
        "beside.end()\n"
        "assert beside.is_over\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=20
    )
    assert (done.stderr, done.returncode) == ("", 0)
