"""The verb presets at hand, and files of the user and of a project."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

from tests.status.watchers import checked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness import Home

EXAMPLE = """---
name: repo-scout
description: Finds its way around a repository
model: github-copilot/gpt-4o
tools: read,grep,find,ls
---
Look around quickly, report what you found in a few lines, change nothing.
"""


class Shelf:
    """The command, and files of the user and of a project."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.own = home.agent_dir / "subagents"
        self.profiles = home.agent_dir / "agent-profiles"
        self.theirs = home.project / ".pi" / "subagents"

    def put(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def __call__(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = self.home.environment | variables
        return self.home.command("presets", *arguments, env=environment, stdin=subprocess.DEVNULL)

    def document(self, *arguments: str) -> dict[str, Any]:
        """Return what a verb prints with --json; it fits its schema."""
        done = self(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return checked(done.stdout, "preset")

    def error(self, *arguments: str) -> dict[str, Any]:
        """Return the refusal of a verb; it is the same with and without --json."""
        said = self(*arguments)
        done = self(*arguments, "--json")
        problem: dict[str, Any] = checked(done.stdout, "error")["error"]
        assert said.returncode == done.returncode == problem["exit"]
        assert f"\n{problem['message']}\n" in f"\n{said.stderr}"
        return problem

    def warnings(self, *arguments: str) -> list[str]:
        """Return the warnings of a verb."""
        lines = self(*arguments).stderr.splitlines()
        return [line.removeprefix("warning: ") for line in lines if re.match("(?i)warning: ", line)]
