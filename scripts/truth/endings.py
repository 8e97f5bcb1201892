"""The endings, and what is true of each: it follows from what the model answered and from what was done.

What an agent says of itself decides nothing here. UNTOLD has the endings that its stream cannot tell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scripts import agent_homes
from scripts.truth import acts
from tmuxagents import agents
from tmuxagents.agents import capabilities as can

if TYPE_CHECKING:
    from collections.abc import Mapping

HELLO = "Hello from the model server. All is well."
# 300 KB that begin with dashes and have quotes, backslashes, and letters of two and four bytes
LONG = "--help -p 'x' \"y\" \\n $HOME é 🦀\n" + "word " * 60_000
SYSTEM = "You speak as the keeper of a lighthouse does."
GATED = f"#bash:until [ -e {acts.GATE} ]; do sleep 0.25; done\n#say:First.\n"
# What an ending needs of an agent
ASKS, LIVE, SYSTEM_TEXT, LIMIT = "ask", "live", "system", "limit"


@dataclass(frozen=True)
class Ending:
    """One ending: how it is provoked, and what is true then."""

    name: str
    script: str
    want: frozenset[str]  # `status/reason`, or `status` alone
    act: str = ""  # what is done to it while a tool runs, or the program is: a name in acts.py
    output: str | None = None
    calls: int | None = None  # tools that ran
    files: Mapping[str, str | None] = field(
        default_factory=dict
    )  # in the project at the end; None: not there
    permission: str = can.FULL
    model: str = ""
    timeout: int = 120  # a machine may be slow
    prompt: str = ""
    quick: bool = False
    needs: str = ""  # of the agent: ASKS, LIVE, SYSTEM_TEXT, LIMIT
    denies: bool = False  # a tool may not do what it was called for
    remembers: bool = True  # a resumed session knows the first prompt

    @property
    def is_answered(self) -> bool:
        """Say whether it asks something, and somebody else than a person at its screen answers."""
        return self.act in ("allow", "deny", acts.SAY_NOTHING)

    @property
    def is_live(self) -> bool:
        """Say whether the child has its own screen."""
        return self.needs == LIVE


def ending(name: str, script: str, *want: str, **more: object) -> Ending:
    """Make one row."""
    return Ending(name, script, frozenset(want), **more)  # type: ignore[arg-type]  # names of fields


REFUSED_BY_US, MODEL = "refused", "model"
COMPLETED = "completed/done"
BROKEN = ("failed/signal", "failed/exit", "failed/unfinished", "failed/error")
REFUSED = ("failed/error",)
RETRIED = ("failed/error", "failed/timeout")  # some brands try again for longer than we wait
DENIED = (COMPLETED, "aborted/stopped")  # some agents end their turn when somebody says no
NOT_MADE = {"made": None}
TOOLS = {"output": "Done: notes.txt says three.", "calls": 5, "files": {"notes.txt": "one\nthree\n"}}
ENDINGS = [
    ending("answer", "text", COMPLETED, output=HELLO, quick=True),
    ending("long prompt", "text", COMPLETED, output=HELLO, prompt=LONG, quick=True),
    ending("system prompt", "text", COMPLETED, output=HELLO, needs=SYSTEM_TEXT),
    ending("tools", "tools", COMPLETED, **TOOLS, quick=True),
    ending("two at once", "readonly", COMPLETED, output="Nothing was changed.", calls=2),
    ending("failed tool", "toolfails", COMPLETED, output="The command failed, so I answer without.", calls=1),
    ending(
        "denied",
        "denied",
        *(COMPLETED, *BROKEN),
        permission=can.READ_ONLY,
        denies=True,
        files=NOT_MADE,
        quick=True,
    ),
    ending(
        "asks, allowed",
        "writes",
        COMPLETED,
        needs=ASKS,
        permission=can.ASK,
        act="allow",
        output="I have tried.",
        calls=1,
        files={"made": "made\n"},
    ),
    *(
        ending(
            f"asks, {name}",
            "writes",
            *DENIED,
            needs=ASKS,
            permission=can.ASK,
            act=act,
            denies=True,
            files=NOT_MADE,
        )
        for name, act in (("denied", "deny"), ("no answer", "say_nothing"))
    ),
    ending("refusal", "refusal", *REFUSED),
    ending("400", "err400", *REFUSED, remembers=False),
    ending("401", "err401", *REFUSED, quick=True, remembers=False),
    ending("429", "err429", *RETRIED, timeout=30, remembers=False),
    ending("500", "err500", *RETRIED, timeout=30, remembers=False),
    ending("cut", "drop", *RETRIED, "failed/unfinished", "failed/exit", timeout=30, remembers=False),
    ending("length", "length", "failed/length", quick=True),
    ending(
        "unknown model", "", "failed/error", "failed/config", "failed/exit", model="nosuch", remembers=False
    ),
    ending("TERM in a tool", "busy", *BROKEN, act="term", quick=True),
    ending("INT in a tool", "busy", *BROKEN, act="int"),
    ending("KILL in a tool", "busy", *BROKEN, act="kill", quick=True),
    ending("stop", "busy", "aborted/stopped", act="stop", quick=True),
    ending("window closed", "busy", "aborted/closed", act="close"),
    ending("wrapper killed", "busy", "aborted/lost", act="kill_wrapper", quick=True),
    ending("timeout", "hang", "failed/timeout", timeout=25, remembers=False),
    ending("limit", "tools", "failed/limit", needs=LIMIT),
    ending("leaves a process", "nohup", COMPLETED, output="It runs in the background.", calls=1),
    ending("lingers", "text", COMPLETED, output=HELLO, act="linger", quick=True),
    ending("live, answer", "text", COMPLETED, output=HELLO, needs=LIVE),
    ending("live, tools", "tools", COMPLETED, **TOOLS, needs=LIVE),
    ending("live, 401", "err401", *REFUSED, needs=LIVE, remembers=False),
    ending(
        "live, asks, a person allows",
        "writes",
        COMPLETED,
        needs=LIVE,
        permission=can.ASK,
        act="say_yes",
        output="I have tried.",
        calls=1,
        files={"made": "made\n"},
    ),
    ending(
        "live, asks, allowed",
        "writes",
        COMPLETED,
        needs=LIVE,
        permission=can.ASK,
        act="allow",
        output="I have tried.",
        calls=1,
        files={"made": "made\n"},
    ),
    ending(
        "live, asks, denied",
        "writes",
        *DENIED,
        needs=LIVE,
        permission=can.ASK,
        act="deny",
        denies=True,
        files=NOT_MADE,
    ),
    ending("live, stop", "busy", "aborted/stopped", act="stop", needs=LIVE),
    ending("live, window closed", "busy", "aborted/closed", act="close", needs=LIVE),
    ending("live, KILL in a tool", "busy", *BROKEN, act="kill", needs=LIVE),
    ending("live, wrapper killed", "busy", "aborted/lost", act="kill_wrapper", needs=LIVE),
    ending(
        "live, a person types and leaves",
        "text",
        COMPLETED,
        act="take_over",
        prompt=GATED,
        output=acts.SECOND,
        needs=LIVE,
    ),
]
REPLAYED = ("gemini-acp",)  # its session is lost once it has been loaded, so we tell what was said before
TELLS_ITS_OWN = ("copilot",)  # its usage is that of the run alone, also after one that told nothing
# What their streams do not tell: the answer reads like a whole one.
UNTOLD: dict[str, tuple[str, ...]] = {
    "gemini": ("length", "refusal"),
    "qwen": ("length", "refusal"),
    "copilot": ("refusal",),
    "gemini-acp": ("length", "refusal", "denied"),
    "qwen-acp": ("length", "refusal"),
    "opencode-acp": ("length", "refusal"),
    "copilot-acp": ("length", "refusal"),
}
# Whose usage is that of the last call alone: of a turn, or of several tries in silence.
TELLS_LAST_CALL = {"opencode-acp": tuple(one.name for one in ENDINGS), "qwen-acp": ("length",)}
# What cannot be provoked at all, and why.
_NO_FLAG = "its limits are flags of its own, and tmuxagents passes none"
_NO_LIMIT = "its settings know no limit of turns"
_OUT_OF_REACH: dict[str, dict[str, str]] = {
    "limit": {
        "claude": _NO_FLAG,
        "copilot": _NO_FLAG,
        "copilot-acp": _NO_FLAG,
        "claude-acp": _NO_FLAG,
        "opencode": "its `steps` only ask the model to come to an end",
        "opencode-acp": "its `steps` only ask the model to come to an end",
        "qwen-acp": "over ACP it does not keep to its limit of turns",
        "codex": _NO_LIMIT,
        "codex-acp": _NO_LIMIT,
        "pi": _NO_LIMIT,
    },
}


def out_of_reach(brand: str, name: str) -> str | None:
    """Return why an ending cannot be provoked with a brand; None if it can."""
    return _OUT_OF_REACH.get(name, {}).get(brand)


def refused(brand: str, ending: Ending) -> str | None:
    """Return by which key tmuxagents has to refuse an ending: the agent has no such thing."""
    agent = agents.find(brand, agent_homes.BRANDS[brand].settings.get("type"))
    assert agent is not None
    has = agent.capabilities()
    if ending.permission != can.FULL and ending.permission not in has.permissions:
        return "permission"
    if ending.model and has.lists_models:
        return MODEL
    if ending.needs == LIVE and can.LIVE not in has.seats:
        return "live"
    if ending.needs == SYSTEM_TEXT and can.ADD not in has.system_prompt:
        return "system prompt"
    return None
