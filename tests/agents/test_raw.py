"""Checked access to raw JSON: of any value we get something usable and bounded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests import strategies
from tmuxagents.agents import raw

# --- words out of a piece that cannot be parsed as a whole ---


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        (b'{"k":"a","k":"b"}', "a", "b"),
        (b'{"k": "a", "k": "b"}', "a", "b"),
        (b'{"k":true,"k":false}', "true", "false"),
        (b'{"k":12,"x":{"k": 13 }}', "12", "13"),
        (b'{"k":"a,b}c"}', "a,b}c", "a,b}c"),
        (b'{"k":"","k":"b"}', "", "b"),
        (b'{"k":"torn', "torn", "torn"),
        (rb'{"k":"say \"hi\"","x":1}', 'say "hi"', 'say "hi"'),
        (rb'{"k":"a\\","x":"b"}', "a\\", "a\\"),
        (b'{"k":"torn \\', "torn ", "torn "),
        (b'{"k":', "", ""),
        (b'{"other":"a"}', None, None),
        (b"", None, None),
        (b'"xk":"a"', None, None),
        ('{"k":"é漢"}'.encode(), "é漢", "é漢"),
        (b'{"k":"\xff"}', "\ufffd", "\ufffd"),
    ],
)
def test_the_word_after_a_key(text: bytes, first: str | None, last: str | None) -> None:
    assert (raw.word_after(text, "k"), raw.word_after(text, "k", last=True)) == (first, last)


def test_a_word_without_an_end_is_bounded() -> None:
    found = raw.word_after(b'{"k":"' + b"x" * 100_000, "k")
    assert found is not None
    assert set(found) == {"x"}
    assert len(found) <= 4096


# --- lines that are too dense ---

KIB = 1024


@pytest.mark.parametrize(
    ("line", "dense"),
    [
        (b"{" * 50_000 + b"," * 200_000 + b" " * 20_000, False),
        (b"{" * 50_001 + b" " * 256 * KIB, True),
        (b"[" * 50_001 + b" " * 256 * KIB, True),
        (b"{[" * 25_001 + b" " * 256 * KIB, True),
        (b"{" * 50_000 + b" " * 256 * KIB, False),
        (b"," * 200_001 + b" " * 256 * KIB, True),
        (b"," * 200_000 + b" " * 256 * KIB, False),
        (b"," * 200_001, False),
        (b"{" * (256 * KIB - 1), False),
        (b"{" * (256 * KIB), True),
        (b"x" * 1024 * KIB, False),
    ],
    ids=range(11),
)
def test_dense(line: bytes, *, dense: bool) -> None:
    assert raw.is_dense(line) is dense


@pytest.mark.parametrize("mark", ["\U0001f600", "\u00e9", "\x7f", r"\ud83d", r"\uD83D", "\\n"])
def test_wide(mark: str) -> None:
    rest = b"x" * KIB * KIB
    assert raw.is_wide(mark.encode() + rest) is (mark != "\\n")
    assert not raw.is_wide(mark.encode() + rest[:-8])


# --- values ---

INFINITE = float("inf")


def nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth - 1):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    ("line", "parsed"),
    [
        (b'{"a":"caf\xe9"}', {"a": "caf\ufffd"}),
        (b"[]", None),
        (b"5", None),
        (b"{", None),
        (b"[" * 100_000, None),
        (b'{"a":' * 100_000, None),
        (b'{"a":%s%s}' % (b"[" * 499, b"]" * 499), {"a": nested(499)}),
        (b'{"a":%s%s}' % (b"[" * 500, b"]" * 500), None),
        (b'{"a":%s,"b":-%s,"c":[7]}' % ((b"1" * 5000,) * 2), {"a": INFINITE, "b": -INFINITE, "c": [7]}),
        (b'{"a":%s,"b":}' % (b"1" * 5000), None),
    ],
    ids=[
        "bytes",
        "list",
        "figure",
        "torn",
        "deep list",
        "deep",
        "deepest",
        "deeper",
        "endless",
        "endless, torn",
    ],
)
def test_parse(line: bytes, parsed: dict[str, Any] | None) -> None:
    assert raw.parse(line) == parsed


def test_words_and_messages_are_bounded() -> None:
    assert (raw.word("x" * 9999), raw.sentence("x" * 9999)) == ("x" * 256, "x" * 4096)


@given(strategies.wild_values)
def test_whatever_a_value_is_what_comes_out_can_be_used(value: Any) -> None:
    assert type(raw.count(value)) is int
    assert 0 <= raw.amount(value) <= 2**53
    for checked in (raw.text, raw.word, raw.sentence):
        assert checked(value) is None or value.startswith(checked(value))
    assert raw.whole(value) in (None, value)
    blocks = raw.blocks(value)
    assert all(isinstance(block, dict) for block in blocks)
    assert all(isinstance(text, str) for text in raw.texts(blocks, "text"))


def test_what_is_nested_too_deeply_is_refused_and_what_is_wide_is_not() -> None:
    deep = b'{"a":' + b"[" * 600 + b"]" * 600 + b"}"
    wide = b'{"a":[' + b",".join([b"{}"] * 600) + b"]}"
    assert raw.parse(wide) == {"a": [{}] * 600}
    assert raw.parse(deep) is None
