"""The facts about an installed agent: its command, version and models. An agent is asked once, then cached.

Every launch needs these facts. While the cache (`agents.json`) is valid, they cost a few stats and no slow
import. An entry of unexpected shape is dropped, and the agent is asked again.

Joins.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import NamedTuple

from tmuxagents.agents import AGENTS, find
from tmuxagents.agents import environment as environments
from tmuxagents.agents import models as rules
from tmuxagents.cpython import sha256
from tmuxagents.errors import BadRequest, Unusable
from tmuxagents.runs import directory, writing
from tmuxagents.system import identity, places, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.agents.base import Agent
    from tmuxagents.settings.keys import Settings

MEMORY = "agents.json"
LIMIT_S = 2.0
_PATIENT_LIMIT_S = 5.0  # the first start may have to read the program from a slow disk
_MOST_BYTES = 32 * 1024 * 1024
_MOST_SETTINGS = 1024 * 1024


class Known(NamedTuple):
    """The facts about one agent. `models` is None if the agent did not answer."""

    command: list[str]
    version: str | None
    models: list[dict[str, Any]] | None
    generation: int
    warnings: list[str]
    cached: bool

    @property
    def ids(self) -> list[str] | None:
        """Return the names of the models, in the agent's own order."""
        return None if self.models is None else [model["id"] for model in self.models]


def command(name: str, environment: Mapping[str, str], settings: Settings) -> list[str]:
    """Return an agent's command with the absolute path of its program, or raise agent-missing."""
    agent = agent_of(name, settings)
    words, path = _program(agent, environment, settings)
    if path is None:
        where = "" if "/" in words[0] else " on PATH"
        message = f"The agent {agent.name} is not installed: there is no {words[0]}{where}."
        variables = f"{agent.program_variable} or agents.{agent.name}.command"
        hint = f"install it: {agent.how_to_install}; or name its program in {variables}"
        other = next((one for one in AGENTS if _program(AGENTS[one], environment, settings)[1]), None)
        if other is not None:
            hint = f"{other} is installed: --agent {other}, or the setting defaultAgent; else {hint}"
        raise Unusable(message, kind="agent-missing", hint=hint)
    return [os.path.abspath(path), *words[1:]]


def _program(
    agent: Agent, environment: Mapping[str, str], settings: Settings
) -> tuple[Sequence[str], str | None]:
    """Return the words that start an agent, and the path of its program, if it is there."""
    words = agent.program_words(environment, settings.agent_commands)
    return words, process.find_program(words[0], environment.get("PATH", ""))


def known(name: str, environment: Mapping[str, str], settings: Settings, *, refresh: bool = False) -> Known:
    """Return the facts about an agent, from the cache; ask the agent again if its files have changed."""
    words = command(name, environment, settings)
    about = agent_of(name, settings).questions()
    agent_dir = places.agent_dir(environment)
    home = places.own_home(environment)
    watched = _watched(words, agent_dir, about.FILES)
    key = _key(name, words, agent_dir, environment)
    before = [_mark_of(path) for path in watched]
    former = _read(home).get(key)
    if former is not None and not refresh and holds(former, before, time.time()):
        return _known(words, former, cached=True)
    answers = _ask(agent_of(name, settings), words, environment, agent_dir)
    # The agent may create files when it is first asked: these do not make the answer outdated.
    stamp = [old or _mark_of(path) for old, path in zip(before, watched, strict=True)]
    number = generation(former, answers["models"])
    entry = {**answers, "stamp": stamp, "generation": number, "askedAt": round(time.time(), 3)}
    with contextlib.suppress(OSError):  # where it cannot be saved, the next caller asks again
        places.make_folders(home)
        writing.replace(os.path.realpath(home), MEMORY, written(_read(home), key, entry))
    return _known(words, entry, cached=False)


def _watched(words: Sequence[str], agent_dir: str, files: Sequence[str]) -> list[str]:
    """Return the files whose change makes an agent's answers outdated."""
    programs = [word for word in words if word.startswith("/")]
    return programs + [f"{agent_dir}/{file}" for file in files]


def _key(name: str, words: Sequence[str], agent_dir: str, environment: Mapping[str, str]) -> str:
    """Return the key of an entry; it covers the names of credentials, never their values."""
    asked = json.dumps([process.host(), name, words, agent_dir, credentials(environment)])
    return sha256(asked.encode("utf-8", "surrogateescape"))[:16]


def lists_models(name: str, settings: Settings) -> bool:
    """Say whether an agent can be asked for its models."""
    return bool(agent_of(name, settings).questions().MODELS)


def own_model(name: str, environment: Mapping[str, str], settings: Settings, cwd: str) -> str | None:
    """Return the model that an agent uses in a folder if none is named; None if its settings do not say."""
    about = agent_of(name, settings).questions()
    texts = []
    for path in (f"{places.agent_dir(environment)}/{about.SETTINGS}", f"{cwd}/{about.FOLDER_SETTINGS}"):
        try:
            texts.append(directory.read_bytes(path, limit=_MOST_SETTINGS) or b"")
        except OSError:
            texts.append(b"")
    return about.own_model(*texts)


def names(settings: Settings) -> list[str]:
    """Return the names of all agents: the supported ones, and those of the user's settings."""
    return [*AGENTS, *(name for name in settings.agent_kinds if name not in AGENTS)]


def agent_of(name: str, settings: Settings) -> Agent:
    """Return an agent by its name, or refuse the name."""
    agent = find(name, settings.agent_kinds.get(name))
    if agent is None:
        all_names = names(settings)
        message = f'Unknown agent: "{name[:40]}". Available agents: {", ".join(all_names)}'
        raise BadRequest(message, kind="unknown-agent", field="agent", candidates=all_names)
    return agent


