"""The git refs, records and messages for code that goes to another machine, and for its return. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from tmuxagents.errors import BadRequest
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

LEFT = "refs/tmuxagents"  # the commits that a run left, there and here: RUN, and RUN.branches/NAME
BASE, SENT = "refs/base", "refs/sent"  # only there: the commit that a run began with; one that was just sent
BACK = "refs/back"  # only there: RUN/COMMIT, for each commit that has come back
FORMATS = {"sha1": 40, "sha256": 64}
PROJECT, RUN, COMMIT = "project", "run", "commit"
_NAMES = {
    PROJECT: re.compile(r"[a-z0-9][a-z0-9-]{0,40}-[0-9a-f]{16}"),
    RUN: re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}"),
    COMMIT: re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}"),
}
_NAMED = 5  # paths in a sentence


class Code(NamedTuple):
    """One commit of a project that goes to another machine."""

    repository: str  # here: git's "common directory"
    key: str  # the project's name there
    form: str
    commit: str
    folder: str = ""  # the child's folder in the project; ends with a slash
    author: tuple[str, str] | None = None
    checkout: str = ""  # the run that the checkout was made for; resumed runs work in it, too

    def document(self) -> dict[str, Any]:
        """Return the JSON form, which `parse` reads back."""
        return {name: value for name, value in self._asdict().items() if value}


class Left(NamedTuple):
    """The work that a run left over there: commits by ref, and the paths that git could not take."""

    refs: dict[str, str]
    kept: list[str]  # paths that are only in the checkout
    is_gone: bool = False  # there is no checkout any more


def parse(document: Mapping[str, Any]) -> Code:
    """Return the code of a record. Raises BadRequest."""
    found = {
        name: document.get(name, "") for name in ("repository", "key", "form", "commit", "folder", "checkout")
    }
    if not all(isinstance(value, str) for value in found.values()):
        raise _odd("record", "code")
    check_name(found["key"], PROJECT)
    check_name(found["commit"], COMMIT)
    return Code(**found, author=pair(document.get("author")))


def key(repository: str, form: str) -> str:
    """Return the name of a project over there: readable and unique."""
    import hashlib  # noqa: PLC0415  (only where code is sent; parents' tools read this module, too)

    parts = [part for part in repository.split("/") if part not in ("", ".git")] or ["project"]
    name = re.sub(r"[^a-z0-9]+", "-", parts[-1].lower().removesuffix(".git")).strip("-")[:40].strip("-")
    digest = hashlib.sha256(f"{form}:{repository}".encode("utf-8", "surrogateescape")).hexdigest()
    return f"{name or 'project'}-{digest[:16]}"


def checkout_of(home: str, name: str, run_id: str) -> str:
    """Return the path of a run's checkout, below the state directory of its machine."""
    return f"{home}/far/checkouts/{name}/{run_id}"


def is_name(text: str, what: str) -> bool:
    """Say whether a text can name a project over there, a run or a commit. `what`: one of these words."""
    return _NAMES[what].fullmatch(text) is not None


def check_name(text: str, what: str) -> None:
    """Raise BadRequest for a text that cannot name a project over there, a run or a commit."""
    if not is_name(text, what):
        raise _odd(what, text)


def _odd(what: str, text: str) -> BadRequest:
    return BadRequest(f"{text[:80]!r} cannot be the name of a {what}.", kind="usage")


def pair(value: Any) -> tuple[str, str] | None:
    """Return a list of two texts as a tuple; None for any other value."""
    texts = [one for one in value if isinstance(one, str)] if isinstance(value, list | tuple) else []
    return (texts[0], texts[1]) if len(texts) == 2 else None  # noqa: PLR2004  (two)


def is_left_by(ref: str, run_id: str) -> bool:
    """Say whether a ref is among those that a run leaves."""
    return ref == f"{LEFT}/{run_id}" or ref.startswith(f"{LEFT}/{run_id}.branches/")


def parse_left(document: Mapping[str, Any], run_id: str) -> Left:
    """Return what the other machine reports of a run's work. Raises BadRequest for refs of other runs."""
    refs, kept = document.get("refs"), document.get("kept")
    if not isinstance(refs, dict) or not isinstance(kept, list):
        raise _odd("answer", "code")
    for ref, commit in refs.items():
        check_name(str(commit), COMMIT)
        if not is_left_by(ref, run_id) or re.search(
            r"[\x00-\x20\x7f~^:?*\[\\\ud800-\udc7f\udd00-\udfff]|\.\.|@\{|//|/\.|\.lock(/|$)|[/.]$", ref
        ):
            raise _odd("ref", ref)
    return Left(dict(refs), [str(path) for path in kept], document.get("isGone") is True)


def updates(gone: Iterable[str], found: Mapping[str, str]) -> tuple[bytes, bytes]:
    """Return the input of two calls of `git update-ref`: first the removals, then the new commits.

    Removals come first, since a branch may have become a folder of branches.
    """
    removed = "".join(f"delete {ref}\n" for ref in gone)
    made = "".join(f"update {ref} {commit}\n" for ref, commit in found.items())
    return removed.encode("utf-8", "surrogateescape"), made.encode("utf-8", "surrogateescape")


def warnings(uncommitted: int | None, *, has_submodules: bool, has_lfs: bool) -> list[str]:
    """Return what a person should know before a child works elsewhere."""
    found = []
    if uncommitted is None:
        found.append("The child works with the last commit; looking for uncommitted changes took too long.")
    elif uncommitted:
        files = "1 uncommitted file stays" if uncommitted == 1 else f"{uncommitted} uncommitted files stay"
        found.append(f"{files} here: the child works with the last commit.")
    if has_submodules:
        found.append("The folders of submodules are empty over there.")
    if has_lfs:
        found.append("Files of Git LFS are pointers over there.")
    return found


def hints(run_id: str, back: Mapping[str, Any]) -> list[str]:
    """Return what a person should know about the code that came back, and the commands to use it."""
    ref = f"{LEFT}/{run_id}"
    found, kept = back.get("refs"), back.get("kept")
    names = sorted(found) if isinstance(found, dict) else []
    lines = [f"git log {ref}", f"git diff HEAD...{ref}", f"git merge {ref}"] if ref in names else []
    lines += [f"git log {other}" for other in names if other != ref]
    if back.get("problem"):
        lines.append(f"What the child left did not come back: {back['problem']}")
    elif back.get("isGone"):
        lines.append("The checkout over there is gone, and with it what the child left.")
    elif not lines:
        lines.append("The child left no commit and no change.")
    if isinstance(kept, list) and kept:
        lines.append(
            f"What git could not take stays in the checkout over there: {listed([*map(str, kept)])}."
        )
    return lines


def listed(paths: list[str]) -> str:
    """Return the first of these paths, and the number of the others."""
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return f"{safe.line(', '.join(paths[:_NAMED]))}{more}"
