"""Searching transcripts: of all runs or one, by word, for people and programs."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from tests.status.watchers import COMMAND, command
from tests.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness import Home, Run


def ended(home: Home, script: str, **more: str) -> Run:
    """Return a run that has ended."""
    run = home.run(script, **more)
    run.start().wait()
    return run


def test_a_word_that_one_of_many_runs_has_said_is_found_at_once(home: Home, tmp_path: Path) -> None:
    for _ in range(99):
        home.run("x")
    one = ended(home, "begin\nanswer stop The Needle is here\nsettle", name="scout")
    other = ended(home, "begin\nanswer stop a needle\nsettle", project=str(tmp_path))
    command(home, "poll", "-A")
    began = time.monotonic()
    done = command(home, "logs", "--grep", "needle")
    assert time.monotonic() - began < 20
    assert done.returncode == 0
    assert [line.partition(": ")[0] for line in done.stdout.splitlines()] == [f"{one.run_id[:8]} scout"]
    assert "The Needle is here" in done.stdout
    assert other.run_id[:8] in command(home, "logs", "-A", "--grep", "needle").stdout
    assert command(home, "transcript", "--grep", "Needle", "scout").returncode == 0
    assert command(home, "transcript", "--grep", "NEEDLE", "scout").returncode == 1
    match = json.loads(command(home, "logs", "--json", "--grep", "needle").stdout)
    assert (match["v"], match["type"], match["runId"], match["name"]) == (1, "match", one.run_id, "scout")


def test_a_terminal_shows_matches_in_colour(home: Home) -> None:
    ended(home, "begin\nanswer stop The \u0130 Needle is here\nsettle", name="scout")
    environment = home.environment | {"TERM": "xterm-256color"}
    for word, shown in (
        ("needle", "The \u0130 \x1b[1;31mNeedle\x1b[0m is here"),
        ("", "The \u0130 Needle is here"),
    ):
        terminal = Terminal([*COMMAND, "transcript", "--grep", word, "scout"], environment, home.project)
        terminal.shows(shown)
        assert terminal.left() == 0
        terminal.close()


def test_a_search_goes_with_no_other_way_to_read(home: Home) -> None:
    for option in ("-f", "-t", "--session"):
        done = command(home, "logs", option, "--grep", "x")
        assert (done.returncode, "--grep" in done.stderr) == (2, True)
