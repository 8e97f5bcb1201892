"""A file of ours in a person's place: known again, with the folders that were made for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.core import block, ownfile

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
FOLDERS = st.tuples(st.integers(0, 9), st.integers(0, 9))


@given(TEXTS, FOLDERS)
def test_what_was_put_is_known_again_and_goes(text: str, folders: tuple[int, int]) -> None:
    put = ownfile.put(None, text, folders)
    assert put.outcome == block.DONE
    assert put.text is not None
    assert put.text.decode().startswith(text)
    assert ownfile.folders_of(put.text) == folders
    assert (ownfile.take(put.text).outcome, ownfile.take(put.text).text) == (block.DONE, None)
    assert ownfile.put(put.text, text).outcome == block.NOTHING


@given(TEXTS, TEXTS, FOLDERS)
def test_a_new_text_takes_the_place_of_ours_and_keeps_what_was_made(
    old: str, new: str, folders: tuple[int, int]
) -> None:
    before = ownfile.put(None, old, folders).text
    assert ownfile.folders_of(ownfile.put(before, new).text) == folders


@given(st.binary(max_size=60))
def test_what_somebody_else_wrote_stays(text: bytes) -> None:
    for edited in (ownfile.put(text, "ours"), ownfile.take(text)):
        assert (edited.outcome, edited.text) == (ownfile.FOREIGN, text)


@pytest.mark.parametrize(("old", "new"), [(b"Look", b"Loop"), (b"\n<!--", b"\nmine\n<!--")])
def test_what_was_changed_by_hand_stays(old: bytes, new: bytes) -> None:
    ours = ownfile.put(None, "Look here.\n").text or b""
    changed = ours.replace(old, new)
    for edited in (ownfile.put(changed, "ours"), ownfile.take(changed)):
        assert (edited.outcome, edited.text) == (block.CHANGED, changed)
    assert ownfile.take(ours + b"mine\n").outcome == ownfile.FOREIGN


def test_where_there_is_none_there_is_none_to_take() -> None:
    assert ownfile.take(None).outcome == block.NOTHING
