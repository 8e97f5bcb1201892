"""Another user's tmux server: no client of ours, which would obey it, is ever connected to one."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.apart import NOBODY, Apart, become_somebody, let_in
from tests.harness import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.desk import Desk

    Place = tuple[Path, tuple[str, ...], dict[str, str]]  # the socket, and the words and variables for it

_HEADER = struct.Struct("=IHHII")  # of tmux's messages: type, length, flags, version of the protocol, pid
_SHELL, _VERSION = 209, 8  # the message that makes a client become a program


def pose(path: str, program: str, log: str, *, waits: bool) -> None:
    """Be a tmux server of another user: have every client become a program, and write down what it sent.

    A client that finds no server takes the lock beside the socket. Who holds that can be there just in time.
    """
    become_somebody()
    os.umask(0)
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    fcntl.flock(lock, fcntl.LOCK_EX)
    if waits:
        write(log, "ready")
        mark = f":{os.fstat(lock).st_ino} "

        def waits_here() -> bool:
            return any("->" in line and mark in line for line in Path("/proc/locks").read_text().splitlines())

        eventually(waits_here, 60)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        os.close(lock)
        write(log, "ready")
        order = program.encode() + b"\0"
        while True:
            client, _ = listening.accept()
            with client, suppress(OSError):
                client.sendall(_HEADER.pack(_SHELL, _HEADER.size + len(order), 0, _VERSION, 0) + order)
                while said := client.recv(65536):
                    write(log, f"heard {len(said)} bytes")


def write(log: str, line: str) -> None:
    with open(log, "a") as file:
        file.write(f"{line}\n")


class Impostor:
    """Another user of the machine, a folder that everybody may write to, and whether an attack has worked."""

    def __init__(self, folder: Path) -> None:
        self.shared = folder / "shared"
        self.shared.mkdir()
        let_in(self.shared)
        self.shared.chmod(0o1777)
        self.mark = self.shared / "mark"
        self.log = self.shared / "log"
        self.program = self.shared / "program"
        self.program.write_text(f"#!/bin/sh\necho obeyed >{self.mark}\n")
        self.program.chmod(0o755)
        self._acts: list[Apart[None]] = []

    def pose(self, path: Path, *, waits: bool = False) -> int:
        """Pose as the tmux server at a path, at once or when a client comes; return the pid."""
        act: Apart[None] = Apart(partial(pose, str(path), str(self.program), str(self.log), waits=waits))
        self._acts.append(act)
        eventually(self.log.exists)
        return act.pid

    def has_heard_nothing(self) -> bool:
        return not self.mark.exists() and "heard" not in self.log.read_text()

    def leave(self) -> None:
        for act in self._acts:
            act.kill()


@pytest.fixture
def impostor(tmp_path: Path) -> Iterator[Impostor]:
    made = Impostor(tmp_path)
    yield made
    made.leave()


def in_a_link(impostor: Impostor) -> Place:
    """The folder that tmux makes below /tmp was made by others: it is a link to what everybody may write."""
    name = impostor.shared / f"tmux-{os.getuid()}"
    name.symlink_to(".")
    if os.getuid() == 0:
        os.lchown(name, NOBODY, NOBODY)
    return impostor.shared / "tmuxagents", (), {"TMUX_TMPDIR": str(impostor.shared)}


def in_a_shared_folder(impostor: Impostor) -> Place:
    """The folder is sticky, as /tmp is."""
    path = impostor.shared / "x.sock"
    return path, ("-L", str(path)), {}


def in_a_groups_folder(impostor: Impostor) -> Place:
    """The folder is ours, and a group may write to it."""
    folder = impostor.shared / "group"
    folder.mkdir()
    if os.getuid() == 0:
        os.chown(folder, 0, NOBODY)
    folder.chmod(0o770)
    return folder / "x.sock", (), {"TMUXAGENTS_SOCKET": str(folder / "x.sock")}


@pytest.mark.parametrize("place", [in_a_link, in_a_shared_folder, in_a_groups_folder])
def test_nobody_else_puts_a_tmux_server_where_ours_is_to_be(
    desk: Desk, impostor: Impostor, place: Callable[[Impostor], Place]
) -> None:
    path, words, variables = place(impostor)
    impostor.pose(path, waits=True)
    done = desk(*words, "launch", "--json", "done x", variables=variables)
    error = json.loads(done.stdout).get("error", {"exit": 0})
    assert impostor.has_heard_nothing()
    assert (done.returncode, error["exit"], error["kind"]) == (3, 3, "tmux-unreachable")
    assert error["message"].startswith("Others could put a tmux socket into ")
    assert error["hint"]
    assert desk.runs() == []
    for verb in (("layouts", "open", "default"), ("run", "done x")):
        assert desk(*words, *verb, variables=variables).returncode == 3
    checks = json.loads(desk(*words, "doctor", "--json", variables=variables).stdout)["checks"]
    (check,) = [one for one in checks if one["name"] == "server"]
    assert (check["state"], check["message"]) == ("broken", error["message"])
    assert impostor.has_heard_nothing()


def test_a_tmux_variable_that_names_a_server_of_another_user_is_not_obeyed(
    desk: Desk, impostor: Impostor
) -> None:
    run_id = desk.launch("--name", "scout", "done x")
    path = impostor.shared / "theirs"
    pid = impostor.pose(path)
    variables = {"TMUX": f"{path},{pid},0", "TMUX_PANE": "%0"}
    with_tmux = [("launch", "done x"), ("attach", run_id), ("integrate", "tmux"), ("layouts", "open", "grid")]
    for verb in (*with_tmux, ("poll",), ("wait", run_id), ("doctor",)):
        done = desk(*verb, variables=variables)
        assert done.returncode == (3 if verb in with_tmux else verb == ("doctor",)), (verb, done.stderr)
        assert impostor.has_heard_nothing(), verb
    assert desk.made() == [run_id]
