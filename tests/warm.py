"""The installed command without Python's start: a process that has our modules forks itself for each call.

Importing is two thirds of what a verb costs, and flows call thousands of them. What is forked is a process
of its own, with the caller's arguments, environment, folder, streams and umask, and it ends as Python ends.
Only its imports are done: tests/whole/test_costs.py has those of the verbs, and tests/project/test_imports.py
says that any module may be imported first. One that does not end in time says where it is (tests/hung.py).

usage: warm.py SOCKET (the number of a handle)
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import functools
import gc
import importlib
import json
import os
import pkgutil
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMAND = str(Path(sys.executable).with_name("tmuxagents"))
UNUSED = ("extensions", "prompts", "schemas", "skills", "companion", "mcp", "top", "watcher", "wrapper")
SAYS_WHERE = signal.SIGUSR2  # has a verb write its traceback to stderr; none waits for it
OPTIONS = {"cwd", "env", "timeout", "input", "stdin", "umask", "errors"}
_LANGUAGE = "C.UTF-8"
_COLD = ("PYTHON", "LC_", "LD_", "TMUXAGENTS_FAULT", "TMUXAGENTS_RUN")
_PIECE = 65536
_LEAVES_WITHIN_S = 10.0

# Whatever another thread forks has our ends of a call's pipes, and keeps them open for as long as it lives.
_opening = threading.RLock()
os.register_at_fork(
    before=_opening.acquire, after_in_parent=_opening.release, after_in_child=_opening.release
)


def takes(options: Mapping[str, Any]) -> bool:
    """Say whether a call asks for nothing that Python does before our first line, or that /proc shows."""
    environment = options["env"]
    odd = [name for name in environment if name.startswith(_COLD)]
    return options.keys() <= OPTIONS and environment.get("LANG") == _LANGUAGE and not odd


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Carry out a verb as subprocess.run does, with its output as text."""
    argv = [COMMAND, *arguments]
    with Call(argv, **options) as call:
        code, out, err = call.communicate(time.monotonic() + options["timeout"])
    errors = options.get("errors", "strict")
    return subprocess.CompletedProcess(argv, code, _text(out, errors), _text(err, errors))


def _text(written: bytes, errors: str) -> str:
    """Return what was written as Python reads it: each line ends in one character."""
    return written.decode("utf-8", errors).replace("\r\n", "\n").replace("\r", "\n")


class Call:
    """A verb at work, in a process that was forked for it."""

    def __init__(self, argv: list[str], **options: Any) -> None:
        self._argv, self._timeout = argv, options["timeout"]
        errors = options.get("errors", "strict")
        self._input = options["input"].encode("utf-8", errors) if options.get("input") is not None else None
        umask = options.get("umask", -1)
        about = {"argv": argv, "cwd": str(options["cwd"]), "env": dict(options["env"]), "umask": umask}
        with _opening, contextlib.ExitStack() as theirs:
            self._in, stdin = self._stdin(options.get("stdin"), theirs)
            (self._out, stdout), (self._err, stderr), (self._end, ended) = os.pipe(), os.pipe(), os.pipe()
            request = os.memfd_create("request")
            for handle in (stdout, stderr, ended, request):
                theirs.callback(os.close, handle)
            os.write(request, json.dumps(about).encode("ascii"))
            os.lseek(request, 0, os.SEEK_SET)
            socket.send_fds(stove().asks, [b"."], [request, ended, stdin, stdout, stderr])
        self._said = {self._out: bytearray(), self._err: bytearray(), self._end: bytearray()}
        if not is_readable(self._end, self._timeout):
            raise self._hung(stove().pid)
        # where it has ended already, its exit code is there, too
        pid, _, code = os.read(self._end, _PIECE).partition(b" ")
        assert pid, "the warm process has ended"
        self._said[self._end] += code
        self._pid = int(pid)

    def _stdin(self, given: Any, theirs: contextlib.ExitStack) -> tuple[int | None, int]:
        """Return our end and theirs of what a call reads."""
        if self._input is not None:
            their_end, ours = os.pipe()
            theirs.callback(os.close, their_end)
            return ours, their_end
        if given is not None and given != subprocess.DEVNULL:
            return None, given if isinstance(given, int) else given.fileno()
        nothing = os.open(os.devnull, os.O_RDONLY)
        theirs.callback(os.close, nothing)
        return None, nothing

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._said[self._end]:  # else its pid may be another's
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        for handle in (self._in, self._out, self._err, self._end):
            if handle is not None:
                os.close(handle)

    def communicate(self, deadline: float) -> tuple[int, bytes, bytes]:
        """Give it what it reads; return its exit code and what it wrote, once nobody writes any more."""
        rest = memoryview(self._input or b"")
        with selectors.DefaultSelector() as selector:
            for handle in self._said:
                selector.register(handle, selectors.EVENT_READ)
            if self._in is not None:
                os.set_blocking(self._in, False)
                selector.register(self._in, selectors.EVENT_WRITE)
            while selector.get_map():
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if time.monotonic() > deadline:
                    raise self._hung(self._pid)
                for handle in (key.fd for key, _ in ready):
                    if handle == self._in:
                        rest = _written(handle, rest)
                        is_over = not rest
                        if is_over:
                            os.close(handle)
                            self._in = None
                    else:
                        piece = os.read(handle, _PIECE)
                        self._said[handle] += piece
                        is_over = not piece
                    if is_over:
                        selector.unregister(handle)
        return int(self._said[self._end]), bytes(self._said[self._out]), bytes(self._said[self._err])

    def _hung(self, pid: int) -> subprocess.TimeoutExpired:
        """Return the error of a call that takes too long; it says what is not over, and where it is."""
        from tests import hung  # noqa: PLC0415  (hardly ever)

        out, err = (bytes(self._said[handle]) for handle in (self._out, self._err))
        error = subprocess.TimeoutExpired(self._argv, self._timeout, out, err)
        names = {self._out: "stdout", self._err: "stderr", self._end: "its end"}
        error.add_note(hung.told(pid, names, self._err, has_ended=bool(self._said[self._end])))
        return error


