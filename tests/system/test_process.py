"""Processes by pid and start time: real ones, dead ones, zombies, in other namespaces, of other users."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from tests.apart import Apart, apart, become_somebody, mount_privately, running
from tests.harness import REPOSITORY, eventually, stop
from tmuxagents import records
from tmuxagents.errors import Unusable
from tmuxagents.records import Identity
from tmuxagents.runs import writing
from tmuxagents.runs.logs import Appender, RawLog
from tmuxagents.system import process, process_table

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("nothing_hangs")

SLEEP = "/bin/sleep"
STOPS = ["/bin/sh", "-c", "kill -STOP $$"]
MARK = "TMUXAGENTS_RUN"


def started(pid: int) -> int:
    found = process.start_time(pid)
    assert found is not None
    return found


def stat_fields(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def is_zombie(pid: int) -> bool:
    return stat_fields(pid)[0] == "Z"


def but(identity: Identity, **changes: Any) -> Identity:
    """Return an identity with changes."""
    fields = {name: getattr(identity, name) for name in Identity.__slots__}
    return Identity(**{**fields, **changes})


def identity_of(pid: int) -> Identity:
    return but(process.myself(), pid=pid, start_time=started(pid))


# --- identity and presence ----------------------------------------------------------------------------------


def test_i_am_who_the_kernel_says() -> None:
    me = process.myself()
    assert me.pid == os.getpid()
    assert me.start_time == int(stat_fields(os.getpid())[19])
    assert me.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert me.pid_namespace == os.stat("/proc/self/ns/pid").st_ino
    assert me.host.startswith(f"{socket.gethostname()}-")
    assert len(me.host.rpartition("-")[2]) == 8
    assert process.presence(me) == records.HERE


def test_a_start_time_is_that_of_the_process_alone(sleeper: subprocess.Popen[bytes]) -> None:
    first = started(sleeper.pid)
    assert first >= started(os.getpid())
    hertz = os.sysconf("SC_CLK_TCK")
    assert abs(first / hertz - time.clock_gettime(time.CLOCK_BOOTTIME)) < 60
    assert process.start_time(sleeper.pid) == first


def test_who_never_came_is_neither_here_nor_gone() -> None:
    assert process.presence(None) == records.NEVER_CAME


def test_who_lives_is_here_and_who_died_is_gone(sleeper: subprocess.Popen[bytes]) -> None:
    identity = identity_of(sleeper.pid)
    assert process.presence(identity) == records.HERE
    sleeper.kill()
    sleeper.wait()
    assert process.start_time(sleeper.pid) is None
    assert process.presence(identity) == records.GONE


def test_a_stopped_process_lives(sleeper: subprocess.Popen[bytes]) -> None:
    identity = identity_of(sleeper.pid)
    stop(sleeper.pid)
    assert process.presence(identity) == records.HERE


def test_a_zombie_is_dead(sleeper: subprocess.Popen[bytes]) -> None:
    identity = identity_of(sleeper.pid)
    sleeper.kill()
    eventually(lambda: is_zombie(sleeper.pid))
    os.kill(sleeper.pid, 0)  # for kill it lives
    assert process.start_time(sleeper.pid) is None
    assert (
        process.start_time(sleeper.pid, zombie=True) == identity.start_time
    )  # for its parent, which must reap it
    assert process.presence(identity) == records.GONE
    assert process.open_handle(sleeper.pid, identity.start_time) is None
    assert not process.send(sleeper.pid, identity.start_time, signal.SIGTERM)
    assert process.wait_gone(sleeper.pid, identity.start_time, 0)
    assert sleeper.pid not in {row.pid for row in process_table.table(since=0)}


@pytest.mark.parametrize("difference", [-1, 1, 1000])
def test_another_process_with_the_same_number_is_another(
    sleeper: subprocess.Popen[bytes], difference: int
) -> None:
    reused = but(identity_of(sleeper.pid), start_time=started(sleeper.pid) + difference)
    assert process.presence(reused) == records.GONE


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1, 2**40])
def test_a_number_that_no_process_has_is_gone(pid: int) -> None:
    assert process.presence(but(process.myself(), pid=pid)) == records.GONE
    assert not process.send(pid, 1, signal.SIGKILL)
    assert process.wait_gone(pid, 1, 5)


def test_before_the_last_boot_all_of_this_machine_are_dead() -> None:
    me = process.myself()
    assert process.presence(but(me, boot_id="another")) == records.GONE
    assert process.presence(but(me, boot_id="another", pid_namespace=1)) == records.GONE


def test_another_machine_is_not_ours_to_say() -> None:
    assert process.presence(but(process.myself(), boot_id="another", host="far")) == records.ELSEWHERE


def test_a_machine_that_was_renamed_is_still_the_same() -> None:
    me = process.myself()
    assert process.presence(but(me, host="renamed")) == records.HERE
    assert process.presence(but(me, host="renamed", pid=2**22 + 1)) == records.GONE


def test_across_pid_namespaces_nobody_says_who_lives() -> None:
    lines = [
        "import json, sys",
        "from tmuxagents.system import process",
        "from tmuxagents.records import Identity",
        "me = process.myself()",
        "print(json.dumps({name: getattr(me, name) for name in Identity.__slots__}), flush=True)",
        "print(process.presence(Identity(**json.loads(sys.stdin.readline()))), flush=True)",
        "sys.stdin.read()",
    ]
    root = [] if os.getuid() == 0 else ["--map-root-user"]
    argv = [
        "unshare",
        *root,
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        sys.executable,
        "-c",
        "\n".join(lines),
    ]
    me = process.myself()
    with running(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as inside:
        assert inside.stdin
        assert inside.stdout
        other = Identity(**json.loads(inside.stdout.readline()))
        assert other.pid == 1
        assert other.boot_id == me.boot_id
        assert process.presence(other) == records.ELSEWHERE  # it lives, and we could not tell
        inside.stdin.write(json.dumps({name: getattr(me, name) for name in Identity.__slots__}) + "\n")
        inside.stdin.flush()
        assert inside.stdout.readline().strip() == records.ELSEWHERE
        inside.stdin.close()
        inside.stdout.close()
        assert inside.wait(10) == 0
    assert process.presence(other) == records.ELSEWHERE


def without_descriptors(act: Callable[[], object]) -> object:
    """Act while no descriptor can be opened; return the result, or the name of the OSError."""
    held: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    with contextlib.suppress(OSError):
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    try:
        return act()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    except Unusable:
        return "Unusable"
    finally:
        for descriptor in held:
            os.close(descriptor)


QUESTIONS: dict[str, Callable[[Identity], object]] = {
    "start_time": lambda who: process.start_time(who.pid) is None,
    "presence": lambda who: process.presence(who) == records.GONE,
    "wait_gone": lambda who: process.wait_gone(who.pid, who.start_time, 0),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_who_has_no_descriptor_left_calls_nobody_dead(
    sleeper: subprocess.Popen[bytes], question: str
) -> None:
    who = identity_of(sleeper.pid)
    answer = apart(lambda: without_descriptors(lambda: QUESTIONS[question](who)))
    assert answer in (False, "EMFILE")


def test_without_proc_there_is_one_clear_error() -> None:
    def act() -> list[str]:
        mount_privately()
        os.chroot(REPOSITORY)
        told = []
        for question in (process.boot_id, process.myself):
            with pytest.raises(Unusable) as caught:
                question()
            told.append(f"{caught.value.exit_code} {caught.value.kind} {caught.value.hint}")
        return told

    assert apart(act) == ["3 no-permission mount -t proc proc /proc"] * 2


# --- signals and waiting ------------------------------------------------------------------------------------


def test_a_signal_goes_to_exactly_the_process_that_is_meant(sleeper: subprocess.Popen[bytes]) -> None:
    start = started(sleeper.pid)
    for wrong in (start - 1, start + 1, 0):
        assert not process.send(sleeper.pid, wrong, signal.SIGKILL)
    assert not process.wait_gone(sleeper.pid, start, 0.1)
    assert process.send(sleeper.pid, start, signal.SIGTERM)
    assert sleeper.wait(10) == -signal.SIGTERM
    assert not process.send(sleeper.pid, start, signal.SIGTERM)


def test_several_signals_come_in_one_go(sleeper: subprocess.Popen[bytes]) -> None:
    stop(sleeper.pid)
    assert process.send(sleeper.pid, started(sleeper.pid), signal.SIGTERM, signal.SIGCONT)
    assert sleeper.wait(10) == -signal.SIGTERM


def test_a_process_of_another_user_is_not_ours_to_signal() -> None:
    with Apart(signal.pause) as ours:
        pid = ours.pid if os.getuid() == 0 else 1

        def act() -> tuple[bool, bool]:
            become_somebody()
            return process.send(pid, started(pid), signal.SIGURG), process.wait_gone(pid, started(pid), 0)

        assert apart(act) == (False, False)


def test_sending_leaves_no_descriptor_open(sleeper: subprocess.Popen[bytes]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    start = started(sleeper.pid)
    process.send(sleeper.pid, start, signal.SIGCONT)
    process.send(sleeper.pid, start + 1, signal.SIGCONT)
    process.wait_gone(sleeper.pid, start, 0)
    process.wait_gone(sleeper.pid, start + 1, 0)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_handle_is_of_one_process_and_no_program_inherits_it(sleeper: subprocess.Popen[bytes]) -> None:
    handle = process.open_handle(sleeper.pid, started(sleeper.pid))
    assert handle is not None
    assert not os.get_inheritable(handle)
    signal.pidfd_send_signal(handle, signal.SIGTERM)
    os.close(handle)
    assert sleeper.wait(10) == -signal.SIGTERM
    assert process.open_handle(sleeper.pid, 1) is None


def test_waiting_for_who_lives_takes_its_time_and_says_no(sleeper: subprocess.Popen[bytes]) -> None:
    start = started(sleeper.pid)
    for limit in (0.0, 0.2):
        begun = time.monotonic()
        assert not process.wait_gone(sleeper.pid, start, limit)
        assert limit - 0.01 <= time.monotonic() - begun < limit + 10


@pytest.mark.parametrize("limit", [None, 30])
def test_waiting_ends_when_the_process_does(limit: float | None) -> None:
    with running([SLEEP, "0.3"]) as short:
        start = started(short.pid)
        begun = time.monotonic()
        assert process.wait_gone(short.pid, start, limit)  # it is a zombie: nobody has reaped it
        assert 0.1 < time.monotonic() - begun < 15
        begun = time.monotonic()
        assert process.wait_gone(short.pid, start, limit)
        assert process.wait_gone(os.getpid(), started(os.getpid()) + 1, limit)
        assert time.monotonic() - begun < 15


def test_waiting_for_many_has_one_limit() -> None:
    with contextlib.ExitStack() as stack:
        sleepers = [stack.enter_context(running([SLEEP, "600"])) for _ in range(4)]
        rows = [row for row in process_table.table(since=0) if row.pid in {one.pid for one in sleepers}]
        assert len(rows) == 4
        begun = time.monotonic()
        process.wait_all_gone(rows, 1.0)
        assert 0.99 <= time.monotonic() - begun < 3.9  # one after the other would take 4 s
        for one in sleepers:
            one.kill()
        begun = time.monotonic()
        process.wait_all_gone(rows, 30)
        assert time.monotonic() - begun < 15


def test_a_group_is_signalled_whole_and_a_group_that_is_gone_is_no_error(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    line = f"trap : USR1; sleep 600 & sleep 600 & echo >{ready}; wait; wait"
    with running(["sh", "-c", line], start_new_session=True) as leader:
        try:
            eventually(ready.exists)
            group = [row for row in process_table.table(since=0) if row.session == leader.pid]
            assert len(group) == 3
            process.send_group(leader.pid, signal.SIGTERM, signal.SIGCONT)
            process.wait_all_gone(group, 10)
            assert [process.start_time(row.pid) for row in group] == [None] * 3
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(leader.pid, signal.SIGKILL)
    process.send_group(leader.pid, signal.SIGTERM)


@pytest.mark.parametrize("number", [*signal.valid_signals(), 0, 65, 200])
def test_every_signal_has_a_name(number: int) -> None:
    name = process.signal_name(number)
    assert name.startswith("SIG")
    assert getattr(signal, name, number) == number


# --- a child ------------------------------------------------------------------------------------------------


class Child:
    """What `spawn` started, seen from outside."""

    def __init__(self, argv: list[str], environment: dict[str, str], prompt: Path) -> None:
        self.out, out = process.pipe()
        self.err, err = process.pipe()
        stdin = os.open(prompt, os.O_RDONLY)
        try:
            self.pid = process.spawn(argv[0], argv, environment, streams=(stdin, out, err))
        finally:
            for descriptor in (stdin, out, err):
                os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.out)
        os.close(self.err)

    def signals(self, key: str) -> set[int]:
        """Return a set of signals of /proc/PID/status, without those that libc keeps for itself."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        bits = next(int(line.split()[1], 16) for line in text.splitlines() if line.startswith(f"{key}:"))
        return {number for number in signal.valid_signals() if bits >> number - 1 & 1}

    def open_files(self) -> dict[int, str]:
        """Return what is open in a child once it has stopped itself, and its loader is done."""
        eventually(lambda: stat_fields(self.pid)[0] == "T")
        folder = f"/proc/{self.pid}/fd"
        return {int(name): os.readlink(f"{folder}/{name}") for name in os.listdir(folder)}


