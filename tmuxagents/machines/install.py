"""Install the running tmuxagents on a far machine, and remove it there. Joins.

An installation is a folder of its own over there. It is made whole or not at all.
"""

from __future__ import annotations

import json
import re
import shlex

from tmuxagents.errors import NotPossible, Unusable
from tmuxagents.machines import build, ssh
from tmuxagents.machines.refusals import Unreachable
from tmuxagents.runs import directory
from tmuxagents.system import shipped
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.machines.hosts import Host
    from tmuxagents.machines.probe import FarFacts

_SHOWN = 200
_INSTALL_S = 300.0
_ASKING_S = 60.0
# The program of an environment that we may remove: a version in a folder `far` that we have made.
_OURS = re.compile(r"(/.+/tmuxagents/far/[0-9][0-9A-Za-z.+-]*-[0-9a-f]+)/tmuxagents")
_ASKING = """
TMUXAGENTS_HOME=$asked-$$ "$program" agents --json </dev/null
code=$?
rm -rf -- "$asked-$$"
exit $code
"""
_REMOVING = """
rm -rf -- "$folder" || exit
far=${folder%/*}
rmdir -- "$far" "${far%/*}" 2>/dev/null || :
"""


def install(host: Host, found: FarFacts, environment: Mapping[str, str]) -> None:
    """Install tmuxagents there. If that fails, nothing is left there. Raises Unusable, Unreachable."""
    folder = found.program.rpartition("/")[0]
    base, _, version = folder.rpartition("/")
    launcher = (
        f"#!/bin/sh\nPATH={shlex.quote(found.first('path'))}\nexport PATH\n"
        f'exec {shlex.quote(f"{folder}/bin/python")} -P -m tmuxagents "$@"\n'
    )
    values = {"python": found.python[1], "base": base, "version": version, "launcher": launcher}
    answer = ssh.run_script(
        host,
        shipped.far_script("install"),
        values,
        input=build.archive(),
        timeout=_INSTALL_S,
        environment=environment,
    )
    if answer.code == 0:
        return
    if "No space left on device" in answer.err:
        message = f"The disk of {host.name} is full: tmuxagents does not fit."
        raise Unusable(message, kind="far-disk", hint="make room there; nothing was left")
    lines = [one.strip() for one in answer.err.splitlines() if one.strip()]
    reason = safe.cut(safe.line(lines[-1]).rstrip("."), _SHOWN) if lines else f"it ended with {answer.code}"
    message = f"tmuxagents cannot be installed on {host.name}: {reason}."
    raise Unusable(message, kind="far-install", hint=f"try: ssh {host.destination}")


def read_agents(host: Host, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the agents that tmuxagents over there reports, with their versions and, if known, logins.

    This call uses a temporary state directory, so that the real one stays as it was.
    """
    program = host.command[-1]
    values = {"asked": f"{program.rpartition('/')[0]}/.asked", "program": program}
    answer = ssh.run_script(host, _ASKING, values, timeout=_ASKING_S, environment=environment)
    found = parse_agents(answer.out)
    if found is None:
        words = safe.cut(safe.line(answer.err.strip()), _SHOWN)
        message = f"tmuxagents on {host.name} does not work: {words or 'it says nothing'}."
        raise Unusable(message, kind="far-install", hint=f"try: ssh {host.destination}")
    return found


def parse_agents(text: bytes) -> list[dict[str, Any]] | None:
    """Return the installed agents in the output of `agents --json`; None if it is something else."""
    found = (directory.document_of(text) or {}).get("agents")
    if not isinstance(found, list):
        return None
    named = [one for one in found if isinstance(one, dict) and isinstance(one.get("name"), str)]
    return [one for one in named if one.get("installed")]


def uninstall(host: Host, environment: Mapping[str, str], *, force: bool) -> str:
    """Remove tmuxagents from a host; return the removed folder. Unless forced, active runs there prevent it.

    The runs of other machines count, too.
    """
    ours = _OURS.fullmatch(host.command[-1])
    if ours is None:
        message = f"{host.command[-1]} on {host.name} was not installed by hosts add, so it stays."
        raise NotPossible(message, kind="not-ours", hint="leave --uninstall out")
    if not force:
        words = ["poll", "-A", "--others", "--json"]
        try:
            answer = ssh.run(host, words, timeout=_ASKING_S, environment=environment)
            counts = json.loads(answer.out)["counts"]
            active = int(counts["queued"]) + int(counts["running"])
        except Unreachable:
            raise
        except (Unusable, ValueError, KeyError, TypeError):
            active = 0  # tmuxagents there is damaged or gone: no run can rely on it
        if active:
            message = f"Runs on {host.name} have not ended: {active}."
            raise NotPossible(message, kind="still-active", hint="wait for them, or add --force")
    folder = ours[1]
    answer = ssh.run_script(host, _REMOVING, {"folder": folder}, timeout=_ASKING_S, environment=environment)
    if answer.code != 0:
        reason = safe.cut(safe.line(answer.err.strip()), _SHOWN)
        raise Unusable(f"{folder} on {host.name} is not removed: {reason}", kind="far-install")
    return folder
