"""git alone: limited in time, kept in its repository, and without other programs."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.harness import PATH, eventually
from tmuxagents.errors import Unusable
from tmuxagents.system import git, identity
from tmuxagents.system.git import Git, GitAnswer, GitRefused

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"PATH": PATH, "HOME": str(tmp_path)}


def _with(folder: Path, script: str) -> dict[str, str]:
    """Return an environment with another git."""
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)
    return {"PATH": f"{folder}:{PATH}", "HOME": str(folder)}


def test_what_is_given_and_printed_is_bytes(environment: dict[str, str], tmp_path: Path) -> None:
    text = bytes(range(256)) * 5000
    here = Git(environment, folder=str(tmp_path))
    here.read("init", "--quiet", ".")
    blob = here.read("hash-object", "-w", "--stdin", given=text).decode().strip()
    assert here.read("cat-file", "blob", blob) == text
    assert here.line("cat-file", "-t", blob) == "blob"
    assert here.line("cat-file", "-t", "0" * 40) is None
    with pytest.raises(GitRefused, match="git cat-file failed: "):
        here.read("cat-file", "-t", "0" * 40)


def test_a_git_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    script = f'[ "$1" = config ] && exit\nsleep 600 & echo $! > {tmp_path}/pid\nwait'
    with pytest.raises(GitRefused, match=r"did not end within 1 s"):
        Git(_with(tmp_path, script)).ask("status", limit_s=1)
    pid = int((tmp_path / "pid").read_text())
    eventually(lambda: identity.start_time(pid) is None)  # a killed process takes a moment to end


def test_what_holds_the_outputs_open_is_not_waited_for(tmp_path: Path) -> None:
    environment = _with(tmp_path, "sleep 5 & echo done")
    began = time.monotonic()
    assert Git(environment).read("status") == b"done\n"
    assert time.monotonic() - began < 4


def test_no_git_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="There is no git on PATH"):
        Git({"PATH": str(tmp_path)}).ask("version")
    with pytest.raises(Unusable, match="git cannot be started in /nowhere"):
        Git({"PATH": PATH}, folder="/nowhere").ask("version")


@pytest.mark.parametrize("version", ["2.30.9", "1.8.3.1", "nothing"])
def test_an_old_git_is_refused(tmp_path: Path, version: str) -> None:
    with pytest.raises(Unusable, match=r"too old.*2\.31"):
        git.refuse_old(Git(_with(tmp_path, f"echo git version {version}")))


@pytest.mark.parametrize("version", ["2.31.0", "2.39.5 (Apple Git-154)", "3.0"])
def test_a_new_git_is_taken(tmp_path: Path, version: str) -> None:
    git.refuse_old(Git(_with(tmp_path, f"echo 'git version {version}'")))


def test_only_what_leads_to_the_users_own_configuration_is_inherited(environment: dict[str, str]) -> None:
    odd = {"GIT_DIR": "/x", "GIT_TRACE": "/x", "GIT_SSH_COMMAND": "x", "GIT_CONFIG_PARAMETERS": "'a.b=c'"}
    kept = {"GIT_CONFIG_GLOBAL": "/x", "GIT_CEILING_DIRECTORIES": "/x"}
    seen = Git(environment | odd | kept).environment
    assert not odd.keys() & seen.keys()
    assert kept.items() <= seen.items()
    assert Git(environment | kept, alone=True).environment["GIT_CONFIG_GLOBAL"] == os.devnull


def test_the_users_own_filter_is_left_to_the_user(environment: dict[str, str], tmp_path: Path) -> None:
    project = tmp_path / "project"
    subprocess.run(["git", "init", "--quiet", str(project)], check=True, env=environment)
    for where, name in (("--global", "users"), ("--local", "projects")):
        words = ["git", "-C", str(project), "config", where, f"filter.{name}.clean", "tr a-z A-Z"]
        subprocess.run(words, check=True, env=environment)
    (project / ".gitattributes").write_text("*.u filter=users\n*.p filter=projects\n")
    here = Git(environment, folder=str(project))
    for end, text in (("u", b"ABC"), ("p", b"abc")):
        (project / f"x.{end}").write_text("abc")
        blob = here.read("hash-object", "-w", f"x.{end}").decode().strip()
        assert here.read("cat-file", "blob", blob) == text


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("warning: x\nfatal: it is so.\nhint: y", "it is so"),
        ("remote: fatal: over there\nfatal: here", "over there"),
        ("error: one\nerror: two", "one"),
        ("something", "something"),
        ("", "git left with 1"),
    ],
)
def test_the_reason_is_gits_own(said: str, reason: str) -> None:
    assert GitAnswer(1, b"", said).reason == reason
