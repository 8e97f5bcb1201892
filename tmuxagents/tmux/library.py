"""libtmux, the project's tmux package, over our own runner. Imported where it is used: it takes 50 ms.

What is not used of it, since it cannot keep our promises: `is_alive`, unfiltered listings and `clients` (one
odd pane anywhere breaks them, and an unreachable server looks empty), `show_option` (it changes values),
`new_session` and `new_window` (names as given, and an error where the command ends at once).

Touches: tmux.
"""

from __future__ import annotations

import contextlib
import sys

from tmuxagents.tmux import runner
from tmuxagents.tmux.runner import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import libtmux

    from tmuxagents.tmux.runner import Runner


def server(of: Runner) -> libtmux.Server:
    """Return libtmux's server for a socket. Every call of it is bounded, and raises what ours raise."""
    import libtmux  # noqa: PLC0415  (50 ms)

    _install()
    return libtmux.Server(socket_path=of.socket)


def windows(of: Runner, condition: str) -> list[libtmux.Window]:
    """Return the windows for which a condition holds.

    ValueError: one of them has a title that libtmux cannot read.
    """
    with _told():
        return list(server(of).search_windows(filter=condition))


def arrange(of: Runner, window: str, layout: str) -> None:
    """Arrange the panes of a window. The layout must be one that tmux takes: 3.3a ends at any other."""
    import libtmux  # noqa: PLC0415

    with _told():
        libtmux.Window(server=server(of), window_id=window).select_layout(layout)


def select_window(of: Runner, window: str) -> None:
    """Make a window the one that its session shows."""
    import libtmux  # noqa: PLC0415

    with _told():
        libtmux.Window(server=server(of), window_id=window).cmd("select-window")


def select_pane(of: Runner, pane: str) -> None:
    """Make a pane the one of its window that keys go to."""
    import libtmux  # noqa: PLC0415

    with _told():
        libtmux.Pane(server=server(of), pane_id=pane).cmd("select-pane")


def type_line(of: Runner, pane: str, line: str) -> None:
    """Type a line into a pane, and Enter."""
    import libtmux  # noqa: PLC0415

    with _told():
        libtmux.Pane(server=server(of), pane_id=pane).send_keys(line, literal=True)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    from libtmux.exc import LibTmuxException  # noqa: PLC0415

    try:
        yield
    except LibTmuxException as error:
        raise Refused(f"tmux says: {error}.", kind="tmux-unreachable") from error


class TmuxCommand:
    """What libtmux calls for each of its commands, in place of its own, which waits for ever."""

    def __init__(self, *words: Any, tmux_bin: str | None = None) -> None:  # noqa: ARG002  (libtmux's signature)
        self.cmd = ["tmux", *map(str, words)]
        self.returncode = 0
        self.stderr: list[str] = []
        if self.cmd[1:] == ["-V"]:
            self.stdout = [f"tmux {runner.client_version()}"]
            return
        socket, *rest = self.cmd[1:]
        # Not for libtmux to catch: only its own errors make it say "nothing there".
        answer = runner.call(socket.removeprefix("-S"), [runner.closed(word) for word in rest])
        self.returncode = answer.code
        self.stdout = answer.text.rstrip("\n").split("\n") if answer.text.strip("\n") else []
        self.stderr = [line for line in answer.error.split("\n") if line]


def _install() -> None:
    """Put our command in place of libtmux's, wherever a module of it holds that one."""
    for name, module in list(sys.modules.items()):
        if name.startswith("libtmux") and hasattr(module, "tmux_cmd"):
            vars(module)["tmux_cmd"] = TmuxCommand
