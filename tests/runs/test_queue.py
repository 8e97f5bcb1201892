"""The queue: the oldest ticket comes first, and the pause grows with the place in the queue."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.runs import slots

RUN = "01a1ee15069b4c1f"
FIRST, SECOND, THIRD = (slots.ticket_name(number, RUN) for number in (99, 100, 1794996000123456789))


def test_a_ticket_names_its_number_and_its_run() -> None:
    assert f"00000000000000000100-{RUN}" == SECOND


@given(st.lists(st.integers(0, 2**63), min_size=2, max_size=6), st.sampled_from(["0" * 16, "f" * 16]))
def test_tickets_sort_as_their_owners_came(numbers: list[int], run_id: str) -> None:
    names = [slots.ticket_name(number, run_id) for number in numbers]
    assert sorted(names) == [slots.ticket_name(number, run_id) for number in sorted(numbers)]


@pytest.mark.parametrize(
    ("mine", "tickets", "ahead"),
    [
        (FIRST, [], []),
        (FIRST, [FIRST], []),
        (FIRST, [THIRD, SECOND, FIRST], []),
        (SECOND, [THIRD, SECOND, FIRST], [FIRST]),
        (THIRD, [SECOND, THIRD, FIRST], [FIRST, SECOND]),
        (THIRD, [SECOND], [SECOND]),
    ],
)
def test_who_comes_before(mine: str, tickets: list[str], ahead: list[str]) -> None:
    assert slots.before(mine, tickets) == ahead


@pytest.mark.parametrize(
    ("position", "pause", "words"),
    [
        (0, 0.05, "waiting for a slot"),
        (1, 0.1, "waiting for a slot, 1 before you"),
        (19, 1.0, "waiting for a slot, 19 before you"),
        (5000, 1.0, "waiting for a slot, 5000 before you"),
    ],
)
def test_waiting(position: int, pause: float, words: str) -> None:
    assert slots.pause_s(position) == pytest.approx(pause)
    assert slots.waiting_words(position) == words


def test_in_a_rush_it_is_looked_again_soon_however_many_are_before() -> None:
    assert slots.pause_s(30, 0.0) == slots.pause_s(0, 0.0) < slots.pause_s(0, slots.RUSH_S)


def test_a_run_says_for_which_runs_it_waits() -> None:
    assert slots.following_words([RUN, "02b2"]) == "waits for 01a1ee15, 02b2"
