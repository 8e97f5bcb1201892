"""Takes the README's pictures and its film: a tmux server plays the terminal, and what it shows becomes SVG.

scripts/pictures makes the demo, and calls this with its folder, that of its sockets, where the pictures go,
and the children as PRESET=NAME=TASK.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

# Started as a program, Python looks for modules beside this file only.
sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts import svg

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH, HEIGHT = 100, 30
PATIENCE_S = 60
KEY_S = 0.05  # between two keys that a person types
LOOK_S = 0.1  # between two looks of the film at the screen
READ_S = 1.5  # a person needs this long to see what has changed
Picture = tuple[str, list[str]]  # a title, and the rows of a screen


def tmux(socket: str, *arguments: str) -> str:
    """Carry out a tmux command; return what it prints."""
    return own("tmux", "-u", "-S", socket, *arguments)


def own(*argv: str) -> str:
    """Run a program; return what it prints."""
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"{argv} left with {done.returncode}: {done.stderr}")
    return done.stdout


class Terminal:
    """A terminal that a person sits at, played by a window of a tmux server of its own."""

    def __init__(self, socket: str, demo: str) -> None:
        self.socket = socket
        path = f"PATH={demo}:{os.environ['PATH']}"
        shell = ["env", "-u", "TMUX", "-u", "TMUX_PANE", path, "PS1=$ ", "bash", "--norc"]
        size = ["-x", str(WIDTH), "-y", str(HEIGHT)]
        bare = [";", "set", "-g", "status", "off"]
        tmux(socket, "-f", "/dev/null", "new-session", "-d", *size, *shell, *bare)
        self.wait_for("$")

    def type(self, line: str, key_s: float = 0.0) -> None:
        """Type a line, as fast as a person if `key_s` seconds are between two keys."""
        for piece in line if key_s else (line,):
            tmux(self.socket, "send-keys", "-l", piece)
            time.sleep(key_s)
        tmux(self.socket, "send-keys", "Enter")

    def wait_for_prompt(self) -> None:
        """Wait until the shell wants the next line."""
        eventually(lambda: plain(self.rows()).rstrip().endswith("\n$"), "a prompt")

    def press(self, key: str) -> None:
        """Press a key."""
        tmux(self.socket, "send-keys", key)

    def rows(self) -> list[str]:
        """Return what the screen shows, with its colours."""
        return tmux(self.socket, "capture-pane", "-p", "-e", "-N").split("\n")[:HEIGHT]

    def wait_for(self, *words: str) -> list[str]:
        """Wait until the screen shows these words; return its rows, with their colours."""
        rows: list[str] = []

        def is_shown() -> bool:
            rows[:] = self.rows()
            return all(word in plain(rows) for word in words)

        try:
            eventually(is_shown, f"{words} on the screen")
        except TimeoutError:
            print(plain(rows), file=sys.stderr)
            raise
        return rows


class Camera(threading.Thread):
    """Films a terminal until it is stopped."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self.terminal = terminal
        self.looks: list[tuple[float, list[str]]] = []  # when, and what the screen showed from then on
        self.stopped = threading.Event()

    def run(self) -> None:
        """Look at the screen again and again."""
        while not self.stopped.wait(LOOK_S):
            rows = self.terminal.rows()
            if not self.looks or rows != self.looks[-1][1]:
                self.looks.append((time.monotonic(), rows))

    def frames(self) -> list[svg.Frame]:
        """Stop, and return the film."""
        self.stopped.set()
        self.join()
        ends = [when for when, _ in self.looks[1:]] + [self.looks[-1][0] + 2 * READ_S]
        return [svg.Frame(end - when, rows) for (when, rows), end in zip(self.looks, ends, strict=True)]


def plain(rows: list[str]) -> str:
    """Return rows without their colours."""
    return svg.SEQUENCE.sub("", "\n".join(rows))


def eventually(check: Callable[[], bool], what: str) -> None:
    """Wait until something is so; fail if that takes too long."""
    deadline = time.monotonic() + PATIENCE_S
    while not check():
        if time.monotonic() > deadline:
            raise TimeoutError(f"there was never {what}")
        time.sleep(0.05)


