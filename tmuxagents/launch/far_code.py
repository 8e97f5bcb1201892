"""The code of a run on another machine: planned with it, sent before it, brought back before it ends here.

`code` in the run's machine.json says what was sent, and from then on what came back. Joins.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from tmuxagents.errors import TmuxAgentsError
from tmuxagents.machines import code, refs
from tmuxagents.machines.ssh import Unreachable
from tmuxagents.runs import directory, writing
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.launch.plan import LaunchRequest
    from tmuxagents.machines.hosts import Host
    from tmuxagents.machines.refs import Code

_CODE = "code"


class Carried(NamedTuple):
    """What goes with a run, where its child is going to work, and what a person should know."""

    document: dict[str, Any] | None
    cwd: str
    warnings: Sequence[str] = ()


def plan(
    request: LaunchRequest, host: Host, run_id: str, runs: str, environment: Mapping[str, str]
) -> Carried:
    """Decide whether a run gets a checkout of the folder that it is launched from, or refuse it."""
    before = request.resumes or request.retries
    if before is not None:
        return Carried(_of_before(f"{runs}/{before}", before), request.far_cwd or "~")
    found = None if request.far_cwd is not None else code.look(request.cwd, environment)
    if found is None:
        return Carried(None, request.far_cwd or host.cwd or "~")
    cwd = refs.checkout_of(host.home, found.code.key, run_id)
    return Carried(found.code.document(), f"{cwd}/{found.code.folder}".rstrip("/"), found.warnings)


def _of_before(run_dir: str, run_id: str) -> dict[str, Any] | None:
    """Return the code of the run whose checkout a new one is going to work in, too."""
    found = _code_of(run_dir)
    return None if found is None else found._replace(checkout=found.checkout or run_id).document()


def _code_of(run_dir: str) -> Code | None:
    document = (directory.read_machine(run_dir) or {}).get(_CODE)
    return refs.parse(document) if isinstance(document, dict) else None


def send(run_dir: str, host: Host, environment: Mapping[str, str], asked: bytes) -> bytes:
    """Send the code of a run, if it has some; return what to ask of the far machine then."""
    found = _code_of(run_dir)
    if found is None or found.checkout:
        return asked
    cwd = code.send(found, os.path.basename(run_dir), host, environment)
    document = jsonline.decode(asked)
    return jsonline.encode({**document, "cwd": cwd}) if isinstance(document, dict) else asked


def bring_back(run_dir: str, host: Host, environment: Mapping[str, str]) -> None:
    """Fetch what a run left, and write down what it was, or why not. Raises Unreachable, OSError."""
    try:
        found = _code_of(run_dir)
        if found is None:
            return
        left = code.bring_back(found, os.path.basename(run_dir), host, environment)
        back: dict[str, Any] = {"refs": left.refs, "kept": left.kept, "isGone": left.is_gone}
    except Unreachable:
        raise
    except TmuxAgentsError as why:  # it stays over there, and the run ends all the same
        back = {"refs": {}, "kept": [], "isGone": False, "problem": why.message}
    machine = directory.read_machine(run_dir) or {}
    changed = {**machine, _CODE: {**machine.get(_CODE, {}), "back": back}}
    writing.replace(run_dir, directory.MACHINE, jsonline.encode(changed))
