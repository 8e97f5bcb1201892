"""The bridge of a live Codex, with a stand-in: a server on a WebSocket, and a screen that waits."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tmuxagents.agents.base import FOLDER_VARIABLE
from tmuxagents.agents.codex.app_server import LIVE
from tmuxagents.agents.codex.bridge import WebSocket
from tmuxagents.runs.directory import LIVE_FILES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RUN = "01a1ee15069b4c1f"
STAND_IN = Path(__file__).with_name("codex_stand_in.py")


# --- the socket -------------------------------------------------------------------------------------------


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, list[bytes], Callable[[bytes], None]]]:
    """Yield the path of a server, what it heard, and a way to have it say bytes to its first client."""
    path, heard = str(tmp_path / "s"), []
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()
    clients: list[socket.socket] = []

    def serve() -> None:
        client, _ = listening.accept()
        clients.append(client)
        heard.append(client.recv(4096))
        client.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + b"\x81\x02hi")
        while piece := client.recv(1 << 20):
            heard.append(piece)

    thread = threading.Thread(target=serve, daemon=True)  # where nobody comes, it waits for ever
    thread.start()

    def say(text: bytes) -> None:
        clients[0].sendall(text)

    yield path, heard, say
    for client in clients:
        client.shutdown(socket.SHUT_RDWR)
    thread.join(10)
    for client in [*clients, listening]:
        client.close()


@pytest.mark.parametrize("size", [5, 300, 70_000])
def test_messages_of_any_size(server: Any, size: int) -> None:
    path, heard, say = server
    line = WebSocket(path)
    assert list(line.hear()) == [b"hi"]  # it came with the greeting's answer or after it
    line.send(b"x" * size)
    head = {5: b"\x81\x85", 300: b"\x81\xfe\x01\x2c", 70_000: b"\x81\xff" + (70_000).to_bytes(8, "big")}[size]
    wanted = head + bytes(4) + b"x" * size
    until = time.monotonic() + 10
    while b"".join(heard[1:]) != wanted and time.monotonic() < until:
        time.sleep(0.01)
    assert b"".join(heard[1:]) == wanted
    plain = head[:1] + bytes((head[1] & 0x7F,)) + head[2:] + b"y" * size
    say(plain[:3])
    assert list(line.hear()) == []
    say(plain[3:])
    said: list[bytes] = []
    while not said:
        said = list(line.hear())
    assert said == [b"y" * size]
    line.close()


def test_pieces_pings_and_the_end(server: Any) -> None:
    path, heard, say = server
    line = WebSocket(path)
    assert list(line.hear()) == [b"hi"]
    say(b"\x01\x01a" + b"\x89\x01p" + b"\x80\x01b")  # a text in two pieces, a ping between them
    said: list[bytes] = []
    while not said:
        said = list(line.hear())
    assert said == [b"ab"]
    until = time.monotonic() + 10
    while len(heard) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    assert heard[1] == b"\x8a\x81" + bytes(4) + b"p"
    say(b"\x88\x00")
    with pytest.raises(ConnectionError):
        list(line.hear())
    line.close()


def test_the_last_words_before_a_goodbye_are_heard(server: Any) -> None:
    path, _, say = server
    line = WebSocket(path)
    assert list(line.hear()) == [b"hi"]
    say(b"\x81\x04last" + b"\x88\x00")
    messages = line.hear()
    assert next(messages) == b"last"
    with pytest.raises(ConnectionError):
        next(messages)
    line.close()


def test_a_server_of_another_kind_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()

        def serve() -> None:
            client, _ = listening.accept()
            client.sendall(b"HTTP/1.1 404 Not Found\r\n\r\n")
            client.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with pytest.raises(ConnectionError):
            WebSocket(str(tmp_path / "s"))
        thread.join(10)


# --- the bridge ----------------------------------------------------------------------------------------


class Wrapper:
    """A wrapper's side of one bridge."""

    def __init__(self, folder: Path, *, mode: str = "", **changes: Any) -> None:
        self._outside = folder
        self.folder = folder / ("deep" * 25) / RUN  # no address of a socket is as long as its path
        self.folder.mkdir(parents=True)
        told = {"v": 1, "runId": RUN, "agent": "codex", "cwd": str(folder), "tools": [], "task": "Do it."}
        (self.folder / "meta.json").write_text(json.dumps({**told, **changes}))
        (self.folder / "prompt.txt").write_text("Do it.")
        handles = []
        for name in ("live-events.fifo", "live-orders.fifo"):
            os.mkfifo(self.folder / name)
            handles.append(os.open(self.folder / name, os.O_RDWR | os.O_NONBLOCK))
        self._events, self._orders = handles
        self._rest = b""
        environment = {"PATH": os.environ["PATH"], FOLDER_VARIABLE: str(self.folder), "STAND_IN": mode}
        words = [sys.executable, "-I", "-S", str(LIVE.bridge), sys.executable, str(STAND_IN)]
        self.child = subprocess.Popen(
            words,
            env={**environment, "TMPDIR": str(folder)},
            cwd=folder,
            stderr=subprocess.PIPE,
            process_group=0,
        )
        self.heard: list[dict[str, Any]] = []

    def order(self, **order: Any) -> None:
        os.write(self._orders, json.dumps(order).encode() + b"\n")

    def hear(self, what: str) -> dict[str, Any]:
        """Return the first line of this type or method, new or heard before."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            for line in self.heard:
                if what in (line.get("type"), line.get("method")):
                    self.heard.remove(line)
                    return line
            try:
                self._rest += os.read(self._events, 65536)
            except BlockingIOError:
                time.sleep(0.01)
            *lines, self._rest = self._rest.split(b"\n")
            self.heard += [json.loads(line) for line in lines]
        raise AssertionError(f"{what} was not said; but {self.heard}, {self.child.poll()}")

    def ended(self) -> int:
        """Wait for its end; nothing of it is left then."""
        code = self.child.wait(20)
        assert not self.left_outside()
        assert not (self.folder / LIVE_FILES).exists()
        return code

    def left_outside(self) -> list[Path]:
        """Return what lies in the folder for temporary files."""
        return [path for path in self._outside.iterdir() if path.name.startswith("tmuxagents-")]

    def server(self) -> int:
        """Return the pid of the app server."""
        (found,) = Path(f"/proc/{self.child.pid}/task/{self.child.pid}/children").read_text().split()
        return int(found)

    def close(self) -> None:
        self.child.terminate()  # it ends what it has started
        self.child.wait()
        assert self.child.stderr is not None
        self.child.stderr.close()
        for handle in (self._events, self._orders):
            os.close(handle)


@pytest.fixture
def wrapper(tmp_path: Path) -> Iterator[Callable[..., Wrapper]]:
    made: list[Wrapper] = []

    def make(**changes: Any) -> Wrapper:
        made.append(Wrapper(tmp_path, **changes))
        return made[-1]

    yield make
    for one in made:
        one.close()


def screen(one: Wrapper) -> list[str]:
    """Wait for the screen; return the words that it was started with."""
    path = one.folder.parents[1] / "screen.json"
    until = time.monotonic() + 20
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.01)
    words: list[str] = json.loads(path.read_text())
    return words


def test_the_task_is_given_before_the_screen_opens_and_the_run_leaves_when_it_may(wrapper: Any) -> None:
    one = wrapper()
    one.hear("bridge_hello")
    one.order(order="task")
    assert one.hear("bridge_session") == {"type": "bridge_session", "session": "T", "model": "m1"}
    item = one.hear("item/started")["params"]["item"]
    assert item["content"][0]["text"] == "Do it."
    words = screen(one)
    assert words[0] == "--remote"
    assert words[2:] == ["-m", "m1", "resume", "T"]
    one.order(order="say", inboxId=1, kind="steer", text="finish")
    assert one.hear("bridge_taken")["inboxId"] == 1
    one.hear("turn/completed")
    one.order(order="leave", settlings=7)  # of another moment
    one.order(order="leave", settlings=1)
    assert one.ended() == 0


def test_the_app_server_hears_no_key_and_is_no_service_that_would_outlive_its_run(wrapper: Any) -> None:
    one = wrapper()
    one.hear("bridge_hello")
    server = one.server()
    assert os.getpgid(server) == server != os.getsid(server)


def test_one_that_is_killed_leaves_nothing_outside_of_its_run_directory(wrapper: Any) -> None:
    one = wrapper()
    one.hear("bridge_hello")
    server = one.server()
    one.child.kill()
    one.child.wait()
    os.kill(server, signal.SIGKILL)
    assert not one.left_outside()
    # Its wrapper removes that (test_live.py), or `prune` (test_prune.py).
    assert stat.S_IMODE((one.folder / LIVE_FILES).stat().st_mode) == 0o700


def test_a_message_that_stops_breaks_off_the_turn(wrapper: Any) -> None:
    one = wrapper()
    one.order(order="task")
    one.hear("turn/started")
    one.order(order="abort", inboxId=1, kind="stop")
    assert one.hear("bridge_taken")["inboxId"] == 1
    assert one.hear("turn/completed")["params"]["turn"]["status"] == "interrupted"
    one.order(order="abort", inboxId=2, kind="stop")  # nothing is left to stop
    assert one.hear("bridge_taken")["inboxId"] == 2


def test_a_session_that_is_opened_again_gets_no_task(wrapper: Any) -> None:
    one = wrapper(reopens=True, childSession="T")
    one.hear("bridge_session")
    assert screen(one)[-1] == "T"
    assert not [line for line in one.heard if line.get("method") == "turn/started"]
    one.child.send_signal(signal.SIGTERM)
    assert one.ended() == 128 + signal.SIGTERM


def test_an_answer_from_elsewhere_is_told_and_said_once(wrapper: Any) -> None:
    one = wrapper(mode="asks")
    one.order(order="task")
    for ask, answer, decision in (("7", "allow", "accept"), ("8", "deny", "decline")):
        one.hear("item/commandExecution/requestApproval")
        for _ in range(2):  # the second comes too late
            one.order(order="answer", ask=ask, answer=answer, by="a person")
        told = {"type": "bridge_answer", "ask": ask, "answer": answer, "by": "a person"}
        assert one.hear("bridge_answer") == told
        assert one.hear("serverRequest/resolved")["params"]["requestId"] == int(ask)
        assert one.hear("item/agentMessage")["params"]["answered"] == {"decision": decision}
    assert not [line for line in one.heard if line.get("type") == "bridge_answer"]


def test_a_person_closes_the_screen(wrapper: Any) -> None:
    one = wrapper(mode="closes")
    one.order(order="task")
    one.hear("bridge_person")
    assert one.ended() == 3


@pytest.mark.parametrize("mode", ["refuses", "refuses-turn"])
def test_a_refusal_is_told(wrapper: Any, mode: str) -> None:
    one = wrapper(mode=mode)
    one.order(order="task")
    assert one.hear("bridge_refused")["message"] == "not here"
    one.child.send_signal(signal.SIGHUP)
    assert one.ended() == 128 + signal.SIGHUP


@pytest.mark.parametrize("mode", ["no-server", "goes"])
def test_a_server_that_goes_ends_it(wrapper: Any, mode: str) -> None:
    one = wrapper(mode=mode)
    one.order(order="task")
    assert one.ended() == 1
    assert b"The app server of Codex has gone" in one.child.stderr.read()


def test_an_old_codex_cannot_run_live(wrapper: Any) -> None:
    one = wrapper(agentVersion="0.98.0")
    assert one.ended() == 2
    assert b"cannot run live" in one.child.stderr.read()
