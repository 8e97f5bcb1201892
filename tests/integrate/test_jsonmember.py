"""Our member in a person's JSON: put in in the person's style, taken out to the byte."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.integrate import own_text
from tmuxagents.integrate.own_text import CannotEdit

GROUP, NAME = "mcpServers", "tmuxagents"
OURS = {"command": "/usr/bin/tmuxagents", "args": ["mcp"]}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
SERVERS = st.dictionaries(st.text(max_size=4), VALUES, max_size=3)
FILES = st.dictionaries(st.text(max_size=4), VALUES, max_size=3).flatmap(
    lambda rest: st.none().map(lambda _: rest) | SERVERS.map(lambda servers: {**rest, GROUP: servers})
)
BLANKS = st.text(" \t\r\n", max_size=4)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Return a JSON object in any style."""
    text = json.dumps(
        draw(FILES), indent=draw(st.sampled_from([None, 1, 2, 4, "\t"])), ensure_ascii=draw(st.booleans())
    )
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    if draw(st.booleans()):  # blanks in an empty object
        text = text.replace("{}", "{" + draw(BLANKS) + "}")
    return draw(BLANKS) + text + draw(BLANKS)


@given(texts())
def test_what_is_put_in_is_in_it_and_taking_it_out_gives_back_every_byte(text: str) -> None:
    new = own_text.put_member(text, GROUP, NAME, OURS)
    before = json.loads(text)
    assert json.loads(new) == {**before, GROUP: {**before.get(GROUP, {}), NAME: OURS}}
    assert own_text.get_member(new, GROUP, NAME) == OURS
    assert own_text.take_member(new, GROUP, NAME) == text


@given(texts(), VALUES)
def test_what_is_put_in_twice_takes_the_place_of_the_first(text: str, other: Any) -> None:
    once = own_text.put_member(text, GROUP, NAME, other)
    twice = own_text.put_member(once, GROUP, NAME, OURS)
    assert own_text.get_member(twice, GROUP, NAME) == OURS
    assert own_text.take_member(twice, GROUP, NAME) == text


@given(texts())
def test_where_it_is_not_there_is_nothing_to_take(text: str) -> None:
    assert own_text.get_member(text, GROUP, NAME) is None
    assert own_text.take_member(text, GROUP, NAME) == text


@given(texts())
def test_what_another_program_has_written_anew_loses_our_member_and_no_other(text: str) -> None:
    anew = json.dumps(json.loads(own_text.put_member(text, GROUP, NAME, OURS)), indent=2)
    left = json.loads(own_text.take_member(anew, GROUP, NAME) or "{}")
    before = json.loads(text)
    assert left in (before, {key: value for key, value in before.items() if key != GROUP})
    assert left.get(GROUP) or not before.get(GROUP)


@given(st.text(max_size=30))
def test_no_text_breaks_it(text: str) -> None:
    with contextlib.suppress(CannotEdit):
        assert NAME in own_text.put_member(text, GROUP, NAME, OURS)


def test_a_file_of_our_own_goes_whole() -> None:
    text = own_text.made_member(GROUP, NAME, OURS)
    assert json.loads(text) == {GROUP: {NAME: OURS}}
    assert own_text.take_member(text, GROUP, NAME) is None
    assert own_text.take_member(text + "\n", GROUP, NAME) == "{\n  \n}\n\n"  # a person has changed it


def test_it_looks_as_the_person_writes() -> None:
    text = '{\n    "a": 1,\n    "mcpServers": {\n        "other": {"command": "x"}\n    }\n}\n'
    assert own_text.put_member(text, GROUP, NAME, OURS) == (
        '{\n    "a": 1,\n    "mcpServers": {\n        "other": {"command": "x"},\n'
        '        "tmuxagents": {\n            "command": "/usr/bin/tmuxagents",\n'
        '            "args": [\n                "mcp"\n            ]\n        }\n    }\n}\n'
    )
    assert (
        own_text.put_member('\ufeff{"mcpServers":{}}', GROUP, NAME, 1)
        == '\ufeff{"mcpServers":{"tmuxagents": 1}}'
    )
    assert own_text.put_member("{}", GROUP, NAME, 1) == '{"mcpServers": {"tmuxagents": 1 }}'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is not JSON, line 1"),
        ('{"a": 1,\n // b\n}', "it is not JSON, line 2"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "it is not a JSON object"),
        ('{"mcpServers": []}', '"mcpServers" in it is not an object'),
        ('{"mcpServers": {}, "mcpServers": {}}', 'it has "mcpServers" 2 times'),
        ('{"mcpServers": {"tmuxagents": 1, "tmuxagents": 2}}', 'it has "tmuxagents" 2 times'),
    ],
)
def test_what_cannot_be_changed_is_refused_in_a_sentence(text: str, why: str) -> None:
    for change in (
        lambda: own_text.get_member(text, GROUP, NAME),
        lambda: own_text.put_member(text, GROUP, NAME, 1),
        lambda: own_text.take_member(text, GROUP, NAME),
    ):
        with pytest.raises(CannotEdit) as raised:
            change()
        assert str(raised.value) == why
