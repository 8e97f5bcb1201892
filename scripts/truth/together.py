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

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

Json = dict[str, Any]
BRANDS = ("claude", "codex", "opencode", "pi")
_PATIENCE_S = 90


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
            (self.place.home.project / acts.GATE).touch()
            self.read(shown)
        finally:
            shown.kill()
            shown.communicate()
        self.resume()

    def task(self, name: str) -> Json:
        """Return the task of a brand: it waits for the gate, then says its name, or what it was told."""
        brand = agent_homes.BRANDS[name]
        waits = f"#bash:until [ -e {acts.GATE} ]; do sleep 0.25; done"
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
                raise AssertionError(f"{name} does not work: {acts.run_of(self.desk, run_id)}") from None
        windows = self.desk.windows()
        self.expect(set(windows) == set(self.ids.values()), f"windows {windows}")
        for name, run_id in self.ids.items():
            run = acts.run_of(self.desk, run_id)
            self.expect((run["agent"], run["status"]) == (name, "running"), f"poll of {name}: {run}")
        table = self.desk("poll").stdout
        self.expect(all(name in table for name in BRANDS), f"poll shows {table}")

    def talk(self) -> None:
        """Send a message to each; an agent that takes none is named."""
        for name, run_id in self.ids.items():
            done = self.desk("send", run_id, f"Also: #say:{name} was told.")
            if AGENTS[name].capabilities().steer:
                self.expect(done.returncode == 0, f"send to {name}: {done.stderr.strip()}")
            else:
                self.expect(done.returncode != 0 and bool(done.stderr), f"send to {name} was not refused")

    def read(self, shown: subprocess.Popen[str]) -> None:
        """Wait for all, and read their answers one by one and at once."""
        done = self.desk("wait", *self.ids.values(), "--timeout", str(_PATIENCE_S), timeout=2 * _PATIENCE_S)
        self.expect(done.returncode == 0, f"wait: {done.returncode} {done.stdout}")
        said, _ = shown.communicate(timeout=_PATIENCE_S)
        self.expect(shown.returncode == 0, f"run: {shown.returncode}")
        answers = {}
        for name, run_id in self.ids.items():
            result = self.place.ended(run_id, _PATIENCE_S)
            how = f"{result['status']}/{result['reason']}"
            self.expect(how == COMPLETED, f"{name}: {how}: {result['errorMessage']}")
            told = AGENTS[name].capabilities().steer
            answers[name] = f"{name} was told." if told else f"I am {name}."
            output = self.desk("output", run_id).stdout
            self.expect(answers[name] in output, f"output of {name}: {output[:200]!r}")
            self.expect(not self.place.left_of(run_id), f"left of {name}: {self.place.left_of(run_id)}")
        places = [said.find(answer) for answer in answers.values()]
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

    def expect(self, is_so: bool, else_said: str) -> None:  # noqa: FBT001
        """Note what is wrong."""
        if not is_so:
            self.wrong.append(else_said)
