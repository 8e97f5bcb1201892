"""A block in a configuration file: put in, put in again and taken out, beside any other text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.integrate import own_text

if TYPE_CHECKING:
    from collections.abc import Callable

LINES = ("set -g one 1", "# two")
OTHER = ("set -g other 1",)
TEXTS = st.lists(st.sampled_from([b"a", b"\n", b"\\", b"# >", b"\xff", b"\r\n"]), max_size=12).map(b"".join)


def put(text: bytes | None, lines: tuple[str, ...] = LINES) -> bytes:
    edited = own_text.put_block(text, lines)
    assert edited.outcome == own_text.DONE
    assert edited.text is not None
    return edited.text


def taken(text: bytes | None) -> bytes | None:
    edited = own_text.take_block(text)
    assert edited.outcome == own_text.DONE
    return edited.text


@given(TEXTS)
def test_what_is_put_in_is_taken_out_to_the_byte(text: bytes) -> None:
    there = put(text)
    assert b"\n".join(line.encode() for line in LINES) in there
    assert there.startswith(text)
    assert taken(there) == text
    assert own_text.take_block(there).text == text


@given(TEXTS)
def test_put_in_twice_it_is_there_once(text: bytes) -> None:
    there = put(text)
    again = own_text.put_block(there, LINES)
    assert (again.outcome, again.text) == (own_text.NOTHING, there)


@given(TEXTS, TEXTS)
def test_newer_lines_take_the_place_of_older_ones(text: bytes, behind: bytes) -> None:
    older = put(text, OTHER) + behind
    newer = put(older)
    assert b"other" not in newer
    assert newer == put(text) + behind


@given(TEXTS, TEXTS.filter(lambda text: text != b""))
def test_what_was_written_behind_it_stays_and_stays_apart(text: bytes, behind: bytes) -> None:
    rest = taken(put(text) + behind)
    ended = text if not text or (text.endswith(b"\n") and not text.endswith(b"\\\n")) else text + b"\n"
    assert rest == ended + behind


def test_what_was_written_before_it_stays() -> None:
    assert taken(b"new\n" + put(b"old\n")) == b"new\nold\n"


@pytest.mark.parametrize("text", [b"set -g x y", b"set -g x \\\n"])
def test_it_begins_on_a_line_of_its_own(text: bytes) -> None:
    assert put(text).startswith(text + b"\n# >>> tmuxagents ")


def test_a_file_that_was_made_for_it_goes_with_it() -> None:
    assert taken(put(None)) is None


def test_a_file_that_was_made_for_it_stays_if_it_holds_something_else_by_now() -> None:
    assert taken(put(None) + b"set -g mine 1\n") == b"set -g mine 1\n"


def test_an_empty_file_stays_an_empty_file() -> None:
    assert taken(put(b"")) == b""


def test_a_file_without_it_is_left_as_it_is() -> None:
    for text in (None, b"", b"set -g mine 1"):
        edited = own_text.take_block(text)
        assert (edited.outcome, edited.text) == (own_text.NOTHING, text)


def test_lines_that_were_changed_are_not_ours_any_more() -> None:
    text = put(b"x\n").replace(b"one 1", b"one 2")
    for edited in (own_text.take_block(text), own_text.put_block(text, LINES)):
        assert (edited.outcome, edited.text) == (own_text.CHANGED, text)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace(b"# <<< tmuxagents <<<\n", b""),
        lambda text: text.replace(b"# >>> tmuxagents ", b"# tmuxagents "),
        lambda text: text.replace(b" >>>\n", b" and more >>>\n"),
        lambda text: text + text,
        lambda text: text + b"# <<< tmuxagents <<<\n",
        lambda text: b"# <<< tmuxagents <<<\n" + text.removesuffix(b"# <<< tmuxagents <<<\n"),
    ],
)
def test_marks_that_are_not_whole_are_left_alone(damage: Callable[[bytes], bytes]) -> None:
    text = damage(put(b"x\n"))
    for edited in (own_text.take_block(text), own_text.put_block(text, LINES)):
        assert (edited.outcome, edited.text) == (own_text.BROKEN, text)


def test_an_editor_that_takes_the_last_line_break_away_does_no_harm() -> None:
    assert taken(put(b"x\n").removesuffix(b"\n")) == b"x\n"
