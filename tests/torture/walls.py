"""Attacks on the promised walls: what is tried, and what has to hold whoever tries it.

Beside each attack a run is at work that nobody attacks (tests/torture/siege). However the attack ends, that
run is answered as before, by a command and a watcher below 64 MB, and its own ending comes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.apart import NOBODY, let_in
from tests.harness import alive, eventually
from tests.status.watchers import COMMAND
from tests.terminals import press_tab
from tests.torture import forgeries
from tests.torture.memory import status_kb
from tests.torture.scale import MOST_KB
from tests.torture.siege import LIMIT_S, LIMITED, OTHER_USER, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.desk import Desk
    from tests.torture.matrix import Case

PRESET = "---\nname: {0}\ndescription: x\n---\nx\n"
_MOST_ASKED = 64 << 20
SECRET = "the-task-is-nobodys-business"


# --- another user -----------------------------------------------------------------------------------------


def attempts(place: Desk, run_id: str) -> list[list[str]]:
    """Return what another user may try at a run, and may not do."""
    folder = place.folder(run_id)
    wrapper = json.loads((folder / "wrapper.json").read_text())["pid"]
    return [
        ["cat", str(folder / "prompt.txt")],
        ["ls", str(folder)],
        ["touch", str(folder / "result.json")],
        ["ls", str(place.home.state / "hosts")],
        ["tmux", "-S", str(place.sockets / "tmuxagents"), "list-sessions"],
        ["cat", f"/proc/{wrapper}/environ"],
        ["kill", "-TERM", str(wrapper)],
    ]


def reads_and_writes(place: Place) -> None:
    place.everybodys("shared")
    let_in(place.home.folder)
    for attempt in attempts(place.desk, place.bystander):
        done = subprocess.run([*OTHER_USER, *attempt], capture_output=True, check=False, timeout=20, cwd="/")
        place.must(done.returncode != 0, f"another user may {' '.join(attempt)}")


def looks_at_commands(place: Place) -> None:
    place.everybodys("shared")
    _preset(place)
    for verb in (["run"], ["call", "subagent"]):
        task = f"pid {verb[0]}\nbegin\nanswer toolUse x\nsleep 300\n{SECRET}"
        words = [*verb, task] if verb == ["run"] else [*verb, json.dumps({"preset": "own", "task": task})]
        with place.desk.start(*words) as command:
            try:
                eventually(lambda: verb[0] in place.home.recorded())  # noqa: B023  (asked here only)
                seen = place.as_other("cat /proc/[0-9]*/cmdline 2>/dev/null || :")
                place.must(SECRET not in seen, f"the task of {verb[0]} can be read")
            finally:
                command.send_signal(signal.SIGINT)
                command.communicate(timeout=30)


def _preset(place: Place) -> None:
    preset = place.home.agent_dir / "subagents" / "own.md"
    preset.parent.mkdir(exist_ok=True)
    preset.write_text(PRESET.format("own"))


def plants_folder(place: Place, plant: str) -> None:
    """Let another user be first where tmux keeps its sockets."""
    shared = place.everybodys("shared")
    folder, mark = f"{shared}/tmux-{os.getuid()}", f"{shared}/theirs"
    place.as_other(plant.format(folder=folder, theirs=mark))
    kill = f"for one in {folder} {mark}; do tmux -S $one/tmuxagents kill-server; done 2>&1 || :"
    place.stack.callback(place.as_other, kill)
    done = place.look("launch", "pid taken\nsleep 300", prefix=LIMITED, TMUX_TMPDIR=str(shared))
    place.must(done.code == 3, f"launch ends with {done.code}: {done.err}")
    place.must("taken" not in place.home.recorded(), "a child was started in it")
    left = place.as_other(f"find {shared} -user {os.getuid()} -mindepth 1")
    place.must(not left, f"there is of ours: {left}")


def squats_lock(place: Place, plant: str) -> None:
    """Let another user have the lock of a socket in everybody's folder."""
    shared, precious = place.everybodys("shared"), place.folder / "precious"
    holder = subprocess.Popen(
        [*OTHER_USER, "sh", "-c", plant.format(lock=f"{shared}/own.lock", precious=precious)], cwd="/"
    )
    place.stack.callback(holder.wait)
    place.stack.callback(holder.kill)
    eventually(lambda: os.path.lexists(f"{shared}/own.lock"))
    done = place.look("launch", "done fine", prefix=LIMITED, TMUXAGENTS_SOCKET=f"{shared}/own")
    place.must(done.code in (0, 3), f"launch ends with {done.code}: {done.err}")
    place.must(not precious.exists(), "a link of another user was followed")
    subprocess.run(["tmux", "-S", f"{shared}/own", "kill-server"], capture_output=True, check=False)


