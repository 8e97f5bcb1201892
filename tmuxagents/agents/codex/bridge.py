"""The process in the window of a live Codex: `python -I -S bridge.py PROGRAM...`.

It starts an app server that only the user can reach, and is its first client. It gives the server the task,
and then opens Codex's own screen on it. It passes the server's lines on to the wrapper as they are, and the
wrapper's orders to the server. When the screen is closed, the bridge ends the server and itself.

Joins.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/tmuxagents/")[0])

from tmuxagents.agents.base import FOLDER_VARIABLE
from tmuxagents.agents.codex.command import AGENT
from tmuxagents.agents.codex.websocket import WebSocket
from tmuxagents.cpython import ignoring
from tmuxagents.runs import directory
from tmuxagents.runs.events import STEER, STOP, InboxMessage
from tmuxagents.system import removal
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tmuxagents.agents.codex.app_server import AppServer

_SERVES_WITHIN_S = 15.0
_LOOK_EVERY_S = 0.02
_TERM_S = 1.5  # for the screen and the server, each
_CANNOT, _SIGNALLED = 2, 128
_PIECE = 64 * 1024
_NOTIFIES = b'{"method":'


class CodexBridge:
    """One app server, its screen, and the wrapper."""

    def __init__(self, program: Sequence[str], run_dir: str, talker: AppServer, *, is_theirs: bool) -> None:
        self._program = list(program)
        self._run_dir = run_dir
        self._talker = talker
        self._talker.alone = False  # the screen answers Codex's requests
        self._is_theirs = is_theirs  # a person reopens the session, and decides what to do
        self._told = os.open(f"{run_dir}/{directory.LIVE_EVENTS}", os.O_WRONLY | os.O_CLOEXEC)
        orders = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        self._orders = os.open(f"{run_dir}/{directory.LIVE_ORDERS}", orders)
        self._ordered = b""
        # In the run directory, so that the wrapper or `prune` removes it if we are killed.
        self._folder = f"{run_dir}/{directory.LIVE_FILES}"
        os.mkdir(self._folder, 0o700)
        there = os.open(self._folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        # Short for the server and the screen, too: the limit is 107 bytes, and a run may lie deeper.
        self._socket = f"/proc/{os.getpid()}/fd/{there}/socket"
        self._server: subprocess.Popen[bytes] | None = None
        self._screen: subprocess.Popen[bytes] | None = None
        self._line: WebSocket | None = None
        self._settlings = 0
        self._signal = 0  # the signal that ends us
        self._woken, waking = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waking)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note_signal)
        self._is_told_session = False

    # --- from the start to the end ---

    def _note_signal(self, number: int, _frame: object) -> None:
        self._signal = number  # and do no more: a process may just be starting

    def run(self) -> int:
        """Serve until the screen is closed; return our exit code."""
        try:
            self._line = self._connect()
            if self._is_theirs:
                self._say(self._talker.begin(None))
            self._tell("bridge_hello")
            return self._serve(self._line)
        except OSError as error:
            if self._signal:
                return _SIGNALLED + self._signal
            print(f"The app server of Codex has gone: {error}", file=sys.stderr)  # noqa: T201  (the wrapper records it)
            return 1
        finally:
            _end(self._screen)
            _end(self._server)
            with ignoring(OSError):  # the wrapper tries again
                removal.remove(self._folder)

    def _connect(self) -> WebSocket:
        """Start the app server in its own process group, so that no key of the terminal sends it a signal.

        In its own process session it would count as a service, and outlive its run if we are killed.
        """
        words = [*self._program, "app-server", "--listen", f"unix://{self._socket}"]
        self._server = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, process_group=0
        )
        until = time.monotonic() + _SERVES_WITHIN_S
        while True:
            try:
                return WebSocket(self._socket)
            except (FileNotFoundError, ConnectionRefusedError):
                if self._signal or self._server.poll() is not None or time.monotonic() > until:
                    raise
            time.sleep(_LOOK_EVERY_S)

    def _serve(self, line: WebSocket) -> int:
        """Pass on the lines of either side until the screen is closed."""
        poll = select.poll()
        poll.register(line, select.POLLIN)
        poll.register(self._orders, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        screen = -1
        while not self._signal:
            ready = {handle for handle, _ in poll.poll()}
            if screen in ready:
                self._tell("bridge_person")
                return self._screen.wait() if self._screen is not None else 0
            if line.fileno() in ready:
                for message in line.hear():
                    self._hear(message)
            if self._orders in ready and self._obey():
                return 0
            if screen < 0 and self._may_open():
                screen = self._open()
                poll.register(screen, select.POLLIN)
        return _SIGNALLED + self._signal

    # --- the lines of the app server ---

    def _hear(self, message: bytes) -> None:
        """Take one line, reply if that is our part, and pass the line on."""
        line = message.replace(b"\n", b" ")
        reading = self._talker.feed(line, time.monotonic())
        for event in reading.events:  # a taken message is reported before its effects
            self._settlings += event.type == "settled"
            if event.type == "message_sent":
                self._tell("bridge_taken", inboxId=event.fields["inboxId"])
        self._say(reading.reply)
        if self._talker.session is not None and not self._is_told_session:
            self._is_told_session = True
            self._tell("bridge_session", session=self._talker.session, model=self._talker.model)
        if any(event.type == "settled" for event in reading.events) and not line.startswith(_NOTIFIES):
            self._tell("bridge_refused", message=self._talker.error_message)
        self._write(line + b"\n")

    def _say(self, words: bytes) -> None:
        """Send lines to the app server, each as one message."""
        for line in words.splitlines():
            assert self._line is not None
            self._line.send(line)

    def _tell(self, kind: str, **fields: Any) -> None:
        self._write(jsonline.encode({"type": kind, **fields}))

    def _write(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._told, line) :]

    # --- the orders of the wrapper ---

    def _obey(self) -> bool:
        """Carry out the orders; say whether it is time to leave."""
        self._ordered += os.read(self._orders, _PIECE)
        *lines, self._ordered = self._ordered.split(b"\n")
        leaves = [self._carry_out(jsonline.decode(line)) for line in lines if line]
        return any(leaves)

    def _carry_out(self, order: dict[str, Any]) -> bool:
        what = order.get("order")
        if what == "task":
            prompt = directory.read_bytes(f"{self._run_dir}/{directory.PROMPT}") or b""
            self._say(self._talker.begin(prompt.decode("utf-8", "replace")))
        elif what == "abort" and self._talker.turn is None:  # nothing to break off
            self._tell("bridge_taken", inboxId=order["inboxId"])
        elif what == "abort":
            self._say(self._talker.say(InboxMessage(order["inboxId"], STOP, None)))
        elif what == "say":
            message = InboxMessage(order["inboxId"], order.get("kind") or STEER, order.get("text"))
            self._say(self._talker.say(message))
        elif what == "answer" and order["ask"] in self._talker.questions:  # the first answer counts
            ask, answer, by = order["ask"], order["answer"], order["by"]
            self._tell("bridge_answer", ask=ask, answer=answer, by=by)
            self._say(self._talker.answer(ask, answer, by).reply)
        # Only if nothing has happened since; otherwise the wrapper will learn of it, and decide again.
        return what == "leave" and order.get("settlings") == self._settlings and self._talker.is_idle

    # --- the screen ---

    def _may_open(self) -> bool:
        """Say whether the screen may open. Before the first turn, it could keep that turn from beginning."""
        return self._is_told_session and (
            self._talker.turn is not None or self._talker.settled or self._is_theirs
        )

    def _open(self) -> int:
        """Open the screen on our terminal; return a descriptor that is readable once the screen has ended."""
        model = ["-m", self._talker.model] if self._talker.model else []
        words = ["--remote", f"unix://{self._socket}", *model, "resume", str(self._talker.session)]
        self._screen = subprocess.Popen([*self._program, *words])
        return os.pidfd_open(self._screen.pid)


def _end(process: subprocess.Popen[bytes] | None) -> None:
    """End a process with its group: a program may be a launcher that passes no signal on."""
    if process is None or process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        group = os.getpgid(process.pid)
        if group != os.getpgrp():
            os.killpg(group, number)
        elif number == signal.SIGTERM and group == os.getpid():
            os.killpg(group, number)  # our own group: we only note the signal
        else:
            process.send_signal(number)
        try:
            process.wait(_TERM_S)
        except subprocess.TimeoutExpired:
            continue
        return


def main(program: Sequence[str]) -> int:
    """Serve one run; return our exit code."""
    # This key is for the screen. If we ignored it, the programs that we start would ignore it, too.
    signal.signal(signal.SIGINT, lambda *_: None)
    run_dir = os.environ.pop(FOLDER_VARIABLE)
    plan = directory.read_plan(run_dir)
    talker = None if plan is None else AGENT.talker(plan, run_dir)
    if plan is None or talker is None:
        print("This Codex has no app server, so it cannot run live.", file=sys.stderr)  # noqa: T201  (as above)
        return _CANNOT
    return CodexBridge(program, run_dir, talker, is_theirs=plan.reopens).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
