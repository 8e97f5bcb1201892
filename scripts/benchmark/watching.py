"""Rows 8 and 10 to 13: the watcher: from an end to the screen, at rest, and under a flood of events."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import termios
import time
from typing import TYPE_CHECKING

from scripts.benchmark.measure import busy, cpu_s, keep, percentile, until
from scripts.benchmark.stage import CountedTmux
from scripts.benchmark.table import Figure, number
from tests.harness import PATH, REPOSITORY, TmuxServer
from tests.torture.memory import status_kb
from tests.watcher.lookouts import place_of
from tmuxagents.registry import database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.benchmark.stage import Stage, Stand

_QUIET_MS, _LOADED_MS, _BYTES, _GROWTH, _PUSH = 50.0, 300.0, 300.0, 4.0, 2.0
_IDLE_PERCENT, _RSS_MB, _INSTANCES, _FLOODED = 0.1, 25.0, 1.0, 1.5
# What any watcher pays that uses the same library: one recursive watch, and nothing done.
_BARE = """
import sys, time
from watchdog.events import *
from watchdog.observers import Observer
class Nothing(FileSystemEventHandler): pass
observer = Observer()
kinds = [FileCreatedEvent, FileMovedEvent, FileModifiedEvent]
kinds += [DirCreatedEvent, DirMovedEvent, DirModifiedEvent]
observer.schedule(Nothing(), sys.argv[1], recursive=True, event_filter=kinds)
observer.start()
print(flush=True)
time.sleep(1000)
"""
# Appends to each log so often a second, as a wrapper does: PACKAGE'S FOLDER, RATE SECONDS LOG...
_POUR = r"""
import sys, time
folder, rate, seconds, *logs = sys.argv[1:]
sys.path.append(folder)
from tmuxagents.runs.logs import Appender
files = [Appender(log, knocks=True) for log in logs]
begun, turns = time.monotonic(), int(float(rate) * float(seconds))
for turn in range(turns):
    pause = begun + turn / float(rate) - time.monotonic()
    if pause > 0:
        time.sleep(pause)
    line = b'{"v":1,"seq":%d,"at":%.3f,"type":"stderr","text":"x%d"}\n' % (turn + 100, time.time(), turn)
    for file in files:
        file.append(line)
