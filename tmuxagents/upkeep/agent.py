"""What doctor looks at of the agent, the programs it needs, and a person's own files. Joins."""

from __future__ import annotations

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
    from collections.abc import Iterator, Mapping

    from tmuxagents.presets.preset import Preset
    from tmuxagents.upkeep.doctor import Case

LIMIT_S = 2.0
_PI = "pi"
_SCRIPT = re.compile(rb"#![^\n]*\bnode\b")
_KEY_FILES = ("auth.json", "models.json", "settings.json")
_ALWAYS_KEYS = "auth.json"
_LOG_IN = "log in: start the agent, then /login; or set a provider's key in its models.json"


def agent(case: Case) -> list[Check]:
    """Look at the agent's program, its version, and which models it has credentials for."""
    name = case.settings.default_agent
    (program, *_) = installed.command(name, case.environment, case.settings)
    if not (os.path.isfile(program) and os.access(program, os.X_OK)):
        hint = f"chmod +x {program}, or name another program in TMUXAGENTS_PI or agents.pi.command"
        return [checks.broken("agent", f"{program} cannot be executed: each run would fail", hint)]
    known = installed.known(name, case.environment, case.settings)
    what = f"{name} {known.version or 'of an unknown version'}: {' '.join(known.command)}"
    hint = f"look at what it prints: {known.command[0]} --version"
    found = [checks.warning("agent", f"{words} ({known.command[0]})", hint) for words in known.warnings]
    return [*(found or [Check("agent", what)]), *_models(case, known)]


def _models(case: Case, known: installed.Known) -> Iterator[Check]:
    if known.ids is None:
        return  # a warning of the agent
    if not known.ids:
        yield checks.broken("models", "No provider has credentials: there are no models", _LOG_IN)
        return
    providers = {one.partition("/")[0] for one in known.ids}
    yield Check("models", f"{len(known.ids)} of {checks.some(sorted(providers))}")
    if case.settings.default_model is not None:
        try:
            resolve.resolve(None, case.settings.default_agent, case.environment, case.settings)
        except TmuxAgentsError as error:
            hint = error.hint or "tmuxagents models lists them"
            yield checks.warning("models", f"The setting defaultModel: {error.message}", hint)


# --- programs that the agent needs ------------------------------------------------------------------------


def node(case: Case) -> list[Check]:
    """Look at node, if the agent is a program for it that takes it from PATH."""
    try:
        (program, *_) = installed.command(case.settings.default_agent, case.environment, case.settings)
    except TmuxAgentsError:
        return []  # told where the agent is looked at
    path = process.find_program("node", case.environment.get("PATH", ""))
    said = None if path is None else _said(case.environment, path)[0]
    return [checks.node(path, said, needed=_SCRIPT.match(_beginning(program)) is not None)]


def _beginning(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(256)
    except OSError:
        return b""


def extension(case: Case) -> list[Check]:
    """Look at which extension of ours pi loads, if it was integrated."""
    loaded = pi.extension_of(disk.read(pi.path_of(case.environment)))
    if loaded is None:
        return []
    return [checks.extension(loaded, str(shipped.pi_extension()), there=os.path.exists(loaded))]


def tools(case: Case) -> list[Check]:
    """Look at the programs behind pi's tools grep and find, where pi looks for them."""
    if case.settings.default_agent != _PI:
        return []
    folders = f"{files.agent_dir(case.environment)}/bin:{case.environment.get('PATH', '')}"
    rg = process.find_program("rg", folders)
    fd = process.find_program("fd", folders) or process.find_program("fdfind", folders)
    there = [path for path in (rg, fd) if path is not None]
    said = dict(zip(there, _said(case.environment, *there), strict=True))
    return [checks.ripgrep(rg, said.get(rg or "")), checks.fd(fd, said.get(fd or ""))]


def _said(environment: Mapping[str, str], *programs: str) -> list[bytes | None]:
    """Return what programs say of their versions."""
    questions = [ask.Question([path, "--version"], environment, limit_s=LIMIT_S) for path in programs]
    return ask.ask(questions)


# --- files ------------------------------------------------------------------------------------------------


def presets(case: Case) -> list[Check]:
    """Look for presets and profiles that are broken, and for those that hide others."""
    survey = preset_files.survey(case.folder, case.environment, case.settings)
    hint = "tmuxagents presets check says more"
    found = [checks.warning("presets", words, hint) for words in survey.warnings]
    found += [check for one in survey.presets if (check := _hiding(one)) is not None]
    counted = sum(one.hidden_by is None for one in survey.presets)
    return [*found, Check("presets", f"{counted} can be named in {case.folder}")]


def _hiding(preset: Preset) -> Check | None:
    """Say what a preset hides; louder where a project's one allows more than the person's own."""
    loud = catalogue.hiding(preset)
    if loud is not None and " allows more tools " in loud:
        return checks.warning("presets", loud, f"-p global:{preset.name} uses your own")
    if preset.hidden_by is None:
        return None
    return Check("presets", f"{preset.name}: {preset.path} is hidden by {preset.hidden_by}")


def keys(case: Case) -> list[Check]:
    """Look for files with keys that others may read."""
    there = sorted(set(_key_files(case)))
    loose = [path for path in there if os.stat(path).st_mode & (stat.S_IRGRP | stat.S_IROTH)]
    if loose:
        hint = f"chmod 600 {' '.join(loose)}"
        return [checks.warning("keys", f"Others may read the keys in {checks.some(loose)}", hint)]
    return [
        Check("keys", f"nobody else may read those of your files that hold keys (looked at: {len(there)})")
    ]


def _key_files(case: Case) -> Iterator[str]:
    folder = files.agent_dir(case.environment)
    for path in (f"{folder}/{name}" for name in _KEY_FILES):
        if _holds_keys(path):
            yield path
    above = project.upwards(case.folder, files.user_home(case.environment))
    places = [presets_disk.global_folder(case.environment, kind) for kind, _ in presets_disk.FOLDERS]
    places += [presets_disk.project_folder(one, kind) for one in above for kind, _ in presets_disk.FOLDERS]
    for place in places:
        yield from (path for path in _markdown(place) if _holds_keys(path))


def _markdown(place: str) -> list[str]:
    try:
        return [f"{place}/{name}" for name in os.listdir(place) if name.endswith(".md")]
    except OSError:
        return []


def _holds_keys(path: str) -> bool:
    try:
        text = disk.read(path)
    except TmuxAgentsError:
        return False
    if text is None or os.path.basename(path) == _ALWAYS_KEYS:
        return text is not None
    return checks.header_holds_key(text) if path.endswith(".md") else checks.holds_key(text)


def settings(case: Case) -> list[Check]:
    """Say which settings are in force, and what had to be ignored."""
    hint = "correct the file"
    found = [checks.warning("settings", words, hint) for words in case.settings.warnings]
    return [*found, checks.settings(rules.rows(case.settings))]
