"""Runs shown to a person: rendered transcripts, a page of HTML, lines with a word, and a live picture.

A picture is a block of lines at the bottom of a terminal. `run` and `poll --watch` redraw it in place.

Joins.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import time

from tmuxagents.cli import printing
from tmuxagents.errors import NotPossible, Unusable
from tmuxagents.registry.lookup import with_registry
from tmuxagents.render import flow, styles, tool_calls
from tmuxagents.render.reading import StoryReader
from tmuxagents.render.rows import Painter, worth_showing
from tmuxagents.runs import output, words
from tmuxagents.status import poll
from tmuxagents.system import places
from tmuxagents.text import jsonline, safe
from tmuxagents.text.width import columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tmuxagents.registry.lookup import Caller
    from tmuxagents.registry.rows import Row
    from tmuxagents.render.story import Block


_LOOK_EVERY_S = 0.1
_FOUND = "1;31"  # the colour of a match
_ROWS = 24  # of a terminal that does not know its size
_ROUND_S = 1.0  # between two pictures of a watched list


def answer(text: str) -> str:
    """Return an answer, which is markdown, as a terminal shows it."""
    return styles.format_rows(
        flow.markdown_rows(safe.text(text), printing.width()), colour=styles.is_coloured(os.environ)
    )


def painter() -> Painter:
    """Return the painter for our terminal."""
    return Painter(colour=styles.is_coloured(os.environ), moves=os.environ.get("TERM") != "dumb")


def time_of_day(at: float) -> str:
    """Return the local time of day."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def stories(run_dirs: Sequence[str], *, follow: bool, last: int | None, times: bool) -> None:
    """Show what the runs of a session have said and done, one run after the other."""
    home = os.path.expanduser("~")
    readers = [StoryReader(folder, home=home, stamp=time_of_day if times else None) for folder in run_dirs]
    painting = painter()
    blocks: list[Block] = []
    for reader in readers:
        run = reader.look()
        blocks += reader.story.blocks
    latest = readers[-1]
    shown = latest.story.forgotten + len(latest.story.blocks)
    _paint(painting, blocks, latest, last=last)
    while follow and not run.ended:
        time.sleep(_LOOK_EVERY_S)
        run = latest.look()
        story = latest.story
        _paint(painting, story.blocks[max(0, shown - story.forgotten) :], latest)
        shown = story.forgotten + len(story.blocks)


def _paint(painting: Painter, blocks: Sequence[Block], reader: StoryReader, last: int | None = None) -> None:
    open_calls = worth_showing(reader.story, time.time())
    shown = painting.paint(blocks, open_calls, width=printing.width(), last=last)
    printing.write(shown.encode("utf-8", "replace"))


# --- a page of HTML ---


def page(run_dirs: Iterable[str]) -> bytes:
    """Return the HTML page of these runs."""
    from tmuxagents.render import html  # noqa: PLC0415  (only for a page)

    pages = []
    for folder in run_dirs:
        reader = StoryReader(folder, tool_calls.WHOLE, home=os.path.expanduser("~"))
        run = reader.look()
        blocks = [*reader.story.blocks, *reader.story.open]
        name = safe.line(run.plan.name or run.run_id[:8])
        pages.append(html.RunPage(run.run_id, name, run.standing.status, blocks))
    return html.page(pages, time.strftime("%Y-%m-%d %H:%M %Z")).encode("utf-8", "replace")


def write_page(path: str, text: bytes) -> None:
    """Write a page to a file, whole or not at all; only its owner may read it."""
    target = os.path.realpath(path)
    try:
        if os.path.exists(target) and not os.path.isfile(target):  # a pipe or a device stays what it is
            with open(target, "wb") as file:
                file.write(text)
            return
        places.replace(target, text)
    except OSError as error:
        raise Unusable(f"{safe.line(path)} cannot be written: {error.strerror}.", kind="file") from error


# --- a search ---


def search(
    caller: Caller, word: str, run_dirs: Sequence[str] | None, *, everywhere: bool, as_json: bool
) -> int:
    """Print each line of the transcripts that contains a word; return 1 if there is none.

    `run_dirs`: the runs to search; None: all of the caller's. Case matters only if the word has capitals.
    """
    scope = poll.query_of(caller, everywhere=everywhere).scope
    if run_dirs is not None:
        scope = poll.named(map(os.path.basename, run_dirs)).scope
    rows, _ = with_registry(caller, lambda registry: registry.rows(scope))
    paints, is_terminal = printing.paints(), printing.is_terminal()
    pattern = re.compile(re.escape(word), 0 if word != word.lower() else re.IGNORECASE)
    found = False
    for row in reversed(rows):
        name = f"{words.short_id(row.run_id)} {words.title(row.name, row.task)}"
        for line in _matches(caller, row, word):
            found = True
            if as_json:
                match = {"v": 1, "type": "match", "runId": row.run_id, "name": row.name, "line": line}
                printing.write(jsonline.encode(match))
                continue
            shown = safe.line(line) if is_terminal else line
            if paints and word:
                shown = pattern.sub(lambda match: f"\x1b[{_FOUND}m{match[0]}\x1b[0m", shown)
            printing.lines([f"{name}: {shown}"])
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
    except NotPossible as problem:  # the transcript could not be read to its end
        printing.warn([problem.message])


# --- a picture ---


class Picture:
    """Some lines of a terminal, each narrower than the terminal. Text printed above them scrolls away."""

    def __init__(self, stream: int) -> None:
        self._stream = stream
        self._drawn: list[str] = []

    def size(self) -> tuple[int, int]:
        """Return columns and rows of the terminal."""
        try:
            size = os.get_terminal_size(self._stream)
        except OSError:
            return words.WIDTH, _ROWS
        return size.columns or words.WIDTH, size.lines or _ROWS

    def draw(self, lines: Sequence[str], above: str = "") -> None:
        """Draw lines in place of the former ones; print `above` before them."""
        if list(lines) == self._drawn and not above:
            return
        wide, _ = self.size()
        # A terminal that became narrower has wrapped the former lines.
        height = sum(max(1, math.ceil(columns(safe.text(line)) / wide)) for line in self._drawn)
        up = f"\x1b[{height}A" if height else ""
        text = "".join(f"\x1b[2K{line}\n" for line in lines)
        self._drawn = list(lines)
        with contextlib.suppress(OSError):  # a lost connection stops nothing
            clear = "\x1b[0J"
            written = f"{up}\r{clear if above else ''}{above}{text}{clear}"
            printing.write(written.encode("utf-8", "replace"), self._stream)


def watch_picture(look: Callable[[], list[str]]) -> int:
    """Call `look` every second and draw its lines, until Ctrl-C."""
    from tmuxagents.errors import BadRequest  # noqa: PLC0415  (rare)

    if not printing.is_terminal() or os.environ.get("TERM") == "dumb":
        raise BadRequest(
            "--watch needs a terminal.", kind="usage", hint="--follow prints each change as a line"
        )
    picture = Picture(printing.OUT)
    try:
        while True:
            _, rows = picture.size()
            picture.draw(look()[: rows - 1])
            time.sleep(_ROUND_S)
    except KeyboardInterrupt:
        return 0
