"""Rows for the tests of the registry, and everything that a registry answers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tmuxagents import records
from tmuxagents.registry import database
from tmuxagents.registry import rows as registry_rows
from tmuxagents.registry.database import Row, Scope

if TYPE_CHECKING:
    from tmuxagents.registry.database import Registry

ALL = Scope("all")
A, B, C = "a" * 16, "b" * 16, "c" * 16


def row(run_id: str = A, status: str = "running", **known: Any) -> Row:
    known.setdefault("created_at", 1000.0)
    return Row(run_id, status=status, **known)


def ended(run_id: str = A, status: str = "completed", **known: Any) -> Row:
    return row(run_id, status, **({"concluded": True, "ended_at": 1005.0, "changed_at": 1005.0} | known))


def saved(path: str, *rows: Row) -> None:
    with database.open_file(path) as book:
        book.save(rows)


def state(book: Registry) -> dict[str, Any]:
    """Return everything that a registry answers."""
    rows = book.rows(ALL)
    return {
        "rows": [tuple(getattr(one, column) for column in registry_rows.COLUMNS) for one in rows],
        "open": [one.run_id for one in book.open_rows()],
        "active": [one.run_id for one in book.open_rows() if one.status not in records.ENDED],
        "counts": [
            book.tally(scope).by_status for scope in (ALL, Scope("project", "/p"), Scope("owner", "me"))
        ],
        "sessions": [book.session_sizes([one.session_id]) for one in rows],
        "beginning": book.beginning("0"),
        "named": [one.run_id for one in book.named("scout")],
        "changes": [one.run_id for one in book.changes("0", ALL)[0]],
    }


def assert_counts_are_true(book: Registry) -> None:
    rows = book.rows(ALL)
    scopes = [ALL, *(Scope("project", p) for p in "xy"), *(Scope("owner", o) for o in "xy")]
    for scope in [*scopes, *(Scope("server", s) for s in "xy")]:
        there = [one for one in rows if scope.holds(one)]
        tally = book.tally(scope)
        assert {s: n for s, n in tally.by_status.items() if n} == dict(Counter(one.status for one in there))
        assert tally.waiting == sum(one.needs_input for one in there)
        assert [one.run_id for one in book.rows(scope)] == [one.run_id for one in there]