def listens(place: Place, variable: str) -> None:
    """Let another user have a tmux server where ours is expected, and the doors open."""
    socket = f"{place.everybodys('shared')}/own"
    start = f"tmux -f /dev/null -S {socket} new-session -d -P -F '#{{pid}}' sleep 300; chmod 777 {socket}"
    pid = place.as_other(start).strip()
    # The server may be gone before it has answered its client.
    place.stack.callback(place.as_other, f"tmux -S {socket} kill-server || :")
    place.as_other(f"tmux -S {socket} server-access -aw root 2>&1 || :")
    named = {"TMUX": f"{socket},{pid},0"} if variable == "TMUX" else {variable: socket}
    done = place.look("launch", f"pid taken\ndone {SECRET}", prefix=LIMITED, **named)
    place.must(done.code in (0, 3), f"launch ends with {done.code}: {done.err}")
    seen = place.as_other(f"tmux -S {socket} list-windows -a; tmux -S {socket} show-environment -g")
    ours = str(place.home.folder) in seen or SECRET in seen
    place.must(not ours, f"their server has of ours: {seen}")
    windows = place.as_other(f"tmux -S {socket} list-windows -a -F '#{{window_id}}'").split()
    place.must(len(windows) == 1, f"their server has windows of ours: {windows}")


