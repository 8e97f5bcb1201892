"""This very program as others can install it: its version with a hash of its files, and an archive of it.

The archive holds the package and the packages that it needs, without compiled parts: so it fits each Python
from 3.11 on, and the far machine needs neither pip nor an index. PyYAML alone has one, and does without.

This very version of tmuxagents on a far machine: a private environment, whole or not at all.

Joins.
"""

from __future__ import annotations

import functools
import importlib.metadata
import io
import json
import re
import shlex
import tarfile
from pathlib import Path

from tmuxagents import __version__
from tmuxagents.cpython import sha256
from tmuxagents.errors import NotPossible, Unusable
from tmuxagents.machines import probe, ssh
from tmuxagents.system import shipped
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from tmuxagents.machines.hosts import Host
    from tmuxagents.machines.probe import FarFacts


_NAME = "tmuxagents-cli"
_PACKAGE = Path(__file__).resolve().parent.parent
_REQUIRED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LEFT_OUT = (".pyc", ".so", ".pth")
_HASH = 8


@functools.cache
def version() -> str:
    """Return the version with a hash of all files, which tells source trees apart."""
    said = "\n".join(f"{name} {sha256(path.read_bytes())}" for name, path in sorted(_own_files().items()))
    return f"{__version__}-{sha256(said.encode('utf-8', 'surrogateescape'))[:_HASH]}"


def refuse_other(host: Host) -> None:
    """Raise Unusable unless a host has this very tmuxagents: both ends read and write the same files."""
    if host.version != version():
        message = f"{host.name} has tmuxagents {host.version}, and this is {version()}; runs need the same."
        raise Unusable(message, kind="far-version", hint=f"tmuxagents hosts add {host.name}")


def archive() -> bytes:
    """Return a compressed archive for a folder of packages."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=6) as tar:
        for name, path in sorted((_own_files() | _needed_files()).items()):
            entry = tarfile.TarInfo(name)
            text = path.read_bytes()
            entry.size, entry.mode = len(text), path.stat().st_mode & 0o755
            tar.addfile(entry, io.BytesIO(text))
    return packed.getvalue()


def _own_files() -> dict[str, Path]:
    """Return the files of the package as a wheel has them: name -> where it is."""
    found = {f"tmuxagents/{name}": path for name, path in _below(_PACKAGE)}
    project = _PACKAGE.parent / "pyproject.toml"
    if (_PACKAGE / "layouts" / "shipped").is_dir() or not project.is_file():
        return found
    import tomllib  # noqa: PLC0415  (only in a source tree)

    wheel = tomllib.loads(project.read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    for source, name in wheel["force-include"].items():
        path = project.parent / source
        inside = _below(path) if path.is_dir() else [("", path)]
        found |= {f"{name}/{below}".rstrip("/"): file for below, file in inside}
    return found


def _below(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in _LEFT_OUT:
            yield name, path


def _needed_files() -> dict[str, Path]:
    """Return the files of the packages that this one needs."""
    found: dict[str, Path] = {}
    known: set[str] = set()
    left = [_NAME]
    while left:
        name = left.pop()
        if name in known:
            continue
        known.add(name)
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # for other Pythons or systems than this one
        left += [
            match[0].lower().replace("_", "-").replace(".", "-")
            for one in distribution.requires or ()
            if "extra ==" not in one and (match := _REQUIRED.match(one))
        ]
        if name != _NAME:
            found |= _files_of(name, distribution)
    return found


def _files_of(name: str, distribution: importlib.metadata.Distribution) -> dict[str, Path]:
    if distribution.files is None:
        message = f"The package {name} was installed here without a list of its files, so it cannot be sent."
        hint = "install tmuxagents here with pipx, uv or pip"
        raise Unusable(message, kind="no-archive", hint=hint)
    paths = {str(file): Path(str(file.locate())) for file in distribution.files if ".." not in file.parts}
    return {file: path for file, path in paths.items() if path.suffix not in _LEFT_OUT and path.is_file()}


_LIMIT_S = 300.0
_ASKING_S = 60.0
_SHOWN = 200
# What we may remove: a version in a folder `far` that we have made, by the program in it.
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
    """Install it there. Raises Unusable, or Unreachable; then nothing of it is left there."""
    folder = found.program.rpartition("/")[0]
    base, _, version = folder.rpartition("/")
    launcher = (
        f"#!/bin/sh\nPATH={shlex.quote(found.first('path'))}\nexport PATH\n"
        f'exec {shlex.quote(f"{folder}/bin/python")} -P -m tmuxagents "$@"\n'
    )
    values = {"python": found.python[1], "base": base, "version": version, "launcher": launcher}
    line = shlex.join(["sh", "-c", probe.assigned(values) + shipped.far_script("install")])
    answer = ssh.run_line(host, line, input=archive(), timeout=_LIMIT_S, environment=environment)
    if answer.code == 0:
        return
    if "No space left on device" in answer.err:
        message = f"The disk of {host.name} is full: tmuxagents does not fit."
        raise Unusable(message, kind="far-disk", hint="make room there; nothing was left")
    lines = [one.strip() for one in answer.err.splitlines() if one.strip()]
    said = safe.cut(safe.line(lines[-1]).rstrip("."), _SHOWN) if lines else f"it ended with {answer.code}"
    message = f"tmuxagents cannot be installed on {host.name}: {said}."
    raise Unusable(message, kind="far-install", hint=f"try: ssh {host.destination}")


def read_agents(host: Host, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what tmuxagents over there says of the agents: versions, and where it can tell logins.

    What it keeps of the answers goes with them, so that the state directory there stays as it was.
    """
    program = host.command[-1]
    values = {"asked": f"{program.rpartition('/')[0]}/.asked", "program": program}
    script = probe.assigned(values) + _ASKING
    line = shlex.join(["sh", "-c", script])
    answer = ssh.run_line(host, line, timeout=_ASKING_S, environment=environment)
    found = parse_agents(answer.out)
    if found is None:
        said = safe.cut(safe.line(answer.err.strip()), _SHOWN)
        message = f"tmuxagents on {host.name} does not work: {said or 'it says nothing'}."
        raise Unusable(message, kind="far-install", hint=f"try: ssh {host.destination}")
    return found


