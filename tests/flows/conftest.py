"""What flows share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.flows.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.harness import Home


@pytest.fixture
def desk(home: Home, tmp_path: Path) -> Iterator[Desk]:
    """A place from which to launch; everything that was launched is ended."""
    made = Desk(home, tmp_path / "sockets")
    yield made
    made.leave()
