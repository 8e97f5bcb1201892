"""The registry's file on a real SQLite: first writers at once, killed ones, damage, other programs."""

from __future__ import annotations

import fcntl
import os
import signal
import sqlite3
import struct
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.apart import Apart, at_once
from tests.damage import emptied, garbage
from tests.harness import eventually
from tests.registry.registers import ALL, A, B, C, assert_counts_are_true, ended, row, saved, state
from tmuxagents.errors import Unusable
from tmuxagents.registry import database, rows, schema
from tmuxagents.registry.database import Damaged, Unfit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tmuxagents.registry.database import Registry, Row

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def contents(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


# --- made and opened ---


def test_a_new_registry_is_private_and_whole(path: str) -> None:
    os.umask(0o022)
    saved(path, row())
    folder = os.path.dirname(path)
    assert {name: os.stat(f"{folder}/{name}").st_mode & 0o777 for name in os.listdir(folder)} == {
        "registry.db": 0o600,
        "registry.lock": 0o600,
    }
    assert os.stat(folder).st_mode & 0o777 == 0o700
    with closing(sqlite3.connect(path)) as raw, raw:
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert raw.execute("PRAGMA user_version").fetchone() == (rows.VERSION,)
    assert database.path_of("/home").startswith(f"/home/hosts/{os.uname().nodename}-")


def test_without_shared_memory_there_is_a_rollback_journal(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_HOW", "mode=rw&vfs=unix-dotfile")  # a way to open files that has none
    saved(path, row())
    with database.open_file(path) as book:
        assert [one.run_id for one in book.open_rows()] == [A]
    assert contents(path)[18:20] == b"\1\1"  # the file format: 2 is WAL


def test_odd_folders_are_folders(tmp_path: Path) -> None:
    path = str(tmp_path / "50%3f? #1 ü" / "registry.db")
    saved(path, row())
    assert os.listdir(os.path.dirname(path)).count("registry.db") == 1


def test_without_locks_there_is_no_registry(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    with pytest.raises(Unusable, match="no locks") as refused:
        database.open_file(path)
    assert refused.value.hint == "set TMUXAGENTS_HOME to a folder on a local disk"


def test_who_makes_it_too_long_is_not_waited_for(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    with open(f"{os.path.dirname(path)}/registry.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Unfit, match="for too long"):
            database.open_file(path, 0.1)


def test_a_folder_that_is_none_is_unfit(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (f"{tmp_path}/file/registry.db", f"{tmp_path}/file/deeper/registry.db", str(tmp_path)):
        with pytest.raises(Unfit):
            database.open_file(path)


# --- many at once, and killed ---


def test_thirty_two_first_writers_at_once(path: str) -> None:
    def write(number: int) -> int:
        with database.open_file(path) as book:
            for n in range(20):
                book.save([row(f"{number:08x}{n:08x}", project="x"), row(C, event_seq=number * 20 + n)])
            return len(book.ids())

    counts = at_once([lambda number=number: write(number) for number in range(32)])
    assert max(counts) == 32 * 20 + 1
    with database.open_file(path) as book:
        assert_counts_are_true(book)
        assert (book.row(C) or row()).event_seq == 32 * 20 - 1
        numbers = [one.change for one in book.rows(ALL)]
        assert sorted(numbers) == list(range(1, 642))
        assert book.last_change() == 641


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a_writer_that_is_killed_leaves_whole_transactions(path: str, tmp_path: Path, journal: str) -> None:
    saved(path)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute(f"PRAGMA journal_mode = {journal}")
    done = tmp_path / "done"

    def write() -> None:
        with database.open_file(path) as book:
            for n in range(count(path) // 2, 100_000):
                one = ended if n % 3 else row
                book.save([one(f"{n:015x}{half}", project="x", event_seq=n) for half in "01"])
                done.write_text(str(n))

    for attempt in range(12):
        done.unlink(missing_ok=True)
        with Apart(write) as writer:
            eventually(done.exists)
            time.sleep(0.001 * attempt)  # to hit another point of a commit each time
            os.kill(writer.pid, signal.SIGKILL)
        last = done.read_text()
        with database.open_file(path) as book:
            ids = book.ids()
            assert not last or f"{int(last):015x}1" in ids
            assert {f"{one[:-1]}{half}" for one in ids for half in "01"} == ids
            assert_counts_are_true(book)
        with closing(sqlite3.connect(path)) as raw, raw:
            assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def count(path: str) -> int:
    with database.open_file(path) as book:
        return len(book.ids())


def test_a_writer_waits_for_another_and_a_reader_does_not(path: str) -> None:
    saved(path, row())
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with database.open_file(path, 0.1) as book:
        assert len(book.open_rows()) == 1
        with pytest.raises(Unfit, match="locked"):
            book.save([row(B)])
        assert book.row(B) is None
        holder.execute("COMMIT")
        holder.close()
        book.save([row(B)])
        assert book.row(B) is not None


def test_a_fault_in_the_middle_writes_nothing(book: Registry) -> None:
    def rows() -> Iterator[Row]:
        yield row()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        book.save(rows())
    assert book.ids() == set()
    book.save([row()])
    assert book.ids() == {A}


# --- damaged, replaced, of another time ---


def truncated(path: str) -> None:
    os.truncate(path, os.path.getsize(path) // 2)


def begun(path: str) -> None:
    os.truncate(path, 60)


def somebody_elses(path: str) -> None:
    os.unlink(path)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("CREATE TABLE run (x)")


def without_tables(path: str) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("DROP TABLE book")


def with_a_foreign_word(path: str) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE run SET status = 'dreaming'")


def with_broken_text(path: str) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE run SET name = CAST(x'ff' AS TEXT)")


@pytest.mark.parametrize(
    "damage",
    [
        truncated,
        emptied,
        garbage,
        begun,
        somebody_elses,
        without_tables,
        with_a_foreign_word,
        with_broken_text,
    ],
)
def test_a_damaged_file_is_told_set_aside_and_made_anew(path: str, damage: Callable[[str], None]) -> None:
    saved(path, *(row(f"{n:016x}", project="/p", name="scout") for n in range(50)))
    damage(path)
    broken = contents(path)
    with pytest.raises(Damaged) as found, database.open_file(path) as book:
        state(book)
    aside = schema.set_aside(path, found.value.identity, 1)
    assert contents(aside) == broken or damage in (with_a_foreign_word, with_broken_text)
    with database.open_file(path) as book:
        assert book.ids() == set()
        book.save([row()])
    # Another process that found the same damage comes later: the new file stays.
    schema.set_aside(path, found.value.identity, 1)
    assert count(path) == 1


def test_no_damaged_page_changes_an_answer_unnoticed(path: str) -> None:
    saved(
        path, *(ended(f"{n:016x}", project="/p", owner="me", name="scout", task="x" * 100) for n in range(60))
    )
    saved(path, row(A, project="/p"))
    with database.open_file(path) as book:
        truth = state(book)
    whole = contents(path)
    noticed = 0
    for page in range(len(whole) // 4096):
        inverted = bytes(255 - byte for byte in whole[page * 4096 : (page + 1) * 4096])
        with open(path, "wb") as file:
            file.write(whole[: page * 4096] + inverted + whole[(page + 1) * 4096 :])
        try:
            with database.open_file(path) as book:
                assert state(book) == truth
        except Damaged:
            noticed += 1
    assert noticed > 10


def test_a_newer_registry_is_left_as_it_is(path: str) -> None:
    saved(path, row())
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute(f"PRAGMA user_version = {rows.VERSION + 1}")
    before = contents(path)
    with pytest.raises(Unfit, match="a newer tmuxagents"):
        database.open_file(path)
    assert contents(path) == before


def test_an_older_registry_is_taken_along_by_one_of_many(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(path, row())
    now = rows.VERSION
    monkeypatch.setattr(database, "VERSION", now + 2)
    steps = {
        now: ("ALTER TABLE book ADD COLUMN more TEXT",),
        now + 1: ("UPDATE book SET more = coalesce(more, '') || '.'",),
    }
    for number, statements in steps.items():
        monkeypatch.setitem(schema.MIGRATIONS, number, statements)
    assert at_once([lambda: count(path)] * 8) == [1] * 8
    with closing(sqlite3.connect(path)) as raw, raw:
        assert raw.execute("SELECT more FROM book").fetchall() == [(".",)]
        assert raw.execute("PRAGMA user_version").fetchone() == (now + 2,)


def become_version_2(raw: sqlite3.Connection) -> None:
    """Make the tables of a registry those of version 2."""
    become_version_3(raw)
    raw.execute("ALTER TABLE run ADD COLUMN event_offset INTEGER NOT NULL DEFAULT 0")
    raw.execute("PRAGMA user_version = 2")


def become_version_3(raw: sqlite3.Connection) -> None:
    """Make them those of version 3."""
    for index in ("run_open", "run_ended"):
        raw.execute(f"DROP INDEX {index}")
    for column in ("model", "cost"):
        raw.execute(f"ALTER TABLE run DROP COLUMN {column}")
    raw.execute("CREATE INDEX run_open ON run (created_at, run_id) WHERE concluded = 0")
    raw.execute("PRAGMA user_version = 3")


def test_a_registry_from_before_lists_showed_models_gets_them(path: str) -> None:
    saved(path, row(B))
    with closing(sqlite3.connect(path)) as raw, raw:
        become_version_3(raw)
    saved(path, row(model="mock/mock-text", cost=0.25))
    with database.open_file(path) as book:
        assert [(one.model, one.cost) for one in (book.row(A), book.row(B)) if one] == [
            ("mock/mock-text", 0.25),
            (None, None),
        ]


def test_a_registry_from_before_there_were_checkpoints_gets_them(path: str) -> None:
    saved(path, row())
    with closing(sqlite3.connect(path)) as raw, raw:
        for what, name in raw.execute("SELECT type, name FROM sqlite_schema").fetchall():
            if name in ("run_left", "run_over", "checkpoint"):
                raw.execute(f"DROP {what} IF EXISTS {name}")
        become_version_2(raw)
        raw.execute("PRAGMA user_version = 1")
    made = row()
    made.checkpoint = lambda: "so far"
    saved(path, made)
    with database.open_file(path) as book:
        assert book.checkpoints([made.run_id]) == {made.run_id: "so far"}
        book.save([ended()])
        assert book.checkpoints([made.run_id]) == {}


def test_documents_of_a_registry_that_stored_them_with_their_moment_are_made_again(path: str) -> None:
    made = row(mark="1.2", wrapper="boot 1 2 3")
    made.document = lambda: '{"elapsedSeconds":0.0}'
    saved(path, made)
    with closing(sqlite3.connect(path)) as raw, raw:
        become_version_2(raw)
    with database.open_file(path) as book:
        known = book.row(made.run_id)
        assert known is not None
        assert (known.mark, book.documents([made])) == (None, {})
        book.save([made])
        assert book.documents([made]) == {made.run_id: '{"elapsedSeconds":0.0}'}


@pytest.mark.parametrize("side_files_too", [True, False])
def test_who_holds_a_removed_registry_goes_on_in_the_new_one(path: str, *, side_files_too: bool) -> None:
    with database.open_file(path) as book:
        book.save([row(A)])
        for name in ("", "-wal", "-shm") if side_files_too else ("",):
            os.unlink(path + name)
        with database.open_file(path) as other:
            other.save([row(B)])
            assert other.ids() == {B}
        assert book.save([row(C)])
        assert book.ids() == {B, C}
    assert count(path) == 2


def test_side_files_of_a_removed_registry_do_not_spoil_the_next(path: str) -> None:
    with database.open_file(path) as book:
        book.save([row(A)])
        kept = {side: contents(path + side) for side in ("-wal", "-shm")}
    os.unlink(path)
    for side, text in kept.items():
        with open(path + side, "wb") as file:
            file.write(text)
    saved(path, row(B))
    with database.open_file(path) as book:
        assert book.ids() == {B}


def test_the_version_stands_where_every_program_finds_it(path: str) -> None:
    saved(path)
    assert struct.unpack(">I", contents(path)[60:64])[0] == rows.VERSION
