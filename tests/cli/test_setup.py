"""The verb setup: each step says what is there, suggests one thing, and may be skipped."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.status.watchers import COMMAND
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.desk import Desk


@pytest.fixture
def newcomer(desk: Desk) -> Desk:
    """Return a desk whose person has no model chosen, and has Claude Code beside the agent."""
    programs = desk.home.folder / "programs"
    programs.mkdir()
    for name in ("pi", "claude"):
        (programs / name).symlink_to("/bin/true")
    desk.home.environment["PATH"] = f"{programs}:{desk.home.environment['PATH']}"
    desk.home.environment.pop("TMUXAGENTS_DEFAULT_MODEL", None)
    return desk


@pytest.fixture
def person(newcomer: Desk) -> Iterator[Terminal]:
    terminal = Terminal([*COMMAND, "setup"], newcomer.home.environment, newcomer.home.project)
    yield terminal
    terminal.close()


def written(desk: Desk) -> set[str]:
    home = desk.home.folder
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file() or path.is_symlink()}


def settings_of(desk: Desk) -> Path:
    return desk.home.agent_dir / "settings.json"


def test_a_person_answers_each_step(newcomer: Desk, person: Terminal) -> None:
    before = written(newcomer)
    person.shows("An agent (Enter: pi)")
    person.type("codex\r")
    person.shows("codex is not installed; there are pi, claude")
    person.type("\r")
    person.shows("Enter changes nothing")
    person.type("nonsense\r")
    person.shows("nonsense")
    person.type("mock/mock-think\r")
    person.shows(f"defaultModel is now mock/mock-think ({settings_of(newcomer)})")
    person.shows("Show them in tmux?")
    person.type("n\r")
    person.shows("Bind them?")
    person.type("n\r")
    person.shows("Let pi delegate?")
    person.type("n\r")
    person.shows("Let Claude Code delegate?")
    person.type("n\r")
    person.shows("Write one now?")
    person.type("n\r")
    person.shows("Ready")
    assert person.left() == 0
    assert json.loads(settings_of(newcomer).read_text()) == {"subagents": {"defaultModel": "mock/mock-think"}}
    assert {name for name in written(newcomer) - before if not name.startswith("state/")} == {
        str(settings_of(newcomer).relative_to(newcomer.home.folder))
    }


def test_another_agent_leads_on(newcomer: Desk) -> None:
    skipped = [word for step in ("status", "keys", "parents", "preset") for word in ("--skip", step)]
    person = Terminal([*COMMAND, "setup", *skipped], newcomer.home.environment, newcomer.home.project)
    person.shows("An agent (Enter: pi)")
    person.type("claude\r")
    person.shows(f"defaultAgent is now claude ({settings_of(newcomer)})")
    person.shows("claude cannot be asked for its models: a name is taken as it is")
    person.type("opus\r")
    person.shows("Ready")
    assert person.left() == 0
    person.close()
    chosen = {"defaultAgent": "claude", "defaultModel": "opus"}
    assert json.loads(settings_of(newcomer).read_text()) == {"subagents": chosen}


def test_an_agent_that_is_there_takes_the_place_of_one_that_is_not(newcomer: Desk) -> None:
    done = newcomer("setup", "--yes", variables={"TMUXAGENTS_PI": "/nowhere/pi"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "pi: it is not installed" in done.stdout
    assert f"defaultAgent is now claude ({settings_of(newcomer)})" in done.stdout
    skipped = newcomer(
        "setup",
        "--yes",
        "--skip",
        "agent",
        variables={"TMUXAGENTS_PI": "/nowhere/pi", "TMUXAGENTS_DEFAULT_AGENT": "pi"},
    )
    assert (skipped.returncode, "install pi, or make another agent the default" in skipped.stdout) == (
        3,
        True,
    )


def test_a_person_may_leave_at_any_step(newcomer: Desk, person: Terminal) -> None:
    person.shows("An agent (Enter: pi)")
    person.type("\r")
    person.shows("Enter changes nothing")
    person.type("\x03")
    assert person.left() == 130
    assert not settings_of(newcomer).exists()


def test_a_first_preset_is_the_persons_own(newcomer: Desk) -> None:
    editor, text = newcomer.home.folder / "editor.sh", newcomer.home.folder / "text"
    text.write_text("---\nname: scout\ndescription: Looks around\n---\nLook, change nothing.\n")
    editor.write_text(f'#!/bin/sh\ncat {text} >"$1"\n')
    editor.chmod(0o755)
    newcomer.home.environment["EDITOR"] = str(editor)
    skipped = [word for step in ("agent", "model", "status", "keys", "parents") for word in ("--skip", step)]
    person = Terminal([*COMMAND, "setup", *skipped], newcomer.home.environment, newcomer.home.project)
    person.shows("you have none")
    person.type("y\r")
    person.shows("Its name")
    person.type("scout\r")
    assert person.left() == 0
    person.close()
    (made,) = newcomer.home.agent_dir.rglob("scout.md")
    assert made.read_text() == text.read_text()


def test_yes_takes_what_is_suggested_and_a_second_time_finds_it_done(newcomer: Desk) -> None:
    first = newcomer("setup", "--yes")
    assert (first.returncode, first.stderr) == (0, "")
    assert "pi 0.87.1: " in first.stdout
    assert "models: 4 of mock" in first.stdout
    assert first.stdout.count("  made ") >= 3
    assert not settings_of(newcomer).exists()
    there = written(newcomer)
    again = newcomer("setup", "--yes")
    assert again.stdout.count("nothing to change") == 3
    assert "  made " not in again.stdout
    assert written(newcomer) == there


@pytest.mark.parametrize("default", ["pi", "nonsense"])
def test_without_an_agent_it_says_what_is_missing(newcomer: Desk, default: str) -> None:
    nowhere = {"TMUXAGENTS_PI": "/nowhere/pi", "TMUXAGENTS_CLAUDE": "/nowhere/claude"}
    done = newcomer("setup", "--yes", variables={**nowhere, "TMUXAGENTS_DEFAULT_AGENT": default})
    assert done.returncode == 3
    assert "The agent pi is not installed: there is no /nowhere/pi." in done.stdout
    assert "Not ready yet" in done.stdout
    assert "Status line" not in done.stdout  # there is nothing to count yet
    assert "children use the one" not in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "setup needs a terminal."),
        (("--yes", "--skip", "nonsense"), 'There is no step "nonsense".'),
    ],
)
def test_what_makes_no_sense_is_refused(newcomer: Desk, words: tuple[str, ...], message: str) -> None:
    before = written(newcomer)
    done = newcomer("setup", *words)
    assert (done.returncode, done.stdout, done.stderr.splitlines()[0]) == (2, "", message)
    assert written(newcomer) == before
