"""The verb demo, from a wheel: the children work, and --clean leaves nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.harness import REPOSITORY, real_pi

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness import Home


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder from which Python imports what a wheel holds, and nothing of the repository."""
    folder = tmp_path_factory.mktemp("wheel")
    argv = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(argv, cwd=REPOSITORY, check=True, capture_output=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder / "site")
    assert (folder / "site" / "tmuxagents" / "demo" / "scripts" / "demo_run").exists()
    return folder / "site"


def demo(home: Home, installed: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    # A folder of its own in front of all others, with the program and its interpreter.
    programs = home.folder / "programs"
    programs.mkdir(exist_ok=True)
    python = programs / "python"
    if not python.exists():
        python.write_text(f'#!/bin/sh\nPYTHONPATH={installed} exec {sys.executable} "$@"\n')
        program = programs / "tmuxagents"
        program.write_text(f'#!/bin/sh\nexec {python} -P -m tmuxagents "$@"\n')
        python.chmod(0o755)
        program.chmod(0o755)
    here = f"import sys; sys.executable = {str(python)!r}; sys.argv[0] = 'tmuxagents'; "
    code = here + "from tmuxagents.__main__ import main; main()"
    environment = home.environment | {"TMUXAGENTS_DEMO_DIR": str(home.folder / "demo")} | variables
    argv = [str(python), "-P", "-c", code, "demo", *words]
    return subprocess.run(
        argv, cwd=home.project, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def test_three_children_work_and_nothing_is_left_of_them(home: Home, installed: Path) -> None:
    before = set(os.listdir(home.folder))
    shown = demo(home, installed, TMUXAGENTS_PI=real_pi())
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count(" completed ") >= 3
    assert "They wrote notes/todo.md test_prices.py notes/tour.md" in shown.stdout
    assert "tmuxagents demo --clean" in shown.stdout
    argv = [str(home.folder / "demo" / "tmuxagents"), "output", "finder"]
    own = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert "prices.py:8" in own.stdout
    cleaned = demo(home, installed, "--clean")
    assert (cleaned.returncode, cleaned.stderr) == (0, "")
    assert set(os.listdir(home.folder)) == before | {"programs"}


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"TMUXAGENTS_PI": "/nowhere/pi"}, "The agent pi is not installed: there is no /nowhere/pi."),
        ({"PATH": "/nowhere", "TMUXAGENTS_PI": "/bin/true"}, "The demo needs bash."),
    ],
)
def test_what_is_missing_is_said_and_nothing_is_made(
    home: Home, variables: dict[str, str], message: str
) -> None:
    environment = home.environment | {"TMUXAGENTS_DEMO_DIR": str(home.folder / "demo")} | variables
    done = home.command("demo", env=environment)
    assert (done.returncode, done.stdout, done.stderr.splitlines()[0]) == (3, "", message)
    assert not (home.folder / "demo").exists()


def test_a_folder_that_holds_something_else_is_left_alone(home: Home) -> None:
    folder = home.folder / "demo"
    folder.mkdir()
    (folder / "mine").write_text("x")
    done = home.command("demo", "--clean", env=home.environment | {"TMUXAGENTS_DEMO_DIR": str(folder)})
    assert (done.returncode, os.listdir(folder)) == (2, ["mine"])
