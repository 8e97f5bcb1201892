"""Runs as one page of HTML, made from their directories and written whole. Joins."""

from __future__ import annotations

import contextlib
import os
import time

from tmuxagents.errors import Unusable
from tmuxagents.render import calls, html
from tmuxagents.render.reading import StoryReader
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def page(run_dirs: Iterable[str]) -> bytes:
    """Return the page of some runs."""
    made = time.strftime("%Y-%m-%d %H:%M %Z")
    return html.page([_read(folder) for folder in run_dirs], made).encode("utf-8", "replace")


def write(path: str, text: bytes) -> None:
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


def _read(folder: str) -> html.RunPage:
    reader = StoryReader(folder, calls.WHOLE, home=os.path.expanduser("~"))
    run = reader.look()
    name = run.plan.name or run.run_id[:8]
    blocks = [*reader.story.blocks, *reader.story.open]
    return html.RunPage(run.run_id, safe.line(name), run.standing.status, blocks)
