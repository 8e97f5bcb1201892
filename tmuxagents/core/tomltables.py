"""Tables in a person's TOML file, as lines: one of them, and those inside it, taken out by their headers.

For a file that another program has written anew, where our marks are lost. Who calls this parses the text
before and after, and compares: a header can stand inside a long text, too.
"""

from __future__ import annotations

import re

_MARK = re.compile(rb"# (>>>|<<<) tmuxagents\b.*")


def without(text: bytes, name: str) -> bytes:
    """Return a text without a table, those inside it, and our marks."""
    own, inside = f"[{name}]".encode(), f"[{name}.".encode()
    kept: list[bytes] = []
    passing: list[
        bytes
    ] = []  # blank lines and comments in a table that goes: they may belong to the next one
    goes = False
    for line in text.splitlines(keepends=True):
        plain = line.strip()
        if _MARK.fullmatch(plain):
            continue
        if plain.startswith(b"["):
            goes = plain.startswith((own, inside))
            kept += [] if goes else passing
            passing = []
        if not goes:
            kept.append(line)
        elif not plain or plain.startswith(b"#"):
            passing.append(line)
        else:
            passing = []
    return b"".join(kept)
