"""Code over a real sshd: one connection for all of it, and links that break in the middle."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.machines.lab import NAME, Lab
from tests.machines.projects import Ground
from tmuxagents.errors import Unusable
from tmuxagents.machines.hosts import Host
from tmuxagents.machines.refusals import Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REF = "refs/tmuxagents/run1"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab() as made:
        yield made


@pytest.fixture
def ground(lab: Lab, tmp_path: Path) -> Ground:
    """A project here, and the lab as the machine that it goes to."""
    lab.mend()
    made = Ground(tmp_path)
    (made.bin / "ssh").unlink()
    made.environment |= lab.near
    program = Path(sys.executable).with_name("tmuxagents")
    made.host = Host(NAME, "ssh", NAME, (str(program),), str(lab.state), "0")
    made.far = lab.home
    return made


def test_code_goes_and_comes_over_one_connection(ground: Ground, lab: Lab) -> None:
    lab.disconnect()
    before = lab.connections()
    ground.commit(a="1")
    found, cwd = ground.send()
    assert str(cwd).startswith(f"{lab.state}/far/checkouts/")
    ground.commit(folder=cwd, b="2")
    (cwd / "c").write_text("3")
    ground.bring(found)
    assert ground.git("diff", "--name-only", "HEAD", REF) == "b\nc"
    assert ground.remove(found) == []
    assert lab.connections() - before == 1


def test_a_link_that_is_cut_in_the_middle_of_a_push_and_of_a_fetch(ground: Ground, lab: Lab) -> None:
    (ground.project / "big").write_bytes(os.urandom(3_000_000))
    ground.commit()
    with pytest.raises(Unreachable, match=f"{NAME} is unreachable"):
        _cut_while(lab, ground.send)
    found, cwd = _in_time(ground.send)
    assert (cwd / "big").stat().st_size == 3_000_000
    (cwd / "more").write_bytes(os.urandom(3_000_000))
    with pytest.raises(Unreachable, match=f"{NAME} is unreachable"):
        _cut_while(lab, lambda: ground.bring(found))
    assert ground.git("for-each-ref", "refs/tmuxagents") == ""
    assert _in_time(lambda: ground.bring(found)).refs
    assert ground.git("cat-file", "-s", f"{REF}:more") == "3000000"
    ground.git("fsck", "--no-dangling")
    assert ground.remove(found) == []


def _in_time(act: Callable[[], Any]) -> Any:
    """Do it as soon as the machine answers again: the first connection after a cut may still time out."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return act()
        except Unreachable as why:
            print(f"not yet: {why.message}")
            assert time.monotonic() < deadline


def _cut_while(lab: Lab, act: object) -> None:
    """Do it over a slow link that is cut after a while, and have the link whole again."""
    assert callable(act)
    lab.slow(20, "4mbit")  # 3 MB take 6 s
    cutter = threading.Timer(3.0, lab.cut)
    cutter.start()
    try:
        act()
    finally:
        cutter.cancel()
        cutter.join()
        lab.mend()
        lab.disconnect()


def test_a_key_that_changed_stops_it_with_a_sentence(ground: Ground, lab: Lab) -> None:
    ground.commit(a="1")
    lab.disconnect()
    lab.trust(lab.folder / "key")  # another one than the machine has
    try:
        with pytest.raises(Unusable, match=f"The host key of {NAME} has changed"):
            ground.send()
    finally:
        lab.trust()
    assert ground.send()


def test_a_far_machine_that_restarts_keeps_what_was_sent(ground: Ground, lab: Lab) -> None:
    ground.commit(a="1")
    found, cwd = ground.send()
    (cwd / "a").write_text("2")
    lab.reboot()
    began = time.monotonic()
    assert ground.bring(found).refs
    assert time.monotonic() - began < 60
    assert ground.remove(found) == []