def is_readable(handle: int, within_s: float) -> bool:
    """Wait until there is something to read, or nothing will come any more; say whether that is so."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(max(0.0, within_s) * 1000))


def _written(handle: int, rest: memoryview) -> memoryview:
    """Write what a pipe takes; return the rest. Who does not read to the end needs none of it."""
    try:
        return rest[os.write(handle, rest[:_PIECE]) :]
    except BrokenPipeError:
        return rest[:0]


class Stove:
    """The warm process of this one, which leaves with it."""

    def __init__(self) -> None:
        self.asks, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", __file__, str(theirs.fileno())],
                env={"LANG": _LANGUAGE, "PATH": os.defpath},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        self.pid = self._process.pid
        atexit.register(self._leave)

    def _leave(self) -> None:
        self.asks.close()
        try:
            self._process.wait(_LEAVES_WITHIN_S)
        except subprocess.TimeoutExpired:  # a process that a test forked has our end of it
            self._process.kill()
            self._process.wait()


@functools.cache
def stove() -> Stove:
    """Return the one of this process; it is lit by the first call."""
    return Stove()


# --- the warm process itself ------------------------------------------------------------------------------


def import_all() -> None:
    """Import what a verb may import, but for modules that work when they are imported."""
    import tmuxagents  # noqa: PLC0415  (not for those who ask)

    for found in pkgutil.walk_packages(tmuxagents.__path__, "tmuxagents."):
        _, folder, *below = found.name.split(".")
        if folder not in UNUSED and not any(name.startswith("_") for name in (folder, *below)):
            importlib.import_module(found.name)
    importlib.import_module("tmuxagents.__main__")
    gc.freeze()


def serve(asks: socket.socket) -> list[int]:
    """Fork a process for each request until nobody asks any more; in each, return what was handed over.

    An end is a descriptor that becomes readable. The signal of an end that comes just before we wait would
    be noticed only after the wait.
    """
    ends: dict[int, tuple[int, int]] = {}  # a descriptor of a process: its pid, and who is told of its end
    poll = select.poll()
    poll.register(asks, select.POLLIN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # or the kernel keeps the exit codes
    while True:
        ready = {handle for handle, _ in poll.poll()}
        for handle in ready & ends.keys():
            poll.unregister(handle)
            pid, end = ends.pop(handle)
            _tell(end, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            os.close(handle)
            os.close(end)
        if asks.fileno() not in ready:
            continue
        _, handles, _, _ = socket.recv_fds(asks, 1, 5)
        if not handles:
            os._exit(0)
        request, end, *streams = handles
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            return [request, *streams]
        _tell(end, pid)
        handle = os.pidfd_open(pid)
        ends[handle] = pid, end
        poll.register(handle, select.POLLIN)
        for one in (request, *streams):
            os.close(one)


def _tell(handle: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(handle, b"%d " % number)


def become(request: int, *streams: int) -> None:
    """Become a process as the installed command is in at its first line."""
    about = json.loads(os.read(request, os.fstat(request).st_size))
    for number, handle in enumerate(streams):
        os.dup2(handle, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(about["cwd"])
    if about["umask"] >= 0:
        os.umask(about["umask"])
    os.environ.clear()
    os.environ.update(about["env"])
    sys.argv[:] = about["argv"]


if __name__ == "__main__":
    faulthandler.register(SAYS_WHERE, file=2)  # also for those that we fork
    import_all()
    requests = socket.socket(fileno=int(sys.argv[1]))
    handed = serve(requests)
    requests.detach()  # its number is closed, and belongs to the verb's own files soon
    become(*handed)
    from tmuxagents.__main__ import main

    main()
