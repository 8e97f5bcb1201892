"""What the modules of all agents but pi share: their questions, ids, and the reading of JSON lines. Pure.

A brand's own agent files: where they lie, and what their keys mean (see presets/foreign).

The one question to an installed agent that lists no models: which version it is.
"""

from __future__ import annotations

import re

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import NOTHING, Ask, ChildSession, Reading
from tmuxagents.records import Record
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, ClassVar

    from tmuxagents.agents.base import LiveAgent, Oversized, Questions, Talker
    from tmuxagents.agents.capabilities import Capabilities
    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event


_RELEASE = re.compile(r"(?<![\w.])v?(\d{1,6}(?:\.\d{1,6}){1,2}(?:[-+][0-9A-Za-z.+-]{1,40})?)(?!\w|\.\w)")
_LONGEST = 512


def version_question_of(capabilities: Capabilities) -> VersionQuestion:
    """Return the question to an agent."""
    return VersionQuestion(capabilities.oldest)


class VersionQuestion:
    """Asks for a version alone."""

    SETTINGS = FOLDER_SETTINGS = ""  # nothing is read of its own settings
    FILES: tuple[str, ...] = ()
    QUIET: dict[str, str] = {}  # noqa: RUF012  (a constant)
    VERSION: tuple[str, ...] = ("--version",)
    MODELS: tuple[str, ...] = ()  # it cannot be asked for its models
    REQUEST = b""
    LISTING: tuple[str, ...] = ()

    def __init__(self, oldest: str | None) -> None:
        self.OLDEST = _figures(oldest or "0")

    def own_model(self, _settings: bytes, _of_folder: bytes) -> str | None:
        """Return None: its settings are not read."""
        return None

    def version(self, text: bytes) -> str | None:
        """Return the version in an answer."""
        found = _RELEASE.search(text[:_LONGEST].decode("utf-8", "replace"))
        return found[1] if found else None

    def is_old(self, release: str) -> bool:
        """Say whether a version is older than the oldest that is known to work."""
        return _figures(release) < self.OLDEST

    def models(self, _line: bytes) -> list[dict[str, Any]] | None:
        """Return None: it lists none."""
        return None

    def listing(self, _text: bytes) -> list[dict[str, Any]] | None:
        """Return None, as above."""
        return None


class NoQuestion(VersionQuestion):
    """Asks nothing: the program is the user's own command, which is not called without need."""

    VERSION: tuple[str, ...] = ()


def _figures(release: str) -> tuple[int, ...]:
    return tuple(int(figure) for figure in re.findall(r"\d+", release)[:3])


MARKDOWN, TOML = ".md", ".toml"


class AgentFiles(Record):
    """The agent files of one brand."""

    __slots__ = (
        *("agent", "body", "harmless", "own", "own_tools", "permission", "project", "suffix", "switches"),
        *("title", "titled", "tools"),
    )

    agent: str
    title: str  # as people call the brand
    own: str  # the user's folders, in the agent's own one, by a comma
    project: Sequence[str]  # a project's folders
    suffix: str
    titled: bool  # a file has the name that it says; else that of the file
    body: str | None  # the key of the prompt; None: the text below the header
    tools: Mapping[str, Sequence[str]]  # its name of a tool, in small letters -> ours
    own_tools: Sequence[str]  # tools that it alone has
    switches: bool  # tools are switched off one by one
    permission: tuple[str, Mapping[str, str]] | None  # the key of its mode, and modes -> ours
    harmless: Sequence[str]  # keys that change nothing of what a child may do, or how it works


USUAL = AgentFiles(
    agent="",
    title="",
    own="agents",
    project=(),
    suffix=MARKDOWN,
    titled=True,
    body=None,
    tools={},
    own_tools=(),
    switches=False,
    permission=None,
    harmless=("color",),
)


class Brand:
    """An agent whose session is its own business: it has an id, and no file in the run directory."""

    name: str
    program: str
    program_arguments: Sequence[str] = ()
    how_to_install: str
    how_to_log_in: str
    tools: Sequence[str] = ()
    home_variable = "HOME"  # names the folder of the agent's own settings and login
    prompt_link: str | None = None  # the name that a text for its system prompt must have
    keeps_sessions = True
    keeps_unanswered = True

    @property
    def program_variable(self) -> str:
        """Return the environment variable that names another program."""
        return f"TMUXAGENTS_{self.name.upper()}"

    def key_variables(self, _key: str, _provider: str | None) -> Mapping[str, str]:
        """Return no variables: a key is the business of the agent's own login."""
        return {}

    def environment(self, _agent_dir: str, _plan: Plan | None) -> Mapping[str, str]:
        """Return no variables besides those of every child."""
        return {}

    def prompted(self, _path: str, _environment: Mapping[str, str]) -> Mapping[str, str]:
        """Return no variables: a text for its system prompt goes another way, or is refused."""
        return {}

    def questions(self) -> Questions:
        """Return the questions about itself: its version alone."""
        return version_question_of(self.capabilities())

    def live(self) -> LiveAgent | None:
        """Return None: it cannot run live."""
        return None

    def talker(self, _plan: Plan, _run_dir: str) -> Talker | None:
        """Return None: it takes only its prompt."""
        return None

    def agent_files(self) -> AgentFiles | None:
        """Return None: it has no agent files."""
        return None

    def session(self, _text: str) -> ChildSession:
        """Return the problem: it has no session file."""
        return ChildSession(problem="does not belong to this agent")

    def capabilities(self) -> Capabilities:
        """Return what it can do."""
        raise NotImplementedError


