"""Doctor's checks of the machine, the agent, and a person's own files. Joins."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import stat
import tempfile

from tmuxagents import tmux
from tmuxagents.agents import ask, installed, resolve
from tmuxagents.errors import TmuxAgentsError
from tmuxagents.integrate import disk, pi
from tmuxagents.presets import catalogue
from tmuxagents.presets import disk as presets_disk
from tmuxagents.presets import survey as preset_files
from tmuxagents.registry import database, schema
from tmuxagents.settings import keys as rules
from tmuxagents.system import places, process, project, removal, shipped
from tmuxagents.text.checks import Check, broken, warning
from tmuxagents.upkeep import checks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tmuxagents.agents.installed import Known
    from tmuxagents.upkeep.doctor import Case


LIMIT_S = 2.0
_MARGIN = 64  # watches that the user's other programs need at the same time
_IN_CREATE = 0x100
_ALL_USED = (errno.EMFILE, errno.ENOSPC)
_LIMITS = "/proc/sys/fs/inotify"
_PI = "pi"
_SCRIPT = re.compile(rb"#![^\n]*\bnode\b")
_KEY_FILES = ("auth.json", "models.json", "settings.json")
_LOG_IN = "log in: start the agent, then /login; or set a provider's key in its models.json"


# --- the machine ------------------------------------------------------------------------------------------


def tmux_program(case: Case) -> Check:
    """Check the tmux on PATH."""
    version = tmux.client_version()
    return Check("tmux", f"{process.find_program('tmux', case.environment.get('PATH', ''))} is {version}")


def server(case: Case) -> Iterator[Check]:
    """Check the tmux server that a run would use, and request its identity."""
    chosen, socket = case.place, case.place.socket
    if chosen.warning:
        yield warning("server", chosen.warning, "unset TMUX")
    tmux.refuse_impossible(socket)
    why = f"(by {chosen.source})"
    if tmux.is_denied(socket) or tmux.listening(socket) is None:
        yield Check("server", f"none runs at {socket} {why}; the first launch starts one")
    else:
        pid = tmux.Tmux(socket).identity().pid
        yield Check("server", f"the one at {socket} {why} answers, pid {pid}")


def access(case: Case) -> Check:
    """Check whether a sandbox denies what every run needs."""
    home, socket = case.caller.home, case.place.socket
    sockets = os.path.dirname(socket)
    denied = []
    try:
        with try_out(existing(home)):
            pass
    except OSError as error:
        denied.append(f"{home} ({error.strerror})")
    if tmux.is_denied(socket):
        denied.append(socket)
    elif tmux.listening(socket) is None and not os.access(existing(sockets), os.W_OK | os.X_OK):
        denied.append(sockets)
    if denied:
        hint = f"a sandbox must allow both {home} and {sockets}"
        return broken("access", f"This program may not use {checks.some(denied)}", hint)
    return Check("access", f"{home} and {sockets} may be used")


def state(case: Case) -> Check:
    """Check who can read the state directory; try out locks and the registry's journal in a folder there."""
    home = case.caller.home
    with try_out(existing(home)) as folder:
        check_locks(folder)
        wal = has_wal(folder)
    if os.path.isdir(home) and os.stat(home).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return warning("state", f"Others may look into {home}", f"chmod 700 {home}")
    if not wal:
        hint = "runs work, more slowly; better: set TMUXAGENTS_HOME to a folder on a local disk"
        return warning("state", f"SQLite has no write-ahead log at {home}", hint)
    return Check("state", f"{home}: {'yours alone, ' if os.path.isdir(home) else ''}locks and journal work")


def space(case: Case) -> Check:
    """Check the room for runs."""
    return checks.space(case.caller.home, *room(existing(case.caller.home)))


