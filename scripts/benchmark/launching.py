"""Rows 5 to 8: what a launch costs, beside the tmux call and the imports that nobody can do without."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.benchmark.measure import interleaved, keep, spent, timed, until
from scripts.benchmark.stage import CountedTmux
from scripts.benchmark.table import Figure, number, ratio
from tests.desk import Desk
from tests.harness import SCRIPTED, Home
from tests.terminal import Terminal
from tmuxagents.system import watcher_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.benchmark.stage import Stage

_RETURNED, _SEEN, _MANY = 1.4, 1.25, 1.4
_TOUCH = "import sys; open(sys.argv[1], 'w').close()"
_TOUCH_JSON = "import json, sys; open(sys.argv[1], 'w').close()"
_LOOK_S = 0.01  # at a hundred runs: to look as closely as at one would be half of what is measured
_SOCKET, _SESSION = "tmuxagents", "agents-project"
# A child that costs nothing: what is measured is ours. What it is asked about itself another one answers.
_QUIET_CHILD = f"""#!/bin/sh
case "$*" in *--version*|*rpc*) exec {SCRIPTED} "$@" ;; esac
cat >/dev/null
echo '{{"type":"agent_start"}}'
exec sleep 100
"""
_PRESET = "---\nname: scout\ndescription: Looks around\nmodel: mock/mock-text\n---\nLook, change nothing.\n"


class Ground:
    """A desk from which runs are launched: a server with a session of theirs, a preset, a watcher."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.home = Home(stage.folder / secrets.token_hex(4))
        sockets = stage.folder / secrets.token_hex(2)  # the path of a socket is short, or none
        self.desk = Desk(self.home, sockets)
        self.home.environment |= {"TMUXAGENTS_MAX_RUNNING": "200", "TMUXAGENTS_KEEP_WINDOWS": "none"}
        presets = self.home.agent_dir / "subagents"
        presets.mkdir()
        (presets / "scout.md").write_text(_PRESET)
        self.home.be_watched()

    def child(self, text: str) -> None:
        """Have this script for the agent."""
        path = self.home.folder / "agent.sh"
        path.write_text(text)
        path.chmod(0o755)
        self.home.environment["TMUXAGENTS_PI"] = str(path)

    def launch(self, *arguments: str) -> float:
        """Launch a run; return how long that took, in milliseconds of the clock."""
        argv = [self.stage.entry, "launch", *arguments]
        before = set(self.desk.runs())
        took = timed(lambda: _check(spent(argv, self.home.environment)[0]))
        for run_id in set(self.desk.runs()) - before:
            self.desk.result(run_id)
        return took

    def window(self, *argv: str) -> None:
        """Open a window below tmuxagents."""
        self._tmux("new-window", "-d", "-t", f"{_SESSION}:", *argv)

    def touching_window(self) -> float:
        """Open a window with a bare Python that makes a file; return how long that took."""
        file = self.stage.folder / secrets.token_hex(4)

        def act() -> None:
            self.window(self.stage.python, "-I", "-S", "-c", _TOUCH, str(file))
            until(file.exists)

        return timed(act)

    def _tmux(self, *arguments: str) -> None:
        argv = [str(shutil.which("tmux")), "-S", str(self.desk.sockets / _SOCKET), *arguments]
        _check(spent(argv, self.home.environment)[0])

    def leave(self) -> None:
        """End everything."""
        self.desk.leave()
        self.home.end_all()
        for socket in self.desk.sockets.iterdir():
            until(lambda socket=socket: not _answers(socket))  # type: ignore[misc]  # mypy infers no lambda with a default


def _answers(socket: Path) -> bool:
    argv = ["tmux", "-S", str(socket), "list-sessions"]
    return subprocess.run(argv, check=False, capture_output=True).returncode == 0


def _check(code: int) -> None:
    if code != 0:
        raise RuntimeError(f"it left with {code}")


@contextlib.contextmanager
def grounded(stage: Stage) -> Iterator[Ground]:
    """Lend a ground on which a server and a watcher are at work."""
    made, before = Ground(stage), os.getcwd()
    try:
        os.chdir(made.home.project)
        made.launch("done fine")  # the server and the watcher start
        made.window("sleep", "1000")  # the session stays, whichever windows are closed
        yield made
    finally:
        os.chdir(before)
        made.leave()


def _imports(names: str, ground: Ground) -> float:
    argv = [ground.stage.python, "-c", f"import {names}"]
    return timed(lambda: _check(spent(argv, ground.home.environment)[0]))


def returned(stage: Stage) -> Iterator[Figure]:
    """Row 5: launch has returned, and its wrapper has acknowledged."""
    with grounded(stage) as ground:
        cases = {
            "window": ground.touching_window,
            "libtmux": lambda: _imports("libtmux", ground),
            "libtmux, yaml, json": lambda: _imports("libtmux, yaml, json", ground),
            "launch": lambda: ground.launch("done fine"),
            "launch -p": lambda: ground.launch("-p", "scout", "done fine"),
        }
        found = interleaved(cases, stage.times(30))
    plain, preset = (found["window"] + found[names] for names in ("libtmux", "libtmux, yaml, json"))
    yield ratio(5, "`launch` returned", plain, found["launch"], goal=_RETURNED, of="import libtmux + window")
    of = "… yaml, json + window"
    yield ratio(5, "`launch -p PRESET` returned", preset, found["launch -p"], goal=_RETURNED, of=of)


