"""A parser that needs no click, for the verbs that programs call often. Joins.

It parses only plain command lines. Click parses all others, and those with mistakes. Both parsers take the
options from the table below, call the same code (cli/listing) and report errors in the same way.
"""

from __future__ import annotations

import os

from tmuxagents.cli import printing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Options = Sequence[tuple[str, tuple[str, ...], str | None, str]]

TIMEOUT, STATUSES, MOST, MAX_BYTES = "timeout", "statuses", "most", "max_bytes"
# An option: its name, its words, the placeholder of its value (None: it is a flag), its help.
_ENDED = ("ended", ("-a", "--all"), None, "Include all runs that have ended.")
_EVERYWHERE = ("everywhere", ("-A", "--all-projects"), None, "Include all projects.")
_OTHERS = ("others", ("--others",), None, "Include runs that other parents launched here.")
_MOST = (MOST, ("-n", "--last"), "N", "Include the N runs that ended last.")
_STATUSES = (STATUSES, ("--status",), "STATUS", "Show only runs with this status (several: failed,aborted).")
_UNREAD = ("unread", ("--unread",), None, "Show only ended runs whose answers you have not read.")
_WATCHES = ("watches", ("-w", "--watch"), None, "Redraw the list until Ctrl-C.")
_WAITS = ("waits", ("--wait",), None, "Wait until they have ended.")
_ANY = ("any_of_them", ("--any",), None, "Return when the first one has ended.")
_TIMEOUT = (TIMEOUT, ("--timeout",), "TIME", "Stop waiting after this time, as 90s or 5m (exit code 124).")
_FOLLOWS = ("follows", ("-f", "--follow"), None, "Print each change as a line until they have ended.")
_SINCE = (
    *("since", ("--since",), "TIME|CURSOR"),
    "Include runs that ended within TIME (1h30m, 2d); or print the changes since CURSOR (0: from the start).",
)
_JSON = ("as_json", ("--json",), None, "Print a JSON document.")
_FORMAT = (
    "template",
    ("--format",),
    "TEMPLATE",
    "Print each run by a template, as '{{.runId}} {{.status}}'.",
)
POLL: Options = (
    *(_ENDED, _OTHERS, _EVERYWHERE, _MOST, _STATUSES, _UNREAD, _SINCE, _WATCHES),
    *(_WAITS, _ANY, _TIMEOUT, _FOLLOWS, _FORMAT, _JSON),
)
_OUTPUTS = ("outputs", ("--output",), None, "Print how each RUN ended, and its answer.")
_BYTES = (
    MAX_BYTES,
    ("--max-bytes",),
    "N",
    "With --output: keep head and tail of longer answers (default: 4000).",
)
WAIT: Options = (_ANY, _TIMEOUT, _OUTPUTS, _BYTES, _JSON)
STATUSLINE: Options = ((*_EVERYWHERE[:3], "Count the runs of all projects."), _JSON)
_OF_POLL = ("poll", "status", "ps", "ls")
_VERBS = {
    **dict.fromkeys(_OF_POLL, POLL),
    "wait": WAIT,
    "statusline": STATUSLINE,
    "_follow": (_JSON,),
}
_WITHOUT_RUNS = ("statusline", "_follow")
_MOST_DIGITS = 9
COMPLETION = "_TMUXAGENTS_COMPLETE"  # click's variable, which a shell sets to request completions


def answer(arguments: Sequence[str]) -> int | None:
    """Carry out a plain command line; return the exit code, or None if it is not plain."""
    options = read(arguments) if COMPLETION not in os.environ else None
    if options is None:
        return None
    try:
        if arguments[0] == "_follow":
            from tmuxagents import companion  # noqa: PLC0415  (it keeps running, and should stay small)

            return companion.follow(printing.write)
        from tmuxagents.cli import listing  # noqa: PLC0415  (only for the other verbs)

        verbs: dict[str, Callable[..., int]] = dict.fromkeys(_OF_POLL, listing.poll)
        verbs |= {"wait": listing.wait, "statusline": listing.statusline}
        return verbs[arguments[0]](**options)
    except BaseException as error:  # noqa: BLE001  (the boundary answers every error)
        from tmuxagents.cli import boundary  # noqa: PLC0415  (click)

        return boundary.fail(error, arguments)


def read(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Return the options of a command line as click would; None if click must parse it."""
    verb = arguments[0] if arguments else ""
    if verb not in _VERBS:
        return None
    known = {word: (name, metavar) for name, words, metavar, _ in _VERBS[verb] for word in words}
    options: dict[str, Any] = {name: None if metavar else False for name, metavar in known.values()}
    runs = []
    words = iter(arguments[1:])
    for word in words:
        if word in known:
            name, metavar = known[word]
            options[name] = _value(name, next(words, "-")) if metavar else True
            if options[name] is None:
                return None
        elif word.startswith("-") or verb in _WITHOUT_RUNS:
            return None
        else:
            runs.append(word)
    if verb == "wait" and not runs:
        return None
    return options if verb in _WITHOUT_RUNS else options | {"runs": tuple(runs)}


def _value(name: str, word: str) -> Any:
    """Return the value of an option; None if click must parse it."""
    if name == TIMEOUT:
        from tmuxagents.text import figures  # noqa: PLC0415  (only for this option)

        return figures.parse_duration(word)
    if name == STATUSES:
        from tmuxagents import records  # noqa: PLC0415  (as above)

        statuses = tuple(word.split(","))
        return statuses if set(statuses) <= set(records.STATUSES) else None
    if name in (MOST, MAX_BYTES):
        is_plain = word.isascii() and word.isdecimal() and len(word) < _MOST_DIGITS
        return (int(word) or None) if is_plain else None
    return word if not word.startswith("-") else None
