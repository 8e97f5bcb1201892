"""Codex: its command lines, the parameters of its sessions, and its items in our words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.codex_lines import PROJECT, RUN_DIR, client_of, plan, played, talked
from tmuxagents.agents import AGENTS
from tmuxagents.agents.codex.command import AGENT, has_app_server
from tmuxagents.agents.codex.items import unwrapped
from tmuxagents.errors import BadRequest, Unusable

if TYPE_CHECKING:
    from pathlib import Path

EXEC = ["exec", "--json", "--skip-git-repo-check"]
OLD = {"agentVersion": "0.98.0"}


@pytest.mark.parametrize(
    ("version", "serves"),
    [("0.169.0", True), ("0.120.0", True), (None, True), ("dev", True), ("0.119.9", False), ("1.0.0", True)],
)
def test_the_seat_is_chosen_by_the_version(version: str | None, *, serves: bool) -> None:
    made = plan(agentVersion=version)
    assert has_app_server(version) == serves
    assert AGENT.arguments(made, RUN_DIR)[0] == ("app-server" if serves else "exec")
    assert (AGENT.talker(made, RUN_DIR) is not None) == serves


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({}, ["-s", "workspace-write", "-"]),
        ({"permission": "read-only"}, ["-s", "read-only", "-"]),
        ({"permission": "full"}, ["--dangerously-bypass-approvals-and-sandbox", "-"]),
        ({"resolvedModel": "gpt-5.5"}, ["-s", "workspace-write", "-m", "gpt-5.5", "-"]),
        ({"resolvedModel": "gpt-5.5", "modelSource": "agent"}, ["-s", "workspace-write", "-"]),
        ({"childSession": "01a1"}, ["-s", "workspace-write", "resume", "01a1", "-"]),  # flags before it
        (
            {"presetKind": "profile", "systemPromptPath": 'a"\\b.md'},
            ["-s", "workspace-write", "-c", f'model_instructions_file="{RUN_DIR}/a\\"\\\\b.md"', "-"],
        ),
    ],
)
def test_the_command_line_of_an_old_codex(changes: dict[str, Any], more: list[str]) -> None:
    assert AGENT.arguments(plan(**OLD, **changes), RUN_DIR) == [*EXEC, *more]


@pytest.mark.parametrize(
    "changes", [{"permission": "ask"}, {"appendSystemPromptPath": "a.md"}, {"systemPromptPath": "a.md"}]
)
def test_an_old_codex_is_not_asked_for_what_it_cannot(changes: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match=r"Codex 0\.98\.0 cannot"):
        AGENT.arguments(plan(**OLD, **changes), RUN_DIR)


def opened(folder: str = RUN_DIR, **changes: Any) -> dict[str, Any]:
    """Return the parameters of the session that a plan asks for."""
    talker: Any = AGENT.talker(plan(**changes), folder)
    talker.begin("Do it.")
    reply = talker.feed(b'{"id":1,"result":{}}', 1.0).reply
    said: dict[str, Any] = json.loads(reply.splitlines()[1])
    return said


@pytest.mark.parametrize(
    ("permission", "sandbox", "approvals"),
    [
        (None, "workspace-write", "never"),
        ("read-only", "read-only", "never"),
        ("edit", "workspace-write", "never"),
        ("full", "danger-full-access", "never"),
        ("ask", "workspace-write", "untrusted"),
    ],
)
def test_permission_is_sandbox_and_approvals(permission: str | None, sandbox: str, approvals: str) -> None:
    assert opened(permission=permission)["params"] == {
        "cwd": PROJECT,
        "sandbox": sandbox,
        "approvalPolicy": approvals,
    }


def test_a_session_that_goes_on_has_its_id_and_the_same_settings() -> None:
    said = opened(childSession="01a1", permission="full", resolvedModel="gpt-5.5")
    assert (said["method"], said["params"]) == (
        "thread/resume",
        {
            "threadId": "01a1",
            "cwd": PROJECT,
            "sandbox": "danger-full-access",
            "approvalPolicy": "never",
            "model": "gpt-5.5",
            "excludeTurns": True,
        },
    )


def test_texts_of_a_preset_go_into_the_request_and_never_onto_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "system-prompt.md").write_text("SECRET one")
    (tmp_path / "append-system-prompt.md").write_text("SECRET two")
    paths = {"systemPromptPath": "system-prompt.md", "appendSystemPromptPath": "append-system-prompt.md"}
    as_preset = opened(str(tmp_path), presetKind="preset", **paths)["params"]
    assert as_preset["developerInstructions"] == "SECRET one\n\nSECRET two"
    assert "baseInstructions" not in as_preset
    as_profile = opened(str(tmp_path), presetKind="profile", **paths)["params"]
    assert (as_profile["baseInstructions"], as_profile["developerInstructions"]) == (
        "SECRET one",
        "SECRET two",
    )
    assert AGENT.arguments(plan(**paths, task="SECRET"), str(tmp_path)) == ["app-server"]


def test_no_child_starts_without_a_text_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="cannot be read"):
        AGENT.talker(plan(systemPromptPath="gone.md"), str(tmp_path))


def test_what_it_can_do_is_data() -> None:
    can = AGENTS["codex"].capabilities()
    assert (can.default_permission, list(can.permissions)) == ("edit", ["read-only", "edit", "full", "ask"])
    assert (can.tools, can.lists_models, can.cost) == ({}, False, "none")
    assert AGENT.questions().version(b"codex-cli 0.169.0\n") == "0.169.0"
    assert AGENT.live() is not None


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("/bin/bash -lc 'cat hello.txt'", "cat hello.txt"),
        ("/bin/bash -lc ls", "ls"),
        ("bash -c \"python3 -c 'import time'\"", "python3 -c 'import time'"),
        ('/bin/zsh -lc "echo \\"a\\" \\$HOME"', 'echo "a" $HOME'),
        ("/bin/bash -lc 'it'\"'\"'s'", "it's"),
        ("/bin/sh -c 'a' b", "/bin/sh -c 'a' b"),  # more than a script
        ("/bin/sh -c 'a", "/bin/sh -c 'a"),
        ("env A=1 bash -lc 'x'", "env A=1 bash -lc 'x'"),
        ("git -c 'a.b=c' status", "git -c 'a.b=c' status"),
        ("ls", "ls"),
    ],
)
def test_a_command_is_shown_as_the_model_wrote_it(command: str, script: str) -> None:
    assert unwrapped(command) == script


def test_calls_of_both_seats_have_our_words() -> None:
    args = [call["args"] for call in played("tools").all("tool_call")]
    assert args[0] == {"command": "cat hello.txt"}
    assert args[2] == {"path": f"{PROJECT}/hello.txt"}
    served = [call["args"] for call in talked("appserver_allow", permission="ask").all("tool_call")]
    assert served[:2] == args[:2]
    edits = [{"oldText": "hello world\n", "newText": "hello tmux\n"}]
    assert served[2] == {"path": f"{PROJECT}/hello.txt", "edits": edits}


def test_the_recorded_client_said_what_we_say() -> None:
    told = talked("appserver_turns", permission="full")
    theirs = client_of("appserver_turns")
    assert [(said.get("method"), said.get("id")) for said in told.said] == [
        (said.get("method"), said.get("id")) for said in theirs
    ]
    assert told.said[2:] == theirs[2:]
