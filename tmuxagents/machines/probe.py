"""Ask a far machine whether children can work there, and judge its answers. Joins.

One script over one connection asks all questions.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from typing import NamedTuple

from tmuxagents.errors import Unusable
from tmuxagents.machines import build, hosts, refusals, ssh
from tmuxagents.system import identity, places, shipped
from tmuxagents.text import figures, safe
from tmuxagents.text.checks import BROKEN, Check, broken, warning
from tmuxagents.tmux import runner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tmuxagents.machines.hosts import Host

_SHOWN = 200
_LIMIT_S = 60.0
_PYTHON = (3, 11)
_NEEDED_KB = 60 * 1024  # for an installation and the first runs
_CLOCK_S = 10.0  # more is worth a warning
_MOST_CLOCK_S = 600.0  # with more, logins and TLS fail, and the ages and the order of runs are wrong
_NUMBER = re.compile("[0-9]{1,15}")  # a machine may also say `²`, or more digits than Python reads
_OTHERS_WRITE = (5, 8)  # in the letters of a mode, as drwxr-xr-x


class FarFacts(NamedTuple):
    """The answers of a far machine: for each word its values, in order.

    `ahead`: by how many seconds its clock is ahead. `programs`: those of the agents that were looked for.
    """

    answers: Mapping[str, list[str]]
    ahead: float
    programs: Mapping[str, str]

    def first(self, word: str) -> str:
        """Return the first value for a word; empty if there is none."""
        return (self.answers.get(word) or [""])[0]

    @property
    def python(self) -> tuple[str, str]:
        """Return version and path of the first Python that is new enough, or else of the first Python."""
        pythons = [answer.split(" ", 1) for answer in self.answers.get("python", ()) if " " in answer]
        new = [one for one in pythons if _figures(one[0]) >= _PYTHON]
        version, path = (new or pythons or [["", ""]])[0]
        return version, path

    @property
    def agents(self) -> dict[str, str]:
        """Return the installed agents, and the paths of their programs."""
        return dict(answer.split(" ", 1) for answer in self.answers.get("agent", ()) if " " in answer)

    @property
    def program(self) -> str:
        """Return the path that this version of tmuxagents has there, installed or not."""
        return f"{self.first('far')}/{build.version()}/tmuxagents"

    @property
    def command(self) -> tuple[str, ...]:
        """Return the words that start it; with a state directory of its own if both machines share a home."""
        own = ("env", f"TMUXAGENTS_HOME={self.first('state')}") if self.first("shared") else ()
        return (*own, self.program)

    @property
    def is_installed(self) -> bool:
        """Say whether this version of tmuxagents is there and works."""
        return self.first("installed").startswith("tmuxagents")


def ask(host: Host, programs: Mapping[str, str], environment: Mapping[str, str]) -> FarFacts:
    """Ask a machine. Raises Unreachable or Unusable if it does not answer."""
    token = identity.secret()
    agents = "\n".join(f"{name} {program}" for name, program in programs.items())
    state = os.path.realpath(places.home(environment))
    above = state
    while not os.path.isdir(above):
        above = os.path.dirname(above)
    values = {"token": token, "version": build.version(), "agents": agents, "cwd": host.cwd or ""}
    script = ssh.assigned(values | {"below": state.removeprefix(above)}) + shipped.far_script("probe")
    began = time.time()
    # During the probe a file lies here. A machine that sees it shares our files.
    shared = f"{above}/.tmuxagents-{token}"
    with contextlib.suppress(OSError):
        places.write_new(shared, b"")
    try:
        answer = ssh.run_line(host, "sh -s", input=script.encode(), timeout=_LIMIT_S, environment=environment)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(shared)
    lines = answer.out.decode("utf-8", "replace").split("\n")
    if lines.count(token) != 2:  # noqa: PLR2004  (before and after)
        words = safe.cut(safe.line((answer.err or answer.out.decode("utf-8", "replace")).strip()), _SHOWN)
        message = f"{host.name} does not answer like a machine with a shell: {words or 'it says nothing'}."
        raise Unusable(message, kind="far-shell", hint=f"try: ssh {host.destination} sh -c true")
    first = lines.index(token)
    facts: dict[str, list[str]] = {}
    for line in lines[first + 1 : lines.index(token, first + 1)]:
        word, _, value = line.partition("\t")
        if value:
            facts.setdefault(word, []).append(value)
    return FarFacts(facts, _ahead(facts.get("clock", [""])[0], began, time.time()), programs)


def _ahead(clock: str, began: float, ended: float) -> float:
    """Return the smallest lead that a far clock can have: it shows whole seconds, and was read in between."""
    if not _NUMBER.fullmatch(clock):
        return 0.0
    least, most = int(clock) - ended, int(clock) + 1 - began
    return least if least > 0 else min(most, 0.0)


def judge(host: Host, found: FarFacts) -> list[Check]:
    """Return a check for each answer, the important ones first; a broken one refuses the machine."""
    return [check for look in _LOOKS for check in look(host, found)]


def refuse(checks: list[Check]) -> None:
    """Raise the first check that is broken."""
    for check in checks:
        if check.state == BROKEN:
            raise Unusable(check.message, kind=f"far-{check.name}", hint=check.hint)


def _programs(host: Host, found: FarFacts) -> Iterator[Check]:
    system = found.first("system")
    if system != "Linux":
        message = f"{host.name} runs {system or 'an unknown system'}; children work on Linux only."
        yield broken("system", message, "add a machine with Linux")
    version, path = found.python
    if version and _figures(version) >= _PYTHON:
        yield Check("python", f"{version} at {path}")
    else:
        has = f"Python {version} only" if version else "no Python"
        message = f"{host.name} has {has}, and tmuxagents needs 3.11 or newer."
        yield broken("python", message, "install one there, which needs no root: uv python install 3.12")
    name, _, version = found.first("tmux").partition(" ")
    if name != "tmux":
        yield broken("tmux", f"{host.name} has no tmux on PATH.", "install it there: apt install tmux")
        return
    try:
        runner.refuse_old(version, f"The tmux of {host.name}")
    except Unusable as error:
        yield broken("tmux", error.message, "install a newer one there")
    else:
        yield Check("tmux", version)


def _agents(host: Host, found: FarFacts) -> Iterator[Check]:
    installed = found.agents
    if not installed:
        hint = f"install one there and log in: {', '.join(found.programs)}"
        yield broken("agent", f"{host.name} has no agent that tmuxagents knows.", hint)
    elif host.agent is not None and host.agent in found.programs and host.agent not in installed:
        message = f"{host.name} has no {found.programs[host.agent]} on PATH; it has {', '.join(installed)}."
        yield broken("agent", message, "install it there, or choose another with --agent")
    else:
        yield Check("agent", ", ".join(installed))


def _clock(host: Host, found: FarFacts) -> Iterator[Check]:
    if abs(found.ahead) <= _CLOCK_S:
        yield Check("clock", "right")
        return
    way = "ahead" if found.ahead > 0 else "behind"
    message = f"The clock of {host.name} is {figures.span(abs(found.ahead) + 1)} {way} of this one's"
    hint = "set it there: timedatectl set-ntp true"
    if abs(found.ahead) <= _MOST_CLOCK_S:
        yield warning("clock", message, hint)
    else:
        yield broken("clock", f"{message}.", hint)


def _folders(host: Host, found: FarFacts) -> Iterator[Check]:
    mode, _, owner = found.first("owner").partition(" ")
    state = safe.line(found.first("state"))
    hint = "set TMUXAGENTS_HOME there to a folder that is yours alone"
    if mode and owner != found.first("user"):
        yield broken("home", f"The state directory {state} of {host.name} belongs to user {owner}.", hint)
    elif mode and any(mode[at : at + 1] == "w" for at in _OTHERS_WRITE):
        message = f"The state directory {state} of {host.name} can be written by others."
        yield broken("home", message, f"chmod go-w it there, or {hint}")
    for answer in found.answers.get("readonly", ()):
        message = f"You cannot write to {safe.line(answer)} on {host.name}."
        yield broken("home", message, "set TMUXAGENTS_HOME and XDG_DATA_HOME there to folders of yours")
    rooms = [one.partition(" ") for one in found.answers.get("free", ())]
    measured = [(int(free), folder) for free, _, folder in rooms if _NUMBER.fullmatch(free)]
    if measured:
        free, folder = min(measured)
        if free < _NEEDED_KB:
            message = f"The disk of {host.name} is full: {free // 1024} MB are left at {safe.line(folder)}."
            yield broken("disk", message, f"make room for {_NEEDED_KB // 1024} MB")
        else:
            yield Check("disk", f"{free // 1024} MB are free at {safe.line(folder)}")
    if host.cwd and not found.first("cwd"):
        message = f"{host.name} has no folder {safe.line(host.cwd)}."
        yield broken("cwd", message, "make it there, or name another")


def _extras(host: Host, found: FarFacts) -> Iterator[Check]:
    if host.engine == hosts.SLURM:
        path, hint = found.first("sbatch"), "is it a login node of the cluster?"
        missing = broken("slurm", f"{host.name} has no sbatch on PATH.", hint)
        yield Check("slurm", path) if path else missing
    if not found.first("git"):
        message = f"{host.name} has no git, so children there work in folders that are there already"
        yield warning("git", message, "install it there: apt install git")


def _installed(host: Host, found: FarFacts) -> Iterator[Check]:
    if not host.version:
        return
    program = host.command[-1]
    try:
        build.refuse_other(host)
        if not found.is_installed:
            raise refusals.not_installed(host.name, program)
    except Unusable as error:
        yield broken("tmuxagents", error.message, error.hint)
    else:
        yield Check("tmuxagents", f"{host.version} at {program}")


_LOOKS = (_programs, _agents, _clock, _folders, _extras, _installed)


def _figures(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if _NUMBER.fullmatch(part))[:2]
