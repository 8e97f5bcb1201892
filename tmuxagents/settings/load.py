"""Read the settings files, and merge them with the environment into the settings in force.

This module imports little, because every wrapper loads its settings here.

Joins.
"""

from __future__ import annotations

from tmuxagents.settings import keys
from tmuxagents.system import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.settings.keys import Settings


def load(environment: Mapping[str, str], project: str | None) -> Settings:
    """Return the settings in force in a project; without one, those in force everywhere."""
    paths = {"global": places.global_path(environment)}
    if project and places.project_path(project) != paths["global"]:
        paths["project"] = places.project_path(project)
    texts = {source: places.read_named(path) for source, path in paths.items()}
    settings = keys.resolve(
        environment,
        global_text=texts["global"].text,
        project_text=texts["project"].text if "project" in texts else None,
        paths=paths,
    )
    refused = [
        f"{source} settings ({paths[source]}): {file.refused}; the file is ignored"
        for source, file in texts.items()
        if file.refused
    ]
    settings.warnings[:0] = refused
    return settings
