"""Hostile input for as long as one likes: guided by coverage where atheris is installed, else by chance.

Each target runs in a process of its own, with bounded memory and time for one input. What breaks it stands
in the table.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.harness import REPOSITORY
from tests.torture.targets import SEEDS, TARGETS

MEMORY_MB = 1024
HANG_S = 10
_PIECES = (
    *(
        b"\0",
        b"\xff\xfe",
        b"\n",
        b"\r\n",
        b"---\n",
        b'"',
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b"'",
        b"&a",
    ),
    *(
        b"*a",
        b"!!x",
        b"<<",
        b"1e999",
        b"-1",
        b"9" * 400,
        b"null",
        b"true",
        b"NaN",
        b"\\ud800",
        b"\xe2\x80\xa8",
    ),
    *(b"\x1b]52;c;x\x07", b"\x9b31m", b"#(x)", b"../", b"@last", b"[" * 5000, b'{"a":' * 3000, b"x" * 70_000),
)


def main(minutes: float) -> int:
    """Fuzz all targets, each for its part of the time; return the exit status."""
    guided = find_spec("atheris") is not None
    how = "guided by coverage (atheris)" if guided else "by chance (atheris is not installed)"
    print(f"hostile input, {how}, {minutes:g} minutes")
    seconds = max(1.0, minutes * 60 / len(TARGETS))
    failed = 0
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for name in TARGETS:
            begun = time.monotonic()
            words = _in_process(name, seconds, Path(folder), guided=guided)
            failed += bool(words)
            print(f"{name:<16} {'WRONG' if words else 'right'}  {time.monotonic() - begun:5.1f} s  {words}")
    return 1 if failed else 0


def _in_process(name: str, seconds: float, folder: Path, *, guided: bool) -> str:
    """Fuzz one target; return what broke it, or nothing."""
    argv = [sys.executable, "-m", "tests.torture.fuzz", name, str(seconds), str(folder)]
    if guided:
        argv.append("--guided")
    try:
        done = subprocess.run(
            argv, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=seconds + 60
        )
    except subprocess.TimeoutExpired:
        return "it hangs"
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    told = [line for line in lines if "Error" in line or line.startswith("input:")]
    return " ".join((told or lines)[-3:])[-600:] or f"it ended with {done.returncode}"


def _alone() -> None:
    """Fuzz one target in this process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("seconds", type=float)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--guided", action="store_true")
    options = parser.parse_args()
    faulthandler.enable()
    if options.guided:
        _guided(options.name, options.seconds, options.folder)
    else:
        _by_chance(options.name, options.seconds)


def _guided(name: str, seconds: float, folder: Path) -> None:
    atheris: Any = import_module("atheris")  # not everybody has it

    corpus = folder / name
    corpus.mkdir()
    for number, seed in enumerate(SEEDS[name]):
        (corpus / str(number)).write_bytes(seed)
    atheris.instrument_all()
    limits = [f"-max_total_time={round(seconds)}", f"-timeout={HANG_S}", f"-rss_limit_mb={MEMORY_MB}"]
    files = [f"-artifact_prefix={folder}/{name}-", "-max_len=100000", str(corpus)]
    atheris.Setup([name, *limits, *files], TARGETS[name])
    atheris.Fuzz()


def _by_chance(name: str, seconds: float) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MB * 2**20, MEMORY_MB * 2**20))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    dice = random.Random()
    until = time.monotonic() + seconds
    data = b""
    try:
        while time.monotonic() < until:
            data = changed(dice.choice(SEEDS[name]), dice)
            signal.alarm(HANG_S)
            TARGETS[name](data)
    except BaseException:
        print(f"input: {data[:300]!r}", file=sys.stderr)
        raise
    signal.alarm(0)


def changed(seed: bytes, dice: random.Random) -> bytes:
    """Change an input by chance: cut, doubled, mixed up, with pieces put in that hurt."""
    data = bytearray(seed)
    for _ in range(dice.randint(1, 6)):
        at = dice.randint(0, len(data))
        to = min(len(data), at + dice.randint(0, 12))
        match dice.randint(0, 4):
            case 0:
                data[at:at] = dice.choice(_PIECES)
            case 1:
                del data[at:to]
            case 2:
                data[at:to] = dice.choice(_PIECES)
            case 3:
                data[at:at] = data[at:to] * dice.randint(1, 50)
            case _:
                data[at:to] = dice.randbytes(to - at)
    return bytes(data)


if __name__ == "__main__":
    _alone()
