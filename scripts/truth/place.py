"""Where a cell is tried: a home, a desk and a model of its own, and what can be seen from there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts import agent_homes, limits, model_turns
from scripts.model_server import BUILT_IN_SCRIPTS
from scripts.truth import acts
from scripts.truth.lookout import LookOut, remains
from tests.desk import Desk
from tests.harness import PATH, Home, ModelServer, eventually
from tmuxagents.runs import directory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Json = dict[str, Any]
SCRIPTS: Json = json.loads(BUILT_IN_SCRIPTS.read_text(encoding="utf-8"))
TASK = "Please do the task."  # in each first prompt
SECRETS = {"the prompt": TASK, "a key": agent_homes.KEY}
_PATIENCE_S = 40


class Place:
    """A home with the brands that are named, on a model server."""

    def __init__(self, folder: Path, server: ModelServer, programs: Path, brands: Sequence[str]) -> None:
        self.folder, self.server, self.programs, self.brands = folder, server, programs, brands
        self.home = Home(folder / "home")
        self.home.be_watched()  # as the homes of people are: it concludes a run whose wrapper is gone
        self.desk = Desk(self.home, folder / "s")
        self.seen = 0  # requests of the runs before
        (self.home.project / "README.md").write_text("Read me.\n")
        self._define()

    def furnish(self, *, limit: bool = False, shim: bool = False, **variables: str) -> None:
        """Lead the brands to the server. `shim`: their programs stay after their end."""
        environment = self.home.environment
        del environment["TMUXAGENTS_PI"], environment["TMUXAGENTS_DEFAULT_MODEL"]
        path = [PATH]
        for name in self.brands:
            brand = agent_homes.BRANDS[name]
            environment |= agent_homes.furnish(brand, self.home.folder, self.server.url, limit=limit)
            package = self.programs.parent if brand.package == "pi" else self.programs / brand.package
            own = package / "bin"
            path.insert(0, str(self._lingering(own, brand.program) if shim else own))
        environment |= {
            "TMUXAGENTS_EXTEND_TIMEOUT_DEBOUNCE": "0",
            "PI_CODING_AGENT_DIR": str(self.server.agent_dir),
            "PATH": ":".join(path),
            **variables,
        }

    def _lingering(self, own: Path, name: str) -> Path:
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / name
        program.write_text(f'#!/bin/sh\n"{own}/{name}" "$@"\nsleep 600\n')
        program.chmod(0o755)
        return folder

    def _define(self) -> None:
        """Say in the settings of tmuxagents what the brands are that it does not know."""
        path = self.server.agent_dir / "settings.json"
        said = json.loads(path.read_text(encoding="utf-8"))
        known = {name: agent_homes.BRANDS[name].settings for name in self.brands}
        said["subagents"] = {"agents": {name: settings for name, settings in known.items() if settings}}
        path.write_text(json.dumps(said), encoding="utf-8")

    # --- what became of a run ---

    def ended(self, run_id: str, timeout: float) -> Json:
        """Wait for a result. `wait` also concludes a run whose wrapper is gone."""
        self.desk(
            "wait", run_id, "--timeout", str(int(timeout) + _PATIENCE_S), timeout=timeout + 2 * _PATIENCE_S
        )
        read = lambda: directory.read_result(str(self.desk.folder(run_id)))  # noqa: E731  (it is named for the line below)
        found: Json = eventually(read, 15)
        return found

    def events(self, run_id: str) -> list[Json]:
        """Return the events of a run."""
        return acts.events_of(self.desk.folder(run_id))

    def left_of(self, run_id: str) -> dict[int, str]:
        """Return what is left of a run, after a moment."""
        with suppress(AssertionError):
            eventually(lambda: not remains(self.home.folder, run_id), 5)
        return remains(self.home.folder, run_id)

    # --- what the model was asked ---

    def log(self, begin: int | None = None) -> list[Json]:
        """Return all requests since the last run, or since another one."""
        log = self.server.log
        lines = log.read_text().splitlines() if log.exists() else []
        return [json.loads(line) for line in lines[self.seen if begin is None else begin :]]

    def requests(self) -> list[Json]:
        """Return those of the conversation itself."""
        return [record for record in self.log() if record["script"] != "aside"]

    def leave(self) -> list[str]:
        """End all that was started here; return what did not end by itself."""
        self.desk.leave()
        self.home.end_watcher()
        left = self.left_of("")
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return list(left.values())


@contextmanager
def opened(
    programs: Path, brands: Sequence[str], secrets: Mapping[str, str], wrong: list[str]
) -> Iterator[Place]:
    """Open a place; whatever goes wrong there, also with our own code, is noted in `wrong`."""
    folder = Path(tempfile.mkdtemp(prefix="truth-"))
    limits.homes.add(folder)
    (folder / "model").mkdir()
    try:
        with ExitStack() as stack:
            server = stack.enter_context(ModelServer(folder / "model"))
            place = Place(folder, server, programs, brands)
            looks = stack.enter_context(LookOut(place.home.folder, secrets))
            try:
                yield place
            finally:
                left = place.leave()
                wrong += [f"left at the end: {left}"] if left else []
                wrong += [f"{what} is on a command line: {line}" for what, line in looks.told.items()]
                wrong += [] if looks.seen or not place.desk.runs() else ["no command line was seen"]
    except Exception as error:  # noqa: BLE001  (a cell that cannot be tried is a wrong one)
        wrong.append(f"{type(error).__name__}: {error}"[:400])
    if wrong and os.environ.get("TRUTH_KEEP"):
        wrong.append(f"see {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)


def served(requests: list[Json]) -> tuple[int, int]:
    """Return the tokens of what the model answered: of the prompts, and of the answers."""
    turns = [SCRIPTS[one["script"]]["turns"] if one["script"] in SCRIPTS else [{}] for one in requests]
    used = [
        model_turns.usage_of(of[min(one["turn"], len(of) - 1)])
        for one, of in zip(requests, turns, strict=True)
    ]
    return sum(one["prompt"] for one in used), sum(one["completion"] for one in used)
