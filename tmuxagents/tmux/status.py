"""The status line: one option, set once in a server's life, over hidden variables that change. Touches: tmux.

The text is made in `runs/words` and composed in `watcher/screens`. Below libtmux: the watcher pushes up to
four times a second. Setting an option redraws every screen whole, setting a variable redraws nothing, and
`refresh-client -S` redraws the status line alone.
"""

from __future__ import annotations

import contextlib
import os

from tmuxagents.tmux import script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tmuxagents.tmux.runner import Command, Runner

TEXT = "status"
COUNTS = ("running", "queued", "waiting", "completed", "failed", "aborted", "total")
NAMES = (TEXT, *COUNTS)
_TURN = "TMUXAGENTS_SHOWN_TURN"  # another one with each push


class Status:
    """What a server's clients see of the counts."""

    __slots__ = ("_runner",)

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def declare(self) -> bool:
        """Set `@tmuxagents_status`, `@tmuxagents_running` and so on; say whether they were not set yet."""
        lines = self._runner.ask(["show-options", "-gqv", _option(TEXT)])
        if lines == [_format(TEXT)]:
            return False
        self._runner.ask(*(["set-option", "-g", _option(name), _format(name)] for name in NAMES))
        return True

    def push(self, values: Mapping[str, str], then: Sequence[tuple[float, str]] = ()) -> None:
        """Show values, by the names in NAMES, to every client: two calls of tmux.

        `then`: after these seconds the text becomes this, if nothing was pushed meanwhile. The server does it
        by itself: the watcher may be gone by then.
        """
        turn = os.urandom(6).hex()
        changes: list[Command] = [
            ["set-environment", "-gh", _variable(name), script.shown(text)] for name, text in values.items()
        ]
        changes.append(["set-environment", "-gh", _TURN, turn])
        changes += [_later(seconds, script.shown(text), turn) for seconds, text in then]
        self._runner.ask(*changes, *map(redraw, self._terminals()))

    def message(self) -> bool:
        """Show the status text as a message to every client; say whether this tmux can do that harmlessly.

        Before 3.6 a message stops all that is drawn on a screen. There -C is no flag (in 3.2 no option), as
        tmux says.
        """
        for client in self._terminals():
            answer = self._runner.run(["display-message", "-C", "-c", client, _format(TEXT)])
            if answer.code != 0 and ("flag" in answer.error or "option" in answer.error):
                return False
        return True

    def notify(self, words: str) -> None:
        """Have the terminals of all clients notify their people: by OSC 9 and OSC 777, as each knows."""
        text = script.shown(words)
        notice = f"\x1b]9;{text}\a\x1b]777;notify;tmuxagents;{text}\a".encode()
        for terminal in self._terminals():
            with contextlib.suppress(OSError):  # it has just left, or takes nothing now
                handle = os.open(terminal, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
                if os.isatty(handle):
                    os.write(handle, notice)  # in one piece, so that it is in nothing else's midst
                os.close(handle)

    def _terminals(self) -> list[str]:
        """Return the names of the clients that have a terminal."""
        rows = self._runner.ask(["list-clients", "-F", "#{client_control_mode} #{client_name}"])
        return [script.a_client(row.removeprefix("0 ")) for row in rows if row.startswith("0 /")]

    def withdraw(self) -> None:
        """Take everything away again."""
        options = [["set-option", "-gqu", _option(name)] for name in NAMES]
        variables = [*map(_variable, NAMES), _TURN]
        self._runner.ask(*options, *(["set-environment", "-gu", name] for name in variables))


def _option(name: str) -> str:
    return f"@tmuxagents_{name}"


def _variable(name: str) -> str:
    if name not in NAMES:
        raise ValueError(f"the status line has no {name!r}")
    return f"TMUXAGENTS_SHOWN_{name.upper()}"


def _format(name: str) -> str:
    return f"#{{{_variable(name)}}}"


def _later(seconds: float, text: str, turn: str) -> Command:
    """Return what makes the text another one after a time, unless something was pushed meanwhile."""
    same = script.equal(f"#{{{_TURN}}}", turn)
    change = script.script(["set-environment", "-gh", _variable(TEXT), text], ["refresh-client", "-S"])
    words = script.by_shell(["if-shell", "-F", same, change])
    # What run-shell gets is a format, expanded when it is armed: doubled signs come out single.
    return ["run-shell", "-b", "-d", str(max(1, round(seconds))), words.replace("#", "##")]


def redraw(client: str) -> Command:
    """Return what redraws a client's status line; one that has just left does not end the other commands."""
    return ["if-shell", "-F", "1", script.script(["refresh-client", "-S", "-t", script.a_client(client)])]
