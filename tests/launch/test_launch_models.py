"""The model of a launch: resolved before anything is made, and in the plan of the run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.harness import real_pi
from tests.status.watchers import checked

if TYPE_CHECKING:
    from tests.desk import Desk
    from tests.harness import ModelServer


@pytest.fixture
def real(desk: Desk, models: ModelServer) -> Desk:
    """Have a desk with the real pi, and no model by default."""
    environment = desk.home.environment
    environment |= {"TMUXAGENTS_PI": real_pi(), "PI_CODING_AGENT_DIR": str(models.agent_dir)}
    environment["TMUXAGENTS_DEFAULT_MODEL"] = ""
    return desk


@pytest.mark.parametrize(
    ("options", "kind", "exit_code"),
    [
        (["-m", "mock/nothing"], "unknown-model", 2),
        (["-m", "inherit"], "no-model", 2),
        ([], "no-model", 2),
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
    done = desk(verb, "x")
    warning, refusal, *_ = done.stderr.splitlines()
    assert warning.startswith(f"warning: project settings ({settings}) cannot be read: ")
    assert (done.returncode, refusal.split(":")[0]) == (2, "no model resolved")
    assert checked(desk(verb, "--json", "x").stdout, "error")["error"]["kind"] == "no-model"
