"""The answers of the tools as text and JSON, and the moments of their progress."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.schema_examples import FILES, VALIDATORS
from tmuxagents.errors import BadRequest, Fault, NoSuchRun
from tmuxagents.runs.words import SnapshotRow
from tmuxagents.tools import answers as words
from tmuxagents.tools.door import DEBOUNCE_S, LEAST_S, Pace

RUN: dict[str, Any] = FILES["run.json"][0]
ID = RUN["runId"]


def run(**changes: Any) -> dict[str, Any]:
    return {**RUN, "status": "running", "reason": None, "elapsedSeconds": 12.4, **changes}


def ended(status: str = "completed", reason: str = "done", **changes: Any) -> dict[str, Any]:
    whole = {"status": status, "reason": reason, "activity": None, "endedAt": 1794996042.37, "exitCode": 0}
    return run(**{**whole, **changes})


def shown(**changes: Any) -> SnapshotRow:
    document = run(**changes)
    return SnapshotRow(document, ID[:8], activity=document["activity"])


# --- documents --------------------------------------------------------------------------------------------


def test_a_result_is_what_its_schema_says() -> None:
    details = words.call_details(words.SINGLE, [ended()], ended=True)
    VALIDATORS["call"].validate({"v": 1} | words.result("done", details))
    assert details["status"] == "completed"


def test_progress_is_what_its_schema_says() -> None:
    details = words.call_details(words.PARALLEL, [ended(), run()], ended=False)
    VALIDATORS["call"].validate({"v": 1} | words.progress("text", details))
    assert details["status"] == "running"
    assert details["counts"] == {
        "queued": 0,
        "running": 1,
        "completed": 1,
        "failed": 0,
        "aborted": 0,
        "total": 2,
    }


def test_a_call_failed_if_any_of_its_children_has() -> None:
    runs = [ended(), ended("aborted", "parent")]
    assert words.call_details(words.PARALLEL, runs, ended=True)["status"] == "failed"


def test_a_refusal_carries_the_whole_error() -> None:
    problem = BadRequest("No.", kind="bad-argument", hint="Yes.", faults=[Fault("bad-argument", "No.")])
    document = words.refused(problem)
    VALIDATORS["call"].validate({"v": 1} | document)
    assert (document["isError"], document["content"]) == (True, [{"type": "text", "text": "No.\nhint: Yes."}])
    assert document["details"]["error"]["hint"] == "Yes."
    assert words.refused(NoSuchRun("x", kind="unknown-run"), log="/log")["details"]["error"]["log"] == "/log"


def test_compact_details_say_who_works_and_nothing_twice() -> None:
    details = {"runs": [run(output="long")], "counts": {"total": 1}, "windows": [{"runId": ID, "lines": []}]}
    compact = words.compact(details | {"sessionIds": [ID]})
    assert compact["runs"] == [
        {
            "runId": ID,
            "sessionId": RUN["sessionId"],
            "name": RUN["name"],
            "preset": RUN["preset"],
            "status": "running",
            "activity": RUN["activity"],
            "model": RUN["model"],
            "elapsedSeconds": 12.4,
            "toolCount": RUN["toolCount"],
        }
    ]
    assert (compact["windows"], compact["counts"], compact["sessionIds"]) == (
        [{"runId": ID}],
        {"total": 1},
        [ID],
    )


# --- words ------------------------------------------------------------------------------------------------


def test_one_child_says_what_it_does_to_the_letter() -> None:
    assert (
        words.call_progress(words.SINGLE, [run(activity="I look.\nThen I tell.")]) == "I look.\nThen I tell."
    )
    assert words.call_progress(words.SINGLE, [run(status="queued", activity=None)]) == "queued"
    assert words.call_progress(words.SINGLE, [ended()]) == "completed"


def test_several_children_have_a_line_each() -> None:
    text = words.call_progress(
        words.PARALLEL, [run(activity="a\nb"), run(preset=None, name="n", activity=None)]
    )
    assert text == f"[1] {RUN['name']}: a b\n[2] n: running"


def test_a_background_run_is_started() -> None:
    assert words.started(run(), "bg: 2 running / 5 total") == (
        f"Started {RUN['name']} in the background: run {ID}. bg: 2 running / 5 total"
    )


def test_rows_of_background_runs() -> None:
    rows = [shown(activity="Reading src/auth.ts"), shown(status="queued", startedAt=None, activity=None)]
    assert words.listed(rows, "bg: 1 running / 2 total", ended=False, more=0).splitlines() == [
        "bg: 1 running / 2 total",
        f"{ID} {RUN['name']} running 12s Reading src/auth.ts",
        f"{ID} {RUN['name']} queued -",
    ]


@pytest.mark.parametrize(("asked", "sentence"), [(False, words.NO_ACTIVE), (True, words.NONE_AT_ALL)])
def test_where_there_is_no_run(asked: bool, sentence: str) -> None:  # noqa: FBT001  (a table)
    text = words.listed([], "bg: 0 running / 3 total", ended=asked, more=0)
    assert text == f"bg: 0 running / 3 total\n{sentence}"


def test_older_runs_are_counted() -> None:
    text = words.listed([shown()], "bg: 0 running / 60 total", ended=True, more=10)
    assert text.splitlines()[-1] == "… 10 more: tmuxagents poll --all"


def test_a_long_list_of_runs_is_short() -> None:
    rows = [shown(name="auth-scout-of-the-parser", activity="Reading " + "x" * 200)] * 20
    text = words.listed(rows, "bg: 50 running / 50 total", ended=False, more=30, others=2)
    assert text.splitlines()[-2:] == [
        "… 30 more: tmuxagents poll",
        "2 active of other parents in this project: tmuxagents poll --others",
    ]
    assert len(text.encode()) < 2500


def test_a_refusal_says_all_that_is_wrong_what_to_do_and_what_would_be_right() -> None:
    faults = [Fault("bad-argument", "task is missing"), Fault("bad-argument", "cwd must be a text")]
    problem = BadRequest("task is missing", kind="bad-argument", hint="presets: scout", faults=faults)
    lines = words.refused(problem, tool="stop_agent")["content"][0]["text"].splitlines()
    assert lines == [
        *("task is missing", "also: cwd must be a text", "hint: presets: scout"),
        'example: {"runId": "auth-scout"}',
    ]
    busy = words.refused(NoSuchRun("x", kind="unknown-run"), tool="stop_agent")
    assert busy["content"][0]["text"] == "x"


def test_one_run_that_works() -> None:
    assert words.one(shown(activity=None), "so far") == f"{ID} {RUN['name']} running 12s"


@pytest.mark.parametrize(
    ("changes", "answer", "below"),
    [
        ({"status": "completed", "reason": "done"}, "The answer.", "\n\nThe answer."),
        ({"status": "completed", "reason": "done"}, None, ""),
        ({"status": "failed", "reason": "timeout", "errorMessage": "Too late."}, None, "\n\nToo late."),
        ({"status": "failed", "reason": "length", "errorMessage": "Cut."}, "half", "\n\nCut.\n\nhalf"),
    ],
)
def test_one_run_that_has_ended(changes: dict[str, Any], answer: str | None, below: str) -> None:
    text = words.one(shown(**changes), answer)
    state = "completed" if changes["status"] == "completed" else f"failed ({changes['reason']})"
    assert text == f"{ID} {RUN['name']} {state} 12s{below}"


def test_a_run_that_nobody_knows() -> None:
    assert words.not_found("X") == 'Run "X" not found.'
    assert words.not_found("a\x1b[2Jb" + "c" * 50) == f'Run "ab{"c" * 35}..." not found.'


def test_what_stopping_came_to() -> None:
    assert words.stopped(ended("aborted", "stopped"), before="running") == f"Stopped run {ID}."
    assert words.stopped(ended(), before="completed") == f"Run {ID} had ended already: completed."


# --- pace -------------------------------------------------------------------------------------------------


def test_the_first_is_told_at_once_and_nothing_without_a_change() -> None:
    pace = Pace()
    assert pace.is_due(5.0)
    assert not pace.is_due(500.0)
    assert not pace.waits


def test_what_comes_together_is_told_together_and_not_too_often() -> None:
    pace, told = Pace(), []
    for step in range(2000):  # two seconds, a change each millisecond
        now = step / 1000
        pace.note(now)
        if pace.is_due(now):
            told.append(now)
    assert told[0] == 0.0
    assert len(told) in (20, 21)
    assert min(after - before for before, after in itertools.pairwise(told)) >= LEAST_S - 1e-9


def test_a_change_after_a_pause_waits_for_what_comes_with_it() -> None:
    pace = Pace()
    pace.is_due(0.0)
    pace.note(10.0)
    pace.note(10.04)
    assert pace.waits
    assert not pace.is_due(10.049)
    assert pace.is_due(10.0 + DEBOUNCE_S)


def test_a_message_that_was_taken_is_told_with_its_run() -> None:
    assert words.delivered(ID) == f"Delivered to run {ID}."
