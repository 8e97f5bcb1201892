"""The worlds as fixtures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tmuxagents.tmux import clients

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

from tests.tmux.worlds import Real, end_server


@pytest.fixture(autouse=True)
def views_look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_LOOK_S", 1)


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Real]:
    made = Real(tmp_path)
    made.start()
    yield made
    made.close_all()


@pytest.fixture
def nowhere(tmp_path: Path) -> Iterator[str]:
    """A socket where no server is yet; the one that a test starts there is ended."""
    path = str(tmp_path / "new")
    yield path
    end_server(path)
