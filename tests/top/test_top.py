"""`top` by the installed command: what a person sees on the terminal, and that the terminal is restored."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
from typing import TYPE_CHECKING, Any

import pyte
import pytest

from tests.hands import Live
from tests.harness import eventually
from tests.status.watchers import COMMAND
from tests.terminal import Screen
from tests.terminals import Room, inside
from tmuxagents.system import process_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.desk import Desk
    from tests.harness import Home, ModelServer


READS = 'begin\nanswer toolUse so far\ntool read {"path":"src/auth.ts"}\nsleep 600'
TAKEN, GIVEN_BACK = b"\x1b[?1049h", b"\x1b[?1049l"


class Person:
    """A person at a terminal of some size, and what they see there."""

    def __init__(
        self, home: Home, *arguments: str, size: tuple[int, int] = (80, 24), **variables: str
    ) -> None:
        self.output = bytearray()
        self._screen = Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self._master, self._line = pty.openpty()
        self.resize(*size)
        self.before = self.modes()
        self.process = subprocess.Popen(
            ["setsid", "-c", *COMMAND, "top", *arguments],
            stdin=self._line,
            stdout=self._line,
            stderr=self._line,
            env=home.environment | {"TERM": "xterm-256color"} | variables,
            cwd=home.project,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while piece := os.read(self._master, 65536):
                with self._lock:
                    self.output += piece
                    self._stream.feed(piece)

    def modes(self) -> list[Any]:
        return termios.tcgetattr(self._line)

    def resize(self, columns: int, lines: int) -> None:
        with self._lock:
            self._screen.resize(lines, columns)
        fcntl.ioctl(self._line, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))

    @property
    def rows(self) -> list[str]:
        with self._lock:
            return [row.rstrip() for row in self._screen.display]

    def sees(self, *words: str) -> None:
        """Wait until each of these has a row of its own."""
        eventually(lambda: all(any(word in row for row in self.rows) for word in words))

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def left(self) -> int:
        code = self.process.wait(30)
        eventually(lambda: self.output.rfind(GIVEN_BACK) > self.output.rfind(TAKEN))
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._line)
        self._reader.join(5)
        os.close(self._master)


@pytest.fixture
def people() -> Iterator[list[Person]]:
    made: list[Person] = []
    yield made
    for person in made:
        person.close()


def test_without_a_terminal_it_says_what_does_as_well(room: Room) -> None:
    done = room("top")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.endswith("hint: tmuxagents poll --follow prints what changes\n")
    assert "top needs a terminal." in done.stderr


def test_a_dumb_terminal_is_refused(room: Room, people: list[Person]) -> None:
    person = Person(room.home, TERM="dumb")
    people.append(person)
    person.sees("top needs a terminal.", "hint: tmuxagents poll --follow")
    assert person.process.wait(20) == 3
    assert TAKEN not in person.output


def test_a_person_watches_filters_stops_and_leaves(room: Room, people: list[Person]) -> None:
    first, _ = room.launch(READS, "--name", "first"), room.launch(READS, "--name", "second")
    person = Person(room.home)
    people.append(person)
    person.sees(
        "bg here: 2 running / 2 total",
        " ● second    running",
        " ● first     running",
        "✓ Reading src/auth.ts",
    )
    assert person.rows[1].split() == ["NAME", "STATUS", "TIME", "AGE", "COST", "TOKENS", "ACTIVITY"]
    person.type("\x1b[B")
    person.sees(" ● first     running  ")
    person.type("s")
    person.sees("Stop first? [y/N]")
    person.type("n")
    person.sees("Enter attach")
    person.type("s")
    person.sees("Stop first? [y/N]")
    person.type("y")
    assert room.result(first)["reason"] == "stopped"
    person.sees("bg here: 1 running / 2 total", " ■ first     aborted", "first is stopped")
    person.type("/abort\r")
    person.sees('"abort"', " ■ first")
    person.type("\x1b")
    person.sees(" ● second", " ■ first")
    person.resize(130, 30)
    person.sees("│ ■ first  aborted")
    person.type("q")
    assert person.left() == 0
    assert person.modes() == person.before
    assert b"\x1b[36m" in person.output


def test_without_colours_there_are_none(room: Room, people: list[Person]) -> None:
    room.launch(READS)
    person = Person(room.home, NO_COLOR="1")
    people.append(person)
    person.sees("running", "src/auth.ts", "? help")
    person.type("q")
    assert person.left() == 0
    found = {code for style in re.findall(rb"\x1b\[([0-9;]*)m", person.output) for code in style.split(b";")}
    assert found <= {b"", b"0", b"1", b"2", b"3", b"7", b"39", b"49"}  # only the terminal's own colours


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_whatever_ends_it_the_terminal_is_as_it_was(
    room: Room, people: list[Person], number: int, code: int
) -> None:
    person = Person(room.home)
    people.append(person)
    person.sees("No run is active")
    assert person.modes() != person.before
    person.process.send_signal(number)
    assert person.left() == code
    assert person.modes() == person.before


def test_it_can_be_paused(room: Room, people: list[Person]) -> None:
    person = Person(room.home)
    people.append(person)
    person.sees("No run is active")
    pid = person.process.pid
    os.kill(pid, signal.SIGTSTP)
    eventually(lambda: state(pid) == "T")
    assert person.modes() == person.before
    eventually(lambda: person.output.count(GIVEN_BACK) == 1)
    os.kill(pid, signal.SIGCONT)
    eventually(lambda: person.output.count(TAKEN) == 2)
    person.sees("No run is active")
    person.type("q")
    assert person.left() == 0


def state(pid: int) -> str:
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_a_person_looks_at_a_run_and_is_back(room: Room, people: list[Person]) -> None:
    run_id = room.launch(READS, "--name", "first")
    person = Person(room.home, size=(100, 24), PAGER="cat >seen")
    people.append(person)
    person.sees(" ● first")
    person.type("\r")
    eventually(lambda: list(room.clients().values()) == [room.windows()[run_id]])
    room.tmux("detach-client", "-t", next(iter(room.clients())))
    person.sees(" ● first", "bg here: 1 running")
    person.type("o")
    seen = room.home.project / "seen"
    eventually(lambda: seen.exists() and seen.read_text())
    assert seen.read_text() == "so far\n"
    person.sees(" ● first")
    person.type("q")
    assert person.left() == 0
    assert person.modes() == person.before


def test_in_a_popup_it_closes_when_a_run_is_shown_behind_it(room: Room) -> None:
    mine = room.another("mine")
    run_id = room.launch(READS, **inside(mine))
    person = room.at_work(mine)
    values = " ".join(f"'{name}={value}'" for name, value in room.home.environment.items() if name != "TERM")
    command = f"cd {room.home.project} && env {values} {' '.join(COMMAND)} top"
    mine.run("bind-key", "-n", "F7", "display-popup", "-w", "90%", "-h", "90%", "-E", command)
    person.type("\x1b[18~")
    person.shows("src/auth.ts")
    person.type("\r")
    room.looks_at(person, room.windows(mine)[run_id], mine)
    eventually(lambda: not tops(room))


def tops(room: Room) -> list[int]:
    """Return the processes of this home that show top."""
    pids = [row.pid for row in process_table.table(since=0)]
    return [pid for pid in pids if of_proc(pid, "cmdline").endswith(b"\0top\0") and is_of(room, pid)]


def is_of(room: Room, pid: int) -> bool:
    return str(room.home.state).encode() in of_proc(pid, "environ")


def of_proc(pid: int, name: str) -> bytes:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", "rb") as file:
        return file.read()
    return b""


def test_a_live_run_is_told_something(desk: Desk, models: ModelServer, people: list[Person]) -> None:
    live = Live(desk, models)
    try:
        path, task = live.gate("First.")
        (run_id,) = live.working(1, task)
        person = Person(desk.home)
        people.append(person)
        person.sees("● ", "m message")
        person.type("m")
        person.sees("message to ")
        person.type("stay in [src]; #say:Second.\r")
        person.sees("sent to ")
        path.touch()
        person.sees("\u203a Sent: stay in [src]; #say:Second.", " ✓ ", "Second.")
        assert live.result(run_id)["status"] == "completed"
        person.type("q")
        assert person.left() == 0
    finally:
        live.leave()


def test_an_ended_run_is_launched_again_and_continued(room: Room, people: list[Person]) -> None:
    room.result(room.launch("done fine", "--name", "over"))
    person = Person(room.home)
    people.append(person)
    person.sees("✓ over  completed", "r retry")
    person.type("r")
    person.sees("over was launched again", "bg here: 0 running / 2 total")
    person.type("R")
    person.sees("next task for over")
    person.type("done better\r")
    person.sees("over continues", "bg here: 0 running / 3 total", "better")
    person.type("q")
    assert person.left() == 0
