"""`nesting`: children launch children, as deep and as many as a user's preset allows."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import SCRIPTED
from tests.status.watchers import COMMAND

if TYPE_CHECKING:
    from tests.desk import Desk

TMUXAGENTS = shlex.join(COMMAND)
REFUSED = "A child agent may not launch agents of its own."


@pytest.fixture
def boss(desk: Desk) -> Desk:
    """Write a preset `boss` whose children may launch children, two levels deep."""
    folder = desk.home.agent_dir / "subagents"
    folder.mkdir()
    (folder / "boss.md").write_text("---\nname: boss\ndescription: Delegates\nnesting: 2\n---\nDelegate.\n")
    (folder / "plain.md").write_text("---\nname: plain\ndescription: Does not\n---\nWork.\n")
    own = {"agents": {"pi": {"command": [str(SCRIPTED)]}}, "defaultModel": "mock/mock-text"}
    (desk.home.agent_dir / "settings.json").write_text(json.dumps({"subagents": own}))
    return desk


def task(boss: Desk, text: str) -> str:
    """Return the options of a launch that name a task, whatever quotes are in it."""
    path = boss.home.folder / f"task-{len(list(boss.home.folder.glob('task-*')))}"
    path.write_text(text)
    return f"--task-file {path}"


def meta(desk: Desk, run_id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((desk.folder(run_id) / "meta.json").read_text())
    return found


def said(boss: Desk, line: str, *options: str) -> str:
    """Let a child carry out a command; return its exit code and what it printed."""
    run_id = boss.launch(*options, f"shell {line}")
    answer: str = boss.result(run_id)["output"]
    return answer


def test_each_launch_passes_on_one_level_less_and_the_same_root(boss: Desk) -> None:
    leaf = task(boss, f"shell {TMUXAGENTS} launch 'done too deep'")
    middle = task(boss, f"shell {TMUXAGENTS} run {leaf}")
    top = boss.launch("-p", "boss", f"shell {TMUXAGENTS} run {middle}")
    result = boss.result(top)
    assert result["output"].startswith(f"0 0 2 {REFUSED}"), result["output"]
    plans = [meta(boss, run_id) for run_id in boss.runs()]
    found = {plan["nesting"]: plan for plan in plans}
    assert (len(plans), sorted(found)) == (3, [0, 1, 2])
    assert {plan["root"] for plan in plans} == {top}
    assert set(boss.windows()) <= set(boss.runs()), "they open on the server where their parent is"


def test_a_child_sees_the_tools_while_they_are_open_to_it(boss: Desk) -> None:
    open_to = said(boss, f"{TMUXAGENTS} tools --json", "-p", "boss")
    assert json.loads(open_to.removeprefix("0 "))["available"] is True
    closed = json.loads(said(boss, f"{TMUXAGENTS} tools --json", "-p", "plain").removeprefix("0 "))
    assert (closed["available"], closed["why"], closed["tools"]) == (False, REFUSED, [])
    assert f"2 {REFUSED}" in said(boss, f"{TMUXAGENTS} launch 'done x'")


@pytest.mark.parametrize(
    "change",
    [
        "TMUXAGENTS_NESTING=3 TMUXAGENTS_ROOT=$TMUXAGENTS_RUN",
        "TMUXAGENTS_NESTING=3 TMUXAGENTS_RUN={top} TMUXAGENTS_ROOT={top}",
        "TMUXAGENTS_NESTING=3 TMUXAGENTS_RUN=0123456789abcdef",
    ],
)
def test_a_child_cannot_raise_itself_by_its_environment(boss: Desk, change: str) -> None:
    top = boss.launch("-p", "boss", "begin\nanswer toolUse so far\nsleep 60")
    boss.wait_for(top, "so far")
    line = f"TMUXAGENTS_HOME={boss.home.state} {change.format(top=top)} {TMUXAGENTS} launch 'done x'"
    assert f"2 {REFUSED}" in said(boss, line, "-p", "plain")
    lower = f"TMUXAGENTS_NESTING=1 {TMUXAGENTS} launch 'done x'"
    nested = said(boss, lower, "-p", "boss").split()[1]
    assert meta(boss, nested)["nesting"] == 0, "downwards it may"


def test_sixteen_runs_share_a_root_and_no_more(boss: Desk) -> None:
    top = boss.launch(
        "-p", "boss", "gate ../go\n" + f"shell {TMUXAGENTS} launch 'done x'; {TMUXAGENTS} tools"
    )
    runs = boss.home.state / "runs"
    plan = meta(boss, top)
    for number in range(14):
        folder = runs / f"{number:016x}"
        folder.mkdir()
        (folder / "meta.json").write_text(json.dumps(plan | {"runId": folder.name, "nesting": 1}))
    (boss.home.folder / "go").touch()
    output = boss.result(top)["output"]
    lines = output.splitlines()
    full = f"16 runs descend from run {top[:8]} already, which is the limit."
    assert (len(lines[0]), lines[-1]) == (18, f"warning: {full}"), output
    again = boss("launch", "done x", variables={"PI_SUBAGENTS_CHILD": "1", "TMUXAGENTS_RUN": top})
    assert (again.returncode, REFUSED in again.stderr) == (2, True), "who is no child of that run"
    assert boss("retry", top).returncode == 0, "a new top has a root of its own"


def test_of_many_children_at_once_no_more_than_sixteen_come(boss: Desk) -> None:
    line = f"for i in $(seq 20); do {TMUXAGENTS} launch 'done x' & done; wait"
    top = boss.launch("-p", "boss", f"shell {line}")
    assert boss("wait", "--timeout", "80", top).returncode == 0
    assert len(boss.runs()) <= 16
    assert {meta(boss, run_id)["root"] for run_id in boss.runs()} == {top}


def test_a_projects_preset_opens_nothing(boss: Desk) -> None:
    folder = boss.home.project / ".pi" / "subagents"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("---\nname: own\ndescription: d\nnesting: 3\n---\nx\n")
    assert f"2 {REFUSED}" in said(boss, f"{TMUXAGENTS} launch 'done x'", "-p", "own")


def test_a_session_keeps_what_it_may(boss: Desk) -> None:
    first = boss.launch("-p", "boss", "done one")
    boss.result(first)
    done = boss("resume", first, f"shell {TMUXAGENTS} launch 'done x'")
    second = done.stdout.strip()
    nested = boss.result(second)["output"].split()[1]
    assert [meta(boss, run_id)["root"] for run_id in (first, second, nested)] == [first, second, second]


def test_nobodys_child_is_asked_nothing(desk: Desk) -> None:
    alone = desk.launch("done x", variables={"TMUXAGENTS_NESTING": "2", "TMUXAGENTS_ROOT": "x"})
    plan = meta(desk, alone)
    assert (plan["root"], "nesting" in plan) == (None, False)
