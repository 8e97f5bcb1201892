"""The worlds that a tmux test stands in: a private server with people before it.

Private sockets only. A stopped server costs its callers 5 s each, so those wait side by side.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.harness import TmuxServer, eventually, shows_messages, stop
from tests.terminal import Terminal
from tmuxagents import tmux
from tmuxagents.system import process
from tmuxagents.tmux import servers, windows

if TYPE_CHECKING:
    from collections.abc import Sequence

OWNER, OTHER = "a" * 16, "b" * 16
NAMES = ("agents-app", f"agents-app-{OWNER[:4]}")
# What a terminal of a person tells its programs.
SEEN = {"PATH": os.environ["PATH"], "TERM": "xterm", "HOME": "/nonexistent", "SHELL": "/bin/sh"}
SLEEP = ("/bin/sleep", "600")
EVIL = "#(touch {marker}) #{{pid}} #[fg=red] %H ; '\"\\$HOME~;"


def new_run() -> str:
    return secrets.token_hex(8)


def an_order(run_id: str, argv: Sequence[str] = SLEEP, name: str = "scout") -> tmux.Order:
    return tmux.Order(run_id, name=name, argv=argv, state="queued")


def home(*, owner: str = OWNER, **more: Any) -> tmux.Home:
    return tmux.Home(NAMES if owner == OWNER else ("agents-app", "agents-app-other"), owner=owner, **more)


class Real:
    """A private server with a person's session and terminals before it."""

    def __init__(self, folder: Path) -> None:
        self._server = TmuxServer(folder)
        self.socket = str(self._server.socket)
        self.screens: dict[str, Terminal] = {}
        self.tmux = tmux.Tmux(self.socket)
        self.shows_messages = shows_messages()

    def run(self, *words: str) -> str:
        return self._server.run(*words)

    def start(self) -> None:
        self._server.__enter__()

    @property
    def pid(self) -> int:
        return self._server.pid

    def vanish(self) -> None:
        self.run("kill-server")
        assert process.wait_gone(self._server.pid, self._server.started, 20)

    def restart(self) -> None:
        self.vanish()
        eventually(self._started)

    def _started(self) -> bool:
        try:
            self.start()
        except subprocess.CalledProcessError:  # "server exited unexpectedly": the last one is not quite gone
            return False
        return True

    @property
    def stopped(self) -> bool:
        raise NotImplementedError

    @stopped.setter
    def stopped(self, stopped: bool) -> None:
        if stopped:
            stop(self.pid)
        else:
            os.kill(self.pid, signal.SIGCONT)

    def stranger(self, name: str) -> str:
        return self.run(
            "new-window", "-d", "-P", "-F", "#{window_id}", "-t", "work:", "-n", name, "sleep 600"
        )

    def sit_down(self, *argv: str) -> Terminal:
        screen = Terminal([*argv], SEEN, Path("/"))
        self.screens[screen.name] = screen
        return screen

    def attach(self, session: str | None = None) -> str:
        target = session or "=work"
        screen = self.sit_down("tmux", "-u", "-S", self.socket, "attach-session", "-t", target)
        eventually(lambda: screen.name in self.run("list-clients", "-F", "#{client_name}"))
        return screen.name

    def leave(self, client: str) -> None:
        self.run("detach-client", "-t", client)
        self.screens[client].process.wait(5)

    def looks_at(self, client: str) -> str:
        return self._of_client(client, "#{window_id}")

    def pane_of(self, client: str) -> str:
        return self._of_client(client, "#{pane_id}")

    def _of_client(self, client: str, what: str) -> str:
        rows = self.run("list-clients", "-F", f"#{{client_name}} {what}").splitlines()
        return dict(row.split(" ") for row in rows)[client]

    def end_program(self, window: str) -> None:
        os.kill(int(self.run("display-message", "-p", "-t", window, "#{pane_pid}")), signal.SIGKILL)
        # A pane's end can be noticed late (its SIGCHLD is lost now and then before 3.6).
        eventually(lambda: self.run("display-message", "-p", "-t", window, "#{pane_dead}") == "1")

    def retag(self, window: str, run_id: str) -> None:
        self.run("set-option", "-w", "-t", window, windows.RUN, run_id)

    def pass_s(self, seconds: float) -> None:
        time.sleep(seconds)

    def window_ids(self) -> set[str]:
        return set(self.run("list-windows", "-a", "-F", "#{window_id}").splitlines())

    def tty_of(self, pane: str) -> str:
        return self.run("display-message", "-p", "-t", pane, "#{pane_tty}")

    def name_of(self, window: str) -> str:
        return self.run("display-message", "-p", "-t", window, "#{window_name}")

    def state_of(self, window: str) -> str:
        return self.run("show-options", "-wv", "-t", window, windows.STATE)

    def session_names(self) -> set[str]:
        return set(self.run("list-sessions", "-F", "#{session_name}").splitlines())

    @property
    def status_line(self) -> str:
        return self.run("display-message", "-p", "#{E:@tmuxagents_status}")

    def close_all(self) -> None:
        for screen in self.screens.values():
            screen.close()
        end_server(self.socket)  # also one that a test began
        self._server.__exit__()


def end_server(path: str) -> None:
    pid = servers.listening(path)
    started = process.start_time(pid) if pid else None
    if pid and started:
        process.send(pid, started, signal.SIGCONT, signal.SIGKILL)
