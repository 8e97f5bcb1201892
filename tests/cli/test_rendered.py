"""What a person at a terminal sees of a run: `transcript`, rendered; and what a pipe gets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.runs.test_reading import ended
from tests.status.watchers import COMMAND
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness import Home

pytestmark = pytest.mark.usefixtures("nothing_hangs")
WORK = """begin
answer toolUse I **look**.
tool bash {"command":"make test"}
answer stop All `good`.
settle"""


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def shown(home: Home, opened: list[Terminal], *arguments: str, **variables: str) -> str:
    """Return what a command writes on a terminal."""
    environment = home.environment | {"TERM": "xterm-256color"} | variables
    opened.append(Terminal([*COMMAND, *arguments], environment, home.project))
    assert opened[-1].left() == 0
    return opened[-1].text


def test_a_terminal_shows_a_transcript_rendered_and_a_pipe_as_it_lies_there(
    home: Home, terminals: list[Terminal]
) -> None:
    run = ended(home, WORK)
    seen = shown(home, terminals, "transcript", run.run_id)
    assert "I \x1b[1mlook\x1b[m." in seen
    assert "\x1b[32m✓ \x1b[m\x1b[2m$ \x1b[m\x1b[1mmake test\x1b[m" in seen
    assert "    \x1b[2mfine\x1b[m" in seen
    assert "\x1b[1;32mcompleted\x1b[m" in seen
    assert " · 1 tool · ↑30 ↓15 · $0.003" in seen
    plain = home.command("transcript", run.run_id).stdout
    assert plain.startswith((run.folder / "transcript.log").read_text())
    assert plain.endswith("\n\n1 run · ↑30 ↓15 · $0.003\n")


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_who_wants_no_colours_gets_none(
    home: Home, terminals: list[Terminal], variables: dict[str, str]
) -> None:
    seen = shown(home, terminals, "transcript", ended(home, WORK).run_id, **variables)
    assert "\x1b" not in seen
    assert "  I look.\n\n✓ $ make test" in seen


def test_a_running_run_is_followed_to_its_end_and_no_call_is_told_twice(
    home: Home, terminals: list[Terminal]
) -> None:
    script = 'begin\ntool bash {"command":"make slow","seconds":2}\nanswer stop done now\nsettle'
    run = home.run(script).start()
    run.wait_for("tool_call")
    seen = shown(home, terminals, "transcript", "-f", run.run_id)
    assert seen.count("▸") == 1
    assert seen.index("▸") < seen.rindex("done now") < seen.index("completed")


def test_the_last_lines_and_the_times(home: Home, terminals: list[Terminal]) -> None:
    run = ended(home, WORK)
    whole = home.command("transcript", run.run_id).stdout.splitlines()
    for number in (0, 3, 1000):
        lines = home.command("transcript", "-n", str(number), run.run_id).stdout.splitlines()
        assert lines == [*whole[:-2][-number or 999 :][: number or 0], *whole[-2:]]
        assert home.command("transcript", "-f", "-n", str(number), run.run_id).stdout.splitlines() == lines
    timed = home.command("transcript", "-t", run.run_id).stdout.splitlines()
    stamp = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} ")
    assert [line for line in timed[:-2] if not stamp.match(line)] == []
    body = whole.index("I **look**.")
    assert [stamp.sub("", line) for line in timed[:-2]] == whole[body:-2]
    seen = shown(home, terminals, "transcript", "-t", "-n", "1", run.run_id)
    assert re.fullmatch(r"\x1b\[32m✓ .*completed.*\n", seen)
    seen = shown(home, terminals, "transcript", "-t", run.run_id)
    assert re.search(r"I \x1b\[1mlook\x1b\[m\. +\x1b\[2m\d\d:\d\d:\d\d\x1b\[m\n", seen)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--session -n 3", "--session and --lines do not go together"),
        ("--session -f", "--session and --follow do not go together"),
        ("--session --json", "--session and --json do not go together"),
        ("--json -t", "--json and --times do not go together"),
        ("--json -n 3", "--json and --lines do not go together"),
    ],
)
def test_options_that_mean_nothing_together_are_refused(home: Home, options: str, told: str) -> None:
    done = home.command("transcript", *options.split(), ended(home, "done x").run_id)
    assert done.returncode == 2
    assert told in done.stdout + done.stderr


def test_a_session_of_several_runs_is_shown_one_after_the_other(
    home: Home, terminals: list[Terminal]
) -> None:
    first = ended(home, "done one")
    ended(home, "done two", sessionId=first.run_id)
    seen = shown(home, terminals, "transcript", first.run_id, NO_COLOR="1")
    assert (
        seen.index("\u203a done one")
        < seen.index("\n  one\n")
        < seen.index("\u203a done two")
        < seen.index("\n  two\n")
    )
