"""On this machine: send code to another machine with a run, and bring the child's commits back.

Before a run exists, `look` decides which code goes along, if any. `send` makes the run's checkout over there.
`bring_back` stores the child's commits here under separate refs. The run's machine.json records both. After a
cut connection, each step can be repeated. Branches, index, worktree and configuration here never change.

Joins.
"""

from __future__ import annotations

import os
import shlex
import threading
import time
from typing import NamedTuple

from tmuxagents.errors import BadRequest, TmuxAgentsError, Unusable
from tmuxagents.machines import refs, refusals, requests, ssh
from tmuxagents.machines.refs import SENT, Code
from tmuxagents.machines.refusals import Unreachable
from tmuxagents.runs import directory, writing
from tmuxagents.system import git, places
from tmuxagents.system.git import Git
from tmuxagents.system.project import upwards
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tmuxagents.machines.hosts import Host
    from tmuxagents.machines.refs import Left

_COUNT_S = 10.0
_LEFT_WITH = "ssh left with "
_OF_GIT = ("fatal: ", "error: ", "Please make sure you have", "and the repository exists")
_LONG_S = 600.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 30.0  # between two tries to bring code back
_CODE = "code"
_ELSEWHERE = "name a folder over there, which needs no checkout: --cwd DIR"


class Looked(NamedTuple):
    """The code that would be sent, and warnings about it."""

    code: Code
    warnings: list[str]


