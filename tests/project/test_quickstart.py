"""scripts/quickstart and scripts/pictures: three real children, again, at once, interrupted, without a trace.

They use the environment that the tests run in, with a demo of their own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from tests.harness import MODEL_SERVER, PATH, REPOSITORY, alive, eventually, real_pi
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

QUICKSTART = REPOSITORY / "scripts" / "quickstart"
PICTURES = REPOSITORY / "scripts" / "pictures"
MADE = ("notes/todo.md", "test_prices.py", "notes/tour.md")
Done = subprocess.CompletedProcess[str]


class Newcomer:
    """A person with an empty home who has just cloned the repository, and the demo that they get."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self.demo = folder / "a demo"
        self.sockets = Path("/tmp", f"tmuxagents-demo-{hashlib.sha256(bytes(self.demo)).hexdigest()[:12]}")
        self.started: list[subprocess.Popen[str]] = []
        self.environment = {
            "PATH": PATH,
            "HOME": str(self.home),
            "TMUXAGENTS_DEV_DIR": str(Path(real_pi()).parents[1]),
            "TMUXAGENTS_DEV_FIXED": "1",
            "TMUXAGENTS_DEMO_DIR": str(self.demo),
        }

    def __call__(self, *arguments: str, program: Path = QUICKSTART) -> Done:
        argv = [str(program), *arguments]
        return subprocess.run(
            argv,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )

    def start(self) -> subprocess.Popen[str]:
        """Start the quickstart in a process group of its own."""
        started = subprocess.Popen(
            [str(QUICKSTART)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )
        self.started.append(started)
        return started

    def is_left_alone_at(self, words: bytes) -> int:
        """Start the quickstart on a terminal, which goes when it shows these words; return the exit code."""
        master, line = pty.openpty()
        argv = ["setsid", "-c", str(QUICKSTART)]
        started = subprocess.Popen(
            argv, cwd=self.folder, env=self.environment, stdin=line, stdout=line, stderr=line
        )
        os.close(line)
        seen = b""
        while words not in seen:
            seen += os.read(master, 65536)
        os.close(master)
        return started.wait(60)

    def own(self, *arguments: str) -> Done:
        """Call the demo's command."""
        argv = [str(self.demo / "tmuxagents"), *arguments]
        return subprocess.run(
            argv, env=self.environment, capture_output=True, text=True, check=False, timeout=60
        )

    def tmux(self, *arguments: str) -> str:
        """Ask the demo's tmux server."""
        socket = str(self.sockets / f"tmux-{os.getuid()}" / "tmuxagents")
        argv = ["tmux", "-S", socket, *arguments]
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=10).stdout.strip()

    def has_its_files(self) -> bool:
        return all((self.demo / "shop" / name).stat().st_size > 0 for name in MADE)

    def processes(self) -> list[str]:
        """Return the command lines of all processes that know of the demo."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words, environment = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
                if bytes(self.demo) in words + environment.replace(b"TMUXAGENTS_DEMO_DIR=", b""):
                    found.append(words.replace(b"\0", b" ").decode())
        return found

    def child(self) -> int | None:
        """Return the process of one of the children."""
        logs = [log.read_text() for log in (self.demo / "state" / "runs").glob("*/events.jsonl")]
        pids = [int(found[1]) for log in logs if (found := re.search(r'"pid":(\d+)', log))]
        return pids[0] if pids else None

    def clean(self) -> None:
        """Take the demo away; nothing is left of it."""
        done = self("--clean")
        assert (done.returncode, done.stderr) == (0, "")
        self.has_no_trace()

    def has_no_trace(self) -> None:
        assert self.processes() == []
        assert [path.exists() for path in (self.demo, self.sockets)] == [False, False]
        assert os.listdir(self.home) == []

    def leave(self) -> None:
        """End everything, for the end of a test."""
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=10)
        self("--clean")


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    made = Newcomer(tmp_path)
    yield made
    made.leave()


def said_until(words: str, process: subprocess.Popen[str]) -> None:
    """Wait until a program has said something."""
    assert process.stdout
    seen = []
    for line in process.stdout:
        seen.append(line)
        if words in line:
            return
    raise AssertionError(f"it never said {words!r}: {seen}")


def plain(text: str) -> str:
    """Return a text without escape sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def test_three_children_work_then_again_at_a_terminal_then_nothing_is_left(newcomer: Newcomer) -> None:
    first = newcomer()
    assert first.returncode == 0, first.stdout + first.stderr
    assert first.stderr == ""
    assert "a demo model" in first.stdout
    assert "\x1b" not in first.stdout
    assert "bg: 0 running / 3 total" in first.stdout
    assert len(re.findall(r"^[0-9a-f]{8}  \w+ .* completed ", first.stdout, re.MULTILINE)) == 3
    assert "TODO: refuse what the shop does not have" in first.stdout.partition("output finder")[2]
    assert newcomer.has_its_files()
    tests = subprocess.run(
        [sys.executable, "-B", "-m", "unittest", "test_prices"],
        cwd=newcomer.demo / "shop",
        capture_output=True,
        check=False,
    )
    assert tests.returncode == 0, tests.stderr

    environment = newcomer.environment | {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
    person = Terminal([str(QUICKSTART)], environment, newcomer.folder)
    assert person.left() == 0
    person.close()
    assert re.search(r"\x1b\[5A", person.text)  # drawn again in its place
    assert "\x1b[32mcompleted" in person.text
    assert re.search(r"bg: [1-3] running / 3 total", person.text)
    assert newcomer.has_its_files()
    windows = newcomer.tmux("list-windows", "-a", "-F", "#{window_name}").split()
    assert windows == ["finder", "tester", "guide"]  # those of the first time made room

    # What it says last can be typed as it stands.
    told = person.text
    attach, poll = re.findall(r"^  (\S.* (?:attach finder|poll --all))$", plain(person.text), re.MULTILINE)
    table = subprocess.run(
        ["bash", "-c", poll],
        cwd=newcomer.folder,
        env=newcomer.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert table.stdout.count("completed") == 3
    person = Terminal(["bash", "-c", attach], environment, newcomer.folder)
    eventually(lambda: newcomer.tmux("list-clients", "-F", "#{window_name}") == "finder")
    person.type("\x02")  # typed too fast, keys are taken for a paste
    eventually(lambda: newcomer.tmux("list-clients", "-F", "#{client_prefix}") == "1")
    person.type("d")
    assert person.left() == 0
    person.close()
    assert "completed\x1b" in person.text
    answer = newcomer.own("launch", "--json", "hello?")
    assert answer.returncode == 0, answer.stderr
    assert "demo model" in newcomer.own("output", "@last", "--wait").stdout

    (clean,) = re.findall(r"^  (\S.* --clean)$", plain(told), re.MULTILINE)
    environment = {name: newcomer.environment[name] for name in ("PATH", "HOME", "TMUXAGENTS_DEV_FIXED")}
    subprocess.run(["bash", "-c", clean], cwd=newcomer.folder, env=environment, check=True, timeout=60)
    newcomer.has_no_trace()


def test_it_can_be_interrupted_and_killed_and_then_run_twice_at_once(newcomer: Newcomer) -> None:
    interrupted = newcomer.start()
    said_until("--name tester", interrupted)
    os.killpg(interrupted.pid, signal.SIGINT)
    told, _ = interrupted.communicate(timeout=60)
    assert interrupted.returncode == 130
    assert "run it again" in told.splitlines()[-1]

    assert newcomer.is_left_alone_at(b"--name tester") == 143
    assert json.loads(newcomer.own("poll", "--json").stdout)["counts"]["running"] == 0

    killed = newcomer.start()
    said_until("poll --follow", killed)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=60)

    other = newcomer.start()
    environment = newcomer.environment | {"TERM": "xterm-256color", "NO_COLOR": "1"}
    person = Terminal([str(QUICKSTART)], environment, newcomer.folder)
    told = other.communicate(timeout=200)[0]
    assert (other.returncode, person.left()) == (0, 0), told + person.text
    person.close()
    assert set(re.findall(r"\x1b\[[0-9;?]*([a-zA-Z])", person.text)) == {"A", "K", "l", "h"}  # and no colours
    assert newcomer.has_its_files()
    newcomer.clean()


def test_a_child_that_does_not_complete_is_told_of(newcomer: Newcomer) -> None:
    running = newcomer.start()
    said_until("poll --follow", running)
    os.kill(eventually(newcomer.child), signal.SIGKILL)
    told, _ = running.communicate(timeout=200)
    assert running.returncode == 1
    assert "failed (signal)" in told
    assert "not all three completed" in told
    assert "They wrote" not in told


@pytest.mark.parametrize(
    ("arguments", "status"), [(["--help"], 0), (["--nonsense"], 2), (["--clean", "x"], 2)]
)
def test_other_words_start_nothing(newcomer: Newcomer, arguments: list[str], status: int) -> None:
    done = newcomer(*arguments)
    assert done.returncode == status
    assert "--clean" in done.stdout + done.stderr
    assert not newcomer.demo.exists()


def test_clean_spares_what_is_not_the_demos(newcomer: Newcomer) -> None:
    (newcomer.demo / "shop").mkdir(parents=True)
    (newcomer.demo / ".quickstart").touch()
    page = newcomer.demo / "shop" / "README.md"
    page.write_text("x")
    reader = subprocess.Popen(["tail", "-f", str(page)], stdout=subprocess.DEVNULL)
    theirs = newcomer.environment | {"TMUXAGENTS_HOME": f"{newcomer.demo}/state2"}
    sleeper = subprocess.Popen(["sleep", "100"], env=theirs)
    ours = subprocess.Popen(["sleep", "100"], env=theirs | {"TMUXAGENTS_HOME": f"{newcomer.demo}/state"})
    try:
        assert newcomer("--clean").returncode == 0
        assert not newcomer.demo.exists()
        assert [one.poll() for one in (reader, sleeper)] == [None, None]
        assert ours.wait(10) == -signal.SIGTERM
    finally:
        for one in (reader, sleeper, ours):
            one.kill()
            one.wait()


@pytest.mark.parametrize("variable", ["TMUXAGENTS_DEMO_DIR", "TMUXAGENTS_DEV_DIR"])
@pytest.mark.parametrize("arguments", [[], ["--clean"]])
def test_a_folder_that_holds_something_else_is_left_alone(
    newcomer: Newcomer, variable: str, arguments: list[str]
) -> None:
    precious = newcomer.folder / "precious"
    (precious / "bin").mkdir(parents=True)
    (precious / "bin" / "thesis").write_text("x")
    newcomer.environment[variable] = str(precious)
    done = newcomer(*arguments)
    assert (done.returncode, "holds something else" in done.stderr) == (2, True)
    assert (precious / "bin" / "thesis").read_text() == "x"
    assert sorted(path.name for path in precious.rglob("*")) == ["bin", "thesis"]


def test_the_demo_model_lives_as_long_as_its_port_file(tmp_path: Path) -> None:
    port_file = tmp_path / "port"
    argv = [sys.executable, str(MODEL_SERVER), "--demo", "--port-file", str(port_file)]
    shell = ["sh", "-c", '"$@" >/dev/null 2>&1 & echo $!', "sh", *argv]
    pid = int(subprocess.run(shell, check=True, stdout=subprocess.PIPE, text=True, timeout=10).stdout)
    eventually(port_file.exists)
    url = f"http://127.0.0.1:{port_file.read_text().strip()}/v1/models"
    time.sleep(1.2)  # twice a second it asks itself whether it is wanted
    with urllib.request.urlopen(url, timeout=10) as response:
        assert b"hello" in response.read()
    port_file.unlink()
    eventually(lambda: not alive(pid))
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=10)


