"""A child on another machine works in a checkout there, and what it leaves is here when its run has ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.desk import Desk
from tests.harness import Home, eventually
from tests.machines.lab import NAME, Lab
from tests.status.watchers import checked
from tmuxagents.machines import build
from tmuxagents.machines.hosts import Host, write_host
from tmuxagents.runs import directory

if TYPE_CHECKING:
    from collections.abc import Iterator

# The task is the child: what a child of a real brand does with its tools, a shell does here.
SETTINGS = {"subagents": {"agents": {"worker": {"type": "command", "command": ["/bin/sh"]}}}}
TASK = "set -e; echo 2 > b; git add b; git commit -q -m two; echo 3 > c; pwd"


class Near:
    """A person's project here, with a machine to work on."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab = lab
        self.home = Home(folder / "home")
        self.home.environment |= lab.near
        self.home.be_watched()  # the watcher mirrors
        self.desk = Desk(self.home, folder / "s")
        for agents in (lab.home / ".pi/agent", self.home.agent_dir):
            agents.mkdir(parents=True, exist_ok=True)
            (agents / "settings.json").write_text(json.dumps(SETTINGS))
        program = Path(sys.executable).with_name("tmuxagents")
        host = Host(NAME, "ssh", NAME, (str(program),), str(lab.state), build.version())
        write_host(host, self.home.environment)
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.org")
        (self.home.project / "a").write_text("1\n")
        self.git("add", "a")
        self.git("commit", "--quiet", "-m", "one")

    def git(self, *words: str) -> str:
        """Run git in the project; return what it prints."""
        environment = {"HOME": str(self.home.folder), "PATH": self.home.environment["PATH"]}
        return subprocess.run(
            ["git", *words],
            cwd=self.home.project,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    def launch(self, task: str, *words: str) -> str:
        """Launch a child over there; return its run."""
        return self.desk.launch("--on", NAME, "--agent", "worker", *words, task)

    def ended(self, run_id: str) -> dict[str, Any]:
        """Wait until a run has ended here."""
        run_dir = str(self.desk.folder(run_id))
        found: dict[str, Any] = eventually(lambda: directory.read_result(run_dir), 60)
        return found

    def machine(self, run_id: str) -> dict[str, Any]:
        """Return what is written down of where a run works."""
        return dict(directory.read_machine(str(self.desk.folder(run_id))) or {})

    def mirrors(self) -> list[int]:
        """Return the processes that mirror runs to this home."""
        ours = f"TMUXAGENTS_HOME={self.home.state}".encode()
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
                is_ours = ours in Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
                found += [int(name)] if is_ours and b"mirror" in words else []
        return found


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab() as made:
        yield made


@pytest.fixture
def near(lab: Lab, tmp_path: Path) -> Iterator[Near]:
    made = Near(lab, tmp_path)
    yield made
    made.desk.leave()
    made.home.end_all()
    lab.mend()


def test_a_child_works_in_a_checkout_and_its_work_comes_back(near: Near) -> None:
    (near.home.project / "a").write_text("uncommitted\n")
    done = near.desk("run", "--on", NAME, "--agent", "worker", TASK)
    assert done.returncode == 0, done.stderr
    (run_id,) = near.desk.made()
    ref = f"refs/tmuxagents/{run_id}"
    assert done.stdout.strip().startswith(f"{near.lab.state}/far/checkouts/project-")
    assert "1 uncommitted file stays here" in done.stderr
    assert f"git merge {ref}" in done.stderr
    assert near.git("diff", "--name-only", f"HEAD...{ref}") == "b\nc"
    assert near.git("status", "--porcelain") == "M a"
    assert f"git diff HEAD...{ref}" in near.desk("output", run_id).stderr
    (shown,) = checked(near.desk("poll", run_id, "--json").stdout, "poll")["runs"]
    answer = json.loads(
        near.desk("call", "get_subagent_output", "-", input=json.dumps({"sessionId": run_id})).stdout
    )
    assert f"git merge {ref}" in json.dumps(answer), answer
    assert shown["code"] == {"refs": {ref: near.git("rev-parse", ref)}, "kept": [], "isGone": False}


def test_a_folder_over_there_needs_no_checkout(near: Near) -> None:
    run_id = near.launch("pwd", "--cwd", "~")
    assert near.ended(run_id)["output"].strip() == str(near.lab.home)
    assert "code" not in near.machine(run_id)
    assert near.git("for-each-ref", "refs/tmuxagents") == ""


def test_a_project_without_a_commit_makes_no_run(near: Near) -> None:
    near.git("update-ref", "-d", "HEAD")
    done = near.desk("launch", "--on", NAME, "--agent", "worker", "pwd")
    assert done.returncode == 2
    assert "has no commit yet" in done.stderr
    assert near.desk.made() == []


def test_a_run_ends_here_only_when_its_work_is_here(near: Near) -> None:
    run_id = near.launch(f"{TASK}; touch {near.lab.home}/done; sleep 2")
    eventually((near.lab.home / "done").exists, 30)
    near.lab.cut()
    far = near.lab.state / "runs" / run_id / directory.RESULT
    eventually(far.exists, 30)
    assert not (near.desk.folder(run_id) / directory.RESULT).exists()
    near.lab.mend()
    assert near.ended(run_id)["status"] == "completed"
    assert near.git("diff", "--name-only", f"HEAD...refs/tmuxagents/{run_id}") == "b\nc"
    assert (near.desk.folder(run_id) / directory.RESULT).read_bytes() == far.read_bytes()


def test_a_mirror_that_is_killed_meanwhile_loses_nothing(near: Near) -> None:
    run_id = near.launch("head -c 3000000 /dev/urandom > big")
    far = near.lab.state / "runs" / run_id / directory.RESULT
    eventually(far.exists, 30)
    near.lab.slow(20, "4mbit")  # 3 MB take 6 s
    for _ in range(3):
        for pid in near.mirrors():
            os.kill(pid, signal.SIGKILL)
        eventually(near.mirrors)  # the watcher starts another
        assert not (near.desk.folder(run_id) / directory.RESULT).exists()
    near.lab.mend()
    assert near.ended(run_id)["status"] == "completed"
    assert near.git("cat-file", "-s", f"refs/tmuxagents/{run_id}:big") == "3000000"
    near.git("fsck", "--no-dangling")


def test_what_cannot_come_back_is_said_and_the_run_ends(near: Near) -> None:
    run_id = near.launch(f"{TASK}; rm -rf {near.lab.state}/far/repositories")
    assert near.ended(run_id)["status"] == "completed"
    assert "did not come back" in near.desk("output", run_id).stderr
    assert near.git("for-each-ref", "refs/tmuxagents") == ""
    checkout = near.lab.state / "far/checkouts" / near.machine(run_id)["code"]["key"] / run_id
    assert (checkout / "c").exists()


def test_a_retried_run_works_in_the_same_checkout(near: Near) -> None:
    first = near.launch("echo one > one; [ -e two ] && echo three > three; echo two > two")
    near.ended(first)
    done = near.desk("retry", first)
    assert done.returncode == 0, done.stderr
    (second,) = {*near.desk.made()} - {first}
    near.ended(second)
    assert near.machine(second)["code"]["checkout"] == first
    assert near.git("diff", "--name-only", f"HEAD...refs/tmuxagents/{second}") == "one\nthree\ntwo"
    assert near.git("diff", "--name-only", f"HEAD...refs/tmuxagents/{first}") == "one\ntwo"


def test_a_run_that_waits_for_another_sends_what_was_there_when_it_was_launched(near: Near) -> None:
    first = near.launch("sleep 3; echo x > x")
    second = near.launch("ls -1 .", "--after", first)
    os.replace(near.home.project / "a", near.home.project / "z")
    near.git("add", "--all")
    near.git("commit", "--quiet", "-m", "renamed")
    assert near.ended(second)["output"].split() == ["a"]


def test_what_is_removed_here_is_removed_there(near: Near) -> None:
    run_id = near.launch(TASK)
    near.ended(run_id)
    checkout = near.lab.state / "far/checkouts" / near.machine(run_id)["code"]["key"] / run_id
    assert checkout.exists()
    done = near.desk("prune", run_id)
    assert (done.returncode, done.stderr) == (0, "")
    assert not checkout.exists()
    assert not (near.lab.state / "runs" / run_id).exists()


def test_what_cannot_be_removed_there_is_a_warning(near: Near) -> None:
    late, away = near.launch(TASK), near.launch(TASK)
    for run_id in (late, away):
        near.ended(run_id)
    checkout = near.lab.state / "far/checkouts" / near.machine(late)["code"]["key"] / late
    (checkout / "late").write_text("after the end")
    done = near.desk("prune", late)
    assert f"refs/tmuxagents/{late} has not come back" in done.stderr
    assert checkout.exists()
    near.lab.disconnect()
    near.lab.shut_down()
    try:
        done = near.desk("prune", away)
    finally:
        near.lab.boot()
    assert (done.returncode, f"run {away} stays on {NAME}: " in done.stderr) == (0, True)
    assert near.desk.made() == []
