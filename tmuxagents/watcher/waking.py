"""Wait for the events that wake a watcher: run directories change, wrappers end, threads are done.

watchdog watches the folder of all runs, with everything in it. A file makes an event when it appears or is
closed after writing, so a flood of lines into an open file costs nothing (runs/logs). Events are only hints.
Some are lost when the kernel's queue overflows or its watches are used up. When the folder is replaced or one
of watchdog's threads dies, watchdog silently reports nothing more. So `Tail.check` looks at the folder and
the threads now and again, and callers check the runs, too.

Touches: inotify.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import select
import threading
import time
from typing import NamedTuple

from watchdog import events
from watchdog.observers import Observer

from tmuxagents.system import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver

    from tmuxagents.records import Identity

AGAIN_S = 30.0  # after a failure, watching is tried again this much later
_EVENTS = [
    *(events.DirCreatedEvent, events.DirMovedEvent),
    *(events.FileCreatedEvent, events.FileMovedEvent, events.FileClosedEvent),
]
_RESULT = "result.json"
_LOGGER = logging.getLogger("watchdog")


class Woken(NamedTuple):
    """The news that ended a wait. `gone`: runs whose wrappers have ended; `urgent`: begin a round at once."""

    gone: set[str]
    urgent: bool


class Sleeper:
    """One poll() over everything a watcher waits for. `patient`: a handle whose news can wait a round."""

    def __init__(self, patient: int, urgent: Iterable[int]) -> None:
        self._poll = select.poll()
        self._patient = patient
        self._wrappers: dict[int, str] = {}  # pidfd -> run
        self._handles: dict[str, int] = {}
        self.done = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        for handle in (patient, self.done, *urgent):
            self._poll.register(handle, select.POLLIN)

    def wake(self) -> None:
        """End the wait, from any thread."""
        os.eventfd_write(self.done, 1)

    def hold(self, run: str, wrapper: Identity) -> bool:
        """Wait on a run's wrapper, too, from now on; say whether it lives."""
        handle = process.open_handle(wrapper.pid, wrapper.start_time)
        if handle is None:
            return False
        self._wrappers[handle] = run
        self._handles[run] = handle
        self._poll.register(handle, select.POLLIN)
        return True

    def holds(self, run: str) -> bool:
        """Say whether we wait on a run's wrapper, which therefore lives."""
        return run in self._handles

    def let_go(self, run: str) -> None:
        """Wait on a run's wrapper no longer."""
        handle = self._handles.pop(run, None)
        if handle is not None:
            del self._wrappers[handle]
            self._poll.unregister(handle)
            os.close(handle)

    def wait(self, limit_s: float, *, patiently: bool = False) -> Woken:
        """Wait for news, until the limit at most. `patiently`: only for urgent news."""
        self._poll.modify(self._patient, 0 if patiently else select.POLLIN)
        fired = {handle for handle, _ in self._poll.poll(math.ceil(max(0.0, limit_s) * 1000))}
        if self.done in fired:
            os.eventfd_read(self.done)
        gone = {self._wrappers[handle] for handle in fired if handle in self._wrappers}
        for run in gone:
            self.let_go(run)
        return Woken(gone, urgent=bool(fired - {self._patient}))


# --- run directories that change --------------------------------------------------------------------------


