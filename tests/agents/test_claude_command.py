"""How Claude Code is called."""

from __future__ import annotations

from typing import Any

import pytest

from tmuxagents.agents import AGENTS
from tmuxagents.agents.capabilities import DUPLEX, PERMISSIONS
from tmuxagents.runs.documents import plan_of

AGENT = AGENTS["claude"]
RUN_DIR = "/state/runs/01a1ee15069b4c1f"


def line(**changes: Any) -> list[str]:
    """Return the command line of a plan."""
    return list(AGENT.arguments(plan_of({"runId": "01a1ee15069b4c1f", **changes}), RUN_DIR))


def test_a_new_session_has_an_id_of_ours() -> None:
    assert "--session-id=" in " ".join(line())
    assert line() == line()
    assert not any(word.startswith("--resume") for word in line())


def test_a_run_continues_the_session_of_another() -> None:
    words = line(childSession="abc")
    assert "--resume=abc" in words
    assert not any(word.startswith("--session-id") for word in words)


def test_a_batch_run_is_lines_both_ways() -> None:
    assert line()[:5] == [
        "-p",
        "--output-format=stream-json",
        "--input-format=stream-json",
        "--verbose",
        "--include-partial-messages",
    ]


@pytest.mark.parametrize(
    ("permission", "tools", "words"),
    [
        (None, [], ["--permission-mode=acceptEdits"]),
        ("edit", [], ["--permission-mode=acceptEdits"]),
        ("full", [], ["--permission-mode=bypassPermissions"]),
        ("ask", [], ["--permission-mode=default"]),
        ("read-only", [], ["--permission-mode=dontAsk", "--tools=Read,Grep,Glob"]),
        ("read-only", ["Read", "Bash"], ["--permission-mode=dontAsk", "--tools=Read"]),
        ("read-only", ["Bash"], ["--permission-mode=dontAsk", "--tools="]),
        ("edit", ["Read", "Glob", "Glob"], ["--permission-mode=acceptEdits", "--tools=Read,Glob"]),
        ("odd", [], ["--permission-mode=dontAsk"]),
    ],
)
def test_a_permission_is_a_mode_and_tools(permission: str | None, tools: list[str], words: list[str]) -> None:
    given = line(permission=permission, tools=tools)
    assert [word for word in given if word.startswith(("--permission-mode", "--tools"))] == words
    assert ("--permission-prompt-tool=stdio" in given) is (permission == "ask")


def test_the_settings_and_servers_of_the_folder_are_not_its_own() -> None:
    assert {"--setting-sources=user", "--strict-mcp-config", "--add-dir=."} <= set(line())
    assert AGENT.environment("/a", None)["CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"] == "1"


def test_it_starts_no_agents() -> None:
    (never,) = [word for word in line() if word.startswith("--disallowed-tools=")]
    assert {"Task", "Agent", "Workflow"} <= set(never.partition("=")[2].split(","))


def test_it_may_do_everything_as_root_only_with_full_permission() -> None:
    full, edit = (plan_of({"permission": level}) for level in ("full", "edit"))
    assert AGENT.environment("/a", full)["IS_SANDBOX"] == "1"
    assert "IS_SANDBOX" not in AGENT.environment("/a", edit)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"resolvedModel": "opus"}, ["--model=opus"]),
        ({"resolvedModel": "opus", "modelSource": "agent"}, []),
        (
            {"presetKind": "preset", "systemPromptPath": "sp.md"},
            [f"--append-system-prompt-file={RUN_DIR}/sp.md"],
        ),
        (
            {"presetKind": "preset", "systemPromptPath": "/sp.md", "childSession": "a"},
            ["--append-system-prompt-file=/sp.md", "--system-prompt-snapshot=off"],
        ),
        (
            {"presetKind": "profile", "systemPromptPath": "sp.md", "appendSystemPromptPath": "ap.md"},
            [f"--system-prompt-file={RUN_DIR}/sp.md", f"--append-system-prompt-file={RUN_DIR}/ap.md"],
        ),
    ],
)
def test_model_and_system_prompt_are_flags(changes: dict[str, Any], words: list[str]) -> None:
    given = line(**changes)
    assert [word for word in given if word.startswith(("--model", "--system-", "--append-"))] == words


def test_a_key_is_a_variable() -> None:
    assert AGENT.key_variables("k", None) == {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": ""}


def test_what_it_can_do() -> None:
    has = AGENT.capabilities()
    assert (has.seats[0], tuple(has.permissions), has.steer, has.resume) == (DUPLEX, PERMISSIONS, True, True)
    assert set(has.tools.values()) == set(AGENT.tools)


def test_reader_and_talker_know_what_the_session_cost_before() -> None:
    plan = plan_of({"runId": "run00001", "baseline": {"cost": 0.5}})
    for one in (AGENT.reader(plan, RUN_DIR), AGENT.talker(plan, RUN_DIR)):
        assert vars(one)["_cost"] == 0.5
    odd = AGENT.reader(plan_of({"baseline": {"cost": "?"}}), RUN_DIR)
    assert vars(odd)["_cost"] == 0.0
