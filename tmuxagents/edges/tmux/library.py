"""libtmux, the project's tmux package, over our own runner. Imported where it is used: it takes 50 ms.

What is not used of it, since it cannot keep our promises: `is_alive`, unfiltered listings and `clients` (one odd pane
anywhere breaks them, and an unreachable server looks empty), `show_option` (it changes values), `new_session` and
`new_window` (names as given, and an error where the command ends at once).
"""

from __future__ import annotations

import sys

from tmuxagents.edges.tmux import runner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import libtmux
    from libtmux.window import Window as Row

    from tmuxagents.edges.tmux.runner import Runner

    __all__ = ["Row"]


def server(of: Runner) -> libtmux.Server:
    """Return libtmux's server for a socket. Every call of it is bounded, and raises what ours raise."""
    import libtmux  # noqa: PLC0415  (50 ms)

    _install()
    return libtmux.Server(socket_path=of.socket)


def windows(of: Runner, condition: str) -> list[Row]:
    """Return the windows for which a condition holds. ValueError: one of them has a title that libtmux cannot read."""
    return list(server(of).search_windows(filter=condition))


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
            module.tmux_cmd = TmuxCommand
