"""The stream of a mirror: cut into frames however it comes, and refused where it could do harm."""

from __future__ import annotations

from typing import Any

import pytest

from tmuxagents.machines import follow
from tmuxagents.machines.follow import Broken, Frame, FrameReader
from tmuxagents.text import jsonline

RUN = "0123456789abcdef"


def framed(text: bytes = b"", **head: Any) -> bytes:
    return jsonline.encode({"size": len(text)} | head) + text


def taken(*pieces: bytes) -> list[Frame]:
    reader = FrameReader()
    return [frame for piece in pieces for frame in reader.take(piece)]


STREAM = (
    framed(beat=True)
    + framed(b"one\n", run=RUN, file="events.jsonl", at=0)
    + framed(run=RUN, file="stdout.log", at=0, anew=True)
    + framed(b'{"v":1}\n', run=RUN, file="result.json", whole=True)
    + framed(run=RUN, gone=True)
)


@pytest.mark.parametrize("size", [1, 2, 7, 64, len(STREAM)])
def test_pieces_of_any_size_are_the_same_frames(size: int) -> None:
    found = taken(*(STREAM[at : at + size] for at in range(0, len(STREAM), size)))
    assert [(one.run_id, one.name, one.at, one.text) for one in found] == [
        (None, None, None, b""),
        (RUN, "events.jsonl", 0, b"one\n"),
        (RUN, "stdout.log", 0, b""),
        (RUN, "result.json", None, b'{"v":1}\n'),
        (RUN, None, None, b""),
    ]
    assert [one.is_new for one in found] == [False, False, True, False, False]
    assert [one.is_gone for one in found] == [False, False, False, False, True]


def test_a_text_may_hold_anything() -> None:
    text = bytes(range(256)) * 3 + b'{"size":9}\n'
    (found,) = taken(framed(text, run=RUN, file="stderr.log", at=5))
    assert (found.text, found.at) == (text, 5)


def test_what_is_not_whole_yet_is_waited_for() -> None:
    assert taken(STREAM[:3]) == []
    assert taken(framed(b"text", run=RUN, file="stdout.log", at=0)[:-1]) == []


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        (b"x" * 5000, "no head"),
        (b"no json\n", "no JSON"),
        (b"[" * 4000 + b"\n", "no JSON"),
        (b"[]\n", "no size"),
        (b"{}\n", "no size"),
        (b'{"size":true}\n', "no size"),
        (b'{"size":-1}\n', "no size"),
        (framed(run="../../etc"), "names no run"),
        (framed(run=7), "names no run"),
        (framed(b"x", run=RUN), "names no file"),
        (framed(b"x"), "names no file"),
        (framed(run=RUN, file="machine.json"), "not mirrored"),
        (framed(run=RUN, file="../x"), "not mirrored"),
        (framed(run=RUN, file=["events.jsonl"]), "not mirrored"),
        (framed(file="events.jsonl", at=0), "not mirrored"),
        (framed(run=RUN, file="events.jsonl"), "no place"),
        (framed(run=RUN, file="result.json", at=0), "no place"),
        (framed(run=RUN, file="events.jsonl", at=-1), "no place"),
        (framed(run=RUN, file="events.jsonl", at=True), "no place"),
        (framed(run=RUN, file="events.jsonl", at=0, size=follow.PIECE + 1), "too large"),
        (framed(run=RUN, file="result.json", size=64 * 1024 * 1024 + 1), "too large"),
    ],
)
def test_what_could_do_harm_is_refused(stream: bytes, why: str) -> None:
    with pytest.raises(Broken, match=why):
        taken(stream)


def test_each_file_is_copied_in_one_way() -> None:
    assert not set(follow.APPENDED) & set(follow.WHOLE)
    assert not {"machine.json", "run.lock", "announced", "handed.json"} & {*follow.APPENDED, *follow.WHOLE}