def session_uuid(plan: Plan) -> str:
    """Return the id that a new session of this run gets, as a UUID: always the same, and no other run's."""
    text = plan.run_id + plan.run_id[::-1]
    return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-8{text[17:20]}-{text[20:32]}"


class LiveAsks:
    """The open questions of a live child, and the answers that its bridge has passed on."""

    def __init__(self) -> None:
        self.open: dict[str, Ask] = {}
        self.given: dict[str, tuple[str, str]] = {}  # question: its answer, and who gave it

    def ask(self, ask: Ask) -> None:
        """Take a question."""
        self.open[ask.key] = ask

    def answered(self, raw: Mapping[str, Any]) -> Ask | None:
        """Take the bridge's word that it has passed on an answer; return the question that it closes."""
        ask = self.open.pop(raw_json.text(raw.get("ask")) or "", None)
        if ask is not None:
            self.given[ask.id] = raw_json.text(raw.get("answer")) or "", raw_json.text(raw.get("by")) or ""
        return ask


class LineReader:
    """Reads the JSON lines of one child. A brand fills in `takes`, and what its lines mean for the run.

    A stream that breaks off in the middle of a line is never a finished answer.
    """

    snapshots: tuple[bytes, ...] = ()
    exit_counts = True
    file: str | None = None
    tells_cuts = True  # an answer that was cut or refused never ends as a whole one does
    paces = False  # some agents lose the end of their stream if it is read late
    takes: ClassVar[Mapping[str, Callable[[Any, dict[str, Any], float], Reading]]]  # kind -> what reads it

    def __init__(self) -> None:
        self.settled = False
        self.model: str | None = None
        self.error_message: str | None = None
        self.left_out = False
        self._heard = "", False  # on stderr: the words, and whether they name an error
        self.is_torn = False  # the last line is the beginning of a JSON object
        self.calls: dict[str, tuple[str, float]] = {}  # open tool calls: id -> tool, and when it was reported

    def feed(self, line: bytes, now: float) -> Reading:
        """Read one line. A line that is not JSON is plain text; JSON of unknown kind is ignored."""
        self.is_torn = False
        if not line or line.isspace() or (self.snapshots and line.startswith(self.snapshots)):
            return NOTHING
        try:
            raw = raw_json.parse_cheap(line)
        except RecursionError:
            self.left_out = True
            return Reading(active=True)
        if raw is None:
            self.is_torn = line.lstrip().startswith(b"{")
            return NOTHING if raw_json.is_value(line) else Reading(plain=line.decode("utf-8", "replace"))
        take = self.takes.get(self.kind(raw))
        return take(self, raw, now) if take is not None else NOTHING

    def kind(self, raw: Mapping[str, Any]) -> str:
        """Return the kind of a line, by which `takes` finds what reads it."""
        return raw_json.word(raw.get("type")) or ""

    def feed_oversized(self, _line: Oversized, _now: float) -> Reading:
        """Note that a line was too long to keep: a tool's output, or a text that is cut out of the record."""
        self.left_out = True
        return Reading(active=True)

    def note_late(self, _now: float) -> None:
        """Do nothing: its output is read at once."""

    def overheard(self, line: bytes) -> Sequence[Event]:
        """Keep what explains an end without a line: its last words on stderr, or those that name an error."""
        said = line.decode("utf-8", "replace").strip()
        is_error = said[:5].lower() == "error"
        if said and (is_error or not self._heard[1]):
            self._heard = said, is_error
        return ()

    def ended(self, exit_code: int | None, text: bytes | None = None) -> list[Event]:
        """Return what its exit adds, once all it wrote is read."""
        told = [*self.used(text or b""), *self.left(exit_code)]
        if self.is_torn and self.settled:
            told += [events.resumed(), events.turn_end(None), events.settled(aborted=False)]
        return told

    def used(self, _text: bytes) -> list[Event]:
        """Return what the file says that the child has written at its end, if it is one of those."""
        return []

    def left(self, _exit_code: int | None) -> list[Event]:
        """Return what the exit means for this brand; None: a signal killed it."""
        return []

    # --- what most brands need ---

    def call(self, call_id: Any, tool: Any, args: Any, now: float) -> list[Event]:
        """Report a tool call, once."""
        known, name = raw_json.key(call_id), raw_json.word(tool) or "tool"
        if known is not None:
            if known in self.calls:
                return []
            raw_json.remember(self.calls, known, (name, now))
        return [events.tool_call(known, name, args if isinstance(args, dict) else {})]

    def result(self, call_id: Any, text: str, now: float, *, failed: bool, tool: Any = None) -> list[Event]:
        """Report the end of a tool call; one that was never reported, or is over, is ignored."""
        known = raw_json.key(call_id)
        name, began = self.calls.pop(known or "", (None, None))
        if name is None:
            return []
        lasted = None if began is None else round((now - began) * 1000)
        name = raw_json.word(tool) or name
        return [events.tool_result(known, name, is_error=failed, text=text, duration_ms=lasted)]

    def works_again(self) -> list[Event]:
        """Report that a settled child works again."""
        again, self.settled = self.settled, False
        return [events.resumed()] if again else []

    def finish(self, stop_reason: str | None, *, aborted: bool = False) -> list[Event]:
        """Report the end of the turn and that the child is done for now.

        `stop_reason` is `stop` for a finished answer, else `length`, `error`, `aborted`, `limit`, `config` or
        None.
        """
        self.settled = True
        if stop_reason == "config" and self.error_message is None:
            self.error_message = raw_json.sentence(self._heard[0]) or None
        unsure = stop_reason == "stop" and not self.tells_cuts
        ended = events.turn_end(stop_reason, evidence="lines" if unsure else None)
        return [ended, events.settled(aborted=aborted)]
