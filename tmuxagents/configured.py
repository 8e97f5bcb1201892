"""The settings in force somewhere: their texts read, then merged. Light, since every wrapper asks."""

from __future__ import annotations

from tmuxagents.core import settings as rules
from tmuxagents.edges import settings as files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.core.settings import Settings


def load(environment: Mapping[str, str], project: str | None) -> Settings:
    """Return the settings for a project, or those that count everywhere."""
    return rules.resolve(
        environment,
        global_text=files.read_own(files.global_path(environment)),
        project_text=files.read_own(files.project_path(project)) if project else None,
    )
