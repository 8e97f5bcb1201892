"""The tmux edge: which server is which."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.harness import alive
from tmuxagents import tmux
from tmuxagents.tmux import servers

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tmux.worlds import Real

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def test_where_the_caller_is(real: Real) -> None:
    variable = f"{real.socket},{real.pid},0"
    caller = tmux.caller({"TMUX": variable, "TMUX_PANE": "%0"})
    assert caller is not None
    assert (caller.lives, caller.pane) == (True, "%0")
    assert caller.server == real.tmux.identity()
    real.restart()
    after = tmux.caller({"TMUX": variable})
    assert after is not None
    assert not after.lives
    assert after.server != real.tmux.identity()


@pytest.mark.parametrize("variable", ["", "x", "/x", "/x,1", "/x,a,0", "relative,1,0", "/x,²,0"])
def test_outside_tmux_there_is_no_caller(variable: str) -> None:
    assert tmux.caller({"TMUX": variable}) is None
    assert tmux.caller({}) is None


def test_nobody_listens(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "none", tmp_path / "file", tmp_path / ("x" * 200)):
        assert tmux.listening(str(path)) is None


def test_who_listens_is_not_waited_for(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as busy, contextlib.ExitStack() as waiting:
        busy.bind(str(tmp_path / "busy"))
        busy.listen(0)
        assert tmux.listening(str(tmp_path / "busy")) == os.getpid()
        with contextlib.suppress(BlockingIOError):
            while True:
                one = waiting.enter_context(socket.socket(socket.AF_UNIX))
                one.settimeout(0)
                one.connect(str(tmp_path / "busy"))
        assert tmux.listening(str(tmp_path / "busy")) == servers.UNKNOWN


def test_the_socket_folder_is_tmuxs_own(tmp_path: Path) -> None:
    assert tmux.socket_folder({}) == f"/tmp/tmux-{os.getuid()}"
    assert tmux.socket_folder({"TMUX_TMPDIR": ""}) == f"/tmp/tmux-{os.getuid()}"
    assert tmux.socket_folder({"TMUX_TMPDIR": f"{tmp_path}/none"}) == f"/tmp/tmux-{os.getuid()}"
    (tmp_path / "link").symlink_to(tmp_path)
    folder = tmux.socket_folder({"TMUX_TMPDIR": f"{tmp_path}/link"})
    assert folder == f"{os.path.realpath(tmp_path)}/tmux-{os.getuid()}"
    named = subprocess.run(
        ["tmux", "-L", "x", "list-sessions"],
        env={"PATH": os.environ["PATH"], "TMUX_TMPDIR": f"{tmp_path}/link"},
        capture_output=True,
        text=True,
        check=False,
        timeout=5,
    )
    assert f"{folder}/x" in named.stderr  # tmux itself says the same


def test_a_server_is_the_same_only_if_everything_agrees() -> None:
    one = tmux.ServerLife("/x", 1, 2)
    assert one == tmux.ServerLife("/x", 1, 2)
    assert hash(one) == hash(tmux.ServerLife("/x", 1, 2))
    assert one not in (
        tmux.ServerLife("/y", 1, 2),
        tmux.ServerLife("/x", 2, 2),
        tmux.ServerLife("/x", 1, 3),
        "/x",
    )
    assert not tmux.ServerLife("/x", 1, None).lives
    assert alive(os.getpid())
