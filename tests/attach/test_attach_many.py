"""A small part of what scripts/torture --part attaches does a thousand times over thirty runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.torture import attaches

if TYPE_CHECKING:
    from pathlib import Path


def test_three_terminals_attach_at_random_and_none_shows_a_wrong_window(tmp_path: Path) -> None:
    assert attaches.attach_at_random(tmp_path, runs=6, times=36, seed=1) == []