@pytest.fixture
def prompt(tmp_path: Path) -> Path:
    made = tmp_path / "prompt.txt"
    made.write_bytes(b"do it\n\xff")
    return made


def keep_to_ourselves() -> None:
    """Close on exec whatever the tests themselves were started with."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and os.path.lexists(f"/proc/self/fd/{name}"):
            os.set_inheritable(int(name), False)  # noqa: FBT003  (it has no name)


def test_a_child_gets_three_descriptors_and_a_session_of_its_own(prompt: Path) -> None:
    def act() -> None:
        keep_to_ourselves()
        held = writing.lock(str(prompt.parent), 0)
        writing.reserve(str(prompt.parent))
        RawLog(f"{prompt.parent}/log").write(b"x")
        Appender(f"{prompt.parent}/events").append(b"x\n")
        with Child(STOPS, {}, prompt) as child:
            files = child.open_files()
            assert sorted(files) == [0, 1, 2]
            pipes = [os.readlink(f"/proc/self/fd/{end}") for end in (child.out, child.err)]
            assert [files[0], files[1], files[2]] == [str(prompt), *pipes]
            parent, group, session, terminal = map(int, stat_fields(child.pid)[1:5])
            assert (parent, group, session, terminal) == (os.getpid(), child.pid, child.pid, 0)
        assert held is not None

    apart(act)


def test_a_child_gets_nothing_that_we_ourselves_inherited(prompt: Path) -> None:
    def act() -> list[int]:
        keep_to_ourselves()
        fcntl.fcntl(0, fcntl.F_DUPFD, 20)  # as if the starter of the wrapper had left it open
        with Child(STOPS, {}, prompt) as child:
            return sorted(child.open_files())

    assert apart(act) == [0, 1, 2]


ORDINARY = {signal.SIGPIPE, signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP, signal.SIGQUIT, signal.SIGHUP}
EVERY = {number for number in signal.valid_signals() if number < 32} - {signal.SIGKILL, signal.SIGSTOP}
REAL_TIME = {number for number in signal.valid_signals() if number >= 34}


@pytest.mark.parametrize("numbers", [ORDINARY, EVERY, REAL_TIME], ids=["ordinary", "every", "real-time"])
def test_a_child_has_no_signal_setting_of_ours(prompt: Path, numbers: set[int]) -> None:
    def act() -> tuple[set[int], ...]:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        with Child([SLEEP, "600"], {}, prompt) as child:
            return tuple(child.signals(key) for key in ("SigIgn", "SigBlk", "SigCgt"))

    assert apart(act) == (set(), set(), set())


def test_a_child_dies_of_a_closed_pipe_though_we_ignore_it(prompt: Path) -> None:
    def act() -> int:
        with Child(["/bin/sh", "-c", "read -r line; while :; do echo x; done"], {}, prompt) as child:
            os.close(child.out)
            child.out = os.dup(child.err)
            return os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])

    assert apart(act) == -signal.SIGPIPE


def test_a_child_reads_its_prompt_and_has_exactly_its_arguments_and_environment(prompt: Path) -> None:
    word = "two  words\n'\"$(exit)"
    environment = {"ONE": "1", "PATH": "", "UMLAUT": "ä\udcff", MARK: "abc"}
    line = 'cat; printf "%s|" "$@" >&2; exec cat /proc/self/environ >&2'
    with Child(
        ["/bin/sh", "-c", line, "sh", word, ""], {**environment, "PATH": "/bin:/usr/bin"}, prompt
    ) as child:
        assert os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1]) == 0
        assert os.read(child.out, 1000) == b"do it\n\xff"
        arguments, _, surroundings = os.read(child.err, 10_000).rpartition(b"|")
        assert arguments == f"{word}|".encode()
        got = dict(entry.split(b"=", 1) for entry in surroundings.split(b"\0") if b"=" in entry)
        assert got[b"UMLAUT"] == b"\xc3\xa4\xff"
        assert got[MARK.encode()] == b"abc"
        assert b"HOME" not in got


@pytest.mark.parametrize("what", ["missing", "folder", "no program", "no right"])
def test_what_cannot_be_started_is_an_error_and_leaves_nothing(
    tmp_path: Path, prompt: Path, what: str
) -> None:
    program = tmp_path / "program"
    if what == "folder":
        program.mkdir()
    elif what == "no program":
        program.write_bytes(b"\x7fELF but no more")
        program.chmod(0o755)
    elif what == "no right":
        program.write_text("#!/bin/sh\n")

    def act() -> int:
        before = len(os.listdir("/proc/self/fd"))
        with pytest.raises(OSError, match=r"."):
            Child([str(program), "600"], {}, prompt)
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        return len(os.listdir("/proc/self/fd")) - before

    assert apart(act) == 2  # the reading ends of the two pipes, which the caller has


@pytest.mark.parametrize(
    ("argv", "environment"), [(["sleep", "a\0b"], {}), (["sleep"], {"A": "a\0b"}), (["sleep"], {"A=B": "c"})]
)
def test_words_that_no_command_line_can_hold_are_an_error(
    prompt: Path, argv: list[str], environment: dict[str, str]
) -> None:
    with pytest.raises(ValueError, match=r"."):
        process.spawn(SLEEP, argv, environment, streams=(0, 1, 2))
    assert prompt.exists()


def test_standard_streams_that_are_closed_are_opened_on_nothing(prompt: Path) -> None:
    def act(closed: tuple[int, ...]) -> tuple[list[str], set[int], dict[int, str]]:
        keep_to_ourselves()
        before = [os.readlink(f"/proc/self/fd/{number}") for number in range(3)]
        for number in closed:
            os.close(number)
        process.open_standard_streams()
        now = [os.readlink(f"/proc/self/fd/{number}") for number in range(3)]
        changed = {number for number in range(3) if now[number] != before[number]}
        with Child(STOPS, {}, prompt) as child:
            return [now[number] for number in closed], changed, child.open_files()

    for closed in ((), (0,), (1, 2), (0, 1, 2), (0, 2)):
        opened, changed, files = apart(partial(act, closed))
        assert set(opened) <= {"/dev/null"}
        assert changed <= set(closed)
        assert (sorted(files), files[0]) == ([0, 1, 2], str(prompt))


# --- umask and limits ---------------------------------------------------------------------------------------

LIMITS = """
import json, os, resource
names = ("RLIMIT_NOFILE", "RLIMIT_CORE")
print(json.dumps([os.umask(0), {name: resource.getrlimit(getattr(resource, name)) for name in names}]))
"""


def limits_in_child(umask: int, limits: dict[str, list[int]]) -> tuple[int, dict[str, list[int]]]:
    """Return umask and limits of a child that is started with these."""
    reading, writing = process.pipe()
    os.set_blocking(reading, True)
    with process.Surroundings(umask, limits):
        argv = [sys.executable, "-I", "-S", "-c", LIMITS]
        child = process.spawn(argv[0], argv, {}, streams=(0, writing, 2))
    os.close(writing)
    with os.fdopen(reading) as out:
        told, found = json.loads(out.read())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return told, found


def test_a_child_has_the_launchers_umask_and_limits_and_we_keep_ours() -> None:
    def act() -> None:
        os.umask(0o077)
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, 1000))
        asked = {"RLIMIT_NOFILE": [500, 600], "RLIMIT_CORE": [0, -1], "RLIMIT_OF_TOMORROW": [1, 1]}
        umask, found = limits_in_child(0o027, asked)
        assert umask == 0o027
        assert found["RLIMIT_NOFILE"] == [500, 1000]  # the soft one alone: the hard one never comes back
        assert found["RLIMIT_CORE"][0] == 0
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (300, 1000)
        assert os.umask(0) == 0o077

    apart(act)


@pytest.mark.parametrize("wanted", [1001, -1])
def test_no_limit_goes_beyond_what_we_may(wanted: int) -> None:
    def act() -> list[int]:
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, 1000))
        _, found = limits_in_child(0o022, {"RLIMIT_NOFILE": [wanted, wanted]})
        return found["RLIMIT_NOFILE"]

    assert apart(act) == [300, 1000]


def test_umask_and_limits_are_ours_again_when_the_child_cannot_be_started() -> None:
    def act() -> tuple[int, tuple[int, int]]:
        os.umask(0o077)
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, 1000))
        with pytest.raises(FileNotFoundError), process.Surroundings(0, {"RLIMIT_NOFILE": [500, 500]}):
            process.spawn("/nowhere", ["x"], {}, streams=(0, 1, 2))
        return os.umask(0), resource.getrlimit(resource.RLIMIT_NOFILE)

    assert apart(act) == (0o077, (300, 1000))


def test_we_take_what_we_may_and_know_what_it_was() -> None:
    def act() -> tuple[dict[str, list[int]], tuple[int, int], tuple[int, int]]:
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, 1000))
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10**9))
        before = process.raise_limits()
        return before, resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_FSIZE)

    before, files, size = apart(act)
    assert before == {"RLIMIT_NOFILE": [300, 1000], "RLIMIT_FSIZE": [10_000, 10**9]}
    assert files == (1000, 1000)
    assert size == (10**9, 10**9)


# --- pipes, the dead, programs ------------------------------------------------------------------------------


def test_our_end_of_a_pipe_never_blocks_and_the_childs_does() -> None:
    reading, writing = process.pipe()
    assert not os.get_blocking(reading)
    assert os.get_blocking(writing)
    assert not os.get_inheritable(reading)
    assert not os.get_inheritable(writing)
    with pytest.raises(BlockingIOError):
        os.read(reading, 1)
    assert os.write(writing, b"x" * 65536) == 65536
    assert os.read(reading, 1 << 20) == b"x" * 65536
    os.close(writing)
    assert os.read(reading, 1) == b""
    os.close(reading)


def test_all_that_died_are_reaped_and_one_is_told() -> None:
    def act() -> tuple[int | None, int | None, int | None]:
        process.become_subreaper()
        nothing = process.reap(1)
        child = os.posix_spawn("/bin/sh", ["sh", "-c", "(exit 4) & sleep 0.05 & exit 3"], {})
        others = [os.posix_spawn("/bin/true", ["true"], {}) for _ in range(3)]
        eventually(lambda: all(map(is_zombie, (child, *others))))
        status = process.reap(child)
        for pid in (child, *others):
            assert not os.path.exists(f"/proc/{pid}")
        again = process.reap(child)
        return nothing, status, again

    nothing, status, again = apart(act)
    assert nothing is None
    assert status is not None
    assert os.waitstatus_to_exitcode(status) == 3
    assert again is None


def test_orphans_of_a_subreaper_become_its_children(tmp_path: Path) -> None:
    def act() -> int:
        process.become_subreaper()
        orphan = tmp_path / "orphan"
        subprocess.run(["sh", "-c", f"(setsid sh -c 'echo $$ >{orphan}; exec sleep 600' &)"], check=True)
        pid = int(eventually(lambda: orphan.exists() and orphan.read_text().strip()))
        parent = int(stat_fields(pid)[1])
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return parent - os.getpid()

    assert apart(act) == 0


def test_a_program_is_found_in_the_childs_own_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("first", "second", "third"):
        (tmp_path / folder).mkdir()
    (tmp_path / "first" / "tool").write_text("not executable")
    (tmp_path / "second" / "tool").mkdir()
    program = tmp_path / "third" / "tool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = ":".join(str(tmp_path / folder) for folder in ("none", "first", "second", "third"))
    assert process.find_program("tool", path) == str(program)
    assert process.find_program("tool", "") is None
    assert process.find_program("other", path) is None
    assert process.find_program(str(program), "") == str(program)
    assert process.find_program(f"{program}x", path) is None
    monkeypatch.chdir(program.parent)
    assert process.find_program("tool", "/nowhere:") == "./tool"
    assert process.find_program("./tool", "/nowhere") == "./tool"
