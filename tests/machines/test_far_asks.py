"""What is asked of another machine: refusals that leave nothing, tasks, presets, tools; the real pi."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.harness import real_pi
from tests.machines.pair import Pair

if TYPE_CHECKING:
    from collections.abc import Iterator

DONE = ("completed", "done")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--on", "bax", "done x"), 2, 'Unknown host: "bax"'),
        (("--on", "box", "--cwd", "~/nowhere", "done x"), 2, "box: "),
        (("--on", "box", "--cwd", "relative", "done x"), 2, "--cwd is a path on box"),
        (("--on", "box", "--cwd", "~/../etc", "done x"), 2, "--cwd is a path on box"),
        (("--on", "box", "--agent", "nobody", "done x"), 2, "nobody"),
        (("--on", "box", "--name", "taken", "done x"), None, "taken"),
        (("--on", "box", "--preset", "nobody", "done x"), 2, "nobody"),
        (("--on", "box", ""), 2, "task"),
    ],
)
def test_what_is_refused_leaves_nothing(pair: Pair, arguments: tuple[str, ...], code: int, said: str) -> None:
    gate = None
    if "taken" in arguments:
        _, gate = pair.at_gate("--name", "taken")
    before = (set(pair.desk.made()), pair.far_runs())
    done = pair("launch", *arguments)
    assert done.returncode in ((2, 3, 4) if code is None else (code,)), done.stderr
    assert done.stdout == ""
    assert said in done.stderr
    assert (set(pair.desk.made()), pair.far_runs()) == before
    if gate is not None:
        gate.touch()


def test_tasks_of_one_file_work_where_each_says(pair: Pair) -> None:
    tasks = pair.home.folder / "tasks.yaml"
    tasks.write_text(
        "- {task: done one, on: box, name: p}\n"
        "- {task: 'done two after {previous}', name: q, after: p}\n"
        "- {task: 'done three after {previous}', on: box, name: r, after: q}\n"
    )
    done = pair("run", "--json", "--tasks", str(tasks))
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)["runs"]
    assert [run["output"] for run in runs] == ["one", "two after one", "three after two after one"]
    assert [run.get("host") for run in runs] == ["box", None, "box"]
    assert [pair.differing(run["runId"]) for run in runs if run.get("host")] == [[], []]


def test_a_preset_of_ones_own_may_name_a_machine_and_one_of_a_project_may_not(pair: Pair) -> None:
    text = "---\nname: {}\ndescription: x\non: box\n---\nBe brief.\n"
    for folder, name in (
        (pair.home.agent_dir / "subagents", "mine"),
        (pair.home.project / ".pi/subagents", "theirs"),
    ):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(text.format(name))
    mine = pair("launch", "-p", "mine", "done there").stdout.strip()
    assert (pair.how(mine), pair.run(mine)["host"], pair.run(mine)["preset"]) == (DONE, "box", "mine")
    again = pair("retry", mine)  # its prompt came here after the plan
    assert again.returncode == 0, again.stderr
    assert pair.how(again.stdout.split()[-1]) == DONE
    assert pair.differing(mine) == []
    done = pair("launch", "-p", "theirs", "done here")
    assert "on" in done.stderr
    theirs = done.stdout.strip()
    assert (pair.how(theirs), "host" in pair.run(theirs)) == (DONE, False)


def test_a_tool_of_a_parent_may_name_a_machine(pair: Pair) -> None:
    folder = pair.home.agent_dir / "subagents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plain.md").write_text("---\nname: plain\ndescription: x\n---\nBe brief.\n")
    asked = {"preset": "plain", "task": "done by a tool"}
    before = set(pair.desk.made())
    done = pair("call", "background_agent", json.dumps({**asked, "on": "box"}))
    assert done.returncode == 0, done.stdout
    (run_id,) = set(pair.desk.made()) - before
    assert (pair.how(run_id), pair.run(run_id)["host"]) == (DONE, "box")
    refused = pair("call", "background_agent", json.dumps({**asked, "on": "bax"}))
    assert refused.returncode == 2
    assert 'Unknown host: \\"bax\\"' in refused.stdout


@pytest.fixture(scope="module")
def real() -> Iterator[Pair]:
    with Pair(real=real_pi()) as made:
        yield made


@pytest.mark.usefixtures("models")
def test_the_real_pi_works_there_and_is_spoken_to_from_here(real: Pair) -> None:
    batch = real.launch("Look around. #script:tools")
    gate = real.gate()
    waits = f"Work.\n#bash:until [ -e {gate} ]; do sleep 0.1; done\n#say:First."
    live = real.launch("--live", waits)
    assert (real.how(batch), real.differing(batch)) == (DONE, [])
    assert real("output", batch).stdout == "Done: notes.txt says three.\n"
    assert (real.lab.home / "work/notes.txt").exists()
    real.hears(live, '"tool_call"')
    sent = real("send", live, "And #say:Second.")
    assert sent.returncode == 0, sent.stderr
    gate.touch()
    assert real.how(live) == DONE
    assert "Second." in real("output", live).stdout
    assert real.differing(live) == []
