"""What a run on another machine is going to be: what is asked of that machine, and how it is reached."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tmuxagents.launch import far
from tmuxagents.launch.launch import Launcher
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.machines import build, hosts
from tmuxagents.registry.lookup import Caller
from tmuxagents.runs import directory

if TYPE_CHECKING:
    from tests.harness import Home

BOX = hosts.Host("box", hosts.SSH, "box", ("/far/tmuxagents",), "/far/state", build.version())


def planned(home: Home, engine: str, on: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what is asked of the host, and what is written down of it."""
    hosts.write_host(BOX._replace(engine=engine), home.environment)
    launcher = Launcher(Caller(home.environment, str(home.project)), home.environment, umask=0o077)
    project = str(home.project)
    prepared = launcher.prepare(LaunchRequest("x", project, project, on=on, far_cwd="~"))
    return json.loads(prepared.texts[far.REQUEST]), json.loads(prepared.texts[directory.MACHINE])


@pytest.mark.parametrize(
    ("engine", "on", "there"),
    [
        (hosts.SSH, "box", None),
        (hosts.SSH, "slurm@box", "slurm"),
        (hosts.SSH, "slurm@box:gpu", "slurm:gpu"),
        (hosts.SLURM, "box", "slurm"),
        (hosts.SLURM, "slurm@box:gpu", "slurm:gpu"),
    ],
)
def test_a_job_over_there_is_reached_as_any_run_there(
    home: Home, engine: str, on: str, there: str | None
) -> None:
    asked, machine = planned(home, engine, on)
    assert asked["on"] == there
    assert (machine["host"], machine["engine"]) == ("box", "ssh"), "only a job of our own Slurm is asked here"
