"""Keys of a server: what is bound, bindings made and taken away. Below libtmux, which knows of none."""

from __future__ import annotations

from tmuxagents.edges.tmux import script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tmuxagents.edges.tmux.runner import Runner

_KEY_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-")


class Keys:
    """The key tables of one server."""

    __slots__ = ("_runner",)

    def __init__(self, of: Runner) -> None:
        self._runner = of

    def binding(self, table: str, key: str) -> str | None:
        """Return the command that a key stands for, as tmux lists it; None where it stands for none."""
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
