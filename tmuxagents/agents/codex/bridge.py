"""The process in the window of a live Codex: `python -I -S bridge.py PROGRAM...`.

The bridge starts an app server that only the user can reach, and is the server's first client. It gives the
server the task, and then opens Codex's own screen as a second client. It passes the server's lines on to the
wrapper as they are, and the wrapper's orders to the server. When the screen is closed, the bridge ends the
server and itself.

Joins.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/tmuxagents/")[0])

from tmuxagents.agents.base import FOLDER_VARIABLE
from tmuxagents.agents.codex.command import AGENT
from tmuxagents.agents.hooks.bridge import WrapperPipes, end
from tmuxagents.cpython import ignoring
from tmuxagents.runs import directory
from tmuxagents.runs.events import STEER, STOP, InboxMessage
from tmuxagents.system import removal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from tmuxagents.agents.codex.app_server import AppServer

_SERVES_WITHIN_S = 15.0
_LOOK_EVERY_S = 0.02
_CANNOT, _SIGNALLED = 2, 128
_NOTIFIES = b'{"method":'

# --- a WebSocket over a Unix socket: over these, the app server can serve several clients ---

_GREETING = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dG11eGFnZW50cy1jb2RleC0xMg==\r\n\r\n"
)
_END_OF_HEAD = b"\r\n\r\n"
_MORE, _TEXT, _CLOSE, _PING, _PONG = 0, 1, 8, 9, 10
_LAST, _MASKED = 0x80, 0x80
_SHORT, _MEDIUM, _LONG = 125, 126, 127
_NO_MASK = bytes(4)  # only the server reads this: a mask of zeros is enough, and costs nothing
_GREETS_WITHIN_S = 10.0
_PIECE = 256 * 1024


class WebSocket:
    """The client's side of one connection."""

    def __init__(self, path: str) -> None:
        self._heard = b""
        self._message = b""
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(_GREETS_WITHIN_S)
            self._socket.connect(path)
            self._socket.sendall(_GREETING)
            head = b""
            while not head.endswith(_END_OF_HEAD):
                head += self._piece(1)  # byte by byte: what follows stays in the socket
            if b" 101 " not in head.split(b"\r\n", 1)[0]:
                raise ConnectionError("the server speaks no WebSocket")
            self._socket.settimeout(None)
        except OSError:
            self.close()
            raise

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._socket.fileno()

    def _piece(self, most: int) -> bytes:
        piece = self._socket.recv(most)
        if not piece:
            raise ConnectionError("the server has closed the connection")
        return piece

    def send(self, text: bytes) -> None:
        """Send a text as one message."""
        self._send(_TEXT, text)

    def _send(self, kind: int, content: bytes) -> None:
        size = len(content)
        if size <= _SHORT:
            head = bytes((_LAST | kind, _MASKED | size))
        elif size < 1 << 16:
            head = struct.pack("!BBH", _LAST | kind, _MASKED | _MEDIUM, size)
        else:
            head = struct.pack("!BBQ", _LAST | kind, _MASKED | _LONG, size)
        self._socket.sendall(head + _NO_MASK + content)

    def hear(self) -> Iterator[bytes]:
        """Yield the messages that have come; wait if none has. Raises OSError if the connection is gone."""
        self._heard += self._piece(_PIECE)
        while (frame := self._frame()) is not None:
            first, content = frame
            kind = first & 0x0F
            if kind == _CLOSE:
                raise ConnectionError("the server has said goodbye")
            if kind == _PING:
                self._send(_PONG, content)
            elif kind in (_TEXT, _MORE):
                self._message += content
                if first & _LAST:
                    whole, self._message = self._message, b""
                    yield whole

    def _frame(self) -> tuple[int, bytes] | None:
        """Take one whole frame from the bytes read so far; None if there is none yet."""
        heard = self._heard
        if len(heard) < 2:  # noqa: PLR2004  (its kind, and its size)
            return None
        size, begins = heard[1], 2
        if size in (_MEDIUM, _LONG):
            begins = 4 if size == _MEDIUM else 10
            if len(heard) < begins:
                return None
            size = int.from_bytes(heard[2:begins], "big")
        if len(heard) < begins + size:
            return None
        self._heard = heard[begins + size :]
        return heard[0], heard[begins : begins + size]

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


# --- the bridge ---


