"""Which parts of a preview's line stand out, and as what.

Names of colours, no escape sequence: each view shows them its own way, and no text of a child is mixed in.
"""

from __future__ import annotations

import re

# The names that pi's themes have.
MUTED, ADDED, REMOVED = "muted", "toolDiffAdded", "toolDiffRemoved"
# An edit says it at its end; elsewhere it stands as a word of its own: in an address it means something else.
_EDITED = re.compile(
    r"(?: *(?:→ )?edit → .* (?=\+\d+/-\d+$)|(?!.*://)(?:.*? )??(?=\+\d+/-\d+(?: |$)))"
    r"(?P<added>\+\d+)/(?P<removed>-\d+)"
)
_WRITTEN = re.compile(r" *(?:→ )?write → .* (?P<added>\+\d+)$")
_READ = re.compile(r".*?\((?P<added>\d+) lines?\)")
_FOUND = re.compile(r" +(?:(?:ls|find): )?(?P<added>\d+) (?:files?|dirs?|match(?:es)?)\b")
_FOUND_BESIDE = re.compile(r" *(?:→ )?(?:ls|find) → .* → (?P<added>[1-9]\d*) (?:files?|dirs?|match(?:es)?)\b")


def spans(line: str) -> list[tuple[str, str]]:
    """Return the parts of a line of kind `tool`, each as (colour, text); together they are the line."""
    if found := _EDITED.match(line):
        return [
            (MUTED, line[: found.start("added")]),
            (ADDED, found["added"]),
            (MUTED, "/"),
            (REMOVED, found["removed"]),
            (MUTED, line[found.end() :]),
        ]
    if found := _WRITTEN.match(line):
        return [(MUTED, line[: found.start("added")]), (ADDED, found["added"])]
    if found := _READ.match(line):
        at = found.start("added")
        return [
            (MUTED, line[: at - 1]),
            (MUTED, "("),
            (ADDED, found["added"]),
            (MUTED, line[found.end("added") : found.end()]),
            (MUTED, line[found.end() :]),
        ]
    if found := _FOUND.match(line) or _FOUND_BESIDE.match(line):
        return [
            (MUTED, line[: found.start("added")]),
            (ADDED, found["added"]),
            (MUTED, line[found.end("added") :]),
        ]
    return [(MUTED, line)]
