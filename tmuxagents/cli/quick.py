"""The short way for the verbs that are called again and again: their options read without click. Joins.

Only what is plain is read here; of all else, and of whatever is wrong, click has the say. What is done then
is the same (cli/verbs/looks), and so is what becomes of errors (cli/boundary).
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

_JSON = {"--json": "as_json"}
_WAITING = {"--any": "any_of_them"}
_SCOPE = {"-A": "everywhere", "--all-projects": "everywhere"}
_POLLING = {"-a": "ended", "--all": "ended", "--wait": "waits", "-f": "follows", "--follow": "follows"}
_POLL = (_SCOPE | _POLLING | _WAITING | _JSON, {"--since": "since", "--timeout": "timeout"}, True)
# verb -> its flags, its options with a value, whether it takes runs
_VERBS: dict[str, tuple[Mapping[str, str], Mapping[str, str], bool]] = {
    **dict.fromkeys(("poll", "status", "ps", "ls"), _POLL),
    "wait": (_WAITING | _JSON, {"--timeout": "timeout"}, True),
    "statusline": (_SCOPE | _JSON, {}, False),
    "_follow": (_JSON, {}, False),
}
_COMPLETION = "_TMUXAGENTS_COMPLETE"  # click's: a shell asks what could come next


def answer(arguments: Sequence[str]) -> int | None:
    """Carry out a command line if it is a plain one; return the exit code, or None if it was not."""
    options = read(arguments) if _COMPLETION not in os.environ else None
    if options is None:
        return None
    try:
        return _verb(arguments[0])(**options)
    except BaseException as error:  # noqa: BLE001  (the boundary knows them all)
        from tmuxagents.cli import boundary  # noqa: PLC0415  (click)

        return boundary.fail(error, arguments)


def _verb(name: str) -> Callable[..., int]:
    if name == "_follow":
        from tmuxagents.cli.verbs.follow import follow  # noqa: PLC0415  (it stays, and should stay small)

        return follow
    from tmuxagents.cli.verbs import looks  # noqa: PLC0415  (now it is certain)

    if name in ("wait", "statusline"):
        return looks.wait if name == "wait" else looks.statusline
    return looks.poll


def read(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Return the options of a command line as click would; None if that is click's to say."""
    flags, valued, takes_runs = _VERBS.get(arguments[0] if arguments else "", ({}, {}, False))
    if not flags:
        return None
    options: dict[str, Any] = dict.fromkeys(flags.values(), False) | dict.fromkeys(valued.values())
    runs = []
    words = iter(arguments[1:])
    for word in words:
        if word in flags:
            options[flags[word]] = True
        elif word in valued:
            value = _value(valued[word], next(words, "-"))
            if value is None:
                return None
            options[valued[word]] = value
        elif word.startswith("-") or not takes_runs:
            return None
        else:
            runs.append(word)
    if arguments[0] == "wait" and not runs:
        return None
    return options | {"runs": tuple(runs)} if takes_runs else options


def _value(name: str, word: str) -> str | float | None:
    """Return the value of an option; None where only click can say."""
    if name != "timeout":
        return word if not word.startswith("-") else None
    return float(word) if word.isascii() and word.replace(".", "", 1).isdigit() else None
