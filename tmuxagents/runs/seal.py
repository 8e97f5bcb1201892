"""A run's seal: a file outside of its directory with hashes of its plan and the identity of its child.

A child can write to its run's directory, so a file there counts only if its hash is in the seal. The child
runs as the same user and could forge the seal, too, but not by writing to the run's directory alone. The
launcher writes the seal, and the wrapper adds a line about the child (both through `runs/writing`).

Touches: seals beside the run directories.
"""

from __future__ import annotations

from tmuxagents.cpython import sha256
from tmuxagents.runs import directory, documents
from tmuxagents.system import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.records import Plan

_LIMIT = 64 * 1024
_TEXTS = (directory.SYSTEM_PROMPT, directory.APPEND_SYSTEM_PROMPT)


class Sealed:
    """A run's plan, and its system prompts by the names of their files, compared with the seal.

    `changed` names the files that have changed since the launch. Changes are unknown if the run is not
    `sealed`: it is older than seals, or its seal is gone.
    """

    __slots__ = ("changed", "plan", "sealed", "texts")

    def __init__(
        self, plan: Plan | None, texts: Mapping[str, bytes], changed: list[str], *, sealed: bool
    ) -> None:
        self.plan = plan
        self.texts = texts
        self.changed = changed
        self.sealed = sealed


def sealed(run_dir: str) -> Sealed:
    """Read a run's plan and system prompts, each once, and compare them with the seal."""
    hashes, sizes = _launched(run_dir)
    found = {name: _read(run_dir, name, sizes) for name in (directory.META, *_TEXTS)}
    changed = (
        [] if hashes is None else [name for name, text in found.items() if hashes.get(name) != _digest(text)]
    )
    texts = {name: text for name in _TEXTS if (text := found[name]) is not None}
    document = directory.document_of(found[directory.META])
    plan = None if document is None else documents.plan_of(document)
    return Sealed(plan, texts, changed, sealed=hashes is not None)


def large_plan(run_dir: str) -> bytes | None:
    """Return a plan above the usual limit; None if it is not the one that was sealed.

    Only the seal proves that such a plan is ours: a child can write a plan of any size, and every look reads
    the plans of all runs.
    """
    hashes, sizes = _launched(run_dir)
    text = _read(run_dir, directory.META, sizes)
    return text if hashes is not None and _digest(text) == hashes.get(directory.META) else None


def child_of(run_dir: str) -> tuple[int, int] | None:
    """Return pid and start time of a run's child; None if unknown, or if it ran before this boot."""
    for line in reversed(_lines(run_dir)):
        child = line.get("child")
        if not isinstance(child, list) or [type(figure) for figure in child] != [int, int]:
            continue
        if (line.get("bootId"), line.get("pidNamespace")) == (identity.boot_id(), identity.pid_namespace()):
            return child[0], child[1]
    return None


def _read(run_dir: str, name: str, sizes: dict[str, Any]) -> bytes | None:
    """Return a file of a run; None if it is larger than the usual limit and larger than the sealed one."""
    size = sizes.get(name)
    limit = max(directory.BIGGEST_PLAN, size) if type(size) is int else directory.BIGGEST_PLAN
    return directory.read_bytes(f"{run_dir}/{name}", limit=limit)


def _launched(run_dir: str) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the hashes of a run's files in its seal, None if there are none, and their sizes."""
    lines = _lines(run_dir)
    files, sizes = (
        next((line[key] for line in lines if isinstance(line.get(key), dict)), None)
        for key in ("files", "sizes")
    )
    return files, sizes or {}


def _lines(run_dir: str) -> list[dict[str, Any]]:
    text = directory.read_bytes(directory.seal_of(run_dir), limit=_LIMIT) or b""
    return [line for line in map(directory.document_of, text.split(b"\n")) if line is not None]


def _digest(text: bytes | None) -> str | None:
    return None if text is None else sha256(text)
