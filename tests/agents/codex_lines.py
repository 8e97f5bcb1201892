"""Play recordings of Codex: `codex exec`, and the app server with the lines of its recorded client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tmuxagents.agents.base import LineSplitter
from tmuxagents.agents.codex.app_server import AppServer
from tmuxagents.agents.codex.command import AGENT
from tmuxagents.records import Exit
from tmuxagents.runs import endings, events, lifecycle
from tmuxagents.runs.documents import plan_of
from tmuxagents.runs.events import FOLLOW_UP, STEER, STOP, InboxMessage
from tmuxagents.runs.lifecycle import RunState

if TYPE_CHECKING:
    from tmuxagents.agents.base import Reading
    from tmuxagents.records import Plan, Verdict
    from tmuxagents.runs.events import Event

SAMPLES = Path(__file__).parents[1] / "data" / "agents" / "codex"
SIGNALS = {-15: "SIGTERM", -9: "SIGKILL"}
RUN_DIR = "/state/runs/01a1ee15069b4c1f"
PROJECT = "/home/dev/project"
KINDS = {"turn/start": FOLLOW_UP, "turn/steer": STEER, "turn/interrupt": STOP}


def plan(**changes: Any) -> Plan:
    return plan_of({"agent": "codex", "cwd": PROJECT, "tools": [], **changes})


def meta(name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((SAMPLES / f"{name}.meta.json").read_text("utf-8"))
    return told


def recorded(name: str) -> list[bytes]:
    return (SAMPLES / f"{name}.jsonl").read_bytes().splitlines(keepends=True)


def client_of(name: str) -> list[dict[str, Any]]:
    """Return what the recorded client said."""
    lines = (SAMPLES / f"{name}.in.jsonl").read_text("utf-8").splitlines()
    return [said["msg"] for line in lines if "msg" in (said := json.loads(line))]


class Played:
    """The events of a stream, and the state that the wrapper would hold."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader
        self.state = RunState()
        self.events: list[Event] = []
        self.said: list[dict[str, Any]] = []
        self._splitter = LineSplitter()
        self.take([events.run_started({})])

    def take(self, told: Any) -> None:
        for event in told:
            self.events.append(event)
            lifecycle.apply(self.state, event)
        self.state.error_message = self.reader.error_message
        self.state.model = self.reader.model or self.state.model

    def feed(self, piece: bytes) -> None:
        for line in self._splitter.feed(piece):
            read = self.reader.feed if isinstance(line, bytes) else self.reader.feed_oversized
            self.heard(read(line, 1.0))

    def overhear(self, name: str) -> None:
        """Read the stderr of a recording."""
        for line in (SAMPLES / f"{name}.stderr").read_bytes().splitlines():
            self.take(self.reader.overheard(line))

    def heard(self, reading: Reading) -> None:
        self.take(reading.events)
        self.speak(reading.reply)

    def speak(self, words: bytes | None) -> None:
        self.said += [json.loads(line) for line in (words or b"").splitlines()]

    def verdict(self, code: int | None = 0, signal: str | None = None) -> Verdict:
        for line in self._splitter.flush():
            self.take(self.reader.feed(line, 1.0).events)
        self.take(self.reader.ended(code))
        self.take([events.child_exited(code, signal)])
        counts = self.reader.exit_counts
        return endings.verdict(self.state, Exit(code, signal), cause=None, lingered=False, exit_counts=counts)

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [event.fields for event in self.events if event.type == kind]

    @property
    def tools(self) -> list[tuple[str, str]]:
        return [(call["callId"], call["toolName"]) for call in self.all("tool_call")]

    @property
    def results(self) -> dict[str, bool]:
        return {result["callId"]: result["isError"] for result in self.all("tool_result")}


def exited(name: str) -> tuple[int | None, str | None]:
    code = meta(name)["exit"]
    return (None, SIGNALS[code]) if code < 0 else (code, None)


def played(name: str) -> Played:
    """Read a recording of `codex exec`, up to its exit."""
    first = meta(name).get("first", {}).get("served")
    used = first and {"input": first["uncached"], "cacheRead": first["cached"], "output": first["output"]}
    read = Played(AGENT.reader(plan(baseline=used), RUN_DIR))
    for line in recorded(name):
        read.feed(line)
    read.overhear(name)
    return read


def served(name: str) -> dict[str, int]:
    """Return what the model charged for a recording, in our words."""
    told = meta(name)["verdict"]["usage"]["served"]
    return {"input": told["uncached"], "cacheRead": told["cached"], "output": told["output"]}


def talker(**changes: Any) -> AppServer:
    made = AGENT.talker(plan(**changes), RUN_DIR)
    assert isinstance(made, AppServer)
    return made


def talked(name: str, **changes: Any) -> Played:
    """Play a recording of the app server, with the recorded client's lines at their times."""
    client = client_of(name)
    read = Played(talker(**changes))
    later = [said for said in client if said.get("method") in KINDS][1:]
    answers = {said["id"]: said["result"]["decision"] for said in client if "result" in said}
    read.speak(read.reader.begin(text_of(next(s for s in client if s.get("method") == "turn/start"))))
    for line in recorded(name):
        raw = json.loads(line)
        while later and raw.get("id") == later[0]["id"] and "method" not in raw:
            said = later.pop(0)
            kind = KINDS[said["method"]]
            text = None if kind == STOP else text_of(said)
            read.speak(read.reader.say(InboxMessage(said["id"], kind, text)))
        if raw.get("method") == "serverRequest/resolved" and read.reader.asks:
            number = raw["params"]["requestId"]
            word = {"accept": "allow", "decline": "deny"}[answers[number]]
            read.heard(read.reader.answer(str(number), word, "alice"))
        read.feed(line)
    read.overhear(name)
    return read


def text_of(said: dict[str, Any]) -> str:
    text: str = said["params"]["input"][0]["text"]
    return text
