"""On the far machine: a private repository for each project, and a checkout for each run that works on it.

A checkout is a repository of its own, with `.git` inside its folder. It only borrows the objects of the
private one, so a child's branches, configuration and hooks affect no other run. Our own git commands work on
the private repository, and never read the child's configuration.

Touches: the disk, by git.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil

from tmuxagents.errors import Unusable
from tmuxagents.machines import refs
from tmuxagents.system import git, identity, places, removal
from tmuxagents.text import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import NoReturn

LONG_S = 600.0  # for work that grows with a project
_MAKING = ".making-"
_FAR = "far"  # a folder in the state directory


class Project:
    """A project of another machine: its repository and its checkouts here."""

    def __init__(self, key: str, home: str, environment: Mapping[str, str]) -> None:
        refs.check_name(key, refs.PROJECT)
        self._environment = environment
        far = f"{home}/{_FAR}"
        self.key = key
        self.repository = f"{far}/repositories/{key}.git"
        self.checkouts = os.path.dirname(refs.checkout_of(home, key, ""))
        self.git = self.at(self.repository)

    def at(self, repository: str, folder: str = "/", **more: str) -> git.Git:
        """Return git for a repository here, without the configuration of a user or the system."""
        return git.Git(self._environment, folder=folder, alone=True, more={"GIT_DIR": repository, **more})

    def checkout(self, run_id: str) -> str:
        """Return the path of a run's checkout, whether there is one or not."""
        refs.check_name(run_id, refs.RUN)
        return f"{self.checkouts}/{run_id}"

    def receive(self, form: str) -> NoReturn:
        """Replace this process by the git that receives commits for this project."""
        if not os.path.isdir(f"{self.repository}/objects"):
            git.refuse_old(self.git)
            made = _name_to_make(self.repository)
            words = ("init", "--quiet", "--bare", "--template=", f"--object-format={form}", made)
            self.at(made).read(*words)
            _put(made, self.repository)
        self.git.become("receive-pack", self.repository)

    def upload(self) -> NoReturn:
        """Replace this process by the git that sends commits of this project."""
        if not os.path.isdir(self.repository):
            raise _missing(f"There is no repository {self.key}")
        self.git.become("upload-pack", "--strict", self.repository)

    def make_checkout(
        self, run_id: str, commit: str, *, folder: str = "", author: tuple[str, str] | None = None
    ) -> str:
        """Make the checkout of a run, unless it has one; return the folder to work in."""
        refs.check_name(commit, refs.COMMIT)
        path = self.checkout(run_id)
        if not os.path.isdir(path):
            if self.git.ask("cat-file", "-e", f"{commit}^{{commit}}").code != 0:
                raise _missing(f"Commit {commit[:12]} of {self.key} is not over there")
            made = _name_to_make(path)
            own = self.at(f"{made}/.git", GIT_WORK_TREE=made)
            form = next(form for form, length in refs.FORMATS.items() if length == len(commit))
            try:
                own.read("init", "--quiet", "--template=", f"--object-format={form}", made)
                with open(f"{made}/.git/objects/info/alternates", "wb") as file:
                    file.write(quoted(f"{self.repository}/objects") + b"\n")
                # If it was sent from a shallow clone, history ends there, too.
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(f"{self.repository}/shallow", f"{made}/.git/shallow")
                own.read("checkout", "--quiet", "--detach", commit, limit_s=LONG_S)
                if author and all(author) and not git.Git(self._environment).line("config", "user.email"):
                    own.read("config", "user.name", author[0])
                    own.read("config", "user.email", author[1])
                self.git.read("update-ref", f"{refs.BASE}/{run_id}", commit)
                _put(made, path)
            finally:
                removal.remove(made)
        self.git.ask("update-ref", "-d", f"{refs.SENT}/{run_id}")
        cwd = os.path.normpath(f"{path}/{folder}")
        if not paths.is_inside(cwd, path) or not os.path.isdir(cwd):
            raise _missing(f"The checkout {path} has no folder {folder}")
        return cwd

    def names(self, *prefixes: str) -> dict[str, str]:
        """Return the refs below these prefixes, and the commit of each."""
        lines = self.git.read("for-each-ref", "--format=%(objectname) %(refname)", *prefixes)
        pairs = (os.fsdecode(line).split(" ", 1) for line in lines.splitlines())
        return {name: commit for commit, name in pairs}

    def confirm(self, run_id: str, commits: Iterable[str]) -> None:
        """Record which commits of a run have come back."""
        back = {f"{refs.BACK}/{run_id}/{commit}": commit for commit in commits}
        self.git.read("update-ref", "--stdin", given=refs.updates([], back)[1])

    def remove(self, run_id: str) -> None:
        """Remove a run's checkout and its refs; with the last run, also the repository. Raises OSError."""
        path = self.checkout(run_id)
        if os.path.islink(self.checkouts):
            raise OSError(errno.ELOOP, "it is a link", self.checkouts)
        removal.remove(path)
        if not os.path.isdir(self.repository):
            return
        kinds = (refs.BASE, refs.SENT, refs.LEFT, refs.BACK)
        gone = self.names(*(f"{kind}/{run_id}{end}" for kind in kinds for end in ("", ".branches")))
        self.git.read("update-ref", "--stdin", given=refs.updates(gone, {})[0])
        if self.names(refs.BASE, refs.SENT):
            return
        removal.remove(self.repository)
        with contextlib.suppress(OSError):  # for example, something unfinished is there (list_unfinished)
            os.rmdir(self.checkouts)


def list_checkouts(home: str, environment: Mapping[str, str]) -> Iterator[tuple[Project, str]]:
    """Yield the project and the run of each checkout here."""
    top = f"{home}/{_FAR}/checkouts"
    for key in _names(top):
        for run_id in _names(f"{top}/{key}"):
            if refs.is_name(key, refs.PROJECT) and refs.is_name(run_id, refs.RUN):
                yield Project(key, home, environment), run_id


def list_unfinished(home: str) -> Iterator[str]:
    """Yield the half-made folders and the unused repositories that interrupted launches have left."""
    top, keys = f"{home}/{_FAR}", _names(f"{home}/{_FAR}/checkouts")
    for folder in (f"{top}/repositories", *(f"{top}/checkouts/{key}" for key in keys)):
        yield from (f"{folder}/{name}" for name in _names(folder) if name.startswith(_MAKING))
    for name in _names(f"{top}/repositories"):
        key = name.removesuffix(".git")
        if refs.is_name(key, refs.PROJECT) and not _names(f"{top}/checkouts/{key}"):
            yield f"{top}/repositories/{name}"


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _name_to_make(path: str) -> str:
    folder, name = os.path.split(path)
    places.make_folders(folder)
    return f"{folder}/{_MAKING}{name}-{identity.secret()}"


def _put(made: str, path: str) -> None:
    """Give a new folder its name, unless another process was first. Raises OSError."""
    try:
        os.rename(made, path)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        removal.remove(made)


def quoted(path: str) -> bytes:
    """Return a path in the form that git reads in its lists of object folders."""
    text = os.fsencode(path)
    if text.startswith(b'"') or b"\n" in text or b":" in text:
        return b'"' + text.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
    return text


def _missing(words: str) -> Unusable:
    return Unusable(f"{words}.", kind="code-failed", hint="launch again: that sends what is missing")
