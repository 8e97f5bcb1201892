"""What doctor looks at on the machine: tmux and its server, the state directory, /proc, inotify."""

from __future__ import annotations

import os
import stat

from tmuxagents.core import checkup
from tmuxagents.core.checkup import Check
from tmuxagents.edges import process, selftest, tmux

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tmuxagents.commands.doctor import Case

_MARGIN = 64  # watches that others of the same user need at the same time


def program(case: Case) -> list[Check]:
    """Look at the tmux on PATH."""
    version = tmux.client_version()
    path = process.find_program("tmux", case.environment.get("PATH", ""))
    return [Check("tmux", f"{path} is {version}")]


def server(case: Case) -> list[Check]:
    """Look at the tmux server that would be used, and ask it something."""
    chosen, socket = case.place, case.place.socket
    found = [checkup.warning("server", chosen.warning, "unset TMUX")] if chosen.warning else []
    tmux.refuse_impossible(socket)
    why = f"(by {chosen.source})"
    if tmux.is_denied(socket) or tmux.listening(socket) is None:
        return [*found, Check("server", f"none runs at {socket} {why}; the first launch starts one")]
    life = tmux.Tmux(socket).identity()
    return [*found, Check("server", f"the one at {socket} {why} answers, pid {life.pid}")]


def access(case: Case) -> list[Check]:
    """Look whether a sandbox keeps us from what every run needs."""
    home, socket = case.caller.home, case.place.socket
    sockets = os.path.dirname(socket)
    denied = [*_denied_home(home), *_denied_socket(socket, sockets)]
    if denied:
        hint = f"a sandbox must allow both {home} and {sockets}"
        return [checkup.broken("access", f"This program may not use {checkup.some(denied)}", hint)]
    return [Check("access", f"{home} and {sockets} may be used")]


def _denied_home(home: str) -> Iterator[str]:
    try:
        with selftest.try_out(selftest.existing(home)):
            pass
    except OSError as error:
        yield f"{home} ({error.strerror})"


def _denied_socket(socket: str, sockets: str) -> Iterator[str]:
    if tmux.is_denied(socket):
        yield socket
    elif tmux.listening(socket) is None and not os.access(selftest.existing(sockets), os.W_OK | os.X_OK):
        yield sockets


def state(case: Case) -> list[Check]:
    """Try out locks and the registry's journal in the state directory; look whose it is, and who reads it."""
    home = case.caller.home
    with selftest.try_out(selftest.existing(home)) as folder:
        selftest.check_locks(folder)
        wal = selftest.has_wal(folder)
    if os.path.isdir(home) and os.stat(home).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return [checkup.warning("state", f"Others may look into {home}", f"chmod 700 {home}")]
    if not wal:
        hint = "it works, more slowly; a folder on a local disk in TMUXAGENTS_HOME is better"
        return [checkup.warning("state", f"SQLite has no write-ahead log at {home}", hint)]
    whose = "it is yours alone, and " if os.path.isdir(home) else ""
    return [Check("state", f"{whose}locks and the registry's journal work at {home}")]


def disk(case: Case) -> list[Check]:
    """Look how much room there is for runs."""
    free, files = selftest.room(selftest.existing(case.caller.home))
    return [checkup.space(case.caller.home, free, files)]


def proc(_case: Case) -> list[Check]:
    """Look whether one can tell living processes from dead ones, and hide what is on a command line."""
    me = process.myself()
    process.boot_id()
    handle = process.open_handle(me.pid, me.start_time)
    if handle is None:
        hint = "Linux 5.3 or newer is needed"
        return [checkup.broken("proc", "There are no handles of processes (pidfd) here", hint)]
    os.close(handle)
    if not selftest.can_hide_words():
        hint = "hand over a task that is nobody's business on stdin: tmuxagents run -"
        return [checkup.warning("proc", "Others can read a task in ps: /proc/self/mem is closed", hint)]
    return [Check("proc", "/proc can be read, and processes have handles")]


def inotify(case: Case) -> list[Check]:
    """Look whether the watcher can be told of changes; else it looks by itself, every 2 s."""
    folder = selftest.existing(case.caller.runs)
    hint = "it works, up to 2 s later; raise fs.inotify in /etc/sysctl.d"
    why = selftest.inotify(folder)
    if why is not None:
        return [checkup.warning("inotify", f"Folders cannot be watched: {why}", hint)]
    most = selftest.limit("max_user_watches")
    needed = len(os.listdir(case.caller.runs)) + _MARGIN if os.path.isdir(case.caller.runs) else _MARGIN
    if most is not None and most < needed:
        return [checkup.warning("inotify", f"max_user_watches is {most}, about {needed} are needed", hint)]
    instances = selftest.limit("max_user_instances")
    return [Check("inotify", f"folders can be watched ({instances} at once, {most} folders)")]