def proc(_case: Case) -> Check:
    """Check whether /proc tells living processes from dead ones, and whether a task can be hidden from ps."""
    me = process.myself()
    process.boot_id()
    handle = process.open_handle(me.pid, me.start_time)
    if handle is None:
        return broken("proc", "This kernel has no handles of processes (pidfd)", "use Linux 5.3 or newer")
    os.close(handle)
    try:
        os.close(os.open("/proc/self/mem", os.O_RDWR))  # where tmuxagents/__main__ hides the task
    except OSError:
        hint = "pass a secret task on stdin: tmuxagents run -"
        return warning("proc", "Others can read a task in ps: /proc/self/mem is closed", hint)
    return Check("proc", "ok")


def inotify(case: Case) -> Check:
    """Check whether inotify works; without it the watcher only looks every 2 s."""
    runs = case.caller.runs
    hint = "the status line is up to 2 s late; raise fs.inotify in /etc/sysctl.d"
    why = try_inotify(existing(runs))
    if why is not None:
        return warning("inotify", f"Folders cannot be watched: {why}", hint)
    most = limit("max_user_watches")
    needed = _MARGIN + (len(os.listdir(runs)) if os.path.isdir(runs) else 0)
    if most is not None and most < needed:
        return warning("inotify", f"max_user_watches is {most}, about {needed} are needed", hint)
    return Check("inotify", "ok")


def existing(path: str) -> str:
    """Return a path or its nearest existing ancestor. Raises OSError if that is not a folder."""
    while not os.path.lexists(path) and path != "/":
        path = os.path.dirname(path)
    if not os.path.isdir(path):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    return path


@contextlib.contextmanager
def try_out(folder: str) -> Iterator[str]:
    """Make a temporary folder in a folder. Raises OSError."""
    made = tempfile.mkdtemp(prefix=".tmuxagents-", dir=folder)
    try:
        yield made
    finally:
        removal.remove(made)


def check_locks(folder: str) -> None:
    """Raise Unusable unless a second lock on one file is refused."""
    with schema.alone(f"{folder}/{database.NAME}", 1.0):
        pass


def has_wal(folder: str) -> bool:
    """Say whether SQLite's write-ahead log works in a folder."""
    return schema.has_wal(f"{folder}/{database.NAME}")


