"""Find, read and write preset and profile files. A file that another user could have written is not read.

Every read is bounded and cannot block. A file that is left out gets a one-line reason. presets/preset parses
the texts, and presets/catalogue chooses the file that counts.

Touches: preset files.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import NamedTuple

from tmuxagents.cpython import sha256
from tmuxagents.presets.preset import PresetFile
from tmuxagents.system import places, project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from tmuxagents.agents.capabilities import AgentFiles

LIMIT = 64 * 1024
MOST_FILES = 256  # of one folder
FOLDERS = (("preset", "subagents"), ("profile", "agent-profiles"))
_HASH_LENGTH = 12
_SUFFIX = ".md"


class RefusedFile(Exception):
    """A file or folder that is left out, and why."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path} is skipped: {why}")
        self.path = path
        self.why = why


class Found:
    """The files of all folders, and those left out. Of each kind, the user's come before the project's."""

    __slots__ = ("files", "refused")

    def __init__(self) -> None:
        self.files: list[PresetFile] = []
        self.refused: list[RefusedFile] = []


class ForeignFiles(NamedTuple):
    """The agent files of one brand: their format, the user's folders, the brand's place in the setting."""

    files: AgentFiles
    own: Sequence[str]
    place: int


def read_all(
    folder: str,
    environment: Mapping[str, str],
    *,
    with_project: bool = True,
    foreign: Iterable[ForeignFiles] = (),
) -> Found:
    """Read the files that can be named in a folder. `foreign`: the brands whose files count, too."""
    found = Found()
    for kind, name in FOLDERS:
        _read_folder(found, PresetFile(kind=kind, source="global", path=global_folder(environment, kind)))
        place = _nearest(found, folder, environment, f".pi/{name}", _SUFFIX) if with_project else None
        if place is not None:
            _read_folder(found, PresetFile(kind=kind, source="project", path=place))
    for one in foreign:
        about: dict[str, Any] = {"kind": FOLDERS[0][0], "brand": one.files, "place": one.place}
        for path in one.own:
            _read_folder(found, PresetFile(source="global", path=path, **about))
        for name in one.files.project if with_project else ():
            place = _nearest(found, folder, environment, name, one.files.suffix)
            if place is not None and place not in one.own:
                _read_folder(found, PresetFile(source="project", path=place, **about))
    return found


def global_folder(environment: Mapping[str, str], kind: str) -> str:
    """Return the folder of the user's files of a kind, which count everywhere."""
    return f"{places.agent_dir(environment)}/{dict(FOLDERS)[kind]}"


def project_folder(project_: str, kind: str) -> str:
    """Return the folder of a project's files of a kind."""
    return f"{project_.rstrip('/')}/.pi/{dict(FOLDERS)[kind]}"


def read_file(path: str, kind: str, source: str) -> PresetFile:
    """Read one named file, or raise RefusedFile."""
    folder, name = os.path.split(os.path.abspath(path))
    try:
        real = os.path.realpath(folder, strict=True)
        try:
            _check_ours(os.stat(real))
        except RefusedFile as error:
            raise RefusedFile("", f"its folder: {error.why}") from error
        with opened_folder(real) as handle:
            like = PresetFile(kind=kind, source=source, path=path)
            return _file(like, f"{folder}/{name}", _read(handle, real, name))
    except (RefusedFile, OSError, ValueError) as error:
        raise RefusedFile(path, _why(error)) from error


# --- folders ----------------------------------------------------------------------------------------------


def _nearest(found: Found, folder: str, environment: Mapping[str, str], name: str, suffix: str) -> str | None:
    """Return the nearest folder of a project that holds such files. Untrusted folders are skipped.

    A folder without files is skipped, too: every project with runs has a `.pi/subagents`, for links to them.
    """
    for above in project.upwards(folder, places.user_home(environment)):
        place = f"{above}/{name}"
        try:
            if not names(place, suffix):
                continue
            refuse_outside(above, place)
            _check_ours(os.stat(os.path.dirname(place)))
            _check_ours(os.stat(place))
        except FileNotFoundError:
            continue
        except (OSError, RefusedFile) as error:
            if not isinstance(error, NotADirectoryError):
                found.refused.append(RefusedFile(place, _why(error)))
            continue
        return place
    return None


def refuse_outside(above: str, place: str) -> None:
    """Raise RefusedFile if a project's folder, which may not exist yet, really lies outside the project."""
    if not project.is_really_inside(place, above):
        raise RefusedFile(place, "it is a symbolic link that leaves the project")


