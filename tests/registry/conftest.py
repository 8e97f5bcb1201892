"""A registry in memory, and the path of one on the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tmuxagents.registry import database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tmuxagents.registry.database import Registry


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "hosts" / "here" / "registry.db")


@pytest.fixture
def book() -> Iterator[Registry]:
    with database.open_memory() as made:
        yield made
