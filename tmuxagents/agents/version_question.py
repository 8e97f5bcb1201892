"""The one question to an installed agent that lists no models: which version it is. Pure."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.agents.capabilities import Capabilities

_RELEASE = re.compile(r"(?<![\w.])v?(\d{1,6}(?:\.\d{1,6}){1,2}(?:[-+][0-9A-Za-z.+-]{1,40})?)(?!\w|\.\w)")
_LONGEST = 512


def of(capabilities: Capabilities) -> VersionQuestion:
    """Return the question to an agent."""
    return VersionQuestion(capabilities.oldest)


class VersionQuestion:
    """Asks for a version alone."""

    SETTINGS = FOLDER_SETTINGS = ""  # nothing is read of its own settings
    FILES: tuple[str, ...] = ()
    QUIET: dict[str, str] = {}  # noqa: RUF012  (a constant)
    VERSION: tuple[str, ...] = ("--version",)
    MODELS: tuple[str, ...] = ()  # it cannot be asked for its models
    REQUEST = b""
    LISTING: tuple[str, ...] = ()

    def __init__(self, oldest: str | None) -> None:
        self.OLDEST = _figures(oldest or "0")

    def own_model(self, _settings: bytes, _of_folder: bytes) -> str | None:
        """Return None: its settings are not read."""
        return None

    def version(self, text: bytes) -> str | None:
        """Return the version in an answer."""
        found = _RELEASE.search(text[:_LONGEST].decode("utf-8", "replace"))
        return found[1] if found else None

    def is_old(self, release: str) -> bool:
        """Say whether a version is older than the oldest that is known to work."""
        return _figures(release) < self.OLDEST

    def models(self, _line: bytes) -> list[dict[str, Any]] | None:
        """Return None: it lists none."""
        return None

    def listing(self, _text: bytes) -> list[dict[str, Any]] | None:
        """Return None, as above."""
        return None


class NoQuestion(VersionQuestion):
    """Asks nothing: the program is the user's own command, which is not called without need."""

    VERSION: tuple[str, ...] = ()


def _figures(release: str) -> tuple[int, ...]:
    return tuple(int(figure) for figure in re.findall(r"\d+", release)[:3])
