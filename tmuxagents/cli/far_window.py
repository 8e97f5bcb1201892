"""The window on this machine for a run on another machine or in Slurm. It shows the run's events.

Enter shows the run's own window there, or opens a shell beside the job. Ctrl-C twice stops the run. Closing
the window here, or ending its program, stops nothing.

Joins.
"""

from __future__ import annotations

import math
import os
import select
import subprocess
import time

from tmuxagents.cpython import signal
from tmuxagents.errors import NoSuchRun, NotPossible, TmuxAgentsError
from tmuxagents.machines import link, refs, requests, ssh
from tmuxagents.runs import directory, narration
from tmuxagents.runs.inspect import Follower
from tmuxagents.slurm import commands
from tmuxagents.status import stop as stopping
from tmuxagents.system import watcher_lock
from tmuxagents.text import safe
from tmuxagents.wrapper.terminal import CTRL_C, StoryWindow, Terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.runs.inspect import RunView

_LOOK_S, _IDLE_S = 0.1, 0.4
_QUIET_AFTER_S = 3.0
_LINK_EVERY_S, _WATCHER_EVERY_S = 1.0, 5.0
_CONFIRM_S = 3.0
_LEAVE_S = 0.3  # for the terminal to take the last text
_PASTED_S = 0.3  # a second Ctrl-C sooner than this confirms nothing: both may come from one paste
_KEYS = (b"\r", b"\n")


def environment(run_dir: str) -> dict[str, str]:
    """Return the variables that ssh needs for a run's machine. Our tmux server may lack them."""
    recorded = (directory.read_machine(run_dir) or {}).get("here")
    found = recorded.get("environment") if isinstance(recorded, dict) else None
    kept = found if isinstance(found, dict) else {}
    return {name: str(value) for name, value in kept.items() if name != "TMUXAGENTS_ROLE"}


class FarWindow:
    """One run, shown until it has ended."""

    def __init__(self, run_dir: str, environment: Mapping[str, str]) -> None:
        self._environment = {**environment, "TMUXAGENTS_HOME": os.path.dirname(os.path.dirname(run_dir))}
        self._terminal = Terminal()
        self._window = StoryWindow(self._terminal, environment)
        self._follower = Follower(run_dir, lambda event: self._window.take(event, 0))
        self._asked_at: float | None = None
        self._heard_at = time.monotonic()
        self._link_at = 0.0
        self._watcher_at = time.monotonic() + _WATCHER_EVERY_S
        self._since: float | None = None
        self._title: str | None = None

    def show(self) -> int:
        """Show the run until it has ended; return the exit code."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        run = self._follower.look()
        host = safe.line(run.host or "?")
        self._window.head(run.plan, self._environment.get("HOME", ""))
        self._window.note(
            f"works on {host}: Enter shows its window there"
            if run.is_far
            else "works in Slurm: Enter opens a shell beside it"
        )
        try:
            while not run.ended:
                self._look_at_link(run)
                self._paint(run)
                self._answer_keys(run)
                if self._follower.has_news():
                    self._heard_at = time.monotonic()
                    run = self._follower.look()
        except NoSuchRun:  # removed
            return 1
        how = run.standing.verdict
        if how is not None:
            for line in refs.hints(run.run_id, run.code) if run.code else ():
                self._window.note(line)
            self._window.close(how, run.elapsed(time.time()), run.state)
            self._paint(run)
            self._terminal.show(narration.title(f"{how.status} ({how.reason})"))
        self._terminal.leave(_LEAVE_S)
        return 0

    def _paint(self, run: RunView) -> None:
        now = time.monotonic()
        self._window.resized(now)
        if self._window.has_news or now >= self._window.wanted_at:
            self._terminal.show(self._window.painted(now))
        words = run.doing or run.standing.status
        if words != self._title:
            self._title = words
            self._terminal.show(narration.title(words))
        self._terminal.flush()

    def _look_at_link(self, run: RunView) -> None:
        """Note in the window when the host stops answering, and when it answers again."""
        now = time.monotonic()
        if now < self._link_at:
            return
        self._link_at = now + _LINK_EVERY_S
        if now >= self._watcher_at:  # the watcher starts mirrors, and no wrapper here starts the watcher
            self._watcher_at = now + _WATCHER_EVERY_S
            watcher_lock.ensure(self._environment["TMUXAGENTS_HOME"])
        since = link.unreachable_since(self._environment["TMUXAGENTS_HOME"], run.host or "")
        if (since is None) != (self._since is None):
            at = "" if since is None else time.strftime("%H:%M:%S", time.localtime(since))
            host = safe.line(run.host or "?")
            self._window.note(f"{host} has been unreachable since {at}" if since else f"{host} answers again")
        self._since = since

    def _answer_keys(self, run: RunView) -> None:
        """Wait for a key, and act on it."""
        quiet = time.monotonic() - self._heard_at > _QUIET_AFTER_S
        poll = select.poll()
        if self._terminal.keys is not None:
            poll.register(self._terminal.keys, select.POLLIN)
        if not poll.poll(round((_IDLE_S if quiet else _LOOK_S) * 1000)):
            return
        typed = self._terminal.pressed()
        if typed in _KEYS:
            self._go_through(run)
        if CTRL_C not in typed:
            return
        now = time.monotonic()
        since = math.inf if self._asked_at is None else now - self._asked_at
        if since > _CONFIRM_S:
            self._asked_at = now
            self._window.note(f"Ctrl-C again within {_CONFIRM_S:g} s stops this run")
        elif since >= _PASTED_S:
            self._asked_at = None
            self._window.note(f"stopping it on {safe.line(run.host or '?')} …")
            self._paint(run)
            try:
                stopping.stop([run.run_dir])
            except TmuxAgentsError as why:
                self._window.note(why.message)

    def _go_through(self, run: RunView) -> None:
        """Show the run's own window there, or a shell beside its job, until the person leaves it."""
        try:
            if run.is_far:
                host = requests.host_of(run, self._environment)
                command = ssh.command(host, ["attach", run.run_id], tty=True, environment=self._environment)
            elif (prefix := commands.exec_prefix(run.run_dir, tty=True)) is not None:
                command = [*prefix, self._environment.get("SHELL") or "/bin/sh"]
            else:
                raise NotPossible("It has no job yet.", kind="no-window")
        except TmuxAgentsError as why:
            self._window.note(why.message)
            return
        if not self._terminal.lend(_LEAVE_S):
            return
        try:
            code = subprocess.call(command, env=self._environment)
        except OSError as error:
            code = 127
            self._window.note(f"ssh cannot be started: {error.strerror}")
        self._terminal.take_back()
        self._window.note("back here" if code == 0 else f"the way to its window ended with exit code {code}")
