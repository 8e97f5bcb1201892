"""The client over a real sshd: one connection, exact answers, and what a cut link and a closed door mean."""

from __future__ import annotations

import os
import shlex
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.harness import PATH, eventually
from tests.machines.lab import Lab
from tmuxagents.errors import Unusable
from tmuxagents.machines import ssh
from tmuxagents.machines.hosts import Host
from tmuxagents.machines.refusals import Unreachable
from tmuxagents.system import identity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def machine() -> Iterator[Lab]:
    with Lab() as made:
        yield made


@pytest.fixture
def lab(machine: Lab, tmp_path: Path) -> Iterator[Lab]:  # noqa: ARG001  (no pure test)
    yield machine
    machine.mend()
    machine.disconnect()


HOST = Host("box", "ssh", "box", ("/bin/sh", "-c", 'printf "%s|" "$@"; cat', "sh"), "/", "1")


def environment(lab: Lab) -> dict[str, str]:
    return {"PATH": PATH, "HOME": "/nonexistent", **lab.near}


def test_words_and_input_arrive_as_they_are(lab: Lab) -> None:
    words = ["a b", "$HOME", "it's", '"', "\\", "é", "*", "", "-x", ";"]
    text = bytes(range(256)) * 4000
    answer = ssh.run(HOST, words, input=text, timeout=20, environment=environment(lab))
    assert answer == ssh.FarAnswer(0, "".join(f"{word}|" for word in words).encode() + text, "")


def test_exit_code_and_stderr_are_the_far_ones(lab: Lab) -> None:
    answer = ssh.run_line(HOST, "echo out; echo err >&2; exit 3", timeout=20, environment=environment(lab))
    assert answer == ssh.FarAnswer(3, b"out\n", "err\n")


def test_all_calls_share_one_connection(lab: Lab) -> None:
    before = lab.connections()
    for _ in range(5):
        ssh.run_line(HOST, "true", timeout=20, environment=environment(lab))
    assert lab.connections() == before + 1
    assert [path.name for path in lab.masters()] == [
        os.path.basename(ssh.control_path(HOST, environment(lab)))
    ]


def test_another_state_directory_has_a_connection_of_its_own(lab: Lab) -> None:
    ours, theirs = environment(lab), environment(lab) | {"TMUXAGENTS_HOME": "/elsewhere"}
    assert ssh.control_path(HOST, ours) != ssh.control_path(HOST, theirs)


def test_what_a_terminal_needs_is_asked_for(lab: Lab) -> None:
    words = ssh.command(HOST, ["attach", "a b"], tty=True, environment=environment(lab))
    assert words[-3:] == ["-tt", "box", shlex.join([*HOST.command, "attach", "a b"])]
    assert "-T" in ssh.prefix(HOST, environment=environment(lab))


def test_a_far_machine_is_another_one(lab: Lab) -> None:
    boot = ssh.run_line(
        HOST, "cat /proc/sys/kernel/random/boot_id; echo $HOME", timeout=20, environment=environment(lab)
    )
    first, home = boot.out.decode().split()
    assert home == str(lab.home)
    assert (first != identity.boot_id()) == lab.spaces


def test_without_the_program_the_host_is_to_be_added_again(lab: Lab) -> None:
    host = HOST._replace(command=("/nowhere/tmuxagents",))
    with pytest.raises(Unusable, match="box has no tmuxagents at /nowhere/tmuxagents any more") as caught:
        ssh.run(host, ["poll"], timeout=20, environment=environment(lab))
    assert (caught.value.kind, caught.value.hint) == ("far-missing", "tmuxagents hosts add box")


def test_an_answer_without_an_end_is_cut(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh, "MOST_BYTES", 2**20)
    with pytest.raises(Unusable, match="prints more than"):
        ssh.run_line(HOST, "cat /dev/zero", timeout=20, environment=environment(lab))


