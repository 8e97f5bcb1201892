"""A parent agent that calls tools by the command `call`; each answer is checked against its schema."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

from tests.harness import eventually
from tests.status.watchers import checked

if TYPE_CHECKING:
    import signal

    from tests.desk import Desk

WORKS = "begin\nanswer toolUse so far\nsleep 60"
FAILS = "begin\nanswer length half\nsettle"
USES_TOOLS = 'begin\ntool bash {"command":"make assets"}\nanswer stop Done.\nsettle'
PRESET = "---\nname: scout\ndescription: Finds its way around\n---\nLook around.\n"
PROFILE = "---\nname: researcher\nmodel: mock/mock-text\ntools: read\n---\nResearch.\n"


class Answer:
    """The output and the exit code of a call."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code = done.returncode
        self.stderr = done.stderr
        *self.progress, self.document = [checked(line, "call") for line in done.stdout.splitlines()]
        self.whole: str = self.document["content"][0]["text"]
        self.details: dict[str, Any] = self.document["details"]
        self.refused: bool = self.document["isError"]
        # The first line of a refusal names the fault. Other faults, a hint and an example follow.
        self.text = re.split(r"\n(?:also|hint|example): ", self.whole)[0] if self.refused else self.whole

    @property
    def error(self) -> dict[str, Any]:
        """The fault for which the call was refused."""
        assert self.refused
        problem: dict[str, Any] = self.details["error"]
        assert (self.code, self.text) == (problem["exit"], problem["message"])
        return problem

    @property
    def faults(self) -> list[tuple[str, str]]:
        """All faults of the call: field and kind."""
        return [(fault["field"], fault["kind"]) for fault in self.error["faults"]]

    @property
    def runs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.details["runs"]
        return found

    @property
    def windows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.details["windows"]
        return found


class Parent:
    """A parent agent at its desk, with one preset and one profile."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.presets = desk.home.agent_dir / "subagents"
        self.profiles = desk.home.agent_dir / "agent-profiles"
        self.preset("scout", PRESET)
        self.profile("researcher", PROFILE)

    def preset(self, name: str, text: str) -> None:
        self.presets.mkdir(exist_ok=True)
        (self.presets / f"{name}.md").write_text(text)

    def profile(self, name: str, text: str) -> None:
        self.profiles.mkdir(exist_ok=True)
        (self.profiles / f"{name}.md").write_text(text)

    def __call__(self, tool: str, /, *options: str, **arguments: Any) -> Answer:
        """Call a tool. Its arguments go by stdin, because they may be long."""
        return Answer(self.desk("call", tool, "-", "--verbose", *options, input=json.dumps(arguments)))

    def brief(self, tool: str, /, **arguments: Any) -> Answer:
        """Call a tool as a parent does that reads only the text and brief details."""
        return Answer(self.desk("call", tool, "-", input=json.dumps(arguments)))

    def raw(self, tool: str, text: str, **more: Any) -> Answer:
        return Answer(self.desk("call", tool, text, **more))

    def delegate(self, *tasks: dict[str, Any], options: tuple[str, ...] = (), **more: Any) -> Answer:
        return self("delegate_to_subagents", *options, tasks=list(tasks), **more)

    def start(self, tool: str, *options: str, **arguments: Any) -> subprocess.Popen[str]:
        """Start a call, and return at once."""
        return self.desk.start("call", tool, json.dumps(arguments), *options)

    def cancel(self, call: subprocess.Popen[str], number: signal.Signals, *founded: str) -> Answer:
        """Cancel a call once these children work; return its answer."""
        eventually(lambda: set(founded) <= set(self.desk.home.recorded()))
        call.send_signal(number)
        out, err = call.communicate(timeout=60)
        return Answer(subprocess.CompletedProcess([], call.returncode, out, err))

    def meta(self, run_id: str) -> dict[str, Any]:
        plan: dict[str, Any] = json.loads((self.desk.folder(run_id) / "meta.json").read_text())
        return plan