def offers_home(place: Place) -> None:
    """Let another user make the folder that TMUXAGENTS_HOME names."""
    theirs = place.everybodys("shared") / "home"
    shutil.copytree(place.runs / place.bystander, theirs / "runs" / "fedcba9876543210")
    for path in (theirs, *theirs.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        path.chmod(0o777)
    for verb in (["poll", "-A", "-a"], ["launch", "pid taken\ndone fine"], ["output", "fedcba9876543210"]):
        done = place.look(*verb, prefix=LIMITED, TMUXAGENTS_HOME=str(theirs))
        place.must(done.code in (3, 4), f"{verb[0]} ends with {done.code}: {done.out}")
    place.must("taken" not in place.home.recorded(), "a child was started by it")
    ours = [path for path in theirs.rglob("*") if path.lstat().st_uid == os.getuid()]
    place.must(not ours, f"there is of ours: {ours}")


# --- a hostile clone --------------------------------------------------------------------------------------


def names_a_shell_would_read(place: Place) -> None:
    mark = place.folder / "mark"
    shelf = place.home.project / ".pi" / "subagents"
    shelf.mkdir(parents=True, exist_ok=True)
    for number, form in enumerate(("$(touch {0})", "`touch {0}`", ";touch {0};", "#(touch {0})")):
        name = f"zed{number}" + form.format(mark)
        (shelf / f"{number}.md").write_text(PRESET.format(json.dumps(name)))
        place.look("launch", "-p", name, "done fine", prefix=LIMITED)
    shown = press_tab(place.home, [f"tmuxagents presets show zed{number}" for number in range(4)])
    place.must(not mark.exists(), f"it was carried out: {shown}")


def settings_that_name_commands(place: Place) -> None:
    mark, pi = place.folder / "mark", place.home.project / ".pi"
    evil = place.home.project / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {mark}\n")
    evil.chmod(0o755)
    pi.mkdir(exist_ok=True)
    keys = {"onEnd": [str(evil)], "agents": {"pi": {"command": [str(evil)]}}, "tmux": {"socket": str(mark)}}
    (pi / "settings.json").write_text(json.dumps({"subagents": keys}))
    run_id = place.launch("done fine")
    place.desk.result(run_id)
    eventually((place.runs / run_id / "announced").exists)
    place.look("models", "--refresh", TMUXAGENTS_PI="")
    place.must(not mark.exists(), "a clone's settings were obeyed")


def links_for_folders(place: Place, link: str) -> None:
    precious, at = place.folder / "precious", place.home.project / link
    precious.mkdir()
    shutil.rmtree(place.home.project / ".pi", ignore_errors=True)
    at.parent.mkdir(parents=True, exist_ok=True)
    at.symlink_to(precious)
    run_id = place.launch("done fine")
    place.desk.result(run_id)
    place.look("prune", run_id)
    place.must(not list(precious.iterdir()), "it was written through a clone's link")


# --- a client ---------------------------------------------------------------------------------------------


def does_not_read(place: Place) -> None:
    """Have the MCP server work, ask it as often as it listens, read nothing, and ask it to leave."""
    server = subprocess.Popen(
        [*LIMITED, *COMMAND, "mcp"],
        cwd=place.home.project,
        env=place.home.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    place.stack.callback(server.communicate)
    place.stack.callback(server.kill)
    assert server.stdin is not None
    handle = server.stdin.fileno()
    _preset(place)
    task = {"preset": "own", "task": "pid asked\nbegin\nanswer toolUse x\nsleep 300"}
    os.write(handle, _asked("tools/call", name="subagent", arguments=task))
    eventually(lambda: "asked" in place.home.recorded())
    os.set_blocking(handle, False)
    peak, written, quiet_since = 0, 0, time.monotonic()
    while written < _MOST_ASKED and time.monotonic() - quiet_since < 1 and server.poll() is None:
        with suppress(BlockingIOError, BrokenPipeError):
            written += os.write(handle, _asked("tools/list") * 500)
            quiet_since = time.monotonic()
        peak = max(peak, status_kb(server.pid, "VmHWM"))
        time.sleep(0.001)
    place.must(peak <= MOST_KB, f"the server takes {peak / 1024:.0f} MB")
    server.terminate()
    try:
        server.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        place.wrong.append("the server does not leave when it is asked to")
        return
    eventually(lambda: not alive(place.home.recorded()["asked"]))


def _asked(method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


# --- all of them ------------------------------------------------------------------------------------------

FOLDER = "mkdir -m 755 {folder}"
SERVER = (
    f"{FOLDER}; tmux -f /dev/null -S {{folder}}/tmuxagents new-session -d 'sleep 300'; chmod 777 {{folder}}/*"
)
LINKED = "mkdir -m 755 {theirs}; ln -s {theirs} {folder}"
ANOTHER, CLONE, CHILD, CLIENT = "another user", "a clone", "a child", "a client"
# who attacks, what is tried, what holds, the attack
ROWS: tuple[tuple[str, str, str, Callable[[Place], None]], ...] = (
    (ANOTHER, "reads, writes, signals, connects", "refused by the system", reads_and_writes),
    (ANOTHER, "looks for a task in ps", "it is not there", looks_at_commands),
    (ANOTHER, "plants tmux's folder", "launch refuses", partial(plants_folder, plant=FOLDER)),
    (ANOTHER, "plants it with a server", "launch refuses", partial(plants_folder, plant=SERVER)),
    (ANOTHER, "plants it as a link", "launch refuses", partial(plants_folder, plant=LINKED)),
    (
        *(ANOTHER, "links SOCKET.lock", "the link is not followed"),
        partial(squats_lock, plant="ln -s {precious} {lock}"),
    ),
    (
        *(ANOTHER, "holds SOCKET.lock", "launch leaves in time"),
        partial(squats_lock, plant="exec 9>{lock}; chmod 666 {lock}; flock 9; exec sleep 300"),
    ),
    (
        ANOTHER,
        "listens where a socket is named",
        "it gets nothing",
        partial(listens, variable="TMUXAGENTS_SOCKET"),
    ),
    (ANOTHER, "has the server that TMUX names", "it gets nothing", partial(listens, variable="TMUX")),
    (ANOTHER, "makes TMUXAGENTS_HOME", "every verb refuses", offers_home),
    (CLONE, "names presets for a shell, tmux, TAB", "nothing is run", names_a_shell_would_read),
    (CLONE, "names commands in settings", "nothing is run", settings_that_name_commands),
    (CLONE, "links .pi elsewhere", "nothing is written", partial(links_for_folders, link=".pi")),
    (
        *(CLONE, "links .pi/subagents/runs elsewhere", "nothing is written"),
        partial(links_for_folders, link=".pi/subagents/runs"),
    ),
    (CHILD, "makes its files 1 TB long", "looks stay small", partial(forgeries.stretches, ended=False)),
    (
        CHILD,
        "makes files of an ended run 1 TB long",
        "looks stay small",
        partial(forgeries.stretches, ended=True),
    ),
    (CHILD, "plants runs of every wrong kind", "other runs are answered", forgeries.forges),
    (CHILD, "forges the pid of its start", "others' processes live", forgeries.forges_start),
    (CHILD, "forges wrapper.json", "the other run works on", forgeries.forges_wrapper),
    (CHILD, "puts folders for slots", "launch works or refuses", forgeries.blocks_slots),
    (CHILD, "swaps its directory for a link", "nothing is written there", forgeries.swaps),
    (CLIENT, "of mcp asks and does not read", "the server stays small", does_not_read),
)


def cases() -> Iterator[Case]:
    """Yield all of them."""
    from tests.torture.matrix import Case  # noqa: PLC0415  (its parts know it)

    for who, tried, holds, act in ROWS:
        yield Case(who, f"{tried}: {holds}", partial(attack, act))


def attack(act: Callable[[Place], None], folder: Path) -> list[str]:
    """Attack a place of its own; return what did not hold."""
    with Place(folder) as place:
        act(place)
        return place.finish()
