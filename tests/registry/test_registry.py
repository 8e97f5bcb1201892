"""The registry: a newer state is never replaced by an older one, and no reader of changes misses one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.apart import Apart
from tests.harness import eventually
from tests.registry.registers import ALL, A, B, C, assert_counts_are_true, ended, row, saved
from tmuxagents import records
from tmuxagents.registry import database, schema
from tmuxagents.registry import rows as registry_rows
from tmuxagents.registry.database import Row, Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from tmuxagents.registry.database import Registry

pytestmark = pytest.mark.usefixtures("nothing_hangs")


# --- never taken back ---

_moments = st.floats(0, 4e9)
_rows = st.builds(
    row,
    st.sampled_from([A, B]),
    st.sampled_from(records.STATUSES),
    reason=st.sampled_from(["done", "lost", "stopped", None]),
    activity=st.sampled_from(["reads", "writes", None]),
    **{name: st.booleans() for name in ("attended", "settled", "needs_input", "concluded", "announced")},
    event_seq=st.integers(0, 5),
    polled_at=st.none() | _moments,
    ended_at=st.none() | _moments,
    changed_at=_moments,
    **{name: st.sampled_from(["x", "y", None]) for name in ("server", "launcher", "window")},
    project=st.just("x"),
    owner=st.just("y"),
)
TOLD = ("status", "needs_input", "attended", "settled")
STANDING = (*TOLD, "reason", "activity", "ended_at", "concluded")


def rank(one: Row) -> int:
    return {"queued": 0, "running": 1}.get(one.status, 2)


def knows_more(new: Row, old: Row) -> bool:
    if old.concluded or rank(new) != rank(old):
        return not old.concluded and rank(new) > rank(old)
    return new.concluded if rank(old) == 2 else new.event_seq >= old.event_seq


@settings(deadline=None, max_examples=150, derandomize=True, database=None)
@given(st.lists(_rows, min_size=2, max_size=12))
def test_no_run_is_ever_taken_back(rows: list[Row]) -> None:
    for one in rows:
        one.concluded = one.concluded and one.status in records.ENDED
    with database.open_memory() as book:
        for new in rows:
            old, number = book.row(new.run_id), book.last_change()
            book.save([new])
            now = book.row(new.run_id)
            assert now is not None
            assert_counts_are_true(book)
            if old is None:
                assert (now.change, book.last_change()) == (number + 1, number + 1)
                continue
            source = new if knows_more(new, old) else old
            assert [getattr(now, key) for key in STANDING] == [getattr(source, key) for key in STANDING]
            assert rank(now) >= rank(old)
            for key in ("event_seq", "announced"):
                assert getattr(now, key) == max(getattr(old, key), getattr(new, key))
            assert now.polled_at == (new.polled_at if old.polled_at is None else old.polled_at)
            assert now.server == (new.server or old.server)
            changed = any(getattr(now, key) != getattr(old, key) for key in TOLD)
            assert now.change == (number + 1 if changed else old.change)
            assert now.changed_at == (new.changed_at if changed else old.changed_at)


def test_what_no_database_can_hold_is_held_somehow(book: Registry) -> None:
    book.save(
        [row(name="half \ud800", event_seq=10**400, started_at=float("nan"), activity=b"x", cwd="/\udcff")]
    )
    found = book.row(A)
    assert found is not None
    assert (found.name, found.event_seq, found.started_at, found.activity) == (
        "half ?",
        2**63 - 1,
        None,
        None,
    )
    assert book.named("half \ud800")[0].run_id == A


def test_a_row_has_no_unknown_columns() -> None:
    with pytest.raises(TypeError, match="a row has no colour"):
        row(colour="red")


def test_the_key_of_a_server_names_it() -> None:
    assert registry_rows.server_of(database.server_key("/tmp/a.b", 812, 88123)) == ("/tmp/a.b", 812, 88123)
    for key in ("", "x", "1.2", "1.2.", "1..x", "-1.2.x", "1.².x", f"1.{'9' * 5000}.x"):
        assert registry_rows.server_of(key) is None, key


# --- asked ---


def test_scopes_newest_first(book: Registry) -> None:
    key = database.server_key("/run/tmux", 812, 88123)
    book.save(
        [
            row("1" * 16, created_at=1, project="x", owner="me", name="scout"),
            ended("2" * 16, created_at=2, project="x", server=key, session_id=A),
            row("3" * 16, "queued", created_at=3, project="y", owner="me", launcher=key, session_id=A),
            row("4" * 16, created_at=3, project="x", needs_input=True, server=key, launcher=key),
        ]
    )

    def ids(*scope: str, **how: Any) -> str:
        return "".join(one.run_id[0] for one in book.rows(Scope(*scope), **how))

    assert (ids("all"), ids("all", limit=2)) == ("4321", "43")
    assert (ids("project", "x"), ids("owner", "me")) == ("421", "31")
    assert (ids("server", key), ids("named", "2" * 16, "1" * 16, B)) == ("432", "21")
    assert [one.run_id[0] for one in book.open_rows()] == ["4", "3", "1"]
    tally = book.tally(Scope("server", key))
    assert (tally.by_status["running"], tally.by_status["queued"], tally.waiting) == (1, 1, 1)
    assert (tally.by_status["completed"], tally.last_end) == (1, 1005.0)
    assert book.tally(Scope("named", "2" * 16, "4" * 16)).waiting == 1
    assert [one.run_id[0] for one in book.session(A)] == ["2", "3"]
    assert (book.session_sizes([A]), book.named("scout")[0].run_id[0], book.row(B)) == ({A: 2}, "1", None)


def test_beginnings_and_who_has_the_same_one(book: Registry) -> None:
    ids = ["0" * 16, "0123" + "0" * 12, "0123" + "f" * 12, "f" * 16]
    book.save(row(run_id) for run_id in ids)
    assert book.beginning("0123") == ids[1:3]
    assert (book.beginning("f"), book.beginning("e"), book.beginning("")) == (ids[3:], [], ids)
    assert book.alike(ids, 4) == {ids[1]: [ids[2]], ids[2]: [ids[1]]}
    assert book.alike(ids, 1) == {ids[0]: ids[1:3], ids[1]: [ids[0], ids[2]], ids[2]: ids[:2]}
    assert (book.alike(ids[:1], 4), book.alike(ids, 8), book.alike([], 4)) == ({}, {}, {})


def test_ends_that_nobody_was_told_of(book: Registry) -> None:
    told = ended(A, announced=True)
    book.save([told, ended(B), row(C), ended("d" * 16, concluded=False)])
    assert [one.run_id for one in book.unannounced()] == [B]
    book.save([ended(B, announced=True), ended(A, announced=False)])  # announced once, announced for ever
    assert book.unannounced() == []


def test_the_servers_that_have_or_launched_runs(book: Registry) -> None:
    book.save([row(A, server="1.2./x", launcher="3.4./y"), row(B, server="1.2./x"), row(C)])
    assert sorted(book.servers()) == ["1.2./x", "3.4./y"]
    book.forget([A])
    assert book.servers() == ["1.2./x"]


def test_each_database_has_a_name_of_its_own(path: str) -> None:
    with database.open_file(path) as first, database.open_memory() as second:
        assert first.name() == first.cursor(7, 0).split(".")[0]
        assert first.name() != second.name()
        name = first.name()
        schema.remove(path)
        assert first.name() != name


def test_what_is_asked_often_costs_the_same_with_many_runs() -> None:
    def steps(runs: int) -> list[int]:
        with database.open_memory() as book:
            book.save(ended(f"{n:016x}", project="x", owner="me", server="x") for n in range(runs))
            book.save([row(A, project="x", owner="me")])
            return [cost(book, ask) for ask in QUESTIONS]

    few, many = steps(5), steps(3000)
    assert [much for little, much in zip(few, many, strict=True) if much > little + 20] == []


QUESTIONS: list[Callable[[Registry], object]] = [
    lambda book: book.tally(ALL),
    lambda book: book.tally(Scope("project", "x")),
    lambda book: book.tally(Scope("server", "x")),
    lambda book: book.open_rows(),
    lambda book: book.changes(book.cursor(book.last_change(), 0), Scope("project", "x")),
    lambda book: book.row(A),
    lambda book: book.alike([A], 8),
    lambda book: book.folder(),
    lambda book: book.save([ended(A)]),
]


def cost(book: Registry, ask: Callable[[Registry], object]) -> int:
    """Return how many steps the database makes for a query."""
    made = 0

    def step() -> int:
        nonlocal made
        made += 1
        return 0

    connection = book._database._connection
    connection.set_progress_handler(step, 1)
    ask(book)
    connection.set_progress_handler(None, 1)
    return made


def test_only_the_first_look_at_an_end_is_remembered(book: Registry) -> None:
    book.save([ended(A), ended(B)])
    book.mark_polled([A, C], 7.0)
    book.mark_polled([A], 8.0)
    book.save([ended(A, polled_at=9.0)])
    assert [(one.run_id, one.polled_at) for one in book.rows(ALL)] == [(B, None), (A, 7.0)]


def test_forgotten_runs_are_gone_from_the_counts(book: Registry) -> None:
    book.save([ended(A, project="x"), row(B, project="x", needs_input=True)])
    book.forget([B, C])
    assert_counts_are_true(book)
    book.forget([A])
    assert book.tally(ALL).by_status == dict.fromkeys(records.STATUSES, 0)


def test_a_whole_folder_is_taken_in_at_once(book: Registry) -> None:
    book.save([row(A), row(B)])
    book.absorb([ended(A), row(C)], [B], "1.2.3")
    assert {one.run_id: one.status for one in book.rows(ALL)} == {A: "running", C: "running"}
    assert book.folder() == "1.2.3"
    book.absorb([], [], None)
    assert book.folder() == "1.2.3"


# --- changes ---


def told(book: Registry, cursor: str, scope: Scope = ALL) -> tuple[list[tuple[str, str]], bool]:
    rows, reset = book.changes(cursor, scope)
    return [(one.run_id[0], one.status) for one in rows], reset


def now(book: Registry, at: float = 2000.0) -> str:
    return book.cursor(book.last_change(), at)


def test_a_change_is_told_once_in_order_and_activity_alone_is_none(book: Registry) -> None:
    book.save([row(A, "queued", project="x"), row(B, project="x"), row(C, project="y")])
    assert told(book, "0") == ([("a", "queued"), ("b", "running"), ("c", "running")], False)
    first = now(book)
    assert told(book, first) == ([], False)
    book.save([row(B, activity="reads", event_seq=3), row(A, "queued", task="x", window="@3")])
    assert told(book, first) == ([], False)
    book.save([ended(C, "failed"), row(A)])
    assert told(book, first) == ([("c", "failed"), ("a", "running")], False)
    assert told(book, first, Scope("project", "x")) == ([("a", "running")], False)
    assert told(book, first, Scope("named", C)) == ([("c", "failed")], False)
    assert told(book, now(book)) == ([], False)
    for number, flag in enumerate(("needs_input", "attended", "settled")):
        before = now(book)
        flags: dict[str, Any] = {flag: True}
        book.save([row(B, event_seq=4 + number, **flags)])
        assert told(book, before) == ([("b", "running")], False)
    book.save([ended(B)])
    assert told(book, "0") == ([("a", "running")], False)


def test_a_cursor_that_means_nothing_gives_the_active_runs_and_what_ended_since(book: Registry) -> None:
    book.save([row(A), ended(B, changed_at=1500.0), ended(C, changed_at=1400.0)])
    same, number, _ = now(book).split(".")
    for cursor in (
        "",
        "x",
        "1.2",
        "1.2.3.4",
        "a.-1.2",
        "a.1.x",
        f"{same}.{number}",
        "a.1.٣",
        "a.9.1" + "0" * 30,
    ):
        assert told(book, cursor) == ([("a", "running")], True)
    since = [(f"ffffffff.{number}.1500", "ab"), (f"ffffffff.{number}.1501", "a"), (f"{same}.99.1400", "abc")]
    for cursor, runs in since:
        assert told(book, cursor) == ([(run, "completed" if run > "a" else "running") for run in runs], True)


def test_a_cursor_from_before_a_run_was_forgotten_is_too_old(book: Registry) -> None:
    book.save([ended(A), row(B)])
    old = now(book)
    book.save([ended(B)])
    kept = now(book)
    book.forget([A])
    assert told(book, old) == ([("b", "completed")], False)  # nothing is missing in between
    book.forget([B])
    assert told(book, old) == ([], True)
    assert told(book, kept) == ([], False)


def test_after_a_restart_of_the_machine_no_number_is_believed(path: str) -> None:
    saved(path, row(A), ended(B, changed_at=1500.0))
    with database.open_file(path) as book:
        before = now(book, 1500.7)
        assert told(book, before) == ([], False)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE book SET boot = 'another'")
    with database.open_file(path) as book:
        assert told(book, before) == ([("a", "running"), ("b", "completed")], True)
        after = now(book)
    with database.open_file(path) as book:
        assert told(book, after) == ([], False)


def test_whoever_follows_the_cursors_misses_nothing(path: str) -> None:
    writers, runs = 6, 60
    with database.open_file(path) as book:
        cursor = now(book)  # closed again, since no connection may cross a fork

    def write(number: int) -> None:
        with database.open_file(path) as book:
            for n in range(runs):
                run_id = f"{number:08x}{n:08x}"
                for stage in (row(run_id, "queued"), row(run_id), ended(run_id)):
                    book.save([stage])

    working = [Apart(lambda number=number: write(number)) for number in range(writers)]
    seen: list[tuple[str, str]] = []
    with database.open_file(path) as book:

        def collect() -> bool:
            nonlocal cursor
            with book.reading():
                rows, reset = book.changes(cursor, ALL)
                cursor = now(book)
            assert not reset
            seen.extend((one.run_id, one.status) for one in rows)
            return sum(status == "completed" for _, status in seen) >= writers * runs

        eventually(collect)
        assert told(book, cursor) == ([], False)
    for one in working:
        one.result()
    assert len(set(seen)) == len(seen)
    assert len({run_id for run_id, status in seen if status == "completed"}) == writers * runs


# --- how far a run was read -----------------------------------------------------------------------------


def read_to(text: str | None, run_id: str = A, **known: Any) -> Row:
    made = row(run_id, **known)
    made.checkpoint = lambda: text
    return made


def test_the_last_checkpoint_of_a_run_is_kept_until_it_has_ended_or_is_gone(book: Registry) -> None:
    book.save([read_to("one"), read_to("1", B), read_to(None, C)])
    assert book.checkpoints([A, B, C]) == {A: "one", B: "1"}
    book.save([read_to("two"), row(B)])
    assert book.checkpoints([A, B, C]) == {A: "two", B: "1"}
    book.save([read_to(None)])  # this one has no checkpoint, and the one before is still good
    assert book.checkpoints([A]) == {A: "two"}
    book.save([ended()])
    assert book.checkpoints([A, B]) == {B: "1"}
    book.save([read_to("late")])
    assert book.checkpoints([A, B]) == {B: "1"}
    book.forget([B])
    assert book.checkpoints([A, B]) == {}


def test_rows_that_are_only_kept_bring_their_checkpoints(book: Registry) -> None:
    book.keep([read_to("one")])
    assert book.checkpoints([A]) == {A: "one"}
    assert book.checkpoints([]) == {}
