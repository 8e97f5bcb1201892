"""output and wait --output, with the installed command: endings and answers of runs, each in one call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.status.watchers import begun, command, document, sleeper, told, wrapped_by
from tmuxagents.runs import events

if TYPE_CHECKING:
    from tests.harness import Home, Run

FAILS = "begin\nanswer length half of it\nsettle"
HALF = "failed (length): The answer was cut at the model's output limit; what follows is unfinished"


def ended(home: Home, script: str = "done fine", **changes: Any) -> Run:
    run = home.run(script, **changes)
    run.start().wait()
    return run


def test_the_text_of_a_failed_run_is_not_taken_for_an_answer(home: Home) -> None:
    run = ended(home, FAILS)
    for more in ((), ("--wait",)):
        done = command(home, "output", *more, run.run_id)
        assert (done.stdout, done.stderr, done.returncode) == (f"{HALF}\nhalf of it\n", "", 1)


@pytest.mark.parametrize("verb", ["output", "transcript", "events"])
def test_an_empty_id_is_not_the_newest_run(home: Home, verb: str) -> None:
    ended(home)
    for words in ((), ("",)):
        done = command(home, verb, *words)
        assert (done.stdout, done.returncode) == ("", 2)
        assert f"tmuxagents {verb} @last means the newest run" in done.stderr
    assert command(home, verb, "@last").returncode == 0


def test_several_runs_are_printed_with_their_endings_in_the_order_in_which_they_are_named(home: Home) -> None:
    first, second = ended(home, "done one", name="one"), ended(home, FAILS, name="two")
    blocks = [
        f"[1] two: {HALF} (run {second.run_id})\n\nhalf of it",
        f"[2] one: completed (run {first.run_id})\n\none",
    ]
    for verb in (("output",), ("wait", "--output")):
        done = command(home, *verb, "two", first.run_id)
        assert (done.stdout, done.stderr, done.returncode) == ("\n\n".join(blocks) + "\n", "", 1)
    alone = command(home, "wait", "--output", "one")
    assert (alone.stdout, alone.returncode) == (f"{blocks[1].replace('[2]', '[1]')}\n", 0)


def test_a_run_that_still_works_is_named_and_has_no_answer_yet(home: Home) -> None:
    done_, works = ended(home, name="one"), home.run("x", name="two")
    with sleeper() as wrapper:
        wrapped_by(works, wrapper)
        told(works, begun(), events.assistant_text("so far"))
        shown = command(home, "output", "one", "two")
        assert shown.stdout.endswith(f"[2] two: running: so far (run {works.run_id})\n")
        assert (shown.returncode, "still running" in shown.stderr) == (4, True)
        late = command(home, "wait", "--output", "--timeout", "0.1", "one", "two")
        assert (late.stdout, late.returncode) == (shown.stdout, 124)
        first = command(home, "wait", "--output", "--any", done_.run_id, "two")
        assert (first.stdout, first.returncode) == (shown.stdout, 0)


def test_a_long_answer_is_cut_and_the_named_command_prints_it(home: Home) -> None:
    run = ended(home, "done " + "x" * 9000)
    done = command(home, "wait", "--output", run.run_id)
    assert len(done.stdout) < 4300
    assert f"tmuxagents output {run.run_id} prints all" in done.stdout
    assert len(command(home, "wait", "--output", "--max-bytes", "99", run.run_id).stdout) < 300
    assert command(home, "output", run.run_id).stdout == "x" * 9000 + "\n"
    wrong = command(home, "wait", "--max-bytes", "99", run.run_id)
    assert (wrong.returncode, "add --output" in wrong.stderr) == (2, True)


def test_several_documents_are_json_lines(home: Home) -> None:
    runs = [ended(home).run_id, ended(home).run_id]
    lines = command(home, "output", "--json", *runs).stdout.splitlines()
    assert [json.loads(line)["runId"] for line in lines] == runs


def test_unread_are_the_runs_whose_answers_this_parent_has_not_read(home: Home) -> None:
    mine, theirs = {"TMUXAGENTS_OWNER": "me"}, {"TMUXAGENTS_OWNER": "they"}
    names = {ended(home, name=name, owner="me").run_id: name for name in ("one", "two", "three")}
    works = home.run("x", name="works", owner="me")

    def unread(**owner: str) -> set[str]:
        found = document(home, "poll", "--unread", **owner)["runs"]
        return {names[run["runId"]] for run in found}

    assert unread(**mine) == {"one", "two", "three"}
    command(home, "poll", **mine)  # a list has no answers
    command(home, "output", "one", **theirs)
    assert unread(**mine) == {"one", "two", "three"}
    command(home, "output", "one", **mine)
    assert unread(**mine) == {"two", "three"}
    command(home, "wait", "--output", "--any", "two", works.run_id, **mine)
    assert unread(**mine) == {"three"}
    assert "three" in command(home, "poll", "--unread", **mine).stdout
    command(home, "output", "@last", "three", **mine)
    assert unread(**mine) == set()
    assert unread(**theirs) == set()
    refused = command(home, "poll", "--unread", "--wait", **mine)
    assert (refused.returncode, "does not go with" in refused.stderr) == (2, True)
