"""The process between the wrapper and a live Claude Code: hooks out, messages in."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.bridge_ends import Ends
from tests.harness import REPOSITORY
from tmuxagents.agents.brand import HOOK
from tmuxagents.agents.claude.command import BRIDGE, LIVE
from tmuxagents.runs.directory import LIVE_FILES
from tmuxagents.runs.documents import plan_of

if TYPE_CHECKING:
    from collections.abc import Iterator

STEER = {"order": "say", "inboxId": 1, "kind": "steer", "text": "Look here."}
LATER = {"order": "say", "inboxId": 2, "kind": "followUp", "text": "And then?"}


def hook(name: str, **fields: Any) -> str:
    """Return the words of one hook for the stand-in."""
    return json.dumps({"hook_event_name": name, **fields})


@pytest.fixture
def bridge(tmp_path: Path) -> Iterator[Ends]:
    """Return the ends."""
    arguments = LIVE.arguments(plan_of({"runId": "01a1ee15069b4c1f"}), str(tmp_path))
    (settings,) = [word for word in arguments if word.startswith("--settings=")]
    yield from Ends(tmp_path, BRIDGE, settings).used()


@pytest.mark.parametrize("brand", ["claude", "copilot", "qwen"])
def test_every_live_child_pays_for_its_bridge_so_it_loads_no_dear_module(brand: str) -> None:
    steps = f"import sys; sys.path.append({str(REPOSITORY)!r}); import tmuxagents.agents.{brand}.bridge"
    argv = [sys.executable, "-I", "-S", "-c", f"{steps}; print(*sys.modules)"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert not {"typing", "pathlib", "dataclasses", "tempfile", "asyncio"} & {*said.split()}


def test_what_a_hook_is_given_is_told_as_one_line(bridge: Ends) -> None:
    bridge.start(hook("SessionStart", session_id="s1") + "\n\n", hook("SessionEnd", reason="other"))
    assert bridge.line() == {"hook_event_name": "SessionStart", "session_id": "s1"}
    assert bridge.line() == {"hook_event_name": "SessionEnd", "reason": "other"}
    assert bridge.end() == (0, [["SessionStart", ""], ["SessionEnd", ""]])


def test_a_call_that_is_nested_too_deeply_ends_neither_the_bridge_nor_the_child(bridge: Ends) -> None:
    deep = hook("PreToolUse", tool_input=[]).replace("[]", "[" * 5000 + "]" * 5000)
    bridge.start(hook("SessionStart"), deep, hook("Stop"))
    assert [bridge.line()["hook_event_name"] for _ in range(2)] == ["SessionStart", "Stop"]
    assert bridge.end() == (0, [["SessionStart", ""], ["PreToolUse", ""], ["Stop", ""]])


def test_a_long_path_of_a_run_is_none_too_many_for_a_socket(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["d" * 60] * 3)
    folder.mkdir(parents=True)
    arguments = LIVE.arguments(plan_of({"runId": "01a1ee15069b4c1f"}), str(folder))
    (settings,) = [word for word in arguments if word.startswith("--settings=")]
    for ends in Ends(folder, BRIDGE, settings).used():
        ends.start(hook("SessionStart", session_id="s1"))
        assert ends.line()["session_id"] == "s1"
        assert ends.end() == (0, [["SessionStart", ""]])


def test_what_calls_used_comes_out_of_the_transcript(bridge: Ends) -> None:
    transcript = bridge.folder / "transcript.jsonl"
    transcript.write_text('{"type":"assistant","usage":{}}\n')  # of an earlier run
    lines = [{"type": "user"}, {"type": "assistant"}, {"type": "assistant", "usage": {"a": 1}}]
    logs = [f"log:{transcript}={json.dumps(line, separators=(',', ':'))}" for line in lines]
    bridge.start(hook("SessionStart", transcript_path=str(transcript)), *logs, hook("Stop"))
    assert bridge.line()["hook_event_name"] == "SessionStart"
    assert bridge.line() == lines[2]
    assert bridge.line()["hook_event_name"] == "Stop"
    assert bridge.end()[0] == 0


def test_calls_of_a_session_that_a_person_begins_later_are_counted_too(bridge: Ends) -> None:
    lines = [{"type": "assistant", "usage": {"a": number}} for number in range(3)]
    paths = [bridge.folder / name for name in ("one.jsonl", "two.jsonl")]
    logs = [json.dumps(line, separators=(",", ":")) for line in lines]
    starts = [hook("SessionStart", transcript_path=str(path)) for path in paths]
    asks = hook("Stop", transcript_path=str(paths[1]))
    words = [starts[0], f"log:{paths[0]}={logs[0]}", starts[0], f"log:{paths[0]}={logs[1]}", starts[1]]
    bridge.start(*words, f"log:{paths[1]}={logs[2]}", asks)
    told = [bridge.line() for _ in range(7)]
    assert [one for one in told if "usage" in one] == lines
    assert bridge.end()[0] == 0


def test_a_message_goes_in_after_a_tool_and_a_follow_up_when_it_would_stop(bridge: Ends) -> None:
    gate = bridge.folder / "gate"
    begins = hook("UserPromptSubmit", prompt="go")
    bridge.start(begins, f"wait:{gate}", hook("PreToolUse"), hook("PostToolUse"), hook("Stop"), hook("Stop"))
    assert bridge.line()["hook_event_name"] == "UserPromptSubmit"
    bridge.order(STEER, LATER)
    gate.touch()
    told = [bridge.line() for _ in range(6)]
    names = [one.get("hook_event_name") or one["inboxId"] for one in told]
    assert names == ["PreToolUse", "PostToolUse", 1, "Stop", 2, "Stop"]
    code, answers = bridge.end()
    assert code == 0
    said = {name: json.loads(text) for name, text in answers[2:4]}
    assert said["PostToolUse"]["hookSpecificOutput"]["additionalContext"] == "The user says: Look here."
    assert said["Stop"] == {"decision": "block", "reason": "And then?"}
    assert answers[4] == ["Stop", ""]


def test_it_leaves_when_nothing_has_happened_since_it_settled(bridge: Ends) -> None:
    bridge.start(hook("UserPromptSubmit", prompt="go"), hook("Stop"), "stay")
    assert [bridge.line()["hook_event_name"] for _ in range(2)] == ["UserPromptSubmit", "Stop"]
    bridge.order({"order": "leave", "settlings": 0}, STEER, {"order": "leave", "settlings": 1})
    assert bridge.end()[0] == 0


def call(name: str, number: int, tool: str = "Edit") -> str:
    """Return the words of a hook about a call."""
    return hook(name, tool_use_id=f"c{number}", tool_name=tool, tool_input={"file_path": "/a"})


def test_a_question_waits_for_an_answer_from_elsewhere(bridge: Ends) -> None:
    asks = call("PermissionRequest", 1)
    bridge.start(call("PreToolUse", 1), asks, asks, hook("Stop"))
    bridge.line()
    allowed = {"order": "answer", "ask": "1", "answer": "allow", "by": "a person"}
    denied = {"order": "answer", "ask": "2", "answer": "Not there.", "by": "parent p"}
    for order in (allowed, denied):
        assert (bridge.line()["ask"], bridge.process and bridge.process.poll()) == (order["ask"], None)
        bridge.order({**order, "ask": "9"}, order, order)
        told = bridge.line()
        assert told.pop("type") == "bridge_answer"
        assert {"order": "answer", **told} == order
    code, answers = bridge.end()
    decisions = [json.loads(text)["hookSpecificOutput"]["decision"] for _, text in answers[1:3]]
    assert (code, decisions) == (
        0,
        [
            {"behavior": "allow", "updatedInput": {"file_path": "/a"}},
            {"behavior": "deny", "message": "Not there."},
        ],
    )


def test_a_question_is_closed_by_what_a_person_does_on_the_screen(bridge: Ends) -> None:
    asks = "asks:" + call("PermissionRequest", 2)
    first = bridge.folder / "first"
    bridge.start(
        *(call("PreToolUse", 1, "Read"), call("PreToolUse", 2), asks, f"wait:{first}"),
        *(call("PostToolUse", 1, "Read"), call("PostToolUse", 2)),  # the second is what was asked about
        *(asks, f"wait:{first}2", "refuse", f"wait:{first}3", asks, f"wait:{first}4", hook("Stop")),
    )
    names = [bridge.line().get("hook_event_name") for _ in range(3)]
    assert names == ["PreToolUse", "PreToolUse", "PermissionRequest"]
    first.touch()
    told = [bridge.line() for _ in range(4)]
    assert [one.get("tool_use_id") or one["ask"] for one in told[:3]] == ["c1", "c2", "1"]
    assert (told[2]["type"], told[3]["ask"]) == ("bridge_closed", "2")
    Path(f"{first}2").touch()
    assert bridge.line() == {"type": "bridge_closed", "ask": "2"}
    Path(f"{first}3").touch()
    assert bridge.line()["ask"] == "3"
    Path(f"{first}4").touch()
    assert bridge.line()["hook_event_name"] == "Stop"
    assert bridge.line() == {"type": "bridge_closed", "ask": "3"}
    code, answers = bridge.end()
    assert (code, [text for name, text in answers if name == "late"]) == (0, ["", ""])


def test_it_ends_with_the_agent_and_as_the_agent_did(bridge: Ends) -> None:
    bridge.start("{}")  # no such hook
    assert bridge.end()[0] == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_both(bridge: Ends, number: signal.Signals) -> None:
    bridge.start(hook("SessionStart"), "stay")
    bridge.line()
    assert stat.S_IMODE((bridge.folder / LIVE_FILES).stat().st_mode) == 0o700
    assert bridge.process is not None
    bridge.process.send_signal(signal.SIGINT)  # a key of the agent's
    bridge.process.send_signal(number)
    assert bridge.end()[0] == 128 + number


def test_a_hook_says_nothing_where_the_bridge_is_gone(tmp_path: Path) -> None:
    for more in ({}, {"TMUXAGENTS_HOOKS": str(tmp_path / "gone")}):
        done = subprocess.run(
            [sys.executable, "-I", "-S", HOOK],
            input=b"{}",
            capture_output=True,
            env=more,
            check=True,
        )
        assert (done.stdout, done.stderr) == (b"", b"")