class CodexBridge(WrapperPipes):
    """One app server, its screen, and the wrapper."""

    def __init__(self, program: Sequence[str], run_dir: str, talker: AppServer, *, is_theirs: bool) -> None:
        super().__init__(run_dir)
        self._program = list(program)
        self._talker = talker
        self._talker.alone = False  # the screen answers Codex's requests
        self._is_theirs = is_theirs  # a person reopens the session, and decides what to do
        # In the run directory, so that the wrapper or `prune` removes it if we are killed.
        self._folder = f"{run_dir}/{directory.LIVE_FILES}"
        os.mkdir(self._folder, 0o700)
        # A socket's path may have 107 bytes, and the run directory's path may be longer. This path is short,
        # also for the server and the screen. Codex makes the socket's folder private, so it is a subfolder.
        folder = os.open(run_dir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._socket = f"/proc/{os.getpid()}/fd/{folder}/{directory.LIVE_FILES}/socket"
        self._server: subprocess.Popen[bytes] | None = None
        self._screen: subprocess.Popen[bytes] | None = None
        self._line: WebSocket | None = None
        self._signal = 0  # the signal that ends us
        self._woken, waking = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waking)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note_signal)
        self._has_reported_session = False

    # --- from the start to the end ---

    def _note_signal(self, number: int, _frame: object) -> None:
        self._signal = number  # and do no more: a process may just be starting

    def run(self) -> int:
        """Pass everything on until the screen is closed; return our exit code."""
        try:
            self._line = self._connect()
            if self._is_theirs:
                self._say(self._talker.begin(None))
            self.tell("bridge_hello")
            return self._serve(self._line)
        except OSError as error:
            if self._signal:
                return _SIGNALLED + self._signal
            print(f"The app server of Codex has gone: {error}", file=sys.stderr)  # noqa: T201  (the wrapper records it)
            return 1
        finally:
            end(self._screen)
            end(self._server)
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
        poll.register(self.ordered, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        screen = -1
        while not self._signal:
            ready = {handle for handle, _ in poll.poll()}
            if screen in ready:
                self.tell("bridge_person")
                return self._screen.wait() if self._screen is not None else 0
            if line.fileno() in ready:
                for message in line.hear():
                    self._hear(message)
            if self.ordered in ready and self.obey_orders():
                return 0
            # If the screen opened before the first turn, it could keep that turn from beginning.
            may_open = self._talker.turn is not None or self._talker.settled or self._is_theirs
            if screen < 0 and self._has_reported_session and may_open:
                model = ["-m", self._talker.model] if self._talker.model else []
                words = ["--remote", f"unix://{self._socket}", *model]
                words += ["resume", str(self._talker.session)]
                self._screen = subprocess.Popen([*self._program, *words])
                screen = os.pidfd_open(self._screen.pid)  # readable once the screen has ended
                poll.register(screen, select.POLLIN)
        return _SIGNALLED + self._signal

    # --- the lines of the app server ---

    def _hear(self, message: bytes) -> None:
        """Take one line, reply if that is our part, and pass the line on."""
        line = message.replace(b"\n", b" ")
        reading = self._talker.feed(line, time.monotonic())
        for event in reading.events:  # a taken message is reported before its effects
            self.settlings += event.type == "settled"
            if event.type == "message_sent":
                self.tell("bridge_taken", inboxId=event.fields["inboxId"])
        self._say(reading.reply)
        if self._talker.session is not None and not self._has_reported_session:
            self._has_reported_session = True
            self.tell("bridge_session", session=self._talker.session, model=self._talker.model)
        if any(event.type == "settled" for event in reading.events) and not line.startswith(_NOTIFIES):
            self.tell("bridge_refused", message=self._talker.error_message)
        self.write(line + b"\n")

    def _say(self, words: bytes) -> None:
        """Send lines to the app server, each as one message."""
        for line in words.splitlines():
            assert self._line is not None
            self._line.send(line)

    # --- the orders of the wrapper ---

    def carry_out(self, order: Mapping[str, Any]) -> None:
        """Carry out an order."""
        what = order.get("order")
        if what == "task":
            prompt = directory.read_bytes(f"{self.run_dir}/{directory.PROMPT}") or b""
            self._say(self._talker.begin(prompt.decode("utf-8", "replace")))
        elif what == "abort" and self._talker.turn is None:  # nothing to break off
            self.tell("bridge_taken", inboxId=order["inboxId"])
        elif what == "abort":
            self._say(self._talker.say(InboxMessage(order["inboxId"], STOP, None)))
        elif what == "say":
            message = InboxMessage(order["inboxId"], order.get("kind") or STEER, order.get("text"))
            self._say(self._talker.say(message))
        elif what == "answer" and order["ask"] in self._talker.questions:  # the first answer counts
            ask, answer, by = order["ask"], order["answer"], order["by"]
            self.tell("bridge_answer", ask=ask, answer=answer, by=by)
            self._say(self._talker.answer(ask, answer, by).reply)

    @property
    def is_idle(self) -> bool:
        """Say whether no turn runs, and nothing is open."""
        return self._talker.is_idle


def main(program: Sequence[str]) -> int:
    """Serve one run; return our exit code."""
    # Ctrl-C is for the screen. If we ignored it, the programs that we start would ignore it, too.
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
