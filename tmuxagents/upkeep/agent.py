"""The checks of the agent, of the programs that it needs, and of a person's own files. Joins."""

from __future__ import annotations

import contextlib
import os
import re
import stat

from tmuxagents.agents import ask, installed, resolve
from tmuxagents.errors import TmuxAgentsError
from tmuxagents.integrate import disk, pi
from tmuxagents.presets import catalogue
from tmuxagents.presets import disk as presets_disk
from tmuxagents.presets import survey as preset_files
from tmuxagents.settings import keys as rules
from tmuxagents.system import places as files
from tmuxagents.system import process, project, shipped
from tmuxagents.upkeep import checks
from tmuxagents.upkeep.checks import Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tmuxagents.upkeep.doctor import Case

LIMIT_S = 2.0
_PI = "pi"
_SCRIPT = re.compile(rb"#![^\n]*\bnode\b")
_KEY_FILES = ("auth.json", "models.json", "settings.json")
_ALWAYS_KEYS = "auth.json"
_LOG_IN = "log in: start the agent, then /login; or set a provider's key in its models.json"


def agent(case: Case) -> Iterator[Check]:
    """Check the agent's program, its version, and for which models it has credentials."""
    name = case.settings.default_agent
    (program, *_) = installed.command(name, case.environment, case.settings)
    if not (os.path.isfile(program) and os.access(program, os.X_OK)):
        hint = f"chmod +x {program}, or name another program in TMUXAGENTS_PI or agents.pi.command"
        yield checks.broken("agent", f"{program} cannot be executed: each run would fail", hint)
        return
    known = installed.known(name, case.environment, case.settings)
    hint = f"look at what it prints: {known.command[0]} --version"
    for words in known.warnings:
        yield checks.warning("agent", f"{words} ({known.command[0]})", hint)
    if not known.warnings:
        yield Check("agent", f"{name} {known.version or 'of an unknown version'}: {' '.join(known.command)}")
    if known.ids:
        providers = {one.partition("/")[0] for one in known.ids}
        yield Check("models", f"{len(known.ids)} of {checks.some(sorted(providers))}")
    elif known.ids is not None:  # else one of the warnings says so
        yield checks.broken("models", "No provider has credentials: there are no models", _LOG_IN)
    if known.ids and case.settings.default_model is not None:
        try:
            resolve.resolve(None, name, case.environment, case.settings)
        except TmuxAgentsError as error:
            hint = error.hint or "tmuxagents models lists them"
            yield checks.warning("models", f"The setting defaultModel: {error.message}", hint)


def others(case: Case) -> Iterator[Check]:
    """Name the other agents that are installed; one is a warning only if its version is too old."""
    for name in installed.names(case.settings):
        if name == case.settings.default_agent:
            continue
        try:
            known = installed.known(name, case.environment, case.settings)
        except TmuxAgentsError:
            continue  # it is not installed, and need not be
        program = known.command[0]
        for words in known.warnings:
            yield checks.warning(
                "agents", f"{words} ({program})", f"look at what it prints: {program} --version"
            )
        if not known.warnings:
            yield Check(
                "agents", f"{name} {known.version or 'of an unknown version'}: {' '.join(known.command)}"
            )


# --- programs that the agent needs ------------------------------------------------------------------------


def node(case: Case) -> list[Check]:
    """Check node, if the agent is a script for it that takes it from PATH."""
    try:
        (program, *_) = installed.command(case.settings.default_agent, case.environment, case.settings)
        with open(program, "rb") as file:
            needed = _SCRIPT.match(file.read(256)) is not None
    except TmuxAgentsError:
        return []  # the check of the agent reports it
    except OSError:
        needed = False
    if not needed:
        return [Check("node", "the agent takes none from PATH")]
    return _judged(case, node=process.find_program("node", case.environment.get("PATH", "")))


def extension(case: Case) -> Iterator[Check]:
    """Check which of our extensions pi loads, if it was integrated."""
    loaded = pi.extension_of(disk.read(pi.path_of(case.environment)))
    if loaded is not None:
        yield checks.extension(loaded, str(shipped.pi_extension()), there=os.path.exists(loaded))


def tools(case: Case) -> list[Check]:
    """Check the programs behind pi's tools grep and find, where pi looks for them."""
    if case.settings.default_agent != _PI:
        return []
    folders = f"{files.agent_dir(case.environment)}/bin:{case.environment.get('PATH', '')}"
    fd = process.find_program("fd", folders) or process.find_program("fdfind", folders)
    return _judged(case, rg=process.find_program("rg", folders), fd=fd)


def _judged(case: Case, **programs: str | None) -> list[Check]:
    """Ask programs for their versions, all at once, and judge them."""
    there = [path for path in programs.values() if path is not None]
    questions = [ask.Question([path, "--version"], case.environment, limit_s=LIMIT_S) for path in there]
    said = dict(zip(there, ask.ask(questions), strict=True))
    return [checks.program(name, path, said.get(path or "")) for name, path in programs.items()]


# --- files ------------------------------------------------------------------------------------------------


def presets(case: Case) -> Iterator[Check]:
    """Check for presets and profiles that are broken, and for those that hide others."""
    survey = preset_files.survey(case.folder, case.environment, case.settings)
    for words in survey.warnings:
        yield checks.warning("presets", words, "tmuxagents presets check says more")
    for one in survey.presets:
        loud = catalogue.hiding(one)
        if loud is not None and " allows more tools " in loud:
            yield checks.warning("presets", loud, f"-p global:{one.name} uses your own")
        elif one.hidden_by is not None:
            yield Check("presets", f"{one.name}: {one.path} is hidden by {one.hidden_by}")
    counted = sum(one.hidden_by is None for one in survey.presets)
    yield Check("presets", f"{counted} in {case.folder}" if counted else "none found")


def keys(case: Case) -> Check:
    """Check for files with keys that others may read."""
    folder = files.agent_dir(case.environment)
    paths = {f"{folder}/{name}" for name in _KEY_FILES}
    above = project.upwards(case.folder, files.user_home(case.environment))
    for kind, _ in presets_disk.FOLDERS:
        own = presets_disk.global_folder(case.environment, kind)
        for place in (own, *(presets_disk.project_folder(one, kind) for one in above)):
            with contextlib.suppress(OSError):
                paths |= {f"{place}/{name}" for name in os.listdir(place) if name.endswith(".md")}
    there = sorted(filter(_holds_keys, paths))
    loose = [path for path in there if os.stat(path).st_mode & (stat.S_IRGRP | stat.S_IROTH)]
    if loose:
        hint = f"chmod 600 {' '.join(loose)}"
        return checks.warning("keys", f"Others may read the keys in {checks.some(loose)}", hint)
    return Check("keys", f"only you can read your files with keys (found: {len(there)})")


def _holds_keys(path: str) -> bool:
    try:
        text = disk.read(path)
    except TmuxAgentsError:
        return False
    if text is None or os.path.basename(path) == _ALWAYS_KEYS:
        return text is not None
    return checks.header_holds_key(text) if path.endswith(".md") else checks.holds_key(text)


def settings(case: Case) -> Iterator[Check]:
    """Say which settings are in force, and what had to be ignored."""
    for words in case.settings.warnings:
        yield checks.warning("settings", words, "correct the file")
    yield checks.settings(rules.rows(case.settings))
