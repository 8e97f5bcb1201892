"""The endings, and what is true of each: it follows from what the model answered and from what was done.

What an agent says of itself decides nothing here. UNTOLD has the endings that its stream cannot tell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

HELLO = "Hello from the model server. All is well."
FULL, READ_ONLY = "full", "read-only"
# 300 KB that begin with dashes and have quotes, backslashes, and letters of two and four bytes
LONG = "--help -p 'x' \"y\" \\n $HOME é 🦀\n" + "word " * 60_000


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
    permission: str = FULL
    model: str = ""
    timeout: int = 45
    prompt: str = ""
    quick: bool = False
    limit: bool = False  # at the agent's own limit of two turns, where it has one
    remembers: bool = True  # a resumed session knows the first prompt


def ending(name: str, script: str, *want: str, **more: object) -> Ending:
    """Make one row."""
    return Ending(name, script, frozenset(want), **more)  # type: ignore[arg-type]


COMPLETED = "completed/done"
BROKEN = ("failed/signal", "failed/exit", "failed/unfinished", "failed/error")
REFUSED = ("failed/error",)
RETRIED = ("failed/error", "failed/timeout")  # some brands try again for longer than we wait
ENDINGS = [
    ending("answer", "text", COMPLETED, output=HELLO, quick=True),
    ending("long prompt", "text", COMPLETED, output=HELLO, prompt=LONG, quick=True),
    ending(
        "tools",
        "tools",
        COMPLETED,
        output="Done: notes.txt says three.",
        calls=5,
        files={"notes.txt": "one\nthree\n"},
        quick=True,
    ),
    ending("two at once", "readonly", COMPLETED, output="Nothing was changed.", calls=2),
    ending("failed tool", "toolfails", COMPLETED, output="The command failed, so I answer without.", calls=1),
    ending("denied", "denied", COMPLETED, *BROKEN, permission=READ_ONLY, files={"made": None}, quick=True),
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
    ending("timeout", "busy", "failed/timeout", timeout=25),
    ending("limit", "tools", "failed/limit", limit=True),
    ending("leaves a process", "nohup", COMPLETED, output="It runs in the background.", calls=1),
    ending("lingers", "text", COMPLETED, output=HELLO, act="linger", quick=True),
]
# What their streams do not tell: the answer reads like a whole one.
UNTOLD: dict[str, tuple[str, ...]] = {
    "gemini": ("length", "refusal"),
    "qwen": ("length", "refusal"),
    "copilot": ("refusal",),
}
