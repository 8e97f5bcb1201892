"""The settings in force, as they are shown: each key with its value and where that came from."""

from __future__ import annotations

from tmuxagents import configured
from tmuxagents.core import settings as rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def in_force(environment: Mapping[str, str], project: str | None) -> tuple[list[dict[str, Any]], list[str]]:
    """Return key, value and source of every setting, and the warnings about those that are not in force."""
    settings = configured.load(environment, project)
    shown = [{"key": key, "value": value, "source": source} for key, value, source in rules.rows(settings)]
    return shown, settings.warnings
