"""The verb hosts: the machines that children can work on. List, add, check, remove. Joins."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import click

from tmuxagents.agents import AGENTS
from tmuxagents.cli import printing, values
from tmuxagents.errors import BadRequest, NotPossible, TmuxAgentsError, Unusable
from tmuxagents.machines import build, hosts, install, link, probe, ssh
from tmuxagents.registry import lookup
from tmuxagents.runs import directory, words
from tmuxagents.text import figures, safe
from tmuxagents.text.checks import BROKEN, Check, broken, warning
from tmuxagents.text.width import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tmuxagents.machines.hosts import Host
    from tmuxagents.machines.probe import FarFacts

_AT_ONCE = 8
_HEADER = ("HOST", "ENGINE", "VERSION", "AGENT", "MAX", "HEARD", "DIRECTORY")
_NONE = ("There are no hosts yet.", "hint: tmuxagents hosts add NAME, a name of your ssh configuration")
_NAME = click.argument("host", metavar="NAME")


@click.group("hosts", invoke_without_command=True, epilog="Example: tmuxagents hosts add box")
@values.JSON
@click.pass_context
def hosts_verb(context: click.Context, *, as_json: bool) -> None:
    """Manage other machines on which children can work, over ssh. Without a verb: list them."""
    values.alone(context, list_verb, as_json=as_json)


# --- list ---


@hosts_verb.command("list", epilog="Example: tmuxagents hosts list --json")
@values.FORMAT
@values.JSON
def list_verb(*, template: str | None, as_json: bool) -> None:
    """List the hosts, without asking them. HEARD: when a host last answered the mirror of a run."""
    found = [_document(host) for host in hosts.read_hosts(os.environ).values()]
    if as_json:
        printing.document({"v": 1, "hosts": found})
    elif template is not None:
        printing.formatted(template, found)
    elif found:
        printing.lines(table([_HEADER, *map(_row, found)], printing.width()))
    else:
        printing.lines(_NONE)


def _row(one: dict[str, Any]) -> Sequence[str]:
    since, heard = one["unreachableSince"], one["lastHeard"]
    last = words.NONE if heard is None else f"{figures.age(time.time() - heard)} ago"
    return (
        one["name"],
        one["engine"],
        safe.line(one["version"]),
        safe.line(one["agent"] or words.NONE),
        words.NONE if one["maxRunning"] is None else str(one["maxRunning"]),
        last if since is None else f"unreachable for {figures.age(time.time() - since)}",
        safe.line(one["cwd"] or words.NONE),
    )


def _document(host: Host, checks: Sequence[Check] | None = None) -> dict[str, Any]:
    """Return a host for programs. It has no checks if none were made now."""
    last, since = link.heard(lookup.here().home, host.name)
    return {
        "name": host.name,
        **hosts.document(host),
        "lastHeard": last,
        "unreachableSince": since,
        "ok": None if checks is None else not _is_broken(checks),
        "checks": [one.document() for one in checks or ()],
    }


# --- add and check ---


@hosts_verb.command(epilog="Example: tmuxagents hosts add box --cwd ~/src/project --max-running 4")
@_NAME
@click.option("--engine", type=click.Choice(hosts.ENGINES), help="ssh, or slurm: jobs of the cluster there.")
@click.option("--cwd", metavar="DIR", help="Where children work there if a launch does not say.")
@click.option(
    "--max-running", type=click.IntRange(min=1), metavar="N", help="How many may run there at once."
)
@click.option("--agent", metavar="NAME", help="Which agent works there if a launch does not say.")
@click.option("-y", "--yes", is_flag=True, help="Install tmuxagents there without a question.")
@values.JSON
def add(*, host: str, yes: bool, as_json: bool, **how: Any) -> None:
    """Add the host NAME, as ssh knows it: look at it, and install this very tmuxagents there.

    It goes into a folder of its own below ~/.local/share/tmuxagents/far there; nothing else is touched. A
    host that was added before keeps the values that you do not name.
    """
    if not hosts.is_name(host):
        message = f'"{safe.line(host)[:100]}" cannot be a host.'
        hint = "a name of your ssh configuration, or user@host"
        raise BadRequest(message, kind="bad-argument", hint=hint, field="host")
    known = hosts.read_hosts(os.environ).get(host)
    given = {key: value for key, value in how.items() if value is not None}
    before = known or hosts.Host(host, hosts.SSH, host, (), "", "")
    wanted = before._replace(version="", **given)  # the version is set once it is installed there
    try:
        added, checks = _added(wanted, yes=yes)
    except BaseException:
        if known is None:
            ssh.close(wanted, os.environ)
        raise
    if as_json:
        printing.document({"v": 1, "hosts": [_document(added, checks)]})
    else:
        printing.lines(check.line() for check in checks)
        printing.lines([f"Added {added.name}: tmuxagents launch --on {added.name} TASK"])


def _added(host: Host, *, yes: bool) -> tuple[Host, list[Check]]:
    """Add the host with the facts of its probe. Install tmuxagents there first if it is missing."""
    found = _probe(host)
    checks = probe.judge(host, found)
    probe.refuse(checks)
    added = host._replace(
        command=found.command,
        home=found.first("state"),
        version=build.version(),
        cwd=found.first("cwd") or None,
    )
    if not found.is_installed:
        if not yes:
            folder = safe.line(found.program.rpartition("/")[0])
            question = f"Install tmuxagents {build.version()} on {host.name}, in {folder}?"
            values.confirm(question, default=True)
        if printing.is_terminal(printing.ERR):
            printing.lines(["installing…"], printing.ERR)
        install.install(host, found, os.environ)
    try:
        installed = Check("tmuxagents", f"{added.version} at {found.program}")
        checks = [*_with_agents(added, checks), installed]
        hosts.write_host(added, os.environ)
    except BaseException:
        if not found.is_installed:
            install.uninstall(added, os.environ, force=True)
        raise
    return added, checks


def _with_agents(host: Host, checks: list[Check]) -> list[Check]:
    """Return the checks with the agents that tmuxagents there has; refuse a host's agent if it is missing."""
    reported = install.read_agents(host, os.environ)
    if host.agent is not None and host.agent not in [one["name"] for one in reported]:
        message = f"{host.name} has no agent {safe.line(host.agent)}."
        raise Unusable(message, kind="far-agent", hint=f"it has {', '.join(one['name'] for one in reported)}")
    found = []
    for one in reported:
        shown = f"{one['name']} {one.get('version') or ''}".strip()
        if one.get("loggedIn") is False:
            hint = "log in there, or choose another with --agent"
            found.append(warning("agent", f"{shown}, not logged in", hint))
        else:
            found.append(Check("agent", f"{shown}, logged in" if one.get("loggedIn") else shown))
    at = next(at for at, check in enumerate(checks) if check.name == "agent")
    return [*checks[:at], *found, *checks[at + 1 :]]


