"""The answers of an installed pi to our questions, and outputs that are no answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tmuxagents.agents import AGENTS

pi = AGENTS["pi"].questions()
LISTING = b"""\
provider        model            context  max-out  thinking  images
mock            mock-text        128K     4.1K     no        no
github-copilot  claude-sonnet-4  200K     64K      yes       yes
"""
NOBODY = b"No models available. Use /login to log into a provider. See:\n  /docs/providers.md\n"


def answer(*listed: Any, **changes: Any) -> bytes:
    document = {
        "type": "response",
        "command": "get_available_models",
        "success": True,
        "data": {"models": listed},
    }
    return json.dumps(document | changes).encode()


def raw(**changes: Any) -> dict[str, Any]:
    model = {"id": "gpt-4o", "provider": "github-copilot", "name": "GPT-4o", "reasoning": False}
    return {**model, "input": ["text", "image"], "contextWindow": 128_000, "maxTokens": 4096, **changes}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (b"0.87.1\n", "0.87.1"),
        (b"v1.5.0", "1.5.0"),
        (b"pi 0.73.1 (node 22)\n", "0.73.1"),
        (b"Warning: old node\n1.5.0\n", "1.5.0"),
        (b"1.0.0-beta.2+build5", "1.0.0-beta.2+build5"),
        (b"2.0", "2.0"),
        (b"", None),
        (b"usage: pi [options]", None),
        (b"127.0.0.1.9", None),
        (b"\xff\xfe\x00", None),
        (b"x" * 1000 + b" 1.5.0", None),
    ],
)
def test_the_version(text: bytes, version: str | None) -> None:
    assert pi.version(text) == version


@pytest.mark.parametrize(
    ("version", "old"),
    [
        *(("0.87.0", False), ("0.87.1", False), ("0.88", False), ("1.5.0", False), ("10.0.0", False)),
        *(("0.86.9", True), ("0.73.1", True), ("0.9.0", True), ("", True)),
    ],
)
def test_which_version_is_too_old(version: str, *, old: bool) -> None:
    assert pi.is_old(version) is old


def test_models_keep_their_order_and_what_is_told_of_them() -> None:
    found = pi.models(
        answer(raw(), raw(id="a/b", provider="openrouter", name="", reasoning=True, input=["text"]))
    )
    assert found == [
        {
            "id": "github-copilot/gpt-4o",
            "provider": "github-copilot",
            "name": "GPT-4o",
            "contextWindow": 128_000,
            "maxTokens": 4096,
            "reasoning": False,
            "images": True,
        },
        {
            "id": "openrouter/a/b",
            "provider": "openrouter",
            "name": None,
            "contextWindow": 128_000,
            "maxTokens": 4096,
            "reasoning": True,
            "images": False,
        },
    ]


def test_an_answer_that_lists_nothing_is_an_answer() -> None:
    assert pi.models(answer()) == []


@pytest.mark.parametrize(
    "line",
    [
        *(b"", b"{", b"null", b"[]", b'"x"', b"[" * 100_000, b"\xff", b'{"type":"extension_ui_request"}'),
        answer(raw(), success=False),
        answer(raw(), success="true"),
        answer(raw(), command="get_state"),
        answer(data=None),
        answer(data={"models": {}}),
        answer("gpt-4o", raw(id="a\nb")),
    ],
)
def test_what_is_no_list_of_models(line: bytes) -> None:
    assert pi.models(line) is None


@pytest.mark.parametrize(
    "bad",
    [
        *(None, 5, "gpt-4o", []),
        *(raw(id=None), raw(id=""), raw(id=5), raw(id="a\nb"), raw(id="a\x1b[2J"), raw(id="x" * 600)),
        *(raw(provider=None), raw(provider=""), raw(provider="a\0")),
    ],
)
def test_a_model_without_a_usable_name_is_left_out(bad: Any) -> None:
    found = pi.models(answer(raw(id="first"), bad, raw(id="last")))
    assert [model["id"] for model in found or []] == ["github-copilot/first", "github-copilot/last"]


@given(st.fixed_dictionaries(dict.fromkeys(raw(), strategies.wild_values)))
def test_whatever_a_model_says_of_itself_the_row_has_its_shape(wild: dict[str, Any]) -> None:
    (row,) = pi.models(answer({**wild, "id": "m", "provider": "p"})) or []
    assert row["id"] == "p/m"
    for key, kind in (
        ("name", str),
        ("contextWindow", int),
        ("maxTokens", int),
        ("reasoning", bool),
        ("images", bool),
    ):
        assert row[key] is None or type(row[key]) is kind


def test_the_printed_list() -> None:
    found = pi.listing(LISTING) or []
    assert [model["id"] for model in found] == ["mock/mock-text", "github-copilot/claude-sonnet-4"]
    assert [(model["reasoning"], model["images"]) for model in found] == [(False, False), (True, True)]
    assert {model["contextWindow"] for model in found} == {None}  # 4.1K is no number of tokens


def test_the_printed_list_may_have_warnings_before_it() -> None:
    assert pi.listing(b"Warning: something\n" + LISTING) == pi.listing(LISTING)


def test_the_list_that_says_that_there_are_none() -> None:
    assert pi.listing(NOBODY) == []


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n",
        b"Error: Unknown option: --list-models",
        b"\xff\xfe",
        b"a b c d e f",
        b"provider model\na b c",
    ],
)
def test_what_is_no_printed_list(text: bytes) -> None:
    assert pi.listing(text) is None


def test_a_torn_line_of_the_list_is_left_out() -> None:
    assert len(pi.listing(LISTING + b"openai  gpt") or []) == 2


DEFAULT = {"defaultProvider": "anthropic", "defaultModel": "claude"}


@pytest.mark.parametrize(
    ("own", "of_folder", "model"),
    [
        (DEFAULT, {}, "anthropic/claude"),
        (DEFAULT, {"subagents": {}}, "anthropic/claude"),
        (DEFAULT, {"defaultModel": "other"}, None),
        (DEFAULT, {"enabledModels": []}, None),
        (DEFAULT | {"enabledModels": ["x/*"]}, {}, None),
        (DEFAULT | {"defaultModel": 5}, {}, None),
        (DEFAULT | {"defaultModel": "a\nb"}, {}, None),
        ({"defaultModel": "claude"}, {}, None),
        ([], {}, None),
    ],
)
def test_the_model_that_pi_uses_by_itself(own: Any, of_folder: Any, model: str | None) -> None:
    assert pi.own_model(json.dumps(own).encode(), json.dumps(of_folder).encode()) == model


@pytest.mark.parametrize("text", [b"", b"{", b"[" * 100_000])
def test_settings_that_cannot_be_read_name_no_model(text: bytes) -> None:
    assert pi.own_model(text, text) is None
