"""A run whose row is current is not read again, and no answer depends on that."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import eventually
from tests.status.watchers import begun, command, document, registry_of, sleeper, told, wrapped_by
from tmuxagents.registry import current, database, lookup
from tmuxagents.runs import directory, events, marks, writing
from tmuxagents.runs.reading import RunReader
from tmuxagents.system import process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.harness import Home, Run

_TIME = re.compile(r"\d+s(/60s)?")
RESULT = {
    "v": 1,
    "status": "failed",
    "reason": "error",
    "errorMessage": "no",
    "startedAt": 1.0,
    "durationMs": 1500,
}


@contextlib.contextmanager
def working(home: Home, name: str) -> Iterator[Run]:
    with sleeper() as wrapper:
        run = home.run("x", name=name)
        wrapped_by(run, wrapper)
        told(run, begun(), events.tool_call("1", "read", {"path": "a"}), events.assistant_text("one"))
        yield run


@pytest.fixture
def live(home: Home) -> Iterator[Run]:
    """A run whose row is current."""
    with working(home, "scout") as run:
        settle(home, run)
        yield run


def settle(home: Home, *runs: Run) -> None:
    """Poll as soon as the marks of these runs' folders are reliable."""
    for run in runs:
        mark = marks.mark_of(str(run.folder))
        assert mark is not None
        eventually(lambda mark=mark: marks.is_reliable(mark))
    document(home, "poll", "-A")
    assert all(stands(home, run) for run in runs)


def stands(home: Home, run: Run) -> bool:
    with database.open_file(registry_of(home)) as book:
        row = book.row(run.run_id)
    assert row is not None
    return current.CurrentCheck(f"{home.state}/runs").is_current(row)


def shown(home: Home, names: Mapping[str, str], *arguments: str) -> dict[str, Any]:
    """Return the answer of poll by the names of its runs, without the values that change with time."""
    found = json.loads(command(home, "poll", "--json", *arguments).stdout)
    by_name: dict[str, Any] = {key: found[key] for key in ("counts", "usage")}
    for run in found["runs"]:
        del run["elapsedSeconds"]
        by_name[names[run["runId"]]] = run
    for line in command(home, "poll", *arguments).stdout.splitlines()[2:]:
        words = line.split()
        by_name[f"{words[1]} as text"] = [word for word in words if not _TIME.fullmatch(word)]
    return by_name


# --- what is read -----------------------------------------------------------------------------------------


def test_a_run_that_stands_is_not_read(home: Home, live: Run) -> None:
    line = "import sys; from tmuxagents.cli import quick; quick.answer(sys.argv[1:]); "
    line += "print(*sys.modules, file=sys.stderr)"
    reader = "tmuxagents.runs.inspect"

    def reads(verb: str) -> bool:
        argv = [sys.executable, "-c", line, *verb.split()]
        done = subprocess.run(
            argv, env=home.environment, cwd=home.project, capture_output=True, text=True, check=True
        )
        return reader in done.stderr.split()

    verbs = ("poll", "poll scout", "poll --json", "poll --since 0", "statusline")
    assert [verb for verb in verbs if reads(verb)] == []
    for verb in verbs:
        told(live, events.assistant_text("more"))
        assert reads(verb), verb


def test_what_was_read_is_kept_unless_somebody_writes(home: Home, live: Run) -> None:
    told(live, events.assistant_text("two"))
    caller = lookup.Caller(home.environment, str(home.project))
    with database.open_file(database.path_of(caller.home)) as holder, holder.writing():
        assert "two" in command(home, "poll").stdout
        assert not stands(home, live)
    assert "two" in command(home, "poll").stdout
    assert stands(home, live)


# --- what has changed is seen -----------------------------------------------------------------------------


def gone(run: Run) -> None:
    identity = directory.identity_of(directory.read_wrapper(str(run.folder)))
    assert identity is not None
    process.send(identity.pid, identity.start_time, 9)
    eventually(lambda: process.start_time(identity.pid) is None)


def ended(run: Run) -> None:
    writing.write_result(str(run.folder), RESULT)
    gone(run)


def rewritten(run: Run) -> None:
    log = run.folder / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b"one", b"two"))


def replaced(run: Run) -> None:
    log = run.folder / "events.jsonl"
    (run.folder / "new").write_bytes(log.read_bytes().replace(b"one", b"two"))
    (run.folder / "new").rename(log)


def by_another(run: Run) -> None:
    wrapper = json.loads((run.folder / "wrapper.json").read_text())
    (run.folder / "wrapper.json").unlink()
    (run.folder / "wrapper.json").write_text(json.dumps(wrapper | {"startTime": 1}))


