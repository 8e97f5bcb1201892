"""Our text in front of a person's status line: joined, parted, and the length for both."""

from __future__ import annotations

import pytest

from tmuxagents.integrate import tmux_texts

DEFAULT = '"#{=21:pane_title}" %H:%M %d-%b-%y'


@pytest.mark.parametrize("value", ["", DEFAULT, " ", "#(date)"])
def test_what_is_joined_can_be_parted(value: str) -> None:
    both = tmux_texts.STATUS.joined(value)
    assert both.startswith("#{E:@tmuxagents_status} ")
    assert both.endswith(value)
    assert tmux_texts.STATUS.is_in(both)
    assert tmux_texts.STATUS.parted(both) == value


@pytest.mark.parametrize(
    "value",
    [
        DEFAULT,
        f"{DEFAULT} #{{E:@tmuxagents_status}}",
        tmux_texts.STATUS.joined(tmux_texts.STATUS.joined("x")),
    ],
)
def test_where_our_text_is_not_as_we_put_it_nothing_is_parted(value: str) -> None:
    assert tmux_texts.STATUS.parted(value) is None


@pytest.mark.parametrize(
    ("width", "limit", "note", "after"),
    [
        (39, 40, None, 140),  # tmux's own values
        (39, 178, None, 278),
        (39, 179, None, None),
        (0, 140, None, None),
        (None, 500, None, 600),  # the length of a program's output is unknown
        (39, 140, "40 140", None),  # raised already
        (39, 50, "40 140", 150),  # and set by the person since
        (39, 140, "of somebody else", 240),
    ],
)
def test_the_length_grows_where_both_would_not_fit(
    width: int | None, limit: int, note: str | None, after: int | None
) -> None:
    assert tmux_texts.length_for(limit, width=width, note=note) == after


def test_a_value_with_a_program_in_it_is_known() -> None:
    assert tmux_texts.has_job("up #(uptime)")
    assert not tmux_texts.has_job(DEFAULT)


def test_what_was_noted_of_a_length_is_true_as_long_as_it_stays_so() -> None:
    note = tmux_texts.remembered(40, 140)
    assert tmux_texts.recalled(note, now="140") == "40"
    assert tmux_texts.recalled(note, now="77") is None


@pytest.mark.parametrize("note", ["", "140", "a 140", "40 140 3", "-1 140", "\u0664 140"])
def test_a_note_of_somebody_else_is_none(note: str) -> None:
    assert tmux_texts.recalled(note, now="140") is None
