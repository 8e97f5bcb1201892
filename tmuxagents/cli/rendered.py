"""What a person at a terminal sees of runs: rendered in colours, as wide as the terminal. Joins."""

from __future__ import annotations

import os
import time

from tmuxagents.cli import printing
from tmuxagents.render import ansi, markdown_rows
from tmuxagents.render.paint import Painter, worth_showing
from tmuxagents.render.reading import StoryReader
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.render.story import Block

_LOOK_EVERY_S = 0.1


def answer(text: str) -> str:
    """Return an answer, which is markdown, as a terminal shows it."""
    return ansi.text(
        markdown_rows.rows(safe.text(text), printing.width()), colour=ansi.is_coloured(os.environ)
    )


def painter() -> Painter:
    """Return what paints on our terminal."""
    return Painter(colour=ansi.is_coloured(os.environ), moves=os.environ.get("TERM") != "dumb")


def time_of_day(at: float) -> str:
    """Return a moment as the clock on the wall shows it."""
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
