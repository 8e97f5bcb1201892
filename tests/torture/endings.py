"""The ending matrix: what a child does, what is done to it, and how the run must then be recorded.

One row an ending of docs/run-directory.md. Scripted children really run; `real` rows are run by the real pi
against the project's own model server, where the first column names the server's script.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

from tests.harness import alive, eventually
from tests.torture import check_documents
from tmuxagents.commands.conclude import conclude
from tmuxagents.records import LOST_MESSAGE

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
    run.type(b"\x03")


def ctrl_c_once(run: Run) -> None:
    run.wait_for("assistant_text")
    run.type(b"\x03hello\x1a\x1c\x13")
    eventually(lambda: b"again within" in run.screen)


def after_settling(number: int) -> Callable[[Run], None]:
    def fault(run: Run) -> None:
        run.wait_for("settled")
        run.signal(number)

    return fault


WORK = "begin\nanswer toolUse working\n"
IGNORES = "ignore SIGTERM SIGHUP SIGINT\n"
TIMEOUT = {"timeout": 1}
COMPLETED, FAILED, ABORTED = "completed", "failed", "aborted"
T_MESSAGE = "Timed out after 1s. Consider resuming with a longer timeout."
L_MESSAGE = "Loop detected: sub-agent is repeating the same tool calls"
U_MESSAGE = "The child ended without finishing its answer."
LOOP = 'tool read {"path":"a","range":[1,2]}\n' * 5

ENDINGS = [
    # normal ends
    Ending("done", "done fine", (COMPLETED, "done"), output="fine"),
    Ending("empty answer", "begin\nanswer stop\nsettle", (COMPLETED, "done")),
    Ending(
        "after retries",
        "begin\nanswer error 500: down\nretry 500: down\nbegin\nanswer stop fine\nsettle",
        (COMPLETED, "done"),
        output="fine",
    ),
    Ending("old pi", "begin\nanswer stop fine\nold_end", (COMPLETED, "done"), output="fine"),
    Ending(
        "begins again after settling",
        "done first\nsleep 0.3\nbegin\nanswer stop second\nsettle",
        (COMPLETED, "done"),
        output="second",
    ),
    Ending(
        "no newline at the end", 'begin\nanswer stop fine\nraw {"type":"agent_settled"}', (COMPLETED, "done")
    ),
    Ending(
        "lingers", f"done fine\n{LINGER}", (COMPLETED, "done"), ends="SIGTERM", lingered=True, output="fine"
    ),
    Ending(
        "lingers and ignores TERM",
        f"{IGNORES}done fine\n{LINGER}",
        (COMPLETED, "done"),
        ends="SIGKILL",
        lingered=True,
    ),
    Ending("a grandchild holds stdout", "found holder\ndone fine", (COMPLETED, "done")),
    Ending(
        "settled, then exit 3",
        "done fine\nexit 3",
        (FAILED, "exit"),
        "The child finished its answer, then exited with code 3.",
        ends=3,
        output="fine",
    ),
    Ending(
        "settled, then killed",
        "done fine\ndie SIGKILL",
        (FAILED, "signal"),
        "The child was killed by SIGKILL.",
        ends="SIGKILL",
    ),
    # the model failed
    Ending("error", "begin\nanswer error 401: no\nsettle", (FAILED, "error"), "401: no"),
    Ending(
        "error, then lingers",
        f"begin\nanswer error 401: no\nsettle\n{LINGER}",
        (FAILED, "error"),
        "401: no",
        ends="SIGTERM",
        lingered=True,
    ),
    Ending(
        "aborts itself",
        "begin\nanswer aborted\nsettle aborted",
        (FAILED, "error"),
        "The child aborted its answer.",
    ),
    Ending(
        "aborts itself, says why",
        "begin\nanswer error This operation was aborted\nsettle aborted",
        (FAILED, "error"),
        "This operation was aborted",
    ),
    Ending(
        "length",
        "begin\nanswer length half\nsettle",
        (FAILED, "length"),
        "The answer was cut at the model's output limit.",
        output="half",
    ),
    # it never finished
    Ending("nothing at all", "exit 0", (FAILED, "unfinished"), U_MESSAGE),
    Ending("never settled", "begin\nanswer stop fine", (FAILED, "unfinished"), U_MESSAGE),
    Ending("last answer at toolUse", "begin\nanswer toolUse half\nsettle", (FAILED, "unfinished"), U_MESSAGE),
    Ending(
        "exit 1 with words",
        "stderr one\nstderr No key found\nexit 1",
        (FAILED, "exit"),
        "No key found",
        ends=1,
    ),
    Ending("exit 1 without", "begin\nexit 1", (FAILED, "exit"), "The child exited with code 1.", ends=1),
    Ending("exit 143", f"{WORK}exit 143", (FAILED, "exit"), "The child exited with code 143.", ends=143),
    Ending(
        "KILL from outside",
        WORK + LINGER,
        (FAILED, "signal"),
        "The child was killed by SIGKILL.",
        ends="SIGKILL",
        fault=to_child(signal.SIGKILL, "assistant_text"),
    ),
    Ending(
        "SEGV from outside",
        WORK + LINGER,
        (FAILED, "signal"),
        "The child was killed by SIGSEGV.",
        ends="SIGSEGV",
        fault=to_child(signal.SIGSEGV, "assistant_text"),
    ),
    Ending(
        "crash", WORK + "die SIGABRT", (FAILED, "signal"), "The child was killed by SIGABRT.", ends="SIGABRT"
    ),
    # we end it
    Ending(
        "timeout",
        WORK + LINGER,
        (FAILED, "timeout"),
        T_MESSAGE,
        ends="SIGTERM",
        changes=TIMEOUT,
        extra={"TMUXAGENTS_EXTEND_TIMEOUT_DEBOUNCE": "0"},
    ),
    Ending(
        "timeout, ignores TERM",
        IGNORES + "found stubborn\n" + WORK + LINGER,
        (FAILED, "timeout"),
        T_MESSAGE,
        ends="SIGKILL",
        changes=TIMEOUT,
        extra={"TMUXAGENTS_EXTEND_TIMEOUT_DEBOUNCE": "0"},
    ),
    Ending("loop", f"begin\n{LOOP}{LINGER}", (FAILED, "loop"), L_MESSAGE, ends="SIGTERM"),
    Ending(
        "loop beats timeout",
        f"{IGNORES}begin\nsleep 0.7\n{LOOP}{LINGER}",
        (FAILED, "loop"),
        L_MESSAGE,
        ends="SIGKILL",
        changes=TIMEOUT,
    ),
    Ending(
        "stop",
        WORK + LINGER,
        (ABORTED, "stopped"),
        "Stopped.",
        ends="SIGTERM",
        fault=to_wrapper(signal.SIGTERM, signal.SIGCONT),
    ),
    Ending(
        "stop, exits 0",
        WORK + "on_term exit 0",
        (ABORTED, "stopped"),
        "Stopped.",
        ends=0,
        fault=to_wrapper(signal.SIGTERM),
    ),
    Ending(
        "stop, settles on TERM",
        WORK + "on_term settle",
        (ABORTED, "stopped"),
        "Stopped.",
        ends=0,
        fault=to_wrapper(signal.SIGTERM),
    ),
    Ending(
        "stop, a second later once more",
        IGNORES + WORK + LINGER,
        (ABORTED, "stopped"),
        "Stopped.",
        ends="SIGKILL",
        fault=to_wrapper(signal.SIGTERM, signal.SIGHUP, signal.SIGINT),
    ),
    Ending(
        "stop after settling",
        f"done fine\n{LINGER}",
        (COMPLETED, "done"),
        ends="SIGTERM",
        lingered=True,
        fault=after_settling(signal.SIGTERM),
    ),
    Ending(
        "hang-up after settling",
        f"done fine\n{LINGER}",
        (COMPLETED, "done"),
        ends="SIGTERM",
        lingered=True,
        fault=after_settling(signal.SIGHUP),
    ),
    Ending(
        "Ctrl-C twice", WORK + LINGER, (ABORTED, "stopped"), "Stopped.", ends="SIGTERM", fault=ctrl_c_twice
    ),
    Ending(
        "Ctrl-C once and other keys", WORK + "sleep 0.5\ndone fine", (COMPLETED, "done"), fault=ctrl_c_once
    ),
    Ending(
        "the parent cancels",
        WORK + LINGER,
        (ABORTED, "parent"),
        "The parent cancelled the call.",
        ends="SIGTERM",
        fault=to_wrapper(signal.SIGINT),
    ),
    Ending(
        "hang-up",
        WORK + LINGER,
        (ABORTED, "closed"),
        "The window was closed.",
        ends="SIGTERM",
        fault=to_wrapper(signal.SIGHUP),
    ),
    # it never began
    Ending(
        "no such program",
        "done",
        (FAILED, "spawn"),
        "Failed to spawn sub-agent process",
        ends=1,
        extra={"TMUXAGENTS_PI": "/nowhere/pi"},
    ),
    Ending(
        "not executable",
        "done",
        (FAILED, "spawn"),
        "Failed to spawn sub-agent process",
        ends=1,
        extra={"TMUXAGENTS_PI": "/etc/hostname"},
    ),
    Ending(
        "a folder",
        "done",
        (FAILED, "spawn"),
        "Failed to spawn sub-agent process",
        ends=1,
        extra={"TMUXAGENTS_PI": "/etc"},
    ),
    Ending(
        "cwd is gone",
        "done",
        (FAILED, "spawn"),
        "The working directory changed.",
        ends=None,
        changes={"cwd": "/nowhere/at/all"},
    ),
    # the wrapper is lost
    Ending(
        "wrapper killed",
        WORK + LINGER,
        (ABORTED, "lost"),
        LOST_MESSAGE,
        ends=None,
        fault=kill_wrapper("assistant_text"),
        concluded=True,
    ),
    Ending(
        "wrapper killed at the start",
        LINGER,
        (ABORTED, "lost"),
        LOST_MESSAGE,
        ends=None,
        fault=kill_wrapper("run_started"),
        concluded=True,
    ),
    Ending(
        "wrapper killed after settling",
        f"done fine\n{LINGER}",
        (COMPLETED, "done"),
        ends=None,
        output="fine",
        note="wrapper lost",
        fault=kill_wrapper("settled"),
        concluded=True,
    ),
    Ending(
        "wrapper killed before the result",
        "found stubborn\ndone fine",
        (COMPLETED, "done"),
        ends=0,
        output="fine",
        note="wrapper lost",
        fault=kill_wrapper_after_exit,
        concluded=True,
    ),
    # what it leaves, and what it does to its own run
    Ending(
        "founds processes",
        "found tool\nfound nohup\nfound stranger\nfound double-fork\nfound stubborn\ndone fine",
        (COMPLETED, "done"),
    ),
    Ending(
        "founds services",
        "service tmux\nservice ssh-agent\nfound other-run\nfound watcher\nfound tool\ndone fine",
        (COMPLETED, "done"),
        left=("tmux", "tmux-window", "ssh-agent", "other-run", "watcher"),
    ),
    Ending(
        "founds services, stopped",
        f"service tmux\nservice ssh-agent\nfound stranger\n{WORK}{LINGER}",
        (ABORTED, "stopped"),
        "Stopped.",
        ends="SIGTERM",
        left=("tmux", "tmux-window", "ssh-agent"),
        fault=to_wrapper(signal.SIGTERM),
    ),
    Ending(
        "founds services, wrapper killed",
        f"service tmux\nfound tool\n{WORK}{LINGER}",
        (ABORTED, "lost"),
        LOST_MESSAGE,
        ends=None,
        left=("tmux", "tmux-window"),
        fault=kill_wrapper("assistant_text"),
        concluded=True,
    ),
    Ending("forges its result", "forge\nbegin\nanswer error 401: no\nsettle", (FAILED, "error"), "401: no"),
    Ending(
        "forges its result and lingers",
        f"begin\nanswer error 401: no\nsettle\nforge\n{LINGER}",
        (FAILED, "error"),
        "401: no",
        ends="SIGTERM",
        lingered=True,
    ),
    Ending(
        "removes the lock",
        "remove run.lock\nbegin\nanswer length half\nsettle",
        (FAILED, "length"),
        "The answer was cut at the model's output limit.",
    ),
    Ending(
        "forges and removes the lock",
        "remove run.lock\nforge\nexit 4",
        (FAILED, "exit"),
        "The child exited with code 4.",
        ends=4,
    ),
    Ending(
        "removes wrapper.json",
        f"remove wrapper.json\nforge\n{WORK}sleep 0.3\nexit 4",
        (FAILED, "exit"),
        "The child exited with code 4.",
        ends=4,
    ),
    Ending("removes its run", "remove everything\ndone fine", (COMPLETED, "done"), output="fine"),
    # floods
    Ending("a million snapshots", "flood updates 1000000\ndone fine", (COMPLETED, "done"), output="fine"),
    Ending("a flood on stderr", "flood stderr 20000\ndone fine", (COMPLETED, "done"), output="fine"),
    Ending("both pipes flooded", "flood both 10000\ndone fine", (COMPLETED, "done"), output="fine"),
    Ending("a line of 200 MB", "flood line 200\ndone fine", (COMPLETED, "done"), output="fine"),
    Ending(
        "bytes that are no text", "raw \\xff\\xfe\\x00{{{\\n\ndone fine", (COMPLETED, "done"), output="fine"
    ),
]
HEAVY = ("a million snapshots", "a flood on stderr", "both pipes flooded", "a line of 200 MB")


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
    litter = {path.name for path in run.folder.iterdir()} - FILES
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