def room(folder: str) -> tuple[int, int | None]:
    """Return how many bytes and files we may add; None for files without a limit."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize, disk.f_favail if disk.f_files else None


def try_inotify(folder: str) -> str | None:
    """Return why a folder cannot be watched, None if it can."""
    libc = ctypes.CDLL(None, use_errno=True)
    name, handle = "max_user_instances", libc.inotify_init1(os.O_CLOEXEC)
    if handle >= 0:
        name, watch = "max_user_watches", libc.inotify_add_watch(handle, os.fsencode(folder), _IN_CREATE)
        os.close(handle)
        if watch >= 0:
            return None
    number = ctypes.get_errno()
    return f"all of {name} ({limit(name)}) are used" if number in _ALL_USED else os.strerror(number)


def limit(name: str) -> int | None:
    """Return one of inotify's limits."""
    try:
        with open(f"{_LIMITS}/{name}", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


# --- the agent, and the programs that it needs --------------------------------------------------------------


def agent(case: Case) -> Iterator[Check]:
    """Check the agent's program and its version, and count the models for which it has credentials."""
    name = case.settings.default_agent
    program = installed.command(name, case.environment, case.settings)[0]
    if not (os.path.isfile(program) and os.access(program, os.X_OK)):
        hint = f"chmod +x {program}, or name another program in TMUXAGENTS_PI or agents.pi.command"
        yield broken("agent", f"{program} cannot be executed: each run would fail", hint)
        return
    known = installed.known(name, case.environment, case.settings)
    yield from _version("agent", name, known)
    if known.ids:
        providers = {one.partition("/")[0] for one in known.ids}
        yield Check("models", f"{len(known.ids)} of {checks.some(sorted(providers))}")
    elif known.ids is not None:  # otherwise a warning reports that
        yield broken("models", "No provider has credentials: there are no models", _LOG_IN)
    if known.ids and case.settings.default_model is not None:
        try:
            resolve.resolve(None, name, case.environment, case.settings)
        except TmuxAgentsError as error:
            hint = error.hint or "tmuxagents models lists them"
            yield warning("models", f"The setting defaultModel: {error.message}", hint)


def others(case: Case) -> Iterator[Check]:
    """Report the other agents that are installed. Only an oddity is a warning."""
    for name in installed.names(case.settings):
        if name == case.settings.default_agent:
            continue
        try:
            known = installed.known(name, case.environment, case.settings)
        except TmuxAgentsError:
            continue  # it is not installed, and need not be
        yield from _version("agents", name, known)


def _version(check: str, name: str, known: Known) -> Iterator[Check]:
    """Report an agent's version, or else its oddities."""
    for words in known.warnings:
        hint = f"look at what it prints: {known.command[0]} --version"
        yield warning(check, f"{words} ({known.command[0]})", hint)
    if not known.warnings:
        yield Check(check, f"{name} {known.version or 'of an unknown version'}: {' '.join(known.command)}")


def node(case: Case) -> list[Check]:
    """Check node, if the agent is a script that takes node from PATH."""
    try:
        program = installed.command(case.settings.default_agent, case.environment, case.settings)[0]
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
    folders = f"{places.agent_dir(case.environment)}/bin:{case.environment.get('PATH', '')}"
    fd = process.find_program("fd", folders) or process.find_program("fdfind", folders)
    return _judged(case, rg=process.find_program("rg", folders), fd=fd)


def _judged(case: Case, **programs: str | None) -> list[Check]:
    """Ask programs for their versions, all at once, and judge them."""
    paths = [path for path in programs.values() if path is not None]
    questions = [ask.Question([path, "--version"], case.environment, limit_s=LIMIT_S) for path in paths]
    answers = dict(zip(paths, ask.ask(questions), strict=True))
    return [checks.program(name, path, answers.get(path or "")) for name, path in programs.items()]


# --- a person's own files ---------------------------------------------------------------------------------


def presets(case: Case) -> Iterator[Check]:
    """Check for presets and profiles that are broken, and for those that hide others."""
    survey = preset_files.survey(case.folder, case.environment, case.settings)
    for words in survey.warnings:
        yield warning("presets", words, "tmuxagents presets check shows more")
    for one in survey.presets:
        loud = catalogue.hiding(one)
        if loud is not None and " allows more tools " in loud:
            yield warning("presets", loud, f"-p global:{one.name} uses your own")
        elif one.hidden_by is not None:
            yield Check("presets", f"{one.name}: {one.path} is hidden by {one.hidden_by}")
    counted = sum(one.hidden_by is None for one in survey.presets)
    yield Check("presets", f"{counted} in {case.folder}" if counted else "none found")


def keys(case: Case) -> Check:
    """Check for files with keys that others may read."""
    folder = places.agent_dir(case.environment)
    paths = {f"{folder}/{name}" for name in _KEY_FILES}
    above = list(project.upwards(case.folder, places.user_home(case.environment)))
    for kind, _ in presets_disk.FOLDERS:
        own = presets_disk.global_folder(case.environment, kind)
        for place in (own, *(presets_disk.project_folder(one, kind) for one in above)):
            with contextlib.suppress(OSError):
                paths |= {f"{place}/{name}" for name in os.listdir(place) if name.endswith(".md")}
    holding = []
    for path in sorted(paths):
        with contextlib.suppress(TmuxAgentsError):  # it cannot be read
            if checks.file_holds_key(path, disk.read(path)):
                holding.append(path)
    loose = [path for path in holding if os.stat(path).st_mode & (stat.S_IRGRP | stat.S_IROTH)]
    if loose:
        hint = f"chmod 600 {' '.join(loose)}"
        return warning("keys", f"Others may read the keys in {checks.some(loose)}", hint)
    return Check("keys", f"only you can read your files with keys (found: {len(holding)})")


def settings(case: Case) -> Iterator[Check]:
    """Report the settings in force, and what was ignored in the files."""
    for words in case.settings.warnings:
        yield warning("settings", words, "correct the file")
    yield checks.settings(rules.rows(case.settings))
