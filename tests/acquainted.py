"""What an agent says of itself, asked once a process.

The first launch in a new home starts the agent twice, for its version and for its models, and nearly each
flow has a new home. So a test process keeps the answers, and gives them to a home before its first launch, in
the cache where the product looks for them. The product compares that with the agent's files as ever, and asks
again where one has changed. tests/agents/test_models.py shows that it asks, and when.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any

from tmuxagents.agents import installed
from tmuxagents.errors import TmuxAgentsError
from tmuxagents.runs import directory, writing
from tmuxagents.settings import load
from tmuxagents.system import places

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

LAUNCHES = {"launch", "run", "resume", "retry", "call"}
_AGENT = "pi"
_told: dict[Hashable, dict[str, Any]] = {}


def introduce(environment: Mapping[str, str]) -> None:
    """Give a home that exists and knows no agent yet what its agent says of itself."""
    with contextlib.suppress(TmuxAgentsError, OSError):  # an odd home is the test's own
        home = places.own_home(environment)
        if os.path.isdir(home) and not os.path.lexists(f"{home}/{installed.MEMORY}"):
            _introduce(environment, os.path.realpath(home))


def _introduce(environment: Mapping[str, str], home: str) -> None:
    settings = load.load(environment, None)
    words = installed.command(_AGENT, environment, settings)
    agent_dir = places.agent_dir(environment)
    files = installed.agent_of(_AGENT, settings).questions().FILES
    watched = installed._watched(words, agent_dir, files)
    texts = [directory.read_bytes(path) for path in watched if path not in words]
    asked = (*words, *texts, *installed.credentials(environment))
    if asked in _told:
        stamp = [installed._mark_of(path) for path in watched]
        entry = {**_told[asked], "stamp": stamp, "generation": 1, "askedAt": round(time.time(), 3)}
        key = installed._key(_AGENT, words, agent_dir, environment)
        writing.replace(home, installed.MEMORY, installed.written({}, key, entry))
        return
    installed.known(_AGENT, environment, settings)
    (entry,) = installed._read(home).values()
    if None not in (entry["version"], entry["models"]):  # it was not too busy to answer
        _told[asked] = entry
