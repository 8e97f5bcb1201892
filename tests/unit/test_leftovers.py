"""Rule S: which processes end with a run, and which outlive it on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.core import leftovers
from tmuxagents.records import ProcessRow

if TYPE_CHECKING:
    from tmuxagents.core.leftovers import Leftovers

ME, RUN, OTHER = 1000, "01a1ee15069b4c1f", "ffffffffffffffff"
WRAPPER = 100


def row(pid: int, ppid: int = 1, **changes: Any) -> ProcessRow:
    facts = {"session": 1, "start_time": pid, "uid": ME, "comm": f"p{pid}"}
    return ProcessRow(pid=pid, ppid=ppid, **{**facts, **changes})


def service(pid: int, ppid: int = 1, **changes: Any) -> ProcessRow:
    return row(pid, ppid, session=pid, listens=True, **changes)


def sort_out(*table: ProcessRow, wrapper: int | None = WRAPPER, keep: bool = False) -> Leftovers:
    return leftovers.sort_out(table, run_id=RUN, uid=ME, wrapper=wrapper, keep=keep)


def sorted_out(left: Leftovers) -> tuple[set[int], dict[int, str]]:
    return {one.pid for one in left.ended}, {one.pid: one.why for one in left.spared}


# processes (besides the wrapper and init) -> who ends, who is spared at the top of what is spared
CASES: dict[str, tuple[list[ProcessRow], set[int], set[int]]] = {
    "nothing left": ([], set(), set()),
    "descendants": ([row(2, WRAPPER), row(3, 2), row(4, 3)], {2, 3, 4}, set()),
    "strangers": ([row(2), row(3, 2), service(4), row(5, uid=0)], set(), set()),
    "one that went its own way, with the mark": ([row(2, marker=RUN), row(3, 2)], {2, 3}, set()),
    "a session of its own is no reason": ([row(2, WRAPPER, session=2)], {2}, set()),
    "a listener in another's session is no service": ([row(2, WRAPPER, session=9, listens=True)], {2}, set()),
    "a service, and all below it": ([service(2, WRAPPER), row(3, 2), row(4, 3, marker=RUN)], set(), {2}),
    "a service with our mark that went its own way": (
        [service(2, marker=RUN), row(3, 2, marker=RUN)],
        set(),
        {2},
    ),
    "above a service": ([row(2, WRAPPER), service(3, 2), row(4, 3)], {2}, {3}),
    "another run, and all below it": ([row(2, WRAPPER, marker=OTHER), row(3, 2), row(4, 3)], set(), {2}),
    "a process of ours with a role": ([row(2, WRAPPER, role="watcher"), row(3, 2)], set(), {2}),
    "a role and our mark": ([row(2, marker=RUN, role="watcher")], set(), {2}),
    "another user's, and all below it": (
        [row(2, WRAPPER, uid=0), row(3, 2), row(4, 3, marker=RUN)],
        set(),
        {2},
    ),
    "another user's with our mark, elsewhere": ([row(2, uid=0, marker=RUN)], set(), set()),
    "a spared one inside another": (
        [service(2, WRAPPER), row(3, 2, marker=OTHER), service(4, 3)],
        set(),
        {2},
    ),
    "an emptied mark is nobody's": ([row(2, WRAPPER, marker=""), row(3, 2)], {2, 3}, set()),
    "an emptied role is none": ([row(2, WRAPPER, role="")], {2}, set()),
    "named once, though found twice": ([row(2, WRAPPER, marker=RUN), row(3, 2, marker=RUN)], {2, 3}, set()),
}


@pytest.mark.parametrize("case", CASES)
def test_who_ends_and_who_is_spared(case: str) -> None:
    processes, ended, spared = CASES[case]
    left = sort_out(row(1, 0, uid=0), row(WRAPPER, 1, marker=RUN), *processes)
    assert sorted_out(left)[0] == ended
    assert set(sorted_out(left)[1]) == spared
    assert len(left.ended) == len(ended)


def test_without_a_wrapper_the_mark_alone_leads_there() -> None:
    processes = [row(WRAPPER, 1), row(2, WRAPPER), row(3, WRAPPER, marker=RUN), row(4, 3)]
    assert sorted_out(sort_out(*processes, wrapper=None)) == ({3, 4}, {})


def test_a_lost_wrapper_that_still_runs_under_our_mark_ends_too() -> None:
    assert sorted_out(sort_out(row(WRAPPER, 1, marker=RUN), wrapper=None)) == ({WRAPPER}, {})


@pytest.mark.parametrize(
    ("process", "why"),
    [
        (row(2, WRAPPER, uid=0), "belongs to another user"),
        (row(2, WRAPPER, role="watcher"), "is a watcher of tmuxagents"),
        (row(2, WRAPPER, marker=OTHER), f"belongs to run {OTHER}"),
        (row(2, WRAPPER, marker="z" * 500), "belongs to run " + "z" * 16),
        (service(2, WRAPPER), "is a service: it leads its own session and listens on a unix socket"),
    ],
    ids=["user", "role", "run", "long mark", "service"],
)
def test_a_spared_process_is_named_with_the_reason(process: ProcessRow, why: str) -> None:
    (spared,) = sort_out(process).spared
    assert (spared.pid, spared.comm, spared.why) == (2, "p2", why)


def test_everything_is_spared_where_background_processes_are_kept() -> None:
    left = sort_out(row(2, WRAPPER), row(3, 2), service(4, WRAPPER), row(5, marker=RUN), keep=True)
    ended, spared = sorted_out(left)
    assert ended == set()
    assert set(spared) == {2, 4, 5}
    assert spared[2] == "is kept in the background"
    assert spared[4].startswith("is a service")


def test_parents_in_a_circle_are_no_endless_way() -> None:
    circle = [row(2, 3, marker=RUN), row(3, 2)]
    assert sorted_out(sort_out(*circle)) == ({2, 3}, {})


rows = st.builds(
    row,
    st.integers(1, 12),
    st.integers(0, 12),
    uid=st.sampled_from([ME, ME, ME, 0]),
    session=st.integers(1, 12),
    marker=st.sampled_from([None, None, RUN, OTHER]),
    role=st.sampled_from([None, None, "watcher"]),
    listens=st.booleans(),
)


def _pid(one: ProcessRow) -> int:
    return one.pid


tables = st.lists(rows, max_size=12, unique_by=_pid)


@given(table=tables, wrapper=st.sampled_from([None, 1, 5]), keep=st.booleans())
def test_nobody_elses_process_ever_ends_with_a_run(
    table: list[ProcessRow], wrapper: int | None, *, keep: bool
) -> None:
    left = sort_out(*table, wrapper=wrapper, keep=keep)
    for one in left.ended:
        assert one.uid == ME
        assert one.marker in (None, RUN)
        assert not one.role
        assert not (one.listens and one.session == one.pid)
    pids = [one.pid for one in left.ended] + [one.pid for one in left.spared]
    assert len(pids) == len(set(pids))
    assert not (keep and left.ended)
