"""Agents in the user's settings: a command does a task, variables reach it and no file, `agents` lists it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.desk import Desk

READS = ["sh", "-c", 'cat "$COPILOT_CUSTOM_INSTRUCTIONS_DIRS"/*.instructions.md >&2']
SECRET = "a-secret-that-no-file-holds"
AGENTS = {
    "upper": {"type": "command", "command": ["tr", "a-z", "A-Z"]},
    "keyed": {
        "type": "command",
        "command": ["sh", "-c", 'cat >/dev/null; test "$KEY" = "$WANTED"; echo "$? $HOME"'],
        "env": {"KEY": SECRET, "WANTED": SECRET},
        "home": "~/other",
    },
    "fails": {"type": "command", "command": ["sh", "-c", "echo half; echo the reason >&2; exit 3"]},
    "goose": {"type": "acp"},
    "deaf": {"type": "acp", "command": ["cat"]},
    "gemini-acp": {"type": "acp"},
}


@pytest.fixture
def own(desk: Desk) -> Desk:
    """Return a desk with agents in the settings."""
    text = json.dumps({"subagents": {"agents": {**AGENTS, "copilot": {"command": READS}}}})
    (desk.home.agent_dir / "settings.json").write_text(text)
    return desk


def result(desk: Desk, agent: str, task: str = "hello") -> tuple[Any, dict[str, Any]]:
    done = desk("run", "--agent", agent, "--", task)
    (run_id,) = desk.runs()[-1:]
    return done, json.loads((desk.folder(run_id) / "result.json").read_text())


def test_a_command_gets_the_task_to_the_byte_and_says_what_proves_its_end(own: Desk) -> None:
    done, ending = result(own, "upper", "--dashes first, then 'quotes' and \u2028")
    assert (done.returncode, done.stdout) == (0, "--DASHES FIRST, THEN 'QUOTES' AND \u2028\n")
    assert (ending["status"], ending["note"]) == ("completed", "only its exit code says so")


def test_variables_of_an_agent_reach_it_and_no_file(own: Desk) -> None:
    done, _ = result(own, "keyed")
    assert done.stdout == f"0 {own.home.folder}/other\n"
    (run_id,) = own.runs()
    for path in own.home.state.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path
    assert json.loads((own.folder(run_id) / "meta.json").read_text())["agentKind"] == "command"


def test_the_text_of_a_preset_is_where_copilot_looks_for_instructions(own: Desk) -> None:
    own("presets", "new", "brief", "-d", "Brief", "--prompt", "Be brief.")
    own("run", "--agent", "copilot", "--preset", "brief", "hello")
    (run_id,) = own.runs()
    assert "Be brief." in (own.folder(run_id) / "stderr.log").read_text()
    assert own("prune", run_id).returncode == 0
    assert own.runs() == []


def test_a_command_that_fails_says_why(own: Desk) -> None:
    done, ending = result(own, "fails")
    assert done.returncode == 1
    assert (ending["status"], ending["reason"], ending["errorMessage"]) == ("failed", "exit", "the reason")


def test_what_a_command_has_not_is_refused_before_a_run_is_made(own: Desk) -> None:
    for option, said in (("--model=m", "takes no model"), ("--permission=edit", "has no permission levels")):
        done = own("launch", "--agent", "upper", option, "x")
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert own("launch", "--agent", "goose", "x").returncode == 3
    assert own.runs() == []


def test_a_program_that_speaks_no_acp_has_not_completed(own: Desk) -> None:
    _, ending = result(own, "deaf")
    assert ending["status"] == "failed"


def test_a_known_launch_line_is_used_whole(own: Desk) -> None:
    program = own.home.folder / "bin" / "gemini"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "called with $*" >&2\nexit 3\n')
    program.chmod(0o755)
    own.home.environment["PATH"] = f"{program.parent}:{own.home.environment['PATH']}"
    result(own, "gemini-acp")
    (run_id,) = own.runs()
    assert "called with --acp" in (own.folder(run_id) / "events.jsonl").read_text()


def test_the_list_has_them_all(own: Desk) -> None:
    document = json.loads(own("agents", "--json").stdout)
    found = {one["name"]: one for one in document["agents"]}
    assert next(iter(found)) == "pi"
    assert list(found)[-len(AGENTS) :] == list(AGENTS)
    upper, goose = found["upper"], found["goose"]
    assert (upper["type"], upper["installed"], upper["evidence"], upper["seats"]) == (
        *("command", True, "exit", ["command"]),
    )
    assert (goose["installed"], goose["version"], goose["warnings"]) == (
        *(False, None, ["The agent goose is not installed: there is no goose on PATH."]),
    )
    shown = own("agents").stdout.splitlines()
    assert (shown[0].split()[0], shown[1].split()[0]) == ("AGENT", "pi*")
    assert SECRET not in json.dumps(document)


def test_models_of_an_agent_that_lists_none_says_so(own: Desk) -> None:
    done = own("models", "--agent", "upper")
    assert (done.returncode, done.stdout) == (0, "")
    assert "upper cannot be asked for its models" in done.stderr
