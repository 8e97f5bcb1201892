"""A terminal with a program on it, as a person has one; for tests of edges and of flows."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import pyte

from tests.harness import eventually

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Screen(pyte.Screen):
    """What a person sees of what was written."""

    def report_device_status(self, mode: int, **how: Any) -> None:
        """Answer nothing to private questions (tmux asks since 3.6), of which pyte knows none."""
        if not how.get("private"):
            super().report_device_status(mode)


class Terminal:
    """A terminal, a program on it, and all that was ever written there."""

    def __init__(self, argv: list[str], environment: Mapping[str, str], folder: Path) -> None:
        self.output = bytearray()
        self._master, line = pty.openpty()
        self.name = os.ttyname(line)
        self.process = subprocess.Popen(
            ["setsid", "-c", *argv], stdin=line, stdout=line, stderr=line, env=environment, cwd=folder
        )
        os.close(line)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while piece := os.read(self._master, 65536):
                self.output += piece

    @property
    def text(self) -> str:
        return self.output.decode("utf-8", "replace").replace("\r\n", "\n")

    def shows(self, words: str) -> None:
        """Wait until something was written there."""
        eventually(lambda: words in self.text)

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def interrupt(self) -> None:
        """Type Ctrl-C, and once more if the program stays: Python's input() can miss one."""
        for _ in range(2):
            self.type("\x03")
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
                return

    def left(self, timeout: float = 60.0) -> int:
        """Wait until the program has left, and its last words have come; return its exit code."""
        code = self.process.wait(timeout)
        self._reader.join(2)  # not for ever: somebody else may hold the terminal
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(5)
        os.close(self._master)
