"""The caller's own streams: closed, the wrong way round, or without waiting."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.apart import running
from tests.harness import eventually, unread
from tests.status.watchers import COMMAND, checked
from tmuxagents.cli import HIDDEN, VERBS

if TYPE_CHECKING:
    from tests.desk import Desk
    from tests.harness import Home

CLOSED_IN = "stdin cannot be read: it is closed.\nhint: < FILE reads a file, < /dev/null reads nothing\n"
CLOSED_OUT = "stdout cannot be written to: it is closed.\nhint: > /dev/null discards the answer\n"
READS = [
    "launch -",
    "launch --task-file -",
    "run -",
    "run --tasks -",
    "presets new x --prompt -",
    "mcp",
]
PRESET = "---\nname: scout\ndescription: Finds its way around\n---\nLook around.\n"


def redirected(home: Home, line: str, how: str) -> subprocess.CompletedProcess[str]:
    """Carry out a command line whose streams a shell has redirected."""
    return subprocess.run(
        ["sh", "-c", f'"$0" {line} {how}', *COMMAND],
        cwd=home.project,
        env=home.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("line", READS)
@pytest.mark.parametrize("how", ["<&-", "0>/dev/null"])
def test_a_closed_stdin_that_is_to_be_read_is_a_fault_of_the_request(home: Home, line: str, how: str) -> None:
    done = redirected(home, line, how)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", CLOSED_IN)
    assert not home.state.exists()


def test_a_program_reads_the_same_as_json(desk: Desk) -> None:
    run_id = desk.launch("begin\nanswer toolUse so far\nsleep 60")
    for line in ("launch --json -", f"send --json {run_id} -", f"resume --json {run_id} -"):
        done = redirected(desk.home, line, "<&-")
        error = checked(done.stdout, "error")["error"]
        assert (done.returncode, error["kind"], error["message"]) == (2, "usage", CLOSED_IN.splitlines()[0])
    done = redirected(desk.home, "call subagent -", "<&-")
    document = checked(done.stdout, "call")
    assert (done.returncode, document["details"]["error"]["kind"]) == (2, "usage")
    assert desk.runs() == [run_id]


def test_where_only_a_person_could_answer_a_closed_stdin_is_no_person(home: Home) -> None:
    folder = home.agent_dir / "subagents"
    folder.mkdir()
    (folder / "scout.md").write_text(PRESET)
    for line, hint in (("rm scout", "add --yes"), ("new other", "--editor"), ("edit scout", "--editor")):
        done = redirected(home, f"presets {line}", "<&-")
        assert (done.returncode, hint in done.stderr) == (2, True), done.stderr
    assert [entry.name for entry in folder.iterdir()] == ["scout.md"]


def test_a_closed_stdin_that_nobody_reads_does_no_harm(home: Home) -> None:
    for line in ("poll", "tools", "models", "prune", "schema run"):
        done = redirected(home, line, "<&-")
        assert (done.returncode, done.stderr) == (0, ""), line


def test_with_a_closed_stdout_no_verb_does_anything(home: Home) -> None:
    some = ["schema run", "launch x", "--help", "poll --json"]
    lines = [(verb, ">&-") for verb in [*sorted({*VERBS, *HIDDEN} - {"_wrap"}), *some]]
    lines += [(line, "1</dev/null") for line in some]  # it is asked before there is a verb
    for line, how in lines:
        done = redirected(home, line, how)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", CLOSED_OUT), line
    assert redirected(home, "poll", ">&- 2>&-").returncode == 2
    assert not home.state.exists()


def test_with_a_closed_stderr_all_goes_on(desk: Desk) -> None:
    run_id = redirected(desk.home, "launch 'done x'", "2>&-").stdout.strip()
    assert desk.result(run_id)["status"] == "completed"
    lines = ["run 'done y'", f"wait {run_id}", "poll -a", f"output {run_id}", f"transcript {run_id}"]
    lines += ["events @last", "models", "tools", "statusline", "schema run", f"stop {run_id}"]
    for line in lines:
        done = redirected(desk.home, line, "2>&-")
        assert (done.returncode, done.stdout != "") == (0, True), line
    for line, code in (("nosuch", 2), ("launch", 2), ("output nosuch", 4)):
        assert redirected(desk.home, line, "2>&-").returncode == code


def test_a_pipe_that_does_not_wait_is_read_to_its_end(desk: Desk) -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with running(
        [*COMMAND, "launch", "-"],
        cwd=desk.home.project,
        env=desk.home.environment,
        stdin=reading,
        stdout=subprocess.PIPE,
        text=True,
    ) as launch:
        os.close(reading)
        for piece in (b"begin\nanswer stop ", b"whole\nsettle\n"):
            eventually(lambda: unread(writing) == 0)
            os.write(writing, piece)
        os.close(writing)
        assert launch.stdout
        run_id = launch.stdout.read().strip()
    assert desk.result(run_id)["output"] == "whole"
