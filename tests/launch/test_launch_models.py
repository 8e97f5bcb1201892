"""The model of a launch: resolved before anything is made, and in the plan of the run."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.harness import real_pi
from tests.status.watchers import checked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.desk import Desk
    from tests.harness import Home, ModelServer


@pytest.mark.parametrize(
    ("options", "kind", "exit_code"),
    [
        (["-m", "mock/nothing"], "unknown-model", 2),
        (["-m", "inherit"], "no-model", 2),
    ],
)
def test_a_bad_model_is_refused_and_nothing_is_made(
    real: Desk, options: list[str], kind: str, exit_code: int
) -> None:
    done = real("launch", "--json", *options, "#script:text refused")
    assert done.returncode == exit_code
    assert checked(done.stdout, "error")["error"]["kind"] == kind
    assert real.runs() == []


def test_the_plan_has_the_model_as_asked_and_as_found_and_the_version_of_pi(real: Desk) -> None:
    done = real("launch", "--json", "-m", "MOCK-TEXT", "#script:text found")
    run = checked(done.stdout, "receipt")["run"]
    assert [run[key] for key in ("requestedModel", "resolvedModel", "modelSource")] == [
        "MOCK-TEXT",
        "mock/mock-text",
        "call",
    ]
    assert real.result(run["runId"])["status"] == "completed"
    meta = json.loads((real.home.state / "runs" / run["runId"] / "meta.json").read_text())
    assert (meta["agentCommand"], meta["initiator"]) == ([real_pi()], "agent")
    shown = checked(real("poll", run["runId"], "--json").stdout)["runs"][0]
    assert shown["agentVersion"] == meta["agentVersion"]
    assert shown["agentVersion"][0].isdigit()


def test_the_setting_is_the_last_place_for_a_model(real: Desk) -> None:
    real.home.environment["TMUXAGENTS_DEFAULT_MODEL"] = "mock-text"
    run = checked(real("launch", "--json", "#script:text by setting").stdout, "receipt")["run"]
    assert (run["resolvedModel"], run["modelSource"]) == ("mock/mock-text", "setting")


def test_without_any_model_pi_uses_its_own_and_the_receipt_says_so(real: Desk) -> None:
    done = real("launch", "#script:text mine")
    assert done.stderr.startswith('Started "#script:text mine" (pi\'s default model).\n')
    run = real("poll", "--json", "-a")
    assert [found["resolvedModel"] for found in checked(run.stdout)["runs"]] == [None]
    assert real.result(done.stdout.strip())["model"] == "mock/mock-text"


def test_the_default_of_pis_settings_is_the_resolved_model_and_a_retry_keeps_it(
    real: Desk, models: ModelServer, tmp_path: Path
) -> None:
    folder = tmp_path / "agent"
    shutil.copytree(models.agent_dir, folder)
    folder.joinpath("settings.json").write_text('{"defaultProvider": "mock", "defaultModel": "mock-text"}')
    real.home.environment["PI_CODING_AGENT_DIR"] = str(folder)
    run = checked(real("launch", "--json", "#script:text mine").stdout, "receipt")["run"]
    assert [run[key] for key in ("requestedModel", "resolvedModel", "modelSource")] == [
        None,
        "mock/mock-text",
        "agent",
    ]
    assert real.result(run["runId"])["model"] == "mock/mock-text"
    folder.joinpath("settings.json").write_text("{}")
    real.home.environment["TMUXAGENTS_DEFAULT_MODEL"] = "another/one"
    again = checked(real("retry", "--json", run["runId"]).stdout, "receipt")["run"]
    assert (again["resolvedModel"], again["modelSource"]) == ("mock/mock-text", None)


def test_a_silent_agent_is_a_warning_in_the_receipt(desk: Desk) -> None:
    program = desk.home.folder / "pi"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    desk.home.environment["TMUXAGENTS_PI"] = str(program)
    done = desk("launch", "--json", "-m", "any/model", "x")
    receipt = checked(done.stdout, "receipt")
    assert ["is not checked" in warning for warning in receipt["warnings"]] == [False, True]


@pytest.mark.parametrize("verb", ["launch", "run"])
def test_a_refusal_comes_with_what_was_left_out_of_the_settings(desk: Desk, verb: str) -> None:
    desk.home.environment["TMUXAGENTS_DEFAULT_MODEL"] = ""
    settings = desk.home.project / ".pi" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"subagents": {"defaultModel": "echo/any",}}')
    done = desk(verb, "-m", "nope", "x")
    warning, refusal, *_ = done.stderr.splitlines()
    assert warning.startswith(f"warning: project settings ({settings}) cannot be read: ")
    assert (done.returncode, refusal) == (2, 'Unknown model: "nope".')
    assert (
        checked(desk(verb, "-m", "nope", "--json", "x").stdout, "error")["error"]["kind"] == "unknown-model"
    )


# --- who launches ---

WHO = """
import os
from tmuxagents.launch import prepare
print(prepare.initiator_here(os.environ, None))
"""


@pytest.mark.parametrize(
    ("at_terminal", "more", "who"),
    [(True, {}, "person"), (False, {}, "agent"), (True, {"PI_CODING_AGENT": "true"}, "agent")],
)
def test_who_launches_is_a_person_where_there_is_a_terminal_and_no_agent(
    home: Home, *, at_terminal: bool, more: dict[str, str], who: str
) -> None:
    master, slave = pty.openpty()
    try:
        said = subprocess.run(
            [sys.executable, "-c", WHO],
            env=home.environment | more,
            stdin=slave if at_terminal else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    finally:
        os.close(master)
        os.close(slave)
    assert said.stdout.strip() == who
