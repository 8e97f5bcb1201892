"""The scripts of tmux: commands inside commands, conditions, and the words allowed in them. Touches: tmux.

Names, targets, directories and formats are code to tmux: `#(…)` in one runs a shell. So every word that
becomes part of one is checked here first. A word that fails is a bug in our code, and raises ValueError.
"""

from __future__ import annotations

from tmuxagents.records import is_run_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Command = Sequence[str]

_DIGITS = frozenset("0123456789")
_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")
_BARE = _NAME | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_PLAIN = _BARE | frozenset(" _./:=@,+-")
_LONGEST_NAME = 48


# --- words ------------------------------------------------------------------------------------------------


def an_id(word: str, sign: str) -> str:
    """Return an id of tmux: a sign (`@` window, `%` pane, `$` session) and a number."""
    if not (word.startswith(sign) and _all(word[1:], _DIGITS)):
        raise ValueError(f"no id of tmux: {word!r}")
    return word


def a_run(word: str) -> str:
    """Return a run's id, which is what a window's tag holds."""
    if not is_run_id(word):
        raise ValueError(f"no id of a run: {word!r}")
    return word


def a_name(word: str) -> str:
    """Return a name of a window or session, or a word of state."""
    if not (_all(word, _NAME) and word[0] not in "-_" and len(word) <= _LONGEST_NAME):
        raise ValueError(f"no name for tmux: {word!r}")
    return word


def a_client(word: str) -> str:
    """Return a client's name, which is the path of its terminal."""
    if not _all(word, _BARE | frozenset("./")):
        raise ValueError(f"no name of a client: {word!r}")
    return word


def shown(text: str) -> str:
    """Return a text for tmux to show, if it has no sign that begins a format or a style."""
    if "#" in text or not text.isprintable():
        raise ValueError(f"no text for tmux to show: {text!r}")
    return text


def _all(word: str, letters: frozenset[str]) -> bool:
    return bool(word) and letters.issuperset(word)


# --- formats ----------------------------------------------------------------------------------------------


def equal(left: str, right: str) -> str:
    """Return the condition that two texts are the same."""
    return f"#{{==:{left},{right}}}"


def both(left: str, right: str) -> str:
    """Return the condition that two conditions hold."""
    return f"#{{&&:{left},{right}}}"


# --- commands inside commands -----------------------------------------------------------------------------


def quoted(word: str) -> str:
    """Return a word that tmux's parser reads back unchanged: all but the plainest letters are octal."""
    if _all(word, _BARE):
        return word
    letters = (
        chr(byte) if chr(byte) in _PLAIN else f"\\{byte:03o}"
        for byte in word.encode("utf-8", "surrogateescape")
    )
    return '"' + "".join(letters) + '"'


def script(*commands: Command) -> str:
    """Return commands as one text. The first command that fails ends the script."""
    return " ; ".join(" ".join(map(quoted, command)) for command in commands)


def when(target: str, condition: str, then: Sequence[Command], otherwise: Sequence[Command] = ()) -> Command:
    """Return the command that checks and acts in one step inside the server: nothing can come between.

    If a target is gone, tmux checks another one instead of failing: the condition must name the target, too.
    """
    scripts = [script(*commands) for commands in (then, otherwise) if commands]
    return ["if-shell", "-F", "-t", target, condition, *scripts]


def later(seconds: int, target: str, text: str) -> Command:
    """Return the command that waits inside the server and then runs a text, expanded now, by /bin/sh.

    `run-shell -C` is not used. It gives its commands to the queue of the client that was used last when it
    was armed. They are lost if that client, which may be any person's, has left by then (seen on 3.3a).
    """
    at_least_s = max(1, int(seconds))  # a command that arms itself again must pause
    return ["run-shell", "-b", "-d", str(at_least_s), "-t", target, text]


def by_shell(command: Command) -> str:
    """Return a command of tmux for /bin/sh on the server, which $TMUX names there.

    It prints nothing and always succeeds: else tmux would show its words in a pane.
    """
    if any("'" in word for word in command):
        raise ValueError(f"no word for a shell: {list(command)!r}")
    words = " ".join(f"'{word}'" for word in command)
    return f"tmux {words} >/dev/null 2>&1; exit 0"


def say(word: str) -> Command:
    """Return the command that prints a fixed word, by which a script reports the branch that it took."""
    return ["display-message", "-p", word]
