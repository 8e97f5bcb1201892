"""Which processes end with a run, and which outlive it on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.records import ProcessRow
from tmuxagents.runs import leftovers
from tmuxagents.runs.leftovers import LeftoverScope

if TYPE_CHECKING:
    from tmuxagents.runs.leftovers import Leftovers

ME, RUN, OTHER = 1000, "01a1ee15069b4c1f", "ffffffffffffffff"
WRAPPER = 100
CHILD = 200
SERVICE = "is a service: it leads its own session and listens on a unix socket"


def row(pid: int, ppid: int = 1, **changes: Any) -> ProcessRow:
    facts = {"session": 1, "start_time": pid, "uid": ME, "comm": f"p{pid}"}
    return ProcessRow(pid=pid, ppid=ppid, **{**facts, **changes})


def service(pid: int, ppid: int = 1, **changes: Any) -> ProcessRow:
    return row(pid, ppid, session=pid, listens=True, **changes)


def sort_out(
    *table: ProcessRow,
    wrapper: int | None = WRAPPER,
    child: tuple[int, int] | None = None,
    keep: bool = False,
) -> Leftovers:
    scope = LeftoverScope(run_id=RUN, uid=ME, wrapper=wrapper, child=child, keep=keep)
    return leftovers.sort_out(table, scope)


def sorted_out(left: Leftovers) -> tuple[set[int], dict[int, str]]:
    return {one.pid for one in left.ended}, {one.pid: one.why for one in left.spared}


NO_RUNS = ["", "0", "F" * 16, "f" * 15, "f" * 17, "g" * 16, "f" * 16 + "\n", " " + "f" * 16, "é" * 16]

# processes (besides the wrapper and init) -> which end, which are spared (without their descendants)
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
    "a mark that names no run is nobody's": (
        [row(number, WRAPPER, marker=mark) for number, mark in enumerate(NO_RUNS, 2)],
        set(range(2, 2 + len(NO_RUNS))),
        set(),
    ),
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
        (service(2, WRAPPER), SERVICE),
    ],
    ids=["user", "role", "run", "service"],
)
def test_a_spared_process_is_named_with_the_reason(process: ProcessRow, why: str) -> None:
    (spared,) = sort_out(process).spared
    assert (spared.pid, spared.comm, spared.why) == (2, "p2", why)


# --- the run's own child, and its session ---

THE_CHILD = row(CHILD, WRAPPER, session=CHILD)
LISTENS = service(CHILD, WRAPPER)
ORPHAN = row(3, session=CHILD)  # it has removed the mark, and its parents are gone

# processes, and whether background processes are kept -> which end, which are spared
OF_A_CHILD: dict[str, tuple[list[ProcessRow], bool, set[int], set[int]]] = {
    "the child leads its session by our doing": ([LISTENS], False, {CHILD}, set()),
    "and what it left in there is ours": ([THE_CHILD, ORPHAN, row(4, 3)], False, {CHILD, 3, 4}, set()),
    "after its end, too": ([ORPHAN], False, {3}, set()),
    "another user's in its session is not": ([row(3, session=CHILD, uid=0)], False, set(), set()),
    "another run's in its session is not": ([row(3, session=CHILD, marker=OTHER)], False, set(), {3}),
    "a service below it is a service": ([LISTENS, service(3, CHILD)], False, {CHILD}, {3}),
    "another process has its number by now": (
        [row(CHILD, session=CHILD, start_time=999), ORPHAN],
        *(False, set(), set()),
    ),
    "another process has its number, and it is ours by its mark": (
        [service(CHILD, start_time=999, marker=RUN), ORPHAN],
        *(False, set(), {CHILD}),
    ),
    "what is kept is not the child": ([THE_CHILD, row(3, CHILD), row(4, 3)], True, {CHILD}, {3}),
}


@pytest.mark.parametrize("wrapper", [WRAPPER, None], ids=["wrapper", "no wrapper"])
@pytest.mark.parametrize("case", OF_A_CHILD)
def test_the_runs_own_child_and_its_session(case: str, wrapper: int | None) -> None:
    processes, keep, ended, spared = OF_A_CHILD[case]
    left = sort_out(row(1, 0, uid=0), *processes, wrapper=wrapper, child=(CHILD, CHILD), keep=keep)
    assert sorted_out(left)[0] == ended
    assert set(sorted_out(left)[1]) == spared


def test_a_session_is_nobodys_while_no_child_is_known() -> None:
    assert sorted_out(sort_out(ORPHAN, LISTENS)) == (set(), {CHILD: SERVICE})


def test_all_but_the_child_is_spared_where_background_processes_are_kept() -> None:
    left = sort_out(row(2, WRAPPER), row(3, 2), service(4, WRAPPER), row(5, marker=RUN), keep=True)
    kept = "is kept in the background"
    assert sorted_out(left) == (set(), {2: kept, 4: SERVICE, 5: kept})


def test_parents_in_a_circle_are_no_endless_way() -> None:
    circle = [row(2, 3, marker=RUN), row(3, 2)]
    assert sorted_out(sort_out(*circle)) == ({2, 3}, {})


rows = st.builds(
    row,
    st.integers(1, 12),
    st.integers(0, 12),
    uid=st.sampled_from([ME, ME, ME, 0]),
    session=st.integers(1, 12),
    marker=st.sampled_from([None, None, RUN, OTHER, "mine"]),
    role=st.sampled_from([None, None, "watcher"]),
    listens=st.booleans(),
)


def _pid(one: ProcessRow) -> int:
    return one.pid


tables = st.lists(rows, max_size=12, unique_by=_pid)


@given(
    table=tables,
    wrapper=st.sampled_from([None, 1, 5]),
    child=st.none() | st.tuples(st.integers(1, 12), st.integers(1, 12)),
    keep=st.booleans(),
)
def test_nobody_elses_process_ever_ends_with_a_run(
    table: list[ProcessRow], wrapper: int | None, child: tuple[int, int] | None, *, keep: bool
) -> None:
    left = sort_out(*table, wrapper=wrapper, child=child, keep=keep)
    others = [one for one in left.ended if (one.pid, one.start_time) != child]
    for one in others:
        assert one.uid == ME
        assert one.marker in (None, RUN, "mine")
        assert not one.role
        assert not (one.listens and one.session == one.pid)
    assert not (keep and others)
    pids = [one.pid for one in left.ended] + [one.pid for one in left.spared]
    assert len(pids) == len(set(pids))


@given(
    table=tables,
    wrapper=st.sampled_from([None, 1, 5]),
    child=st.none() | st.tuples(st.integers(1, 12), st.integers(1, 12)),
)
def test_of_what_is_ours_nobody_is_forgotten(
    table: list[ProcessRow], wrapper: int | None, child: tuple[int, int] | None
) -> None:
    """Each process with the mark or below the wrapper ends, or is below a spared one."""
    table = [one for one in table if one.ppid < one.pid]  # no process is its own ancestor
    left = sort_out(*table, wrapper=wrapper, child=child)
    rows = {one.pid: one for one in table}
    settled = {one.pid for one in left.ended} | {one.pid for one in left.spared}
    for one in table:
        if one.uid == ME and one.marker == RUN and one.pid != wrapper:
            above: ProcessRow | None = one
            while above is not None and above.pid not in settled:
                above = rows.get(above.ppid)
            assert above is not None
