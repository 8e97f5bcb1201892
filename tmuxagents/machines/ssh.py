"""The OpenSSH client with the user's own configuration. It asks no questions, and shares connections.

The first call to a host opens a connection, which stays open for a while and carries later calls.

Touches: ssh.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import stat
import subprocess
import time
from typing import NamedTuple

from tmuxagents.cpython import sha256
from tmuxagents.errors import Unusable
from tmuxagents.machines import refusals
from tmuxagents.machines.refusals import Unreachable
from tmuxagents.system import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tmuxagents.machines.hosts import Host

CONFIG = "TMUXAGENTS_SSH_CONFIG"  # another file than ~/.ssh/config
MOST_BYTES = 32 * 1024 * 1024
_MOST_SAID = 64 * 1024  # of stderr
_PIECE = 256 * 1024
_LOOK_S = 1.0
_OURS_ALONE = 0o700
FAILED = 255  # ssh itself failed, or a signal killed the far command
_NOT_FOUND = (126, 127)
# After 15 s of silence the link counts as dead. Forwardings are for the user's own connections.
_OPTIONS = (
    *("BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=3"),
    *("ControlMaster=auto", "ControlPersist=120", "ClearAllForwardings=yes", "ForwardX11=no"),
    *("RemoteCommand=none", "PermitLocalCommand=no", "LogLevel=ERROR"),
)


class FarAnswer(NamedTuple):
    """The exit code and the output of a command over there."""

    code: int
    out: bytes
    err: str


class CutOff(KeyboardInterrupt):
    """Ctrl-C while a far command worked. `asked`: whether the request may have got there."""

    def __init__(self, *, asked: bool) -> None:
        super().__init__()
        self.asked = asked


def control_path(host: Host, environment: Mapping[str, str]) -> str:
    """Return the short socket path of the connection to a host, in a folder that is ours alone."""
    base = environment.get("XDG_RUNTIME_DIR") or "/tmp"  # noqa: S108  (as tmux does)
    folder = f"{base}/tmuxagents-{os.getuid()}"
    try:
        os.mkdir(folder, _OURS_ALONE)
    except FileExistsError:
        pass
    except OSError as error:
        raise _no_folder(folder, str(error.strerror)) from error
    facts = os.lstat(folder)
    if facts.st_uid != os.geteuid() or facts.st_mode != stat.S_IFDIR | _OURS_ALONE:
        raise _no_folder(folder, "it is not yours alone")
    identity = (places.home(environment), environment.get(CONFIG, ""), host.name, host.destination)
    name = sha256("\0".join(identity).encode("utf-8", "surrogateescape"))[:16]
    return f"{folder}/{name}"


def _no_folder(folder: str, why: str) -> Unusable:
    message = f"The folder of ssh connections, {folder}, is not used: {why}."
    return Unusable(message, kind="no-permission", hint="set XDG_RUNTIME_DIR to a folder of yours alone")


def prefix(host: Host, *, tty: bool = False, environment: Mapping[str, str]) -> list[str]:
    """Return the ssh command without its last word, the line for the far shell."""
    file = environment.get(CONFIG)
    options = [
        word
        for option in (*_OPTIONS, f"ControlPath={control_path(host, environment)}")
        for word in ("-o", option)
    ]
    return ["ssh", *(("-F", file) if file else ()), *options, "-tt" if tty else "-T", host.destination]


def command(
    host: Host, argv: Sequence[str], *, tty: bool = False, environment: Mapping[str, str]
) -> list[str]:
    """Return the whole command that runs tmuxagents over there. Everyone can read it, here and there."""
    return [*prefix(host, tty=tty, environment=environment), shlex.join([*host.command, *argv])]


def close(host: Host, environment: Mapping[str, str]) -> None:
    """Close the connection to a host, if one is open."""
    words = [*prefix(host, environment=environment)[:-2], "-O", "exit", host.destination]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        nothing = subprocess.DEVNULL
        around = dict(environment)
        subprocess.run(
            words, stdin=nothing, stdout=nothing, stderr=nothing, env=around, check=False, timeout=5
        )


def run(  # noqa: PLR0913  (what goes there, and how long it may take)
    host: Host,
    argv: Sequence[str],
    *,
    input: bytes = b"",  # noqa: A002  (subprocess's word)
    timeout: float,
    environment: Mapping[str, str],
    greeting: bytes = b"",
) -> FarAnswer:
    """Run tmuxagents over there and return its answer. Raises Unreachable or Unusable.

    `greeting`: the far side prints this before it gets the input.
    """
    answer = run_line(
        host,
        shlex.join([*host.command, *argv]),
        input=input,
        timeout=timeout,
        environment=environment,
        greeting=greeting,
    )
    if answer.code in _NOT_FOUND:
        raise refusals.not_installed(host.name, host.command[-1])
    return answer


def run_script(  # noqa: PLR0913  (as above)
    host: Host,
    script: str,
    values: Mapping[str, str],
    *,
    input: bytes = b"",  # noqa: A002  (as above)
    timeout: float,
    environment: Mapping[str, str],
) -> FarAnswer:
    """Let sh over there run a script whose variables have these values. Raises Unreachable, or Unusable."""
    line = shlex.join(["sh", "-c", assigned(values) + script])
    return run_line(host, line, input=input, timeout=timeout, environment=environment)


def assigned(values: Mapping[str, str]) -> str:
    """Return values as the first lines of a shell script."""
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())


def run_line(  # noqa: PLR0913  (as above)
    host: Host,
    line: str,
    *,
    input: bytes = b"",  # noqa: A002  (as above)
    timeout: float,
    environment: Mapping[str, str],
    greeting: bytes = b"",
) -> FarAnswer:
    """Let the far shell run a line. Raises Unreachable, or Unusable.

    `greeting`: the command prints this before it gets the input. `asked` of Unreachable and CutOff says
    whether the input may have been sent.
    """
    client = start([*prefix(host, environment=environment), line], environment)
    talk = _Talk(host, client, input, greeting)
    try:
        out, err = talk.carry_out(time.monotonic() + timeout)
    except Unreachable as why:
        why.asked = talk.asked
        raise
    except KeyboardInterrupt as error:
        raise CutOff(asked=talk.asked) from error
    finally:
        if client.poll() is None:
            client.kill()
        client.wait()
        for stream in (client.stdin, client.stdout, client.stderr):
            if stream is not None:
                stream.close()
    errors = err.decode("utf-8", "replace")
    if client.returncode == FAILED or client.returncode < 0:  # our ssh was killed
        refused = refusals.of_ssh(errors, host.name, host.destination)
        if isinstance(refused, Unreachable):
            refused.asked = talk.asked
        raise refused
    return FarAnswer(client.returncode, out, errors)


def start(words: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start an ssh with three pipes. Raises Unusable."""
    try:
        return subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd="/",
            env=dict(environment),
            start_new_session=True,  # so Ctrl-C here does not cut a connection that others use
        )
    except FileNotFoundError as error:
        message = "There is no ssh on PATH."
        raise Unusable(message, kind="ssh-missing", hint="install it: apt install openssh-client") from error
    except OSError as error:
        message = f"ssh cannot be started: {error.strerror}."
        raise Unusable(message, kind="ssh-missing", hint="look at the limits: ulimit -a") from error


