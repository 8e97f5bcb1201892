"""One document as one strict line that is safe to print, whatever a child put into its values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import strategies
from tmuxagents.text import jsonline

CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]
BIDI = [chr(code) for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))]
LOUD = {*CONTROLS, *BIDI, "\u2028", "\u2029"}

plain_documents = st.dictionaries(st.text(max_size=8), strategies.json_values, max_size=4)
wild_documents = st.dictionaries(strategies.rough_text, strategies.wild_values, max_size=4)


def strict(line: bytes) -> Any:
    """Read a line as another language would: no NaN, no Infinity."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    return json.loads(line.decode("utf-8"), parse_constant=refuse)


@given(plain_documents)
def test_a_document_reads_back_as_it_was_written(document: dict[str, Any]) -> None:
    assert strict(jsonline.encode(document)) == document


@given(wild_documents)
@example({"text": "\n\r\u2028\u2029\x85"})
def test_any_document_is_one_line_of_strict_json(document: dict[str, Any]) -> None:
    line = jsonline.encode(document)
    assert line.endswith(b"\n")
    assert len(line.decode("utf-8").splitlines()) == 1
    assert set(strict(line)) == set(document)


@given(plain_documents)
def test_a_document_of_encoded_parts_is_the_document_encoded(document: dict[str, Any]) -> None:
    items = [document, {"n": 1}]
    whole = {**document, "v": 1, "items": items, "w": 2}
    encoded = [jsonline.encode(one)[:-1] for one in items]
    assert jsonline.with_items(whole, "items", encoded) == jsonline.encode(whole)
    text = jsonline.encode({"v": 1, **document}).decode()
    added = jsonline.with_members(text, {"more!": 1.5})
    assert added + b"\n" == jsonline.encode({"v": 1, **document, "more!": 1.5})


def test_a_line_is_compact_and_keeps_the_order_of_keys() -> None:
    document = {"v": 1, "b": [1, 2.5, None, True], "a": {"x": "größer 漢字 😀 ok\u200d"}}
    shown = '{"v":1,"b":[1,2.5,null,true],"a":{"x":"größer 漢字 😀 ok\u200d"}}\n'
    assert jsonline.encode(document) == shown.encode()


def test_nothing_that_a_terminal_obeys_stands_in_a_line() -> None:
    document = {"".join(sorted(LOUD)): "".join(sorted(LOUD))}
    line = jsonline.encode(document)
    assert set(line.decode("utf-8")[:-1]) & LOUD == set()
    assert strict(line) == document


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\udc80\ud800", "\U0001f600\ud83d"])
def test_half_a_character_reads_back(text: str) -> None:
    assert strict(jsonline.encode({"text": text})) == {"text": text}


# --- read ---


@given(plain_documents, st.text(" \t\n\r", max_size=3), st.text(" \t\n\r", max_size=3))
def test_what_json_reads_is_read_the_same(document: dict[str, Any], before: str, after: str) -> None:
    text = before + json.dumps(document) + after
    assert jsonline.decode(text) == jsonline.decode(text.encode()) == json.loads(text)
    assert jsonline.decode_first(text.lstrip() + "x") == document


@given(st.text(alphabet='{}[]",:.0123456789-+eEtrufalsn \\\n\ufeff', max_size=12))
def test_what_json_refuses_is_refused(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011  (whichever: it is what json itself says)
            jsonline.decode(text)
    else:
        assert jsonline.decode(text) == expected


# --- what JSON cannot say ---

NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (NAN, None),
        (INFINITE, None),
        (-INFINITE, None),
        (10**5000, None),
        (-(10**5000), None),
        ([NAN, 10**299, -(10**299), 1e308], [None, 10**299, -(10**299), 1e308]),
        ([NAN, 10**300, -(10**300)], [None, None, None]),
        ([NAN, True, False, None, "x", 2.5], [None, True, False, None, "x", 2.5]),
        ({"deep": [1, {"x": NAN}], "y": 2}, {"deep": [1, {"x": None}], "y": 2}),
    ],
    ids=["nan", "inf", "-inf", "endless", "-endless", "large", "too large", "others", "deep"],
)
def test_a_figure_that_json_cannot_say_is_null_and_the_rest_stays(value: Any, told: Any) -> None:
    assert strict(jsonline.encode({"args": value, "kept": "x"})) == {"args": told, "kept": "x"}


@pytest.mark.parametrize(
    ("wrap", "empty"), [(lambda inner: [inner], []), (lambda inner: {"a": inner}, {})], ids=["lists", "maps"]
)
@pytest.mark.parametrize("depth", [1_050, 1_500, 5_000, 50_000, 200_000])
def test_bottomless_nesting_is_cut_and_the_rest_stays(wrap: Any, empty: Any, depth: int) -> None:
    value: Any = "bottom"
    for _ in range(depth):
        value = wrap(value)
    expected = empty
    for _ in range(63):
        expected = wrap(expected)
    assert strict(jsonline.encode({"args": value, "kept": "x"})) == {"args": expected, "kept": "x"}


@pytest.mark.parametrize("depth", [1_050, 1_500, 5_000, 50_000, 200_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["lists", "maps"])
def test_bottomless_nesting_is_refused(opening: str, closing: str, depth: int) -> None:
    for inner in ("1", "", '"' + "[" * 2000 + '"'):
        with pytest.raises((RecursionError, ValueError)):
            jsonline.decode(opening * depth + inner + closing * depth)


def test_what_is_wide_or_only_speaks_of_brackets_is_read_and_written() -> None:
    wide = {"many": [[{"a": []}] for _ in range(5_000)], "words": "[{" * 5_000}
    assert jsonline.decode(jsonline.encode(wide)) == wide
    deep: Any = 1
    for _ in range(800):
        deep = [deep, {}]
    assert jsonline.decode(jsonline.encode({"deep": deep, "words": "[" * 2_000})) == {
        "deep": deep,
        "words": "[" * 2_000,
    }
    for depth, beside in ((850, ""), (850, ",[]"), (1050, ""), (1050, ",[]")):
        text = "[" * depth + '"x"' + "]" * (depth - 1) + beside + "]"
        if depth == 850:
            assert jsonline.decode(text)
        else:
            with pytest.raises(RecursionError):
                jsonline.decode(text)
    for alone in ("1", '"x"', "null"):
        assert jsonline.decode_first(f"{alone} {'[' * 2_000}") == jsonline.decode(alone)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"[" + b"[]," * 200_000 + b"1]", True),
        (b'{"a":"' + b"[{,]}" * 400_000 + b'"}', False),  # a text that holds them
        (b'{"a":"' + b'\\"[,\\\\' * 400_000 + b'"}', False),
        (b'["' + b'","' * 700_000 + b'"]', True),
        (b"[" + b"1," * 200_000 + b"1]", False),
        (b"[" + b"1," * 400_000 + b"1]", True),
        (b"[]", False),
        (b"[" * 100_000, False),  # short: it is cheap whatever it holds
        (b"\0" * 1_000_000, False),
    ],
    ids=["brackets", "text", "escapes", "strings", "some figures", "figures", "empty", "short", "hole"],
)
def test_what_would_take_many_times_its_length_in_memory_is_found(text: bytes, *, expected: bool) -> None:
    assert jsonline.is_dense(text) is expected
