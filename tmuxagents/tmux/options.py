"""Options and keys of a server as a person has set them: read as they are, written as they were.

Below libtmux, which changes values when it reads them (`007`, `on`, `$HOME`), knows no key bindings, and
would put a text on tmux's command line, where 16 KB are the limit and every process can read it.

Touches: tmux.
"""

from __future__ import annotations

from tmuxagents.tmux import script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tmuxagents.tmux.runner import Runner


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


_KEY_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-")


class Keys:
    """The key tables of one server."""

    __slots__ = ("_runner",)

    def __init__(self, of: Runner) -> None:
        self._runner = of

    def binding(self, table: str, key: str) -> str | None:
        """Return the command that a key is bound to, as tmux lists it; None where it is bound to none."""
        # All of the table: asked for one key, 3.7 says nothing, as if nothing were bound.
        answer = self._runner.run(["list-keys", "-T", script.a_name(table)])
        for line in answer.lines if answer.code == 0 else ():
            name, _, command = line.partition(f" -T {table} ")[2].lstrip().partition(" ")
            if name == _a_key(key):
                return command.strip()
        return None

    def bind(self, lines: Iterable[str]) -> None:
        """Carry out lines of a configuration."""
        self._runner.ask(["source-file", "-"], text="".join(f"{line}\n" for line in lines).encode())

    def unbind(self, table: str, key: str) -> None:
        """Let a key do nothing."""
        self._runner.ask(["unbind-key", "-q", "-T", script.a_name(table), _a_key(key)])

    def drop(self, table: str) -> None:
        """Take a whole table away."""
        self._runner.ask(["unbind-key", "-q", "-a", "-T", script.a_name(table)])


def _a_key(word: str) -> str:
    if not _KEY_LETTERS.issuperset(word) or not word or word.startswith("-"):
        raise ValueError(f"no key: {word!r}")
    return word
