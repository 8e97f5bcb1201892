"""Options of a server as a person has set them: read as they are, written as they were.

Below libtmux, which changes values when it reads them (`007`, `on`, `$HOME`) and would put a text on tmux's
command line, where 16 KB are the limit and every process can read it.
"""

from __future__ import annotations

from tmuxagents.edges.tmux import script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.edges.tmux.runner import Runner


class Options:
    """A server's global options."""

    __slots__ = ("_runner",)

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def read(self, name: str) -> str | None:
        """Return an option's value to the letter; None where it is not set."""
        if not self._runner.ask(["show-options", "-gq", _checked(name)]):
            return None
        return "\n".join(self._runner.ask(["show-options", "-gqv", name]))

    def width(self, name: str) -> int:
        """Return how many columns an option's text takes now, as it is shown."""
        return int(self._runner.ask(["display-message", "-p", f"#{{w:#{{T:{_checked(name)}}}}}"])[0])

    def write(self, name: str, value: str | None) -> None:
        """Set an option; None: as if it never was set."""
        words = ["-gu", _checked(name)] if value is None else ["-g", _checked(name), value]
        self._runner.ask(["source-file", "-"], text=f"{script.script(['set-option', *words])}\n".encode())


def _checked(name: str) -> str:
    """Return an option's name: in a name, too, tmux obeys formats."""
    script.a_name(name.removeprefix("@"))
    return name
