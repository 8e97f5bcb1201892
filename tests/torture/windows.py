"""The rows of the ending matrix that need a real tmux.

What becomes of a run when its window, pane, session or server goes, moves, freezes or stops.
"""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

from tests.harness import alive, eventually, stop
from tests.torture.endings import LINGER
from tests.torture.scripted import WORK
from tmuxagents.records import ABORTED, COMPLETED
from tmuxagents.system import process

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness import Run, TmuxServer


class WindowEnding:
    """One row: what is done to the window while the child works, and the record that must follow."""

    def __init__(
        self,
        name: str,
        script: str,
        expected: tuple[str, str],
        message: str | None,
        fault: Callable[[Run, TmuxServer], None],
    ) -> None:
        self.name = name
        self.script = script
        self.expected = (*expected, message)
        self.fault = fault

    def __repr__(self) -> str:
        return self.name


def on_window(*command: str) -> Callable[[Run, TmuxServer], None]:
    return lambda run, server: void(server.run(*command, "-t", run.window))


def void(_: object) -> None:
    """Drop a value."""


def kill_session(_run: Run, server: TmuxServer) -> None:
    server.run("new-session", "-d", "-s", "other", "sleep 600")  # so that the server itself lives on
    server.run("kill-session", "-t", "=work")


def kill_server(_run: Run, server: TmuxServer) -> None:
    server.run("kill-server")
    assert process.wait_gone(server.pid, server.started, 20), "the server lives on after kill-server"


def murder_server(_run: Run, server: TmuxServer) -> None:
    process.send(server.pid, server.started, signal.SIGKILL)


def move(run: Run, server: TmuxServer) -> None:
    server.run("rename-window", "-t", run.window, "moved")
    server.run("new-session", "-d", "-s", "other", "sleep 600")
    server.run("move-window", "-s", run.window, "-t", "other:")


def freeze(run: Run, server: TmuxServer) -> None:
    server.run("send-keys", "-t", run.window, "C-s")
    server.run("copy-mode", "-t", run.window)


def stop_server(run: Run, server: TmuxServer) -> None:
    """Stop the server while the child talks more than a terminal holds, until the run has ended."""
    stop(server.pid)
    try:
        eventually(run.result)
    finally:
        process.send(server.pid, server.started, signal.SIGCONT)


def remove_socket(_run: Run, server: TmuxServer) -> None:
    server.socket.unlink()
    time.sleep(0.2)
    process.send(server.pid, server.started, signal.SIGUSR1)  # tmux makes it again


TALK = "".join(f"answer toolUse {'talk ' * 400} {i}\n" for i in range(100))
WINDOW, SERVER = "The window was closed.", "The tmux server ended."
WINDOW_ENDINGS = [
    WindowEnding("kill-window", WORK + LINGER, (ABORTED, "closed"), WINDOW, on_window("kill-window")),
    WindowEnding("kill-pane", WORK + LINGER, (ABORTED, "closed"), WINDOW, on_window("kill-pane")),
    WindowEnding("respawn", WORK + LINGER, (ABORTED, "closed"), WINDOW, on_window("respawn-window", "-k")),
    WindowEnding("kill-session", WORK + LINGER, (ABORTED, "closed"), WINDOW, kill_session),
    WindowEnding("kill-server", WORK + LINGER, (ABORTED, "closed"), SERVER, kill_server),
    WindowEnding("server killed -9", WORK + LINGER, (ABORTED, "closed"), SERVER, murder_server),
    WindowEnding("moved and renamed", WORK + "sleep 2\ndone fine", (COMPLETED, "done"), None, move),
    WindowEnding(
        "frozen and scrolled", WORK + "sleep 0.5\n" + TALK + "done fine", (COMPLETED, "done"), None, freeze
    ),
    WindowEnding(
        "server stopped", WORK + "sleep 0.3\n" + TALK + "done fine", (COMPLETED, "done"), None, stop_server
    ),
    WindowEnding("socket removed", WORK + "sleep 2\ndone fine", (COMPLETED, "done"), None, remove_socket),
]


def carry_out(ending: WindowEnding, run: Run, server: TmuxServer) -> list[str]:
    """Run one row; return what was wrong."""
    try:
        run.start_in(server)
        run.wait_for("assistant_text")
        child = run.child
        ending.fault(run, server)
        result = run.wait_gone()
        got = (result["status"], result["reason"], result["errorMessage"])
        wrong = [] if got == ending.expected else [f"{got}, not {ending.expected}"]
        if alive(child):
            wrong.append("the child lives")
        if run.status() != ending.expected[0]:
            wrong.append(f"readers say {run.status()}")
    except (AssertionError, OSError) as error:
        return [f"{type(error).__name__}: {error}"]
    finally:
        run.kill()
    return wrong
