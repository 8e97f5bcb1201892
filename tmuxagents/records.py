"""The vocabulary that all subjects share: words, the forms of ids and names, plain slotted classes. Pure.

Imports nothing at run time: every child has a wrapper, and what this module imports is paid per child.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NEVER = float("inf")  # a moment that does not come
_HEX, _LETTERS = "0123456789abcdef", "0123456789abcdefghijklmnopqrstuvwxyz"
_ID_LENGTH, _LONGEST_NAME = 16, 32


def is_run_id(text: str) -> bool:
    """Say whether a text has the form of a run's id."""
    return len(text) == _ID_LENGTH and could_begin_run_id(text)


def could_begin_run_id(text: str) -> bool:
    """Say whether a run's id could begin with a text."""
    return len(text) <= _ID_LENGTH and not text.strip(_HEX)


def is_name(text: str) -> bool:
    """Say whether a text has the form of a name: of a run, a layout, a tmux session or window."""
    return 0 < len(text) <= _LONGEST_NAME and text[0] in _LETTERS and not text.strip(f"{_LETTERS}_-")


BATCH, LIVE = "batch", "live"

QUEUED = "queued"
RUNNING = "running"
COMPLETED = "completed"
FAILED = "failed"
ABORTED = "aborted"
ENDED = (COMPLETED, FAILED, ABORTED)
STATUSES = (QUEUED, RUNNING, *ENDED)

LOST_MESSAGE = "Session was interrupted (main agent session ended unexpectedly)"


class Identity:
    """One process of one boot of one machine: never true of another process, however pids are reused."""

    __slots__ = ("boot_id", "host", "pid", "pid_namespace", "start_time")

    def __init__(self, *, host: str, boot_id: str, pid_namespace: int, pid: int, start_time: int) -> None:
        self.host = host
        self.boot_id = boot_id
        self.pid_namespace = pid_namespace
        self.pid = pid
        self.start_time = start_time


class Exit:
    """How the child's process ended: an exit code or the name of a signal, never both."""

    __slots__ = ("exit_code", "signal")

    def __init__(self, exit_code: int | None, signal: str | None = None) -> None:
        self.exit_code = exit_code
        self.signal = signal


class Verdict:
    """How a run ended, in the words of the endings table."""

    __slots__ = ("error_message", "exit_code", "note", "reason", "signal", "status")

    def __init__(
        self,
        status: str,
        reason: str,
        error_message: str | None = None,
        *,
        exit: Exit | None = None,  # noqa: A002  (the word of the contract)
        note: str | None = None,
    ) -> None:
        self.status = status
        self.reason = reason
        self.error_message = error_message
        self.exit_code = exit.exit_code if exit else None
        self.signal = exit.signal if exit else None
        self.note = note


class Facts:
    """What a run directory and the process table say, before anything is concluded from it.

    `result` is None where there is none or none that can be read. `presence` is one of the words below.
    """

    __slots__ = ("presence", "result", "started")

    def __init__(self, *, presence: str, started: bool, result: dict[str, Any] | None) -> None:
        self.presence = presence
        self.started = started
        self.result = result


# Where the wrapper of a run is.
NEVER_CAME = "never came"  # no wrapper.json: the window was not opened yet, or never will be
HERE = "here"  # it lives
GONE = "gone"  # it was on this machine and is dead
ELSEWHERE = "elsewhere"  # another host or pid namespace: not ours to say


class ProcessRow:
    """One living process, as far as rule S asks about it."""

    __slots__ = ("comm", "listens", "marker", "pid", "ppid", "role", "session", "start_time", "uid")

    def __init__(
        self,
        *,
        pid: int,
        ppid: int,
        session: int,
        start_time: int,
        uid: int,
        comm: str,
        marker: str | None = None,
        role: str | None = None,
        listens: bool = False,
    ) -> None:
        self.pid = pid
        self.ppid = ppid
        self.session = session
        self.start_time = start_time
        self.uid = uid
        self.comm = comm
        self.marker = marker
        self.role = role
        self.listens = listens


class Spared:
    """A process that outlives its run on purpose, and why."""

    __slots__ = ("comm", "pid", "why")

    def __init__(self, pid: int, comm: str, why: str) -> None:
        self.pid = pid
        self.comm = comm
        self.why = why


# Why a file of a prompt is not there.
MISSING = "missing"
UNREADABLE = "unreadable"
TOO_LARGE = "too large"
OUTSIDE = "outside"


class FileText:
    """A file for a prompt: its text, or the problem with it. `size` in bytes, as far as it is known."""

    __slots__ = ("problem", "size", "text")

    def __init__(self, text: str = "", *, size: int = 0, problem: str | None = None) -> None:
        self.text = text
        self.size = size
        self.problem = problem
