"""The verb `integrate tmux`: it changes a person's tmux, and gives it back to the byte."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import signal
import stat
import struct
import subprocess
import termios
import threading
from typing import TYPE_CHECKING, Any, Self

import pyte
import pytest

from tests.harness import PATH, eventually, printed, stop
from tests.status.watchers import checked
from tests.terminal import Screen
from tmuxagents.integrate import tmux, tmux_texts
from tmuxagents.settings import load
from tmuxagents.system import process
from tmuxagents.tmux import Tmux, servers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.harness import Home

OURS = "#{E:@tmuxagents_status} "
TEXT = "bg: 12 running, 3 queued, 1 waiting, 2 failed / 118 total"
SIZE = (160, 10)


class Person:
    """A person with a home, a tmux server and terminals."""

    def __init__(self, home: Home, sockets: Path) -> None:
        self.home = home
        self.conf = home.folder / ".tmux.conf"
        sockets.mkdir()
        home.environment["TMUX_TMPDIR"] = str(sockets)
        self.folder = sockets / f"tmux-{os.getuid()}"
        self.environment = {"PATH": PATH, "HOME": str(home.folder), "TERM": "xterm", "SHELL": "/bin/sh"}
        self.environment |= {"LANG": "C.UTF-8", "TMUX_TMPDIR": str(sockets)}

    def tmux(self, *words: str, server: str = "default") -> str:
        """Carry out a tmux command as the person types it."""
        argv = ["tmux", "-L", server, *words]
        done = subprocess.run(
            argv, env=self.environment, check=True, capture_output=True, text=True, timeout=20
        )
        return printed(done.stdout).removesuffix("\n")

    def start(self, *words: str, server: str = "default") -> None:
        self.tmux(
            *words, "new-session", "-d", "-s", "work", "-x", "160", "-y", "9", "sleep 600", server=server
        )

    def end(self, server: str = "default") -> None:
        path = str(self.folder / server)
        pid = servers.listening(path)
        started = process.start_time(pid) if pid else None
        if pid and started:
            process.send(pid, started, signal.SIGCONT, signal.SIGKILL)
            assert process.wait_gone(pid, started, 10)

    def options(self, server: str = "default") -> str:
        """Return all options: those of the server, the global ones, and those of each session and window."""
        texts = [
            self.tmux(*words, server=server) for words in (["show", "-s"], ["show", "-g"], ["show", "-gw"])
        ]
        for window in self.tmux("list-windows", "-a", "-F", "#{window_id}", server=server).split("\n"):
            scopes: tuple[list[str], ...] = ([], ["-w"], ["-p"])
            texts += [self.tmux("show-options", *scope, "-t", window, server=server) for scope in scopes]
        texts += [self.tmux("show-environment", *how, server=server) for how in (["-g"], ["-gh"])]
        texts += [self.tmux(*words, server=server) for words in (["show-hooks", "-g"], ["list-keys"])]
        return "\n---\n".join(texts)

    def right(self, server: str = "default") -> str:
        return self.tmux("show-options", "-gv", "status-right", server=server)

    def length(self, server: str = "default") -> str:
        return self.tmux("show-options", "-gv", "status-right-length", server=server)

    def say(self, *words: str, code: int = 0, **variables: str) -> list[str]:
        """Integrate; return the lines that are printed."""
        done = self.home.command(
            "integrate", "tmux", *words, env=self.home.environment | variables, umask=0o022
        )
        assert (done.returncode, done.stderr) == (code, "")
        return done.stdout.splitlines()

    def document(self, *words: str) -> dict[str, Any]:
        (line,) = self.say(*words, "--json")
        return checked(line, "integrate")


@pytest.fixture
def person(home: Home, tmp_path: Path) -> Iterator[Person]:
    made = Person(home, tmp_path / "sockets")
    yield made
    for server in ("default", "tmuxagents", "other"):
        made.end(server)


class Terminal:
    """A terminal with a tmux client, and its screen."""

    def __init__(self, person: Person) -> None:
        self._screen = Screen(*SIZE)
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self._person = person
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", SIZE[1], SIZE[0], 0, 0))
        argv = ["setsid", "-c", "tmux", "-L", "default", "attach", "-t", "work"]
        self._client = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, env=person.environment)
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._client.kill()
        self._client.wait()
        self._reader.join(5)
        os.close(self._master)

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while piece := os.read(self._master, 65536):
                with self._lock:
                    self._stream.feed(piece)

    def type(self, key: str, table: str | None = None) -> None:
        """Press one key until tmux waits for the next one in a table. A key that comes too early is lost."""
        words = ("list-clients", "-F", "#{client_key_table}")

        def leads_there() -> bool:
            os.write(self._master, key.encode())
            with contextlib.suppress(AssertionError):
                return bool(eventually(lambda: self._person.tmux(*words) == table, 2))
            return False

        if table is None:
            os.write(self._master, key.encode())
        else:
            eventually(leads_there)

    def text(self) -> str:
        with self._lock:
            return "\n".join(self._screen.display)

    def status_line(self) -> str:
        with self._lock:
            return self._screen.display[-1].rstrip()


# --- seen -------------------------------------------------------------------------------------------------


def test_our_text_and_the_persons_clock_are_both_seen(person: Person) -> None:
    person.start("-f", "/dev/null")
    with Terminal(person) as terminal:
        eventually(lambda: re.search(r"\d\d:\d\d \d\d-\w\w\w-\d\d$", terminal.status_line()))
        person.say()
        status = Tmux(str(person.folder / "default")).status
        status.declare()
        status.push({"status": TEXT})
        eventually(lambda: re.search(rf"{TEXT} \".*\" \d\d:\d\d \d\d-\w\w\w-\d\d$", terminal.status_line()))
        person.say("--uninstall")
        eventually(lambda: "bg:" not in terminal.status_line())
        eventually(lambda: re.search(r"\d\d:\d\d \d\d-\w\w\w-\d\d$", terminal.status_line()))


def test_in_a_server_that_comes_later_both_are_seen(person: Person) -> None:
    person.say()
    person.start()
    with Terminal(person) as terminal:
        status = Tmux(str(person.folder / "default")).status
        status.declare()
        status.push({"status": TEXT})
        eventually(lambda: re.search(rf"{TEXT} \".*\" \d\d:\d\d \d\d-\w\w\w-\d\d$", terminal.status_line()))


# --- given back -------------------------------------------------------------------------------------------

SETTINGS = [
    "",
    "set -g status-right ''\n",
    "set -g status-right '#(echo x; exit) #{?pane_dead,a#,b,c} 100%% \"q\" $HOME } ;'\n",
    "set -g status-right-length 7\n",
    "set -g status-right \"it's #[fg=red]late\"\nset -g status-right-length 500\nset -g @mine 'x y'\n",
    "set -g status-right '#{@mine} ü 世 %H'\nset -g @mine '#{session_name}'\nset -g status-left-length 3\n",
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_on_a_server_that_runs_everything_is_given_back_to_the_byte(person: Person, settings: str) -> None:
    person.conf.write_text(settings)
    person.start()
    person.tmux("set", "-t", "work", "status-left", "mine")
    before, right = person.options(), person.right()
    person.say()
    assert person.right() == OURS + right
    Tmux(str(person.folder / "default")).status.declare()
    Tmux(str(person.folder / "default")).status.push({"status": TEXT, "running": "1"})
    person.say("--uninstall")
    assert person.options() == before
    assert person.conf.read_text() == settings


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_later_server_shows_what_a_running_one_does_and_gives_it_back(
    person: Person, settings: str
) -> None:
    person.conf.write_text(settings)
    person.start()
    before = person.options()
    person.say()
    changed = person.options()
    assert changed != before
    person.end()
    person.start()
    assert person.options() == changed
    person.tmux("source-file", str(person.conf))  # as a person does after a change
    assert person.options() == changed
    person.say("--uninstall")
    assert person.options() == before
    assert person.conf.read_text() == settings


def test_twice_changes_nothing_more(person: Person) -> None:
    person.start()
    person.say()
    options, conf = person.options(), person.conf.read_bytes()
    assert person.say() == ["nothing to change"]
    assert (person.options(), person.conf.read_bytes()) == (options, conf)
    person.say("--uninstall")
    options = person.options()
    assert person.say("--uninstall") == ["nothing to change"]
    assert (person.options(), person.conf.exists()) == (options, False)


def test_where_there_is_room_enough_the_length_stays(person: Person) -> None:
    person.conf.write_text("set -g status-right-length 300\n")
    person.start()
    person.say()
    assert person.length() == "300"
    person.end()
    person.start()
    assert (person.length(), person.right()[: len(OURS)]) == ("300", OURS)


def test_no_program_of_the_persons_status_line_is_run_by_it(person: Person) -> None:
    marker = person.home.folder / "ran"
    person.conf.write_text(f"set -g status-right '#(touch {marker})'\n")
    person.start()
    for words in ((), (), ("--uninstall",)):
        person.say(*words)
        person.end()
        person.start()
        person.tmux("source-file", str(person.conf))
    assert not marker.exists()


# --- what the person changes meanwhile --------------------------------------------------------------------


def test_a_value_that_was_changed_meanwhile_is_left_alone(person: Person) -> None:
    person.start()
    person.say()
    person.tmux("set", "-g", "status-right", "mine")
    person.tmux("set", "-g", "status-right-length", "77")
    lines = person.say("--uninstall")
    assert (person.right(), person.length()) == ("mine", "77")
    socket = person.folder / "default"
    assert (
        f"left status-right-length on the tmux server at {socket} alone: it was changed since it was raised"
        in lines
    )
    assert not any("status-right on" in line for line in lines)
    assert "@tmuxagents" not in person.options()


def test_what_is_changed_between_the_look_and_the_change_is_left_alone(person: Person) -> None:
    person.start("-f", "/dev/null")
    environment = person.home.environment
    settings = load.load(environment, None)
    found = tmux.plan(environment, settings, tmux.WantedTmux(), socket=None)
    person.tmux("set", "-g", "status-right", "mine")
    tmux.carry_out(found)
    assert (person.right(), person.length()) == ("mine", "140")
    assert [(one.name, one.why) for one in found.left] == [("status-right", "it has just been changed")]
    assert "status-right" not in {change.name for change in found.changes}


def test_what_was_added_behind_our_text_stays(person: Person) -> None:
    person.start()
    right = person.right()
    person.say()
    person.tmux("set", "-ga", "status-right", " more")
    person.say("--uninstall")
    assert person.right() == f"{right} more"


def test_our_text_in_another_place_is_the_persons(person: Person) -> None:
    person.conf.write_text("set -g status-right 'x #{E:@tmuxagents_status} y'\n")
    person.start()
    before = person.options()
    person.say()
    assert "status-right-length" not in person.conf.read_text()
    assert (person.right(), person.length()) == ("x #{E:@tmuxagents_status} y", "40")
    lines = person.say("--uninstall")
    socket, why = person.folder / "default", "our text is not where it was put; take it out by hand"
    assert lines[-1] == f"left status-right on the tmux server at {socket} alone: {why}"
    assert person.options() == before


def test_where_all_of_ours_is_the_persons_already_the_file_is_left_alone(person: Person) -> None:
    text = "set -g status-right '#{E:@tmuxagents_status}'\n"
    text += "set -g window-status-format '#{E:@tmuxagents_mark}#W'\n"
    person.conf.write_text(text)
    assert person.say() == [f"left {person.conf} alone: it has our text already"]
    assert person.conf.read_text() == text


def test_what_was_written_around_our_lines_stays(person: Person) -> None:
    person.conf.write_text("set -g @one 1")
    person.say()
    person.conf.write_text("# new\n" + person.conf.read_text() + "set -g @two 2\n")
    person.say()
    person.say("--uninstall")
    assert person.conf.read_text() == "# new\nset -g @one 1\nset -g @two 2\n"


@pytest.mark.parametrize("damage", [("'' {", "'' {  "), ("# <<< tmuxagents <<<", "")])
def test_lines_of_ours_that_were_changed_are_left_and_said(person: Person, damage: tuple[str, str]) -> None:
    person.say()
    person.conf.write_text(person.conf.read_text().replace(*damage))
    text = person.conf.read_text()
    for words in ((), ("--uninstall",)):
        (line,) = person.say(*words)
        assert line.startswith(f"left {person.conf} alone: ")
        assert "by hand" in line
        assert person.conf.read_text() == text


# --- which file -------------------------------------------------------------------------------------------


def test_without_a_file_one_is_made_and_goes_again(person: Person) -> None:
    person.say()
    assert stat.S_IMODE(person.conf.stat().st_mode) == 0o644
    person.say("--uninstall")
    assert not person.conf.exists()
    assert sorted(entry.name for entry in person.home.folder.iterdir()) == ["agent", "project"]


@pytest.mark.parametrize("named", [False, True])
def test_the_file_that_tmux_reads_last_is_meant(person: Person, *, named: bool) -> None:
    folder = person.home.folder / ("elsewhere" if named else ".config") / "tmux"
    if named:
        for environment in (person.home.environment, person.environment):
            environment["XDG_CONFIG_HOME"] = str(folder.parent)
    folder.mkdir(parents=True)
    last = folder / "tmux.conf"
    person.conf.write_text("set -g status-right one\n")
    person.say()
    assert "tmuxagents" in person.conf.read_text()
    last.write_text("set -g status-right two\n")
    person.say()  # it moves there
    assert person.conf.read_text() == "set -g status-right one\n"
    person.start()
    assert person.right() == f"{OURS}two"
    person.say("--uninstall")
    assert last.read_text() == "set -g status-right two\n"


def test_a_link_between_both_places_is_one_file(person: Person) -> None:
    folder = person.home.folder / ".config" / "tmux"
    folder.mkdir(parents=True)
    (folder / "tmux.conf").write_text("set -g status-right two")
    (folder / "tmux.conf").chmod(0o600)
    person.conf.symlink_to(".config/tmux/tmux.conf")
    person.say()
    person.start()
    assert (person.right(), person.length()) == (f"{OURS}two", "140")
    person.say("--uninstall")
    assert person.conf.is_symlink()
    assert person.conf.read_text() == "set -g status-right two"
    assert stat.S_IMODE(person.conf.stat().st_mode) == 0o600


def test_a_file_that_may_not_be_changed_is_an_error_and_nothing_else_is_changed(person: Person) -> None:
    person.start()
    before = person.options()
    person.conf.mkdir()
    done = person.home.command("integrate", "tmux", "--json")
    assert done.returncode == 3
    assert checked(done.stdout, "error")["error"]["kind"] == "no-permission"
    assert person.options() == before


# --- which server -----------------------------------------------------------------------------------------


def test_a_named_server_and_the_callers_own_are_meant_alone(person: Person) -> None:
    for server in ("default", "other"):
        person.start("-f", "/dev/null", server=server)
    assert person.document("-L", "other")["changes"][-1]["path"] == str(person.folder / "other")
    assert not person.right().startswith(OURS)
    person.say("-L", "other", "--uninstall")
    pid = servers.listening(str(person.folder / "other"))
    person.say(TMUX=f"{person.folder / 'other'},{pid},0")
    assert (person.right("other")[: len(OURS)], person.right()[: len(OURS)] == OURS) == (OURS, False)


def test_outside_of_tmux_the_usual_servers_are_meant(person: Person) -> None:
    for server in ("default", "tmuxagents", "other"):
        person.start("-f", "/dev/null", server=server)
    person.say()
    for server, meant in (("default", True), ("tmuxagents", True), ("other", False)):
        assert person.right(server).startswith(OURS) == meant
    pid = servers.listening(str(person.folder / "other"))
    person.say("--uninstall", TMUX=f"{person.folder / 'other'},{pid},0")  # from any place
    assert not any(person.right(server).startswith(OURS) for server in ("default", "tmuxagents"))


def test_a_server_that_does_not_answer_costs_a_warning(person: Person) -> None:
    person.start("-f", "/dev/null")
    pid = servers.listening(str(person.folder / "default"))
    assert pid
    stop(pid)
    done = person.home.command("integrate", "tmux")
    assert (done.returncode, done.stdout) == (0, f"made {person.conf}\n")
    assert done.stderr.startswith(
        f"warning: the tmux server at {person.folder / 'default'} is left as it is: "
    )
    os.kill(pid, signal.SIGCONT)
    done = person.home.command("integrate", "tmux")
    assert (done.returncode, done.stderr) == (0, "")
    assert person.right().startswith(OURS)


# --- told -------------------------------------------------------------------------------------------------


def test_a_dry_run_shows_a_diff_and_changes_nothing(person: Person) -> None:
    person.conf.write_text("set -g mouse on")
    person.start()
    before = person.options()
    lines = person.say("--dry-run")
    assert lines[:5] == [
        f"--- {person.conf}",
        f"+++ {person.conf}",
        "@@ -1 +1,17 @@",
        "-set -g mouse on",
        "\\ No newline at end of file",
    ]
    socket = person.folder / "default"
    assert [
        line for line in lines if "status-right-length" in line and "=" not in line and "{" not in line
    ] == [
        "-status-right-length 40",
        "+status-right-length 140",
    ]
    assert f"+++ tmux server {socket}" in lines
    assert f"+status-right {OURS}{person.right()}" in lines
    assert lines[-1].startswith("+window-status-current-format #{E:@tmuxagents_mark}#I:#W")
    assert (person.options(), person.conf.read_text()) == (before, "set -g mouse on")


def test_the_document_says_what_was_and_what_is(person: Person) -> None:
    person.start("-f", "/dev/null")
    right = person.right()
    shown = person.tmux("show-options", "-gv", tmux_texts.VALUES[0])
    planned = person.document("--dry-run")
    found = person.document()
    assert (planned["dryRun"], found["dryRun"], planned["changes"]) == (True, False, found["changes"])
    file, *options = found["changes"]
    made = {"where": "file", "path": str(person.conf), "name": None, "before": None}
    assert file == made | {"after": person.conf.read_text()}
    socket = str(person.folder / "default")
    assert [(one["where"], one["path"], one["name"], one["before"], one["after"]) for one in options] == [
        ("server", socket, "@tmuxagents_length", None, "40 140"),
        ("server", socket, "status-right-length", "40", "140"),
        ("server", socket, "status-right", right, OURS + right),
        ("server", socket, tmux_texts.MARK, None, tmux_texts.FORMAT),
        *(("server", socket, name, shown, f"#{{E:@tmuxagents_mark}}{shown}") for name in tmux_texts.VALUES),
    ]
    person.tmux("set", "-g", "status-right-length", "50")
    found = person.document("--uninstall")
    assert (found["uninstall"], [one["name"] for one in found["left"]]) == (True, ["status-right-length"])


# --- marks of windows -------------------------------------------------------------------------------------


def test_a_window_of_a_run_shows_how_that_stands(person: Person) -> None:
    person.start("-f", "/dev/null")
    person.tmux("rename-window", "-t", "work", "first")
    person.tmux("new-window", "-d", "-t", "work:", "-n", "second", "sleep 600")
    person.say()
    with Terminal(person) as terminal:
        eventually(lambda: "0:first* 1:second" in terminal.status_line())
        signs = {
            "running": "▶",
            "completed": "✓",
            "failed": "✗",
            "aborted": "■",
            "waiting": "?",
            "queued": "…",
        }
        for state, sign in signs.items():
            for window in ("first", "second"):
                person.tmux("set-option", "-w", "-t", f"work:{window}", "@tmuxagents_state", state)
            shown = f"{sign} 0:first* {sign} 1:second"
            eventually(lambda shown=shown: shown in terminal.status_line())
        person.say("--uninstall")
        eventually(lambda: "0:first* 1:second" in terminal.status_line())


# --- keys -------------------------------------------------------------------------------------------------


def keys(person: Person) -> list[str]:
    return [line for line in person.tmux("list-keys").splitlines() if "tmuxagents" in line]


def test_keys_are_bound_only_if_asked_for_and_given_back(person: Person) -> None:
    person.conf.write_text("bind-key -T prefix B display-message mine\n")
    person.start()
    before = person.options()
    person.say()
    assert keys(person) == []
    person.say("--uninstall")
    lines = person.say("--keys")
    assert "changed" in lines[0]
    bound = keys(person)
    assert len(bound) == 10
    assert person.say() == ["nothing to change"]  # they stay
    person.end()
    person.start()  # a server that reads the configuration
    assert keys(person) == bound
    assert person.say("--keys") == ["nothing to change", tmux_texts.summary("A")]
    person.say("--keys", "C-g")
    assert next(line for line in keys(person) if "-T prefix" in line).split()[3] == "C-g"
    assert len(keys(person)) == 10
    person.say("--uninstall")
    assert person.options() == before


def test_a_key_of_the_persons_own_is_not_taken(person: Person) -> None:
    person.conf.write_text("bind-key -T prefix A display-message mine\n")
    person.start()
    before = person.options()
    for words in (("--keys",), ("--keys", "C-z"), ("--keys", "C-Z"), ("--keys", "C-i"), ("--keys", "x;y")):
        done = person.home.command("integrate", "tmux", "--json", *words)
        assert done.returncode == 2
        assert checked(done.stdout, "error")["error"]["kind"] == "usage"
    assert (person.options(), person.conf.read_text()) == (
        before,
        "bind-key -T prefix A display-message mine\n",
    )


def test_a_key_opens_a_popup_and_the_menu_where_the_person_stands(person: Person) -> None:
    folder = person.home.folder / "a '#(touch ran)' b\ntouch ran"
    folder.mkdir()
    stub = person.home.folder / "tmuxagents"
    stub.write_text('#!/bin/sh\nprintf "%s|" "$PWD" "$@" >>"$HOME/called"\n')
    stub.chmod(0o755)
    person.start("-f", "/dev/null")
    called = person.home.folder / "called"
    lines = tmux_texts.lines("A", str(stub))
    Tmux(str(person.folder / "default")).keys.bind(lines)
    subprocess.run(
        ["tmux", "-L", "default", "new-window", "-t", "work:", "sleep 600"],
        env=person.environment,
        cwd=folder,
        check=True,
        timeout=20,
    )
    with Terminal(person) as terminal:
        eventually(terminal.status_line)
        terminal.type("\x02", "prefix")
        terminal.type("A", "tmuxagents")
        terminal.type("n")
        eventually(lambda: called.exists() and called.read_text() == f"{folder}|attach|--next|")
        terminal.type("\x02", "prefix")
        terminal.type("A", "tmuxagents")
        terminal.type("m")
        eventually(lambda: "next that needs you" in terminal.text())
        terminal.type("t")
        eventually(lambda: called.read_text() == f"{folder}|attach|--next|{folder}|top|")
    assert not list(person.home.folder.rglob("ran"))


@pytest.mark.parametrize("named", ["plain", "a '#(touch ran)' b;", "#{pid},}#[fg=red]%H $(touch ran)~`x`\\;"])
def test_a_key_in_the_window_of_a_run_that_has_ended_stands_in_its_project(
    person: Person, named: str
) -> None:
    project = person.home.folder / named
    project.mkdir()
    person.start("-f", "/dev/null")
    called = person.home.folder / "called"
    stub = person.home.folder / "tmuxagents"
    stub.write_text('#!/bin/sh\nprintf "%s|" "$PWD" "$@" >>"$HOME/called"\n')
    stub.chmod(0o755)
    Tmux(str(person.folder / "default")).keys.bind(tmux_texts.lines("A", str(stub)))
    for _ in range(3):  # the first makes a session
        task = "begin\nanswer error boom\nsettle"
        done = person.home.command("launch", "-L", "default", task, cwd=project)
        assert done.returncode == 0, done.stderr
    rows = ("list-windows", "-a", "-F", "#{pane_dead}#{@tmuxagents_run} #{window_id}")
    dead = eventually(lambda: [row for row in person.tmux(*rows).split("\n") if row.startswith("1")][2:])
    with Terminal(person) as terminal:
        eventually(terminal.status_line)
        person.tmux("switch-client", "-t", dead[0].split()[1])
        expected = ""
        for keys in ("n", "a", "mt"):
            terminal.type("\x02", "prefix")
            terminal.type("A", "tmuxagents")
            terminal.type(keys[0])
            if keys[1:]:
                eventually(lambda: "next that needs you" in terminal.text())
                terminal.type(keys[1])
            verb = {"n": "attach|--next", "a": "attach", "mt": "top"}[keys]
            expected += f"{project}|{verb}|"
            eventually(lambda expected=expected: called.exists() and called.read_text() == expected)
    assert not list(person.home.folder.rglob("ran"))
