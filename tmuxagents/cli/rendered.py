"""Runs rendered: in colours and as wide as the terminal of a person, or as one page of HTML. Joins."""

from __future__ import annotations

import contextlib
import os
import time

from tmuxagents.cli import printing
from tmuxagents.errors import Unusable
from tmuxagents.render import calls, markdown_rows, styles
from tmuxagents.render.paint import Painter, worth_showing
from tmuxagents.render.reading import StoryReader
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tmuxagents.render.story import Block

_LOOK_EVERY_S = 0.1


def answer(text: str) -> str:
    """Return an answer, which is markdown, as a terminal shows it."""
    return styles.format_rows(
        markdown_rows.rows(safe.text(text), printing.width()), colour=styles.is_coloured(os.environ)
    )


def painter() -> Painter:
    """Return what paints on our terminal."""
    return Painter(colour=styles.is_coloured(os.environ), moves=os.environ.get("TERM") != "dumb")


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


# --- the page ---


def page(run_dirs: Iterable[str]) -> bytes:
    """Return the page of some runs."""
    from tmuxagents.render import html  # noqa: PLC0415  (only for a page)

    made = time.strftime("%Y-%m-%d %H:%M %Z")
    return html.page([html.RunPage(*_read(folder)) for folder in run_dirs], made).encode("utf-8", "replace")


def write_page(path: str, text: bytes) -> None:
    """Write a page to a file."""
    try:
        _write(os.path.realpath(path), text)
    except OSError as error:
        raise Unusable(f"{safe.line(path)} cannot be written: {error.strerror}.", kind="file") from error


def _write(path: str, text: bytes) -> None:
    """Write a file whole or not at all; only its owner may read it."""
    making = f"{path}.{os.urandom(6).hex()}"
    try:
        with open(os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(text)
        os.replace(making, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(making)
        raise


def _read(folder: str) -> tuple[str, str, str, Sequence[Block]]:
    reader = StoryReader(folder, calls.WHOLE, home=os.path.expanduser("~"))
    run = reader.look()
    name = run.plan.name or run.run_id[:8]
    blocks = [*reader.story.blocks, *reader.story.open]
    return run.run_id, safe.line(name), run.standing.status, blocks
