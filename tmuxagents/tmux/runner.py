"""The only way to call tmux: by its argv, at a named socket, within a time limit, with a typed answer.

A call has three outcomes: tmux's answer, `NoServer`, and `Unanswered`. `Unanswered` does not mean no: a
stopped server may still carry out the command when it continues. All calls of libtmux come this way, too.

Touches: tmux.
"""

from __future__ import annotations

import os
import re
import subprocess

from tmuxagents.errors import Unusable
from tmuxagents.tmux import servers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Command = Sequence[str]

LIMIT_S = 5.0
OLDEST = (3, 2, "a")
_SLASHING = "3.4"  # this version prints a backslash before each `$` of a name
_SLASHED = re.compile(r"\\(?=\$[A-Za-z_{])")
_FIGURES = re.compile("[0-9]{1,9}")
NOWHERE = "/"  # the working directory of a tmux client that needs no other

# The environment of a server that we start. The server passes it to every window that is ever opened there,
# so it must hold nothing of a run or a parent agent, and no key of the first launcher. The rest (agent
# socket, display) comes with each client that attaches, by tmux's own update-environment.
_KEPT = frozenset(
    {
        *("PATH", "HOME", "SHELL", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
        *("TMUX_TMPDIR", "LD_LIBRARY_PATH"),
    }
)
_KEPT_FAMILIES = ("LC_", "XDG_")

_client: str | None = None  # the version of the tmux on PATH
_known: dict[str, str] = {}  # socket -> the version of its server


class Unanswered(Unusable):
    """No answer came in time. The command may have been carried out, or may still be."""


class NoServer(Unusable):
    """No server listens at this socket. A server may still live, if its socket was removed."""


class Denied(Unusable):
    """We are not allowed to use this socket."""


class Dying(NoServer):
    """The server ended during the call; another one can be started in a moment."""


class TmuxRefused(Unusable):
    """A refusal by tmux, in its own words."""


class TmuxAnswer:
    """The outcome of one call of tmux."""

    __slots__ = ("code", "error", "text")

    def __init__(self, code: int, text: str, error: str) -> None:
        self.code = code
        self.text = text
        self.error = error.strip()

    @property
    def lines(self) -> list[str]:
        """Return the printed lines."""
        return self.text.removesuffix("\n").split("\n") if self.text else []


class Runner:
    """All calls to one server. A server that a call starts keeps `umask` for its windows."""

    __slots__ = ("socket", "umask")

    def __init__(self, socket: str, umask: int | None = None) -> None:
        self.socket = socket
        self.umask = umask

    def run(self, *commands: Command, text: bytes | None = None, folder: str = NOWHERE) -> TmuxAnswer:
        """Carry out commands, one after the other, in one call; the first that fails ends it.

        Raises Unanswered, NoServer, Denied, Dying, and Unusable where tmux is missing or too old.
        """
        ask_version = self.socket not in _known
        asked = [("display-message", "-p", "#{version}"), *commands] if ask_version else commands
        answer = call(self.socket, listed(asked), text=text, folder=folder, umask=self.umask)
        if ask_version and answer.text:  # without text, tmux has read nothing, and its error reports why
            version, _, answer.text = answer.text.partition("\n")
            refuse_old(version, f"The tmux server at {self.socket}")
            _known[self.socket] = version
        if _known.get(self.socket) == _SLASHING:
            answer.text = _SLASHED.sub("", answer.text)
        return answer

    def ask(self, *commands: Command, text: bytes | None = None) -> list[str]:
        """Return the lines that commands print; raise TmuxRefused if tmux did not carry all of them out."""
        answer = self.run(*commands, text=text)
        if answer.code != 0:
            raise refusal(answer, "tmux-unreachable")
        return answer.lines


def refusal(answer: TmuxAnswer, kind: str) -> TmuxRefused:
    """Return the error for a refusal."""
    return TmuxRefused(f"tmux says: {answer.error or answer.code}.", kind=kind)


def listed(commands: Sequence[Command]) -> list[str]:
    """Return one command line of several commands."""
    words: list[str] = []
    for command in commands:
        words += [*([";"] if words else []), *map(closed, command)]
    return words


def closed(word: str) -> str:
    """Return a word that ends no command: tmux takes a semicolon at a word's end as a separator."""
    return f"{word[:-1]}\\;" if word.endswith(";") else word


def call(
    socket: str,
    words: Sequence[str],
    *,
    text: bytes | None = None,
    folder: str = NOWHERE,
    umask: int | None = None,
) -> TmuxAnswer:
    """Call tmux once with words that are already closed; raise if no server could answer."""
    if socket not in _known:
        try:
            servers.refuse_foreign(socket)
        except FileNotFoundError as error:
            raise _no_server(socket) from error
    answer = _spawn(["-S", socket, *words], text=text, folder=folder, umask=umask, asked=f" at {socket}")
    if answer.code == 0:
        return answer
    problem = answer.error
    if "server exited unexpectedly" in problem or "lost server" in problem:
        raise _no_server(socket, Dying)
    if "no server running on" in problem or ("error connecting to" in problem and "No such file" in problem):
        raise _no_server(socket)
    if (
        "error connecting to" in problem
        or "error creating" in problem
        or "couldn't create directory" in problem
    ):
        short = "set TMUX_TMPDIR to a folder with a shorter path"
        hint = short if "too long" in problem else f"allow this program to use {socket}"
        raise Denied(f"tmux cannot be reached: {problem}.", kind="tmux-unreachable", hint=hint)
    if "protocol version mismatch" in problem:
        message = f"The tmux server at {socket} and the tmux on PATH have different versions: {problem}."
        hint = "end that server when its sessions are no longer needed"
        raise Unusable(message, kind="tmux-old", hint=hint)
    return answer  # a refusal, which the caller judges


def _spawn(
    words: list[str], *, text: bytes | None, folder: str, umask: int | None, asked: str = ""
) -> TmuxAnswer:
    """Run tmux and return its answer. Without -u, LC_ALL=C would turn all but ASCII into underscores."""
    try:
        # run() kills the client at the limit and then waits for it alone. Popen with communicate() would
        # go on waiting for the end of the pipe, which a stopped server holds open, too.
        done = subprocess.run(
            ["tmux", "-u", *words],
            input=text,
            stdin=None if text is not None else subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=LIMIT_S,
            cwd=folder,
            env=scrubbed(os.environ),
            umask=-1 if umask is None else umask,
        )
    except subprocess.TimeoutExpired as error:
        message = f"tmux{asked} did not answer within {LIMIT_S:g} s."
        hint = "its server may be stopped: see ps -C tmux -o pid,stat,args"
        raise Unanswered(message, kind="tmux-unreachable", hint=hint) from error
    except (FileNotFoundError, PermissionError) as error:
        raise no_tmux() from error
    except OSError as error:  # no more processes, descriptors or memory
        message = f"tmux cannot be started: {error.strerror}."
        raise Unusable(message, kind="tmux-unreachable", hint="look at the limits: ulimit -a") from error
    printed, errors = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return TmuxAnswer(done.returncode, printed, errors)


def scrubbed(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the part of an environment that a tmux server may keep if this call starts one."""
    return {
        name: value for name, value in environment.items() if name in _KEPT or name.startswith(_KEPT_FAMILIES)
    }


def _no_server(socket: str, fault: type[NoServer] = NoServer) -> NoServer:
    hint = "if the server runs, its socket was removed; kill -USR1 PID makes it anew"
    return fault(f"No tmux server answers at {socket}.", kind="tmux-unreachable", hint=hint)


# --- versions ---------------------------------------------------------------------------------------------


def client_version() -> str:
    """Return the version of the tmux on PATH, read once; raise Unusable if tmux is missing or too old."""
    global _client  # noqa: PLW0603  (once a process)
    if _client is None:
        answer = _spawn(["-V"], text=None, folder=NOWHERE, umask=None).text.strip()
        name, _, version = answer.partition(" ")
        refuse_old(version if name == "tmux" else "", "The tmux on PATH")
        _client = version
    return _client


def no_tmux() -> Unusable:
    """Return the error that there is no tmux."""
    return Unusable("There is no tmux on PATH.", kind="tmux-missing", hint="install it: apt install tmux")


def refuse_old(version: str, what: str) -> None:
    """Raise Unusable for a tmux below 3.2a. A version that is no number, such as `master`, is new enough."""
    major, _, rest = version.removeprefix("next-").partition(".")
    if major and not _FIGURES.fullmatch(major):
        return
    minor = _FIGURES.match(rest)
    letter = rest[minor.end() if minor else 0 :][:1]
    if not major or (int(major), int(minor[0]) if minor else 0, letter) < OLDEST:
        words = f"{what} is too old: {version!r}; 3.2a or newer is needed."
        raise Unusable(words, kind="tmux-old", hint="install a newer tmux, then end the old server")