CHANGES: dict[str, Callable[[Run], object]] = {
    "it has said more": lambda run: told(run, events.assistant_text("two"), events.turn_end("stop")),
    "it has settled": lambda run: told(run, events.settled(aborted=False)),
    "its wrapper is gone": gone,
    "it has ended": ended,
    "a result lies there, and its wrapper lives": lambda run: (run.folder / "result.json").write_text(
        json.dumps(RESULT)
    ),
    "its events are others": rewritten,
    "its events were replaced": replaced,
    "its events were cut": lambda run: os.truncate(run.folder / "events.jsonl", 10),
    "its events are gone": lambda run: (run.folder / "events.jsonl").unlink(),
    "its wrapper was never there": lambda run: (run.folder / "wrapper.json").unlink(),
    "its wrapper is another one": by_another,
    "its plan is gone": lambda run: (run.folder / "meta.json").unlink(),
    "it is gone": lambda run: run.folder.rename(run.folder.with_name("away")),
}


def test_with_what_was_kept_and_without_the_answers_are_the_same(home: Home) -> None:
    with contextlib.ExitStack() as stack:
        runs = [stack.enter_context(working(home, f"run-{number}")) for number in range(len(CHANGES))]
        settle(home, *runs)
        names = {run.run_id: name for run, name in zip(runs, CHANGES, strict=True)}
        for run, change in zip(runs, CHANGES.values(), strict=True):
            change(run)
        kept = [shown(home, names), shown(home, names, "-a"), command(home, "statusline").stdout]
        for side in ("", "-wal", "-shm"):
            (home.state / "hosts" / process.host() / f"registry.db{side}").unlink(missing_ok=True)
        assert [shown(home, names), shown(home, names, "-a"), command(home, "statusline").stdout] == kept
        assert len(kept[0]) > len(CHANGES)


def test_a_run_of_another_boot_or_namespace_is_not_taken_for_ours(home: Home, live: Run) -> None:
    with database.open_file(registry_of(home)) as book:
        row = book.row(live.run_id)
    assert row is not None
    assert row.wrapper is not None
    look = current.CurrentCheck(f"{home.state}/runs")
    assert look.is_current(row)
    boot, namespace, pid, started = row.wrapper.split(" ")
    for other in (
        f"another {namespace} {pid} {started}",
        f"{boot} 1 {pid} {started}",
        f"{boot} {namespace} 1 {started}",
        f"{boot} {namespace} {pid} 1",
        f"{boot} {namespace} x{pid} {started}",  # in a damaged file
        f"{boot} {namespace}  {started}",
        "",
    ):
        row.wrapper = other
        assert not look.is_current(row)


def test_a_log_of_the_same_number_and_length_is_another_log(home: Home) -> None:
    run = home.run("x")
    told(run, begun(), events.assistant_text("one"))
    reading = RunReader()
    reading.facts(str(run.folder))
    assert reading.state.text == "one"
    (run.folder / "between").touch()  # as when it is removed and made again
    rewritten(run)
    reading.facts(str(run.folder))
    assert (reading.state.text, reading.state.message_count) == ("two", 1)


# --- both ways --------------------------------------------------------------------------------------------

WAYS = {
    "short": "from tmuxagents.cli import quick; sys.exit(quick.answer(sys.argv[1:]))",
    "long": "from tmuxagents import cli; cli.main(sys.argv[1:])",
}
STOPPED = "import sys, time; now = float(sys.argv.pop(1)); time.time = lambda: now; "


@pytest.mark.parametrize(
    "line",
    [
        *("poll", "poll -a", "poll -A", "poll -a -A --json", "poll --json", "ps scout"),
        *(
            "poll --since 0",
            "poll --since 0 --json -A",
            "poll --since nonsense --json",
            "poll --wait --timeout 0",
        ),
        *(
            "poll --follow --timeout 0",
            "poll -f --any --timeout 0 --json",
            "poll --any",
            "poll --timeout 3 --json",
        ),
        *("poll nobody", "poll nobody --json", "poll --since 0 --wait --timeout 0", "wait scout --timeout 0"),
        *("wait done", "wait done --json", "wait done scout --any", "wait nobody"),
        *("statusline", "statusline -A", "statusline --json"),
    ],
)
def test_both_ways_give_the_same_bytes_and_exit_code(home: Home, line: str) -> None:
    with working(home, "scout") as run:
        found = answers(home, line)
    assert found["short"] == found["long"]
    assert run.run_id[:8].encode() in found["short"][1] or not line.startswith(("poll -a", "ps"))


def answers(home: Home, line: str) -> dict[str, tuple[int, bytes, bytes]]:
    """Return the answers to a command line both ways, at the same moment."""
    before = home.run("y", name="done")
    told(before, begun())
    writing.write_result(str(before.folder), RESULT | {"endedAt": 2e9, "durationMs": 1500})
    document(home, "poll", "-a")  # the mark of the folder is reliable from now on
    found = {}
    for name, way in WAYS.items():
        done = subprocess.run(
            [sys.executable, "-c", STOPPED + way, "2000000000.25", *line.split()],
            env=home.environment,
            cwd=home.project,
            capture_output=True,
            check=False,
        )
        found[name] = (done.returncode, done.stdout, done.stderr)
    return found