def _known(words: list[str], entry: Mapping[str, Any], *, cached: bool) -> Known:
    facts = {key: entry[key] for key in ("version", "models", "generation", "warnings")}
    return Known(words, **facts, cached=cached)


def _mark_of(path: str) -> list[int] | None:
    """Return numbers that change with a file, following links; None if there is no file."""
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return None
    return [facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns]


def _read(home: str) -> dict[str, dict[str, Any]]:
    try:
        return parse(directory.read_bytes(f"{home}/{MEMORY}", limit=_MOST_BYTES))
    except OSError:
        return {}


def _ask(agent: Agent, words: list[str], environment: Mapping[str, str], agent_dir: str) -> dict[str, Any]:
    """Ask an agent for its version and its models, and end every process that this started."""
    from tmuxagents.agents.ask import Question, ask  # noqa: PLC0415  (only for an outdated cache)
    from tmuxagents.runs import leftovers  # noqa: PLC0415  (only for an outdated cache)
    from tmuxagents.runs.leftovers import LeftoverScope  # noqa: PLC0415  (as above)

    about = agent.questions()
    mark = f"question-{identity.secret()}"
    own = {**agent.environment(agent_dir, None), **about.QUIET}
    surroundings = environments.of_child(environment, run_id=mark, agent=own)
    since = process.myself().start_time

    def question(arguments: Sequence[str], limit_s: float, **more: Any) -> Question:
        return Question([*words, *arguments], surroundings, limit_s=limit_s, **more)

    def is_list(line: bytes) -> bool:
        return about.models(line) is not None

    questions = {}
    if about.VERSION:
        questions["version"] = question(about.VERSION, _PATIENT_LIMIT_S)
    if about.MODELS:
        questions["models"] = question(about.MODELS, LIMIT_S, request=about.REQUEST, enough=is_list)
    try:
        answers = dict(zip(questions, ask([*questions.values()]), strict=True))
        answer = answers.get("models")
        models = None if answer is None else about.models(answer)
        if models is None and about.LISTING:
            (listed,) = ask([question(about.LISTING, _PATIENT_LIMIT_S)])
            models = None if listed is None else about.listing(listed)
    finally:
        leftovers.end(LeftoverScope(run_id=mark, uid=os.getuid(), since=since))
    answer = answers.get("version")
    version = None if answer is None else about.version(answer)
    warnings = about.doubts(agent.name, version, models)
    return {"version": version, "models": models, "warnings": warnings, "lists": bool(about.MODELS)}


# --- the cache, as text -----------------------------------------------------------------------------------

_ROUNDED_S = 0.001
SILENCE_S = 60.0  # time before an agent that answered only in part is asked again
MOST_ENTRIES = 16
_MODEL = {"id", "provider", *rules.FACTS}
# Variables with these words in their names may hold credentials, which decide about the models on offer.
_CREDENTIALS = frozenset({"KEY", "TOKEN", "PROFILE", "PROJECT", "CREDENTIALS", "REGION", "LOCATION"})


def parse(text: bytes | None) -> dict[str, dict[str, Any]]:
    """Return the valid entries of a cache."""
    document = directory.document_of(text) or {}
    entries = document.get("agents") if document.get("v") == 1 else None
    if not isinstance(entries, dict):
        return {}
    return {key: entry for key, entry in entries.items() if _makes_sense(entry)}


def written(entries: Mapping[str, dict[str, Any]], key: str, entry: dict[str, Any]) -> bytes:
    """Return a cache with one entry added or replaced, and without the oldest surplus entries."""
    others = sorted((other for other in entries if other != key), key=lambda other: entries[other]["askedAt"])
    kept = {other: entries[other] for other in others[-(MOST_ENTRIES - 1) :]}
    return json.dumps({"v": 1, "agents": {**kept, key: entry}}).encode("ascii")


def holds(entry: Mapping[str, Any], stamp: Sequence[Any], now: float) -> bool:
    """Say whether an entry is still valid. An incomplete answer is valid for a short time only."""
    if entry["stamp"] != stamp:
        return False
    # The time was rounded. One that is later than now was written under another clock.
    has_models = entry["models"] is not None or entry.get("lists") is False
    is_complete = entry["version"] is not None and has_models
    return is_complete or -_ROUNDED_S <= now - entry["askedAt"] < SILENCE_S


def generation(former: Mapping[str, Any] | None, models: Sequence[Mapping[str, Any]] | None) -> int:
    """Return the generation of a list of models: one more than the former list's, if other models are in it.

    Order and case do not count. An unknown list keeps the former generation.
    """
    number: int = former["generation"] if former else 0
    before = former["models"] if former else None
    if models is None or (before is not None and _names(before) == _names(models)):
        return number
    return number + 1


def _names(models: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted(model["id"].lower() for model in models)


def credentials(environment: Mapping[str, str]) -> list[str]:
    """Return the names of variables that may hold credentials."""
    named = (name for name, value in environment.items() if value)
    return sorted(name for name in named if name.upper().rpartition("_")[2] in _CREDENTIALS)


def _makes_sense(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    models, warnings, version = entry.get("models"), entry.get("warnings"), entry.get("version")
    listed = [] if models is None else models  # None: the agent has not reported its models
    return (
        (version is None or isinstance(version, str))
        and isinstance(listed, list)
        and all(
            isinstance(row, dict) and row.keys() >= _MODEL and isinstance(row["id"], str) for row in listed
        )
        and isinstance(warnings, list)
        and all(isinstance(warning, str) for warning in warnings)
        and type(entry.get("generation")) is int
        and type(entry.get("askedAt")) in (int, float)
        and isinstance(entry.get("stamp"), list)
    )
