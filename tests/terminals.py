"""What the flows of attach share: people at terminals, their tmux servers, and the command at hand."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

from tests.harness import TmuxServer, eventually, printed, stop
from tests.status.watchers import COMMAND
from tests.terminal import Terminal
from tmuxagents.runs import directory
from tmuxagents.runs.inspect import inspect
from tmuxagents.system import process
from tmuxagents.tmux import servers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.harness import Home

Done = subprocess.CompletedProcess[str]
WORKS = "begin\nanswer toolUse so far\nsleep 600"


class Room:
    """A home with runs on one tmux server, and people who come, look and leave."""

    def __init__(self, home: Home, folder: Path) -> None:
        self.home = home
        self.folder = folder / "sockets"
        self.folder.mkdir()
        self.own = self.folder / f"tmux-{os.getuid()}" / "tmuxagents"
        self.people: list[Terminal] = []
        self.servers: list[TmuxServer] = []
        home.environment |= {"TMUX_TMPDIR": str(self.folder), "CHILD_RECORD": str(home.record)}
        home.be_unwatched()

    # --- the command ---

    def __call__(self, *arguments: str, **variables: str) -> Done:
        """Call the command as a program does that has no terminal."""
        return self.home.command(*arguments, env=self.home.environment | variables)

    def launch(self, task: str = WORKS, *arguments: str, **variables: str) -> str:
        """Launch a run; return its id when its child works."""
        done = self("launch", *arguments, task, **variables)
        assert done.returncode == 0, done.stderr
        run_id = done.stdout.strip()
        eventually(
            lambda: b"assistant_text" in (directory.read_bytes(f"{self.run_dir(run_id)}/events.jsonl") or b"")
        )
        return run_id

    def run_dir(self, run_id: str) -> str:
        return str(self.home.state / "runs" / run_id)

    def result(self, run_id: str) -> dict[str, Any]:
        """Wait until a run has ended."""
        found: dict[str, Any] = eventually(lambda: directory.read_result(self.run_dir(run_id)))
        eventually(lambda: inspect(self.run_dir(run_id)).ended)
        return found

    # --- people ---

    def sit_down(self, *argv: str, **variables: str) -> Terminal:
        """Start a program on a terminal of its own."""
        person = Terminal([*argv], self.home.environment | variables, self.home.project)
        self.people.append(person)
        return person

    def person(self, *arguments: str, **variables: str) -> Terminal:
        """Call the command at a terminal."""
        return self.sit_down(*COMMAND, *arguments, **variables)

    def at_work(self, server: TmuxServer, session: str = "work") -> Terminal:
        """Let a person work in a session of a server."""
        person = self.sit_down("tmux", "-u", "-S", str(server.socket), "attach-session", "-t", f"={session}")
        eventually(lambda: person.name in self.clients(server))
        return person

    def detach(self, person: Terminal, server: TmuxServer | None = None, prefix: str = "\x02") -> None:
        """Let a person leave by keys, one after the other: at once they are taken for a paste."""
        words = ("list-clients", "-F", "#{client_name} #{client_prefix}")
        typed_at = 0.0

        def has_prefix() -> bool:
            nonlocal typed_at
            if f"{person.name} 1" in (server.run(*words) if server else self.tmux(*words)):
                return True
            if time.monotonic() - typed_at > 1:  # what is typed while a client begins may be dropped
                person.type(prefix)
                typed_at = time.monotonic()
            return False

        eventually(has_prefix)
        person.type("d")

    # --- servers ---

    def another(self, name: str) -> TmuxServer:
        """Start a server of a person."""
        folder = self.folder / name
        folder.mkdir()
        server = TmuxServer(folder)
        server.__enter__()
        self.servers.append(server)
        return server

    def tmux(self, *arguments: str) -> str:
        """Carry out a command on the server of our own."""
        argv = ["tmux", "-u", "-S", str(self.own), *arguments]
        done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=10)
        return printed(done.stdout).strip()

    def clients(self, server: TmuxServer | None = None) -> dict[str, str]:
        """Return who looks at which window: terminal -> window. The proof of everything here.

        A client in a view that still expects one is about to leave for it, and looks at "-" until then.
        """
        words = ("list-clients", "-F", "#{client_name} #{?#{@tmuxagents_expected},-,#{window_id}}")
        try:
            lines = server.run(*words) if server else self.tmux(*words)
        except subprocess.CalledProcessError:
            return {}
        return dict(line.split(" ") for line in lines.splitlines())

    def panes(self, server: TmuxServer | None = None) -> dict[str, str]:
        """Return what each terminal shows: terminal -> session, window and active pane."""
        words = ("list-clients", "-F", "#{client_name} #{session_id} #{window_id} #{pane_id}")
        lines = (server.run(*words) if server else self.tmux(*words)).splitlines()
        return {name: place for name, _, place in (line.partition(" ") for line in lines)}

    def looks_at(self, person: Terminal, window: str, server: TmuxServer | None = None) -> None:
        """Wait until a person looks at a window."""
        eventually(lambda: self.clients(server).get(person.name) == window)

    def windows(self, server: TmuxServer | None = None) -> dict[str, str]:
        """Return the windows of runs: run -> window."""
        words = ("list-windows", "-a", "-F", "#{window_id} #{@tmuxagents_run}")
        lines = server.run(*words) if server else self.tmux(*words)
        pairs = (line.partition(" ") for line in lines.splitlines())
        return {run_id: window for window, _, run_id in pairs if run_id}

    def views(self, server: TmuxServer | None = None) -> list[str]:
        words = ("list-sessions", "-F", "#{session_name}")
        lines = server.run(*words) if server else self.tmux(*words)
        return [name for name in lines.splitlines() if name.startswith("view-")]

    def leave(self) -> None:
        """End everything: people, servers, wrappers, children."""
        for person in self.people:
            person.close()
        self.home.end_runs()
        for server in self.servers:
            server.__exit__()
        end_server(str(self.own))
        for run_id in os.listdir(self.home.state / "runs") if (self.home.state / "runs").exists() else ():
            identity = directory.identity_of(directory.read_wrapper(self.run_dir(run_id)))
            if identity is not None and not process.wait_gone(identity.pid, identity.start_time, 15):
                process.send(identity.pid, identity.start_time, signal.SIGKILL)


def inside(server: TmuxServer, target: str = "=work:") -> dict[str, str]:
    """Return what a program in a pane of a server has in its environment."""
    pane = server.run("display-message", "-p", "-t", target, "#{pane_id}")
    return {"TMUX": f"{server.socket},{server.pid},0", "TMUX_PANE": pane}


def by_key(server: TmuxServer, person: Terminal) -> dict[str, str]:
    """Return what tmux gives a program that a person's key starts: no pane."""
    rows = server.run("list-clients", "-F", "#{client_name} #{session_id}").splitlines()
    session = dict(row.split(" ") for row in rows)[person.name]
    return {"TMUX": f"{server.socket},{server.pid},{session.removeprefix('$')}"}


