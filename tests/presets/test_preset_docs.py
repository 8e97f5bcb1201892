"""Every example in docs/presets.md is good, every command in it is one, every message in it is said."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from tests.presets.preset_files import bad, profile, text_file
from tmuxagents.cli import group
from tmuxagents.presets import fields, preset

DOCS = (Path(__file__).parents[2] / "docs" / "presets.md").read_text("utf-8")
FILES = re.findall(r"```markdown\n(.*?)```", DOCS, re.DOTALL)
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", DOCS, re.DOTALL) for line in block.splitlines()]


@pytest.mark.parametrize("text", FILES)
def test_an_example_is_read_without_a_word(text: str) -> None:
    kind = "profile" if "provider:" in text else "preset"
    read = preset.parse(text_file(text, kind=kind))
    assert isinstance(read, preset.Preset)
    assert (read.warnings, read.notes) == ([], [])


def test_there_are_examples_of_each_kind() -> None:
    assert (len(FILES), len(COMMANDS)) == (5, 13)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_is_one(line: str) -> None:
    program, verb, *arguments = shlex.split(line)
    assert program == "tmuxagents"
    context = click.Context(group.tmuxagents)
    command = group.tmuxagents.get_command(context, verb)
    if isinstance(command, click.Group):
        verb = arguments.pop(0)
        command = command.get_command(context, verb)
    assert command is not None
    command.make_context(verb, arguments)  # parsed, not carried out


def test_all_keys_are_explained() -> None:
    for key in (*fields.PROFILE_KEYS, *fields.PRESET_KEYS, "name"):
        assert f"`{key}" in DOCS, key


def test_the_messages_are_said() -> None:
    said = [
        *bad("name: a\ndescription: b: c"),
        *bad("name: a"),
        *bad("name: a\ndescription: d\ntools:"),
    ]
    for message in said:
        assert f"`{message.partition(': ')[2]}`" in DOCS


def test_what_it_says_about_no_tools_is_so() -> None:
    assert profile("tools: []").tools == []
    assert profile().tools is None


def test_it_is_never_called_a_sandbox() -> None:
    assert "sandbox" not in DOCS.lower().replace("`sandbox_mode`", "")  # a key of Codex's
