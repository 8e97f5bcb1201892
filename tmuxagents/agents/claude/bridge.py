"""The process in the window of a live Claude Code: `python -I -S bridge.py PROGRAM...`.

It starts Claude Code on its own terminal and hears its hooks. What they say goes to the wrapper; messages
from the wrapper go in with the answer to a hook. It ends with Claude Code.

Joins.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/tmuxagents/")[0])

from tmuxagents.agents.claude.hook import VARIABLE
from tmuxagents.agents.claude.live import FOLDER_VARIABLE, PYTHON
from tmuxagents.cpython import ignoring
from tmuxagents.runs import directory
from tmuxagents.runs.messages import FOLLOW_UP
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

_SIGNALLED = 128
_PIECE = 64 * 1024
_HOOK_S = 5.0  # for one hook to say what it has
_STOP = "Stop"
_TAKES = (_STOP, "PostToolUse")
_BEGINS = ("UserPromptSubmit", "PreToolUse")
_ENDS = (_STOP, "StopFailure")
_TERM_S = 1.5


class ClaudeBridge:
    """One Claude Code, its hooks, and the wrapper."""

    def __init__(self, run_dir: str) -> None:
        self._told = os.open(f"{run_dir}/{directory.LIVE_EVENTS}", os.O_WRONLY | os.O_CLOEXEC)
        orders = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        self._orders = os.open(f"{run_dir}/{directory.LIVE_ORDERS}", orders)
        self._ordered = b""
        self._queue: list[dict[str, Any]] = []  # messages that no hook has taken
        self._works = True
        self._settlings = 0
        self._folder = tempfile.mkdtemp(prefix="tmuxagents-")
        self._hooks = socket.socket(socket.AF_UNIX)
        self._hooks.bind(f"{self._folder}/hooks")
        self._hooks.listen(64)

    def run(self, program: Sequence[str]) -> int:
        """Serve until Claude Code has ended; return our exit code."""
        os.environ |= {VARIABLE: f"{self._folder}/hooks", PYTHON: sys.executable}
        child = subprocess.Popen(list(program))
        try:
            return self._serve(child)
        finally:
            _end(child)
            shutil.rmtree(self._folder, ignore_errors=True)

    def _serve(self, child: subprocess.Popen[bytes]) -> int:
        ended = os.pidfd_open(child.pid)
        poll = select.poll()
        for handle in (ended, self._orders, self._hooks.fileno()):
            poll.register(handle, select.POLLIN)
        while True:
            ready = {handle for handle, _ in poll.poll()}
            if self._hooks.fileno() in ready:  # first: its last words come before its end
                with ignoring(OSError):
                    self._hear()
            elif ended in ready:
                code = child.wait()
                return code if code >= 0 else _SIGNALLED - code
            if self._orders in ready and self._obey():
                return 0

    def _hear(self) -> None:
        """Pass on what one hook says, and answer it."""
        line, _ = self._hooks.accept()
        with line:
            line.settimeout(_HOOK_S)
            pieces = []
            while piece := line.recv(_PIECE):
                pieces.append(piece)
            said = b"".join(pieces).replace(b"\n", b" ")
            raw = jsonline.decode(said.decode("utf-8", "replace"))
            name = str(raw.get("hook_event_name")) if isinstance(raw, dict) else ""
            taken = self._taken_at(name)
            self._write(said + b"\n" + b"".join(_note(one) for one in taken))
            if taken:
                line.sendall(_answer(name, "\n\n".join(one["text"] for one in taken)))

    def _taken_at(self, name: str) -> list[dict[str, Any]]:
        """Return the messages that go in with the answer to this hook."""
        taken = []
        if name in _TAKES:
            taken = [one for one in self._queue if name == _STOP or one["kind"] != FOLLOW_UP]
        self._queue = [one for one in self._queue if one not in taken]
        if name in _BEGINS:
            self._works = True
        elif name in _ENDS and not taken:
            self._works = False
            self._settlings += 1
            self._queue.clear()
        return taken

    def _write(self, text: bytes) -> None:
        while text:
            text = text[os.write(self._told, text) :]

    def _obey(self) -> bool:
        """Carry out what was ordered; say whether it is time to leave."""
        self._ordered += os.read(self._orders, _PIECE)
        *lines, self._ordered = self._ordered.split(b"\n")
        leaves = False
        for order in (jsonline.decode(line) for line in lines if line):
            if order.get("order") == "say" and self._works:  # at rest it has no hook that could take one
                self._queue.append(order)
            # Only if nothing has happened since: else the wrapper will hear of that, and decide anew.
            leaves |= order.get("order") == "leave" and order.get("settlings") == self._settlings
        return leaves


def _note(message: dict[str, Any]) -> bytes:
    return jsonline.encode({"type": "bridge_taken", "inboxId": message["inboxId"]})


def _answer(name: str, text: str) -> bytes:
    if name == _STOP:
        return jsonline.encode({"decision": "block", "reason": text})
    said = {"hookEventName": name, "additionalContext": f"The user says: {text}"}
    return jsonline.encode({"hookSpecificOutput": said})


def _end(child: subprocess.Popen[bytes]) -> None:
    """End Claude Code, if it has not ended, and wait for it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if child.poll() is not None:
            return
        child.send_signal(number)
        with ignoring(subprocess.TimeoutExpired):
            child.wait(_TERM_S)


def _leave(number: int, _frame: object) -> NoReturn:
    raise SystemExit(_SIGNALLED + number)


def main(program: Sequence[str]) -> int:
    """Serve one run; return our exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    # A key for Claude Code; ignored, it would be so in Claude Code.
    signal.signal(signal.SIGINT, lambda *_: None)
    return ClaudeBridge(os.environ.pop(FOLDER_VARIABLE)).run(program)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
