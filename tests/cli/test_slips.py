"""Typical mistakes of a first day: each gets one sentence, in the words of the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.harness import Home

NOWHERE = {"TMUXAGENTS_PI": "/nowhere/pi"}
MISSING = "The agent pi is not installed: there is no /nowhere/pi."


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("models", 3, MISSING),
        ("launch hi", 3, MISSING),
        ("run hi", 3, MISSING),
        ("launch --modle x hi", 2, "'--modle'"),
        ("launch --timeout soon hi", 2, "'soon' is not a duration: write it like 90s, 5m or 1h30m."),
        ("mcp --limit 0", 2, "'0' is less than 1s."),
        ("presets show nosuch", 2, 'Unknown preset: "nosuch".'),
        ("presets new", 2, "Missing argument 'NAME'."),
        ("poll nosuch", 4, 'There is no run "nosuch".'),
        ("send", 2, "Name a run."),
        ("retry", 2, "Name a run."),
        ("wait", 2, "Name a run."),
        ("output", 2, "Name a run."),
        ("stop", 2, "Name a run to stop, or use --all."),
        ("rm", 2, "Name a run to remove."),
        ("attach --resume", 2, "Name a run to resume."),
        ("version", 2, 'There is no verb "version".'),
        ("list", 2, 'There is no verb "list".'),
    ],
)
def test_a_slip_is_met_with_one_sentence(home: Home, line: str, code: int, said: str) -> None:
    done = home.command(*line.split(), env=home.environment | NOWHERE)
    first = done.stderr.splitlines()[0]
    assert (done.returncode, said in first, done.stdout) == (code, True, ""), done.stderr
    assert "hint: " in done.stderr
    assert "/profile" not in done.stderr
    assert "agent-profiles" not in done.stderr


def test_the_nearest_option_comes_first(home: Home) -> None:
    said = home.command("launch", "--modle", "x", "hi").stderr
    assert said.startswith("No such option '--modle'.\nhint: did you mean --model or ")


def test_an_empty_shelf_of_presets_leads_to_the_verb_that_makes_one(home: Home) -> None:
    done = home.command("presets")
    assert done.returncode == 0
    assert "tmuxagents presets new" in done.stdout + done.stderr
    assert "/profile" not in done.stdout + done.stderr


def test_the_verbs_that_people_try_first_are_there(home: Home) -> None:
    for words in (["ls"], ["ps"], ["status"], ["help"], ["config"]):
        assert home.command(*words).returncode == 0, words
    page = home.command("--help").stdout
    assert "poll, ls, ps, status" in page


def test_every_answer_as_json_has_a_version(home: Home) -> None:
    lines = ("poll", "presets list", "config", "tools", "call list_subagent_profiles", "prune", "statusline")
    for line in lines:
        done = home.command(*line.split(), "--json")
        assert json.loads(done.stdout)["v"] == 1, line
