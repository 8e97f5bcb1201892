"""The process between the wrapper and a live Copilot CLI: its log out, task and messages in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.bridge_ends import Ends
from tmuxagents.agents.copilot.command import LIVE, TASK

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SESSION = "0cb916db-26aa-40f2-86b5-1ba81b225fd2"
PROMPT = "--help 'é' 🎉\nand \"more\"\n" * 1000
STEER = {"order": "say", "inboxId": 1, "kind": "steer", "text": "Look here."}
LATER = {"order": "say", "inboxId": 2, "kind": "followUp", "text": "And then?"}
STOPPED: dict[str, Any] = {"type": "hook.end", "data": {"hookType": "agentStop"}}


def hook(name: str, **fields: Any) -> str:
    """Return the words of one hook for the stand-in."""
    return json.dumps({"hook_event_name": name, **fields})


@pytest.fixture
def bridge(tmp_path: Path) -> Iterator[Ends]:
    """Return the ends."""
    (tmp_path / "prompt.txt").write_text(PROMPT)
    assert LIVE.bridge is not None
    home = {"COPILOT_HOME": str(tmp_path / "home")}
    yield from Ends(tmp_path, LIVE.bridge, f"--session-id={SESSION}", **home).used()


def logs(bridge: Ends, line: dict[str, Any]) -> str:
    """Return the word that makes the stand-in log a line."""
    path = bridge.folder / "home" / "session-state" / SESSION / "events.jsonl"
    return f"log:{path}={json.dumps(line, separators=(',', ':'))}"


def test_a_hook_gives_the_task_once_and_whole(bridge: Ends) -> None:
    asks = hook("userPromptSubmitted", prompt=TASK)
    bridge.start(asks, asks, hook("userPromptSubmitted", prompt="mine"))
    code, answers = bridge.end()
    assert (code, bridge.line()) == (0, {"type": "bridge_session", "session": SESSION})
    assert bridge.line() == {"type": "bridge_prompted"}  # once
    assert json.loads(answers[0][1]) == {"modifiedPrompt": PROMPT}
    assert [text for _, text in answers[1:]] == ["", ""]


def test_the_log_is_told_without_its_past_and_its_system_prompt(bridge: Ends) -> None:
    past = bridge.folder / "home" / "session-state" / SESSION
    past.mkdir(parents=True)
    (past / "events.jsonl").write_text('{"type":"assistant.message"}\n')
    lines = [{"type": "user.message"}, {"type": "system.message"}, {"type": "abort"}]
    bridge.start(*(logs(bridge, line) for line in lines))
    assert bridge.end()[0] == 0
    assert [bridge.line()["type"] for _ in range(3)] == ["bridge_session", "user.message", "abort"]


def test_a_message_goes_in_after_a_tool_and_a_follow_up_when_it_would_stop(bridge: Ends) -> None:
    gate = bridge.folder / "gate"
    begun = {"type": "assistant.turn_start"}
    bridge.start(
        logs(bridge, begun), f"wait:{gate}", hook("postToolUse"), hook("agentStop"), hook("agentStop")
    )
    assert [bridge.line()["type"] for _ in range(2)] == ["bridge_session", "assistant.turn_start"]
    bridge.order(STEER, LATER)
    gate.touch()
    assert [bridge.line()["inboxId"] for _ in range(2)] == [1, 2]
    code, answers = bridge.end()
    assert code == 0
    assert [json.loads(text or "{}") for _, text in answers] == [
        {"additionalContext": "Look here."},
        {"decision": "block", "reason": "And then?"},
        {},
    ]


def test_it_leaves_when_nothing_has_happened_since_it_settled(bridge: Ends) -> None:
    bridge.start(hook("userPromptSubmitted", prompt=TASK), hook("agentStop"), logs(bridge, STOPPED), "stay")
    assert [bridge.line()["type"] for _ in range(3)] == ["bridge_session", "bridge_prompted", "hook.end"]
    bridge.order({"order": "leave", "settlings": 0}, STEER, {"order": "leave", "settlings": 1})
    assert bridge.end()[0] == 0


@pytest.mark.parametrize("words", [("--resume", SESSION), (f"--resume={SESSION}",), ()])
def test_the_session_is_that_of_the_command_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert LIVE.bridge is not None
    for ends in Ends(tmp_path, LIVE.bridge, *words, HOME=str(tmp_path)).used():
        ends.start(hook("sessionEnd"))
        assert ends.line()["session"] == (SESSION if words else "")
        assert ends.end()[0] == 0
