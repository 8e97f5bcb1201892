"""Drafts of files: what KEY=VALUE sets, what is refused, what an editor opens."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tmuxagents.errors import BadConfig, BadRequest
from tmuxagents.presets import editing, fields
from tmuxagents.presets.preset import PresetFile


@pytest.mark.parametrize("name", ["a", "A-b_9", "-", "x" * 100])
def test_names_for_a_new_file(name: str) -> None:
    editing.refuse_name(name)


@pytest.mark.parametrize("name", ["", "a b", "a/b", "../x", "a.b", "é", "a\n", "global:a", "x" * 101])
def test_names_that_no_new_file_has(name: str) -> None:
    with pytest.raises(BadRequest) as caught:
        editing.refuse_name(name)
    assert caught.value.message.startswith("A preset cannot have the name ")


@pytest.mark.parametrize(
    ("assignments", "kind", "fields"),
    [
        ([], "preset", {}),
        (["description=Writes: docs"], "preset", {"description": "Writes: docs"}),
        (["model=a/b:high"], "preset", {"model": "a/b:high"}),
        (["model=017"], "preset", {"model": "017"}),
        (["model=a=b"], "preset", {"model": "a=b"}),
        (["tools=read, bash"], "preset", {"tools": ["read", "bash"]}),
        (['tools=["a", b]'], "profile", {"tools": ["a", "b"]}),
        (["tools=[]"], "profile", {"tools": []}),
        (["extraArgs=--a: b,# c"], "profile", {"extraArgs": ["--a: b", "# c"]}),
        (
            ["timeout=90", "nesting=2", "keepBackground=true"],
            "preset",
            {"timeout": 90, "nesting": 2, "keepBackground": True},
        ),
        (
            ["noTools=true", "appendSystemPrompt=- x"],
            "profile",
            {"noTools": True, "appendSystemPrompt": "- x"},
        ),
        (["model=", "tools= "], "preset", {"model": None, "tools": None}),
        (["model=a", "model=b"], "preset", {"model": "b"}),
    ],
)
def test_what_an_assignment_sets(assignments: list[str], kind: str, fields: dict[str, Any]) -> None:
    assert editing.assigned(assignments, kind) == fields


@pytest.mark.parametrize(
    ("assignment", "kind", "words"),
    [
        ("model", "preset", '"model" sets nothing.'),
        ("colour=red", "preset", '"colour=red" sets nothing.'),
        ("apiKey=x", "preset", '"apiKey=x" sets nothing.'),
        ("name=x", "preset", '"name=x" sets nothing.'),
        ("timeout=5", "profile", '"timeout=5" sets nothing.'),
        (
            "timeout=soon",
            "preset",
            "timeout: this must be a duration like 90s or 5m, at least 1s",
        ),
        ("timeout=[", "preset", "timeout: expected the node content, but found '<stream end>'"),
        ("noTools=yes", "profile", "noTools: this counts only when it is literally true"),
        ("tools=[[a]]", "profile", "tools: this must be a list of words"),
        ("tools=a/b", "preset", "tools: 'a/b' is no name of a tool"),
        ("tools=,", "preset", "tools: it is empty: name the tools, or leave the key out to restrict none"),
        (
            "thinkingLevel=hgh",
            "profile",
            "thinkingLevel: pi knows off, minimal, low, medium, high, xhigh, max",
        ),
        ("model=a\0b", "preset", "model: it holds a character that may not be there (U+0000)"),
    ],
)
def test_what_sets_nothing_is_refused(assignment: str, kind: str, words: str) -> None:
    with pytest.raises(BadRequest) as caught:
        editing.assigned([assignment], kind)
    assert (caught.value.message, caught.value.kind) == (words, "bad-argument")


def test_the_keys_there_are_stand_in_the_hint() -> None:
    with pytest.raises(BadRequest) as caught:
        editing.assigned(["x=y"], "preset")
    assert caught.value.hint == (
        "KEY=VALUE, with one of account, agent, description, driver, env, home, keepBackground, model, "
        "nesting, on, permission, timeout, tools"
    )


def draft(text: str, kind: str = "preset") -> PresetFile:
    return PresetFile(kind=kind, source="global", path="/a.md", text=text)


def test_a_good_draft_is_what_it_will_be_read_as() -> None:
    made = editing.checked(draft("---\nname: a\ndescription: d\n---\nBody"))
    assert (made.name, made.fields) == ("a", {"description": "d", "systemPrompt": "Body"})


@pytest.mark.parametrize(
    ("text", "kind", "words", "fields"),
    [
        (
            "no header",
            "preset",
            "/a.md: line 1: it has no header: the file must begin with a line `---`",
            [None],
        ),
        (
            "---\nname: 5\n---\n",
            "profile",
            "/a.md: line 2, name: the name must be a text; put it in quotes",
            ["name"],
        ),
        (
            "---\nname: a\nb: c: d\n---",
            "profile",
            '/a.md: line 3, b: a text that holds ": " must be in quotes',
            ["b"],
        ),
        (
            "---\nname: a\ntools:\n---\n",
            "preset",
            "/a.md: description: it is missing: say in a few words what the preset is for",
            ["description", "tools"],
        ),
    ],
)
def test_a_bad_draft_is_refused(text: str, kind: str, words: str, fields: list[str | None]) -> None:
    with pytest.raises(BadConfig) as caught:
        editing.checked(draft(text, kind))
    error = caught.value
    assert (error.message, error.kind, error.hint) == (words, f"bad-{kind}", "nothing was written")
    assert [fault.field for fault in error.faults] == fields


@pytest.mark.parametrize("kind", ["preset", "profile"])
def test_a_template_is_good_as_it_stands(kind: str) -> None:
    text = editing.template("new-one", kind)
    made = editing.checked(draft(text, kind))
    assert made.name == "new-one"
    assert made.fields["systemPrompt"]
    with_all = re.sub("^# ([a-zA-Z]+:)", r"\1", text, flags=re.MULTILINE)
    keys = fields.OWN_KEYS if kind == "preset" else fields.PROFILE_KEYS
    assert all(f"\n{key}:" in with_all for key in keys)
    assert made.fields.items() <= editing.checked(draft(with_all, kind)).fields.items()


def test_what_is_wrong_with_a_draft() -> None:
    assert editing.flaws_of(draft("---\nname: a\ndescription: d\n---\n")) == []
    for text in ("no header", "---\nname: a\n---\n"):
        assert len(editing.flaws_of(draft(text))) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [("\ud800", "it is not UTF-8"), ("x" * 2_000_000, "it is larger than")],
)
def test_a_draft_that_could_not_be_read_again_is_flawed(text: str, words: str) -> None:
    draft = PresetFile(kind="preset", source="global", path="/a.md", text=text)
    (flaw,) = editing.flaws_of(draft)
    assert flaw.words().startswith(words)


def test_a_name_that_something_has_is_refused_with_what_to_type() -> None:
    error = editing.exists("scout")
    assert (error.message, error.hint) == (
        'There is a preset "scout" already.',
        "tmuxagents presets edit scout",
    )


def test_a_duration_keeps_its_spelling() -> None:
    text = "---\nname: p\ndescription: d\ntimeout: 5m\n---\n"
    assert editing.as_written(draft(text)) == {"timeout": "5m"}
    assert editing.as_written(draft("---\nname: p\n---\n")) == {}