def main() -> None:
    """Take the film, then the pictures."""
    demo, sockets, folder, *children = sys.argv[1:]
    command, named = f"{demo}/tmuxagents", [child.split("=", 2) for child in children]
    terminals = [Terminal(f"{sockets}/terminal-{number}", demo) for number in (1, 2, 3)]
    try:
        frames = demonstrate(command, terminals[0], named)
        launch(command, named)
        pictures = scenes(*terminals[1:])
    finally:
        for terminal in terminals:
            tmux(terminal.socket, "kill-server")
    for name, (title, rows) in pictures.items():
        Path(folder, f"{name}.svg").write_text(svg.picture(rows, WIDTH, title=title), encoding="utf-8")
    title = "Three agents: launched, watched, attached to, and read"
    Path(folder, "demo.svg").write_text(svg.film(frames, WIDTH, title=title), encoding="utf-8")


def demonstrate(command: str, person: Terminal, children: list[list[str]]) -> list[svg.Frame]:
    """Film a person who launches the children, watches them, attaches to one and reads an answer."""
    camera = Camera(person)
    camera.start()
    for preset, name, task in children:
        person.type(f'tmuxagents launch -p {preset} --name {name} "{task}"', KEY_S / 4)
        person.wait_for_prompt()
    person.type("tmuxagents top", KEY_S)
    person.wait_for("3 running")
    select(person, "tester")
    person.wait_for("FAILED")
    time.sleep(READ_S)
    person.press("Enter")
    person.wait_for("0 running / 3 total")
    time.sleep(READ_S)
    person.press("C-b")
    person.press("d")
    person.wait_for("Enter read")
    time.sleep(READ_S)
    person.press("q")
    person.wait_for_prompt()
    person.type("tmuxagents output finder", KEY_S)
    person.wait_for("prices.py:8")
    frames = camera.frames()
    own(command, "prune", *(name for _, name, _ in children))
    return frames


def select(person: Terminal, name: str) -> None:
    """Move down to a run in `top`."""

    def chosen() -> str:
        found = re.search(r"^─[●✓✗] (\S+) ", plain(person.rows()), re.MULTILINE)
        return found[1] if found else ""

    eventually(lambda: chosen() != "", "a chosen run")
    while (before := chosen()) != name:
        time.sleep(READ_S / 2)
        person.press("Down")
        eventually(lambda: chosen() != before, f"a run below {before}")


def launch(command: str, children: list[list[str]]) -> None:
    """Launch the children; the status line of the server that the first one starts shows how they stand."""
    for number, (preset, name, task) in enumerate(children):
        own(command, "launch", "-p", preset, "--name", name, task)
        if number == 0:
            own(command, "integrate", "tmux")


def scenes(seat: Terminal, other: Terminal) -> dict[str, Picture]:
    """Look at the children while they work."""
    seat.type("tmuxagents attach tester")
    seat.wait_for("Reading prices.py")
    status = [seat.wait_for("3 running")[-1]]
    other.type("tmuxagents poll")
    table = other.wait_for("3 running / 3 total", " guide ")
    other.type("tmuxagents top")
    other.wait_for("3 running", "Enter attach")
    select(other, "tester")
    top = other.wait_for("FAILED")
    other.press("q")
    window = seat.wait_for("tools ·", "completed in")
    status += ["", seat.wait_for("✓")[-1]]
    status += ["", seat.wait_for("bg: 0 running / 3 total")[-1]]
    return {
        "window": ("The window of an agent, with tmux's status line below it", window),
        "poll": ("tmuxagents poll: three agents at work", used(table)),
        "top": ("tmuxagents top: three agents at work", top),
        "statusline": ("The status line: three at work, one just finished, all finished", status),
    }


def used(rows: list[str]) -> list[str]:
    """Leave out the empty rows at the end, and the prompt."""
    last = max(number for number, row in enumerate(rows) if plain([row]).strip() not in ("", "$"))
    return rows[: last + 1]


if __name__ == "__main__":
    main()
