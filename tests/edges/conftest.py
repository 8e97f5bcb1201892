"""What holds for every test of an edge: no process of a failed test lives on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.edges import apart

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def nothing_apart() -> Iterator[None]:
    yield
    apart.end_all()
