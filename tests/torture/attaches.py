"""Random attaches by three terminals at once, over runs with hostile names whose windows are moved about.

The judge is what each terminal shows: the tag that the test itself put on the window of each wrapper.
"""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from tests.harness import Home, TmuxServer, eventually
from tests.terminals import WORKS, Room, by_key
from tmuxagents.runs import directory

if TYPE_CHECKING:
    from pathlib import Path

    from tests.terminal import Terminal

FIGURES: list[str] = []
PARTING, BACK = 0.3, 0.1  # how often the third terminal comes anew, and the others go back
SHOWN = "#{client_name} #{window_id} #{?@judge,#{@judge},-}"
RUN_NAMES = ("job", "job-1", "job-10", "job-1-0", "j", "job_1", "1", "0", "work")
TITLES = (
    *("job", "job.1", "0:1", "=work", "@3", "%5", "-t", "work:0.0", "a b", "{last}", "$1", ":", ".", "!"),
    *("#(touch planted)", "#{window_id}", "#[fg=red]", "*", "job-1*", "🎉", "'; kill-server", "\\;"),
)
OTHERS_PAGE = "sleep 600"
AWAY = ("job", "work-1")  # sessions windows are taken to; where a terminal comes from, it alone goes back to


class Attaches:
    """All of it: one server with the runs, another one where the second terminal begins."""

    def __init__(self, folder: Path, *, runs: int, seed: int) -> None:
        self.room = Room(Home(folder), folder)
        self.room.home.be_watched()
        self.room.home.environment["TMUXAGENTS_MAX_RUNNING"] = str(runs)
        self._dice = random.Random(seed)
        self._number = runs
        self._runs: dict[str, str] = {}  # run -> window
        self._names: dict[str, str] = {}  # name -> run
        self._over = threading.Event()
        self.told: Counter[str] = Counter()
        self.wrong: list[str] = []

    def carry_out(self, times: int) -> list[str]:
        """Attach so often; return what was wrong."""
        try:
            self.mine, self.other = self.room.another("mine"), self.room.another("other")
            self._launch()
            seeds = [self._dice.random() for _ in range(4)]
            shares = [times // 3 + (number < times % 3) for number in range(3)]
            with ThreadPoolExecutor(4) as pool:
                mischief = pool.submit(self._mischief, random.Random(seeds.pop()))
                servers = (self.mine, self.other, None)
                acts = [
                    pool.submit(self._attach, share, server, random.Random(seed))
                    for share, server, seed in zip(shares, servers, seeds, strict=True)
                ]
                try:
                    for act in acts:
                        act.result()
                finally:
                    self._over.set()
                mischief.result()
            return self.wrong + self._judge(times)
        finally:
            self.room.leave()
            self.room.home.end_all()

    def _launch(self) -> None:
        """Launch the runs, with names that begin alike, and tag the window of each wrapper."""
        inside = {"TMUX": f"{self.mine.socket},{self.mine.pid},0"}
        for number in range(self._number):
            more, which = divmod(number, len(RUN_NAMES))
            name = RUN_NAMES[which] + "-1" * more
            name += "-" * (name in self._names)
            self._names[name] = self.room.launch(WORKS, "--name", name, **inside)
        rows = self.mine.run("list-panes", "-a", "-F", "#{pane_pid} #{window_id}").splitlines()
        windows = dict(row.split(" ") for row in rows)
        for run_id in self._names.values():
            identity = directory.identity_of(directory.read_wrapper(self.room.run_dir(run_id)))
            assert identity is not None
            self._runs[run_id] = windows[str(identity.pid)]
            self.mine.run("set-option", "-w", "-t", self._runs[run_id], "@judge", run_id)
        for session in AWAY:
            self.mine.run("new-session", "-d", "-s", session, OTHERS_PAGE)

    # --- what is done to the windows ---

    def _mischief(self, dice: random.Random) -> None:
        """Rename, split, move and link windows; only a window that nobody shows is taken elsewhere."""
        acts = (self._rename, self._split, self._move, self._renumber, self._link)
        while not self._over.wait(0.05):
            dice.choice(acts)(dice, dice.choice([*self._runs.values()]))
            self.told["mischief"] += 1

    def _rename(self, dice: random.Random, window: str) -> None:
        # Doubled: rename-window itself would carry the title out, and name the window after the outcome.
        title = dice.choice(TITLES).replace("planted", f"{self.room.folder}/planted").replace("#", "##")
        self.mine.run("rename-window", "-t", window, "--", title)

    def _split(self, _: random.Random, window: str) -> None:
        narrow = "#{>=:#{window_panes},3}"
        split = f"split-window -d -t {window} '{OTHERS_PAGE}'"
        self.mine.run("if-shell", "-F", "-t", window, narrow, f"kill-pane -a -t {window}.0", split)

    def _move(self, dice: random.Random, window: str) -> None:
        self._unseen(window, f"move-window -d -s {window} -t ={dice.choice(AWAY)}:")

    def _renumber(self, dice: random.Random, _: str) -> None:
        self.mine.run("move-window", "-r", "-t", f"={dice.choice(AWAY)}:")

    def _link(self, dice: random.Random, window: str) -> None:
        there = dice.choice(AWAY)
        once = "#{==:#{window_linked_sessions},1}"
        self._unseen(window, f"if-shell -F -t {window} '{once}' 'link-window -d -s {window} -t ={there}:'")

    def _unseen(self, window: str, command: str) -> None:
        """Do something to a window in the same moment in which nobody shows it."""
        self.mine.run("if-shell", "-F", "-t", window, "#{==:#{window_active_clients},0}", command)

    # --- who attaches ---

    def _attach(self, times: int, server: TmuxServer | None, dice: random.Random) -> None:
        """Let one terminal attach so often; without a server it comes from outside, now and then anew."""
        person = self.room.at_work(server) if server else None
        for _ in range(times):
            wanted, word = self._choose(dice)
            if person is None or (server is None and dice.random() < PARTING):
                if person is not None:
                    self.room.people.remove(person)
                    person.close()
                person = self.room.person("attach", word)
                self._came(person, wanted, word)
                continue
            where = self._server_of(person)
            if server is not None and dice.random() < BACK:
                self.room("attach", "--back", **by_key(where, person))
                self.told["went back"] += 1
                where = self._server_of(person)
            before = self._shown(person)
            done = self.room("attach", word, **by_key(where, person))
            self._expect(person, wanted if done.returncode == 0 else before, f"{word}: {done.stderr}")
            self._count(done.returncode, done.stderr, word)

    def _choose(self, dice: random.Random) -> tuple[str, str]:
        run_id = dice.choice([*self._runs])
        name = dice.choice([*self._names])
        return dice.choice([(run_id, run_id), (run_id, run_id[:10]), (self._names[name], name)])

    def _count(self, code: int, said: str, word: str) -> None:
        self.told["attached" if code == 0 else "refused: it was just moved"] += 1
        if code and "has just gone" not in said:
            self.wrong.append(f"attach {word}: {code}: {said}")

    def _came(self, person: Terminal, wanted: str, word: str) -> None:
        """Wait until a new terminal shows a window, or has left."""
        eventually(lambda: self._shown(person) or person.process.poll() is not None, 60)
        if person.process.poll() is not None:
            self._count(1, person.text if "gone" not in person.text else "has just gone", word)
            return
        self._expect(person, wanted, f"{word}, from outside")
        self.told["attached"] += 1

    def _expect(self, person: Terminal, wanted: str, how: str) -> None:
        """Compare at once: a wrong window that is put right later is wrong."""
        eventually(partial(self._shown, person), 30)
        shown = self._shown(person)
        if shown != wanted:
            self.told["wrong"] += 1
            rows = self.mine.run("list-clients", "-F", f"#{{session_id}} {SHOWN}").splitlines()
            self.wrong.append(f"{how}: {person.name} shows {shown}, not {wanted}; on the server {rows}")

    def _shown(self, person: Terminal) -> str:
        """Return the run that a terminal shows, by our own tag; else its window; "" if it is no client."""
        for server in (self.mine, self.other):
            rows = [row.split(" ") for row in server.run("list-clients", "-F", SHOWN).splitlines()]
            for name, window, judge in rows:
                if name == person.name:
                    return window if judge == "-" else judge
        return ""

    def _server_of(self, person: Terminal) -> TmuxServer:
        def found() -> list[TmuxServer]:
            return [
                server
                for server in (self.mine, self.other)
                if person.name in server.run("list-clients", "-F", "#{client_name}").splitlines()
            ]

        servers: list[TmuxServer] = eventually(found, 30)
        return servers[0]

    # --- what came of it ---

    def _judge(self, times: int) -> list[str]:
        wrong = []
        runs = json.loads(self.room("poll", "-A", "--json").stdout)["runs"]
        living = {run["runId"] for run in runs if run["status"] == "running"}
        if living != set(self._runs):
            wrong.append(f"{len(living)} of {len(self._runs)} runs live")
        planted = [str(path) for path in self.room.home.folder.parent.rglob("planted")]
        if planted:
            wrong.append(f"a name was carried out: {planted}")
        if self.told["attached"] < times * 0.8:
            wrong.append(f"only {self.told['attached']} of {times} attaches showed a window")
        words = ", ".join(f"{count} {what}" for what, count in sorted(self.told.items()))
        FIGURES.append(f"{times} attaches over {self._number} runs: {words or 'none'}")
        return wrong


def attach_at_random(folder: Path, *, runs: int, times: int, seed: int) -> list[str]:
    """Attach three terminals at random; return what was wrong."""
    return Attaches(folder, runs=runs, seed=seed).carry_out(times)
