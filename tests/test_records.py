"""What is a run's id, and what is a name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents import records


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("01a1ee15069b4c1f", True),
        ("01a1ee15069b4c1", False),
        ("01a1ee15069b4c1ff", False),
        ("01A1EE15069B4C1F", False),
        ("01a1ee15069b4c1\n", False),
        ("", False),
    ],
)
def test_an_id_is_16_hex_digits(text: str, *, is_one: bool) -> None:
    assert records.is_run_id(text) == is_one


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        *(("scout", True), ("a", True), ("0-_", True), ("a" * 32, True)),
        *(
            ("a" * 33, False),
            ("-a", False),
            ("_a", False),
            ("A", False),
            ("a b", False),
            ("a\n", False),
            ("", False),
        ),
    ],
)
def test_a_name_has_up_to_32_signs_and_begins_with_a_letter_or_digit(text: str, *, is_one: bool) -> None:
    assert records.is_name(text) == is_one


@given(st.text("09afgz_-A\n", max_size=34) | st.text(max_size=34))
def test_the_forms_are_those_of_the_expressions_in_the_schemas(text: str) -> None:
    assert records.is_run_id(text) == (re.fullmatch("[0-9a-f]{16}", text) is not None)
    assert records.could_begin_run_id(text) == (re.fullmatch("[0-9a-f]{0,16}", text) is not None)
    assert records.is_name(text) == (re.fullmatch("[a-z0-9][a-z0-9_-]{0,31}", text) is not None)
