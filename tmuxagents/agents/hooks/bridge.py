"""The process in the window of a live agent that has hooks: `python -I -S BRAND/bridge.py PROGRAM...`.

The bridge starts the agent on its own terminal. It receives the agent's hooks, and passes their input on to
the wrapper. The agent gets the wrapper's messages in our answers to two of its hooks: after a tool call, and
at the end of a turn. The bridge ends with the agent. A brand defines how its agent finds the hooks, and what
else the bridge passes on.

Joins.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys

from tmuxagents.agents.base import FOLDER_VARIABLE
from tmuxagents.agents.brand import PYTHON
from tmuxagents.agents.hooks.hook import VARIABLE, address_of
from tmuxagents.cpython import ignoring
from tmuxagents.runs import directory
from tmuxagents.runs.events import FOLLOW_UP
from tmuxagents.system import places, removal
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, ClassVar, NoReturn

PIECE = 64 * 1024
_SIGNALLED = 128
_HOOK_S = 5.0  # for one hook to send its input
_TERM_S = 1.5


class WrapperPipes:
    """The bridge's ends of the two FIFOs between it and the wrapper."""

    def __init__(self, run_dir: str) -> None:
        self.run_dir = run_dir
        self._events = os.open(f"{run_dir}/{directory.LIVE_EVENTS}", os.O_WRONLY | os.O_CLOEXEC)
        orders = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        self.ordered = os.open(f"{run_dir}/{directory.LIVE_ORDERS}", orders)  # readable when orders have come
        self._rest = b""
        self.settlings = 0  # how often the agent has settled

    def tell(self, kind: str, **fields: Any) -> None:
        """Send the wrapper a line of our own."""
        self.write(jsonline.encode({"type": kind, **fields}))

    def write(self, text: bytes) -> None:
        """Pass a line on to the wrapper."""
        places.write_all(self._events, text)

    def obey_orders(self) -> bool:
        """Carry out the orders that have come; say whether it is time to leave."""
        *lines, self._rest = (self._rest + os.read(self.ordered, PIECE)).split(b"\n")
        orders = [jsonline.decode(line) for line in lines if line]
        leaves = False
        for order in orders:
            if order.get("order") != "leave":
                self.carry_out(order)
            # Only if nothing has happened since; else the wrapper will learn of that, and decide again.
            elif order.get("settlings") == self.settlings:
                leaves |= self.is_idle
        return leaves

    def carry_out(self, order: Mapping[str, Any]) -> None:
        """Carry out any order but that to leave."""

    @property
    def is_idle(self) -> bool:
        """Say whether an agent that has settled has nothing left to do."""
        return True


