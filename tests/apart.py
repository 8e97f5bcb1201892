"""Acts of a test that want a process of their own.

One to be killed, to have limits or another user's rights, to mount something, to compete with others, or to
hang without hanging the tests. Forked, so that an act is an ordinary function with an ordinary result.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import resource
import signal
import subprocess
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection


T = TypeVar("T")
FORK = multiprocessing.get_context("fork")
NOBODY = 65534
_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_libc = ctypes.CDLL(None, use_errno=True)
_living: set[Apart[Any]] = set()


class Apart(Generic[T]):
    """An act that runs in a forked process from now on."""

    def __init__(self, act: Callable[..., T]) -> None:  # a lambda may bind variables as defaults
        self._receiving, sending = FORK.Pipe(duplex=False)
        self._process = FORK.Process(target=_carry_out, args=(act, sending), daemon=True)
        self._process.start()
        sending.close()
        _living.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self in _living:
            self.kill()

    @property
    def pid(self) -> int:
        pid = self._process.pid
        assert pid is not None
        return pid

    def kill(self) -> None:
        """End it, whatever it does, and forget it."""
        _living.discard(self)
        self._process.kill()
        self._process.join()
        self._process.close()
        self._receiving.close()

    def result(self, limit_s: float = 20.0) -> T:
        """Wait for the act; return what it returned, fail if it raised, was killed, or takes too long."""
        try:
            if not self._receiving.poll(limit_s):
                raise AssertionError(f"it hangs: no answer in {limit_s:g} s")
            try:
                returned, value = self._receiving.recv()
            except EOFError:
                self._process.join()
                raise AssertionError(f"it ended with {self._process.exitcode} and no answer") from None
        finally:
            self.kill()
        if not returned:
            raise AssertionError(f"it failed apart:\n{value}")
        answer: T = value
        return answer


def _carry_out(act: Callable[[], object], sending: Connection) -> None:
    # Else who outlived a worker that hangs and is ended would hold its pipe, and xdist would wait for ever.
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    try:
        answer = (True, act())
    except BaseException:  # noqa: BLE001  (told to the test, which fails)
        answer = (False, traceback.format_exc())
    sending.send(answer)


def end_all() -> None:
    """End the acts that a failed test has left."""
    for one in tuple(_living):
        one.kill()


@contextlib.contextmanager
def running(argv: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Have a program run for as long as the block, also where that fails: Popen itself would wait for it."""
    with subprocess.Popen(argv, **options) as program:
        try:
            yield program
        finally:
            program.kill()


def apart(act: Callable[..., T], limit_s: float = 20.0) -> T:
    """Carry out an act in a process of its own."""
    return Apart(act).result(limit_s)


def at_once(acts: Sequence[Callable[..., T]]) -> list[T]:
    """Carry out many acts at the same moment, each in a process of its own."""
    gate, opener = os.pipe()

    def behind_gate(act: Callable[..., T]) -> T:
        os.read(gate, 1)
        return act()

    waiting = [Apart(lambda act=act: behind_gate(act)) for act in acts]
    os.write(opener, b"." * len(acts))
    try:
        return [one.result() for one in waiting]
    finally:
        os.close(gate)
        os.close(opener)


@contextlib.contextmanager
def file_size(limit: int) -> Iterator[None]:
    """Let no file of this process grow beyond a limit: the rest of a write is refused, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# --- with the rights of others, and mounts of its own: only for an act that is apart ----------------------


def let_in(folder: Path) -> None:
    """Let everybody come to a folder of pytest's, through those of pytest's above it."""
    everybodys = Path(tempfile.gettempdir())
    for one in (folder, *folder.parents):
        if everybodys in one.parents:
            one.chmod(0o755)


def become_somebody() -> None:
    """Give up being root, if we are: then other users' processes and files really are others'."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        set_dumpable(dumpable=True)  # lost with the user id


def set_dumpable(*, dumpable: bool) -> None:
    """Show or hide what /proc has of this process, as ssh-agent hides it."""
    _check(_libc.prctl(_PR_SET_DUMPABLE, int(dumpable), 0, 0, 0), "prctl")


def mount_privately() -> None:
    """Enter a mount namespace of our own; nobody else sees what is mounted from now on."""
    if _libc.unshare(_CLONE_NEWNS) != 0:
        enter_user_namespace(f"0 {os.getuid()} 1", f"0 {os.getgid()} 1", _CLONE_NEWNS)
    _check(_libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "mount --make-rprivate")


def enter_user_namespace(users: str, groups: str, besides: int = 0) -> None:
    """Enter a user namespace of our own, in which only these users and groups are known."""
    _check(_libc.unshare(_CLONE_NEWUSER | besides), "unshare (are user namespaces forbidden here?)")
    for name, text in (("setgroups", "deny"), ("uid_map", users), ("gid_map", groups)):
        with open(f"/proc/self/{name}", "w", encoding="utf-8") as file:
            file.write(text)


def mount_tmpfs(folder: Path, size: str) -> None:
    """Mount a file system of its own, that is full soon."""
    _check(_libc.mount(b"tmpfs", bytes(folder), b"tmpfs", 0, f"size={size},mode=700".encode()), "mount tmpfs")


def mount_folder(source: Path, target: Path) -> None:
    """Show a folder at a second place, on the same file system."""
    _check(_libc.mount(bytes(source), bytes(target), None, _MS_BIND, None), "mount --bind")


def _check(code: int, what: str) -> None:
    if code != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
