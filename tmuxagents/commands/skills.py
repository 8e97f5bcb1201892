"""The skills that a child can be given. Looked for once a call, and only if a profile names any."""

from __future__ import annotations

from tmuxagents.core import skills
from tmuxagents.edges import settings, skillfiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.core.skills import Skill


def discover(cwd: str, project: str, environment: Mapping[str, str]) -> dict[str, Skill]:
    """Return the skills by name: the nearest first, then the user's own."""
    folders = skills.folders(
        cwd=cwd,
        project=project,
        agent_dir=settings.agent_dir(environment),
        home=settings.user_home(environment),
    )
    return skills.index(file for folder, within in folders for file in skillfiles.scan(folder, within))