def end_server(path: str) -> None:
    """End whatever server listens at a socket."""
    pid = servers.listening(path)
    started = process.start_time(pid) if pid else None
    if pid and started:
        process.send(pid, started, signal.SIGCONT)
        subprocess.run(["tmux", "-S", path, "kill-server"], check=False, capture_output=True, timeout=10)
        if not process.wait_gone(pid, started, 5):
            process.send(pid, started, signal.SIGKILL)


@contextlib.contextmanager
def stopped(pid: int) -> Any:
    """Stop a process for a while."""
    stop(pid)
    try:
        yield time.monotonic()
    finally:
        os.kill(pid, signal.SIGCONT)


def press_tab(home: Home, lines: Sequence[str]) -> str:
    """Type lines into a bash that completes ours, TAB and Enter behind each; return what it has shown."""
    folder = os.path.dirname(COMMAND[0])
    environment = home.environment | {"PATH": f"{folder}:{home.environment['PATH']}", "PS1": "> "}
    bash = Terminal(["bash", "--norc", "--noprofile"], environment, home.project)
    try:
        bash.type('eval "$(tmuxagents completion bash)"\n')
        for line in (*lines, "echo over-$((1 + 1))"):
            bash.type(f"{line}\t\n")
        bash.shows("over-2")
        return bash.text
    finally:
        bash.close()