def parse_agents(text: bytes) -> list[dict[str, Any]] | None:
    """Return the installed agents of what `agents --json` has printed; None if it is something else."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found = document.get("agents") if isinstance(document, dict) else None
    if not isinstance(found, list):
        return None
    named = [one for one in found if isinstance(one, dict) and isinstance(one.get("name"), str)]
    return [one for one in named if one.get("installed")]


def uninstall(host: Host, environment: Mapping[str, str], *, force: bool) -> str:
    """Remove a host's environment over there, and return its folder. Runs there may refuse it."""
    ours = _OURS.fullmatch(host.command[-1])
    if ours is None:
        message = f"{host.command[-1]} on {host.name} was not installed by hosts add, so it stays."
        raise NotPossible(message, kind="not-ours", hint="leave --uninstall out")
    if not force and (active := _active(host, environment)):
        message = f"Runs on {host.name} have not ended: {active}."
        raise NotPossible(message, kind="still-active", hint="wait for them, or add --force")
    script = probe.assigned({"folder": ours[1]}) + _REMOVING
    answer = ssh.run_line(host, shlex.join(["sh", "-c", script]), timeout=_ASKING_S, environment=environment)
    if answer.code != 0:
        said = safe.cut(safe.line(answer.err.strip()), _SHOWN)
        raise Unusable(f"{ours[1]} on {host.name} is not removed: {said}", kind="far-install")
    return ours[1]


def _active(host: Host, environment: Mapping[str, str]) -> int:
    """Return how many runs over there have not ended, also those of other machines."""
    try:
        answer = ssh.run(
            host, ["poll", "-A", "--others", "--json"], timeout=_ASKING_S, environment=environment
        )
        counts = json.loads(answer.out)["counts"]
        return int(counts["queued"]) + int(counts["running"])
    except ssh.Unreachable:
        raise
    except (Unusable, ValueError, KeyError, TypeError):
        return 0  # it is damaged or gone: no run can rely on it
