"""What holds for every test: a private home, private tmux servers, nothing of the caller's environment."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.harness import Home, ModelServer, TmuxServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Who starts the tests in the background may have them ignore Ctrl-C, and so all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def nothing_of_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Point what a careless test would touch at folders whose names say what it did."""
    for name in list(os.environ):
        if name.startswith(("TMUX", "PI_", "XDG_")) and name != "TMUXAGENTS_TEST_PI":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "a-test-touched-the-real-home"))
    monkeypatch.setenv("TMUX_TMPDIR", str(tmp_path / "a-test-touched-the-default-tmux-socket"))
    umask = os.umask(0o022)  # some of what is tested changes ours
    yield
    os.umask(umask)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A private home; whatever its scripted children founded is ended."""
    made = Home(tmp_path / "home")
    yield made
    made.end_all()


@pytest.fixture
def tmux_server(tmp_path: Path) -> Iterator[TmuxServer]:
    with TmuxServer(tmp_path) as server:
        yield server


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    """The project's own model server, one for all tests."""
    with ModelServer(tmp_path_factory.mktemp("models")) as server:
        yield server
