"""What every brand of child needs: lines out of chunks, and what one line can tell. Pure.

PURE like all of `agents/`: bytes in, records out.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol

    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event

    class Reader(Protocol):
        """Reads the stdout of one child."""

        settled: bool  # the child is done for now
        model: str | None  # what the child says it uses
        error_message: str | None  # of its last answer
        left_out: bool  # an answer was too long to be kept whole
        snapshots: tuple[bytes, ...]  # beginnings of lines that are streaming snapshots: not logged

        def feed(self, line: bytes, now: float) -> Reading:
            """Read one line; `now` is monotonic."""

        def feed_oversized(self, line: Oversized, now: float) -> Reading:
            """Read what is left of a line that was too long to keep."""

        def note_late(self, now: float) -> None:
            """Take note that what is read at this moment may have been said a moment before; monotonic."""

    class LiveReader(Reader, Protocol):
        """Reads what the bridge in a live child says."""

        is_connected: bool  # the bridge has spoken
        has_begun: bool  # the child has begun to work
        typed: bool  # a person has typed: the child is theirs
        left: bool  # a person has pressed a key that leaves the child
        asks: tuple[str, str | None] | None  # kind and words of a question that waits for a person
        settlings: int  # how often it has settled

    class Live(Protocol):
        """How one brand of child is run live: on the terminal of its window, with a bridge in it."""

        @property
        def folder_variable(self) -> str:
            """The variable that tells the bridge where its run is."""

        def arguments(self, plan: Plan, run_dir: str) -> list[str]:
            """Return what stands behind the program on its command line."""

        def reader(self, sent: Callable[[int], Event | None]) -> LiveReader:
            """Return a reader for one child. `sent` returns the message that has a number."""

    class Questions(Protocol):
        """What one brand of agent is asked about itself, and how its answers read."""

        FILES: tuple[str, ...]  # of its folder: when one changes, it is asked again
        QUIET: dict[str, str]  # the variables with which it is asked
        VERSION: tuple[str, ...]  # arguments; those of the models come with a REQUEST on stdin
        MODELS: tuple[str, ...]
        REQUEST: bytes
        LISTING: tuple[str, ...]  # the older way to ask for models
        OLDEST: tuple[int, ...]  # the oldest version that is supported

        def version(self, text: bytes) -> str | None:
            """Return the version that it told."""

        def is_old(self, release: str) -> bool:
            """Say whether a version is older than the oldest that is supported."""

        def models(self, line: bytes) -> list[dict[str, Any]] | None:
            """Return the models of an answer; None where it is none."""

        def listing(self, text: bytes) -> list[dict[str, Any]] | None:
            """Return the models of a listing; None where it is none."""

    class Agent(Protocol):
        """One brand of child: how to call it, and how to read it."""

        @property
        def name(self) -> str:
            """The word in `meta.json`."""

        @property
        def program(self) -> str:
            """What is looked for on PATH."""

        @property
        def program_variable(self) -> str:
            """The environment variable that names another program."""

        @property
        def tools(self) -> Sequence[str]:
            """The tools that it has by itself, in its order."""

        def key_variables(self, key: str, provider: str | None) -> Mapping[str, str]:
            """Return the variables that give it an API key; one alone where the provider is not known."""

        def arguments(self, plan: Plan, run_dir: str) -> Sequence[str]:
            """Return what stands behind the program on its command line: no text of the task."""

        def environment(self, agent_dir: str, plan: Plan | None) -> Mapping[str, str]:
            """Return the variables that this brand needs besides those of every child."""

        def questions(self) -> Questions:
            """Return what it is asked about itself; imported then, because no wrapper needs it."""

        def reader(self) -> Reader:
            """Return a reader for one child."""

        def live(self) -> Live | None:
            """Return how it is run live; None where it cannot be."""

        def session(self, text: str) -> ChildSession:
            """Read its own session file, for a child that is to go on with it."""


class ChildSession:
    """A child's own session: its text, and where it works; or the problem with it."""

    __slots__ = ("cwd", "problem", "text")

    def __init__(self, text: str = "", *, cwd: str = "", problem: str | None = None) -> None:
        self.text = text
        self.cwd = cwd
        self.problem = problem


LINE_LIMIT = 4 * 1024 * 1024  # a longer line is read by its two ends only
END_KEPT = 64 * 1024
_MOST_PARTS = 1024


class Reading:
    """What one line told: events, whether the child works, and text that is no event of this brand."""

    __slots__ = ("active", "events", "plain")

    def __init__(
        self, events: Sequence[Event] = (), *, active: bool = False, plain: str | None = None
    ) -> None:
        self.events = events
        self.active = active
        self.plain = plain


NOTHING = Reading()
ACTIVE = Reading(active=True)


class Oversized:
    """A line that is too long to keep: its two ends, its whole length, and a sum over all behind its head."""

    __slots__ = ("head", "rest_sum", "size", "tail")

    def __init__(self, head: bytes, tail: bytes, size: int, rest_sum: int = 0) -> None:
        self.head = head
        self.tail = tail
        self.size = size
        self.rest_sum = rest_sum  # lines that differ in the middle must not look the same

    def brief(self) -> bytes:
        """Return the line as it is logged."""
        left_out = self.size - len(self.head) - len(self.tail)
        return self.head + b"[... %d bytes left out ...]" % left_out + self.tail


def sum_of(text: bytes | memoryview, before: int = 0) -> int:
    """Return a sum over a text by which it is known from others; `before`: that of what stands before it."""
    from binascii import crc32  # noqa: PLC0415  (hardly any line is that long)

    return crc32(text, before)


class LineSplitter:
    """Cuts a byte stream into lines within bounded memory, however it arrives."""

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
            if self._size == 0 and len(piece) <= LINE_LIMIT:  # it is whole already
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
