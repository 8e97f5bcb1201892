"""What a parent's session remembers of its background runs, and what is told of each, once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schema_examples import FILES, VALIDATORS
from tmuxagents import companion
from tmuxagents.companion import CHANGED, LAUNCHED, Memory

RUN: dict[str, Any] = {**FILES["run.json"][0], "name": "lookout"}
ID = RUN["runId"]
COUNTS = {"queued": 0, "running": 0, "completed": 1, "failed": 0, "aborted": 0, "total": 1}
DONE = {"status": "completed", "reason": "done", "activity": None, "endedAt": 1794996042.37, "exitCode": 0}


def run(**changes: Any) -> dict[str, Any]:
    return {**RUN, "elapsedSeconds": 42.7, **changes}


def entry(kind: str, **data: Any) -> dict[str, Any]:
    return {"customType": kind, "data": {"runId": ID, **data}}


LAUNCH = entry(LAUNCHED, status="queued")


def told(memory: Memory, **changes: Any) -> dict[str, Any]:
    line = {
        "v": 1,
        "status": "bg: 0 running / 1 total",
        "counts": COUNTS,
        "active": [],
        **memory.report(run(**changes)),
    }
    VALIDATORS["notice"].validate(line)
    return line


def test_a_new_run_is_told_whole_and_nothing_more() -> None:
    memory = Memory()
    line = told(memory)
    assert (line["run"], line["update"], line["notice"]) == (run(), None, None)
    assert not memory.is_news(ID, "running", settled=False)


def test_a_change_is_an_update_and_an_end_a_notice_once() -> None:
    memory = Memory([LAUNCH])
    line = told(memory)
    assert (line["run"], line["notice"]) == (None, None)
    assert line["update"] == {
        "runId": ID,
        "status": "running",
        "reason": None,
        "settled": False,
        "result": None,
    }
    line = told(memory, **DONE)
    assert (line["update"]["status"], line["update"]["result"]["exitCode"]) == ("completed", 0)
    assert line["notice"]["text"] == "✓ lookout completed after 42s"
    assert not memory.is_news(ID, "completed", settled=False)
    assert (memory.open, told(memory, **DONE)["notice"]) == ([], None)


def test_a_run_that_was_over_before_anybody_looked_is_told_at_once() -> None:
    line = told(Memory(), **DONE)
    assert (line["run"]["status"], line["update"]["status"]) == ("completed", "completed")
    assert line["notice"]


def test_entries_of_before_are_remembered() -> None:
    assert Memory([LAUNCH]).open == [ID]
    memory = Memory([LAUNCH, entry(CHANGED, status="completed")])
    assert (memory.open, memory.is_news(ID, "completed", settled=False)) == ([], False)


def test_where_entry_and_directory_differ_the_directory_decides_and_nobody_is_told_twice() -> None:
    memory = Memory([LAUNCH, entry(CHANGED, status="completed")])
    assert memory.is_news(ID, "failed", settled=False)
    line = told(memory, status="failed", reason="error", errorMessage="401", endedAt=1.0, activity=None)
    assert (line["update"]["status"], line["notice"]) == ("failed", None)


def test_a_live_run_is_announced_when_it_first_answers_and_not_when_it_ends() -> None:
    memory = Memory([entry(LAUNCHED, status="running")])
    assert memory.is_news(ID, "running", settled=True)
    line = told(memory, settled=True)
    assert (line["update"]["settled"], line["notice"]["text"]) == (True, "✓ lookout has answered, and stays")
    again = Memory([LAUNCH, {"customType": CHANGED, "data": line["update"]}])
    assert not again.is_news(ID, "running", settled=True)
    assert again.report(run(**DONE))["notice"] is None


def test_a_run_whose_files_are_gone_is_told_of_as_lost_once() -> None:
    memory = Memory([LAUNCH])
    line = {"v": 1, "status": None, "counts": COUNTS, "active": [], **memory.report_lost(ID)}
    VALIDATORS["notice"].validate(line)
    assert (line["update"]["reason"], line["notice"]["level"], memory.open) == ("lost", "warning", [])


@pytest.mark.parametrize(
    "bad",
    [
        *(None, 3, "x", [], {}, {"customType": LAUNCHED}, {"customType": LAUNCHED, "data": None}),
        entry(LAUNCHED),
        entry(LAUNCHED, status="error"),
        {"customType": LAUNCHED, "data": {"runId": 3, "status": "running"}},
        {"customType": "pi-subagents", "data": {"runId": ID, "status": "running"}},
    ],
)
def test_a_malformed_entry_is_passed_over(bad: object) -> None:
    assert Memory([bad]).runs == {}
    assert Memory([bad, LAUNCH]).open == [ID]


@pytest.mark.parametrize(
    ("changes", "text", "level"),
    [
        (
            {"status": "failed", "reason": "timeout", "errorMessage": "Timed out after 300s."},
            "✗ lookout failed (timeout) after 42s: Timed out after 300s",
            "warning",
        ),
        (
            {"status": "aborted", "reason": "stopped", "startedAt": None},
            "■ lookout aborted (stopped)",
            "warning",
        ),
        ({"status": "completed", "name": None}, "✓ repo-scout completed after 42s", "info"),
        ({"status": "completed", "name": "\x1b[31mred\nline"}, "✓ red line completed after 42s", "info"),
    ],
)
def test_a_notice_says_in_a_line_how_it_ended(changes: dict[str, Any], text: str, level: str) -> None:
    notice = companion.describe(run(**changes))
    assert (notice["text"], notice["level"]) == (text, level)
    assert ID in notice["message"]
    assert "\n" not in notice["message"]
