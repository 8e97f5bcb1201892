"""Pure tests: the same examples at each run, and no disk."""

import pytest
from hypothesis import settings

settings.register_profile("unit", database=None, deadline=None, derandomize=True, max_examples=25)
# pytest --hypothesis-profile=thorough tests/unit: other examples at each run, and many of them
settings.register_profile("thorough", database=None, deadline=None, max_examples=2000)
settings.load_profile("unit")


@pytest.fixture(autouse=True)
def nothing_of_the_callers() -> None:
    """Make no folders: what is pure needs none (in place of the fixture that all other tests have)."""
