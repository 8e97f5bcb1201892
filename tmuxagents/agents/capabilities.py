"""The facts about an agent, as data: its abilities, its own agent files, and our questions to it. Pure.

A call that needs more than an agent can do is refused before a run is made (launch/demands).
"""

from __future__ import annotations

from tmuxagents.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# Seats: how a child is driven.
STREAM = "stream"  # one prompt on stdin, lines on stdout
DUPLEX = "duplex"  # stdin stays open: several turns, steering, interrupt, answers to questions
LIVE = "live"  # on the terminal of its window, for a person
COMMAND = "command"  # one prompt on stdin, text on stdout, the exit code

# Permission levels, from the narrowest; `ask` has no place in that order.
READ_ONLY, EDIT, FULL, ASK = "read-only", "edit", "full", "ask"
LEVELS = (READ_ONLY, EDIT, FULL)
PERMISSIONS = (*LEVELS, ASK)

ADD, REPLACE = "add", "replace"  # a system prompt beside the agent's own, or in its place

# The scope of usage figures: one call of the model, one run, or the whole session.
OF_CALL, OF_RUN, OF_SESSION = "call", "run", "session"
REPORTED, ESTIMATED, NO_COST = "reported", "estimated", "none"

BY_EVENT, BY_EXIT = "event", "exit"  # what proves the end of a run


class AgentFacts(Record):
    """A record of one agent. The defaults of its fields are the values of most agents."""

    def fields(self) -> dict[str, Any]:
        """Return the fields by their names."""
        return {name: getattr(self, name) for name in type(self).__annotations__}


class Capabilities(AgentFacts):
    """The abilities of one agent."""

    seats: Sequence[str] = (STREAM,)  # that of a batch run first
    takes_model: bool = True
    lists_models: bool = False
    permissions: Sequence[str] = LEVELS  # empty: the agent has no levels
    default_permission: str | None = EDIT
    steer: bool = False  # a batch run takes messages while it works
    resume: bool = True  # a later run can continue its session
    system_prompt: Sequence[str] = ()
    profiles: bool = False  # profiles hold flags of the agent's own
    tools: Mapping[str, str] = {}  # our name of a tool -> the agent's; empty: lists of tools are refused
    reads_tools: bool = False  # lists may also have the agent's own names
    usage: str = OF_RUN
    cost: str = NO_COST
    evidence: str = BY_EVENT
    oldest: str | None = None  # the oldest version that is known to work
    tested: str | None = None  # the version that the recordings come from

    def document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "oldest": self.oldest,
            "tested": self.tested,
            "seats": list(self.seats),
            "permissions": list(self.permissions),
            "defaultPermission": self.default_permission,
            "takesModel": self.takes_model,
            "listsModels": self.lists_models,
            "takesMessages": self.steer,
            "resumes": self.resume,
            "systemPrompt": list(self.system_prompt),
            "tools": sorted(self.tools),
            "usage": self.usage,
            "cost": self.cost,
            "evidence": self.evidence,
        }


# --- its own agent files ---

MARKDOWN, TOML = ".md", ".toml"


class AgentFiles(AgentFacts):
    """A brand's own agent files: where they are, and what their keys mean (presets/foreign)."""

    agent: str
    title: str  # as people call the brand
    own: str = "agents"  # the user's folders, in the agent's own one, separated by commas
    project: Sequence[str]  # a project's folders
    suffix: str = MARKDOWN
    titled: bool = True  # the header gives the name; else the file's name does
    body: str | None = None  # the key of the prompt; None: the text below the header
    tools: Mapping[str, Sequence[str]] = {}  # its name of a tool, in lower case -> our names
    own_tools: Sequence[str] = ()  # tools that only it has
    switches: bool = False  # tools are switched off one by one
    permission: tuple[str, Mapping[str, str]] | None = None  # the key of its mode; its modes -> our levels
    harmless: Sequence[str] = ("color",)  # keys that change neither what a child may do nor how it works


# --- the questions to it ---

_RELEASE = r"(?<![\w.])v?(\d{1,6}(?:\.\d{1,6}){1,2}(?:[-+][0-9A-Za-z.+-]{1,40})?)(?!\w|\.\w)"
LONGEST = 512  # of a version, and of the text before it


class Questions:
    """The questions to an installed agent, and the parsers of its answers: for most, only of the version."""

    SETTINGS = FOLDER_SETTINGS = ""  # the agent's own settings, in its folder and in a working directory
    FILES: Sequence[str] = ()  # in the agent's folder; a change of one makes the answers outdated
    QUIET: Mapping[str, str] = {}  # environment variables for the questions
    MODELS: Sequence[str] = ()  # arguments, with a REQUEST on stdin; none: the agent cannot be asked
    REQUEST = b""
    LISTING: Sequence[str] = ()  # the older way to ask for models

    def __init__(self, oldest: str | None) -> None:
        self.OLDEST = _figures(oldest or "0")  # the oldest version that is known to work
        # A command of the user's settings has no version, and is not called without need.
        self.VERSION: Sequence[str] = ("--version",) if oldest else ()

    def version(self, text: bytes) -> str | None:
        """Return the version in an answer."""
        import re  # noqa: PLC0415  (4 ms, too much for a wrapper)

        found = re.search(_RELEASE, text[:LONGEST].decode("utf-8", "replace"))
        return found[1] if found else None

    def is_old(self, release: str) -> bool:
        """Say whether a version is older than the oldest that is known to work."""
        return _figures(release) < self.OLDEST

    def doubts(self, name: str, version: str | None, models: Sequence[Any] | None) -> list[str]:
        """Return the warnings about an agent's version, and about what it does not report."""
        warnings = []
        oldest = ".".join(map(str, self.OLDEST))
        if version is None and self.VERSION:
            warnings.append(f"{name} does not report its version; {oldest} or newer is needed")
        elif version is not None and self.is_old(version):
            warnings.append(f"{name} {version} is older than {oldest}, the oldest supported version")
        if models is None and self.MODELS:
            warnings.append(f"{name} does not report its models, so the model is not checked")
        return warnings

    def own_model(self, _settings: bytes, _of_folder: bytes) -> str | None:
        """Return the model that the agent uses if none is named, by the user's settings and a folder's."""
        return None

    def models(self, _line: bytes) -> list[dict[str, Any]] | None:
        """Return the models of an answer; None for any other line."""
        return None

    def listing(self, _text: bytes) -> list[dict[str, Any]] | None:
        """Return the models of a listing; None for any other text."""
        return None


def _figures(release: str) -> tuple[int, ...]:
    import re  # noqa: PLC0415  (as above)

    return tuple(int(figure) for figure in re.findall(r"\d+", release)[:3])
