"""What the flows of poll, wait and statusline share: verbs as processes, and runs without a real wrapper."""

from __future__ import annotations

import contextlib
import functools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator

from tests.harness import eventually
from tmuxagents.cli.verbs import explaining
from tmuxagents.records import Identity
from tmuxagents.registry import database
from tmuxagents.runs import directory, documents, events, writing
from tmuxagents.system import process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from tests.harness import Home, Run

COMMAND = [str(Path(sys.executable).with_name("tmuxagents"))]
Done = subprocess.CompletedProcess[str]


def command(home: Home, *arguments: str, **variables: str) -> Done:
    """Run a verb in the project's folder."""
    return home.command(*arguments, env=home.environment | variables, timeout=60)


class Started(subprocess.Popen[str]):
    """A running verb. A test that fails meanwhile does not wait for it."""

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, value, trace)


def started(home: Home, *arguments: str) -> Started:
    """Start a verb and return while it runs."""
    argv = [*COMMAND, *arguments]
    return Started(argv, cwd=home.project, env=home.environment, stdout=subprocess.PIPE, text=True)


def document(home: Home, *arguments: str, kind: str = "poll", **variables: str) -> dict[str, Any]:
    """Run a verb with --json; return its document, checked against the schema."""
    done = command(home, *arguments, "--json", **variables)
    assert done.stderr == ""
    return checked(done.stdout, kind)


def checked(text: str, kind: str = "poll") -> dict[str, Any]:
    """Return a document, checked against the schema of its kind."""
    found: dict[str, Any] = json.loads(text)
    validator(kind).validate(found)
    for run in found.get("runs", ()):
        validator("run").validate(run)
    return found


@functools.cache  # to check a schema itself, and to resolve its references, takes longer than to use it
def validator(kind: str) -> Draft202012Validator:
    """Return the validator with the shipped schema of a kind."""
    schema = json.loads(explaining.schema_text(kind))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def counts(**some: int) -> dict[str, int]:
    """Return all counts; those that are not given are 0."""
    whole = dict.fromkeys(("queued", "running", "completed", "failed", "aborted"), 0) | some
    return whole | {"total": sum(whole.values())}


def registry_of(home: Home) -> str:
    return database.path_of(str(home.state))


# --- runs that nobody wraps ---


def wrapped_by(run: Run, pid: int, *, tmux: dict[str, Any] | None = None, **other: Any) -> None:
    """Record a process that is no wrapper as the wrapper of a run."""
    me = process.myself()
    facts = {"host": me.host, "boot_id": me.boot_id, "pid_namespace": me.pid_namespace, "pid": pid}
    who = Identity(**{**facts, "start_time": process.start_time(pid) or 1, **other})
    place = dict.fromkeys(("socketPath", "serverPid", "serverStartTime", "window", "pane")) | (tmux or {})
    assert writing.claim(str(run.folder), documents.wrapper(who, place, time.time()))


def told(run: Run, *log: events.Event, at: float | None = None) -> None:
    """Write events of a run."""
    lines, _ = directory.read_lines(f"{run.folder}/{directory.EVENTS}", 0)
    with (run.folder / directory.EVENTS).open("ab") as file:
        for seq, event in enumerate(log, len(lines) + 1):
            event.seq, event.at = seq, at or time.time()
            file.write(events.encode(event))


def begun() -> events.Event:
    return events.run_started({"pid": 1, "pidStartTime": 1, "wrapperPid": 1})


def idle_wrapper(run: Run) -> list[str]:
    """Return the command of an idle process that looks like the wrapper of a run."""
    nothing = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(100)"]
    return [*nothing, "-I", "-S", "/nowhere/tmuxagents/_wrap.py", str(run.folder)]


@contextlib.contextmanager
def sleeper(run: Run | None = None) -> Iterator[int]:
    """Lend an idle process, which looks like the wrapper of a run if that is wanted."""
    with subprocess.Popen(["sleep", "100"] if run is None else idle_wrapper(run)) as sleeping:
        try:
            # Popen returns before the program is loaded. The command line that identifies it comes later.
            eventually(Path(f"/proc/{sleeping.pid}/cmdline").read_bytes)
            yield sleeping.pid
        finally:
            sleeping.kill()