def _probe(host: Host) -> FarFacts:
    return probe.ask(host, {name: AGENTS[name].program for name in AGENTS}, os.environ)


@hosts_verb.command(epilog="Example: tmuxagents hosts check box")
@click.argument("host", metavar="[NAME]", required=False)
@values.JSON
def check(*, host: str | None, as_json: bool) -> int:
    """Look at the host NAME, or at each, again: a line for each thing. Exit with 1 if one is broken."""
    known = (
        list(hosts.read_hosts(os.environ).values()) if host is None else [hosts.find_host(host, os.environ)]
    )
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # a host that does not answer delays no other
        found = list(zip(known, pool.map(_examined, known), strict=True))
    if as_json:
        printing.document({"v": 1, "hosts": [_document(one, checks) for one, checks in found]})
    else:
        for one, checks in found:
            printing.lines([f"{one.name}:", *(f"  {line.line()}" for line in checks)])
        if not found:
            printing.lines(_NONE)
    return int(any(_is_broken(checks) for _, checks in found))


def _examined(host: Host) -> list[Check]:
    try:
        checks = probe.judge(host, _probe(host))
        return checks if _is_broken(checks) else _with_agents(host, checks)
    except TmuxAgentsError as error:
        return [broken("connection", error.message, error.hint)]


def _is_broken(checks: Sequence[Check]) -> bool:
    return any(one.state == BROKEN for one in checks)


# --- remove ---


@hosts_verb.command(epilog="Example: tmuxagents hosts remove box --uninstall")
@_NAME
@click.option("--uninstall", is_flag=True, help="Also remove the tmuxagents that add has installed there.")
@click.option("--force", is_flag=True, help="Also if runs there have not ended.")
@values.JSON
def remove(*, host: str, uninstall: bool, force: bool, as_json: bool) -> None:
    """Forget the host NAME. Without --uninstall, its runs and its files there stay."""
    found = hosts.find_host(host, os.environ)
    runs = lookup.here().runs
    known = [] if force or not os.path.isdir(runs) else sorted(os.listdir(runs))
    there = [
        run for run in known if (directory.read_machine(f"{runs}/{run}") or {}).get("host") == found.name
    ]
    left = [run for run in there if directory.read_result(f"{runs}/{run}") is None]
    if left:
        shown = ", ".join(run[: words.SHORT_ID] for run in left[:3])
        more = f" and {len(left) - 3} more" if len(left) > 3 else ""  # noqa: PLR2004  (as shown)
        message = f"Runs on {found.name} have not ended: {shown}{more}."
        raise NotPossible(message, kind="still-active", hint="wait for them or stop them, or add --force")
    gone = install.uninstall(found, os.environ, force=force) if uninstall else None
    hosts.remove_host(found.name, os.environ)
    ssh.close(found, os.environ)
    if as_json:
        printing.document({"v": 1, "removed": found.name, "uninstalled": gone})
    else:
        also = f", and {safe.line(gone)} there" if gone else ""
        printing.lines([f"Removed {found.name}{also}."])


VERBS = {"hosts": hosts_verb}
