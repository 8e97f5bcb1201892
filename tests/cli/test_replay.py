"""`replay`: a run once more, at a person's terminal."""

from __future__ import annotations

import re
import termios
import time
from typing import TYPE_CHECKING

import pytest

from tests.runs.test_reading import ended
from tests.status.watchers import COMMAND
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.harness import Home

pytestmark = pytest.mark.usefixtures("nothing_hangs")
SLOW = """begin
answer toolUse First.
sleep 3
tool bash {"command":"make"}
answer stop Last.
settle"""


@pytest.fixture
def player(home: Home) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def play(*arguments: str) -> Terminal:
        environment = home.environment | {"TERM": "xterm-256color"}
        opened.append(Terminal([*COMMAND, "replay", *arguments], environment, home.project))
        return opened[-1]

    yield play
    for terminal in opened:
        terminal.close()


def modes(terminal: Terminal) -> int:
    with open(terminal.name, "rb", buffering=0) as line:
        return int(termios.tcgetattr(line)[3])


def test_a_replay_shows_a_run_in_its_own_time_and_faster(home: Home, player: Callable[..., Terminal]) -> None:
    run = ended(home, SLOW)
    for speed, at_least, at_most in (("1", 2.9, 60.0), ("64", 0.0, 2.9)):
        terminal = player(run.run_id, "--speed", speed)
        terminal.shows("  First.")
        started = time.monotonic()
        terminal.shows("completed\x1b[m")
        assert at_least <= time.monotonic() - started <= at_most
        assert terminal.left() == 0
        text = terminal.text
        assert text.index("\u203a") < text.index("  First.") < text.index("✓") < text.index("  Last.")


def test_keys_step_pause_and_leave(home: Home, player: Callable[..., Terminal]) -> None:
    run = ended(home, SLOW)
    terminal = player(run.run_id, "--speed", "0.1")
    terminal.shows("  First.")
    terminal.type(" ")
    for _ in range(2):
        terminal.type("s")
    terminal.shows("✓")
    assert "\n  Last." not in terminal.text
    terminal.type("+++q")
    assert terminal.left() == 0
    terminal = player(run.run_id, "--speed", "0.1")
    terminal.shows("  First.")
    before = modes(terminal)
    terminal.process.terminate()
    assert terminal.left() == 143
    assert modes(terminal) & termios.ICANON
    assert not before & termios.ICANON


def test_a_call_that_took_its_time_is_seen_before_its_end(
    home: Home, player: Callable[..., Terminal]
) -> None:
    run = ended(home, 'begin\ntool bash {"command":"make","seconds":1.5}\ndone Last.')
    terminal = player(run.run_id)
    terminal.shows("▸")
    terminal.shows("completed\x1b[m")
    assert terminal.text.index("▸") < terminal.text.index("✓")


def test_a_run_without_an_end_is_shown_as_far_as_it_is(home: Home, player: Callable[..., Terminal]) -> None:
    run = home.run("begin\nanswer toolUse so far\nsleep 60").start()
    run.wait_for("turn_end")
    terminal = player(run.run_id)
    assert terminal.left() == 0
    assert "  so far\n" in terminal.text
    assert "✓" not in terminal.text


def test_an_event_of_a_far_future_is_waited_for_and_can_be_reached(
    home: Home, player: Callable[..., Terminal]
) -> None:
    run = ended(home, "begin\nanswer stop Late.\nsettle")
    path = run.folder / "events.jsonl"
    lines = path.read_text().splitlines()
    late = [
        re.sub(r'"at":[0-9.]+', '"at":99999999999.5', line) if "Late." in line else line for line in lines
    ]
    path.write_text("\n".join([*late, ""]))
    terminal = player(run.run_id)
    terminal.shows("space pauses")
    time.sleep(0.5)
    for _ in range(len(lines)):
        terminal.type("s")
    terminal.shows("  Late.")
    assert terminal.left() == 0


def test_without_a_terminal_it_refuses(home: Home) -> None:
    done = home.command("replay", ended(home, "done x").run_id)
    assert (done.returncode, done.stdout) == (2, "")
    assert "hint: tmuxagents transcript prints it at once" in done.stderr


def test_a_speed_is_a_number(home: Home, player: Callable[..., Terminal]) -> None:
    terminal = player(ended(home, "done x").run_id, "--speed", "nan")
    terminal.shows("--speed must be a number.")
    assert terminal.left() == 2
