"""Runs as words, with fixed ids and times: no text of a run moves a column or acts on the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tmuxagents.runs import words
from tmuxagents.runs.words import SnapshotRow
from tmuxagents.text import safe
from tmuxagents.text.width import columns

RUN = json.loads((Path(__file__).parents[1] / "data" / "documents" / "run.json").read_text("utf-8"))
TIMED_OUT = "Timed out after 600s. Consider resuming with a longer timeout."


def shown(
    short: str = "01a1ee15", activity: str | None = None, host: str | None = None, **run: Any
) -> SnapshotRow:
    return SnapshotRow(RUN | run, short, activity=activity, host=host)


def failed(reason: str = "timeout", message: str | None = TIMED_OUT, **run: Any) -> SnapshotRow:
    how = {"status": "failed", "reason": reason, "errorMessage": message, "endedAt": 1794996600.2}
    return shown("01a1ee12", **({"name": None, "preset": "writer", "elapsedSeconds": 600.06} | how | run))


def queued(**more: Any) -> SnapshotRow:
    none: dict[str, Any] = {"name": None, "preset": None, "startedAt": None, "elapsedSeconds": 0}
    return shown("01a1ee14", status="queued", **none, **more)


# --- the status line ---

STATUS = [
    ({"running": 2, "completed": 2, "failed": 0}, 0, "bg: 2 running / 4 total"),
    ({"running": 1, "completed": 3, "failed": 1}, 0, "bg: 1 running, 1 failed / 5 total"),
    ({}, 0, "bg: 0 running / 0 total"),
    ({"queued": 3, "running": 4, "failed": 2}, 1, "bg: 4 running, 3 queued, 1 waiting, 2 failed / 9 total"),
    ({"aborted": 7}, 0, "bg: 0 running / 7 total"),
]


@pytest.mark.parametrize(("counts", "waiting", "text"), STATUS)
def test_status_line(counts: dict[str, int], waiting: int, text: str) -> None:
    whole = dict.fromkeys(("queued", "running", "completed", "failed", "aborted"), 0) | counts
    assert words.status_line(whole | {"total": sum(whole.values())}, waiting) == text


@pytest.mark.parametrize(
    ("live", "ago", "text"),
    [
        ({"running": 1}, 10_000, "bg: 1 running / 1 total"),
        ({"queued": 1}, 10_000, "bg: 0 running, 1 queued / 1 total"),
        ({"completed": 1}, 299.9, "bg: 0 running / 1 total"),
        ({"completed": 1}, 300, ""),
        ({}, 10_000, ""),
    ],
)
def test_a_status_line_empties_some_time_after_the_last_end(
    live: dict[str, int], ago: float, text: str
) -> None:
    whole = dict.fromkeys(("queued", "running", "completed", "failed", "aborted"), 0) | live
    whole["total"] = sum(whole.values())
    assert words.status_text(whole, 0, last_end=1e9, now=1e9 + ago) == text


MARKS = [
    ([], "bg: 0 running / 1 total", "bg: 0 running / 1 total"),
    (["✓ scout"], "bg: 0 running / 1 total", "✓ scout bg: 0 running / 1 total"),
    (["✓ first", "✗ last"], "bg: 0 running / 2 total", "✗ last ✓ first bg: 0 running / 2 total"),
    (["✓ scout"], "", "✓ scout"),
    ([f"✓ {n}-{'x' * 12}" for n in range(5)], "bg", f"✓ 4-{'x' * 12} ✓ 3-{'x' * 12} +3 bg"),
    ([f"✓ {'x' * 60}", f"✓ {'y' * 60}"], "bg", f"✓ {'y' * 60} +1 bg"),
]


@pytest.mark.parametrize(("marks", "text", "whole"), MARKS)
def test_runs_that_have_just_ended_stand_in_front(marks: list[str], text: str, whole: str) -> None:
    assert words.with_marks(marks, text) == whole


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("scout", "✓ scout"),
        ("x" * 40, f"✓ {'x' * 31}…"),
        ("a #[fg=red]#(touch x)\x1b[31m\nb", "✓ a [fg=red](touch x) b"),
        ("###", "✓ -"),
        ("", "✓ -"),
    ],
)
def test_the_mark_of_a_run_that_has_ended(name: str, mark: str) -> None:
    assert words.mark(name, status="completed") == mark
    assert words.mark(name, status="failed") == mark.replace("✓", "✗")


@given(st.lists(st.text()))
def test_marks_are_short_and_obeyed_by_nothing(names: list[str]) -> None:
    marks = [words.mark(name, status="completed") for name in names]
    line = words.with_marks(marks, "")
    assert "#" not in line
    assert line.isprintable()
    assert columns(line) <= 44 + len(f" +{len(names)}")


# --- lines ---

wild = st.none() | strategies.rough_text | st.text(st.characters(), max_size=200) | st.integers()


@given(
    name=wild,
    preset=wild,
    message=wild,
    reason=wild,
    host=wild,
    status=st.sampled_from(("failed", "running")),
)
def test_no_run_breaks_a_line_or_reaches_the_terminal(status: str, host: Any, **values: Any) -> None:
    run = {"name": values["name"], "preset": values["preset"], "errorMessage": values["message"]}
    one = shown(activity=values["message"], host=host, status=status, reason=values["reason"], **run)
    lines = [words.title(values["name"], values["preset"]), words.change_line(one), words.follow_line(one)]
    assert all(safe.text(line) == line and not {"\n", "\t"} & set(line) for line in lines)
    assert len(lines[1].encode()) <= 80
    assert columns(lines[2]) <= 100


# --- changes ---

LINES = [
    (shown(status="completed", reason="done", elapsedSeconds=42.2), "01a1ee15 completed auth-scout 42s"),
    (shown(), "01a1ee15 running auth-scout 12s"),
    (queued(), "01a1ee14 queued - -"),
    (failed(), "01a1ee12 failed - 600s timeout"),
    (failed("lost", status="aborted", name="x"), "01a1ee12 aborted x 600s lost"),
    (failed(name="n" * 90), f"01a1ee12 failed {'n' * 48}… 600s timeout"),
    (failed(name="字" * 90), f"01a1ee12 failed {'字' * 16}… 600s timeout"),
]


@pytest.mark.parametrize(("run", "line"), LINES)
def test_a_change_is_one_short_line(run: SnapshotRow, line: str) -> None:
    assert words.change_line(run) == line
    assert len(line.encode()) <= 80


def test_changes_say_where_to_go_on() -> None:
    assert words.changes([], "5f3a.2609.1794996043", reset=False) == [
        "no change",
        "cursor 5f3a.2609.1794996043",
    ]
    assert words.changes([shown()], "a.1.2", reset=True) == [
        "reset",
        "01a1ee15 running auth-scout 12s",
        "cursor a.1.2",
    ]


def test_a_followed_run_is_one_line() -> None:
    one = shown(activity="Searching code for createSession")
    assert words.follow_line(one) == "01a1ee15 auth-scout running 12s of 10m Searching code for createSession"
    assert words.follow_line(one, 20) == "01a1ee15 auth-scout…"
    nameless = shown(name=None, task="Find where sessions are created.")
    assert words.follow_line(nameless).startswith("01a1ee15 Find where sessions are… running ")


def test_a_followed_run_that_failed_says_why_in_plain_words() -> None:
    one = failed(errorMessage='401: {"message":"Incorrect API key.","type":"invalid_request_error"}')
    assert words.follow_line(one).endswith("Incorrect API key (401)")
    assert words.follow_line(failed(errorMessage="Timed\nout.")).endswith(" Timed out.")


# --- ids ---


@pytest.mark.parametrize(
    ("others", "short"),
    [
        ([], "01a1ee15"),
        (["01a1ee14ffffffff", "01a1ee1600000000"], "01a1ee15"),
        (["01a1ee15ffffffff"], "01a1ee150"),
        (["01a1ee15069b4c1e"], "01a1ee15069b4c1f"),
        (["01a1ee15069b4c1f"], "01a1ee15069b4c1f"),
    ],
)
def test_an_id_is_shown_as_long_as_it_must_be(others: list[str], short: str) -> None:
    assert words.short_id("01a1ee15069b4c1f", others) == short


def test_a_run_that_was_to_be_stopped_says_how_it_stands() -> None:
    run = shown(status="aborted", reason="stopped")
    assert words.stopped_line(run) == "01a1ee15 aborted (stopped)"
