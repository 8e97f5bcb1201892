"""The mirror of one host: it copies the directories of the host's runs here while they work. Joins.

All runs of a host share one process and one ssh session. Files are copied byte for byte, and the result comes
last. A run that is gone there ends here as lost. If a mirror is killed, nothing is lost: the next one
continues at the end of the local copies. A mirror also hands over runs that the host has not got yet, and
records since when the host has not answered.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import threading
import time

from tmuxagents import records
from tmuxagents.cpython import ignoring
from tmuxagents.errors import TmuxAgentsError
from tmuxagents.launch import far
from tmuxagents.machines import follow, hosts, link, refusals, ssh
from tmuxagents.machines.code import Bringing
from tmuxagents.machines.follow import APPENDED, PIECE, Broken, FrameReader, NotInStep
from tmuxagents.machines.refusals import Unreachable
from tmuxagents.records import is_run_id
from tmuxagents.runs import directory, endings, writing
from tmuxagents.runs.marks import is_reliable, mark_of
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.machines.follow import Frame
    from tmuxagents.machines.hosts import Host

IDLE_S = 5.0  # how long a mirror without runs stays
SILENT_S = 12.0  # a silent link counts as broken after this; a living one sends something every 3 s
_LOOK_S = 0.2  # between two looks for new runs
_HAND_OVER_S = 1.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 30.0
_HEARD_EVERY_S = 30.0
_GONE, _ODD = "The run is gone on {}.", "{} has sent no result that can be read."


class Mirror:
    """Mirrors the runs of one host."""

    def __init__(self, home: str, host: Host, environment: Mapping[str, str]) -> None:
        self._home = home
        self._runs = f"{home}/runs"
        self._host = host
        self._environment = environment
        self._open: set[str] = set()  # submitted, and not ended here
        self._unsent: set[str] = set()  # the host has not got them yet
        self._known: set[str] = set()  # all runs whose marker was read
        self._listed: object = None  # the mark of the folder of runs when it was last read
        self._asked: set[str] = set()  # runs whose news was requested over this connection
        self._client: subprocess.Popen[bytes] | None = None
        self._reader = FrameReader()
        self._heard_at: float | None = None  # by the clock on the wall
        self._noted_at = self._heard_mono = 0.0
        self._losses = 0  # lost connections since something was heard
        self._is_lost = False  # it is recorded that the host does not answer
        self._pause_s = _FIRST_PAUSE_S
        self._try_at = self._hand_over_at = 0.0
        self._handing: threading.Thread | None = None
        self._bringing = Bringing(host, environment, self._miss)

    def keep(self) -> None:
        """Mirror until no run of the host is left to be mirrored."""
        idle_since = time.monotonic()
        try:
            while True:
                self._look_for_runs()
                now = time.monotonic()
                is_handing = self._handing is not None and self._handing.is_alive()
                if self._unsent and not is_handing and now >= self._hand_over_at:
                    self._hand_over_at = now + _HAND_OVER_S
                    names = sorted(self._unsent)
                    self._handing = threading.Thread(target=self._hand_over_all, args=(names,), daemon=True)
                    self._handing.start()
                if self._open or self._unsent or is_handing or self._bringing.is_busy():
                    idle_since = now
                elif now - idle_since > IDLE_S:
                    return
                if self._client is None and self._open and now >= self._try_at:
                    self._connect()
                if self._client is None:
                    time.sleep(_LOOK_S)
                else:
                    self._listen(_LOOK_S)
        finally:
            self._hang_up()

    def _look_for_runs(self) -> None:
        """Find new runs of the host."""
        mark = mark_of(self._runs)
        if mark == self._listed:
            return
        names = {name for name in os.listdir(self._runs) if is_run_id(name)} - self._known
        # A run that comes within the same clock tick does not change the mark, so the folder is read again.
        self._listed = mark if mark is not None and is_reliable(mark) else None
        for name in names:
            self._known.add(name)
            run_dir = f"{self._runs}/{name}"
            machine = directory.read_machine(run_dir)
            if machine is None or machine.get("host") != self._host.name:
                continue
            if directory.place_of(f"{run_dir}/{directory.RESULT}") is None:
                (self._open if machine.get("state") == records.SUBMITTED else self._unsent).add(name)

    # --- runs that the host has not got yet

    def _hand_over_all(self, names: list[str]) -> None:
        """Hand over the runs that are ready, in a thread of its own."""
        for name in names:
            run_dir = f"{self._runs}/{name}"
            try:
                held = writing.lock(run_dir, 0.0)
            except OSError:  # removed
                self._unsent.discard(name)
                continue
            if held is None:
                continue
            try:
                cause = self._hand_over_one(name, run_dir)
            except Unreachable as why:
                self._miss(why.message)
                self._hand_over_at = time.monotonic() + self._pause_s
                return
            except OSError:
                continue
            finally:
                os.close(held)
            if cause is not None:
                far.end_unsent(run_dir, cause)

    def _hand_over_one(self, name: str, run_dir: str) -> endings.Cause | None:
        """Hand one run over if it is ready; its lock is held. Return the cause if the run ends instead."""
        if directory.read_result(run_dir) is not None:
            self._unsent.discard(name)
            return None
        machine = directory.read_machine(run_dir) or {}
        if machine.get("state") == records.WAITING:
            is_ready, cause = far.readiness(run_dir)
            if not is_ready:
                return cause
        if machine.get("state") != records.SUBMITTED:
            try:
                far.submit(run_dir, self._host, self._environment)
            except Unreachable:
                raise
            except TmuxAgentsError as why:
                return endings.misconfigured(why.message)
        if far.is_submitted(run_dir):
            self._open.add(name)
            self._unsent.discard(name)
        return None

    # --- the connection

    def _connect(self) -> None:
        """Start an ssh session to the host."""
        try:
            words = ssh.command(self._host, ["_far", "follow"], environment=self._environment)
            self._client = ssh.start(words, self._environment)
        except TmuxAgentsError as error:
            self._lose(error.message)
            return
        self._reader = FrameReader()
        self._asked.clear()
        self._heard_mono = time.monotonic()
        for stream in (self._client.stdin, self._client.stdout, self._client.stderr):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)

    def _listen(self, limit_s: float) -> None:
        """Request the news of the runs, and take in what arrives."""
        client = self._client
        assert client is not None
        assert client.stdout is not None
        try:
            self._ask(client)
            with selectors.DefaultSelector() as waiting:
                waiting.register(client.stdout, selectors.EVENT_READ)
                ready = waiting.select(limit_s)
            if not ready:
                if time.monotonic() - self._heard_mono > SILENT_S:
                    self._losses += 1
                    self._lose(f"{self._host.name} has said nothing for {SILENT_S:g} s.")
                return
            piece = os.read(client.stdout.fileno(), 4 * PIECE)
            if not piece:
                self._lose(None)
                return
            now = time.time()
            self._heard_at, self._heard_mono = now, time.monotonic()
            self._pause_s, self._losses = _FIRST_PAUSE_S, 0
            if self._is_lost or now - self._noted_at > _HEARD_EVERY_S:
                self._is_lost = False
                self._noted_at = now
                link.write(self._home, self._host.name, heard_at=now, since=None, why=None)
            for frame in self._reader.take(piece):
                self._take(frame)
        except (Broken, NotInStep, BrokenPipeError) as why:
            self._lose(str(why) or None)
        except OSError as error:  # for example, our own disk is full: try again
            self._lose(f"here: {error.strerror}")

    def _ask(self, client: subprocess.Popen[bytes]) -> None:
        """Request the news of each run, once over a connection, from the end of its local copy on."""
        assert client.stdin is not None
        for name in sorted(self._open - self._asked):
            run_dir = f"{self._runs}/{name}"
            marks = {file: mark_of(f"{run_dir}/{file}") for file in APPENDED}
            at = {file: mark[2] for file, mark in marks.items() if mark is not None}
            line = jsonline.encode({"run": name, "at": at})
            try:
                if os.write(client.stdin.fileno(), line) < len(line):
                    raise BrokenPipeError
            except BlockingIOError:
                return
            self._asked.add(name)

    def _lose(self, why: str | None) -> None:
        """Hang up after the link broke; the next try comes after a pause."""
        errors = self._hang_up()
        if why is None:
            why = refusals.of_ssh(errors, self._host.name, self._host.destination).message
        self._losses += 1
        if self._losses > 1:  # after one loss, the next connection may come at once
            self._miss(why)
        self._try_at = time.monotonic() + self._pause_s
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)

    def _miss(self, why: str) -> None:
        """Record that the host does not answer, unless that is recorded already."""
        if self._is_lost:
            return
        self._is_lost = True
        since = self._heard_at or time.time()
        link.write(self._home, self._host.name, heard_at=self._heard_at, since=since, why=why)

    def _hang_up(self) -> str:
        """Close our side of the connection; return what ssh printed."""
        client, self._client = self._client, None
        if client is None:
            return ""
        errors = b""
        if client.poll() is None:
            client.terminate()
        with ignoring(OSError, ValueError):
            errors = (client.stderr.read(65536) if client.stderr else b"") or b""
        for stream in (client.stdin, client.stdout, client.stderr):
            if stream is not None:
                with ignoring(OSError):
                    stream.close()
        try:
            client.wait(2.0)
        except subprocess.TimeoutExpired:
            client.kill()
            client.wait()
        return errors.decode("utf-8", "replace")

    # --- the news

    def _take(self, frame: Frame) -> None:
        """Take over one piece of news from the host."""
        name = frame.run_id
        if name is None or name not in self._open:
            return
        run_dir = f"{self._runs}/{name}"
        if directory.place_of(run_dir) is None:  # removed here
            self._open.discard(name)
        elif frame.is_gone:
            far.end_unsent(run_dir, endings.Cause("aborted", "lost", _GONE.format(self._host.name)))
            self._open.discard(name)
        elif frame.waiting is not None:
            writing.change_machine(run_dir, {"waiting": frame.waiting or None})
        elif frame.name is not None and frame.at is not None:
            follow.append_piece(run_dir, frame)
        elif frame.name is not None:
            self._take_file(run_dir, name, frame)

    def _take_file(self, run_dir: str, name: str, frame: Frame) -> None:
        """Take over a file that is replaced as a whole."""
        if frame.name == directory.META:
            # Most often the plan is here already. A child there may have damaged its copy.
            plan = directory.read_bytes(f"{run_dir}/{directory.META}")
            if frame.text != plan and directory.is_plan(run_dir, frame.text):
                writing.take_plan(run_dir, frame.text)
        elif frame.name == directory.RESULT:
            if directory.result_of(frame.text) is None:
                far.end_unsent(run_dir, endings.Cause("aborted", "lost", _ODD.format(self._host.name)))
            else:
                self._bringing.end(run_dir, frame.text)
            self._open.discard(name)
        else:
            writing.replace(run_dir, str(frame.name), frame.text)


def main(home: str, name: str, environment: Mapping[str, str]) -> int:
    """Run the mirror of a host, unless it has one."""
    held = link.take(home, name)
    if held is None:
        return 0
    try:
        host = hosts.find_host(name, environment)
        Mirror(home, host, environment).keep()
    except TmuxAgentsError as why:  # for example, the host was removed: the next try comes after a pause
        link.write(home, name, heard_at=None, since=time.time(), why=why.message)
        time.sleep(_LONGEST_PAUSE_S)
        return why.exit_code
    finally:
        os.close(held)
    return 0
