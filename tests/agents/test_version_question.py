"""The version in an agent's answer."""

from __future__ import annotations

import pytest

from tmuxagents.agents import find
from tmuxagents.agents.capabilities import Questions

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("2.1.328 (Claude Code)", "2.1.328"),
        ("codex-cli 0.169.0\n", "0.169.0"),
        ("GitHub Copilot CLI 1.0.102.\nRun 'copilot update' to check for updates.\n", "1.0.102"),
        ("v0.24.4-nightly.1", "0.24.4-nightly.1"),
        ("1.2.3.4", None),
        ("no figures", None),
    ],
)
def test_a_version_is_found(said: str, version: str | None) -> None:
    agent = find("copilot", None)
    assert agent is not None
    assert Questions(agent.capabilities().oldest).version(said.encode()) == version
