"""Templates over the fields of a document."""

from __future__ import annotations

import json

import pytest

from tmuxagents.text import jsonline
from tmuxagents.text.templates import BadTemplateError, Template

RUN = {"name": "scout", "none": None, "live": True, "usage": {"cost": 0.25}, "files": ["a"], "lost": None}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{.name}}", "scout"),
        ("{{ .name }}: {{name}}", "scout: scout"),
        ("{{.usage.cost}}\\t{{.live}}\\n", "0.25\ttrue\n"),
        ("<{{.none}}> \\\\t \\x", "<> \\t \\x"),
        ("{{.files}} {{json .name}} {{json .usage}}", '["a"] "scout" {"cost":0.25}'),
        ("<{{.lost.cost}}>", "<>"),
        ("no field", "no field"),
    ],
)
def test_a_template_is_filled(template: str, text: str) -> None:
    assert Template(template).fill(RUN) == text


def test_a_whole_document_is_one_line_of_json() -> None:
    assert Template("{{json .}}").fill({"a": "é\n"}) in ('{"a":"é\\n"}', '{"a":"\\u00e9\\n"}')


@pytest.mark.parametrize("template", ["{{", "{{}}", "{{ . }}", "{{.name", "a {{.name} b"])
def test_half_a_template_is_refused(template: str) -> None:
    with pytest.raises(BadTemplateError):
        Template(template)


@pytest.mark.parametrize(
    ("template", "field", "near"),
    [
        ("{{.nam}}", "nam", list(RUN)),
        ("{{.usage.costs}}", "usage.costs", ["cost"]),
        ("{{.name.x}}", "name.x", []),
    ],
)
def test_an_unknown_field_is_named(template: str, field: str, near: list[str]) -> None:
    with pytest.raises(BadTemplateError, match=f'"{field}"') as error:
        Template(template).fill(RUN)
    assert list(error.value.near) == near


def test_a_document_for_a_person_says_the_same_and_nothing_that_a_terminal_obeys() -> None:
    document = {"name": "é\x1b[31m\x9b\U000e0001", "list": [1, {}]}
    text = jsonline.pretty(jsonline.encode(document)).decode()
    assert json.loads(text) == document
    assert text.startswith('{\n  "name": "é\\u001b[31m')
    assert all(sign.isprintable() for sign in text.replace("\n", ""))
