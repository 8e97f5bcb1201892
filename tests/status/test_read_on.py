"""A reader of a live run continues where another has stopped; no answer and no ending depends on that."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import eventually
from tests.status.watchers import begun, command, document, registry_of, sleeper, told, wrapped_by
from tests.watcher.lookouts import Lookout
from tmuxagents.registry import database, learn, lookup
from tmuxagents.registry.database import Scope
from tmuxagents.runs import directory, events, inspect, marks, writing
from tmuxagents.runs.conclude import conclude
from tmuxagents.runs.reading import Checkpoint, decode_checkpoint, encode_checkpoint
from tmuxagents.status.snapshot import Query, take
from tmuxagents.system import process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.harness import Home, Run

LIE = 1000  # tool calls that are in no event
RESULT = {"v": 1, "status": "failed", "reason": "error", "startedAt": 1.0, "durationMs": 1500, "model": "x/y"}


@pytest.fixture
def live(home: Home) -> Iterator[Run]:
    with sleeper() as wrapper:
        run = home.run("x", name="scout")
        wrapped_by(run, wrapper)
        told(run, begun(), events.tool_call("1", "read", {"path": "a"}), events.assistant_text("one"))
        yield run


def path(run: Run) -> str:
    return str(run.folder)


def checkpoint(run: Run) -> str:
    """Return the checkpoint of a reader of a run."""
    make = inspect.inspect(path(run)).checkpoint
    text = make() if make is not None else None
    assert text is not None
    return text


def lying(text: str) -> str:
    """Return a checkpoint that claims more than the events: the child has answered and is done."""
    point = decoded(text)
    point.state.tool_count, point.state.phase, point.state.settled = LIE, "settled", True
    point.state.stop_reason, point.state.text, point.state.finished_text = "stop", "all done", "all done"
    return encoded(point)


def decoded(text: str) -> Checkpoint:
    point = decode_checkpoint(text)
    assert point is not None
    return point


def encoded(point: Checkpoint) -> str:
    text = encode_checkpoint(point)
    assert text is not None
    return text


def seen(run: inspect.RunView) -> dict[str, Any]:
    return {**run.document(0.0), "elapsedSeconds": 0, "does": run.activity, "seq": run.state.seq}


# --- when it is relied on -----------------------------------------------------------------------------------


def log_of(run: Run) -> bytes:
    return (run.folder / directory.EVENTS).read_bytes()


def overwrite(run: Run, old: bytes, new: bytes) -> None:
    """Overwrite bytes of the log in place."""
    assert len(old) == len(new)
    assert old in log_of(run)
    with (run.folder / directory.EVENTS).open("r+b") as file:
        file.seek(log_of(run).index(old))
        file.write(new)


def replace(run: Run, text: bytes) -> None:
    (run.folder / "new").write_bytes(text)
    (run.folder / "new").rename(run.folder / directory.EVENTS)


def changed_at_its_end(run: Run) -> None:
    overwrite(run, b'"one"', b'"two"')
    told(run, events.assistant_text("three"))


def linked(run: Run) -> None:
    log = run.folder / directory.EVENTS
    shutil.copy(log, run.folder / "log")
    log.unlink()
    log.symlink_to(run.folder / "log")


def tear(run: Run) -> None:
    with (run.folder / directory.EVENTS).open("ab") as file:
        file.write(b'{"v":1,"seq":4,"at":5,"type":"tool_')


def gone(run: Run) -> None:
    identity = directory.identity_of(directory.read_wrapper(path(run)))
    assert identity is not None
    process.send(identity.pid, identity.start_time, 9)
    eventually(lambda: process.start_time(identity.pid) is None)


def ended(run: Run) -> None:
    writing.write_result(path(run), RESULT)
    gone(run)


def by_another(run: Run, **changes: Any) -> None:
    wrapper = json.loads((run.folder / directory.WRAPPER).read_text())
    (run.folder / directory.WRAPPER).write_text(json.dumps(wrapper | changes))


RELIED_ON: dict[str, Callable[[Run], object]] = {
    "it has said nothing more": lambda _run: None,
    "it has said more": lambda run: told(run, events.tool_call("2", "bash", {"command": "ls"})),
    "it has said much more": lambda run: told(run, *(events.assistant_text(str(n)) for n in range(50))),
    "it is just saying something": tear,
    "its folder has changed": lambda run: (run.folder / "inbox.jsonl").touch(),
    "a result lies there, and its wrapper lives": lambda run: (run.folder / directory.RESULT).write_text(
        json.dumps(RESULT)
    ),
}
NOT_RELIED_ON: dict[str, Callable[[Run], object]] = {
    "its last words are others": lambda run: overwrite(run, b'"one"', b'"two"'),
    "its first words are others, and none were added": lambda run: overwrite(run, b'"read"', b'"grep"'),
    "its last words are others, and some were added": changed_at_its_end,
    "its log is another file": lambda run: replace(run, log_of(run)),
    "its log is another, longer file": lambda run: replace(run, log_of(run) * 2),
    "its log was cut": lambda run: os.truncate(run.folder / directory.EVENTS, log_of(run).index(b"\n") + 1),
    "its log is empty": lambda run: os.truncate(run.folder / directory.EVENTS, 0),
    "its log is gone": lambda run: (run.folder / directory.EVENTS).unlink(),
    "its log is a link": linked,
    "its wrapper is gone": gone,
    "it has ended": ended,
    "its wrapper never came": lambda run: (run.folder / directory.WRAPPER).unlink(),
    "its wrapper is another one": lambda run: by_another(run, startTime=1),
    "it is not here": lambda run: by_another(run, pidNamespace=1),
}


@pytest.mark.parametrize("change", RELIED_ON.values(), ids=RELIED_ON)
def test_reading_on_is_reading_all(live: Run, change: Callable[[Run], object]) -> None:
    text = checkpoint(live)
    change(live)
    whole = inspect.inspect(path(live))
    assert seen(inspect.inspect(path(live), checkpoint=text)) == seen(whole)
    # And reading has continued from it: else the invented answer would not appear.
    more = inspect.inspect(path(live), checkpoint=lying(text)).state.tool_count
    assert more == LIE + whole.state.tool_count - 1


@pytest.mark.parametrize("change", NOT_RELIED_ON.values(), ids=NOT_RELIED_ON)
def test_what_is_not_the_log_that_was_read_is_read_from_its_beginning(
    live: Run, change: Callable[[Run], object]
) -> None:
    text = checkpoint(live)
    change(live)
    assert seen(inspect.inspect(path(live), checkpoint=lying(text))) == seen(inspect.inspect(path(live)))


@pytest.mark.parametrize("wrong", ["", "garbage", "{}", "[[]]", "\0", '{"v":1}'])
def test_what_is_no_checkpoint_changes_nothing(live: Run, wrong: str) -> None:
    assert seen(inspect.inspect(path(live), checkpoint=wrong)) == seen(inspect.inspect(path(live)))


def test_an_offset_in_the_middle_of_a_line_or_behind_the_end_is_none_of_ours(live: Run) -> None:
    point = decoded(lying(checkpoint(live)))
    end = point.offset
    told(live, events.assistant_text("two"))
    for offset in (end - 1, end + 1, end + 10_000, 2**52):
        found = inspect.inspect(path(live), checkpoint=encoded(point.changed(offset=offset)))
        assert seen(found) == seen(inspect.inspect(path(live)))


def test_without_the_start_of_the_run_there_is_none(home: Home) -> None:
    with sleeper() as wrapper:
        run = home.run("x")
        wrapped_by(run, wrapper)
        told(run, events.queued(3))
        make = inspect.inspect(path(run)).checkpoint
        assert make is not None
        assert make() is None


def test_a_result_that_is_not_the_wrappers_says_nothing_of_a_run_that_works(live: Run) -> None:
    (live.folder / directory.RESULT).write_text(json.dumps(RESULT))
    found = inspect.inspect(path(live))
    assert (found.state.model, found.standing.status) == (None, "running")
    assert decoded(checkpoint(live)).state.model is None


# --- no ending depends on it --------------------------------------------------------------------------------


def keep(home: Home, run: Run, text: str) -> None:
    """Put a checkpoint into the registry."""
    document(home, "poll", "-A")
    with closing(sqlite3.connect(registry_of(home))) as raw, raw:
        raw.execute("INSERT OR REPLACE INTO checkpoint VALUES (?, ?)", (run.run_id, text))


def test_of_a_lost_run_nobody_believes_that_it_was_done(home: Home, live: Run) -> None:
    keep(home, live, lying(checkpoint(live)))
    told(live, events.assistant_text("two"))
    (shown,) = document(home, "poll", "scout")["runs"]
    assert (shown["toolCount"], shown["status"]) == (LIE, "running")  # this is what it says
    keep(home, live, lying(checkpoint(live)))
    gone(live)
    (shown,) = document(home, "poll", "scout")["runs"]
    assert (shown["toolCount"], shown["reason"]) == (1, "lost")
    result = conclude(path(live))
    assert result is not None
    assert (result["status"], result["reason"], result["toolCount"]) == ("aborted", "lost", 1)


def test_a_watcher_reads_on_and_has_the_whole_log_when_it_concludes(home: Home, live: Run) -> None:
    watched = Lookout(home)
    keep(home, live, lying(checkpoint(live)))
    assert watched.has_saved(live, settled=False)
    watched.start()
    eventually(lambda: watched.has_saved(live, settled=True, status="running"))  # this is what it says
    gone(live)
    eventually(lambda: watched.has_saved(live, status="aborted", reason="lost", concluded=True))
    result = directory.read_result(path(live))
    assert result is not None
    assert (result["reason"], result["toolCount"], result["output"]) == ("lost", 1, "one")


def test_who_followed_it_from_a_checkpoint_reads_it_all_when_it_is_lost(live: Run) -> None:
    follower = inspect.Follower(path(live), checkpoint=lying(checkpoint(live)))
    assert follower.look().state.tool_count == LIE
    told(live, events.tool_call("2", "bash", {"command": "ls"}))
    assert follower.look("here").state.tool_count == LIE + 1
    gone(live)
    run = follower.look()
    assert run.standing.verdict is not None
    assert (run.standing.verdict.reason, run.state.tool_count) == ("lost", 2)
    assert seen(run) == seen(inspect.inspect(path(live)))


def test_who_followed_it_from_a_checkpoint_is_told_its_end_by_its_result(live: Run) -> None:
    follower = inspect.Follower(path(live), checkpoint=lying(checkpoint(live)))
    follower.look()
    ended(live)
    verdict = follower.look().standing.verdict
    assert verdict is not None
    assert (verdict.status, verdict.reason) == ("failed", "error")


def test_a_past_that_a_child_rewrites_while_it_talks_is_its_past_again_when_its_wrapper_is_gone(
    live: Run,
) -> None:
    told(live, events.assistant_text("x" * 300))  # the end is compared
    text = checkpoint(live)
    overwrite(live, b'"tool_call"', b'"tool_fall"')
    told(live, events.assistant_text("two"))
    assert inspect.inspect(path(live), checkpoint=text).state.tool_count == 1  # as it was when it was read
    gone(live)
    assert inspect.inspect(path(live), checkpoint=text).state.tool_count == 0


# --- in the registry ----------------------------------------------------------------------------------------


def kept(home: Home) -> dict[str, Any]:
    with closing(sqlite3.connect(registry_of(home))) as raw, raw:
        return dict(raw.execute("SELECT run_id, text FROM checkpoint").fetchall())


def settle(run: Run) -> None:
    mark = marks.mark_of(path(run))
    assert mark is not None
    eventually(lambda: marks.is_reliable(mark))


def test_a_look_keeps_how_far_it_came_until_the_run_has_ended(home: Home, live: Run) -> None:
    settle(live)
    for words in ("one", "two"):
        told(live, events.assistant_text(words))
        assert words in command(home, "poll").stdout
        assert kept(home) == {live.run_id: checkpoint(live)}
    ended(live)
    assert "failed" in command(home, "poll", "scout").stdout
    assert kept(home) == {}


@pytest.mark.parametrize("text", ["garbage", b"\xff\xfe", 7, 1.5, "[" * 10_000], ids=repr)
def test_whatever_lies_in_the_registry_the_answer_is_the_same(home: Home, live: Run, text: Any) -> None:
    keep(home, live, text)
    told(live, events.assistant_text("two"))
    caller = lookup.Caller(home.environment, str(home.project))
    (shown,) = take(Query(Scope("all")), caller).rows
    whole = inspect.inspect(path(live)).document(0.0)
    assert {**shown.run, "elapsedSeconds": 0} == {**whole, "elapsedSeconds": 0}


def test_a_row_of_a_run_that_has_ended_brings_none(live: Run, tmp_path: str) -> None:
    settle(live)
    row = learn.row(inspect.inspect(path(live)))
    with database.open_file(f"{tmp_path}/hosts/me/registry.db") as book:
        book.save([row])
        assert book.checkpoints([live.run_id]) == {live.run_id: checkpoint(live)}
        ended(live)
        book.save([learn.row(inspect.inspect(path(live)))])
        assert book.checkpoints([live.run_id]) == {}
        book.save([row])  # by a reader that looked before it had ended
        assert book.checkpoints([live.run_id]) == {}