# --- pictures ---


def words_of(picture: Path) -> str:
    """Return the text of a picture, which is one by its syntax."""
    root = ET.fromstring(picture.read_text())
    return "\n".join(root.itertext())


def test_pictures_are_taken_of_the_running_program(newcomer: Newcomer) -> None:
    folder = newcomer.folder / "pictures"
    done = newcomer(str(folder), program=PICTURES)
    assert done.returncode == 0, done.stderr
    names = {"demo.svg", "poll.svg", "statusline.svg", "top.svg", "window.svg"}
    assert {path.name for path in folder.iterdir()} == names
    assert {"finder", "FAILED", "completed"} <= set(re.findall(r"\w+", words_of(folder / "demo.svg")))
    assert {"✓", "completed"} <= set(words_of(folder / "window.svg").split())
    assert "$ tmuxagents poll" in words_of(folder / "poll.svg")
    status = words_of(folder / "statusline.svg")
    assert ("bg: 3 running / 3 total" in status, "✓" in status) == (True, True)
    newcomer.has_no_trace()


@pytest.mark.parametrize("name", ["poll", "statusline", "window"])
def test_the_pictures_of_the_readme_name_no_place_of_whoever_took_them(name: str) -> None:
    text = words_of(REPOSITORY / "docs" / f"{name}.svg")
    assert set(re.findall(r"(?<![\w.])/[\w./-]+", text)) <= {"/tmp/demo/shop"}
