"""Lines of a byte stream: the same for pieces of any size, and within bounded memory."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.agents.base import END_KEPT, LINE_LIMIT, LineSplitter, Oversized


def split(*chunks: bytes) -> list[bytes | Oversized]:
    splitter = LineSplitter()
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    return [*lines, *splitter.flush()]


def pieces(raw: bytes, size: int) -> list[bytes]:
    return [raw[at : at + size] for at in range(0, len(raw), size)]


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([], []),
        ([b""], []),
        ([b"a"], [b"a"]),
        ([b"a\n"], [b"a"]),
        ([b"a\nb"], [b"a", b"b"]),
        ([b"a", b"b", b"\n", b"c"], [b"ab", b"c"]),
        ([b"\n\na\n"], [b"", b"", b"a"]),
        ([b"a\r\nb\r", b"\nc\r"], [b"a", b"b", b"c"]),
        ([b"a\rb\r\r\n"], [b"a\rb\r"]),
        ([b"\r\n"], [b""]),
        (["é漢\u2028\n".encode()], ["é漢\u2028".encode()]),
        ([b"\xc3", b"\xa9\n"], ["é".encode()]),
    ],
)
def test_lines(chunks: list[bytes], lines: list[bytes]) -> None:
    assert split(*chunks) == lines


def test_a_line_comes_as_soon_as_it_is_whole() -> None:
    splitter = LineSplitter()
    assert list(splitter.feed(b"a\nb")) == [b"a"]
    assert list(splitter.feed(b"c\n")) == [b"bc"]
    assert list(splitter.flush()) == []


def test_what_was_flushed_does_not_come_again() -> None:
    splitter = LineSplitter()
    assert list(splitter.feed(b"a")) == []
    assert list(splitter.flush()) == [b"a"]
    assert list(splitter.flush()) == []
    assert list(splitter.feed(b"b\n")) == [b"b"]


@given(st.lists(st.binary(max_size=12) | st.sampled_from([b"\n", b"\r\n", b"\r", b"a\nb"]), max_size=12))
def test_a_stream_is_the_same_lines_however_it_arrives(chunks: list[bytes]) -> None:
    raw = b"".join(chunks)
    assert split(*chunks) == split(raw) == split(*pieces(raw, 1))


# --- lines that are too long ---

# All bytes of a long line differ from those near them, so that a shift would show.
LONG = b"".join(b"%07d," % number for number in range(LINE_LIMIT // 8 + 30_000))


@pytest.mark.parametrize("size", [LINE_LIMIT + 2, LINE_LIMIT, LINE_LIMIT + 1, 256 * 1024, 65_536, 4096])
def test_of_a_long_line_both_ends_are_kept(size: int) -> None:
    before, long, after = split(*pieces(b"before\n" + LONG + b"\nafter\n", size))
    assert (before, after) == (b"before", b"after")
    assert isinstance(long, Oversized)
    assert long.size == len(LONG)
    assert long.head == LONG[:END_KEPT]
    assert long.tail == LONG[-END_KEPT:]


def test_a_long_line_may_be_the_last_and_have_no_end() -> None:
    (long,) = split(*pieces(LONG, 65_536))
    assert isinstance(long, Oversized)
    assert (long.size, long.tail) == (len(LONG), LONG[-END_KEPT:])


@pytest.mark.parametrize(
    ("size", "whole"), [(LINE_LIMIT - 1, True), (LINE_LIMIT, True), (LINE_LIMIT + 1, False)]
)
@pytest.mark.parametrize("step", [LINE_LIMIT * 2, 65_536])
def test_the_limit_is_the_longest_line_that_is_kept(*, size: int, whole: bool, step: int) -> None:
    (line,) = split(*pieces(LONG[:size] + b"\n", step))
    assert isinstance(line, bytes) is whole
    assert not whole or line == LONG[:size]


def test_a_long_line_is_logged_by_its_ends_and_what_is_missing() -> None:
    (long,) = split(LONG)
    assert isinstance(long, Oversized)
    left_out = b"[... %d bytes left out ...]" % (len(LONG) - 2 * END_KEPT)
    assert long.brief() == LONG[:END_KEPT] + left_out + LONG[-END_KEPT:]


def memory_for(chunk: bytes, times: int) -> int:
    splitter = LineSplitter()
    tracemalloc.start()
    try:
        for _ in range(times):
            list(splitter.feed(bytes(bytearray(chunk))))  # a chunk of its own each time, as a read gives it
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_line_without_end_is_kept_within_bounds() -> None:
    assert memory_for(b"x" * 1024 * 1024, 24) < 4 * LINE_LIMIT


def test_a_line_in_tiny_pieces_costs_little_more_than_its_length() -> None:
    length = 2 * 30_000
    assert memory_for(b"xy", 30_000) < 12 * length
