"""Rows 14 and 15: what a wrapper costs its child's lines, and the memory beside it."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from typing import TYPE_CHECKING

from scripts.benchmark.measure import keep
from scripts.benchmark.table import Figure
from tests.harness import Home
from tests.torture import memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from scripts.benchmark.stage import Stage

_SLOWDOWN = 3.0
_RSS_MB, _USS = 12.0, 1.5
# The floor: what any reader of these lines pays.
_BARE = "import json, sys\nfor line in sys.stdin.buffer: json.loads(line)"
_POUR = '#!/bin/sh\nexec cat "$POUR"\n'
_END = (
    {"type": "message_end", "message": {"role": "assistant", "content": [], "stopReason": "stop"}},
    {"type": "agent_settled", "aborted": False},
)
_UPDATES = 18  # of the lines of a turn, that stream what its last lines say once more


def throughput(stage: Stage) -> Iterator[Figure]:
    """Row 14: CPU time a line, beside a loop that reads lines and parses them."""
    kinds = {
        "300 B, each an event": (300, 80_000, False),
        "300 B, streamed": (300, 160_000, True),
        "5 KB, each an event": (5_000, 16_000, False),
        "1 MB, each an event": (1_000_000, 100, False),
    }
    for name, (size, count, streamed) in kinds.items():
        lines = count // 4 if stage.quick else count
        full = _pour(stage.folder / "full", size, lines, streamed=streamed)
        empty = _pour(stage.folder / "empty", size, 0, streamed=False)
        floor, ours = [], []
        for _ in range(3):
            floor.append(_bare(stage, full) - _bare(stage, empty))
            ours.append(_wrapped(stage, full) - _wrapped(stage, empty))
        keep({f"{name}, bare": floor, f"{name}, ours": ours})
        bare, wrapped = (statistics.median(times) * 1000 / lines for times in (floor, ours))
        words = f"wrapper, lines of {name}"
        per_s = f"{1e6 / wrapped:,.0f} lines/s"
        yield Figure(
            14, words, f"{bare:.1f} µs a line", f"{wrapped:.1f} µs, {per_s}", wrapped / bare, _SLOWDOWN
        )


def _pour(path: Path, size: int, count: int, *, streamed: bool) -> Path:
    """Write what a child says: calls and their results of so many bytes, or mostly streaming snapshots."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(_line(number, size, streamed=streamed) for number in range(count))
        file.writelines(_encoded(line) for line in _END)
    return path


def _line(number: int, size: int, *, streamed: bool) -> str:
    if streamed and number % 20 < _UPDATES:
        said = {"type": "text_delta", "delta": ""}
        return _padded({"type": "message_update", "assistantMessageEvent": said}, said, "delta", size)
    call, name = f"call_{number // 2}", "read"
    if number % 2 == 0:
        args = {"path": f"src/{number}/", "note": ""}
        body = {"type": "tool_execution_start", "toolCallId": call, "toolName": name, "args": args}
        return _padded(body, args, "note", size)
    text = {"type": "text", "text": ""}
    body = {"type": "tool_execution_end", "toolCallId": call, "toolName": name, "result": {"content": [text]}}
    return _padded(body | {"isError": False}, text, "text", size)


def _padded(body: Mapping[str, object], part: dict[str, str], key: str, size: int) -> str:
    words = "the quick brown fox jumps over the lazy dog and back again "
    room = max(0, size - len(_encoded(body)))
    part[key] = (words * (room // len(words) + 1))[:room]
    return _encoded(body)


def _encoded(body: Mapping[str, object]) -> str:
    return json.dumps(body, separators=(",", ":")) + "\n"


def _bare(stage: Stage, path: Path) -> float:
    """Return the CPU time of the floor in milliseconds."""
    shell = subprocess.Popen(
        ["sh", "-c", 'cat "$1" | "$2" -I -S -c "$3"', "sh", str(path), stage.python, _BARE],
        stdout=subprocess.DEVNULL,
    )
    return _spent(shell)


def _wrapped(stage: Stage, path: Path) -> float:
    """Return the CPU time of a wrapper, and of the `cat` in it, in milliseconds."""
    child = stage.folder / "pour"
    child.write_text(_POUR)
    child.chmod(0o755)
    home = Home(stage.folder / "wrapped")
    run = home.run("x")
    try:
        run.start({"TMUXAGENTS_PI": str(child), "POUR": str(path), "TMUXAGENTS_LOOPING_TOOL_COUNT": "0"})
        if run.wrapper is None:
            raise RuntimeError("nothing was started")
        cpu_ms = _spent(run.wrapper)
        if run.status() != "completed":
            raise RuntimeError(f"the run came to {run.result()}")
        return cpu_ms
    finally:
        run.close()
        home.end_all()


def _spent(process: subprocess.Popen[bytes]) -> float:
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return (usage.ru_utime + usage.ru_stime) * 1000


def footprint(_: Stage) -> Iterator[Figure]:
    """Row 15: memory of a wrapper whose child is quiet."""
    rss, uss, floor = memory.idle()
    yield Figure(15, "wrapper, RSS beside the child", "", f"{rss / 1024:.1f} MB", rss / 1024, _RSS_MB, "MB")
    words = f"import json {floor / 1024:.1f} MB"
    yield Figure(15, "wrapper, USS beside the child", words, f"{uss / 1024:.1f} MB", uss / floor, _USS)
