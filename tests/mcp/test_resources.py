"""Answers, transcripts and results of runs by their addresses: bounded, inert, or refused in a sentence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.status.watchers import checked
from tmuxagents.errors import TmuxAgentsError
from tmuxagents.mcp import resources
from tmuxagents.registry import lookup

if TYPE_CHECKING:
    from tests.harness import Home, Run


def caller(home: Home) -> lookup.Caller:
    return lookup.Caller(home.environment, str(home.project))


def read(home: Home, address: str) -> dict[str, Any]:
    (content,) = resources.read(address, caller(home), home.environment)
    return content


def address(run: Run, kind: str) -> str:
    return f"tmuxagents://runs/{run.run_id}/{kind}"


def test_the_latest_runs_are_listed_and_no_more(home: Home) -> None:
    runs = [home.run("x", name=f"r-{number}", createdAt=1000.0 + number) for number in range(25)]
    listed = resources.listed(caller(home), home.environment)
    assert [one["uri"] for one in listed] == [address(run, "transcript") for run in runs[:4:-1]]
    assert (listed[0]["title"], listed[0]["description"]) == ("r-24: transcript", "queued: x")


def test_an_answer_that_was_read_as_a_resource_is_read(home: Home) -> None:
    runs = [home.run(f"done {number}", name=f"r-{number}") for number in range(3)]
    for run in runs:
        run.start().wait()
    for run, kind in zip(runs, ("transcript", "output", "result"), strict=True):
        read(home, address(run, kind))
    told = json.loads(home.command("poll", "--unread", "--json").stdout)
    assert [run["name"] for run in told["runs"]] == ["r-0"]


def test_a_long_transcript_keeps_its_head_and_its_tail_and_is_inert(home: Home) -> None:
    run = home.run("x")
    lines = [f"line {number} \x1b[31m{'y' * 80}" for number in range(20_000)]
    (run.folder / "transcript.log").write_text("\n".join(lines) + "\n")
    text = read(home, address(run, "transcript"))["text"]
    assert len(text) < resources.MOST_BYTES + 1000
    assert (text.startswith("line 0 "), "line 19999 " in text[-200:], "\x1b" in text) == (True, True, False)
    (told,) = [line for line in text.splitlines() if line.startswith("[...")]
    whole = sum(len(f"line {number} {'y' * 80}\n") for number in range(20_000))
    assert told == f"[... {whole - len(text) + len(told) + 2} bytes left out ...]"


def test_what_is_not_there_is_refused_with_what_there_is(home: Home) -> None:
    run = home.run("x")
    for wrong, kind in (
        (address(run, "result"), "run-running"),
        (address(run, "prompt"), "bad-argument"),
        ("tmuxagents://runs//output", "bad-argument"),
        ("tmuxagents://runs/../../etc/output", "unknown-run"),
        ("file:///etc/passwd", "bad-argument"),
        ("tmuxagents://runs/ffffffff/output", "unknown-run"),
    ):
        with pytest.raises(TmuxAgentsError) as refusal:
            read(home, wrong)
        assert refusal.value.kind == kind
    assert read(home, address(run, "output"))["text"] == ""


def test_a_child_reads_nothing(home: Home) -> None:
    run = home.run("x")
    environment = home.environment | {"PI_SUBAGENTS_CHILD": "1"}
    for arguments in ((), ("--", address(run, "transcript"))):
        done = home.command("_resource", *arguments, env=environment)
        document = json.loads(done.stdout)
        assert (done.returncode, document["isError"]) == (2, True)
        assert document["details"]["error"]["kind"] == "nested"
        checked(
            json.dumps({"v": 1} | {key: value for key, value in document.items() if key != "type"}), "call"
        )
