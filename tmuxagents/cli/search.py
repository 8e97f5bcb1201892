"""Searching the transcripts of runs for a word. Joins."""

from __future__ import annotations

import os

from tmuxagents.cli import printing
from tmuxagents.errors import NotPossible
from tmuxagents.registry.lookup import with_registry
from tmuxagents.runs import output, words
from tmuxagents.status import poll
from tmuxagents.text import jsonline, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tmuxagents.registry.lookup import Caller
    from tmuxagents.registry.rows import Row

_FOUND = "1;31"


def search(
    caller: Caller, word: str, run_dirs: Sequence[str] | None, *, everywhere: bool, as_json: bool
) -> int:
    """Print each line of transcripts that contains a word; return 1 if there is none.

    `run_dirs`: the runs to search; None: all of the caller's. Capitals count only if the word has any.
    """
    scope = poll.query_of(caller, (), everywhere=everywhere).scope
    if run_dirs is not None:
        scope = poll.named(map(os.path.basename, run_dirs)).scope
    rows, _ = with_registry(caller, lambda registry: registry.rows(scope))
    paints, is_terminal = printing.paints(), printing.is_terminal()
    found = False
    for row in reversed(rows):
        name = f"{words.short_id(row.run_id, ())} {words.title(row.name, row.task)}"
        for line in _matches(caller, row, word):
            found = True
            if as_json:
                match = {"v": 1, "type": "match", "runId": row.run_id, "name": row.name, "line": line}
                printing.write(jsonline.encode(match))
                continue
            shown = safe.line(line) if is_terminal else line
            printing.lines([f"{name}: {_marked(shown, word) if paints else shown}"])
    return 0 if found else 1


def _matches(caller: Caller, row: Row, word: str) -> Iterator[str]:
    run_dir = f"{caller.runs}/{row.run_id}"
    if not os.path.isdir(run_dir):
        return
    is_exact = word != word.lower()
    try:
        for raw in output.transcript_lines(run_dir, follow=False):
            line = raw.decode("utf-8", "replace")
            if word in (line if is_exact else line.lower()):
                yield line
    except NotPossible as problem:  # a transcript that was not read to its end
        printing.warn([problem.message])


def _marked(line: str, word: str) -> str:
    """Return a line with each place of the word in colour."""
    text = line if word != word.lower() else line.lower()
    if len(text) != len(line):  # a letter whose small form is longer
        return line
    found, at = "", 0
    while (place := text.find(word, at)) >= 0:
        found += f"{line[at:place]}\x1b[{_FOUND}m{line[place : place + len(word)]}\x1b[0m"
        at = place + len(word)
    return found + line[at:]
