"""Choose the place of a run's window: the tmux server, the session, and their names. Pure.

tmux reads a name as a format, so a person's words are reduced to harmless letters.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from tmuxagents.cpython import sha256
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

OWN = "tmuxagents"  # the server that is ours alone
_LONGEST = 32  # of a window's name
_LONGEST_PROJECT = 24  # with the longest suffix a session's name has 48 letters
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")
_SUFFIXES = (4, 8, 16)
# The Latin spellings of other letters, in the order of Unicode; a dot is for a silent letter.
_CYRILLIC = "a b v g d e zh z i i k l m n o p r s t u f kh ts ch sh shch . y . e yu ya"
_GREEK = "a v g d e z i th i k l m n x o p r s s t y f ch ps o"
_LATIN = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "þ": "th", "ł": "l"}
_SPELT = str.maketrans(
    {
        **{chr(0x430 + number): spelt.strip(".") for number, spelt in enumerate(_CYRILLIC.split())},
        **{chr(0x3B1 + number): spelt for number, spelt in enumerate(_GREEK.split())},
        **_LATIN,
    }
)

# The reasons for the choice of a server.
FLAG, ENVIRONMENT, SETTING, CALLER, DEFAULT = "flag", "environment", "setting", "caller", "default"


class ChosenServer(NamedTuple):
    """A server by its absolute socket path, and why it was chosen. `own`: its options are ours to set."""

    socket: str
    source: str
    own: bool
    warning: str | None = None


def choose(
    wanted: Mapping[str, str | None], *, folder: str, caller: str | None = None, caller_lives: bool = False
) -> ChosenServer:
    """Choose the server: by flag, variable or setting, else the caller's, else our own.

    `wanted` has a name or path for each source. `folder` is where tmux keeps the sockets of names. `caller`
    is the socket in `$TMUX`.
    """
    own = f"{folder}/{OWN}"
    for source in (FLAG, ENVIRONMENT, SETTING):
        name = wanted.get(source)
        if name:
            socket = socket_path(name, folder, source)
            return ChosenServer(socket, source, own=socket == own)
    if caller and caller_lives:
        return ChosenServer(caller, CALLER, own=caller == own)
    warning = f"$TMUX names a tmux server that is gone ({caller}): ignored." if caller else None
    return ChosenServer(own, DEFAULT, own=True, warning=warning)


def socket_path(wanted: str, folder: str, source: str) -> str:
    """Return the absolute path of a socket that is given as tmux's `-L` name or as a path."""
    if not wanted.isprintable() or ("/" in wanted and not wanted.startswith("/")) or wanted in (".", ".."):
        hint = "give a name as to tmux -L, or an absolute path as to tmux -S"
        kind = "usage" if source == FLAG else "bad-settings"
        raise BadRequest(f"{wanted!r} names no tmux socket.", kind=kind, hint=hint, field=source)
    return wanted if wanted.startswith("/") else f"{folder}/{wanted}"


def owner(project: str) -> str:
    """Return the hash by which a session names its project."""
    return sha256(project.encode("utf-8", "surrogateescape"))[: _SUFFIXES[-1]]


def session_names(project: str) -> tuple[str, ...]:
    """Return the names of a project's session; a later one is used if others have the earlier ones."""
    last = project.rstrip("/").rpartition("/")[2]
    return numbered(f"agents-{safe_name(last, 'project', longest=_LONGEST_PROJECT)}", owner(project))


def numbered(name: str, owner_: str) -> tuple[str, ...]:
    """Return names for a session; a later one is used if another project has the earlier ones."""
    return (name, *(f"{name[: _LONGEST - 1]}-{owner_[:length]}" for length in _SUFFIXES))


def safe_name(text: str, otherwise: str, *, longest: int = _LONGEST) -> str:
    """Return a text in Latin letters that are safe in names; `otherwise` if none of it is left."""
    plain = unicodedata.normalize("NFKD", text.lower())
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    kept = "".join(letter if letter in _LETTERS else " " for letter in letters.translate(_SPELT))
    return "-".join(kept.split())[:longest].strip("-_") or otherwise
