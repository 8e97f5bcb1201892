"""The user's hosts: the machines that `--on` can name, in `hosts.json` of the user's configuration folder.

Touches: the file of the hosts.
"""

from __future__ import annotations

import json
import os
import re
from typing import NamedTuple

from tmuxagents.errors import BadRequest, Unusable
from tmuxagents.runs import writing
from tmuxagents.system import places
from tmuxagents.text import jsonline, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

SSH, SLURM = "ssh", "slurm"
ENGINES = (SSH, SLURM)
FILE = "hosts.json"
_LOCK = "hosts.lock"
_LOCK_S = 5.0
_LONGEST = 100
_MEMBERS = {"max_running": "maxRunning"}  # field -> its key in the file, where they differ
# A name becomes a word of ssh's command line and the name of a file. `:` and `slurm@` belong to `--on`.
_NAME = re.compile(rf"(?!slurm(?:@|$))[A-Za-z0-9_][A-Za-z0-9._@-]{{0,{_LONGEST - 1}}}")


class Host(NamedTuple):
    """One machine, as `hosts add` has recorded it."""

    name: str
    engine: str
    destination: str  # the argument of ssh
    command: tuple[str, ...]  # the words that start tmuxagents there
    home: str  # its state directory there, absolute
    version: str  # of tmuxagents there
    max_running: int | None = None
    cwd: str | None = None
    agent: str | None = None


def path_of(environment: Mapping[str, str]) -> str:
    """Return the path of `hosts.json`."""
    return f"{places.config_dir(environment)}/{FILE}"


def is_name(text: str) -> bool:
    """Say whether a host can have this name."""
    return _NAME.fullmatch(text) is not None


def read_hosts(environment: Mapping[str, str]) -> dict[str, Host]:
    """Return the hosts by name, in their order in the file; raise Unusable if the file cannot be used."""
    path = path_of(environment)
    found = places.read_named(path)
    if found.refused is not None:
        raise _unusable(path, found.refused)
    if found.text is None:
        return {}
    try:
        return parse_hosts(found.text)
    except ValueError as error:
        raise _unusable(path, str(error)) from error
    except RecursionError as error:
        raise _unusable(path, "it is nested too deeply") from error


def find_host(name: str, environment: Mapping[str, str]) -> Host:
    """Return a host by its name, or refuse the name and suggest similar ones."""
    all_hosts = read_hosts(environment)
    if name in all_hosts:
        return all_hosts[name]
    import difflib  # noqa: PLC0415  (only to refuse)

    near = difflib.get_close_matches(name[:_LONGEST], all_hosts, n=3)
    shown = safe.line(name)[:_LONGEST]
    adding = f"tmuxagents hosts add {shown}" if is_name(name) else "tmuxagents hosts add NAME"
    hint = f"did you mean {' or '.join(near)}? A new one: {adding}" if near else adding
    message = f'Unknown host: "{shown}". Known hosts: {", ".join(all_hosts) or "(none)"}'
    raise BadRequest(message, kind="unknown-host", field="on", hint=hint, candidates=near)


def write_host(host: Host, environment: Mapping[str, str]) -> None:
    """Add a host, or replace the one of this name."""
    _change(environment, lambda hosts: hosts.update({host.name: host}))


def remove_host(name: str, environment: Mapping[str, str]) -> None:
    """Remove a host, if it is there."""
    _change(environment, lambda hosts: hosts.pop(name, None))


def _change(environment: Mapping[str, str], change: Callable[[dict[str, Host]], Any]) -> None:
    folder = places.config_dir(environment)
    places.make_folders(folder)
    folder = os.path.realpath(folder)  # people keep their configuration elsewhere and link to it
    lock = writing.lock(folder, _LOCK_S, _LOCK)
    if lock is None:
        raise _unusable(path_of(environment), "another tmuxagents changes it")
    try:
        hosts = read_hosts(environment)
        change(hosts)
        writing.replace(folder, FILE, format_hosts(hosts))
    finally:
        os.close(lock)


def parse_hosts(text: str) -> dict[str, Host]:
    """Return the hosts of a file's text. Raises ValueError with the fault."""
    document = jsonline.decode(text)
    entries = document.get("hosts") if isinstance(document, dict) else None
    if not isinstance(entries, dict):
        raise ValueError('it has no "hosts"')  # noqa: TRY004  (of the text)
    if document.get("v") != 1:
        raise ValueError('its "v" is not 1; a newer tmuxagents may have written it')
    hosts: dict[str, Host] = {}
    for name, entry in entries.items():
        if not is_name(name) or not isinstance(entry, dict):
            raise ValueError(f'"{safe.line(name)[:_LONGEST]}" is no host')
        command, most = entry.get("command"), entry.get("maxRunning")
        right = {key: entry.get(key) and _is_text(entry[key]) for key in ("home", "version")}
        right |= {key: entry.get(key) is None or _is_text(entry[key]) for key in ("cwd", "agent")}
        right["command"] = isinstance(command, list) and command and all(map(_is_text, command))
        right["destination"] = isinstance(entry.get("destination"), str) and is_name(entry["destination"])
        right["engine"] = entry.get("engine") in ENGINES
        right["maxRunning"] = most is None or (type(most) is int and most >= 1)
        wrong = [key for key, is_right in right.items() if not is_right]
        if wrong:
            raise ValueError(f'"{name}" has no usable "{wrong[0]}"')
        found: dict[str, Any] = {field: entry.get(_MEMBERS.get(field, field)) for field in Host._fields}
        hosts[name] = Host(**found | {"name": name, "command": tuple(entry["command"])})
    return hosts


def _is_text(value: Any) -> bool:
    """Say whether a value is a text that can be a word of a command line."""
    if not isinstance(value, str) or "\0" in value:
        return False
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return False
    return True


def document(host: Host) -> dict[str, Any]:
    """Return the JSON form of a host, as in the file."""
    fields = {_MEMBERS.get(name, name): value for name, value in host._asdict().items() if name != "name"}
    return fields | {"command": list(host.command)}


def format_hosts(hosts: Mapping[str, Host]) -> bytes:
    """Return the text of `hosts.json`."""
    entries = {name: document(host) for name, host in hosts.items()}
    return json.dumps({"v": 1, "hosts": entries}, indent=2).encode("ascii") + b"\n"


def _unusable(path: str, why: str) -> Unusable:
    message = f"The file of your hosts, {path}, is not used: {why}."
    return Unusable(message, kind="bad-hosts", hint="correct it, or move it away and add the hosts again")
