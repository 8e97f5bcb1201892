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
    paths = {"global": files.global_path(environment)}
    if project and files.project_path(project) != paths["global"]:
        paths["project"] = files.project_path(project)
    texts = {source: files.read_named(path) for source, path in paths.items()}
    settings = rules.resolve(
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
