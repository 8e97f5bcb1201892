"""Other managers of processes and windows, from pip, npm and Debian, asked how their jobs stand.

Each is installed into a private folder, and works in a private home. One that cannot be had says so.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import time
from typing import TYPE_CHECKING

from scripts.benchmark.measure import Case, busy, interleaved, keep
from scripts.benchmark.peer_place import Missing, Place
from scripts.benchmark.table import Figure, number
from tests.torture.memory import status_kb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from scripts.benchmark.stage import Stage

ROW = 20
JOBS = 20
_SLEEP = "sleep"


class Peer:
    """How a peer is installed and set to work, and its status question."""

    def __init__(
        self,
        name: str,
        source: str,
        install: Callable[[Place], None],
        set_up: Callable[[Place], Sequence[str]],
        note: str = "",
    ) -> None:
        self.name = name
        self.source = source
        self.install = install
        self.set_up = set_up  # have JOBS jobs; return the command line of the question
        self.note = note


# --- set to work ------------------------------------------------------------------------------------------


def _supervisor(place: Place) -> list[str]:
    config, socket = place.home / "supervisord.conf", place.sockets / "s"
    lines = ["[unix_http_server]", f"file={socket}", "[supervisord]", f"directory={place.home}"]
    lines += [f"pidfile={place.home}/pid", f"logfile={place.home}/log", "[supervisorctl]"]
    lines += [f"serverurl=unix://{socket}", "[rpcinterface:supervisor]"]
    lines += ["supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface"]
    for job in range(JOBS):
        lines += [f"[program:job{job}]", f"command={_SLEEP} 1000", "startsecs=0"]
    config.write_text("\n".join(lines) + "\n")
    place.run(place.find("supervisord"), "-c", str(config))
    return [place.find("supervisorctl"), "-c", str(config), "status"]


def _pm2(place: Place) -> list[str]:
    place.environment["PM2_HOME"] = str(place.home / "pm2")
    apps = [{"name": f"job{job}", "script": shutil.which(_SLEEP), "args": "1000", "interpreter": "none"}
            for job in range(JOBS)]  # fmt: skip
    file = place.home / "jobs.config.json"
    file.write_text(json.dumps({"apps": apps}))
    pm2 = place.find("pm2")
    place.run(pm2, "start", str(file))
    return [pm2, "ls"]


def _task_spooler(place: Place) -> list[str]:
    place.environment["TS_SOCKET"] = str(place.sockets / "ts")
    tsp = place.find("tsp")
    place.run(tsp, "-S", str(JOBS))
    for _ in range(JOBS):
        place.run(tsp, _SLEEP, "1000")
    return [tsp]


def _tmuxp(place: Place) -> list[str]:
    windows = [{"window_name": f"job{job}", "panes": [f"{_SLEEP} 1000"]} for job in range(JOBS)]
    file = place.home / ".tmuxp" / "jobs.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"session_name": "jobs", "windows": windows}))
    tmuxp = place.find("tmuxp")
    place.run(tmuxp, "load", "-d", "-y", str(file))
    return [tmuxp, "ls"]


def _mngr(place: Place) -> list[str]:
    return [place.find("mngr"), "list"]


def _tmux_agents(place: Place) -> list[str]:
    """Have windows; it has no command line, so one that starts it asks it as its client would."""
    place.run("tmux", "-f", "/dev/null", "new-session", "-d", "-s", "jobs", f"{_SLEEP} 1000")
    for _ in range(JOBS - 1):
        place.run("tmux", "new-window", "-d", "-t", "jobs:", f"{_SLEEP} 1000")
    ask = place.home / "ask.py"
    ask.write_text(_ASK)
    return [sys.executable, "-I", "-S", str(ask), place.find("tmux-agents")]


# Starts a server of the Model Context Protocol, asks it once, waits for it: its CPU time is a child's.
_ASK = """
import json, os, sys
reads, asks = os.pipe()
answers, says = os.pipe()
quiet = [(os.POSIX_SPAWN_DUP2, reads, 0), (os.POSIX_SPAWN_DUP2, says, 1)]
quiet += [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
for one in (reads, says):
    os.close(one)
who = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
call = {"name": "panes_list", "arguments": {}}
for message in (
    {"id": 1, "method": "initialize", "params": who},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": call},
):
    os.write(asks, (json.dumps({"jsonrpc": "2.0"} | message) + "\\n").encode())
found = ""
with open(answers, encoding="utf-8") as lines:
    for line in lines:
        if json.loads(line).get("id") == 2:
            found = line
            break
    os.close(asks)
os.waitpid(child, 0)
sys.exit("sleep" not in found)
"""

PEERS = (
    Peer("supervisor", "pip", lambda place: place.pip("supervisor"), _supervisor),
    Peer("pm2", "npm", lambda place: place.npm("pm2"), _pm2),
    Peer("task-spooler", "Debian", lambda place: place.debian("task-spooler"), _task_spooler),
    Peer("tmuxp", "pip", lambda place: place.pip("tmuxp"), _tmuxp, "lists files: it asks no window"),
    Peer("imbue-mngr", "pip", lambda place: place.pip("imbue-mngr"), _mngr, "with no agent at all"),
    Peer(
        "tmux-agents",
        "pip",
        lambda place: place.pip("tmux-agents", "mcp<2"),
        _tmux_agents,
        "a server for one question",
    ),
)


# --- measured ---------------------------------------------------------------------------------------------


def asked(stage: Stage) -> Iterator[Figure]:
    """Peers, asked how 20 jobs stand; installed for this."""
    with stage.home(known=JOBS, live=JOBS) as stand:
        stand.home.be_watched()
        ours = stand.watch()
        stand.settle()
        cases = {"poll": Case([stage.entry, "poll"], stand.home.environment)}
        yield _ours(stage, interleaved(cases, stage.times(40))["poll"], ours)
        for peer in PEERS:
            yield _peer(stage, peer, cases)


def _ours(stage: Stage, poll_ms: float, watcher: int) -> Figure:
    (percent,) = busy([watcher], _rest_s(stage))
    words = _at_rest(percent, [watcher])
    return Figure(ROW, "tmuxagents: `tmuxagents poll`", "", f"{number(poll_ms)} ms; {words}", 1.0)


def _peer(stage: Stage, peer: Peer, cases: Mapping[str, Case]) -> Figure:
    place = Place(stage.folder / secrets.token_hex(3))
    what = f"{peer.name} ({peer.source})"
    try:
        print(f"  installing {peer.name} …", file=sys.stderr, flush=True)
        peer.install(place)
        argv = list(peer.set_up(place))
        question = " ".join([os.path.basename(argv[0]), *argv[3 if "-c" in argv else 1 :]])
        if argv[0] == sys.executable:
            question = "panes_list"
        before = os.getcwd()
        os.chdir(place.home)
        try:
            both = dict(cases) | {"theirs": Case(argv, place.environment)}
            found = interleaved(both, stage.times(20))
        finally:
            os.chdir(before)
        residents = [pid for pid, name in place.processes().items() if name != _SLEEP]
        time.sleep(1)
        percent = sum(busy(residents, _rest_s(stage)))
        keep({f"{peer.name} at rest": [percent]})
        words = f"{number(found['theirs'])} ms; {_at_rest(percent, residents)}"
        note = f", {peer.note}" if peer.note else ""
        floor = f"`poll` {number(found['poll'])} ms"
        return Figure(ROW, f"{what}: `{question}`{note}", floor, words, found["theirs"] / found["poll"])
    except (Missing, RuntimeError) as why:
        return Figure(ROW, what, "", f"not measured: {why}", 0.0)
    finally:
        place.leave()


def _rest_s(stage: Stage) -> float:
    return 2 if stage.quick else 8


def _at_rest(percent: float, residents: Sequence[int]) -> str:
    if not residents:
        return "nothing stays"
    rss = sum(status_kb(pid, "VmRSS") for pid in residents) / 1024
    return f"at rest {percent:.3f} % of a core, {rss:.0f} MB"