def seen(stage: Stage) -> Iterator[Figure]:
    """Row 6: from launch to the first line on a terminal that looks at the session."""
    with grounded(stage) as ground:
        cases = {
            "window": ground.touching_window,
            "libtmux": lambda: _imports("libtmux", ground),
            "child": lambda: _child(ground),
        }
        found = interleaved(cases, stage.times(30))
        look = ["tmux", "-u", "-S", str(ground.desk.sockets / _SOCKET)]
        hook = ["set-hook", "-g", "after-new-window", "run-shell -C 'select-window -t #{hook_window}'"]
        subprocess.run([*look, *hook], check=True)
        person = Terminal([*look, "attach", "-t", _SESSION], ground.home.environment, ground.home.project)
        try:
            person.shows(_SESSION[:8])
            found |= interleaved({"ours": lambda: _visible(ground, person)}, stage.times(30))
        finally:
            person.close()
    floor = found["window"] + found["libtmux"] + found["child"]
    yield ratio(6, "`launch` → first line visible", floor, found["ours"], goal=_SEEN, of="row 5's + child")


def _child(ground: Ground) -> float:
    """Return how long the scripted child takes to its first line."""
    child = subprocess.Popen(
        [str(SCRIPTED)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ground.home.environment
    )
    if child.stdin is None or child.stdout is None:
        raise RuntimeError("the child has no streams")
    begun = time.perf_counter()
    with child:
        child.stdin.write(b"done fine")
        child.stdin.close()
        child.stdout.readline()
        took = (time.perf_counter() - begun) * 1000
        child.stdout.read()
    return took


def _visible(ground: Ground, person: Terminal) -> float:
    words = secrets.token_hex(4)
    begun = time.perf_counter()
    child = subprocess.Popen(
        [ground.stage.entry, "launch", f"done {words}"],
        env=ground.home.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    until(lambda: words in person.text.replace(f"done {words}", ""))
    took = (time.perf_counter() - begun) * 1000
    with child:
        run_id = child.stdout.read().strip() if child.stdout else ""
    ground.desk.result(run_id)
    return took


def many(stage: Stage) -> Iterator[Figure]:
    """Row 7: a hundred children in one call, to the last first line."""
    count = 100
    with grounded(stage) as ground:
        ground.child(_QUIET_CHILD)
        floors, ours = [], []
        for _ in range(2 if stage.quick else 4):
            floors.append(_batch(ground, count))
            ours.append(_call(ground, count))
    keep({"one tmux call": floors, "ours": ours})
    words = f"{count} launches, all first lines"
    yield ratio(7, words, min(floors), min(ours), goal=_MANY, of="one tmux call")


def _batch(ground: Ground, count: int) -> float:
    """Open that many windows with a bare Python each in one call of tmux."""
    folder = Path(ground.stage.folder, secrets.token_hex(4))
    folder.mkdir()
    touching = ground.home.folder / "touch.py"
    touching.write_text(_TOUCH_JSON)
    words = f"new-window -d -t {_SESSION}: {ground.stage.python} -I -S {touching} {folder}"
    batch = ground.home.folder / "batch.conf"
    batch.write_text("".join(f"{words}/{index}\n" for index in range(count)))
    tmux = ["tmux", "-S", str(ground.desk.sockets / _SOCKET)]

    def act() -> None:
        _check(
            subprocess.run([*tmux, "source-file", str(batch)], check=False, capture_output=True).returncode
        )
        until(lambda: len(os.listdir(folder)) == count, pause_s=_LOOK_S)

    return timed(act)


def _call(ground: Ground, count: int) -> float:
    """Launch that many runs in one call; end them when each has its first line."""
    file = ground.home.folder / "tasks.json"
    file.write_text(json.dumps([{"task": f"Look at part {index}."} for index in range(count)]))
    environment = {**ground.home.environment, "TMUXAGENTS_MAX_CONCURRENCY": str(count)}
    before = set(ground.desk.runs())

    def spoke() -> int:
        new = set(ground.desk.runs()) - before
        return sum((ground.desk.folder(run_id) / "transcript.log").exists() for run_id in new)

    begun = time.perf_counter()
    call = subprocess.Popen(
        [ground.stage.entry, "run", "--tasks", str(file)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: spoke() >= count, pause_s=_LOOK_S)
        took = (time.perf_counter() - begun) * 1000
    finally:
        call.terminate()
        call.wait(60)
    return took


def processes(stage: Stage) -> Iterator[Figure]:
    """Row 8: how many tmux processes a launch and a poll start."""
    with grounded(stage) as ground:
        calls = CountedTmux(ground.home.folder)
        ground.home.end_watcher()
        place = watcher_lock.take(str(ground.home.state))  # a watcher's calls are counted by themselves
        ground.home.environment["PATH"] = calls.path(ground.home.environment["PATH"])
        figures = {"launch": ["launch", "done fine"], "poll": ["poll", "-aA"], "statusline": ["statusline"]}
        for name, arguments in figures.items():
            calls.forget()
            _check(spent([ground.stage.entry, *arguments], ground.home.environment)[0])
            made = calls.made()
            most = 2.0 if name == "launch" else 0.0
            yield Figure(8, f"tmux processes of a `{name}`", "", number(made), made, most, "processes")
        asked = ["tmux", "-S", str(ground.desk.sockets / _SOCKET), "list-clients"]
        clients = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.splitlines()
        yield Figure(8, "resident tmux clients", "", number(len(clients)), len(clients), 0.0, "clients")
        if place is not None:
            os.close(place)
