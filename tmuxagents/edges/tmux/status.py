"""The status line: one option, set once in a server's life, over hidden variables that change.

Below libtmux: the watcher pushes up to four times a second. Setting an option redraws every screen whole,
setting a variable redraws nothing, and `refresh-client -S` redraws the status line alone.
"""

from __future__ import annotations

from tmuxagents.edges.tmux import script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.edges.tmux.runner import Command, Runner

TEXT = "status"
COUNTS = ("running", "queued", "waiting", "completed", "failed", "aborted", "total")
NAMES = (TEXT, *COUNTS)


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

    def push(self, values: Mapping[str, str]) -> None:
        """Show values, by the names in NAMES, to every client: two calls of tmux."""
        changes: list[Command] = [
            ["set-environment", "-gh", _variable(name), _checked(text)] for name, text in values.items()
        ]
        rows = self._runner.ask(["list-clients", "-F", "#{client_control_mode} #{client_name}"])
        clients = [row.removeprefix("0 ") for row in rows if row.startswith("0 /")]  # those with a terminal
        self._runner.ask(*changes, *(_refresh(client) for client in clients))

    def withdraw(self) -> None:
        """Take everything away again."""
        options = [["set-option", "-gqu", _option(name)] for name in NAMES]
        self._runner.ask(*options, *(["set-environment", "-gu", _variable(name)] for name in NAMES))


def _option(name: str) -> str:
    return f"@tmuxagents_{name}"


def _variable(name: str) -> str:
    if name not in NAMES:
        raise ValueError(f"the status line has no {name!r}")
    return f"TMUXAGENTS_SHOWN_{name.upper()}"


def _format(name: str) -> str:
    return f"#{{{_variable(name)}}}"


def _checked(text: str) -> str:
    """Return a text for the status line: there `#[…]` would be obeyed."""
    if "#" in text or not text.isprintable():
        raise ValueError(f"no text for a status line: {text!r}")
    return text


def _refresh(client: str) -> Command:
    """Return what redraws a client's status line; one that has just left does not end the other commands."""
    return ["if-shell", "-F", "1", script.script(["refresh-client", "-S", "-t", script.a_client(client)])]
