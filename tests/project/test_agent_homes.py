"""The table that leads real agents to the model server: brands that can be installed, and whole files."""

from __future__ import annotations

import json
import subprocess
import tomllib
from typing import TYPE_CHECKING

import pytest

from scripts import agent_homes
from tests.harness import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

URL = "http://127.0.0.1:4711/v1"


def test_each_brand_can_be_installed() -> None:
    said = subprocess.run(
        ["scripts/agents", "--list"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert {brand.package for brand in agent_homes.BRANDS.values()} <= {"pi", *said.stdout.split()}


@pytest.mark.parametrize("name", [name for name in agent_homes.BRANDS if name != "pi"])
def test_a_home_leads_to_the_server_and_nowhere_else(name: str, tmp_path: Path) -> None:
    brand = agent_homes.BRANDS[name]
    variables = agent_homes.furnish(brand, tmp_path, URL)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    for path in files:
        (tomllib if path.suffix == ".toml" else json).loads(path.read_text())
    told = [*variables.values(), *(path.read_text() for path in files)]
    assert any("127.0.0.1:4711" in text for text in told)
    assert not [text for text in told if "{url}" in text or "{model}" in text]
    assert not [text for text in told if "://" in text.replace("http://127.0.0.1:4711", "")]
    assert variables["HOME"] == str(tmp_path)
