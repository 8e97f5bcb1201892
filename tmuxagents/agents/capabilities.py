"""What an agent can do, as data; what it cannot is refused before a run is made (launch/demands). Pure."""

from __future__ import annotations

from tmuxagents.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Seats: how a child is driven.
STREAM = "stream"  # one prompt on stdin, lines on stdout
DUPLEX = "duplex"  # stdin stays open: several turns, steering, interrupt, answers to questions
LIVE = "live"  # on the terminal of its window, for a person
COMMAND = "command"  # one prompt on stdin, text on stdout, the exit code

# Permission levels, from the narrowest; to ask is beside them.
READ_ONLY, EDIT, FULL, ASK = "read-only", "edit", "full", "ask"
LEVELS = (READ_ONLY, EDIT, FULL)
PERMISSIONS = (*LEVELS, ASK)

ADD, REPLACE = "add", "replace"  # a system prompt beside the agent's own, or in its place

# What figures of usage mean: of one call of the model, of one run, of the whole session.
OF_CALL, OF_RUN, OF_SESSION = "call", "run", "session"
REPORTED, ESTIMATED, NO_COST = "reported", "estimated", "none"

BY_EVENT, BY_EXIT = "event", "exit"  # what proves the end of a run


class Capabilities(Record):
    """What one agent can do."""

    __slots__ = (
        *("cost", "default_permission", "evidence", "limits", "lists_models", "oldest", "permissions"),
        *("profiles", "reads_tools", "resume", "seats", "steer", "structured", "system_prompt"),
        *("takes_model", "tested", "tools", "usage"),
    )

    seats: Sequence[str]  # that of a batch run first
    takes_model: bool
    lists_models: bool
    permissions: Sequence[str]  # empty: it knows no such levels
    default_permission: str | None
    steer: bool  # a batch run takes messages while it works
    resume: bool  # a later run can continue its session
    system_prompt: Sequence[str]
    profiles: bool  # profiles hold its own flags
    tools: Mapping[str, str]  # our name of a tool -> its own; empty: lists of tools are refused
    reads_tools: bool  # it also takes names of its own tools
    structured: bool  # an answer in a given form
    limits: Sequence[str]  # its own limits that it can be given
    usage: str
    cost: str
    evidence: str
    oldest: str | None  # the oldest version that is known to work
    tested: str | None  # the version that the recordings come from


# What most agents can do: each says what is different with it.
USUAL = Capabilities(
    seats=(STREAM,),
    takes_model=True,
    lists_models=False,
    permissions=LEVELS,
    default_permission=EDIT,
    steer=False,
    resume=True,
    system_prompt=(),
    tools={},
    reads_tools=False,
    structured=False,
    profiles=False,
    limits=(),
    usage=OF_RUN,
    cost=NO_COST,
    evidence=BY_EVENT,
    oldest=None,
    tested=None,
)
