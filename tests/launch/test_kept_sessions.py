"""A session that an agent keeps itself, after the agent was killed: its usage, and whether it exists."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import REPOSITORY

if TYPE_CHECKING:
    from tests.desk import Desk

STAND_IN = [sys.executable, str(REPOSITORY / "tests" / "children" / "copilot.py")]


@pytest.fixture
def copilot(desk: Desk) -> Desk:
    """A desk with a Copilot CLI that has a home of its own."""
    agents = {"copilot": {"command": STAND_IN, "home": "~/copilot"}}
    text = json.dumps({"subagents": {"agents": agents}})
    (desk.home.agent_dir / "settings.json").write_text(text)
    return desk


def killed(desk: Desk, task: str) -> str:
    """Let a child be killed; return its run."""
    run_id = desk.launch("--agent", "copilot", task)
    assert desk.result(run_id)["reason"] == "signal"
    return run_id


def resumed(desk: Desk, run_id: str) -> tuple[str, dict[str, Any]]:
    """Resume a run; return how, and the result."""
    done = desk("resume", run_id, "and now?")
    assert done.returncode == 0, done.stderr
    return done.stderr, desk.result(done.stdout.strip())


def test_what_a_killed_run_used_is_not_counted_as_the_next_ones(copilot: Desk) -> None:
    run_id = killed(copilot, "die")
    how, result = resumed(copilot, run_id)
    assert "in the child's own session" in how
    assert (result["output"], result["usage"]["input"], result["usage"]["output"]) == ("and now?", 100, 10)
    again = resumed(copilot, result["runId"])[1]
    assert (again["usage"]["input"], again["usage"]["output"]) == (100, 10)


def test_a_session_that_a_killed_agent_never_kept_is_replayed(copilot: Desk) -> None:
    run_id = killed(copilot, "vanish")
    how, result = resumed(copilot, run_id)
    assert (
        f"replaying the session in the prompt: run {run_id[:8]} ended before its child kept the session"
        in how
    )
    assert "vanish" in result["output"]


def test_where_no_session_at_all_is_found_the_agent_is_asked(copilot: Desk) -> None:
    run_id = killed(copilot, "vanish")
    (copilot.home.folder / "copilot" / "session-state").rmdir()
    how, _ = resumed(copilot, run_id)
    assert "in the child's own session" in how
