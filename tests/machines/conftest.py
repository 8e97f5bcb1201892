"""Two machines for the flows of one module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.machines.pair import Pair

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def machines() -> Iterator[Pair]:
    with Pair() as made:
        yield made


@pytest.fixture
def pair(machines: Pair, models: object) -> Iterator[Pair]:  # noqa: ARG001  (no pure test)
    yield machines
    machines.lab.mend()
