"""Layout files: where they lie, and their texts, as far as nobody else could have written them."""

from __future__ import annotations

import os

from tmuxagents.edges import presetfiles, settings, shipped
from tmuxagents.edges.presetfiles import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_FILES = 256  # of one folder
_FOLDER = "layouts"
_SUFFIXES = (".yaml", ".yml")


class File:
    """A layout file: what it is called, whose it is, and its text, or why that is not read."""

    __slots__ = ("name", "path", "refused", "source", "text")

    def __init__(self, source: str, path: str, text: str = "", *, refused: str | None = None) -> None:
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.source = source
        self.path = path
        self.text = text
        self.refused = refused


def global_folder(environment: Mapping[str, str]) -> str:
    """Return where a user's layouts lie."""
    return f"{settings.agent_dir(environment)}/{_FOLDER}"


def project_folder(project: str) -> str:
    """Return where a project's layouts lie."""
    return f"{project}/.pi/{_FOLDER}"


def read_all(project: str, environment: Mapping[str, str]) -> list[File]:
    """Read all layout files: those that ship with us, the user's, the project's."""
    ours = str(shipped.layouts())
    found = [*_shipped(ours), *_folder("global", global_folder(environment), inside=None)]
    return [*found, *_folder("project", project_folder(project), inside=project)]


def _shipped(folder: str) -> Iterator[File]:
    """Yield what came with the program: it is as much to be trusted as that."""
    for name in _names(folder):
        with open(f"{folder}/{name}", encoding="utf-8") as file:
            yield File("shipped", f"{folder}/{name}", file.read())


def _folder(source: str, folder: str, *, inside: str | None) -> Iterator[File]:
    """Yield the files of a folder; `inside`: it must really lie there, whatever links a clone holds."""
    real = os.path.realpath(folder)
    if inside is not None and not f"{real}/".startswith(f"{os.path.realpath(inside).rstrip('/')}/"):
        return
    for name in _names(folder):
        path = f"{folder}/{name}"
        try:
            yield File(source, path, presetfiles.read_file(path, _FOLDER, source).text)
        except Refused as error:
            yield File(source, path, refused=error.why)


def _names(folder: str) -> list[str]:
    """Return the names of the files in a folder, in order; one that cannot be read has none."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(name for name in names if name.endswith(_SUFFIXES))[:MOST_FILES]