@pytest.mark.parametrize("stream", [1, 2])
def test_an_answer_that_drips_is_cut_in_time(lab: Lab, stream: int) -> None:
    begun = time.monotonic()
    line = f"while sleep 0.05; do echo x >&{stream}; done"
    with pytest.raises(Unreachable, match="does not answer in time"):
        ssh.run_line(HOST, line, timeout=2, environment=environment(lab))
    assert time.monotonic() - begun < 15


def test_a_closed_door_is_told_at_once(lab: Lab) -> None:
    os.rename(lab.folder / "authorized_keys", lab.folder / "kept")
    try:
        with pytest.raises(Unusable, match="without a password") as caught:
            ssh.run_line(HOST, "true", timeout=20, environment=environment(lab))
    finally:
        os.rename(lab.folder / "kept", lab.folder / "authorized_keys")
    assert caught.value.kind == "login-refused"
    assert lab.masters() == []


@pytest.mark.parametrize("before", ["", "echo hello; read -r _; "])
def test_ctrl_c_says_whether_the_question_has_left(lab: Lab, tmp_path: Path, before: str) -> None:
    there = tmp_path / "there"

    def press() -> None:
        eventually(there.exists)
        os.kill(os.getpid(), signal.SIGINT)

    person = threading.Thread(target=press)
    person.start()
    line = f"{before}touch {shlex.quote(str(there))}; sleep 60"
    with pytest.raises(ssh.CutOff) as caught:
        ssh.run_line(HOST, line, timeout=30, environment=environment(lab), input=b"x\n", greeting=b"hello")
    person.join()
    assert caught.value.asked == bool(before)


def test_without_ssh_it_says_so(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="There is no ssh on PATH"):
        ssh.run_line(HOST, "true", timeout=20, environment=environment(lab) | {"PATH": str(tmp_path)})


def test_a_folder_of_others_is_not_used_for_connections(tmp_path: Path) -> None:
    folder = tmp_path / f"tmuxagents-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.raises(Unusable, match="it is not yours alone"):
        ssh.control_path(HOST, {"XDG_RUNTIME_DIR": str(tmp_path), "HOME": "/x"})


@pytest.mark.parametrize("spaces", [None, False])
def test_a_cut_link_is_unreachable_and_comes_back(*, spaces: bool | None) -> None:
    with Lab(spaces=spaces) as lab:
        asked = environment(lab)
        assert ssh.run_line(HOST, "echo here", timeout=20, environment=asked).out == b"here\n"
        lab.cut()
        began = time.monotonic()
        with pytest.raises(Unreachable, match="box is unreachable"):
            ssh.run_line(HOST, "echo here", timeout=1, environment=asked)
        assert time.monotonic() - began < 10
        lab.mend()
        eventually(lambda: ssh.run_line(HOST, "echo here", timeout=5, environment=asked).out == b"here\n")
        lab.slow(300)
        began = time.monotonic()
        ssh.run_line(HOST, "cat >/dev/null", input=os.urandom(100_000), timeout=20, environment=asked)
        assert time.monotonic() - began > 0.5
        lab.mend()


@pytest.mark.parametrize("spaces", [None, False])
def test_a_reboot_ends_all_that_ran_there(*, spaces: bool | None, tmp_path: Path) -> None:
    with Lab(spaces=spaces) as lab:
        asked = environment(lab)
        started = (
            "tmux -L mine -f /dev/null new-session -d 'sleep 600'; setsid sleep 600 </dev/null >&0 2>&0 &"
        )
        line = f"{started} cat /proc/sys/kernel/random/boot_id"
        first = ssh.run_line(HOST, line, timeout=20, environment=asked).out
        ran = eventually(lambda: len(found := lab.far_processes()) >= 4 and found)
        lab.reboot()
        assert not set(ran) & set(lab.far_processes())
        assert (tmp_path.exists(), lab.home.exists()) == (True, True)
        again = eventually(lambda: _boot(asked))
        assert (again != first) == lab.spaces


def _boot(asked: dict[str, str]) -> bytes | None:
    """Return the boot id, once the connection to the former boot is known to be gone."""
    try:
        return ssh.run_line(HOST, "cat /proc/sys/kernel/random/boot_id", timeout=5, environment=asked).out
    except Unreachable:
        return None
