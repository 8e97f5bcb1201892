"""The rules of prune: which runs may go, and the words about removed runs."""

from __future__ import annotations

from typing import Any

import pytest

from tmuxagents.upkeep import prune_rules
from tmuxagents.upkeep.prune_rules import Past, Removed

DAY = 86400.0
NOW = 1_800_000_000.0


def past(number: int, *, age: float = 100 * DAY, **changes: Any) -> Past:
    """Return a run that ended `age` seconds ago. A higher number is newer."""
    created_at, run_id = NOW - age - 10 + number / 1000, f"{number:016x}"
    ended = Past(
        run_id, run_id, "completed", concluded=True, polled=False, created_at=created_at, ended_at=NOW - age
    )
    return ended._replace(**changes)


def newest() -> list[Past]:
    """Return the 100 runs that stay in any case."""
    return [past(1000 + number, age=DAY) for number in range(prune_rules.KEPT)]


def ids(runs: list[Past], *, keep_s: float | None = 30 * DAY, needed: tuple[str, ...] = ()) -> list[int]:
    found = prune_rules.expired([*newest(), *runs], keep_s=keep_s, now=NOW, needed=needed)
    return [int(run.run_id, 16) for run in found]


def test_old_runs_go_oldest_first() -> None:
    assert ids([past(2, age=99 * DAY), past(1)]) == [1, 2]


def test_the_newest_hundred_stay_however_old_they_are() -> None:
    runs = [past(number) for number in range(101)]
    found = prune_rules.expired(runs, keep_s=1, now=NOW)
    assert [run.run_id for run in found] == [runs[0].run_id]
    assert prune_rules.expired(runs[1:], keep_s=1, now=NOW) == []


@pytest.mark.parametrize(("age", "goes"), [(29.9, False), (30.1, True)])
def test_age_counts_from_the_end(age: float, *, goes: bool) -> None:
    assert ids([past(1, age=age * DAY, created_at=NOW - 200 * DAY)]) == ([1] if goes else [])


def test_without_an_end_age_counts_from_the_beginning() -> None:
    assert ids([past(1, ended_at=None)]) == [1]


def test_with_all_kept_none_goes() -> None:
    assert ids([past(1)], keep_s=None) == []


@pytest.mark.parametrize(
    ("status", "polled", "goes"),
    [
        ("failed", False, False),
        ("failed", True, True),
        ("aborted", False, True),
        ("completed", False, True),
    ],
)
def test_a_failure_that_nobody_saw_stays(status: str, *, polled: bool, goes: bool) -> None:
    assert ids([past(1, status=status, polled=polled)]) == ([1] if goes else [])


@pytest.mark.parametrize("status", ["queued", "running"])
def test_a_live_run_stays(status: str) -> None:
    assert ids([past(1, status=status, concluded=False, ended_at=None)]) == []
    assert ids([past(1, status=status, concluded=True)]) == []  # a state that never occurs


def test_a_run_that_is_not_concluded_stays() -> None:
    assert ids([past(1, status="aborted", concluded=False)]) == []


def test_what_a_live_run_needs_stays() -> None:
    assert ids([past(1), past(2)], needed=(f"{1:016x}",)) == [2]


def test_a_session_goes_as_a_whole_or_stays() -> None:
    session: dict[str, Any] = {"session_id": "a" * 16}
    assert ids([past(1, **session), past(2, **session)]) == [1, 2]
    assert ids([past(1, **session), past(2, age=DAY, **session)]) == []
    assert ids([past(1, **session), past(2, status="failed", **session)]) == []


# --- said ---


def removed(what: str, **more: Any) -> Removed:
    return Removed(what, run_id="1" * 16, path="/x", **more)


def test_each_thing_is_one_line() -> None:
    run = removed(prune_rules.RUN, size=2_345_678)
    run.status, run.ended_at = "completed", NOW - 34.5 * DAY
    things = [
        run,
        *map(removed, (prune_rules.WINDOW, prune_rules.LINK, prune_rules.ROW)),
        removed(prune_rules.LEFTOVER, size=9),
    ]
    assert [prune_rules.line(thing, NOW, dry_run=False) for thing in things] == [
        "removed run 1111111111111111 (completed 34 days ago): 2.3 MB",
        "removed the window of run 1111111111111111 on /x",
        "removed the link /x",
        "removed the registry's row of run 1111111111111111",
        "removed /x: 9 bytes",
    ]
    assert prune_rules.line(run, NOW, dry_run=True).startswith("would remove run ")


def test_only_what_takes_room_has_a_size() -> None:
    window, run = removed(prune_rules.WINDOW), removed(prune_rules.RUN, size=9)
    assert prune_rules.total([window], dry_run=False) == "removed 1 window"
    assert prune_rules.total([window, run], dry_run=False) == "removed 1 run, 1 window: 9 bytes"


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (0.0, " just now"),
        (-5.0, " just now"),
        (60.0, " 1 minute ago"),
        (7199.0, " 1 hour ago"),
        (3 * DAY, " 3 days ago"),
        (None, ""),
    ],
)
def test_how_long_ago(age: float | None, words: str) -> None:
    run = removed(prune_rules.RUN)
    run.status, run.ended_at = "failed", None if age is None else NOW - age
    assert prune_rules.line(run, NOW, dry_run=False) == f"removed run {'1' * 16} (failed{words}): 0 bytes"


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 KB"),
        (999_949, "999.9 KB"),
        (999_950, "1.0 MB"),
        (1_500_000_000, "1.5 GB"),
        (25 * 10**14, "2500.0 TB"),
    ],
)
def test_sizes(count: int, words: str) -> None:
    assert prune_rules.size(count) == words


def test_the_total() -> None:
    things = [
        removed(prune_rules.RUN, size=1000),
        removed(prune_rules.RUN, size=500),
        removed(prune_rules.LINK),
    ]
    assert prune_rules.total(things, dry_run=False) == "removed 2 runs, 1 link: 1.5 KB"
    assert prune_rules.total(things, dry_run=True) == "would remove 2 runs, 1 link: 1.5 KB"
    theirs = [removed(prune_rules.WINDOW, of_others=of_others) for of_others in (True, False, True)]
    assert prune_rules.total(theirs, dry_run=False) == "removed 3 windows (2 of other parents)"
    assert prune_rules.total([], dry_run=True) == "nothing to prune"


def test_the_document_of_a_thing() -> None:
    run = removed(prune_rules.RUN, size=7)
    run.status, run.ended_at = "failed", 12.34567
    assert run.document() == {
        "what": "run",
        "runId": "1" * 16,
        "path": "/x",
        "bytes": 7,
        "status": "failed",
        "endedAt": 12.346,
    }
    assert removed(prune_rules.ROW).document()["endedAt"] is None
