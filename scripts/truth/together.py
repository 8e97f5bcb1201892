"""The round of several brands at once: one tasks file, and every verb as if they were one brand."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from scripts import agent_homes
from scripts.truth import acts
from scripts.truth.cell import MORE
from scripts.truth.endings import COMPLETED, HELLO
from scripts.truth.place import SECRETS, TASK, Place, opened
from tests.harness import eventually
from tmuxagents.agents import AGENTS
from tmuxagents.runs import logs

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

Json = dict[str, Any]
BRANDS = ("claude", "codex", "opencode", "pi")
_PATIENCE_S = 90
_WAITS = 12  # Codex gives a command 10 s, and then asks its model again


def tried(programs: Path) -> Json:
    """Do the round; return what was wrong, with the day."""
    wrong: list[str] = []
    began = time.monotonic()
    with opened(programs, BRANDS, SECRETS, wrong) as place:
        place.furnish()
        Round(place, wrong).carry_out()
    versions = [f"{name} {agent_homes.version(name)}" for name in BRANDS]
    seconds = round(time.monotonic() - began, 1)
    return {"brands": versions, "at": time.strftime("%Y-%m-%d"), "seconds": seconds, "wrong": wrong}


def line(said: Json) -> str:
    """Return a round as text, and what is wrong below it."""
    head = (
        f"together: {', '.join(said['brands'])}: {'WRONG' if said['wrong'] else 'right'} {said['seconds']} s"
    )
    return "\n".join([head, *(f"    {one}" for one in said["wrong"])])


def takes_messages(name: str) -> bool:
    """Say whether a brand takes messages in a batch run."""
    return AGENTS[name].capabilities().steer


def told(name: str) -> str:
    """Return what a brand is sent."""
    return f"{name} was told."


class Round:
    """The round at one place."""

    def __init__(self, place: Place, wrong: list[str]) -> None:
        self.place, self.desk, self.wrong = place, place.desk, wrong
        self.ids: dict[str, str] = {}  # brand: its run

    def carry_out(self) -> None:
        """Launch all, look, talk, let them go on, read, resume."""
        tasks = self.place.home.project / "tasks.json"
        tasks.write_text(json.dumps({"tasks": [self.task(name) for name in BRANDS]}))
        shown = self.desk.start("run", "--tasks", str(tasks))
        try:
            self.find_runs()
            self.talk()
            self.read(shown)
        finally:
            shown.kill()
            shown.communicate()
        self.resume()

    def task(self, name: str) -> Json:
        """Return the task of a brand: it waits for the gate, then says its name, or what it was told."""
        brand = agent_homes.BRANDS[name]
        wait = f"#bash:until [ -e {acts.GATE} ]; do sleep 0.25; done"
        waits = "\n".join(f"{wait}; : {number}" for number in range(_WAITS))
        more = {"permission": "full"} if brand.levels else {}
        task = f"{TASK}\n{waits}\n#say:I am {name}."
        return {"task": task, "name": name, "agent": name, "model": brand.model, "timeout": 120, **more}

    def find_runs(self) -> None:
        """Wait until each works in a window of its own."""

        def listed() -> bool:
            runs = json.loads(self.desk("poll", "--json").stdout)["runs"]
            self.ids = {run["name"]: run["runId"] for run in runs}
            return set(self.ids) == set(BRANDS)

        eventually(listed, _PATIENCE_S)
        for name, run_id in self.ids.items():
            try:
                acts.wait_for_tool(run_id, "sleep", "0.25")
            except AssertionError:
                raise AssertionError(f"{name} does not wait at the gate") from None
        windows = self.desk.windows()
        self.expect(set(windows) == set(self.ids.values()), f"windows {windows}")
        for name, run_id in self.ids.items():
            run = acts.run_of(self.desk, run_id)
            self.expect((run["agent"], run["status"]) == (name, "running"), f"poll of {name}: {run}")
        table = self.desk("poll").stdout
        self.expect(all(name in table for name in BRANDS), f"poll shows {table}")

    def talk(self) -> None:
        """Send a message to each; an agent that takes none is named."""
        sent = {
            name: self.desk.start("send", run_id, f"Also: #say:{told(name)}")
            for name, run_id in self.ids.items()
        }
        for name, run_id in self.ids.items():
            if takes_messages(name):  # between two of its steps, so the first has to end
                eventually((self.desk.folder(run_id) / logs.INBOX).exists, _PATIENCE_S)
        (self.place.home.project / acts.GATE).touch()
        for name, send in sent.items():
            _, words = send.communicate(timeout=_PATIENCE_S)
            is_so = (send.returncode == 0) if takes_messages(name) else (send.returncode != 0 and bool(words))
            self.expect(is_so, f"send to {name}: {send.returncode} {words.strip()}")

    def read(self, shown: subprocess.Popen[str]) -> None:
        """Wait for all, and read their answers one by one and at once."""
        done = self.desk("wait", *self.ids.values(), "--timeout", str(_PATIENCE_S), timeout=2 * _PATIENCE_S)
        self.expect(done.returncode == 0, f"wait: {done.returncode} {done.stdout}")
        said, _ = shown.communicate(timeout=_PATIENCE_S)
        self.expect(shown.returncode == 0, f"run: {shown.returncode}")
        for name, run_id in self.ids.items():
            result = self.place.ended(run_id, _PATIENCE_S)
            how = f"{result['status']}/{result['reason']}"
            self.expect(how == COMPLETED, f"{name}: {how}: {result['errorMessage']}")
            output = self.desk("output", run_id).stdout
            self.expect(
                output.strip() in (told(name), f"I am {name}."), f"output of {name}: {output[:200]!r}"
            )
            self.expect(output.strip() in said, f"run shows {said[:600]!r}")
            heard = any(told(name) in json.dumps(one["messages"]) for one in self.place.log(0))
            self.expect(heard == takes_messages(name), f"the model of {name} heard the message: {heard}")
            self.expect(not self.place.left_of(run_id), f"left of {name}: {self.place.left_of(run_id)}")
        places = [said.find(f"] {name}: completed") for name in BRANDS]
        self.expect(-1 not in places and places == sorted(places), f"run shows {said[:600]!r}")

    def resume(self) -> None:
        """Go on with each."""
        again = {}
        for name, run_id in self.ids.items():
            self.place.seen = len(self.place.log(0))
            model = agent_homes.BRANDS[name].model
            done = self.desk("resume", run_id, MORE, "-m", model, "--timeout", "60")
            self.expect(done.returncode == 0 and "replaying" not in done.stderr, f"resume: {done.stderr}")
            again[name] = done.stdout.strip()
            after = self.place.ended(again[name], 60)
            how = f"{after['status']}/{after['reason']}"
            self.expect(
                (how, after["output"]) == (COMPLETED, HELLO), f"{name} resumed: {how}: {after['output']}"
            )
            talk = json.dumps([one["messages"] for one in self.place.requests()])
            self.expect(TASK in talk, f"{name} resumed does not know the first prompt")

    def expect(self, is_so: bool, else_said: str) -> None:  # noqa: FBT001  (it reads as a sentence)
        """Note what is wrong."""
        if not is_so:
            self.wrong.append(else_said)
