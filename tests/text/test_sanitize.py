"""Printed text has nothing that a terminal obeys; all else in it stays."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import strategies
from tmuxagents.text import safe

# The code points that must never reach a terminal, listed here again on purpose.
OBEYED = {
    *(code for code in range(0x20) if chr(code) not in "\n\t"),
    *range(0x7F, 0xA0),
    *(0x61C, 0x200E, 0x200F, 0x2028, 0x2029),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    *range(0xD800, 0xE000),
}
plain_texts = st.text(st.characters(exclude_categories=["Cs"]).filter(lambda sign: ord(sign) not in OBEYED))
SEQUENCE_SIGNS = "\x1b\x1b\x1b\x07\x9c\x9d\x9b\x90[]P_^X\\;:?0189mKhJ#( \n\tab"


def test_no_single_character_that_a_terminal_obeys_is_left() -> None:
    everything = "".join(map(chr, range(0x30000)))
    assert {ord(sign) for sign in safe.text(everything)} & OBEYED == set()
    shown = {code: safe.text(f"a{chr(code)}b") for code in OBEYED}
    breaks = {code for code, words in shown.items() if words == "a\nb"}
    lost = {code for code, words in shown.items() if words == "a\ufffdb"}
    assert breaks == {ord("\r"), 0x85, 0x2028, 0x2029}
    assert lost == {*range(0xD800, 0xE000)}


@given(st.text(st.characters(), max_size=200))
@example("\x1b" * 50)
def test_nothing_that_a_terminal_obeys_survives(raw: str) -> None:
    assert {ord(sign) for sign in safe.text(raw)} & OBEYED == set()


@given(st.text(SEQUENCE_SIGNS, max_size=60))
def test_no_sequence_survives_however_it_is_nested_torn_or_ended(raw: str) -> None:
    clean = safe.text(raw)
    assert {ord(sign) for sign in clean} & OBEYED == set()
    assert safe.text(clean) == clean


@given(plain_texts)
@example("größer 漢字 😀 👩\u200d💻 a\u0301 \u00a0 tabs\tand\nlines [31m ]52;c;x \\")
def test_text_without_them_is_unchanged(raw: str) -> None:
    assert safe.text(raw) is raw


@given(plain_texts, plain_texts)
def test_colours_are_taken_out_of_text_and_nothing_else(before: str, after: str) -> None:
    assert safe.text(f"{before}\x1b[1;38;5;196m{after}\x1b[0m") == before + after


CLIPBOARD = "52;c;ZWNobyBoaQ=="
GONE = {
    "OSC 52, ended by BEL": f"a\x1b]{CLIPBOARD}\x07b",
    "OSC 52, ended by ST": f"a\x1b]{CLIPBOARD}\x1b\\b",
    "OSC 52, ended by the 8 bit ST": f"a\x1b]{CLIPBOARD}\x9cb",
    "OSC 52, 8 bit": f"a\x9d{CLIPBOARD}\x9cb",
    "OSC 52, 8 bit, ended by BEL": f"a\x9d{CLIPBOARD}\x07b",
    "OSC 52 over several lines": "a\x1b]52;c;ZWNo\nbyBo\naQ==\x07b",
    "OSC 0, the title": "a\x1b]0;root@host\x07b",
    "OSC 8, a link, opened and closed": "\x1b]8;;http://example.org/x\x1b\\ab\x1b]8;;\x1b\\",
    "OSC 8 with an id, ended by BEL": "a\x1b]8;id=5;http://example.org\x07b\x1b]8;;\x07",
    "DCS": "a\x1bP1$r0m\x1b\\b",
    "DCS, 8 bit": "a\x901$r0m\x9cb",
    "SOS": "a\x1bXhidden\x1b\\b",
    "SOS, 8 bit": "a\x98hidden\x9cb",
    "PM": "a\x1b^hidden\x1b\\b",
    "PM, 8 bit": "a\x9ehidden\x9cb",
    "APC": "a\x1b_Gf=100;AAAA\x1b\\b",
    "APC, 8 bit": "a\x9fGf=100\x9cb",
    "CSI, 8 bit": "a\x9b31mb",
    "CSI with intermediates": "a\x1b[0 qb",
    "CSI with private marks": "a\x1b[?1049h\x1b[>4;2mb",
    "CSI without an end": "a\x1b[31\x1b[0mb",
    "mouse and paste modes": "a\x1b[?1000;1006h\x1b[?2004hb",
    "reset": "a\x1bcb",
    "character set": "a\x1b(0b",
    "line size": "a\x1b#8b",
    "keypad": "a\x1b=\x1b>b",
    "save and restore": "a\x1b7\x1b8b",
    "a bare ESC at the end": "ab\x1b",
    "ESC before a sequence": "a\x1b\x1b[31mb",
    "C1 controls": "a\x84\x86\x8d\x9ab",
    "bell, backspace, vertical tab, form feed": "a\a\b\x0b\x0cb",
    "bidi": "a\u202e\u2066\u2069\u202c\u200f\u061cb",
    "delete": "a\x7fb",
}


@pytest.mark.parametrize("raw", GONE.values(), ids=GONE)
def test_a_sequence_is_taken_out_whole(raw: str) -> None:
    assert safe.text(raw) == "ab"


@pytest.mark.parametrize(
    "start", ["\x1b]", "\x1bP", "\x1bX", "\x1b^", "\x1b_", "\x9d", "\x90", "\x98", "\x9e", "\x9f"]
)
def test_a_string_without_an_end_takes_the_rest_of_its_line_and_no_more(start: str) -> None:
    assert safe.text(f"a{start}52;c;ZWNo") == "a"
    assert safe.text(f"a{start}52;c;ZWNo\nb") == "a\nb"
    assert safe.text(f"a{start}52;c;ZWNo\x1b[31mb") == "ab"


@pytest.mark.parametrize(
    "raw",
    [
        "\x1bPtmux;\x1b\x1b]52;c;ZWNobyBoaQ==\x07\x1b\\",
        "\x1bP\x1b\x1b]52;c;ZWNobyBoaQ==\x07\x1b\\",
        "\x1b]52;c;\x1b[0mZWNobyBoaQ==\x07",
        "\x1b\x1b]52;c;ZWNobyBoaQ==\x07",
    ],
)
def test_what_is_wrapped_for_a_terminal_inside_is_harmless_too(raw: str) -> None:
    assert re.fullmatch("[A-Za-z0-9=]*", safe.text(raw))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("10%\r20%\r\r30%", "10%\n20%\n\n30%"),
        ("one\r\r\ntwo", "one\n\ntwo"),
        ("one\x85two\u2028three\u2029four", "one\ntwo\nthree\nfour"),
        ("one\r\x1b[Ktwo", "one\ntwo"),
        ("one\x1b[K\r\x1b[0m\ntwo", "one\ntwo"),
        ("\x1b\rone", "\none"),
        ("one\x1b]0;t\r\x85t\x07two", "onetwo"),
    ],
)
def test_whatever_begins_a_line_begins_a_line(raw: str, shown: str) -> None:
    """Words with only a carriage return between them must not become one word."""
    assert safe.text(raw) == shown


def test_half_a_character_is_shown_as_a_lost_one() -> None:
    assert safe.text("a\ud800b\udfff") == "a\ufffdb\ufffd"


# --- one line, and so wide ---


@given(strategies.rough_text)
@example("a\n\n b\t\tc\x1b[31m \r\n d\u2028e\x85f")
def test_a_line_is_one_line_without_space_at_its_ends(raw: str) -> None:
    line = safe.line(raw)
    assert line.splitlines() in ([], [line])
    assert line == line.strip()
    assert "  " not in line


def test_a_line_keeps_its_words() -> None:
    assert safe.line("  one\n\ttwo \x1b[1mthree\x1b[0m\n") == "one two three"


@pytest.mark.parametrize(
    ("raw", "width", "shown"),
    [
        ("", 5, ""),
        ("abcde", 5, "abcde"),
        ("abcdef", 5, "ab..."),
        ("abcdef", 4, "a..."),
        ("abcdef", 3, "..."),
        ("漢字漢字漢字", 5, "漢字..."),
    ],
)
def test_cut(raw: str, width: int, shown: str) -> None:
    assert safe.cut(raw, width) == shown


@given(st.text(max_size=20), st.integers(0, 12))
def test_nothing_is_longer_than_it_is_cut_to(raw: str, width: int) -> None:
    assert len(safe.cut(raw, width)) <= width


# --- texts by their bytes ---


@given(st.text(), st.integers(0, 40))
@example("😀é", 4)
def test_the_first_bytes_are_as_many_whole_characters_as_fit(text: str, limit: int) -> None:
    kept = safe.first_bytes(text, limit)
    assert text.startswith(kept)
    assert safe.size_of(kept) <= limit
    following = text[len(kept) : len(kept) + 1]
    assert not following or safe.size_of(kept + following) > limit


@given(st.text())
def test_the_size_is_that_of_the_file(text: str) -> None:
    assert safe.size_of(text) == len(text.encode("utf-8"))


def test_half_a_character_is_no_fault() -> None:
    assert safe.size_of("a\ud800") == 2
    assert safe.first_bytes("a\ud800bcd", 3) == "a?b"


@given(st.text(), st.integers(0, 40), st.integers(1, 9))
@example("a" * 400, 8, 1)
@example("abc", 2, 1)
def test_head_and_tail_are_the_ends_of_a_text_of_any_length(text: str, limit: int, piece: int) -> None:
    whole = text.encode()
    pieces = [whole[at : at + piece] for at in range(0, len(whole), piece)]
    found = safe.head_and_tail(pieces, limit, ", elsewhere")
    assert found == safe.head_and_tail([whole], limit, ", elsewhere")
    if len(whole) <= limit:
        assert found == text
        return
    parts = re.fullmatch(
        r"(.*?)\n\[\.\.\. (\d+) (bytes?) left out, elsewhere \.\.\.\]\n(.*)", found, re.DOTALL
    )
    assert parts is not None
    head, told, noun, tail = parts.groups()
    assert noun == ("byte" if told == "1" else "bytes")
    assert (text.startswith(head), text.endswith(tail)) == (True, True)
    assert len((head + tail).encode()) == len(whole) - int(told) <= limit
