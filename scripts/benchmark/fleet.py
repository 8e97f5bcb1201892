"""Rows 16 and 17: a hundred children: what our processes use while they talk, and what following costs."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from typing import TYPE_CHECKING

from scripts.benchmark.launching import grounded
from scripts.benchmark.measure import busy, keep, spent, until
from scripts.benchmark.table import Figure
from tests.harness import SCRIPTED
from tmuxagents.runs import directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scripts.benchmark.launching import Ground
    from scripts.benchmark.stage import Stage, Stand

_CHILDREN, _RATE = 100, 10
_TALKING_PERCENT, _BYTES, _FOLLOWING_PERCENT = 25.0, 5.0 * 1024, 1.0
# A child that says what comes through a pipe: what is measured is ours.
_CHILD = f"""#!/bin/sh
case "$*" in *--version*|*rpc*) exec {SCRIPTED} "$@" ;; esac
cat >/dev/null
mkfifo "$PIPES/$TMUXAGENTS_RUN"
exec cat "$PIPES/$TMUXAGENTS_RUN"
"""
# Says a line through each pipe so often a second, one child after the other: each line wakes somebody.
_TALK = r"""
import os, sys, time
rate, *pipes = sys.argv[1:]
files = [os.open(pipe, os.O_WRONLY) for pipe in pipes]
print(flush=True)
args = '{"type":"tool_execution_%s","toolCallId":"call_%d","toolName":"read",%s}\n'
begun, step = time.monotonic(), 1 / float(rate) / len(files)
for turn in range(1 << 30):
    number, end = divmod(turn // len(files), 2)
    more = '"result":{"content":[{"type":"text","text":"fine"}]},"isError":false' if end else \
        '"args":{"path":"src/part%d.py"}' % number
    pause = begun + turn * step - time.monotonic()
    if pause > 0:
        time.sleep(pause)
    os.write(files[turn % len(files)], (args % ("end" if end else "start", number, more)).encode())
"""


# --- row 16 -----------------------------------------------------------------------------------------------


def talking(stage: Stage) -> Iterator[Figure]:
    """Row 16: 100 children that say something ten times a second."""
    with grounded(stage) as ground, _fleet(ground) as pipes, _talk(stage, pipes):
        time.sleep(2)
        parts = _of_ours(ground, pipes)
        used = busy([pid for pids in parts.values() for pid in pids], 4 if stage.quick else 15)
    percents = {}
    for name, pids in parts.items():
        percents[name], used = sum(used[: len(pids)]), used[len(pids) :]
    keep({name: [percent] for name, percent in percents.items()})
    whole = sum(percents.values())
    words = ", ".join(f"{name} {percent:.1f}" for name, percent in percents.items())
    what = f"{_CHILDREN} children, {_RATE} events/s each, all our processes: CPU"
    yield Figure(16, what, "", f"{whole:.1f} % of a core ({words})", whole, _TALKING_PERCENT, "%")


@contextlib.contextmanager
def _fleet(ground: Ground) -> Iterator[list[Path]]:
    """Have so many children; lend the pipes through which they talk."""
    folder = ground.home.folder / "pipes"
    folder.mkdir()
    ground.child(_CHILD)
    file = ground.home.folder / "fleet.json"
    file.write_text(json.dumps([{"task": f"Look at part {index}."} for index in range(_CHILDREN)]))
    more = {"TMUXAGENTS_MAX_CONCURRENCY": str(_CHILDREN), "TMUXAGENTS_TIMEOUT": "1000", "PIPES": str(folder)}
    call = subprocess.Popen(
        [ground.stage.entry, "run", "--tasks", str(file)],
        env={**ground.home.environment, **more},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: len(os.listdir(folder)) == _CHILDREN)
        yield sorted(folder.iterdir())
    finally:
        call.terminate()
        call.wait(60)


@contextlib.contextmanager
def _talk(stage: Stage, pipes: list[Path]) -> Iterator[None]:
    argv = [stage.python, "-I", "-S", "-c", _TALK, str(_RATE), *map(str, pipes)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as talker:
        try:
            if talker.stdout is None or not talker.stdout.readline():
                raise RuntimeError("the children do not listen")
            yield
        finally:
            talker.kill()


def _of_ours(ground: Ground, pipes: list[Path]) -> dict[str, list[int]]:
    """Return the processes that are there because of us: what -> pids."""
    found = ground.home.watcher()
    if found is None:
        raise RuntimeError("there is no watcher")
    wrappers = []
    for pipe in pipes:
        identity = directory.identity_of(directory.read_wrapper(str(ground.desk.folder(pipe.name))))
        if identity is None:
            raise RuntimeError("a run has no wrapper")
        wrappers.append(identity.pid)
    return {
        "wrappers": wrappers,
        "watcher": [found[0]],
        "tmux": [int(ground.desk.tmux("display", "-p", "#{pid}"))],
    }


# --- row 17 -----------------------------------------------------------------------------------------------


def following(stage: Stage) -> Iterator[Figure]:
    """Row 17: a parent that asks for changes until all of its runs have ended."""
    pause_s, looks = (3.0, 4) if stage.quick else (5.0, 8)
    with stage.home(known=_CHILDREN, live=_CHILDREN) as stand:
        stand.home.be_watched()
        stand.watch()
        stand.settle()
        parent = _Parent(stage, stand)
        begun = time.monotonic()
        parent.look()
        for look in range(looks):
            for run_id in stand.live[: -(-len(stand.live) // (looks - look))]:
                stand.conclude(run_id)
                stand.let_go(run_id)
                stand.forget(run_id)
            time.sleep(pause_s)
            parent.look()
        percent = parent.cpu_ms / 10 / (time.monotonic() - begun)
    if parent.ends != _CHILDREN:
        raise RuntimeError(f"the parent was told of {parent.ends} ends")
    what = f"a parent that follows {_CHILDREN} runs to their end, a look every {pause_s:g} s"
    yield Figure(17, f"{what}: read", "", f"{parent.read:,} bytes", parent.read, _BYTES, "bytes")
    yield Figure(17, f"{what}: CPU", "", f"{percent:.2f} % of a core", percent, _FOLLOWING_PERCENT, "%")


class _Parent:
    """One that asks `poll --since` again and again."""

    def __init__(self, stage: Stage, stand: Stand) -> None:
        self._entry = stage.entry
        self._environment = stand.home.environment
        self._answer = stage.folder / "answer"
        self._cursor = "0"
        self.read = self.ends = 0
        self.cpu_ms = 0.0

    def look(self) -> None:
        """Ask once."""
        argv = [self._entry, "poll", "--since", self._cursor]
        code, cpu_ms = spent(argv, self._environment, output=str(self._answer))
        if code != 0:
            raise RuntimeError(f"{argv} left with {code}")
        said = self._answer.read_text()
        self._cursor = said.splitlines()[-1].removeprefix("cursor ")
        self.cpu_ms += cpu_ms
        self.read += len(said.encode())
        self.ends += said.count(" completed ")
