"""The process between the wrapper and a live Claude Code: hooks out, messages in."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tmuxagents.agents.claude.live import BRIDGE, HOOK, LIVE
from tmuxagents.runs.directory import LIVE_EVENTS, LIVE_ORDERS
from tmuxagents.runs.documents import plan_of

if TYPE_CHECKING:
    from collections.abc import Iterator

STAND_IN = Path(__file__).with_name("claude_stand_in.py")
STEER = {"order": "say", "inboxId": 1, "kind": "steer", "text": "Look here."}
LATER = {"order": "say", "inboxId": 2, "kind": "followUp", "text": "And then?"}


def hook(name: str, **fields: Any) -> str:
    """Return the words of one hook for the stand-in."""
    return json.dumps({"hook_event_name": name, **fields})


class Ends:
    """The wrapper's ends of both FIFOs, and the bridge with its stand-in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in (LIVE_EVENTS, LIVE_ORDERS):
            os.mkfifo(folder / name)
        self.told = os.open(folder / LIVE_EVENTS, os.O_RDWR)
        self.orders = os.open(folder / LIVE_ORDERS, os.O_RDWR)
        self._rest = b""
        self.process: subprocess.Popen[str] | None = None

    def start(self, *words: str) -> None:
        """Start it."""
        arguments = LIVE.arguments(plan_of({"runId": "01a1ee15069b4c1f"}), str(self.folder))
        (settings,) = [word for word in arguments if word.startswith("--settings=")]
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", BRIDGE, sys.executable, str(STAND_IN), settings, *words],
            env={**os.environ, "TMUXAGENTS_BRIDGE": str(self.folder), "TMPDIR": str(self.folder)},
            stdout=subprocess.PIPE,
            text=True,
        )

    def order(self, *orders: dict[str, Any]) -> None:
        """Give orders."""
        for order in orders:
            os.write(self.orders, json.dumps(order).encode() + b"\n")

    def line(self) -> dict[str, Any]:
        """Return the next line that the wrapper hears."""
        while b"\n" not in self._rest:
            self._rest += os.read(self.told, 4096)
        line, _, self._rest = self._rest.partition(b"\n")
        told = json.loads(line)
        assert isinstance(told, dict)
        return told

    def end(self) -> tuple[int, list[Any]]:
        """Wait for its end; return its exit code, and what the hooks were answered."""
        assert self.process is not None
        out, _ = self.process.communicate(timeout=30)
        assert not list(self.folder.glob("tmuxagents-*"))
        return self.process.returncode, [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def bridge(tmp_path: Path) -> Iterator[Ends]:
    """Return the ends; whatever is left of the process is ended."""
    made = Ends(tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.kill()
        made.process.wait()
    os.close(made.told)
    os.close(made.orders)


def test_what_a_hook_is_given_is_told_as_one_line(bridge: Ends) -> None:
    bridge.start(hook("SessionStart", session_id="s1") + "\n\n", hook("SessionEnd", reason="other"))
    assert bridge.line() == {"hook_event_name": "SessionStart", "session_id": "s1"}
    assert bridge.line() == {"hook_event_name": "SessionEnd", "reason": "other"}
    assert bridge.end() == (0, [["SessionStart", ""], ["SessionEnd", ""]])


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


def test_it_ends_with_the_agent_and_as_the_agent_did(bridge: Ends) -> None:
    bridge.start("{}")  # no such hook
    assert bridge.end()[0] == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_both(bridge: Ends, number: signal.Signals) -> None:
    bridge.start(hook("SessionStart"), "stay")
    bridge.line()
    assert bridge.process is not None
    bridge.process.send_signal(signal.SIGINT)  # a key of the agent's
    bridge.process.send_signal(number)
    assert bridge.end()[0] == 128 + number


def test_a_hook_says_nothing_where_the_bridge_is_gone(tmp_path: Path) -> None:
    for more in ({}, {"TMUXAGENTS_HOOKS": str(tmp_path / "gone")}):
        done = subprocess.run(
            [sys.executable, "-I", "-S", HOOK], input=b"{}", capture_output=True, env=more, check=True
        )
        assert (done.stdout, done.stderr) == (b"", b"")
