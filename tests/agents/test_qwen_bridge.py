"""The process between the wrapper and a live Qwen Code: second output and hooks out, prompts in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.bridge_ends import Ends
from tmuxagents.agents.qwen.command import LIVE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROMPT = "--help \u2028 'é' 🎉\nand \"more\"\n" * 1000
STEER = {"order": "say", "inboxId": 1, "kind": "steer", "text": "Look here."}
LATER = {"order": "say", "inboxId": 2, "kind": "followUp", "text": "And then?"}
BEGINS = json.dumps({"hook_event_name": "UserPromptSubmit"})
LINE = {"type": "system"}


def hook(name: str, **fields: Any) -> str:
    """Return the words of one hook for the stand-in."""
    return json.dumps({"hook_event_name": name, **fields})


def says(**line: Any) -> str:
    """Return the word that makes the stand-in write a line to its second output."""
    return f"log:--json-file={json.dumps(line)}"


IDLE = hook("Notification", notification_type="idle_prompt")


@pytest.fixture
def bridge(tmp_path: Path) -> Iterator[Ends]:
    """Return the ends."""
    (tmp_path / "prompt.txt").write_text(PROMPT)
    assert LIVE.bridge is not None
    yield from Ends(tmp_path, LIVE.bridge).used()


def names(bridge: Ends, count: int) -> list[str]:
    """Return the next lines by their kinds."""
    told = [bridge.line() for _ in range(count)]
    return [one.get("hook_event_name") or one["type"] for one in told]


def test_the_task_is_submitted_by_a_file_whole(bridge: Ends) -> None:
    gate = bridge.folder / "gate"
    bridge.start(says(type="system"), f"wait:{gate}", "read")
    assert bridge.line() == LINE
    bridge.order({"order": "task"})
    assert bridge.line() == {"type": "bridge_says", "inboxId": 0, "text": PROMPT}
    gate.touch()
    code, ((line,),) = bridge.end()
    assert (code, json.loads(line)) == (0, {"type": "submit", "text": PROMPT})


def test_it_is_there_when_its_second_output_is(bridge: Ends) -> None:
    gate = bridge.folder / "gate"
    bridge.start(hook("SessionStart"), says(type="system"), f"wait:{gate}", hook("SessionStart"))
    assert names(bridge, 2) == ["system", "SessionStart"]
    gate.touch()
    assert names(bridge, 1) == ["SessionStart"]
    assert bridge.end()[0] == 0


def test_what_failed_is_not_called_idle(bridge: Ends) -> None:
    bridge.start(BEGINS, IDLE, hook("StopFailure"), BEGINS, hook("Stop"), IDLE, hook("SessionEnd"))
    assert names(bridge, 3) == ["StopFailure", "Stop", "SessionEnd"]
    assert bridge.end()[0] == 0


def test_a_turn_that_no_hook_ended_is_over_when_it_is_idle(bridge: Ends) -> None:
    bridge.start(IDLE, BEGINS, IDLE, hook("Notification", notification_type="permission_prompt"), "stay")
    assert bridge.line()["notification_type"] == "idle_prompt"
    bridge.order({"order": "leave", "settlings": 0}, {"order": "leave", "settlings": 1})
    assert bridge.end()[0] == 0


def test_a_message_goes_in_after_a_tool_and_a_follow_up_when_it_rests(bridge: Ends) -> None:
    gates = [bridge.folder / "a", bridge.folder / "b"]
    waits = [f"wait:{gate}" for gate in gates]
    bridge.start(BEGINS, says(type="x"), waits[0], hook("PostToolUse"), hook("Stop"), waits[1], "read")
    assert names(bridge, 1) == ["x"]
    bridge.order(STEER, LATER)
    gates[0].touch()
    assert names(bridge, 3) == ["bridge_taken", "Stop", "bridge_says"]
    gates[1].touch()
    code, (_, taken, stopped, read) = bridge.end()
    assert code == 0
    said = json.loads(taken[1])["hookSpecificOutput"]
    assert said == {"hookEventName": "PostToolUse", "additionalContext": "The user says: Look here."}
    assert (stopped[1], json.loads(read[0])["text"]) == ("", "And then?")


def test_the_settings_of_the_machine_stay(tmp_path: Path) -> None:
    assert LIVE.bridge is not None
    own = {"ui": {"theme": "x"}, "hooks": {"Stop": [{"hooks": []}], "SessionEnd": None, "Other": [1]}}
    (tmp_path / "system-defaults.json").write_text(json.dumps(own))
    where = {"QWEN_CODE_SYSTEM_SETTINGS_PATH": str(tmp_path / "settings.json")}
    for ends in Ends(tmp_path, LIVE.bridge, **where).used():
        ends.start("settings")
        code, (found,) = ends.end()
        assert (code, found["ui"], found["hooks"]["Other"]) == (0, {"theme": "x"}, [1])
        assert (found["hooks"]["Stop"][0], len(found["hooks"]["Stop"])) == ({"hooks": []}, 2)
        assert len(found["hooks"]["SessionEnd"]) == 1


def test_settings_that_cannot_be_kept_are_not_lost(tmp_path: Path) -> None:
    assert LIVE.bridge is not None
    path = tmp_path / "odd.json"
    path.write_text("// words\n{}")
    for ends in Ends(tmp_path, LIVE.bridge, QWEN_CODE_SYSTEM_DEFAULTS_PATH=str(path)).used():
        ends.start("stay")
        assert ends.end()[0] == 1
