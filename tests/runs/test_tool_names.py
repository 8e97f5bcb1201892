"""A tool that every agent has is shown by one name, whatever its agent calls it."""

from __future__ import annotations

import pytest

from tmuxagents.runs import events
from tmuxagents.runs.narration import Narrator

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("tool", "args", "phrase"),
    [
        ("Bash", {"command": "ls"}, "ls"),
        ("run_shell_command", {"command": "ls"}, "ls"),
        ("Read", {"file_path": "/a"}, "Reading /a"),
        ("read_file", {"absolute_path": "/a"}, "Reading /a"),
        ("write", {"filePath": "/a"}, "Writing /a"),
        ("replace", {"file_path": "/a"}, "Editing /a"),
        ("Glob", {"pattern": "*.py"}, "Scanning for *.py"),
        ("list_directory", {"dir_path": "/d"}, "Listing /d"),
        ("Grep", {"pattern": "x"}, "Searching code for x"),
        ("Teleport", {"path": "/a"}, "Running Teleport"),
    ],
)
def test_a_call_of_each_agent(tool: str, args: dict[str, str], phrase: str) -> None:
    assert Narrator().phrase(events.tool_call("c", tool, args)) == phrase


def test_its_result_has_the_same_name() -> None:
    narrator = Narrator()
    narrator.phrase(events.tool_call("c", "Read", {"file_path": "/a"}))
    told = events.tool_result("c", "Read", is_error=False, text="x", duration_ms=1)
    assert narrator.phrase(told) == "Finished reading /a"