def look(folder: str, environment: Mapping[str, str]) -> Looked | None:
    """Return the code that a child in this folder needs; None outside of a git project. Raises BadRequest."""
    if not any(os.path.lexists(f"{each}/.git") for each in upwards(folder, places.user_home(environment))):
        return None  # `upwards` stops at the home directory, which may be a repository itself
    here = Git(environment, folder=folder)
    top = here.ask("rev-parse", "--show-toplevel")
    if top.code != 0:
        if "not a git repository" in top.err or "must be run in a work tree" in top.err:
            return None
        raise Unusable(f"git refuses {folder}: {top.reason}.", kind="git-failed", hint=_ELSEWHERE)
    git.refuse_old(here)
    project = os.fsdecode(top.out.removesuffix(b"\n"))
    commit = here.line("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not commit:
        raise _cannot(f"The project {project} has no commit yet.", "commit first")
    if here.ask("config", "--get-regexp", r"^(extensions\.partialclone|remote\..*\.promisor)$").code == 0:
        raise _cannot(f"The project {project} is a partial clone.", "fetch all of it, git fetch --refetch")
    prefix = here.line("rev-parse", "--show-prefix") or ""
    if prefix and here.line("cat-file", "-t", f"{commit}:{prefix.rstrip('/')}") != "tree":
        raise _cannot(f"The last commit has no folder {prefix.rstrip('/')}.", "commit it")
    repository = here.line("rev-parse", "--path-format=absolute", "--git-common-dir") or project
    form = here.line("rev-parse", "--show-object-format") or "sha1"
    author = (here.line("config", "user.name") or "", here.line("config", "user.email") or "")
    code = Code(repository, refs.key(repository, form), form, commit, prefix, author)
    return Looked(code, _warnings(Git(environment, folder=project), commit))


def _cannot(message: str, first: str) -> BadRequest:
    return BadRequest(
        f"{message} So it cannot go to another machine.", kind="no-code", hint=f"{first}, or {_ELSEWHERE}"
    )


def _warnings(project: Git, commit: str) -> list[str]:
    words = (
        *("status", "--porcelain", "-z", "--no-renames"),
        *("--ignore-submodules=all", "--untracked-files=normal"),
    )
    try:
        count: int | None = project.read(*words, limit_s=_COUNT_S).count(b"\0")
    except git.GitRefused:
        count = None
    attributes = ("--quiet", "--fixed-strings", "filter=lfs", commit, "--", ":(glob)**/.gitattributes")
    return refs.warnings(
        count,
        has_submodules=project.ask("cat-file", "-e", f"{commit}:.gitmodules").code == 0,
        has_lfs=project.ask("grep", *attributes).code == 0,
    )


def send(code: Code, run_id: str, host: Host, environment: Mapping[str, str]) -> str:
    """Make the checkout of a run over there; return the folder to work in. Raises Unreachable, Unusable."""
    refspec = f"+{code.commit}:{SENT}/{run_id}"
    program = _program(host, "receive", code.form)
    words = ("send-pack", "--quiet", "--force", f"--receive-pack={program}", f"there:{code.key}", refspec)
    _over(host, environment, code.repository, *words)
    request = {"do": "checkout", "key": code.key, "run": run_id, "commit": code.commit, "folder": code.folder}
    answer = _ask(host, request | {"author": code.author}, environment)
    cwd = answer.get("cwd")
    if not isinstance(cwd, str):
        raise BadRequest(f"{host.name} made no checkout.", kind="no-code")
    return cwd


def bring_back(code: Code, run_id: str, host: Host, environment: Mapping[str, str]) -> Left:
    """Fetch the commits that a run left into separate refs here. Raises Unreachable, Unusable."""
    request = {"key": code.key, "run": run_id}
    answer = _ask(host, request | {"do": "leave", "checkout": code.checkout or run_id}, environment)
    left = refs.parse_left(answer, run_id)
    project = Git(environment, more={"GIT_DIR": code.repository})
    missing = {
        ref: commit
        for ref, commit in left.refs.items()
        if project.line("rev-parse", "-q", "--verify", ref) != commit
    }
    if missing:
        program = _program(host, "upload")
        words = ("fetch-pack", "--quiet", "--no-progress", f"--upload-pack={program}", f"there:{code.key}")
        _over(host, environment, code.repository, *words, *missing)
        listed = project.read("for-each-ref", "--format=%(refname)", refs.LEFT)
        old = listed.decode("utf-8", "replace").split()
        gone = [ref for ref in old if refs.is_left_by(ref, run_id) and ref not in left.refs]
        for lines in refs.updates(gone, missing):
            project.read("update-ref", "--stdin", given=lines)
    if left.refs:
        _ask(host, request | {"do": "confirm", "refs": left.refs}, environment)
    return left


# --- for a run, by its directory --------------------------------------------------------------------------


def of_run_before(run_dir: str) -> dict[str, Any] | None:
    """Return the code of an earlier run, for a new run that will work in the same checkout."""
    found = _of_run(run_dir)
    return found and found._replace(checkout=found.checkout or os.path.basename(run_dir)).document()


def _of_run(run_dir: str) -> Code | None:
    document = (directory.read_machine(run_dir) or {}).get(_CODE)
    return refs.parse(document) if isinstance(document, dict) else None


def send_with(run_dir: str, host: Host, environment: Mapping[str, str], asked: bytes) -> bytes:
    """Send the code of a run, if it has any; return the request, with the folder to work in."""
    found = _of_run(run_dir)
    if found is None or found.checkout:
        return asked
    cwd = send(found, os.path.basename(run_dir), host, environment)
    document = jsonline.decode(asked)
    return jsonline.encode({**document, "cwd": cwd}) if isinstance(document, dict) else asked


def bring_back_of(run_dir: str, host: Host, environment: Mapping[str, str]) -> None:
    """Fetch the commits that a run left; record them, or why none came. Raises Unreachable, OSError."""
    try:
        found = _of_run(run_dir)
        if found is None:
            return
        left = bring_back(found, os.path.basename(run_dir), host, environment)
        back: dict[str, Any] = {"refs": left.refs, "kept": left.kept, "isGone": left.is_gone}
    except Unreachable:
        raise
    except TmuxAgentsError as why:  # it stays over there, and the run ends all the same
        back = {"refs": {}, "kept": [], "isGone": False, "problem": why.message}
    code = (directory.read_machine(run_dir) or {}).get(_CODE, {})  # no other process changes that meanwhile
    writing.change_machine(run_dir, {_CODE: {**code, "back": back}})


class Bringing:
    """Holds back each result of one host until the code of its run is here.

    A thread brings back the code of one run after the other, while the mirror follows the other runs. If the
    mirror is killed, nothing is lost: the next one gets the same results again. `miss` is called with the
    reason if the host does not answer.
    """

    def __init__(self, host: Host, environment: Mapping[str, str], miss: Callable[[str], None]) -> None:
        self._host = host
        self._environment = environment
        self._miss = miss
        self._results: dict[str, bytes] = {}
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def is_busy(self) -> bool:
        """Say whether a result still waits for its code."""
        with self._lock:
            return bool(self._results)

    def end(self, run_dir: str, result: bytes) -> None:
        """End a run with this result as soon as its code is here; at once if it has no code."""
        if _CODE not in (directory.read_machine(run_dir) or {}):
            writing.replace(run_dir, directory.RESULT, result)
            return
        with self._lock:
            self._results[run_dir] = result
            if self._thread is None:
                self._thread = threading.Thread(target=self._bring_all, daemon=True)
                self._thread.start()

    def _bring_all(self) -> None:
        """Bring back the code of each run, and end the run. A failed step is tried again after a pause."""
        pause_s = _FIRST_PAUSE_S
        while True:
            with self._lock:
                run_dir = next(iter(self._results), None)
                if run_dir is None:
                    self._thread = None  # the next result starts another thread
                    return
            try:
                if os.path.isdir(run_dir):  # else it was removed here
                    bring_back_of(run_dir, self._host, self._environment)
                    writing.replace(run_dir, directory.RESULT, self._results[run_dir])
            except (Unreachable, OSError) as why:
                if isinstance(why, Unreachable):  # else, for example, our disk is full
                    self._miss(why.message)
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                continue
            pause_s = _FIRST_PAUSE_S
            with self._lock:
                del self._results[run_dir]


# --- the two ways over ------------------------------------------------------------------------------------


def _ask(host: Host, request: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """Send a request to `leavings.answer_about_code` over there. Raises Unreachable, Unusable."""
    given = jsonline.encode(request)
    return requests.ask(host, ["_code", "do"], environment, text=given, limit_s=_LONG_S)


def _program(host: Host, *words: str) -> str:
    return shlex.join([*host.command, "_code", *words])


def _over(host: Host, environment: Mapping[str, str], repository: str, *words: str) -> None:
    """Call a git command whose other end is on a host. Git starts our ssh with a name and the far command."""
    way = shlex.join(ssh.prefix(host, environment=environment))
    and_tell = f'set -- $?; echo "{_LEFT_WITH}$1" >&2; exit "$1"'
    more = {
        "GIT_DIR": repository,
        "GIT_ALLOW_PROTOCOL": "ssh",
        "GIT_SSH_COMMAND": f'there() {{ {way} "$2"; {and_tell}; }}; there',
        "GIT_SSH_VARIANT": "simple",
    }
    answer = Git(environment, more=more).ask(*words, limit_s=_LONG_S)
    if answer.code == 0:
        return
    lines = answer.err.splitlines()
    left_with = [line.removeprefix(_LEFT_WITH) for line in lines if line.startswith(_LEFT_WITH)]
    lines_of_git = [line for line in lines if line.strip() and not line.startswith((_LEFT_WITH, *_OF_GIT))]
    if left_with == [str(ssh.FAILED)]:
        raise refusals.of_ssh("\n".join(lines_of_git), host.name, host.destination)
    if left_with and left_with[0] != "0" and lines_of_git:
        hint = f"tmuxagents hosts check {host.name}"
        raise Unusable(f"{host.name}: {lines_of_git[0]}", kind="code-failed", hint=hint)
    message = f"git could not exchange code with {host.name}: {answer.reason}."
    raise git.GitRefused(message, kind="git-failed", hint=f"tmuxagents hosts check {host.name}")
