"""One cell: one run of one brand with one ending, in a home and on a model of its own, and a run after it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts import agent_homes, model_turns
from scripts.model_server import BUILT_IN_SCRIPTS
from scripts.truth import acts, claims, endings
from tests.desk import Desk
from tests.harness import PATH, Home, ModelServer, eventually
from tmuxagents.runs import directory

if TYPE_CHECKING:
    from scripts.truth.endings import Ending

Json = dict[str, Any]
SCRIPTS: Json = json.loads(BUILT_IN_SCRIPTS.read_text(encoding="utf-8"))
MORE = "Go on. #script:text"


@dataclass
class Cell:
    """What came of one brand and one ending."""

    brand: str
    ending: Ending
    ours: str = "no result"
    claim: str = "none"
    exit: str = ""
    resumed: str = ""
    seconds: float = 0.0
    version: str = ""
    at: str = ""
    wrong: list[str] = field(default_factory=list)

    @property
    def is_untold(self) -> bool:
        """Say whether the stream of this brand cannot tell this ending."""
        return self.ending.name in endings.UNTOLD.get(self.brand, ())


def tried(brand: str, ending: Ending, programs: Path) -> Cell:
    """Provoke an ending; return what came of it, also if that was a fault of this script."""
    today, began = time.strftime("%Y-%m-%d"), time.monotonic()
    cell = Cell(brand, ending, version=agent_homes.version(brand), at=today)
    folder = Path(tempfile.mkdtemp(prefix="truth-"))
    (folder / "model").mkdir()
    try:
        with ModelServer(folder / "model") as server:
            place = Place(cell, folder, server, programs)
            try:
                place.try_out()
            finally:
                place.leave()
    except Exception as error:  # noqa: BLE001  (a cell that cannot be tried is a wrong one)
        cell.wrong.append(f"{type(error).__name__}: {error}"[:400])
    cell.seconds = time.monotonic() - began
    if not (cell.wrong and os.environ.get("TRUTH_KEEP")):
        shutil.rmtree(folder, ignore_errors=True)
    else:
        cell.wrong.append(f"see {folder}")
    return cell


class Place:
    """Where a cell is tried."""

    def __init__(self, cell: Cell, folder: Path, server: ModelServer, programs: Path) -> None:
        self.cell, self.ending, self.server = cell, cell.ending, server
        self.brand = agent_homes.BRANDS[cell.brand]
        self.home = Home(folder / "home")
        self.desk = Desk(self.home, folder / "s")
        self.programs = programs
        (self.home.project / "README.md").write_text("Read me.\n")
        self.home.environment |= self.variables(folder)
        self.define()
        self.untold: list[
            tuple[int, int]
        ] = []  # what an agent may tell now, since the run before told nothing
        self.seen = 0  # requests of the runs before
        self.prompt = f"{self.ending.prompt}#script:{self.ending.script} Please do the task."

    def variables(self, folder: Path) -> dict[str, str]:
        """Return the variables of tmuxagents and of the brand."""
        del self.home.environment["TMUXAGENTS_PI"], self.home.environment["TMUXAGENTS_DEFAULT_MODEL"]
        own = agent_homes.furnish(self.brand, self.home.folder, self.server.url, limit=self.ending.limit)
        bin_folder = self.programs / ("../bin" if self.cell.brand == "pi" else f"{self.brand.package}/bin")
        if self.ending.act == acts.LINGER:
            shim = folder / "bin"
            shim.mkdir()
            program = shim / self.brand.program
            program.write_text(f'#!/bin/sh\n"{bin_folder}/{self.brand.program}" "$@"\nsleep 600\n')
            program.chmod(0o755)
            bin_folder = shim
        always = {
            "TMUXAGENTS_EXTEND_TIMEOUT_DEBOUNCE": "0",
            "PI_CODING_AGENT_DIR": str(self.server.agent_dir),
        }
        return {**own, **always, "PATH": f"{bin_folder}:{PATH}"}

    def define(self) -> None:
        """Say in the settings of tmuxagents what the brand is, unless it is known."""
        path = self.server.agent_dir / "settings.json"
        said = json.loads(path.read_text(encoding="utf-8"))
        said["subagents"] = {"agents": {self.cell.brand: self.brand.settings}} if self.brand.settings else {}
        path.write_text(json.dumps(said), encoding="utf-8")

    def try_out(self) -> None:
        """Launch, act, wait, judge; then resume."""
        ending = self.ending
        words = ["--agent", self.cell.brand, *self.model(), "--timeout", str(ending.timeout)]
        if ending.permission and self.brand.levels:
            words += ["--permission", ending.permission]
        task = self.home.folder / "task"
        task.write_text(self.prompt, encoding="utf-8")
        run_id = self.desk.launch("--allow-outside", "--task-file", str(task), *words)
        act = acts.ACTS.get(ending.act)
        if act:
            acts.wait_for_tool(run_id)
            act(self.desk, run_id)
        result = self.ended(run_id, ending.timeout)
        self.told(run_id, result)
        self.judge(run_id, result)
        self.resume(run_id, result)

    def model(self, *, good: bool = False) -> list[str]:
        """Return the words that name the model; some brands have it from their own settings."""
        name = self.brand.model if good else self.ending.model or self.brand.model
        return ["-m", name] if name else []

    def ended(self, run_id: str, timeout: float) -> Json:
        """Wait for a result. `wait` also concludes a run whose wrapper is gone."""
        self.desk("wait", run_id, "--timeout", str(int(timeout) + 20))
        read = lambda: directory.read_result(str(self.desk.folder(run_id)))  # noqa: E731
        found: Json = eventually(read, 15)
        return found

    def told(self, run_id: str, result: Json) -> None:
        """Note what we say, and what the agent says."""
        cell = self.cell
        cell.ours = f"{result['status']}/{result['reason']}"
        if result.get("denied"):
            cell.ours += f", {result['denied']} denied"
        log = self.desk.folder(run_id) / "stdout.log"
        cell.claim = claims.last_claim(log.read_bytes() if log.exists() else b"")
        cell.exit = str(result["signal"] or result["exitCode"])

    def judge(self, run_id: str, result: Json) -> None:
        """Compare a result with what is true."""
        ending, wrong = self.ending, self.cell.wrong
        said = f"{result['status']}/{result['reason']}"
        if said not in ending.want and result["status"] not in ending.want:
            wrong.append(f"{said}, not {' or '.join(sorted(ending.want))}: {result['errorMessage']}")
        if ending.output is not None and result["output"] != ending.output:
            wrong.append(f"output {str(result['output'])[:80]!r}")
        if ending.calls is not None and result["toolCount"] != ending.calls:
            wrong.append(f"{result['toolCount']} tool calls, not {ending.calls}")
        for name, text in ending.files.items():
            path = self.home.project / name
            if (path.read_text() if path.exists() else None) != text:
                wrong.append(f"{name} is {path.read_text() if path.exists() else 'not there'!r}")
        self.judge_requests(result)
        self.judge_denial(run_id, result)
        self.judge_remains(run_id)
        if ending.act == acts.LINGER and not result["lingered"]:
            wrong.append("lingered is false")

    def judge_requests(self, result: Json) -> None:
        """Check that the model got the prompt, to the byte, and that the usage is what it served."""
        asked = self.requests()
        if not asked:
            if self.ending.name != "unknown model":
                self.cell.wrong.append("the model was never asked")
            return
        first = "\n".join(text_of(message) for message in asked[0]["messages"] if message["role"] == "user")
        if self.prompt not in first:
            self.cell.wrong.append(f"the prompt did not arrive whole: {len(first)} of {len(self.prompt)}")
        if result["status"] == "completed":
            self.judge_usage(result)

    def judge_usage(self, result: Json) -> None:
        """Compare the usage with what the model served, with or without what the agent asked besides."""
        usage = result["usage"] or {}
        told = int(usage.get("input") or 0) + int(usage.get("cacheRead") or 0), int(usage.get("output") or 0)
        allowed = [served(self.requests()), served(self.log()), *self.untold]
        if told not in allowed and told != (0, 0):
            self.cell.wrong.append(f"usage {told}, not {allowed[0]}")

    def judge_denial(self, run_id: str, result: Json) -> None:
        """Check that a child that might not do its work does not read as plain success."""
        if self.ending.permission != endings.READ_ONLY or result["status"] != "completed":
            return
        failed = [
            event for event in self.events(run_id) if event["type"] == "tool_result" and event["isError"]
        ]
        if not (result.get("denied") or failed):
            self.cell.wrong.append("nothing says that the tool was refused")

    def judge_remains(self, run_id: str) -> None:
        """Check that nothing of the run is left."""
        try:
            eventually(lambda: not remains(self.home.folder, run_id), 5)
        except AssertionError:
            self.cell.wrong.append(f"left running: {remains(self.home.folder, run_id)}")

    def resume(self, run_id: str, result: Json) -> None:
        """Go on in the session; the model has to get what was said before."""
        self.seen += len(self.log())
        done = self.desk("resume", run_id, MORE, "--timeout", "45", *self.model(good=True))
        if done.returncode != 0:
            cause = done.stderr.strip().splitlines()[0] if done.stderr.strip() else "?"
            self.cell.resumed = f"no: {cause[:100]}"
            if self.ending.remembers:
                self.cell.wrong.append(f"resume: {cause[:200]}")
            return
        if self.ending.remembers and "replaying" in done.stderr:
            self.cell.wrong.append("resumed by a replay, not in the agent's own session")
        again = done.stdout.strip()
        after = self.ended(again, 45)
        self.cell.resumed = f"{after['status']}/{after['reason']}"
        # An agent that was killed, or whose model never answered, may have kept no session.
        may_forget = not self.ending.remembers or self.ending.act in ("kill", "kill_wrapper")
        if self.cell.resumed == "failed/config" and may_forget:
            return  # no session was kept, and the agent says so
        if self.cell.resumed != endings.COMPLETED or after["output"] != endings.HELLO:
            self.cell.wrong.append(
                f"resumed: {self.cell.resumed}: {after['errorMessage'] or after['output']}"
            )
        asked = self.requests()
        if not (result["usage"] or {}).get("output"):
            self.untold = [served(self.log(0))]
        talk = json.dumps([request["messages"] for request in asked])
        if self.ending.remembers and "Please do the task." not in talk:
            self.cell.wrong.append("the resumed session does not know the first prompt")
        if after["status"] == "completed":
            self.judge_usage(after)
        self.judge_remains(again)

    # --- what the model was asked ---

    def log(self, begin: int | None = None) -> list[Json]:
        """Return all requests since the last run, or since another one."""
        log = self.server.log
        lines = log.read_text().splitlines() if log.exists() else []
        return [json.loads(line) for line in lines[self.seen if begin is None else begin :]]

    def requests(self) -> list[Json]:
        """Return those of the conversation itself."""
        return [record for record in self.log() if record["script"] != "aside"]

    def asides(self) -> list[Json]:
        """Return those that the agent makes besides."""
        return [record for record in self.log() if record["script"] == "aside"]

    def events(self, run_id: str) -> list[Json]:
        """Return the events of a run."""
        lines, _ = directory.read_lines(f"{self.desk.folder(run_id)}/{directory.EVENTS}", 0)
        return [json.loads(line) for line in lines if line]

    def leave(self) -> None:
        """End all that this cell has started; it is wrong if something does not end."""
        self.desk.leave()
        self.home.end_watcher()
        with suppress(AssertionError):  # what a watcher has called may live for a moment
            eventually(lambda: not remains(self.home.folder, ""), 3)
        left = remains(self.home.folder, "")
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if left:
            self.cell.wrong.append(f"left at the end: {list(left.values())}")


def served(requests: list[Json]) -> tuple[int, int]:
    """Return the tokens of what the model answered: of the prompts, and of the answers."""
    turns = [SCRIPTS[one["script"]]["turns"] if one["script"] in SCRIPTS else [{}] for one in requests]
    used = [
        model_turns.usage_of(of[min(one["turn"], len(of) - 1)])
        for one, of in zip(requests, turns, strict=True)
    ]
    return sum(one["prompt"] for one in used), sum(one["completion"] for one in used)


def text_of(message: Json) -> str:
    """Join the texts of a message."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)


def remains(home: Path, run_id: str) -> dict[int, str]:
    """Return the living processes with this home in their environment: of one run, or all without an id."""
    found = {}
    own, mark = f"\0HOME={home}\0".encode(), f"\0TMUXAGENTS_RUN={run_id}\0".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = b"\0" + Path(f"/proc/{pid}/environ").read_bytes() + b"\0"
            command = " ".join(acts.command_of(int(pid)))[:120]
        except OSError:
            continue
        if own in environment and command and (not run_id or mark in environment):
            found[int(pid)] = command
    return found