class HookBridge(WrapperPipes):
    """One agent, its hooks, and the wrapper."""

    stop, after_tool = "Stop", "PostToolUse"  # the hooks that take messages
    begins: ClassVar[Sequence[str]] = ("UserPromptSubmit", "PreToolUse")
    ends: ClassVar[Sequence[str]] = ("Stop", "StopFailure")
    patience_ms: int | None = None  # the longest time between two calls of `news`

    def __init__(self, run_dir: str) -> None:
        super().__init__(run_dir)
        self.queue: list[Mapping[str, Any]] = []  # messages that no hook has taken
        self.works = True
        self.folder = f"{run_dir}/{directory.LIVE_FILES}"
        os.mkdir(self.folder, 0o700)
        self._hooks = socket.socket(socket.AF_UNIX)
        self._hooks.bind(address_of(f"{self.folder}/hooks"))
        self._hooks.listen(64)
        self.line = self._hooks  # the connection of the current hook
        self.poll = select.poll()

    def run(self, program: Sequence[str]) -> int:
        """Serve until the agent has ended; return our exit code."""
        os.environ |= {VARIABLE: f"{self.folder}/hooks", PYTHON: sys.executable}
        child = None
        try:
            child = subprocess.Popen(self.set_up(program))
            code = self._serve(child)
        except SystemExit:
            self.news()  # its last lines, before we end it
            raise
        else:
            _end_agent(child)
            self.ended()
            return code
        finally:
            _end_agent(child)
            with ignoring(OSError):  # the wrapper tries again
                removal.remove(self.folder)

    # --- what a brand adds ---

    def set_up(self, program: Sequence[str]) -> list[str]:
        """Return the command line with which the agent finds its hooks."""
        return list(program)

    def news(self) -> None:
        """Pass on the agent's other reports, if it has any besides its hooks."""

    def ended(self) -> None:
        """Pass on the agent's last reports, after its end."""

    def pass_on(self, name: str, hook_input: bytes) -> None:
        """Pass on the input of a hook."""
        if name:
            self.write(hook_input + b"\n")

    def answer(self, name: str, text: str) -> Mapping[str, Any]:
        """Return the answer to a hook that takes a message."""
        if name == self.stop:
            return {"decision": "block", "reason": text}
        output = {"hookEventName": name, "additionalContext": f"The user says: {text}"}
        return {"hookSpecificOutput": output}

    def obey(self, order: Mapping[str, Any]) -> None:
        """Carry out an order that is not for a hook: the task, or a message to an agent at rest."""

    # --- the work ---

    def _serve(self, child: subprocess.Popen[bytes]) -> int:
        ended = os.pidfd_open(child.pid)
        for handle in (ended, self.ordered, self._hooks.fileno()):
            self.poll.register(handle, select.POLLIN)
        while True:
            ready = {handle for handle, _ in self.poll.poll(self.patience_ms)}
            self.news()
            if self._hooks.fileno() in ready:  # first: its last hooks come before its end
                with ignoring(OSError, ValueError, RecursionError):
                    self._hear()
            elif ended in ready:
                code = child.wait()
                self.news()
                return code if code >= 0 else _SIGNALLED - code
            if self.ordered in ready and self.obey_orders():
                return 0

    def _hear(self) -> None:
        """Pass on the input of one hook, and answer it."""
        line, _ = self._hooks.accept()
        with line:
            self.line = line
            line.settimeout(_HOOK_S)
            pieces = []
            while piece := line.recv(PIECE):
                pieces.append(piece)
            named, _, given = b"".join(pieces).partition(b"\n")
            hook_input = given.replace(b"\n", b" ")
            raw = jsonline.decode(hook_input.decode("utf-8", "replace"))
            name = named.decode() or str(raw.get("hook_event_name") if isinstance(raw, dict) else "")
            self.news()  # earlier lines come first
            taken = []  # the messages that go in with the answer to this hook
            if name in (self.stop, self.after_tool):
                taken = [one for one in self.queue if name == self.stop or one["kind"] != FOLLOW_UP]
                self.queue = [one for one in self.queue if one not in taken]
            if name in self.begins:
                self.works = True
            elif name in self.ends and not taken:
                self.rest()
            self.pass_on(name, hook_input)
            for one in taken:
                self.tell("bridge_taken", inboxId=one["inboxId"], text=one["text"])
            answer = self.take_hook(name, raw if isinstance(raw, dict) else {})
            if taken:
                answer = self.answer(name, "\n\n".join(one["text"] for one in taken))
            if answer:
                line.sendall(jsonline.encode(answer))

    def take_hook(self, _name: str, _raw: dict[str, Any]) -> Mapping[str, Any] | None:
        """Return the answer to a hook that takes no message."""
        return None

    def rest(self) -> None:
        """Note that the agent has settled: no hook will take a message until it works again."""
        self.works = False
        self.settlings += 1
        self.queue.clear()

    def carry_out(self, order: Mapping[str, Any]) -> None:
        """Keep a message for a hook while the agent works; carry out any other order."""
        if order.get("order") == "say" and self.works:
            self.queue.append(order)
        else:
            self.obey(order)


class GrowingFile:
    """The lines that are added to a file from now on; the file may not exist yet."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: int | None = None
        self._rest = b""
        if self._opens():  # skip its earlier lines
            os.lseek(self._file or 0, 0, os.SEEK_END)

    def _opens(self) -> bool:
        if self._file is None:
            with ignoring(FileNotFoundError):
                self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        return self._file is not None

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that are complete by now."""
        while self._opens() and (piece := os.read(self._file or 0, PIECE)):
            *lines, self._rest = (self._rest + piece).split(b"\n")
            yield from lines


def end(child: subprocess.Popen[bytes] | None) -> None:
    """End a program with its group, if it has not ended, and wait for it. SIGTERM must not end us.

    The program may be a script that passes no signal on.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        if child is None or child.poll() is not None:
            return
        group = os.getpgid(child.pid)
        if group != os.getpgrp() or (number == signal.SIGTERM and group == os.getpid()):
            os.killpg(group, number)
        else:
            child.send_signal(number)
        with ignoring(subprocess.TimeoutExpired):
            child.wait(_TERM_S)


def _end_agent(child: subprocess.Popen[bytes] | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the agent is in our group
    end(child)


def _leave(number: int, _frame: object) -> NoReturn:
    raise SystemExit(_SIGNALLED + number)


def main(kind: type[HookBridge], program: Sequence[str]) -> int:
    """Serve one run; return our exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    # Ctrl-C is for the agent. If we ignored it, the agent would ignore it, too.
    signal.signal(signal.SIGINT, lambda *_: None)
    return kind(os.environ.pop(FOLDER_VARIABLE)).run(program)