class Tail:
    """The changes below a folder. `soon` and `now` are handles to wait on; `now` is for results."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.soon = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.now = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.since: float | None = None  # when listening began; None: there is no watch
        self._doubts = _Doubts()
        self._ears = _Ears(self.soon, self.now)
        self._watching: _Watching | None = None
        self._again_at = 0.0
        _LOGGER.addHandler(self._doubts)
        _LOGGER.propagate = False

    @property
    def deaf(self) -> bool:
        """Say whether no events arrive at all."""
        return self.since is None

    def changed(self) -> set[str]:
        """Return the names in the folder below which something has changed since the last call."""
        for handle in (self.soon, self.now):
            with contextlib.suppress(BlockingIOError):
                os.eventfd_read(handle)
        return self._ears.heard()

    def check(self) -> str | None:
        """Check whether watching still works, and begin it anew if not; return why that failed."""
        if self._watching is not None and not self._watching.works():
            self._stop(again_s=0.0)
        if self._watching is None and time.monotonic() >= self._again_at:
            return self._begin()
        return None

    def mistrust(self) -> None:
        """Treat watching as broken, since a change came without an event."""
        self._stop(again_s=AGAIN_S)

    def doubts(self) -> str | None:
        """Return watchdog's last complaint since the last call, after which events may be missing."""
        return self._doubts.taken()

    def close(self) -> None:
        """Stop watching."""
        self._stop(again_s=0.0)
        _LOGGER.removeHandler(self._doubts)
        os.close(self.soon)
        os.close(self.now)

    def _begin(self) -> str | None:
        try:
            self._watching = _Watching(self.root, self._ears)
        except OSError as error:
            # A folder that is not there yet is no failure: it is looked for each time.
            missing = isinstance(error, FileNotFoundError)
            self._again_at = time.monotonic() + (0.0 if missing else AGAIN_S)
            return None if missing else f"{self.root} cannot be watched: {error}"
        self.since = time.monotonic()
        return None

    def _stop(self, *, again_s: float) -> None:
        self.since = None
        self._again_at = time.monotonic() + again_s
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.stop()


class _Watching:
    """One observer at work, and the folder on which it was started."""

    def __init__(self, root: str, ears: _Ears) -> None:
        self._root = root
        self._place = _place(root)
        if self._place is None:
            raise FileNotFoundError(root)
        followed = os.path.realpath(root)  # watchdog would watch a link itself, not the folder behind it
        ears.attend(followed)
        before = set(threading.enumerate())
        self._observer: BaseObserver = Observer()
        try:
            self._observer.schedule(ears, followed, recursive=True, event_filter=_EVENTS)
            self._observer.start()
        except BaseException:
            self.stop()
            raise
        started = set(threading.enumerate()) - before
        self._threads = [thread for thread in started if type(thread).__module__.startswith("watchdog.")]

    def works(self) -> bool:
        """Say whether the folder is still the same one, and all threads are alive."""
        return _place(self._root) == self._place and all(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        # After a failure, any part may refuse to stop: it is left behind as it is.
        with contextlib.suppress(OSError, RuntimeError, LookupError, AssertionError):
            self._observer.stop()


class _Ears(events.FileSystemEventHandler):
    """Notes the names that change. It runs in a thread of watchdog, which an exception would end."""

    def __init__(self, soon: int, now: int) -> None:
        self._begin = 0
        self._soon = soon
        self._now = now
        self._lock = threading.Lock()
        self._names: set[str] = set()

    def attend(self, root: str) -> None:
        """Expect events about this folder from now on."""
        self._begin = len(root) + 1

    def dispatch(self, event: FileSystemEvent) -> None:
        """Note one event."""
        self._note(event.src_path)
        if event.dest_path:
            self._note(event.dest_path)

    def _note(self, path: bytes | str) -> None:
        if not isinstance(path, str):
            return
        name, _, inside = path[self._begin :].partition("/")
        if not name:
            return
        with self._lock:
            first = not self._names
            self._names.add(name)
        if first or inside == _RESULT:
            with contextlib.suppress(OSError):
                os.eventfd_write(self._now if inside == _RESULT else self._soon, 1)

    def heard(self) -> set[str]:
        """Return the names, and forget them."""
        with self._lock:
            names, self._names = self._names, set()
        return names


class _Doubts(logging.Handler):
    """Keeps watchdog's last complaint."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._last: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a complaint."""
        self._last = str(record.msg)

    def taken(self) -> str | None:
        """Return the complaint, and forget it."""
        last, self._last = self._last, None
        return last


def _place(path: str) -> tuple[int, int] | None:
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino
