"""git in one repository, limited in time, and without any setting that could start another program.

A repository is not trusted: its configuration can name hooks, filters, monitors and commands, and its content
can name the filters. None of them runs here. git enters no submodule and asks nothing on a terminal. It
contacts another repository only if the caller names the protocol.

Touches: git.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from typing import NamedTuple

from tmuxagents.errors import Unusable
from tmuxagents.system import foreground

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO, NoReturn

OLDEST = (2, 31)  # the first that takes settings from GIT_CONFIG_COUNT
LIMIT_S = 60.0
_KEPT = re.compile("GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM)")
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "",  # none: the caller names the one that it needs
    "GIT_ASKPASS": "",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
_SETTINGS = {
    "core.alternateRefsCommand": "true",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.sparseCheckout": "false",
    "core.splitIndex": "false",
    "core.untrackedCache": "false",
    "fetch.fsckObjects": "true",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.version": "0",
    "push.gpgSign": "false",
    "receive.autogc": "false",
    "receive.shallowUpdate": "true",
    "submodule.recurse": "false",
}
# The settings by which a repository can name programs, and the scopes of its own settings.
_PROGRAMS = re.compile(rb"(filter\..*\.(clean|smudge|process|required)|hook\..*\.command)", re.DOTALL)
_OWN = (b"local", b"worktree")


class GitAnswer(NamedTuple):
    """The answer to one call of git."""

    code: int
    out: bytes
    err: str

    @property
    def reason(self) -> str:
        """Return git's own reason, as the end of a sentence."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        reasons = [line for line in lines if line.startswith(("fatal:", "error:", "remote: fatal:"))]
        words = (reasons or lines or [f"git left with {self.code}"])[0]
        return re.sub(r"^((remote|fatal|error): )+", "", words).rstrip(".")


class GitRefused(Unusable):
    """A git command failed, or took too long."""


class Git:
    """git in one folder or repository. `alone`: without the configuration of the user and the machine."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        folder: str = "/",
        alone: bool = False,
        more: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self._environment = _environment(environment, alone=alone) | dict(more or {})
        self._quiet: dict[str, str] | None = None

    def ask(self, *words: str, given: bytes = b"", limit_s: float = LIMIT_S) -> GitAnswer:
        """Call git; return its answer, even if that is an error."""
        return _call(["git", *words], self.folder, self.environment, given, limit_s)

    def read(self, *words: str, given: bytes = b"", limit_s: float = LIMIT_S) -> bytes:
        """Call git; return its output. Raises GitRefused."""
        answer = self.ask(*words, given=given, limit_s=limit_s)
        if answer.code != 0:
            words_ = next(word for word in words if not word.startswith("-"))
            raise GitRefused(f"git {words_} failed: {answer.reason}.", kind="git-failed")
        return answer.out

    def line(self, *words: str) -> str | None:
        """Return the one line that git prints, None if it refuses."""
        answer = self.ask(*words)
        return os.fsdecode(answer.out.removesuffix(b"\n")) if answer.code == 0 else None

    def become(self, *words: str) -> NoReturn:
        """Replace this process by git. Raises OSError if it cannot be started."""
        foreground.become(["git", *words], self.environment)

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of a call, which keeps git from starting the repository's own programs."""
        if self._quiet is None:
            words = ["git", "config", "--list", "--show-scope", "--name-only", "-z"]
            answer = _call(words, self.folder, self._environment | _settings(_SETTINGS), b"", LIMIT_S)
            parts = answer.out.split(b"\0")
            programs = {
                os.fsdecode(name): "false" if name.endswith(b".required") else ""
                for scope, name in zip(parts[::2], parts[1::2], strict=False)
                if scope in _OWN and _PROGRAMS.fullmatch(name)
            }
            self._quiet = _settings(_SETTINGS | programs)
        return self._environment | self._quiet


def _environment(given: Mapping[str, str], *, alone: bool) -> dict[str, str]:
    """Return an environment that cannot lead git elsewhere: the caller may run inside a hook."""
    kept = {
        name: value for name, value in given.items() if not name.startswith("GIT_") or _KEPT.fullmatch(name)
    }
    return kept | _ENVIRONMENT | (_ALONE if alone else {})


def _settings(values: Mapping[str, str]) -> dict[str, str]:
    found = {"GIT_CONFIG_COUNT": str(len(values))}
    for number, (name, value) in enumerate(values.items()):
        found |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return found


def _call(
    argv: Sequence[str], folder: str, environment: Mapping[str, str], given: bytes, limit_s: float
) -> GitAnswer:
    """Run a program to its end, with files as streams: a process that it leaves could keep a pipe open."""
    with tempfile.TemporaryFile() as put, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        put.write(given)
        put.seek(0)
        try:
            process = subprocess.Popen(
                argv, stdin=put, stdout=out, stderr=err, cwd=folder, env=environment, start_new_session=True
            )
        except OSError as error:
            if isinstance(error, FileNotFoundError) and os.path.isdir(folder):
                hint = "install it: apt install git"
                raise Unusable("There is no git on PATH.", kind="git-missing", hint=hint) from error
            message = f"git cannot be started in {folder}: {error.strerror}."
            raise Unusable(message, kind="git-failed") from error
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired as error:
            message = f"git {argv[1]} did not end within {limit_s:g} s."
            raise GitRefused(message, kind="git-failed", hint="try again; the next call goes on") from error
        finally:
            if process.returncode is None:  # also after Ctrl-C
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return GitAnswer(code, _all(out), _all(err).decode("utf-8", "replace"))


def _all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def refuse_old(git: Git) -> None:
    """Raise Unusable for a git that is too old for this module."""
    version = git.line("version") or ""
    found = re.search(r"(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        words = f"The git on PATH is too old: {version!r}; {oldest} or newer is needed."
        raise Unusable(words, kind="git-old", hint="install a newer git")
