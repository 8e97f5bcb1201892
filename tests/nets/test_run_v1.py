"""Run directories and a registry recorded once, which every version has to read (tests/data/run-v1)."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import Home
from tests.nets import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.nets.frozen import Golden

# Nothing else may differ from one time to the next: a run that is still at work is so on another machine.
SUBSTITUTIONS = {r'("elapsedSeconds": )[0-9]{8,}[.0-9]*': r"\1SINCE"}
OF_EVENTS = ("attended", "event_seq", "event_offset", "last_event_at")
STATES = {"queued", "running", "completed", "failed", "aborted"}
REASONS = {
    *("done", "exit", "error", "length", "unfinished", "signal", "timeout", "loop", "spawn", "window"),
    *("stopped", "parent", "closed", "lost"),
}


@pytest.fixture
def thawed(home: Home) -> Home:
    """A home of the test's own, to be written to."""
    frozen.thaw(home, here=False)
    return home


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, dict[str, dict[str, Any]]]]:
    """One home for all who only read, and what poll says of all its runs."""
    home = Home(tmp_path_factory.mktemp("frozen") / "home")
    frozen.thaw(home, here=False)
    yield home, polled(home)
    home.end_all()


@pytest.mark.parametrize("name", frozen.names())
def test_a_frozen_run_reads_as_it_was_recorded(
    asked: tuple[Home, dict[str, dict[str, Any]]], golden: Golden, name: str
) -> None:
    home, runs = asked
    run_id = frozen.names()[name]
    pages = frozen.Pages(home, {**SUBSTITUTIONS, **places(home)})
    pages.say("the run, by poll -A -a --json", json.dumps(runs[run_id], ensure_ascii=False))
    pages.add("output", run_id)
    pages.add("transcript", run_id)
    golden(frozen.FROZEN / "expected" / f"{name}.txt", pages.text)


def test_there_is_a_frozen_run_of_each_state_and_reason(thawed: Home) -> None:
    runs = rows(thawed)
    assert len(runs) == len(frozen.names())
    assert {run["status"] for run in runs.values()} == STATES
    assert {run["reason"] for run in runs.values()} == REASONS | {None}


def test_the_frozen_registry_is_opened_and_says_what_the_directories_say(thawed: Home) -> None:
    registry = registry_of(thawed)
    before = book_of(registry)
    known = rows(thawed)
    assert registry_of(thawed) == registry  # it was neither set aside nor made anew
    after = book_of(registry)
    assert set(before) == set(after) == set(frozen.names().values())
    registry.unlink()
    assert rows(thawed) == known
    made = book_of(registry)
    assert made == after
    concluded = {run_id for run_id, row in before.items() if row["concluded"]}
    assert len(concluded) == 39
    assert all(before[run_id] == made[run_id] for run_id in concluded)


def test_of_a_directory_alone_all_the_same_is_said(thawed: Home) -> None:
    known = rows(thawed)
    registry_of(thawed).unlink()  # not its folder: that holds the lock which keeps a watcher away
    for run_id in [frozen.names()[name] for name in ("done", "lost", "person", "queued", "open-settled")]:
        assert only(thawed, run_id) == known[run_id]


def test_reading_the_frozen_runs_changes_none_of_their_files(thawed: Home) -> None:
    before = contents(thawed.state / "runs")
    rows(thawed)
    for verb in ("output", "transcript", "events"):
        assert thawed.command(verb, "done").returncode == 0
    assert contents(thawed.state / "runs") == before


# --- at hand ---


def polled(home: Home) -> dict[str, dict[str, Any]]:
    """Return all runs as poll tells them."""
    done = home.command("poll", "-A", "-a", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return {run["runId"]: run for run in json.loads(done.stdout)["runs"]}


def rows(home: Home) -> dict[str, dict[str, Any]]:
    """Return them but for how long one is at work."""
    return {run_id: timeless(run) for run_id, run in polled(home).items()}


def only(home: Home, run_id: str) -> dict[str, Any]:
    return timeless(json.loads(home.command("poll", "--json", run_id).stdout)["runs"][0])


def timeless(run: dict[str, Any]) -> dict[str, Any]:
    return run | ({"elapsedSeconds": None} if run["status"] == "running" else {})


def registry_of(home: Home) -> Path:
    (found,) = home.state.glob(f"hosts/*/{frozen.REGISTRY}*")
    return found


OF_LISTS = ("model", "cost", "activity")  # which a registry of version 1 did not have for runs that had ended


def book_of(registry: Path) -> dict[str, dict[str, Any]]:
    """Return the rows of a registry, without what is true of this very file and moment alone.

    Of a run that has ended a new registry reads the result alone, and not how far its events go.
    """
    with closing(sqlite3.connect(f"file:{registry}?mode=ro", uri=True)) as book:
        book.row_factory = sqlite3.Row
        found = {row["run_id"]: dict(row) for row in book.execute("SELECT * FROM run")}
    for row in found.values():
        for column in ("mark", "change", "changed_at", "polled_at", "elapsed_s", *OF_EVENTS, *OF_LISTS):
            row.pop(column, None)  # a registry of today has no event_offset
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def places(home: Home) -> dict[str, str]:
    """Return what this machine and this folder are called, and how the frozen files call them."""
    (host,) = (home.state / "hosts").iterdir()
    return {host.name: frozen.HOST, str(home.folder): frozen.PLACE}
