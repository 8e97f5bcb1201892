"""Where a process hangs, in words: its own traceback, what the kernel says of it, and who holds its pipes."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests import warm

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SAYS_WITHIN_S, _MORE_WITHIN_S = 3.0, 0.3
_MOST = 20_000


def told(pid: int, pipes: Mapping[int, str], stderr: int, *, has_ended: bool) -> str:
    """Return what is known of a process, and of those that hold the other ends of our pipes.

    `has_ended`: its exit code has come, so only others can hold them.
    """
    lines = [f"process {pid} has ended" if has_ended else f"process {pid} is at work:"]
    if not has_ended:
        for one in (pid, *_below(pid)):
            lines += [f"  {line}" for line in _of_kernel(one)]
        lines += [f"  {line}" for line in _traceback(pid, stderr)]
    for handle, name in pipes.items():
        holders = [f"{who} ({_command(who)})" for who in _holders(handle)]
        lines.append(f"{name} is held by {', '.join(holders) or 'nobody'}")
    return "\n".join(lines)


def _of_kernel(pid: int) -> Iterator[str]:
    """Yield what /proc says of a process: its state, what it waits in, its descriptors."""
    states = [line for line in _read(pid, "status").splitlines() if line.startswith(("State", "Threads"))]
    waits = ", ".join([*states, f"waits in {_read(pid, 'wchan')}", f"call {_read(pid, 'syscall')}"])
    yield f"{pid} ({_command(pid)}): {waits}".replace("\t", " ")
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(f"/proc/{pid}/fd"), key=int):
            yield f"  {name} -> {os.readlink(f'/proc/{pid}/fd/{name}')}"


def _traceback(pid: int, stderr: int) -> list[str]:
    """Let a process of ours write its traceback to its stderr; return the lines that come."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, warm.SAYS_WHERE)
    said, until = b"", time.monotonic() + _SAYS_WITHIN_S
    while len(said) < _MOST and warm.is_readable(stderr, until - time.monotonic()):
        piece = os.read(stderr, 4096)
        if not piece:
            break
        said += piece
        until = min(until, time.monotonic() + _MORE_WITHIN_S)
    return said.decode("utf-8", "replace").splitlines()


def _below(pid: int) -> list[int]:
    """Return the children of a process, and theirs."""
    children = [int(word) for word in _read(pid, f"task/{pid}/children").split()]
    return [one for child in children for one in (child, *_below(child))]


def _holders(handle: int) -> list[int]:
    """Return the other processes that hold a pipe."""
    pipe = f"pipe:[{os.fstat(handle).st_ino}]"
    found = []
    for pid in sorted(map(int, filter(str.isdigit, os.listdir("/proc")))):
        with contextlib.suppress(OSError):
            held = {os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}
            if pid != os.getpid() and pipe in held:
                found.append(pid)
    return found


def _command(pid: int) -> str:
    return " ".join(_read(pid, "cmdline").split("\0"))[:200].strip()


def _read(pid: int, name: str) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_text("utf-8", "replace").strip()
    return "?"
