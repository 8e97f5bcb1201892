"""What a wrapper costs: memory while it waits, and at worst."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness import Home

if TYPE_CHECKING:
    from tests.harness import Run

FLOODS = {
    "a line of 200 MB": "flood line 200\ndone fine",
    "a line of 3.9 MB, not Latin": "flood wide 1\ndone fine",
    "a line of 3.9 MB, one letter not Latin": "flood mixed 1\ndone fine",
    "a line of 3.9 MB, all brackets": "flood dense 1\ndone fine",
    "a million snapshots": "flood updates 1000000\ndone fine",
    "100,000 tool calls": "begin\nflood events 100000\ndone fine",
    "calls with names of 1 MB": "begin\nflood names 30\ndone fine",
    "both pipes flooded": "flood both 20000\ndone fine",
}
FLOOR = "import json, sys; print(flush=True); sys.stdin.read()"


def status_kb(pid: int, key: str) -> int:
    """Return one figure of /proc/PID/status; 0 of a process that is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{key}:")), 0)


def uss_kb(pid: int) -> int:
    """Return what a process has for itself alone."""
    total = 0
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(("Private_Clean:", "Private_Dirty:")):
            total += int(line.split()[1])
    return total


def peak_kb(run: Run) -> int:
    """Start a run, wait for its end, return its wrapper's highest resident size."""
    peak = 0
    run.start()
    assert run.wrapper is not None
    pid = run.wrapper.pid
    while run.wrapper.poll() is None:
        peak = max(peak, status_kb(pid, "VmHWM"))
        time.sleep(0.005)
    run.close()
    return peak


def idle() -> tuple[int, int, int]:
    """Return RSS and USS of a wrapper with a quiet child, and USS of an interpreter with json."""
    with tempfile.TemporaryDirectory() as folder:
        run = Home(Path(folder)).run("begin\nanswer toolUse x\nsleep 300")
        try:
            run.start()
            run.wait_for("turn_end")
            time.sleep(0.3)
            assert run.wrapper is not None
            with subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", FLOOR], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            ) as floor:
                assert floor.stdout is not None
                floor.stdout.readline()
                figures = status_kb(run.wrapper.pid, "VmRSS"), uss_kb(run.wrapper.pid), uss_kb(floor.pid)
                floor.communicate()
            return figures
        finally:
            run.kill()


def figures() -> list[str]:
    """Return the lines to print."""
    rss, uss, floor = idle()
    ratio = f"{uss / floor:.2f} x python with json"
    lines = [f"wrapper, idle: RSS {rss / 1024:.1f} MB, USS {uss / 1024:.1f} MB = {ratio}"]
    for name, script in FLOODS.items():
        with tempfile.TemporaryDirectory() as folder:
            run = Home(Path(folder)).run(script)
            begun = time.monotonic()
            peak = peak_kb(run)
            seconds = time.monotonic() - begun
            status = run.status()
            lines.append(f"wrapper, {name}: peak {peak / 1024:.1f} MB, {seconds:.1f} s, {status}")
    return lines
