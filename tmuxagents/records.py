"""The vocabulary that all subjects share: fixed words, forms of ids and names, plain slotted classes. Pure.

This module imports nothing at run time, since each child's wrapper would pay for that.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Self, dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[type], type]:
        """Mark a class for type checkers only."""
        return lambda marked: marked


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
    """Say whether a text has the form of a name: of a layout, of a tmux session or window in one."""
    return 0 < len(text) <= _LONGEST_NAME and text[0] in _LETTERS and not text.strip(f"{_LETTERS}_-")


BATCH, LIVE = "batch", "live"

QUEUED = "queued"
RUNNING = "running"
COMPLETED = "completed"
FAILED = "failed"
ABORTED = "aborted"
ENDED = (COMPLETED, FAILED, ABORTED)
SIGNS = {COMPLETED: "✓", FAILED: "✗", ABORTED: "■"}  # the endings, wherever they are marked
STATUSES = (QUEUED, RUNNING, *ENDED)

CANCELLED_MESSAGE = "The parent cancelled the call."
LOST_MESSAGE = "Session was interrupted (main agent session ended unexpectedly)"


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Record:
    """A record of many named fields: a frozen dataclass for type checkers, without its cost at start."""

    __slots__ = ()

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self, name, value)

    def fields(self) -> dict[str, Any]:
        """Return the fields by their names."""
        names = [name for kind in type(self).__mro__[:-1] for name in kind.__slots__]  # type: ignore[attr-defined]  # mypy knows no slots of a type
        return {name: getattr(self, name) for name in names}

    def changed(self, **changes: Any) -> Self:
        """Return a copy with other values in some fields."""
        return type(self)(**{**self.fields(), **changes})


class SetUp(Record):
    """The part of a plan that a preset or profile decides. System prompts are files beside the plan."""

    preset: str | None
    preset_kind: str | None
    preset_source: str | None
    preset_path: str | None
    preset_hash: str | None
    preset_hides: str | None
    preset_from: str | None  # the brand whose own agent file it is
    tools: Sequence[str]
    system_prompt: str | None
    system_prompt_path: str | None
    append_system_prompt_path: str | None
    nesting: int | None  # how many levels of children; None where the plan does not say
    profile: Mapping[str, Any] | None  # what a profile adds to the command line
    account: str | None  # the preset's name of the login for the child; None: the agent's own login

    __slots__ = tuple(__annotations__)


class Plan(SetUp):
    """Everything decided about a run before it exists: the fields of meta.json (see runs/documents).

    None means that the plan lacks the value, or that its type is wrong in a damaged file.
    """

    run_id: str
    session_id: str
    call_id: str | None
    name: str | None
    mode: str | None
    task_index: int | None
    step: None
    agent: str
    driver: str | None
    requested_model: str | None
    resolved_model: str | None
    model_source: str | None
    task: str
    cwd: str
    project: str | None
    owner: str | None
    root: str | None  # if children may launch children: the run from which all of them descend
    timeout: float | None
    files: Sequence[Any]
    after: Sequence[str]  # run ids
    resumes: str | None
    session_path: str
    artifacts: Mapping[str, Any]
    created_at: float | None
    tmux_socket: str | None
    tmux_session: str | None
    tmux_launcher: str | None  # the tmux server from which it was launched, as the registry names servers
    keep_background: bool
    allow_outside: bool
    reopens: bool
    replayed: int | None  # characters of the transcript in the prompt
    task_name: str | None  # of a task of delegate_to_subagents; any characters are allowed
    agent_command: Sequence[str] | None
    agent_version: str | None
    agent_kind: str | None  # of an agent that the user's settings define: acp or command
    permission: str | None  # what the child may do without asking; None: the agent's own default
    child_session: str | None  # the id of the child's own session that it continues
    baseline: Mapping[str, Any] | None  # that session's earlier usage, where figures count the session
    initiator: str | None
    written: Mapping[str, Any] | None  # the document that the plan was read from

    __slots__ = tuple(__annotations__)


class Identity(Record):
    """One process of one boot of one machine. No other process has its identity, even with the same pid."""

    host: str
    boot_id: str
    pid_namespace: int
    pid: int
    start_time: int

    __slots__ = tuple(__annotations__)


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

    `result` is None if there is no readable one. `presence` is one of the words below.
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
ELSEWHERE = "elsewhere"  # on another host or in another pid namespace: we cannot know
MIRRORED = "mirrored"  # on another machine, from where an engine brings its files or its fate

SLURM = "slurm"  # in place of a host and as an engine: the Slurm of this machine
# How far a run has come on its way to another machine, or into Slurm: the states of machine.json.
WAITING = "waiting"  # for other runs
SUBMITTING = "submitting"  # it may be there by now
SUBMITTED = "submitted"


class ProcessRow:
    """One living process, with what decides whether it ends with a run."""

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


# Why a file is missing in a prompt.
MISSING = "missing"
UNREADABLE = "unreadable"
TOO_LARGE = "too large"
OUTSIDE = "outside"


class FileText:
    """A file for a prompt: its text, or the problem with the file. `size` is in bytes, 0 if unknown."""

    __slots__ = ("problem", "size", "text")

    def __init__(self, text: str = "", *, size: int = 0, problem: str | None = None) -> None:
        self.text = text
        self.size = size
        self.problem = problem
