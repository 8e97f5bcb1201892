"""The base of every agent: its command line, reader, talker and live run; and a splitter of lines. Pure.

The classes fit most agents; each brand overrides what differs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tmuxagents.agents.brand import LiveReader
    from tmuxagents.agents.capabilities import AgentFiles, Capabilities, Questions
    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event, InboxMessage

    Options = Sequence[tuple[str, str]]  # of a question: ids and words
    Sent = Callable[[int], Event | None]  # returns the message that has a number


class Agent:
    """An agent: how to call it, and how to read its output."""

    name: str  # in `meta.json`
    program: str  # on PATH
    program_arguments: Sequence[str] = ()  # come after the program, unless the user's settings name a command
    how_to_install: str
    how_to_log_in: str  # what a person does to get models
    tools: Sequence[str] = ()  # built-in, in the agent's own order
    home_variable = "HOME"  # names the folder of the agent's own settings and login
    prompt_link: str | None = None  # the name that a file must have to be part of the system prompt
    keeps_sessions = True  # it can continue a session by its id
    keeps_unanswered = True  # it also keeps a new session in which the model has not answered
    about_usage: tuple[bytes, ...] = ()  # how the lines about usage begin in its log of a session

    @property
    def program_variable(self) -> str:
        """Return the environment variable that can name another program."""
        return f"TMUXAGENTS_{self.name.upper()}"

    def program_words(
        self, environment: Mapping[str, str], commands: Mapping[str, Sequence[str]]
    ) -> Sequence[str]:
        """Return the words that start the program. `commands`: those in the user's settings, by agent."""
        named = environment.get(self.program_variable)
        own = [named or self.program, *self.program_arguments]
        return own if named else commands.get(self.name, own)

    def key_variables(self, _key: str, _provider: str | None) -> Mapping[str, str]:
        """Return the variables that give the child an API key; none if only a login can."""
        return {}

    def arguments(self, _plan: Plan, _run_dir: str) -> Sequence[str]:
        """Return the arguments of the program, without the task; none if the command line is complete."""
        return []

    def environment(self, _agent_dir: str, _plan: Plan | None) -> Mapping[str, str]:
        """Return the variables of this agent's children, besides those of every child."""
        return {}

    def prompted(self, _path: str, _environment: Mapping[str, str]) -> Mapping[str, str]:
        """Return the variables that add a file's text to the system prompt; none if the arguments add it."""
        return {}

    def questions(self) -> Questions:
        """Return what we ask an installed agent: for most agents, only the version."""
        from tmuxagents.agents import capabilities  # noqa: PLC0415  (no wrapper asks)

        return capabilities.Questions(self.capabilities().oldest)

    def live(self) -> LiveAgent | None:
        """Return the live form of the agent; None if it cannot run live."""
        return None

    def talker(self, _plan: Plan, _run_dir: str) -> Talker | None:
        """Return a talker for one child of a batch run; None if the child takes only its prompt."""
        return None

    def agent_files(self) -> AgentFiles | None:
        """Return where the brand's agent files are and what they mean; None if it has none or uses ours."""
        return None

    def session(self, _text: str) -> ChildSession:
        """Read a session file, for a child that continues the session. Most agents have no such files."""
        return ChildSession(problem="does not belong to this agent")

    def session_log(self, _session: str | None, _environment: Mapping[str, str]) -> str | None:
        """Return the path of the agent's log of a session; None if unknown, or if the log has no usage."""
        return None

    if TYPE_CHECKING:

        def reader(self, plan: Plan, run_dir: str) -> Reader:
            """Return a reader for one child."""

        def capabilities(self) -> Capabilities:
            """Return the agent's capabilities."""


def inside(path: str, run_dir: str) -> str:
    """Return the absolute path of a file that a plan names; a relative one lies in the run directory."""
    return path if path.startswith("/") else f"{run_dir}/{path}"


FOLDER_VARIABLE = "TMUXAGENTS_BRIDGE"  # gives a bridge the run directory, which has its two FIFOs


class LiveAgent:
    """How an agent runs live: on the terminal of its window, with a bridge in it."""

    __slots__ = ("arguments", "bridge", "reader")

    def __init__(
        self,
        arguments: Callable[[Plan, str], list[str]],
        reader: Callable[[Sent], LiveReader],
        bridge: str | None,
    ) -> None:
        self.arguments = arguments  # of the program, for a plan and its run directory
        self.reader = reader
        self.bridge = bridge  # our program, which starts the agent; None: the agent itself is started


class Reader:
    """Reads the stdout of one child."""

    snapshots: tuple[bytes, ...] = ()  # beginnings of lines that are streaming snapshots: not logged
    exit_counts = True  # after a finished answer, an exit code other than 0 is a failure
    paces = False  # the wrapper may let lines wait and read several at once
    file: str | None = None  # in the run directory; the child writes it at its end, for `ended`

    def __init__(self) -> None:
        self.settled = False  # the child is done for now
        self.model: str | None = None  # as the child reports it
        self.error_message: str | None = None  # of its last answer
        self.left_out = False  # an answer was too long to keep

    if TYPE_CHECKING:

        def feed(self, line: bytes, now: float) -> Reading:
            """Read one line; `now` is monotonic."""

    def feed_oversized(self, _line: Oversized, _now: float) -> Reading:
        """Read the two ends of a line that was too long to keep, such as the output of a tool."""
        self.left_out = True
        return ACTIVE

    def note_late(self, _now: float) -> None:
        """Note that lines read at this (monotonic) time may have been printed a moment before."""

    def note_session(self, _lines: Sequence[bytes]) -> None:
        """Take the lines about usage that the session's log had before this child started."""

    def overheard(self, _line: bytes) -> Sequence[Event]:
        """Return more events for a line of stderr; the line itself is always an event."""
        return ()

    def ended(self, _exit_code: int | None, _text: bytes | None = None) -> Sequence[Event]:
        """Return the events of the exit. Code None: a signal ended the child. `text`: what `file` holds."""
        return []

    def used(self, _text: bytes) -> Sequence[Event]:
        """Return the usage of the run, from the file that the child writes at its end."""
        return []


