"""The processes of a cell: which are left, and whether a command line holds what belongs in none."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

EVERY_S = 0.3


def command_of(pid: int) -> list[str]:
    """Return the command line of a process; nothing if it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read().removesuffix(b"\0").split(b"\0")]
    except OSError:
        return []


def remains(home: Path, run_id: str = "") -> dict[int, str]:
    """Return the living processes with this home in their environment: of one run, or all without an id."""
    found = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        command = " ".join(command_of(pid))[:120]
        if command and is_of(pid, home, run_id):
            found[pid] = command
    return found


def is_of(pid: int, home: Path, run_id: str = "") -> bool:
    """Say whether a process has this home, and the mark of this run, in its environment."""
    try:
        environment = b"\0" + Path(f"/proc/{pid}/environ").read_bytes() + b"\0"
    except OSError:
        return False
    marks = [f"\0HOME={home}\0", *([f"\0TMUXAGENTS_RUN={run_id}\0"] if run_id else [])]
    return all(mark.encode() in environment for mark in marks)


class LookOut:
    """Looks at all command lines of a home while a cell is tried, and notes those that tell a secret."""

    def __init__(self, home: Path, secrets: Mapping[str, str]) -> None:
        self.told: dict[str, str] = {}  # what was told: the program that it was told to
        self.seen = 0  # command lines of this home
        self._home = home
        self._secrets = secrets  # what it is: a part of it
        self._known: dict[int, list[str]] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(5)

    def _look_on(self) -> None:
        while not self._is_over.wait(EVERY_S):
            self.look()

    def look(self) -> None:
        """Look at each process whose command line is new."""
        pids = {int(name) for name in os.listdir("/proc") if name.isdigit()}
        self._known = {pid: words for pid, words in self._known.items() if pid in pids}
        for pid in pids:
            words = command_of(pid)
            if words != self._known.get(pid):
                self._known[pid] = words
                with suppress(OSError):
                    self._check(pid, words)

    def _check(self, pid: int, words: list[str]) -> None:
        if not any(words) or not is_of(pid, self._home):
            return
        self.seen += 1
        whole = "\0".join(words)
        for what, secret in self._secrets.items():
            if secret in whole:
                self.told.setdefault(what, " ".join(words)[:120])
