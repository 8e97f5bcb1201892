"""The short way reads a command line as click does, or leaves it to click."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import pytest

from tmuxagents.cli import quick
from tmuxagents.cli.verbs import overseeing

if TYPE_CHECKING:
    from collections.abc import Sequence


def by_click(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Return what click makes of a command line; None where it refuses it, or prints its help."""
    command = overseeing.VERBS[arguments[0]]
    try:
        with command.make_context(arguments[0], list(arguments[1:])) as context:
            return context.params
    except (click.ClickException, click.exceptions.Exit):
        return None


@pytest.mark.parametrize(
    "line",
    [
        "poll",
        "poll -a -A --json",
        "poll 01a1ee15 scout @last",
        "poll --wait --any --timeout 3.5 scout",
        "poll --follow --json",
        "poll -f",
        "poll --since 0",
        "poll --since 1h30m",
        "poll -n 5 --status failed,aborted",
        "poll --watch",
        "ls --format {{.name}}",
        "poll --wait --timeout 5m",
        "poll --all --all-projects --since 5f3a.12.1700 --json",
        "status scout",
        "ps",
        "ls --json",
        "wait scout",
        "wait --any --timeout 60 --json scout 01a1ee15",
        "statusline",
        "statusline -A --json",
    ],
)
def test_a_plain_command_line_takes_the_short_way(line: str) -> None:
    assert quick.read(line.split()) == by_click(line.split()) is not None


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--json",
        "launch scout",
        "-L other poll",
        "poll --help",
        "poll -L other",
        "poll --",
        "poll -- scout",
        "poll -aA",
        "poll --timeout nan",
        "poll --timeout soon",
        "poll -n 0",
        "poll -n many",
        "poll --status ended",
        "poll --timeout 1e3",
        "poll --timeout",
        "poll --since",
        "poll --nonsense",
        "poll --since --json",
        "poll --timeout -1",
        "poll -",
        "poll --timeout=3",
        "wait",
        "statusline scout",
    ],
)
def test_all_else_is_left_to_click(line: str) -> None:
    assert quick.read(line.split()) is None
    assert quick.answer(line.split()) is None


def test_a_shell_that_asks_for_completions_is_left_to_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TMUXAGENTS_COMPLETE", "bash_complete")
    assert quick.answer(["poll"]) is None