class Talker(Reader):
    """Reads a child whose stdin stays open, and makes the lines for it."""

    acknowledges = False  # the talker itself reports which messages the child has taken

    if TYPE_CHECKING:

        @property
        def asks(self) -> Sequence[Ask]:
            """Return the open questions, the oldest first."""

        @property
        def is_idle(self) -> bool:
            """Say whether no turn runs and no message is left to handle."""

        def begin(self, prompt: str) -> bytes:
            """Return the first lines: a greeting, the session, or the prompt."""

        def say(self, message: InboxMessage) -> bytes | None:
            """Return the lines for a message or an interrupt; None while the child cannot take it."""

        def answer(self, ask_id: str, answer: str, by: str) -> Reading:
            """Answer a question: with `allow`, `deny`, the id of an option, or a text."""


class Ask:
    """A question of a child: its id, its kind, what it asks, and the ids and words of its options."""

    __slots__ = ("id", "key", "kind", "options", "text")

    def __init__(self, id: str, kind: str, text: str | None, options: Options = ()) -> None:  # noqa: A002  (the word of the contract)
        self.id = id  # empty: only the child's own screen can answer it
        self.kind = kind
        self.text = text
        self.options = options
        self.key = id or f"\n{kind}\n{text}"  # distinguishes it from other open questions


class ChildSession:
    """A child's own session: its text or its id, and its working directory; or the problem with it."""

    __slots__ = ("cwd", "id", "problem", "text")

    def __init__(
        self,
        text: str = "",
        *,
        id: str | None = None,  # noqa: A002  (the word of the contract)
        cwd: str = "",
        problem: str | None = None,
    ) -> None:
        self.text = text
        self.id = id  # of an agent that keeps its sessions itself
        self.cwd = cwd
        self.problem = problem


LINE_LIMIT = 4 * 1024 * 1024  # only the two ends of a longer line are kept
END_KEPT = 64 * 1024
_MOST_PARTS = 1024


class Reading:
    """The meaning of one line: events; whether the child works; text that is no event; our reply on stdin."""

    __slots__ = ("active", "events", "plain", "reply")

    def __init__(
        self,
        events: Sequence[Event] = (),
        *,
        active: bool = False,
        plain: str | None = None,
        reply: bytes = b"",
    ) -> None:
        self.events = events
        self.active = active
        self.plain = plain
        self.reply = reply


NOTHING = Reading()
ACTIVE = Reading(active=True)


class Oversized:
    """A line that is too long to keep: its two ends, its length, and a checksum of all but its head."""

    __slots__ = ("head", "rest_sum", "size", "tail")

    def __init__(self, head: bytes, tail: bytes, size: int, rest_sum: int = 0) -> None:
        self.head = head
        self.tail = tail
        self.size = size
        self.rest_sum = rest_sum  # lines that differ in the middle must not look the same

    def brief(self) -> bytes:
        """Return the line for the log."""
        left_out = self.size - len(self.head) - len(self.tail)
        return self.head + b"[... %d bytes left out ...]" % left_out + self.tail


def sum_of(text: bytes | memoryview, before: int = 0) -> int:
    """Return a checksum of a text; `before`: the checksum of the text before it."""
    from binascii import crc32  # noqa: PLC0415  (hardly any line is that long)

    return crc32(text, before)


class LineSplitter:
    """Cuts a byte stream into lines, from chunks of any size and within bounded memory."""

    __slots__ = ("_head", "_parts", "_size", "_sum", "_tail")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None  # set while the current line is too long
        self._tail = b""
        self._sum = 0

    def feed(self, chunk: bytes) -> list[bytes | Oversized]:
        """Return the lines that the chunk completes, without their newline."""
        *complete, rest = chunk.split(b"\n")
        lines: list[bytes | Oversized] = []
        for piece in complete:
            if self._size == 0 and len(piece) <= LINE_LIMIT:  # the line is complete
                lines.append(piece.removesuffix(b"\r"))
            else:
                self._take(piece)
                lines.append(self._finish())
        if rest:
            self._take(rest)
        return lines

    def flush(self) -> list[bytes | Oversized]:
        """Return the last line, if the stream ended without a newline."""
        return [self._finish()] if self._size else []

    def _take(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._head is None:
            self._parts.append(piece)
            if self._size <= LINE_LIMIT:
                if len(self._parts) > _MOST_PARTS:  # a child that writes byte by byte
                    self._parts = [b"".join(self._parts)]
                return
            whole = b"".join(self._parts)
            self._parts = []
            rest = memoryview(whole)[END_KEPT:]
            self._head, self._tail, self._sum = whole[:END_KEPT], bytes(rest[-END_KEPT:]), sum_of(rest)
        else:
            self._tail = (self._tail + piece)[-END_KEPT:]
            self._sum = sum_of(piece, self._sum)

    def _finish(self) -> bytes | Oversized:
        line: bytes | Oversized
        if self._head is None:
            line = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            line = line.removesuffix(b"\r")
        else:
            line = Oversized(self._head, self._tail, self._size, self._sum)
        self._parts, self._size, self._head, self._tail = [], 0, None, b""
        return line
