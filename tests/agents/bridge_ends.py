"""The wrapper's ends of both FIFOs of a live child, and its bridge with a stand-in for the agent."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tmuxagents.runs.directory import LIVE_EVENTS, LIVE_FILES, LIVE_ORDERS

if TYPE_CHECKING:
    from collections.abc import Iterator

STAND_IN = Path(__file__).with_name("hooked_stand_in.py")


class Ends:
    """The wrapper's ends, and the bridge with its stand-in, which gets `settings` and its orders."""

    def __init__(self, folder: Path, bridge: str, *settings: str, **variables: str) -> None:
        self.folder = folder
        for name in (LIVE_EVENTS, LIVE_ORDERS):
            os.mkfifo(folder / name)
        self.told = os.open(folder / LIVE_EVENTS, os.O_RDWR)
        self.orders = os.open(folder / LIVE_ORDERS, os.O_RDWR)
        self.process: subprocess.Popen[str] | None = None
        self._bridge, self._settings, self._variables = bridge, settings, variables
        self._rest = b""

    def start(self, *words: str) -> None:
        """Start it."""
        folders = {"TMUXAGENTS_BRIDGE": str(self.folder), "TMPDIR": str(self.folder)}
        self.process = subprocess.Popen(
            [
                *[sys.executable, "-I", "-S", self._bridge, sys.executable, str(STAND_IN)],
                *[*self._settings, "--", *words],
            ],
            env={**os.environ, **folders, **self._variables},
            stdout=subprocess.PIPE,
            text=True,
        )

    def order(self, *orders: dict[str, Any]) -> None:
        """Give orders."""
        for order in orders:
            os.write(self.orders, json.dumps(order).encode() + b"\n")

    def line(self) -> dict[str, Any]:
        """Return the next line that the wrapper hears."""
        while b"\n" not in self._rest:
            assert select.select([self.told], [], [], 20)[0], "the bridge says nothing"
            self._rest += os.read(self.told, 4096)
        line, _, self._rest = self._rest.partition(b"\n")
        told = json.loads(line)
        assert isinstance(told, dict)
        return told

    def end(self) -> tuple[int, list[Any]]:
        """Wait for its end; return its exit code, and what the hooks were answered."""
        assert self.process is not None
        out, _ = self.process.communicate(timeout=30)
        assert not list(self.folder.glob("tmuxagents-*"))
        assert not (self.folder / LIVE_FILES).exists()
        return self.process.returncode, [json.loads(line) for line in out.splitlines()]

    def used(self) -> Iterator[Ends]:
        """Yield the ends; whatever is left of the process is ended."""
        yield self
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.told)
        os.close(self.orders)
