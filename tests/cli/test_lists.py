"""What `poll` lists, as a person selects it, and in which form."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from tests.status.watchers import COMMAND, command, document
from tests.terminal import Terminal
from tmuxagents.runs import writing

if TYPE_CHECKING:
    from tests.harness import Home

HOUR = 3600.0


def over(home: Home, name: str, ago: float, status: str = "completed", **more: object) -> None:
    """Make a run that ended some seconds ago."""
    now = time.time()
    run = home.run("x", name=name, createdAt=now - ago - 5)
    ending = {
        "status": status,
        "reason": "done" if status == "completed" else "error",
        "output": f"## {name}\nx",
    }
    writing.write_result(
        str(run.folder), {"v": 1, "startedAt": now - ago - 2, "endedAt": now - ago, **ending, **more}
    )


@pytest.fixture
def busy(home: Home) -> Home:
    """A home with a queued run, and runs that ended a minute, two hours and two days ago."""
    home.run("x", name="waits")
    over(home, "fresh", 60)
    over(home, "bad", 120, "failed", errorMessage='429: {"message":"Quota exceeded."}')
    over(home, "old", 2 * HOUR)
    over(home, "older", 48 * HOUR, "failed")
    return home


def names(home: Home, *options: str) -> list[str]:
    done = command(home, "poll", "--format", "{{.name}}", *options)
    assert (done.returncode, done.stderr.replace("more have ended (-a)\n", "")) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ("", "waits fresh bad"),
        ("-a", "waits fresh bad old older"),
        ("-n 1", "waits fresh"),
        ("-n 3", "waits fresh bad old"),
        ("--since 3h", "waits fresh bad old"),
        ("--since 90s", "waits fresh"),
        ("--since 3h -n 2", "waits fresh bad"),
        ("--status failed", "bad older"),
        ("--status failed --since 1h", "bad"),
        ("--status failed -n 1", "bad"),
        ("--status queued,completed", "waits fresh old"),
        ("--status running", ""),
        ("-a --status completed", "fresh old"),
    ],
)
def test_runs_are_selected(busy: Home, options: str, shown: str) -> None:
    assert sorted(names(busy, *options.split())) == sorted(shown.split())


def test_the_list_has_what_ended_within_the_hour_and_a_document_only_what_is_active(busy: Home) -> None:
    rows = command(busy, "ls").stdout.splitlines()[2:]
    assert [row.split()[1] for row in rows] == ["waits", "fresh", "bad"]
    assert rows[1].endswith("  fresh")
    assert rows[2].endswith("  Quota exceeded (429)")
    assert [run["name"] for run in document(busy, "poll")["runs"]] == ["waits"]
    assert {run["name"] for run in document(busy, "poll", "-n", "1")["runs"]} == {"waits", "fresh"}


def test_more_that_has_ended_is_told(home: Home) -> None:
    for number in range(22):
        over(home, f"r{number}", number)
    done = command(home, "poll")
    assert (len(done.stdout.splitlines()), done.stderr) == (2 + 20, "more have ended (-n N)\n")
    assert command(home, "poll", "-a").stderr == "2 more have ended (-n 22)\n"
    everything = command(home, "poll", "-n", "22")
    assert (len(everything.stdout.splitlines()), everything.stderr) == (2 + 22, "")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("poll -n 1 waits", "-n does not go with RUN."),
        ("poll --status failed --wait", "--status does not go with --wait."),
        ("poll --since 1h --follow", "--since TIME does not go with --follow."),
        ("poll --since 0 --follow", "--follow does not go with --since CURSOR."),
        ("poll --watch --json", "--watch does not go with --json."),
        ("poll --format x --json", "--format does not go with --json."),
        ("poll --any", "--any and --timeout are about waiting."),
        ("poll --watch", "--watch needs a terminal."),
        ("poll --format {{.nope}}", '--format: there is no field "nope".'),
        ("poll --format {{.name", "--format: the template needs a field and }} after {{.name."),
    ],
)
def test_what_makes_no_sense_is_refused(busy: Home, line: str, said: str) -> None:
    done = command(busy, *line.split())
    first = done.stderr.splitlines()[0] if done.stderr else json.loads(done.stdout)["error"]["message"]
    assert (done.returncode, first) == (2, said)


def test_a_template_may_hold_several_fields(busy: Home) -> None:
    done = command(busy, "poll", "--format", r"{{.name}}\t{{.status}}\t{{.usage.cost}}", "waits")
    assert done.stdout == "waits\tqueued\t0\n"


def test_a_document_is_indented_for_a_person_and_says_the_same(busy: Home) -> None:
    person = Terminal([*COMMAND, "poll", "--json", "waits"], busy.environment, busy.project)
    try:
        assert person.left() == 0
    finally:
        person.close()
    assert person.text.startswith('{\n  "v": 1,\n')
    assert json.loads(person.text).keys() == document(busy, "poll", "waits").keys()


def test_every_document_has_its_version(busy: Home) -> None:
    for line in (
        "output fresh",
        "poll",
        "stop fresh",
        "presets",
        "models",
        "poll nope",
        "doctor",
        "prune --dry-run",
    ):
        assert json.loads(command(busy, *line.split(), "--json").stdout)["v"] == 1, line


def test_the_list_is_watched_in_place_until_ctrl_c(busy: Home) -> None:
    environment = busy.environment | {"TERM": "xterm"}
    person = Terminal([*COMMAND, "ls", "--watch"], environment, busy.project)
    try:
        person.shows("waits")
        busy.run("x", name="another")
        person.shows("another")
        person.interrupt()
        assert person.left() == 0
    finally:
        person.close()
    assert person.text.count("\x1b[0J") >= 2


def test_other_lists_take_templates_too(home: Home) -> None:
    for line, shown in (
        ("models --format {{.id}}", "mock/mock-text\n"),
        ("layouts list --format {{.name}}:{{.source}}", "default:shipped\n"),
        ("presets list --format {{.name}}", ""),
    ):
        done = command(home, *line.split())
        assert (done.returncode, shown in done.stdout) == (0, True), line
