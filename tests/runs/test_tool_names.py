"""A tool that every agent has is shown with one name, whatever the agent calls it."""

from __future__ import annotations

import pytest

from tests import plans
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.render import rows
from tmuxagents.render.story import Story
from tmuxagents.runs import events, narration, words
from tmuxagents.runs.documents import plan_of
from tmuxagents.runs.narration import Narrator
from tmuxagents.tools import answers

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


def test_what_was_denied_is_shown_where_a_status_is() -> None:
    assert words.status({"status": "completed", "denied": 2}) == "completed, 2 denied"
    assert words.status({"status": "completed"}) == "completed"
    told = events.denied("c", "Bash", "It needs\napproval.")
    assert narration.entry(told, None) == "Denied: Bash: It needs\napproval."
    assert answers.answered("01a1ee15069b4c1f", "May I?", "a person").endswith("(May I?; by a person).")


def test_the_window_says_how_a_question_is_answered() -> None:
    story = Story()
    story.take(events.needs_input("permission", "May I?", ask="q1"))
    assert story.blocks[-1].aside == ""
    request = LaunchRequest(task="x", cwd="/p", project="/p", name="scout")
    story.head(plan_of(plans.document(request, run_id="0" * 16)))
    story.take(events.needs_input("permission", "May I?", ask="q1"))
    assert story.blocks[-1].aside == "tmuxagents answer scout allow, or deny"
    shown = ["".join(text for _, text in row) for block in story.blocks for row in rows.of(block, 80)]
    assert any("Waits for a person: May I?" in line for line in shown)
    assert any("Waits for an answer: May I?" in line for line in shown)
    story.take(events.denied("c", "Bash", "It needs approval."))
    assert story.blocks[-1].words == "Denied: Bash: It needs approval."
