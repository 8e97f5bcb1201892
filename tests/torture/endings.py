"""The ending matrix: what a child does, what is done to it, and how the run must then be recorded.

One row an ending of docs/run-directory.md: the tables are `scripted` (children of ours, which really run),
`real` (the real pi) and `windows` (a real tmux).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

from tests.harness import alive, eventually
from tests.torture import check_documents
from tmuxagents.runs.conclude import conclude

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness import Run

LINGER = "sleep 300"
FILES = {
    *("meta.json", "prompt.txt", "events.jsonl", "stdout.log", "stderr.log", "transcript.log"),
    *("child-session.jsonl", "wrapper.json", "output.md", "result.json", "run.lock"),
}


class Ending:
    """One row."""

    def __init__(
        self,
        name: str,
        script: str,
        expected: tuple[str, str],
        message: str | None = None,
        *,
        ends: int | str | None = 0,
        fault: Callable[[Run], None] | None = None,
        left: tuple[str, ...] = (),
        lingered: bool = False,
        output: str | None = None,
        note: str | None = None,
        changes: dict[str, Any] | None = None,
        extra: dict[str, str] | None = None,
        concluded: bool = False,
    ) -> None:
        self.name = name
        self.script = script
        self.status, self.reason = expected
        self.message = message
        self.exit_code = ends if isinstance(ends, int) else None
        self.signal = ends if isinstance(ends, str) else None
        self.fault = fault
        self.left = left
        self.lingered = lingered
        self.output = output
        self.note = note
        self.changes = changes or {}
        self.extra = extra or {}
        self.concluded = concluded

    def __repr__(self) -> str:
        return self.name


# --- what is done to a run ---


def to_wrapper(*numbers: int) -> Callable[[Run], None]:
    def fault(run: Run) -> None:
        run.wait_for("assistant_text")
        for number in numbers:
            run.signal(number)

    return fault


def to_child(number: int, after: str = "run_started") -> Callable[[Run], None]:
    def fault(run: Run) -> None:
        run.wait_for(after)
        if after == "run_started":
            eventually(lambda: run.home.recorded().get(f"ready-{run.run_id}") or run.event("assistant_text"))
        os.kill(run.child, number)

    return fault


def kill_wrapper(after: str) -> Callable[[Run], None]:
    def fault(run: Run) -> None:
        run.wait_for(after)
        run.signal(signal.SIGKILL)

    return fault


def kill_wrapper_after_exit(run: Run) -> None:
    """Kill it while it waits for leftovers to leave: the child has ended, the result is not written."""
    run.wait_for("child_exited")
    run.signal(signal.SIGKILL)


def ctrl_c_twice(run: Run) -> None:
    run.wait_for("assistant_text")
    run.type(b"\x03")
    eventually(lambda: b"again within" in run.screen)
    press_until_it_ends(run)


def press_until_it_ends(run: Run) -> None:
    """Press Ctrl-C as a person does, who reads first and does not give up."""
    wrapper = run.wrapper
    assert wrapper is not None
    while wrapper.poll() is None:
        with contextlib.suppress(OSError):
            run.type(b"\x03")
        with contextlib.suppress(subprocess.TimeoutExpired):
            wrapper.wait(0.4)


def ctrl_c_once(run: Run) -> None:
    run.wait_for("assistant_text")
    run.type(b"\x03hello\x1a\x1c\x13")
    eventually(lambda: b"again within" in run.screen)


def after_settling(number: int) -> Callable[[Run], None]:
    def fault(run: Run) -> None:
        run.wait_for("settled")
        run.signal(number)

    return fault


def carry_out(ending: Ending, run: Run) -> list[str]:
    """Run one row; return what was wrong in the record, in what readers say, or left on the machine."""
    try:
        run.start(ending.extra)
        if ending.fault is not None:
            ending.fault(run)
        assert run.wrapper is not None
        run.wrapper.wait(60)
        run.close()
        wrong = []
        if ending.concluded:
            before = (run.status(), run.result())
            wrong = [] if before == (ending.status, None) else [f"before it was concluded: {before}"]
            conclude(str(run.folder))
        return wrong + _compare(ending, run, run.result())
    except (AssertionError, OSError) as error:
        return [f"{type(error).__name__}: {error}"]
    finally:
        run.home.end_all()


def _is(value: Any, expected: Any) -> bool:
    """Compare; an expected text that ends in an ellipsis is a beginning."""
    if isinstance(expected, str) and expected.endswith("…"):
        return isinstance(value, str) and value.startswith(expected[:-1]) and len(value) >= len(expected)
    return bool(value == expected)


def _compare(ending: Ending, run: Run, result: dict[str, Any] | None) -> list[str]:
    if result is None:
        return ["there is no result"]
    expected: dict[str, Any] = {
        "status": ending.status,
        "reason": ending.reason,
        "errorMessage": ending.message,
        "exitCode": ending.exit_code,
        "signal": ending.signal,
        "lingered": ending.lingered,
        "note": ending.note,
    }
    if ending.output is not None:
        expected["output"] = ending.output
    wrong = [
        f"{key}: {result[key]!r}, not {value!r}"
        for key, value in expected.items()
        if not _is(result[key], value)
    ]
    if run.status() != ending.status:
        wrong.append(f"readers say {run.status()}")
    wrong += check_documents.faults(run.folder)
    litter = {path.name for path in run.folder.iterdir() if "displaced" not in path.name} - FILES
    if litter:
        wrong.append(f"litter: {litter}")
    recorded = run.home.recorded()
    left = tuple(what for what, pid in recorded.items() if alive(pid))
    if left != ending.left:
        wrong.append(f"left over: {left}, not {ending.left}")
    named = {entry["pid"] for entry in result["leftBehind"]}
    tops = {recorded[what] for what in ending.left if what != "tmux-window"}
    if named != tops:
        wrong.append(f"named as left behind: {result['leftBehind']}, not {tops}")
    stray = set(run.left_over()) - set(recorded.values())
    if stray and not ending.left:
        wrong.append(f"stray processes: {stray}")
    return wrong
