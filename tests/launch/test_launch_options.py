"""The options of launch besides the task: presets, files, runs to wait for, processes to spare."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import REPOSITORY, eventually
from tests.status.watchers import checked

if TYPE_CHECKING:
    from tests.desk import Desk

ECHO = str(REPOSITORY / "tests" / "children" / "echo.py")
SCOUT = "---\nname: scout\ndescription: Looks around\nmodel: mock/mock-think\ntools: read, ls\n---\nLook.\n"


def preset(desk: Desk, text: str = SCOUT, *, of: str = "global", kind: str = "subagents") -> Path:
    """Write a preset or profile file."""
    root = desk.home.agent_dir if of == "global" else desk.home.project / ".pi"
    (root / kind).mkdir(parents=True, exist_ok=True)
    path = root / kind / "a.md"
    path.write_text(text)
    return path


def seen(desk: Desk, *arguments: str, **variables: str) -> dict[str, Any]:
    """Launch a child that writes down its input; return this record, and the plan."""
    run_id = desk.launch(*arguments, variables={"TMUXAGENTS_PI": ECHO, **variables})
    assert desk.result(run_id)["status"] == "completed"
    echo: dict[str, Any] = json.loads(Path(f"{desk.home.record}.echo").read_text())
    plan = json.loads((desk.folder(run_id) / "meta.json").read_text())
    return echo | {"plan": plan, "folder": desk.folder(run_id)}


# --- presets ----------------------------------------------------------------------------------------------


def test_a_preset_sets_the_child_up(desk: Desk) -> None:
    path = preset(desk)
    found = seen(desk, "-p", "scout", "x")
    prompt = found["folder"] / "system-prompt.md"
    assert found["argv"] == [
        *("--mode", "json", "--session", str(found["folder"] / "child-session.jsonl")),
        *("--model", "mock/mock-think", "--append-system-prompt", str(prompt), "--tools", "read,ls"),
    ]
    assert prompt.read_text() == "Look."
    plan = found["plan"]
    assert [plan[key] for key in ("preset", "presetKind", "presetSource", "presetPath", "modelSource")] == [
        *("scout", "preset", "global", str(path), "preset"),
    ]


def test_a_receipt_says_whose_preset_it_was_and_what_it_hides(desk: Desk) -> None:
    hidden = preset(desk)
    preset(desk, SCOUT.replace("tools: read, ls\n", ""), of="project")
    done = desk("launch", "-p", "scout", "done x")
    *warnings, line, _ = done.stderr.splitlines()
    assert line.startswith('Started "done x" (preset scout of this project, model ')
    assert any(str(hidden) in warning and "more tools" in warning for warning in warnings), warnings
    document = checked(desk("launch", "-p", "scout", "done x", "--json").stdout, "receipt")
    assert document["run"]["presetHides"] == str(hidden)
    own = checked(desk("launch", "-p", "global:scout", "done x", "--json").stdout, "receipt")["run"]
    assert (own["presetPath"], own["presetHides"]) == (str(hidden), None)
    left_out = desk("launch", "--no-project-presets", "-p", "scout", "done x", "--json")
    assert checked(left_out.stdout, "receipt")["run"]["presetPath"] == str(hidden)


def test_a_call_may_name_another_model_and_nothing_else_of_a_preset(desk: Desk) -> None:
    preset(desk)
    found = seen(desk, "-p", "scout", "-m", "mock-text", "x")
    assert found["plan"]["resolvedModel"] == "mock/mock-text"
    assert [found["plan"][key] for key in ("requestedModel", "modelSource")] == ["mock-text", "call"]
    assert desk("launch", "-p", "scout", "--system-prompt", "y", "x").returncode == 2


def test_the_windows_name_is_the_presets_in_safe_letters(desk: Desk) -> None:
    preset(desk, SCOUT.replace("name: scout", "name: 'Scout #(touch x);'"))
    desk.launch("-p", "Scout #(touch x);", "done x")
    assert desk.tmux("list-windows", "-a", "-F", "#{window_name}") == "scout-touch-x"


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        (SCOUT, "scuot", "unknown-preset"),
        ("---\nname: scout\n---\nLook.\n", "scout", "bad-preset"),
        (SCOUT.replace("mock/mock-think", "mock/none"), "scout", "unknown-model"),
    ],
)
def test_a_bad_preset_starts_nothing(desk: Desk, text: str, name: str, kind: str) -> None:
    preset(desk, text)
    done = desk("launch", "--json", "-p", name, "x")
    assert (done.returncode, checked(done.stdout, "error")["error"]["kind"]) == (2, kind)
    assert (desk.runs(), desk.sockets.exists()) == ([], False)


def test_a_profile_and_its_key_which_is_in_no_file(desk: Desk) -> None:
    text = "---\nname: deep\nmodel: mock/mock-think\nthinkingLevel: high\napiKey: s3cr3t-k3y\n---\nBe deep.\n"
    preset(desk, text, kind="agent-profiles")
    os.chmod(desk.home.agent_dir / "agent-profiles" / "a.md", 0o600)
    found = seen(desk, "-p", "deep", "x", HOME=str(desk.home.folder), PI_AGENT_DIR=str(desk.home.agent_dir))
    prompt = found["folder"] / "system-prompt.md"
    assert found["argv"][4:] == [
        *("--model", "mock/mock-think", "--system-prompt", str(prompt), "--thinking", "high"),
    ]
    assert found["environment"]["PI_API_KEY"] == "s3cr3t-k3y"
    for file in found["folder"].iterdir():
        assert not file.is_file() or b"s3cr3t-k3y" not in file.read_bytes()


def test_tasks_of_one_call_have_presets_of_their_own(desk: Desk) -> None:
    preset(desk)
    tasks = desk.home.folder / "tasks.json"
    tasks.write_text(json.dumps([{"task": "done a", "preset": "scout"}, {"task": "done b"}]))
    done = desk("run", "--tasks", str(tasks), "--json")
    assert [run["preset"] for run in checked(done.stdout, "poll")["runs"]] == ["scout", None]
    tasks.write_text(json.dumps([{"task": "done a", "preset": "scout"}, {"task": "b", "preset": "none"}]))
    refused = checked(desk("run", "--tasks", str(tasks), "--json").stdout, "error")["error"]
    assert [fault["field"] for fault in refused["faults"]] == ["tasks[1].preset"]


def test_a_launch_without_preset_reads_no_yaml_and_sets_no_flag(desk: Desk) -> None:
    found = seen(desk, "x")
    assert found["argv"][4:] == ["--model", "mock/mock-text"]
    assert not (found["folder"] / "system-prompt.md").exists()


# --- files ------------------------------------------------------------------------------------------------


def test_files_stand_before_the_task(desk: Desk) -> None:
    (desk.home.project / "a.txt").write_text("one\ntwo\nthree\n")
    (desk.home.folder / "b.txt").write_text("outside\n")
    outside = str(desk.home.folder / "b.txt")
    done = desk("launch", "--file", "a.txt:2-3", "--file", outside, "--file", "none", "done x")
    run_id = done.stdout.strip()
    denied = f"[access denied: path outside project directory: {outside}]"
    assert (desk.folder(run_id) / "prompt.txt").read_text() == (
        f"=== a.txt ===\ntwo\nthree\n\n{denied}\n\n[file not found: none]\n\ndone x"
    )
    for words in (denied, "[file not found: none]"):
        assert f"warning: {words[1:-1]}; the prompt says so\n" in done.stderr
    assert json.loads((desk.folder(run_id) / "meta.json").read_text())["files"] == [
        {"path": "a.txt", "start": 2, "end": 3},
        outside,
        "none",
    ]
    allowed = desk.launch("--allow-outside", "--file", outside, "done x")
    assert (desk.folder(allowed) / "prompt.txt").read_text() == f"=== {outside} ===\noutside\n\ndone x"
    again = json.loads(desk("retry", allowed, "--json").stdout)["run"]["runId"]
    assert (desk.folder(again) / "prompt.txt").read_text().startswith("=== ")


def test_a_file_that_asks_for_nonsense_is_refused(desk: Desk) -> None:
    done = desk("launch", "--json", "--file", "a.txt:head=0", "x")
    assert checked(done.stdout, "error")["error"]["kind"] == "bad-argument"
    assert desk.runs() == []


# --- after others -----------------------------------------------------------------------------------------


def test_a_run_comes_after_others_and_gets_what_they_answered(desk: Desk) -> None:
    go = desk.home.folder / "go"
    first = desk.launch("--name", "first", f"begin\ngate {go}\ndone one")
    second = desk.launch("done two")
    last = desk.launch("--after", "first", "--after", second, "done got {previous}.\nand {previous}")
    row = json.loads(desk("poll", last, "--json").stdout)["runs"][0]
    assert (row["status"], row["after"]) == ("queued", [first, second])
    assert f"waits for {first[:8]}, {second[:8]}" in desk("poll", last).stdout
    go.touch()
    assert desk.result(last)["status"] == "completed"
    text = (desk.folder(last) / "prompt.txt").read_text()
    assert text == "done got one\n\ntwo.\nand one\n\ntwo"
    plan = json.loads((desk.folder(last) / "meta.json").read_text())
    assert plan["task"] == "done got {previous}.\nand {previous}"


@pytest.mark.parametrize("when", ["before", "while it waits"])
def test_a_run_whose_predecessor_fails_fails_too(desk: Desk, when: str) -> None:
    go = desk.home.folder / "go"
    first = desk.launch(f"begin\ngate {go}\nanswer length half\nsettle")
    if when == "before":
        go.touch()
        desk.result(first)
    last = desk.launch("--after", first, "pid last\ndone x")
    third = desk.launch("--after", last, "pid third\ndone x")
    go.touch()
    result = desk.result(last)
    assert [result[key] for key in ("status", "reason", "errorMessage", "startedAt")] == [
        *("failed", "dependency", f"Waited for {first[:8]}, which failed (length).", None),
    ]
    assert desk.result(third)["errorMessage"] == f"Waited for {last[:8]}, which failed (dependency)."
    assert desk.home.recorded() == {}


def test_a_run_that_waits_for_another_can_be_stopped(desk: Desk) -> None:
    first = desk.launch("begin\nsleep 60")
    last = desk.launch("--after", first, "pid last\ndone x")
    assert desk("stop", last).stdout == f"{last[:8]} aborted (stopped)\n"
    third = desk.launch("--after", first, "pid third\ndone x")
    desk("stop", first)
    assert desk.result(third)["errorMessage"] == f"Waited for {first[:8]}, which was aborted."
    assert desk.home.recorded() == {}


def test_waiting_for_others_takes_no_slot(desk: Desk) -> None:
    desk.home.environment["TMUXAGENTS_MAX_RUNNING"] = "1"
    go = desk.home.folder / "go"
    first = desk.launch(f"begin\ngate {go}\ndone one")
    last = desk.launch("--after", first, "done last")
    between = desk.launch("done between")
    go.touch()
    for run_id in (first, last, between):
        assert desk.result(run_id)["status"] == "completed"


def test_a_run_comes_after_one_whose_plan_was_edited(desk: Desk) -> None:
    first = desk.launch("done one")
    desk.result(first)
    path = desk.folder(first) / "meta.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"after": ["\0", "\ud800", "../.."]}))
    last = desk.launch("--after", first, "done got {previous}")
    assert desk.result(last)["output"] == "got one"


def test_after_a_run_that_is_not_there_is_refused(desk: Desk) -> None:
    done = desk("launch", "--json", "--after", "ffffffff", "x")
    assert (done.returncode, checked(done.stdout, "error")["error"]["kind"]) == (4, "unknown-run")
    assert desk.runs() == []


# --- what is left behind ----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["option", "preset", "setting", "not at all"])
def test_background_processes_are_spared_if_that_is_wished(desk: Desk, how: str) -> None:
    preset(desk, SCOUT.replace("tools: read, ls", f"keepBackground: {str(how == 'preset').lower()}"))
    options = {"option": ["--keep-background"], "preset": ["-p", "scout"]}.get(how, [])
    variables = {"TMUXAGENTS_KEEP_BACKGROUND": "true"} if how == "setting" else {}
    run_id = desk.launch(*options, "found tool\ndone x", variables=variables)
    result = desk.result(run_id)
    (pid,) = desk.home.recorded().values()
    spared = [left["pid"] for left in result["leftBehind"]]
    assert spared == ([] if how == "not at all" else [pid])
    eventually(lambda: os.path.exists(f"/proc/{pid}") == (how != "not at all"))
