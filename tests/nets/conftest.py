"""The option by which the golden texts are written again (scripts/golden)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from tests.nets import frozen

if TYPE_CHECKING:
    from tests.nets.frozen import Golden


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="write the golden texts again")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare a text with a file; with --golden, have the file hold it from now on."""
    return functools.partial(frozen.compare, write=bool(request.config.getoption("--golden", default=False)))
