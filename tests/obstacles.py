"""What may lie where a file of ours belongs: a child runs as the same user and can put anything there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FOREIGN = b'{"status":"completed","reason":"done","output":"not ours"}\n'


def target_of(path: Path) -> Path:
    """Return where the link leads to."""
    return path.with_name("foreign")


def _nothing(_: Path) -> None:
    """Leave the name free."""


def _link(path: Path) -> None:
    target_of(path).write_bytes(FOREIGN)
    path.symlink_to(target_of(path))


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 200 * 1024 * 1024)


NOTHING, FOLDER, FIFO, LINK, HUGE = "nothing", "folder", "fifo", "link", "200 MB"
_MAKERS: dict[str, Callable[[Path], object]] = {
    NOTHING: _nothing,
    FOLDER: Path.mkdir,
    FIFO: os.mkfifo,
    LINK: _link,
    HUGE: _huge,
}


def put(obstacle: str, path: Path) -> None:
    """Put something at a path."""
    _MAKERS[obstacle](path)


def take_away(obstacle: str, path: Path) -> None:
    """Take it away again; what a link leads to must be as it was."""
    if obstacle == LINK:
        assert target_of(path).read_bytes() == FOREIGN
    if obstacle == FOLDER:
        path.rmdir()
    elif obstacle != NOTHING:
        path.unlink()
