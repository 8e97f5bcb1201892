"""libtmux's sessions, windows and panes over our own runner. The import takes 40 ms, so few callers do it.

Objects are made from ids that our filtered queries return, and act by `cmd`, which calls the server's `cmd`.
libtmux's own reads (`refresh`, `windows`, `from_window_id`) go around `cmd`. They have no time limit, and one
odd title on the server breaks them. Here they find no program, so they fail at once. `split`, `new_window`
and `new_session` are not used: they read back what they have made, and take a program as a line for a shell.
`show_option` is not used, since it changes values.

Touches: tmux.
"""

from __future__ import annotations

import libtmux
from libtmux.common import tmux_cmd

from tmuxagents.tmux import runner, script, windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.tmux.runner import Command, Runner, TmuxAnswer

    Target = libtmux.Session | libtmux.Window | libtmux.Pane

_NO_PROGRAM = "/nonexistent/tmux"  # for calls that would go around `cmd`


class BoundedServer(libtmux.Server):
    """A server whose commands have a time limit. A command that tmux refuses raises TmuxRefused."""

    def __init__(self, of: Runner, *, folder: str = runner.NOWHERE) -> None:
        super().__init__(socket_path=of.socket, tmux_bin=_NO_PROGRAM)
        self.runner = of
        self._folder = folder

    def cmd(self, cmd: str, *args: Any, target: str | int | None = None) -> tmux_cmd:
        """Carry out one command. Raises TmuxRefused, NoServer, Denied and Unanswered."""
        words = [cmd, *([] if target is None else ["-t", str(target)]), *map(str, args)]
        answer = self.runner.run(words, folder=self._folder)
        if answer.code != 0:
            raise runner.refusal(answer, "tmux-unreachable")
        return _Done(words, answer)

    def calling_from(self, folder: str) -> BoundedServer:
        """Return the same server, with its commands called in a folder: a new pane begins there."""
        return BoundedServer(self.runner, folder=folder)

    def ask(self, *commands: Command) -> list[str]:
        """Return the lines that several commands print in one call: nothing comes between them."""
        return self.runner.ask(*commands)

    def session(self, word: str) -> libtmux.Session:
        """Return the session with an id."""
        return libtmux.Session(server=self, session_id=script.an_id(word, "$"))

    def window(self, word: str) -> libtmux.Window:
        """Return the window with an id."""
        return libtmux.Window(server=self, window_id=script.an_id(word, "@"))

    def pane(self, word: str) -> libtmux.Pane:
        """Return the pane with an id."""
        return libtmux.Pane(server=self, pane_id=script.an_id(word, "%"))

    def holds(self, at: Target, condition: str, *commands: Command, target: str | None = None) -> bool:
        """Carry commands out if a condition holds at an object, in one step; say whether it held."""
        # The answer is printed first: with its last window a server ends, and prints no more.
        then = script.script(script.say(windows.YES), *commands)
        otherwise = script.script(script.say(windows.NO))
        done = at.cmd("if-shell", "-F", condition, then, otherwise, target=target)
        return done.stdout == [windows.YES]


class _Done(tmux_cmd):
    """The outcome of a command in libtmux's form. The class of libtmux would start a process."""

    def __init__(self, words: Command, answer: TmuxAnswer) -> None:
        self.cmd = ["tmux", *words]
        self.returncode = answer.code
        self.stdout = answer.lines
        self.stderr = []
