"""On the far machine: keep the work that a child left in its checkout, as commits of the project. Joins.

The child's own commits are kept as they are. One more commit on top of HEAD holds all files that the child
neither committed nor ignored. We make that commit in the private repository, with an index of its own, and
only read the child's objects. So the checkout does not change, and the child's configuration has no effect.

`answer_about_code` carries out the requests of the machine that sent the code.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile

from tmuxagents.errors import BadRequest
from tmuxagents.machines import refs
from tmuxagents.machines.checkout import LONG_S, Project, quoted
from tmuxagents.machines.refs import Left
from tmuxagents.runs import directory
from tmuxagents.system import places
from tmuxagents.system.git import GitRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.system.git import Git


LARGEST = 100 * 1024 * 1024  # bytes of one file in such a commit
MOST = 1024 * 1024 * 1024  # bytes of all files in it
_BRANCHES = 100
_REFUSALS = 1000
_GIT = b".git"
_SUBMODULE = b"160000"
_BY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "tmuxagents"), ("EMAIL", "tmuxagents@localhost"))
}


def gather(project: Project, checkout: str, run_id: str) -> Left:
    """Make refs of the commits that a run left. Without a change they stay the same. Raises GitRefused."""
    work = _Work.of(project, checkout, run_id)
    if work is None:
        return Left({}, [], is_gone=True)
    before = {ref: tip for ref, tip in project.names(refs.LEFT).items() if refs.is_left_by(ref, run_id)}
    if work.tips != before:
        work.take_objects()
        for lines in refs.updates([ref for ref in before if ref not in work.tips], work.tips):
            project.git.read("update-ref", "--stdin", given=lines)
    return Left(work.tips, work.names())


def missing(project: Project, checkout: str) -> list[str]:
    """Return the refs and paths of a checkout that have not come back. Raises GitRefused."""
    work = _Work.of(project, checkout, checkout)
    if work is None:
        return []
    back = set(project.names(refs.BACK).values())
    return [ref for ref, commit in work.tips.items() if commit not in back] + work.names()


class _Work:
    """A child's checkout, seen from the private repository."""

    def __init__(self, project: Project, tree: str, base: str) -> None:
        self.tips: dict[str, str] = {}
        self._project, self._tree = project, tree
        self._root = os.fsencode(tree) + b"/"  # the folder of the paths that git prints
        self._base = self._head = base
        self._kept: set[bytes] = set()
        self._branches: dict[str, str] = {}
        self._refusals = 0
        self._own = f"{tree}/.git"
        objects = f"{self._own}/objects"
        is_whole = all(os.path.isdir(path) and not os.path.islink(path) for path in (self._own, objects))
        self._view = {"GIT_WORK_TREE": tree}
        if is_whole:
            self._view["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = os.fsdecode(quoted(objects))
        self._git = project.at(project.repository, tree, **self._view)
        if is_whole:
            self._read_own(project.at(self._own))
        elif os.path.lexists(self._own):
            self._kept.add(_GIT)

    @classmethod
    def of(cls, project: Project, checkout: str, run_id: str) -> _Work | None:
        """Read a checkout for a run; None if it is gone."""
        refs.check_name(run_id, refs.RUN)
        tree = project.checkout(checkout)
        if os.path.islink(tree) or not os.path.isdir(tree):
            return None
        base = project.names(f"{refs.BASE}/{checkout}").get(f"{refs.BASE}/{checkout}")
        if base is None:
            raise BadRequest(f"The checkout {tree} belongs to no run.", kind="no-code")
        work = cls(project, tree, base)
        commit = work.commit(run_id)
        if work.has_more(commit):
            work.tips[f"{refs.LEFT}/{run_id}"] = commit
        for name, tip in work._branches.items():
            if work.has_more(tip, commit):
                work.tips[f"{refs.LEFT}/{run_id}.branches/{name}"] = tip
        return work

    def names(self) -> list[str]:
        """Return the paths that are in no commit."""
        return sorted(os.fsdecode(path) for path in self._kept)

    def _read_own(self, own: Git) -> None:
        """Read HEAD, branches and stash of the child's repository. This runs none of its hooks."""
        head = own.line("rev-parse", "--verify", "--quiet", "HEAD")
        answer = own.ask("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/stash")
        lines = [os.fsdecode(line).split(" ", 1) for line in answer.out.splitlines()]
        names = {"refs/stash": "@stash"}  # all others have the name of their branch
        found = {names.get(ref, ref.removeprefix("refs/heads/")): commit for commit, ref in lines[:_BRANCHES]}
        for folder in ("rebase-merge", "rebase-apply"):  # unfinished: its commits may be on no branch
            text = directory.read_bytes(f"{self._own}/{folder}/orig-head", limit=100)
            if text:
                found["@rebased"] = text.decode("ascii", "replace").strip()
        self._branches = {name: commit for name, commit in found.items() if self._is_commit(commit)}
        if head and self._is_commit(head):
            self._head = head
        elif head:
            self._kept.add(_GIT)
        if answer.code != 0 or len(self._branches) < len(found) or len(lines) > _BRANCHES:
            self._kept.add(_GIT)

    def _is_commit(self, name: str) -> bool:
        return self._git.ask("cat-file", "-e", f"{name}^{{commit}}").code == 0

    def has_more(self, commit: str, *others: str) -> bool:
        """Say whether a commit is new: not in the history of the base or of one of `others`."""
        return bool(self._git.read("rev-list", "--max-count=1", commit, "--not", self._base, *others))

    def take_objects(self) -> None:
        """Copy the objects of the tips that the base lacks out of the child's repository."""
        pack = f"{self._project.repository}/objects/pack/pack"
        given = "".join(f"{line}\n" for line in (*self.tips.values(), f"^{self._base}")).encode()
        words = ("pack-objects", "--revs", "--quiet", "--non-empty", pack)
        if self.tips:
            self._git.read(*words, given=given, limit_s=LONG_S)

    def commit(self, run_id: str) -> str:
        """Return a commit of all that is in the checkout: HEAD, or a new commit on top of it."""
        with tempfile.TemporaryDirectory(prefix="tmuxagents-") as folder:
            more = {**self._view, **_BY, "GIT_INDEX_FILE": f"{folder}/index"}
            view = self._project.at(self._project.repository, self._tree, **more)
            view.read("read-tree", self._head)
            view.ask("update-index", "-q", "--ignore-submodules", "--refresh", limit_s=LONG_S)
            gone, found = self._changes(view)
            view.read(
                *("update-index", "-z", "--force-remove", "--stdin"), given=b"".join(gone), limit_s=LONG_S
            )
            fitting = self._fitting(found)
            self._take(view, fitting)
            taken = set(view.read("ls-files", "-z").split(b"\0"))  # git skips some names silently
            left_out = [path for path in fitting if path not in taken]
            self._kept |= {path for path in left_out if os.path.lexists(self._root + path)}
            tree = view.read("write-tree", limit_s=LONG_S).decode().strip()
        if tree == self._git.line("rev-parse", f"{self._head}^{{tree}}"):
            return self._head
        form = "--format=%(tree) %(parent) %(objectname)"
        for line in self._git.read("for-each-ref", form, refs.LEFT, refs.BACK).decode().splitlines():
            if line.startswith(f"{tree} {self._head} "):
                return line.rpartition(" ")[2]  # the commit of the last time
        words = f"What run {run_id} left uncommitted\n".encode()
        made = view.read("commit-tree", tree, "-p", self._head, given=words)
        return made.decode().strip()

    def _changes(self, view: Git) -> tuple[list[bytes], list[bytes]]:
        """Return the paths that are gone, each with a NUL, and the paths that are new or may have changed."""
        for entry in view.read("ls-files", "-z", "--stage").split(b"\0"):
            path = entry.partition(b"\t")[2]
            with contextlib.suppress(OSError):
                if entry.startswith(_SUBMODULE) and os.listdir(self._root + path):
                    self._kept.add(path + b"/")
        words = ("diff-files", "-z", "--name-status", "--no-renames", "--ignore-submodules=all")
        parts = view.read(*words, limit_s=LONG_S).split(b"\0")
        pairs = list(zip(parts[::2], parts[1::2], strict=False))
        gone = [path + b"\0" for status, path in pairs if status == b"D"]
        found = [path for status, path in pairs if status != b"D"]
        # The new paths that neither the project's rules nor the child's own rules ignore.
        exclude = f"{self._own}/info/exclude"
        own = [f"--exclude-from={exclude}"] if os.path.isfile(exclude) else []
        answer = view.ask("ls-files", "-z", "--others", "--exclude-standard", *own, limit_s=LONG_S)
        if answer.code != 0:
            raise GitRefused(f"git ls-files failed: {answer.reason}.", kind="git-failed")
        unreadable = re.findall("could not open directory '(.*)'", answer.err)
        self._kept |= {os.fsencode(path) for path in unreadable}
        new = answer.out.split(b"\0")
        self._kept |= {path for path in new if path.endswith(b"/")}  # repositories inside the checkout
        return gone, [*found, *(path for path in new if path and not path.endswith(b"/"))]

    def _fitting(self, paths: list[bytes]) -> list[bytes]:
        """Return the paths of files that are not too large, the smallest first; note the others as kept."""
        sizes = {}
        for path in paths:
            try:
                sizes[path] = os.lstat(self._root + path).st_size
            except OSError:
                sizes[path] = 0  # git reports the fault
        taken, total = [], 0
        for path, size in sorted(sizes.items(), key=lambda pair: pair[1]):
            total += size
            if size > LARGEST or total > MOST:
                self._kept.add(path)
            else:
                taken.append(path)
        return taken

    def _take(self, view: Git, paths: list[bytes]) -> None:
        """Put files into the index. A file that git refuses is found by halving the list."""
        if not paths:
            return
        words = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
        answer = view.ask(*words, given=b"".join(path + b"\0" for path in paths), limit_s=LONG_S)
        if answer.code == 0:
            return
        self._refusals += 1
        if "No space left" in answer.err or self._refusals > _REFUSALS:
            raise GitRefused(f"git update-index failed: {answer.reason}.", kind="git-failed")
        if len(paths) == 1:
            self._kept.add(paths[0])
            return
        middle = len(paths) // 2
        self._take(view, paths[:middle])
        self._take(view, paths[middle:])


def answer_about_code(asked: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """Carry out a request; return the answer. Each request can be repeated."""
    run_id = _text(asked, "run")
    project = Project(_text(asked, "key"), places.own_home(environment), environment)
    match asked.get("do"):
        case "checkout":
            folder, author = _text(asked, "folder"), refs.pair(asked.get("author"))
            cwd = project.make_checkout(run_id, _text(asked, "commit"), folder=folder, author=author)
            return {"cwd": cwd}
        case "leave":
            left = gather(project, _text(asked, "checkout"), run_id)
            return {"refs": left.refs, "kept": left.kept, "isGone": left.is_gone}
        case "confirm":
            found = refs.parse_left({"refs": asked.get("refs"), "kept": []}, run_id)
            project.confirm(run_id, found.refs.values())
            return {}
    raise BadRequest("This is no request for code.", kind="bad-argument")


def _text(asked: Mapping[str, Any], name: str) -> str:
    value = asked.get(name)
    if not isinstance(value, str):
        raise BadRequest(f"The request has no {name}.", kind="bad-argument")
    return value
