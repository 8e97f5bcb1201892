"""What is known of an installed agent: its command, its version, its models. Asked once, then remembered.

Every launch comes along here: where the memory holds, it costs a few stats and no import that is dear.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import time

from tmuxagents.agents import AGENTS
from tmuxagents.core import agent_memory as memory
from tmuxagents.core import environment as environments
from tmuxagents.edges import process, rundir, rundir_writing
from tmuxagents.edges import settings as files
from tmuxagents.errors import BadRequest, Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.agents.base import Agent
    from tmuxagents.core.settings import Settings

MEMORY = "agents.json"
LIMIT_S = 2.0
_PATIENT_LIMIT_S = 5.0  # a program that nobody has started for a while comes from a slow disk
_MOST_BYTES = 32 * 1024 * 1024


class Known:
    """An agent as far as it is known.

    `models` is None where the agent did not say; `cached`: it was not asked just now.
    """

    __slots__ = ("cached", "command", "generation", "models", "version", "warnings")

    def __init__(self, command: list[str], entry: Mapping[str, Any], *, cached: bool) -> None:
        self.command = command
        self.version: str | None = entry["version"]
        self.models: list[dict[str, Any]] | None = entry["models"]
        self.generation: int = entry["generation"]
        self.cached = cached
        self.warnings: list[str] = entry["warnings"]

    @property
    def ids(self) -> list[str] | None:
        """Return the names of the models, in the agent's own order."""
        return None if self.models is None else [model["id"] for model in self.models]


def command(name: str, environment: Mapping[str, str], settings: Settings) -> list[str]:
    """Return an agent's command with the absolute path of its program, or raise agent-missing."""
    agent = _agent(name)
    named = environment.get(agent.program_variable)
    words = [named] if named else settings.agent_commands.get(agent.name, [agent.program])
    path = process.find_program(words[0], environment.get("PATH", ""))
    if path is None:
        message = f"The agent {agent.name} is not installed: there is no {words[0]}."
        hint = f"install it, or name its program in {agent.program_variable} or agents.{agent.name}.command"
        raise Unusable(message, kind="agent-missing", hint=hint)
    return [os.path.abspath(path), *words[1:]]


def known(name: str, environment: Mapping[str, str], settings: Settings, *, refresh: bool = False) -> Known:
    """Return what is known of an agent; ask it if its files have changed since."""
    words = command(name, environment, settings)
    about = _questions(name)
    agent_dir = files.agent_dir(environment)
    home = files.own_home(environment)
    watched = [word for word in words if word.startswith("/")]
    watched += [f"{agent_dir}/{file}" for file in about.FILES]
    key = _key(name, words, agent_dir, environment)
    before = [_mark_of(path) for path in watched]
    former = _read(home).get(key)
    if former is not None and not refresh and memory.holds(former, before, time.time()):
        return Known(words, former, cached=True)
    answers = _ask(_agent(name), words, environment, agent_dir)
    # What the agent itself makes when it is asked for the first time is no reason to ask again.
    stamp = [old or _mark_of(path) for old, path in zip(before, watched, strict=True)]
    number = memory.generation(former, answers["models"])
    entry = {**answers, "stamp": stamp, "generation": number, "askedAt": round(time.time(), 3)}
    _write(home, key, entry)
    return Known(words, entry, cached=False)


def _agent(name: str) -> Agent:
    agent = AGENTS.get(name)
    if agent is None:
        message = f'Unknown agent: "{name[:40]}". Available agents: {", ".join(AGENTS)}'
        raise BadRequest(message, kind="unknown-agent", field="agent", candidates=list(AGENTS))
    return agent


def _questions(name: str) -> Any:
    """Return what a brand is asked; beside the adapter, because no wrapper needs it."""
    return importlib.import_module(f"tmuxagents.agents.{name}_questions")


def _key(name: str, words: list[str], agent_dir: str, environment: Mapping[str, str]) -> str:
    """Return what distinguishes one memory from another: machine, command, folder, credentials by name."""
    what = json.dumps([process.host(), name, words, agent_dir, memory.credentials(environment)])
    return hashlib.sha256(what.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _mark_of(path: str) -> list[int] | None:
    """Return what tells that a file was changed, behind whatever links."""
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return None
    return [facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns]


def _read(home: str) -> dict[str, dict[str, Any]]:
    try:
        return memory.parse(rundir.read_bytes(f"{home}/{MEMORY}", limit=_MOST_BYTES))
    except OSError:
        return {}


def _write(home: str, key: str, entry: dict[str, Any]) -> None:
    """Remember; where that is not possible, the next one asks again."""
    with contextlib.suppress(OSError):
        os.makedirs(home, mode=0o700, exist_ok=True)
        rundir_writing.replace(os.path.realpath(home), MEMORY, memory.written(_read(home), key, entry))


def _ask(agent: Agent, words: list[str], environment: Mapping[str, str], agent_dir: str) -> dict[str, Any]:
    """Ask an agent for its version and its models, and end whatever that has started."""
    from tmuxagents import tree  # noqa: PLC0415  (only where the memory does not know)
    from tmuxagents.core.leftovers import Whose  # noqa: PLC0415
    from tmuxagents.edges.agentask import Question, ask  # noqa: PLC0415

    about = _questions(agent.name)
    mark = f"question-{rundir_writing.secret()}"
    own = {**agent.environment(agent_dir, {}), **about.QUIET}
    surroundings = environments.of_child(environment, run_id=mark, agent=own)
    since = process.myself().start_time

    def question(arguments: tuple[str, ...], limit_s: float, **more: Any) -> Question:
        return Question([*words, *arguments], surroundings, limit_s=limit_s, **more)

    def enough(line: bytes) -> bool:
        return about.models(line) is not None

    of_models = question(about.MODELS, LIMIT_S, request=about.REQUEST, enough=enough)
    try:
        said, told = ask([question(about.VERSION, _PATIENT_LIMIT_S), of_models])
        models = None if told is None else about.models(told)
        if models is None:
            (listed,) = ask([question(about.LISTING, _PATIENT_LIMIT_S)])
            models = None if listed is None else about.listing(listed)
    finally:
        tree.end(tree.Scope(Whose(run_id=mark, uid=os.getuid()), since=since))
    version = None if said is None else about.version(said)
    warnings = _warnings(agent.name, about, version, silent=models is None)
    return {"version": version, "models": models, "warnings": warnings}


def _warnings(name: str, about: Any, version: str | None, *, silent: bool) -> list[str]:
    oldest = ".".join(map(str, about.OLDEST))
    found = []
    if version is None:
        found.append(f"{name} does not tell its version; {oldest} or newer is needed")
    elif about.is_old(version):
        found.append(f"{name} {version} is older than {oldest}, the oldest that is supported")
    if silent:
        found.append(f"{name} does not tell its models; which one is asked for is not checked")
    return found
