"""The tmux edge: how dear it is, in processes."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import libtmux
import pytest
from libtmux.exc import LibTmuxException

from tests.harness import REPOSITORY
from tests.tmux.worlds import OWNER, Real, an_order, home, new_run
from tmuxagents import tmux
from tmuxagents.system import process
from tmuxagents.tmux import library, runner

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Count the tmux processes since the last time this was asked."""
    log = tmp_path / "tmux-calls"
    stub = tmp_path / "bin" / "tmux"
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/sh\necho "$@" >>"{log}"\nexec {found_tmux()} "$@"\n')
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stub.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(runner, "_client", None)
    monkeypatch.setattr(runner, "_known", {})

    def since() -> int:
        count = len(log.read_text().splitlines()) if log.exists() else 0
        log.unlink(missing_ok=True)
        return count

    return since


def found_tmux() -> str:
    found = process.find_program("tmux", os.environ["PATH"])
    assert found is not None
    return found


def test_how_many_processes_each_call_is(real: Real, nowhere: str, counted: Callable[[], int]) -> None:
    tmux.Tmux(nowhere).windows.open(an_order(new_run()), home())
    assert counted() == 2  # the version of the client, and the window with its session and server
    person = real.attach()
    counted()
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    assert counted() == 2  # a look, and the window with its session
    real.tmux.windows.open(an_order(new_run()), home())
    assert counted() == 1
    calls: list[tuple[int, Callable[[], object]]] = [
        (1, partial(real.tmux.windows.find, run_id)),
        (1, real.tmux.windows.all),
        (1, partial(real.tmux.windows.set_state, opened.window, run_id, "completed")),
        (1, partial(real.tmux.windows.arm_close, opened.window, run_id, 300)),
        (1, partial(real.tmux.clients.at, opened.pane)),
        (1, partial(real.tmux.clients.show, person, opened.window, session=opened.session, run_id=run_id)),
        (2, real.tmux.status.declare),
        (1, real.tmux.status.declare),
        (2, partial(real.tmux.status.push, {"status": "x", "running": "1"})),
        (1, partial(real.tmux.windows.close_pane, opened.pane, run_id)),
        (0, partial(tmux.listening, real.socket)),
        (0, partial(tmux.caller, {"TMUX": f"{real.socket},{real.pid},0"})),
    ]
    for expected, act in calls:
        act()
        assert counted() == expected, act


def test_a_launch_and_a_push_do_not_import_libtmux(real: Real) -> None:
    program = (
        f"import sys\nsys.path.insert(0, {str(REPOSITORY)!r})\n"
        "from tmuxagents import tmux\n"
        f"ours = tmux.Tmux({real.socket!r})\n"
        f"home = tmux.Home(['agents-app'], owner={OWNER!r})\n"
        f"ours.windows.open(tmux.Order({new_run()!r}, name='x', argv=['/bin/cat'], state='queued'), home)\n"
        "ours.status.push({'status': 'x'})\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    argv = [sys.executable, "-I", "-S", "-c", program]  # without what a venv or a measurement adds
    done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=20)
    assert not {"libtmux", "click", "pathlib", "dataclasses", "shutil"} & set(done.stdout.split())


def test_what_libtmux_asks_by_itself_starts_no_process(real: Real, counted: Callable[[], int]) -> None:
    server = library.BoundedServer(runner.Runner(real.socket))
    session = server.session(real.tmux.windows.open(an_order(new_run()), home()).session)
    counted()
    asked: list[Callable[[], object]] = [
        lambda: server.windows,
        partial(server.search_windows, filter="1"),
        session.refresh,
        lambda: session.windows,
        partial(libtmux.Window.from_window_id, server, "@0"),
    ]
    for ask in asked:
        with pytest.raises(LibTmuxException):
            ask()
        assert counted() == 0
