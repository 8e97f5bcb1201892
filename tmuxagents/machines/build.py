"""The running tmuxagents, packed for another machine, and its exact version.

The archive holds tmuxagents and the packages that it requires, so the far machine needs neither pip nor an
index. Compiled parts are left out, so that the archive fits every Python from 3.11 on. Only PyYAML has one,
and works without it.

Touches: the installed packages.
"""

from __future__ import annotations

import functools
import importlib.metadata
import io
import re
import tarfile
from pathlib import Path

from tmuxagents import __version__
from tmuxagents.cpython import sha256
from tmuxagents.errors import Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tmuxagents.machines.hosts import Host

_NAME = "tmuxagents-cli"
_PACKAGE = Path(__file__).resolve().parent.parent
_REQUIRED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LEFT_OUT = (".pyc", ".so", ".pth")
_HASH = 8


@functools.cache
def version() -> str:
    """Return the version, with a hash of all files that tells source trees apart."""
    sums = "\n".join(f"{name} {sha256(path.read_bytes())}" for name, path in sorted(_own_files().items()))
    return f"{__version__}-{sha256(sums.encode('utf-8', 'surrogateescape'))[:_HASH]}"


def refuse_other(host: Host) -> None:
    """Raise Unusable unless a host has exactly this tmuxagents: the files of both ends must match."""
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
    """Return the files of our package: their names in a wheel, and their paths here."""
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
    """Return the files of the packages that ours requires, and of those that they require."""
    found: dict[str, Path] = {}
    seen: set[str] = set()
    left = [_NAME]
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # only other Pythons or systems need it
        left += [
            match[0].lower().replace("_", "-").replace(".", "-")
            for one in distribution.requires or ()
            if "extra ==" not in one and (match := _REQUIRED.match(one))
        ]
        if name == _NAME:
            continue
        if distribution.files is None:
            message = (
                f"The package {name} was installed here without a list of its files, so it cannot be sent."
            )
            hint = "install tmuxagents here with pipx, uv or pip"
            raise Unusable(message, kind="no-archive", hint=hint)
        for file in distribution.files:
            path = Path(str(file.locate()))
            if ".." not in file.parts and path.suffix not in _LEFT_OUT and path.is_file():
                found[str(file)] = path
    return found
