"""A place that is attacked: a home, a run beside the attack, and what has to hold of both afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tests.apart import NOBODY, let_in
from tests.desk import Desk
from tests.harness import Home, eventually
from tests.status.watchers import COMMAND
from tests.torture.memory import status_kb
from tests.torture.scale import MOST_KB

if TYPE_CHECKING:
    from pathlib import Path

OTHER_USER = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
LIMIT_S = 30.0
# So that what fails here fails, and does not take the machine along.
LIMITED = ("prlimit", f"--as={1 << 30}")
BOUNDED = (*LIMITED, f"--fsize={1 << 28}")


class NotTried(Exception):
    """The machine does not allow the attack: the row says so."""


class Look(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


class Place:
    """A home with a run at work that is not attacked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = Home(folder / "home")
        self.home.be_watched()
        self.desk = Desk(self.home, folder / "sockets")
        self.runs = self.home.state / "runs"
        self.gate = folder / "gate"
        self.wrong: list[str] = []
        self.stack = ExitStack()  # what has to be ended

    def __enter__(self) -> Self:
        self.bystander = self.working("bystander", self.gate)
        return self

    def __exit__(self, *_: object) -> None:
        self.gate.touch()
        self.stack.close()
        self.desk.leave()
        self.home.end_all()

    def must(self, holds: object, words: str) -> None:
        """Write down what does not hold."""
        if not holds:
            self.wrong.append(words)

    def look(self, *words: str, prefix: tuple[str, ...] = BOUNDED, **variables: str) -> Look:
        """Carry a command out; it has to leave, and to stay small."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            command = subprocess.Popen(
                [*prefix, *COMMAND, *words],
                cwd=self.home.project,
                env=self.home.environment | variables,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
            peak, limit = 0, time.monotonic() + LIMIT_S
            while command.poll() is None and time.monotonic() < limit:
                peak = max(peak, status_kb(command.pid, "VmHWM"))
                time.sleep(0.005)
            self.must(command.poll() is not None, f"{words[0]} hangs")
            self.must(peak <= MOST_KB, f"{words[0]} takes {peak / 1024:.0f} MB")
            command.kill()
            code = command.wait()
            out.seek(0)
            err.seek(0)
            return Look(code, out.read().decode(errors="replace"), err.read().decode(errors="replace"))

    def launch(self, script: str, **variables: str) -> str:
        """Launch a run that a test counts on; return its id."""
        done = self.look("launch", script, prefix=LIMITED, **variables)
        assert done.code == 0, done.err
        return done.out.strip()

    def working(self, what: str, gate: Path) -> str:
        """Launch a run that works until its gate opens; return its id when it does."""
        run_id = self.launch(
            f"pid {what}\nbegin\nanswer toolUse at work\ngate {gate}\nanswer stop fine\nsettle"
        )
        self.desk.wait_for(run_id, "at work")
        return run_id

    def read(self, run_id: str, name: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.runs / run_id / name).read_text())
        return document

    def bystander_is(self, status: str, after: str) -> None:
        """Hold what is said of the run that is not attacked against what is so."""
        done = self.look("poll", "-A", "-a", "--json")
        try:
            said = {run["runId"]: run["status"] for run in json.loads(done.out)["runs"]}
        except (ValueError, KeyError):
            self.wrong.append(f"{after}: poll ends with {done.code}: {done.out[:200]}{done.err[:200]}")
            return
        self.must(said.get(self.bystander) == status, f"{after}: the other run is {said.get(self.bystander)}")

    def finish(self) -> list[str]:
        """Let the run that was not attacked end; return what was wrong."""
        self.bystander_is("running", "afterwards")
        found = self.home.watcher()
        if found is not None:
            peak = status_kb(found[0], "VmHWM")
            self.must(peak <= MOST_KB, f"the watcher takes {peak / 1024:.0f} MB")
        self.gate.touch()
        result = self.desk.result(self.bystander)
        ending = (result["status"], result["output"])
        self.must(ending == ("completed", "fine"), f"the other run ends {ending}")
        wrapper = self.read(self.bystander, "wrapper.json")["pid"]
        eventually(lambda: not os.path.exists(f"/proc/{wrapper}"))  # until then the run goes on, by contract
        self.bystander_is("completed", "at the end")
        return self.wrong

    def as_other(self, script: str) -> str:
        """Have another user carry out a line of shell; return what it says."""
        done = subprocess.run(
            [*OTHER_USER, "sh", "-c", script], capture_output=True, text=True, check=True, timeout=20, cwd="/"
        )
        return done.stdout

    def everybodys(self, name: str) -> Path:
        """Return a folder as /tmp is one."""
        if os.getuid() != 0:
            raise NotTried("only root can be another user")
        made = self.folder / name
        made.mkdir()
        let_in(self.folder)
        made.chmod(0o1777)
        return made
