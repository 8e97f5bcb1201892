"""No input breaks what it reaches (scripts/torture --fuzz does this for as long as one likes)."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.torture.fuzz import changed
from tests.torture.targets import SEEDS, TARGETS


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.data_too_large])
@given(
    data=st.binary(max_size=300)
    | st.text(max_size=100).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_no_bytes_break_it(name: str, data: bytes) -> None:
    TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=120, deadline=None)
@given(number=st.integers(0, 2**32))
def test_no_change_of_right_input_breaks_it(name: str, number: int) -> None:
    dice = random.Random(number)
    TARGETS[name](changed(dice.choice(SEEDS[name]), dice))


def test_each_has_something_to_begin_with() -> None:
    assert SEEDS.keys() == TARGETS.keys()
    for name, seeds in SEEDS.items():
        for seed in seeds:
            TARGETS[name](seed)
