"""What holds for every test: a private home, private tmux servers, nothing of the caller's environment."""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests import apart
from tests.desk import Desk
from tests.harness import Home, ModelServer, TmuxServer
from tests.terminals import Room

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

LIMIT_S = 40
STDERR = pytest.StashKey[int]()  # the real one, also while pytest captures
crashed: list[str] = []  # the tests that have ended their worker, as xdist's controller knows them

# Who starts the tests in the background may have them ignore Ctrl-C, and so all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("same", database=None, deadline=None, derandomize=True, max_examples=25)
# pytest --hypothesis-profile=thorough -m pure: other examples at each run, and many of them
settings.register_profile("thorough", database=None, deadline=None, max_examples=2000)
settings.load_profile("same")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need neither a folder nor a process: `scripts/test --only-tests -m pure`."""
    for item in items:
        needs = {"tmp_path", "nothing_hangs", "models"} & set(getattr(item, "fixturenames", ()))
        if not needs and item.path.parent.name != "whole":
            item.add_marker(pytest.mark.pure)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for garbage only afterwards, and not among what stays to the end.

    Collecting makes a million objects that stay; a third of its time went into looking through them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


# --- nothing hangs for ever: pyproject.toml has pytest's own clock, `faulthandler_timeout` ------------------


def pytest_configure(config: pytest.Config) -> None:
    """Let who is told to end say first where it is."""
    config.stash[STDERR] = os.dup(2)
    faulthandler.register(signal.SIGTERM, file=config.stash[STDERR], chain=True)
    os.register_at_fork(after_in_child=lambda: faulthandler.unregister(signal.SIGTERM))  # tests end those


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Start the clock again: pytest stops it when a test fails, and what follows may hang, too."""
    start_clock(item.config)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Start the clock for the end of Python, which waits for each thread that a test has left."""
    start_clock(session.config)


def start_clock(config: pytest.Config) -> None:
    """End this process at the limit, with the stacks of all threads, unless the clock is stopped before."""
    limit_s = float(config.getini("faulthandler_timeout"))
    if limit_s > 0:  # else somebody wants none, to debug
        faulthandler.dump_traceback_later(limit_s, file=config.stash[STDERR], exit=True)


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str) -> None:
    """Note a test that has ended its worker, as one that hangs does."""
    crashed.append(crashitem)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell the next worker, which gets the rest of the file, and the same test once more."""
    node.workerinput["crashed"] = list(crashed)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Do not try again what has ended a worker: it may take as long, and if it passed, it had not failed."""
    if item.nodeid in getattr(item.config, "workerinput", {}).get("crashed", ()):
        pytest.fail("it has ended a worker: its stacks stand above", pytrace=False)


@pytest.fixture(autouse=True)
def nothing_of_the_callers(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Point what a careless test would touch at folders whose names say what it did."""
    for name in list(os.environ):
        if name.startswith(("TMUX", "PI_", "XDG_")) and name != "TMUXAGENTS_TEST_PI":
            monkeypatch.delenv(name)
    base = tmp_path_factory.getbasetemp()
    monkeypatch.setenv("HOME", str(base / "a-test-touched-the-real-home"))
    monkeypatch.setenv("TMUX_TMPDIR", str(base / "a-test-touched-the-default-tmux-socket"))
    umask = os.umask(0o022)  # some of what is tested changes ours
    yield
    os.umask(umask)


@pytest.fixture(autouse=True)
def nothing_apart() -> Iterator[None]:
    """End what a failed test has left apart from it."""
    yield
    apart.end_all()


@pytest.fixture
def nothing_hangs() -> Iterator[None]:
    """Fail a test that is blocked, as one is when the code under test waits where it must not."""
    before = signal.signal(signal.SIGALRM, _fail)
    signal.alarm(LIMIT_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _fail(_number: int, _frame: object) -> None:
    raise AssertionError(f"the test takes more than {LIMIT_S} s")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives until it is ended."""
    with apart.running(["/bin/sleep", "600"]) as made:
        yield made


@pytest.fixture
def run_dir(tmp_path: Path) -> str:
    """A folder for the files of a run."""
    made = tmp_path / "run"
    made.mkdir(mode=0o700)
    return str(made)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A private home; whatever its scripted children founded is ended."""
    made = Home(tmp_path / "home")
    yield made
    made.end_all()


@pytest.fixture
def desk(home: Home, tmp_path: Path) -> Iterator[Desk]:
    """A place from which to launch; everything that was launched is ended."""
    made = Desk(home, tmp_path / "sockets")
    yield made
    made.leave()


@pytest.fixture
def room(home: Home, tmp_path: Path) -> Iterator[Room]:
    """A place where people sit; they and their servers leave with the test."""
    made = Room(home, tmp_path)
    yield made
    made.leave()


@pytest.fixture
def mine(room: Room) -> TmuxServer:
    """The server of a person, where their runs are, too."""
    return room.another("mine")


@pytest.fixture
def tmux_server(tmp_path: Path) -> Iterator[TmuxServer]:
    with TmuxServer(tmp_path) as server:
        yield server


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    """The project's own model server, one for all tests."""
    with ModelServer(tmp_path_factory.mktemp("models")) as server:
        yield server