class _Talk:
    """The exchange with a far command: its input, and both outputs until they end."""

    def __init__(self, host: Host, client: subprocess.Popen[bytes], text: bytes, greeting: bytes) -> None:
        assert client.stdin is not None
        assert client.stdout is not None
        assert client.stderr is not None
        self._host = host
        self._client = client
        self._asking = client.stdin.fileno()
        self._out, self._err = client.stdout.fileno(), client.stderr.fileno()
        self._outputs = {self._out: bytearray(), self._err: bytearray()}
        self._left = memoryview(text)
        self._greeting = greeting
        self.asked = False  # whether the far command may have got some of the input

    def carry_out(self, deadline: float) -> tuple[bytes, bytes]:
        """Write the input and read both outputs until they end."""
        os.set_blocking(self._asking, False)
        with selectors.DefaultSelector() as waiting:
            for handle in self._outputs:
                waiting.register(handle, selectors.EVENT_READ)
            if not self._greeting:
                self._ask(waiting)
            while waiting.get_map():
                ready = waiting.select(min(_LOOK_S, max(0.0, deadline - time.monotonic())))
                if not ready and (self._client.poll() or 0) < 0:
                    break  # ssh was killed; the shared connection may hold its streams open
                takes = any(key.fd == self._asking for key, _ in ready)  # a slow link gets its time
                if not takes and time.monotonic() >= deadline:
                    raise self._silent()
                for key, _ in ready:
                    if key.fd == self._asking:
                        self._write(waiting)
                    else:
                        self._read(key.fd, waiting)
        try:
            self._client.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            raise self._silent() from error
        return bytes(self._outputs[self._out]), bytes(self._outputs[self._err])

    def _ask(self, waiting: selectors.BaseSelector) -> None:
        self.asked = True
        waiting.register(self._asking, selectors.EVENT_WRITE)

    def _write(self, waiting: selectors.BaseSelector) -> None:
        """Write what fits. Drop the rest if the other end reads no more."""
        try:
            self._left = self._left[os.write(self._asking, self._left[:_PIECE]) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._left = self._left[:0]
        if not self._left:
            waiting.unregister(self._asking)
            assert self._client.stdin is not None
            self._client.stdin.close()

    def _read(self, handle: int, waiting: selectors.BaseSelector) -> None:
        output = self._outputs[handle]
        piece = os.read(handle, _PIECE)
        output += piece
        if not piece:
            waiting.unregister(handle)
        if handle == self._err:
            del output[:-_MOST_SAID]
        elif len(output) > MOST_BYTES:
            message = f"{self._host.name} prints more than {MOST_BYTES // 2**20} MB."
            raise Unusable(message, kind="far-answer")
        if handle == self._out and not self.asked and output.startswith(self._greeting):
            self._ask(waiting)

    def _silent(self) -> Unreachable:
        message = f"{self._host.name} is unreachable: it does not answer in time."
        return Unreachable(message, kind="unreachable", hint=f"try: ssh {self._host.destination} true")
