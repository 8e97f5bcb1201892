"""One cell: one run of one brand with one ending, what is true of it, and a run after it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts import agent_homes
from scripts.model_turns import text_of
from scripts.truth import acts, claims, endings
from scripts.truth.place import SECRETS, TASK, opened, served
from tmuxagents.agents import capabilities as can

if TYPE_CHECKING:
    from scripts.truth.endings import Ending
    from scripts.truth.place import Place

Json = dict[str, Any]
MORE = f"Go on. #script:text #say:{endings.HELLO}"
PRESET = "---\nname: keeper\ndescription: Keeps the light\nagent: {agent}\n---\n{text}\n"
ASK_TIMEOUT_S = "3"
USAGE_ERROR = 2
KEPT_NONE = "before its child kept the session"  # an agent that is killed may have written nothing yet


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
    untold: bool = False  # it reads like a whole answer, and the result says that it may be none
    wrong: list[str] = field(default_factory=list)


def tried(brand: str, ending: Ending, programs: Path) -> Cell:
    """Provoke an ending; return what came of it, also if that was a fault of this script."""
    today, began = time.strftime("%Y-%m-%d"), time.monotonic()
    cell = Cell(brand, ending, version=agent_homes.version(brand), at=today)
    secrets = {**SECRETS, "the system prompt": endings.SYSTEM}
    with opened(programs, [brand], secrets, cell.wrong) as place:
        Trial(cell, place).carry_out()
    cell.seconds = time.monotonic() - began
    return cell


class Trial:
    """One cell, as it is tried."""

    def __init__(self, cell: Cell, place: Place) -> None:
        self.cell, self.ending, self.place, self.desk = cell, cell.ending, place, place.desk
        self.brand = agent_homes.BRANDS[cell.brand]
        place.furnish(
            limit=self.ending.needs == endings.LIMIT,
            shim=self.ending.act == acts.LINGER,
            TMUXAGENTS_ASK_TIMEOUT=ASK_TIMEOUT_S if self.ending.act == acts.SAY_NOTHING else "600",
        )
        self.prompt = f"{self.ending.prompt}#script:{self.ending.script} {TASK}"
        # what an agent may tell now, since the run before did not tell all
        self.untold: list[tuple[int, int]] = []

    def carry_out(self) -> None:
        """Launch, act, wait, judge; then resume."""
        ending = self.ending
        words = self.words()
        key = endings.refused(self.cell.brand, ending)
        if key is not None:
            self.judge_refusal(key, words)
            return
        run_id = self.desk.launch(*words)
        act = acts.ACTS.get(ending.act)
        if act:
            act(self.desk, run_id)
        result = self.place.ended(run_id, ending.timeout)
        self.told(run_id, result)
        self.judge(run_id, result)
        self.resume(run_id, result)

    def words(self) -> list[str]:
        """Return the words of the launch."""
        ending, home = self.ending, self.place.home
        task = home.folder / "task"
        task.write_text(self.prompt, encoding="utf-8")
        words = ["--allow-outside", "--task-file", str(task), "--agent", self.cell.brand, *self.model()]
        words += ["--timeout", str(ending.timeout)]
        if self.brand.levels or ending.permission != can.FULL:
            words += ["--permission", ending.permission]
        if ending.needs == endings.SYSTEM_TEXT:
            folder = Path(home.environment["PI_CODING_AGENT_DIR"]) / "subagents"
            folder.mkdir()
            preset = PRESET.format(agent=self.cell.brand, text=endings.SYSTEM)
            (folder / "keeper.md").write_text(preset, encoding="utf-8")
            words += ["--preset", "keeper"]
        return [*words, *(["--live"] if ending.is_live else [])]

    def model(self, *, good: bool = False) -> list[str]:
        """Return the words that name the model; some brands have it from their own settings."""
        name = self.brand.model if good else self.ending.model or self.brand.model
        return ["-m", name] if name else []

    def told(self, run_id: str, result: Json) -> None:
        """Note what we say, and what the agent says."""
        cell = self.cell
        cell.ours = f"{result['status']}/{result['reason']}"
        if result.get("denied"):
            cell.ours += f", {result['denied']} denied"
        log = self.desk.folder(run_id) / "stdout.log"
        cell.claim = claims.last_claim(log.read_bytes() if log.exists() else b"")
        cell.exit = str(result["signal"] or result["exitCode"])

    # --- what is true ---

    def judge_refusal(self, key: str, words: list[str]) -> None:
        """Check that what a brand has not is refused by its name and the key, before anything is made."""
        done, wrong = self.desk("launch", *words), self.cell.wrong
        self.cell.ours, self.cell.exit = endings.REFUSED_BY_US, str(done.returncode)
        named = key == endings.MODEL or self.cell.brand in done.stderr
        if done.returncode != USAGE_ERROR or not named or key not in done.stderr:
            wrong.append(f"{key} is not refused: {done.returncode} {done.stderr.strip()[:200]}")
        if self.desk.runs() or self.place.log():
            wrong.append("something was made")

    def judge(self, run_id: str, result: Json) -> None:
        """Compare a result with what is true."""
        ending, wrong = self.ending, self.cell.wrong
        said = f"{result['status']}/{result['reason']}"
        if said not in ending.want:
            untold = ending.name in endings.UNTOLD.get(self.cell.brand, ())
            self.cell.untold = untold and said == endings.COMPLETED and bool(result.get("note"))
            if not self.cell.untold:
                wrong.append(f"{said}, not {' or '.join(sorted(ending.want))}: {result['errorMessage']}")
        if ending.output is not None and result["output"] != ending.output:
            wrong.append(f"output {str(result['output'])[:80]!r}")
        if ending.calls is not None and result["toolCount"] != ending.calls:
            wrong.append(f"{result['toolCount']} tool calls, not {ending.calls}")
        for name, text in ending.files.items():
            path = self.place.home.project / name
            if (path.read_text() if path.exists() else None) != text:
                wrong.append(f"{name} is {path.read_text() if path.exists() else 'not there'!r}")
        self.judge_requests(result)
        self.judge_denial(run_id, result)
        self.judge_remains(run_id)
        if ending.act == acts.LINGER and not result["lingered"]:
            wrong.append("lingered is false")

    def judge_requests(self, result: Json) -> None:
        """Check that the model got the prompt, to the byte, and that the usage is what it served."""
        asked = self.place.requests()
        if not asked:
            if self.ending.name != "unknown model":
                self.cell.wrong.append("the model was never asked")
            return
        first = "\n".join(text_of(message) for message in asked[0]["messages"] if message["role"] == "user")
        # Claude Code numbers the lines of a file, which is how its screen gets a prompt.
        parts = self.prompt.splitlines() if self.ending.is_live else [self.prompt]
        if not all(part in first for part in parts):
            self.cell.wrong.append(f"the prompt did not arrive whole: {len(first)} of {len(self.prompt)}")
        if self.ending.needs == endings.SYSTEM_TEXT and endings.SYSTEM not in json.dumps(
            asked[0]["messages"]
        ):
            self.cell.wrong.append("the text of the preset did not arrive")
        if result["status"] == "completed":
            self.judge_usage(result)

    def judge_usage(self, result: Json) -> None:
        """Compare the usage with what the model served, with or without what the agent asked besides."""
        told = figures(result)
        asked = self.place.requests()
        allowed = [served(asked), served(self.place.log()), *self.untold]
        if self.ending.name in endings.TELLS_LAST_CALL.get(self.cell.brand, ()):
            allowed.append(served(asked[-1:]))
        is_part = (
            self.ending.act == acts.TAKE_OVER and told[1] <= allowed[0][1]
        )  # a person broke off the rest
        if told not in allowed and told != (0, 0) and not is_part:
            self.cell.wrong.append(f"usage {told}, not {allowed[0]}")

    def judge_denial(self, run_id: str, result: Json) -> None:
        """Check that a child that might not do its work does not read as plain success, and who said no."""
        ending, said = self.ending, self.place.events(run_id)
        if ending.denies and result["status"] == "completed":
            failed = [event for event in said if event["type"] == "tool_result" and event["isError"]]
            if not (result.get("denied") or (failed and not ending.is_answered)):
                self.cell.untold = ending.name in endings.UNTOLD.get(self.cell.brand, ())
                if not self.cell.untold:
                    self.cell.wrong.append("nothing says that the tool was refused")
        if not ending.is_answered:
            return
        said = [event for event in said if event.get("kind") != "start"]  # a screen that comes late
        asked = [event for event in said if event["type"] == "needs_input"]
        given = [event for event in said if event["type"] == "input_given"]
        if not asked or {one.get("ask") for one in asked} != {one.get("ask") for one in given}:
            self.cell.wrong.append(f"{len(asked)} questions, and {len(given)} answers")
        if not all(one.get("by") for one in given):
            self.cell.wrong.append(f"nothing says who answered: {given}")

    def judge_remains(self, run_id: str) -> None:
        """Check that nothing of the run is left."""
        left = self.place.left_of(run_id)
        if left:
            self.cell.wrong.append(f"left running: {left}")

    def resume(self, run_id: str, result: Json) -> None:
        """Go on in the session; the model has to get what was said before."""
        ending, wrong, place = self.ending, self.cell.wrong, self.place
        place.seen += len(place.log())
        done = self.desk("resume", run_id, MORE, "--batch", "--timeout", "120", *self.model(good=True))
        if done.returncode != 0:
            cause = done.stderr.strip().splitlines()[0] if done.stderr.strip() else "?"
            self.cell.resumed = f"no: {cause[:100]}"
            if ending.remembers:
                wrong.append(f"resume: {cause[:200]}")
            return
        is_replay = "replaying" in done.stderr and KEPT_NONE not in done.stderr
        if ending.remembers and is_replay and self.cell.brand not in endings.REPLAYED:
            wrong.append("resumed by a replay, not in the agent's own session")
        again = done.stdout.strip()
        after = place.ended(again, 120)
        self.cell.resumed = f"{after['status']}/{after['reason']}"
        # An agent that was killed, or whose model never answered, may have kept no session.
        may_forget = not ending.remembers or ending.act in ("kill", "kill_wrapper")
        if self.cell.resumed == "failed/config" and may_forget:
            return  # no session was kept, and the agent says so
        if self.cell.resumed != endings.COMPLETED or after["output"] != endings.HELLO:
            wrong.append(f"resumed: {self.cell.resumed}: {after['errorMessage'] or after['output']}")
        all_of_it, before = served(place.log(0)), figures(result)
        if self.cell.brand not in endings.TELLS_ITS_OWN:
            self.untold = [(all_of_it[0] - before[0], all_of_it[1] - before[1])]
        talk = json.dumps([request["messages"] for request in place.requests()])
        if ending.remembers and TASK not in talk:
            wrong.append("the resumed session does not know the first prompt")
        if after["status"] == "completed":
            self.judge_usage(after)
        self.judge_remains(again)


def figures(result: Json) -> tuple[int, int]:
    """Return the tokens that a result tells: of the prompts, and of the answers."""
    usage = result["usage"] or {}
    return int(usage.get("input") or 0) + int(usage.get("cacheRead") or 0), int(usage.get("output") or 0)