"""


class Screen:
    """A terminal of 200 columns, on which somebody looks at a tmux server."""

    def __init__(self, server: TmuxServer) -> None:
        self._master, line = pty.openpty()
        fcntl.ioctl(line, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        attach = ["setsid", "-c", "tmux", "-u", "-S", str(server.socket), "attach"]
        environment = {"PATH": PATH, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        self._client = subprocess.Popen(attach, stdin=line, stdout=line, stderr=line, env=environment)
        os.close(line)

    def read_until(self, words: bytes, limit_s: float = 30.0) -> int:
        """Read until these words are written there; return how many bytes came."""
        seen, deadline = b"", time.monotonic() + limit_s
        while words not in seen:
            if not self._ready(deadline - time.monotonic()):
                raise TimeoutError(f"{words!r} was never shown")
            seen += os.read(self._master, 65536)
        return len(seen)

    def drain(self, quiet_s: float) -> int:
        """Read until nothing comes for so long; return how many bytes came."""
        count = 0
        while self._ready(quiet_s):
            count += len(os.read(self._master, 65536))
        return count

    def _ready(self, limit_s: float) -> bool:
        return bool(select.select([self._master], [], [], max(0.0, limit_s))[0])

    def close(self) -> None:
        """Leave."""
        self._client.terminate()
        self._client.wait()
        os.close(self._master)


@contextlib.contextmanager
def _watched(stage: Stage, *, known: int, live: int) -> Iterator[Stand]:
    """Lend a home with its watcher."""
    with stage.home(known=known, live=live) as stand:
        stand.home.be_watched()
        stand.call("poll")
        stand.watch()
        yield stand


@contextlib.contextmanager
def _screened(stage: Stage) -> Iterator[tuple[TmuxServer, Screen]]:
    folder = stage.folder / "screen"
    folder.mkdir(exist_ok=True)
    with TmuxServer(folder) as server:
        for option, value in {
            "status-right": "#{E:@tmuxagents_status}",
            "status-right-length": "150",
        }.items():
            server.run("set", "-g", option, value)
        screen = Screen(server)
        try:
            screen.drain(0.5)
            yield server, screen
        finally:
            screen.close()


# --- rows 10 and 11 ---------------------------------------------------------------------------------------


def shown(stage: Stage) -> Iterator[Figure]:
    """Row 10 and 11: from the end of a run to another status line on a terminal."""
    turns = 5 if stage.quick else 40
    with _watched(stage, known=200, live=50) as stand, _screened(stage) as (server, screen):
        quiet, size = _ends(stand, server, screen, turns)
        with _poured(stage, stand, rate=100, seconds=1000):
            loaded, _ = _ends(stand, server, screen, turns)
        server.run("new-session", "-d", "-s", "children", "sleep 1000")
        more = [";", "new-window", "-d", "-t", "children:", "sleep 1000"]
        for _ in range(10):  # 50 in one call, as far from us as those of children are
            server.run("list-sessions", *more * 50)
        many, _ = _ends(stand, server, screen, turns)
    keep({"quiet": quiet, "under 5,000 events/s": loaded, "500 windows beside": many})
    for row, what, times, goal in (
        (10, "end of a run → status line, quiet, p99", quiet, _QUIET_MS),
        (10, "… under 5,000 events/s, p99", loaded, _LOADED_MS),
    ):
        worst = percentile(times, 0.99)
        median = f"p50 {number(statistics.median(times))} ms"
        yield Figure(row, what, "", median, worst, goal, "ms")
    yield Figure(10, "bytes written to a terminal of 200 columns", "", number(size), size, _BYTES, "bytes")
    few, full = statistics.median(quiet), statistics.median(many)
    words = "end of a run → status line, 500 windows beside"
    yield Figure(11, words, f"none {number(few)} ms", f"{number(full)} ms", full / few, _GROWTH)


def _ends(stand: Stand, server: TmuxServer, screen: Screen, times: int) -> tuple[list[float], float]:
    """Return how long it took each time, in milliseconds, and how many bytes were written."""
    found, sizes = [], []
    for turn in range(times):
        name = f"r{turn}q{time.monotonic_ns() % 10**6}"
        run_id = stand.add_live("x", name=name, tmux=place_of(server))
        screen.drain(0.6)  # it is shown at work, and the next change is shown at once
        stand.conclude(run_id)
        begun = time.perf_counter()
        stand.let_go(run_id)
        size = screen.read_until(name.encode())
        found.append((time.perf_counter() - begun) * 1000)
        stand.forget(run_id)
        sizes.append(size + screen.drain(0.1))
    return found, statistics.median(sizes)


# --- row 8 ------------------------------------------------------------------------------------------------


def changes(stage: Stage) -> Iterator[Figure]:
    """Row 8: how many tmux processes a change of the status text starts."""
    with stage.home(known=1) as stand:
        folder = stage.folder / "changes"
        folder.mkdir(exist_ok=True)
        calls = CountedTmux(folder)
        stand.home.environment["PATH"] = calls.path(stand.home.environment["PATH"])
        stand.home.be_watched()
        with TmuxServer(folder) as server:
            stand.watch()
            _one_end(stand, server)  # a server is told once what its status text is made of
            calls.forget()
            for _ in range(3):
                _one_end(stand, server)
            made, pushed = calls.made(), calls.made("set-environment")
    words = "tmux processes of a change of the status text"
    yield Figure(8, words, "", number(made / pushed), made / pushed, _PUSH, "processes")


def _one_end(stand: Stand, server: TmuxServer) -> None:
    """Have a run come and go, and wait until its server has shown both."""

    def shows(words: str) -> bool:
        return words in server.run("display-message", "-p", "#{E:@tmuxagents_status}")

    name = f"r{time.monotonic_ns() % 10**9}"
    run_id = stand.add_live("x", name=name, tmux=place_of(server))
    until(lambda: shows("1 running"))
    stand.conclude(run_id)
    stand.let_go(run_id)
    until(lambda: shows(name))
    stand.forget(run_id)


# --- rows 12 and 13 ---------------------------------------------------------------------------------------


def at_rest(stage: Stage) -> Iterator[Figure]:
    """Row 12: 100 live runs that say nothing."""
    with _watched(stage, known=500, live=100) as stand:
        pid = stand.watch()
        time.sleep(4)
        percent = busy([pid], 4 if stage.quick else 20)[0]
        rss = status_kb(pid, "VmRSS") / 1024
        links = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
    instances = sum(link == "anon_inode:inotify" for link in links)
    words = "watcher at rest, 100 live of 500 known"
    yield Figure(12, f"{words}: CPU", "", f"{percent:.3f} % of a core", percent, _IDLE_PERCENT, "%")
    yield Figure(12, f"{words}: inotify instances", "", str(instances), instances, _INSTANCES, "")
    yield Figure(12, f"{words}: RSS", "", f"{rss:.1f} MB", rss, _RSS_MB, "MB")


def flooded(stage: Stage) -> Iterator[Figure]:
    """Row 13: 10,000 events a second, and a bare observer beside it."""
    seconds = 4 if stage.quick else 12
    with _watched(stage, known=150, live=100) as stand:
        pid = stand.watch()
        bare = subprocess.Popen(
            [stage.python, "-c", _BARE, str(stand.home.state / "runs")], stdout=subprocess.PIPE
        )
        try:
            if bare.stdout is not None:
                bare.stdout.readline()
            with _poured(stage, stand, rate=100, seconds=seconds + 2) as pouring:
                time.sleep(1)
                before = [cpu_s(pid), cpu_s(bare.pid)]
                time.sleep(seconds)
                ours, floor = (
                    now - then for now, then in zip([cpu_s(pid), cpu_s(bare.pid)], before, strict=True)
                )
                pouring.wait(60)
        finally:
            bare.kill()
            bare.communicate()
        last = 100 + 100 * (seconds + 2) - 1
        until(lambda: _is_whole(stand, last), 20)
    bare_words, our_words = (f"{100 * cpu / seconds:.1f} % of a core" for cpu in (floor, ours))
    words = "watcher, 10,000 events/s, none lost"
    yield Figure(13, words, f"bare watchdog {bare_words}", our_words, ours / floor, _FLOODED)


def _is_whole(stand: Stand, last: int) -> bool:
    """Say whether the registry has heard of the last event of each run."""
    with database.open_file(database.path_of(str(stand.home.state))) as book:
        return all(row.event_seq == last for row in book.open_rows() if row.run_id in stand.live)


@contextlib.contextmanager
def _poured(stage: Stage, stand: Stand, *, rate: int, seconds: int) -> Iterator[subprocess.Popen[bytes]]:
    """Have each live run say so much so long, at most as long as this lasts."""
    logs = [f"{stand.home.state}/runs/{run_id}/events.jsonl" for run_id in stand.live]
    argv = [stage.python, "-I", "-S", "-c", _POUR, str(REPOSITORY), str(rate), str(seconds), *logs]
    with subprocess.Popen(argv) as pouring:
        try:
            yield pouring
        finally:
            pouring.kill()
