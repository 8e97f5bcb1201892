"""A file of ours in a person's folder: recognised later, with the folders that were made for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.integrate import own_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
FOLDERS = st.just(()) | st.tuples(st.integers(0, 9)) | st.tuples(st.integers(0, 9), st.integers(0, 9))


@given(TEXTS, FOLDERS)
def test_what_was_put_is_known_again_and_goes(text: str, folders: tuple[int, ...]) -> None:
    put = own_text.put_file(None, text, folders)
    assert put.outcome == own_text.DONE
    assert put.text is not None
    assert put.text.decode().startswith(text)
    assert own_text.folders_of(put.text) == folders
    assert (own_text.take_file(put.text).outcome, own_text.take_file(put.text).text) == (own_text.DONE, None)
    assert own_text.put_file(put.text, text).outcome == own_text.NOTHING


@given(TEXTS, TEXTS, FOLDERS)
def test_a_new_text_takes_the_place_of_ours_and_keeps_what_was_made(
    old: str, new: str, folders: tuple[int, ...]
) -> None:
    before = own_text.put_file(None, old, folders).text
    assert own_text.folders_of(own_text.put_file(before, new).text) == folders


@given(st.binary(max_size=60))
def test_what_somebody_else_wrote_stays(text: bytes) -> None:
    for edited in (own_text.put_file(text, "ours"), own_text.take_file(text)):
        assert (edited.outcome, edited.text) == (own_text.FOREIGN, text)


@pytest.mark.parametrize(("old", "new"), [(b"Look", b"Loop"), (b"\n<!--", b"\nmine\n<!--")])
def test_what_was_changed_by_hand_stays(old: bytes, new: bytes) -> None:
    ours = own_text.put_file(None, "Look here.\n").text or b""
    changed = ours.replace(old, new)
    for edited in (own_text.put_file(changed, "ours"), own_text.take_file(changed)):
        assert (edited.outcome, edited.text) == (own_text.CHANGED, changed)
    assert own_text.take_file(ours + b"mine\n").outcome == own_text.FOREIGN


def test_where_there_is_none_there_is_none_to_take() -> None:
    assert own_text.take_file(None).outcome == own_text.NOTHING