def names(place: str, suffix: str | tuple[str, ...]) -> list[str]:
    """Return the sorted names in a folder that end with a suffix, except those of folders. Raises OSError."""
    with os.scandir(place) as entries:
        return sorted(
            entry.name
            for entry in entries
            if entry.name.endswith(suffix) and not entry.is_dir(follow_symlinks=False)
        )


def _read_folder(found: Found, like: PresetFile) -> None:
    """Read all files of a folder, if it is there. `like`: its path, and the kind and origin of its files."""
    place = like.path
    try:
        found_names = names(place, like.brand.suffix if like.brand else _SUFFIX)
        real = os.path.realpath(place, strict=True)
        _check_ours(os.stat(os.path.dirname(place)))  # else others could replace the folder
        with opened_folder(real) as handle:
            for name in found_names[:MOST_FILES]:
                path = f"{place}/{name}"
                try:
                    found.files.append(_file(like, path, _read(handle, real, name)))
                except (RefusedFile, OSError, ValueError) as error:
                    found.refused.append(RefusedFile(path, _why(error)))
        for name in found_names[MOST_FILES : MOST_FILES + 1]:
            why = f"only the first {MOST_FILES} files of a folder are read, not this one and those after it"
            found.refused.append(RefusedFile(f"{place}/{name}", why))
    except FileNotFoundError:
        return
    except (RefusedFile, OSError) as error:
        found.refused.append(RefusedFile(place, _why(error)))


@contextlib.contextmanager
def opened_folder(real: str) -> Iterator[int]:
    """Open a folder that no other user can have written to, or raise RefusedFile."""
    handle = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _check_ours(os.fstat(handle))
        yield handle
    finally:
        os.close(handle)


def _file(like: PresetFile, path: str, raw: bytes) -> PresetFile:
    return like._replace(path=path, text=raw.decode("utf-8"), hash=sha256(raw)[:_HASH_LENGTH])


# --- files ------------------------------------------------------------------------------------------------


def _read(folder: int, real: str, name: str) -> bytes:
    """Read a whole file of an open folder. Raises unless the file is regular, trusted and not too large.

    A link may lead only to another file of the same folder: a cloned repository could contain any link.
    """
    if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        target, name = os.path.split(os.path.realpath(f"{real}/{name}"))
        if target != real:
            raise RefusedFile(name, "it is a symbolic link that leaves its folder")
    handle = places.open_regular(name, folder=folder, links=False)
    try:
        _check_ours(os.fstat(handle))
        raw = b""
        while piece := os.read(handle, LIMIT + 1 - len(raw)):
            raw += piece
    finally:
        os.close(handle)
    if len(raw) > LIMIT:
        raise RefusedFile("", f"it is larger than {LIMIT // 1024} KB")
    return raw


def _check_ours(facts: os.stat_result) -> None:
    """Raise RefusedFile if a user other than us and root could have written a file or folder."""
    if facts.st_uid not in (os.getuid(), 0):
        raise RefusedFile("", "it belongs to another user")
    # Many systems give each user but root a group of their own, and let that group write (umask 002).
    ours_alone = os.getuid() != 0 and places.only_we_write(facts)
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not ours_alone:
        raise RefusedFile("", "others can write to it (chmod go-w)")


def _why(error: RefusedFile | OSError | ValueError) -> str:
    if isinstance(error, RefusedFile):
        return error.why
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    if isinstance(error, OSError):
        if error.errno == errno.ELOOP:
            return "it is a symbolic link that leads nowhere"
        return (error.strerror or str(error)).lower()
    return "its name cannot be used"


def write_new(path: str, text: str, *, shared: bool) -> None:
    """Make a file that is not there yet, and its folder.

    `shared`: the file belongs to a project. Others may read it, as they read code. Its folder must not lie
    outside the project.
    """
    folder = os.path.dirname(path)
    if shared:
        refuse_outside(os.path.dirname(os.path.dirname(folder)), folder)
    places.make_folders(folder, 0o755 if shared else 0o700)
    with opened_folder(os.path.realpath(folder, strict=True)) as handle:
        name, mode = os.path.basename(path), 0o644 if shared else 0o600
        places.write_new(name, text.encode("utf-8"), mode, folder=handle, finish=os.fsync)


def replace(path: str, text: str) -> None:
    """Replace the text of a file in one step: a reader sees the old text or the new one."""
    target = os.path.realpath(path, strict=True)
    mode = stat.S_IMODE(os.stat(target).st_mode) & 0o755
    places.replace(target, text.encode("utf-8"), mode)


def remove(path: str) -> None:
    """Remove a file."""
    os.unlink(path)
