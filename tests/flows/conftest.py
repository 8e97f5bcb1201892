"""What flows share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.flows.desk import Desk
from tests.flows.terminals import Room

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.harness import Home, TmuxServer


@pytest.fixture
def desk(home: Home, tmp_path: Path) -> Iterator[Desk]:
    """A place from which to launch; everything that was launched is ended."""
    made = Desk(home, tmp_path / "sockets")
    yield made
    made.leave()


@pytest.fixture
def room(home: Home, tmp_path: Path) -> Iterator[Room]:
    """A place where people sit; they and their servers leave with the test."""
    made = Room(home, tmp_path)
    yield made
    made.leave()


@pytest.fixture
def mine(room: Room) -> TmuxServer:
    """The server of a person, where their runs are, too."""
    return room.another("mine")
