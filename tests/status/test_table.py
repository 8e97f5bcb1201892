"""The list of runs, as text for a terminal of any width and for programs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tmuxagents.runs.words import SnapshotRow
from tmuxagents.status import table
from tmuxagents.text import safe
from tmuxagents.text.width import columns

NOW = 10_000.0


def row(
    status: str = "running", *, activity: str | None = None, host: str | None = None, **known: Any
) -> SnapshotRow:
    """Return a run that began 65 s ago."""
    run: dict[str, Any] = {
        "name": "scout",
        "task": "Look around",
        "preset": None,
        "model": None,
        "usage": {"cost": 0.0},
    }
    run |= {"reason": None, "errorMessage": None, "output": None, "needsInput": False, "settled": False}
    run |= {
        "status": status,
        "createdAt": NOW - 65,
        "startedAt": NOW - 65,
        "elapsedSeconds": 65.2,
        "timeout": 600,
    }
    return SnapshotRow(run | known, "01234567", activity=activity, host=host)


def shown(*rows: SnapshotRow, width: int | None = None, paints: bool = False) -> list[str]:
    return table.lines(rows, NOW, width=width, paints=paints)


ENDED: dict[str, Any] = {"elapsedSeconds": 60.0}
RUNS = (
    row(
        name="n" * 32,
        activity="Reading src/auth.ts",
        model="mock/mock-text",
        usage={"cost": 0.0123},
        preset="repo-guide",
    ),
    row("queued", name=None, task="Find where sessions are created, please", startedAt=None),
    row(needsInput=True, name="漢字" * 8, activity="live, waits for a person"),
    row(settled=True, host="other\x1b[31m-machine"),
    row("completed", output="## **Done**: `all` is well", **ENDED),
    row("failed", reason="error", errorMessage="429: quota exceeded", **ENDED),
    row("aborted", reason="stopped", name="👩‍💻 ⚠️", **ENDED),
)


def test_without_a_terminal_every_column_that_says_something_is_there() -> None:
    lines = shown(*RUNS)
    assert lines[0].split() == ["ID", "NAME", "PRESET", "STATUS", "TIME", "AGE", "MODEL", "COST", "ACTIVITY"]
    assert [re.split(r"  +", line) for line in lines[1:]] == [
        [
            "01234567",
            "n" * 32,
            "repo-guide",
            "running",
            "1m 05s of 10m",
            "1m",
            "mock-text",
            "$0.0123",
            "Reading src/auth.ts",
        ],
        ["01234567", "Find where sessions are…", "-", "queued", "-", "1m", "-", "-", "-"],
        ["01234567", "漢字" * 8, "-", "waiting", "1m 05s of 10m", "1m", "-", "-", "live, waits for a person"],
        ["01234567", "scout", "-", "settled (on other-machine)", "1m 05s of 10m", "1m", "-", "-", "-"],
        ["01234567", "scout", "-", "completed", "1m 00s", "1m", "-", "-", "Done: all is well"],
        ["01234567", "scout", "-", "failed (error)", "1m 00s", "1m", "-", "-", "429: quota exceeded"],
        ["01234567", "👩‍💻 ⚠️", "-", "aborted (stopped)", "1m 00s", "1m", "-", "-", "-"],
    ]


def test_on_a_terminal_a_column_that_says_nothing_is_left_out() -> None:
    runs = row(activity="ls"), row("completed", output="\n\n# Done.\nMore.", **ENDED)
    assert shown(*runs, width=100) == [
        "   ID        NAME   STATUS              TIME  AGE  ACTIVITY",
        "●  01234567  scout  running    1m 05s of 10m   1m  ls",
        "✓  01234567  scout  completed         1m 00s   1m  Done.",
    ]
    assert shown(*runs)[0] == "ID        NAME   PRESET  STATUS              TIME  AGE  MODEL  COST  ACTIVITY"
    assert shown() == []


@pytest.mark.parametrize("paints", [True, False])
@pytest.mark.parametrize("width", range(20, 201))
def test_no_row_is_wider_than_the_terminal(width: int, *, paints: bool) -> None:
    for line in shown(*RUNS, width=width, paints=paints):
        plain = safe.text(line)
        assert columns(plain) <= width
        assert ("\x1b" in line) == paints


def test_columns_give_way_to_what_runs_do() -> None:
    run = row(activity="Reading src/auth.ts", model="mock/mock-text", usage={"cost": 0.5}, preset="guide")
    assert [shown(run, width=width)[0] for width in (120, 80, 60, 40, 30)] == [
        "   ID        NAME   PRESET  STATUS            TIME  AGE  MODEL       COST  ACTIVITY",
        "   ID        NAME   STATUS     TIME  AGE  MODEL       COST  ACTIVITY",
        "   ID        NAME   STATUS     TIME  AGE  ACTIVITY",
        "   ID        NAME   ACTIVITY",
        "   ID        NAME   ACTIVITY",
    ]
    assert shown(run, width=40)[1] == "●  01234567  scout  Reading src/auth.ts"


def test_what_needs_somebody_stands_out_and_what_is_over_is_dim() -> None:
    waits, ended, failed = (shown(RUNS[at], width=100, paints=True)[1] for at in (2, 4, 5))
    assert waits.startswith("\x1b[1;35m?  \x1b[0m01234567  \x1b[1m漢字")
    assert ended.startswith("\x1b[32m✓  \x1b[0m\x1b[2m01234567  \x1b[0m")
    assert failed.startswith("\x1b[31m✗  \x1b[0m")
    assert "\x1b[31mfailed (error)" in failed
    assert failed.endswith("\x1b[2m429: quota exceeded\x1b[0m")


@pytest.mark.parametrize(
    ("quiet_s", "said"),
    [(29.9, "npm test"), (45.2, "npm test · quiet 45s"), (600, "npm test · quiet 10m 00s")],
)
def test_a_quiet_run_says_since_when(quiet_s: float, said: str) -> None:
    quiet = SnapshotRow(row().run, "01234567", activity="npm test", quiet_s=quiet_s)
    assert shown(quiet)[1].endswith(said)


def test_a_quiet_run_that_does_nothing_yet_is_quiet_alone() -> None:
    assert shown(SnapshotRow(row().run, "01234567", quiet_s=60))[1].endswith(" quiet 1m 00s")


def test_a_providers_json_is_said_in_a_persons_words() -> None:
    failed = row("failed", reason="error", errorMessage='429: {"message":"Quota\\nexceeded."}', **ENDED)
    assert shown(failed)[1].endswith("  Quota exceeded (429)")
    assert shown(row("failed", reason="error", **ENDED))[1].endswith("  -")


wild = st.none() | strategies.rough_text | st.text(st.characters(), max_size=200) | st.integers()


@given(
    status=st.sampled_from(("failed", "running", "completed")),
    host=wild,
    **dict.fromkeys(("name", "preset", "model", "reason", "timeout", "said"), wild),
)
def test_no_run_breaks_a_line_or_reaches_the_terminal(
    status: str, host: Any, said: Any, **values: Any
) -> None:
    output = said if isinstance(said, str) else None
    one = row(status, activity=said, host=host, errorMessage=said, output=output, **values)
    for line in (*shown(one), *shown(one, width=120), *shown(one, width=40)):
        assert safe.text(line) == line
        assert not {"\n", "\t"} & set(line)
    assert max(map(columns, shown(one, width=40))) <= 40
