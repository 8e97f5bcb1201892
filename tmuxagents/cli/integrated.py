"""What all integrations print: what was changed, what would be, what is left alone."""

from __future__ import annotations

from tmuxagents import jsonline
from tmuxagents.cli import streams, words
from tmuxagents.core import integration, sanitize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.core.integration import Integration


def tell(found: Integration, *, dry_run: bool, as_json: bool) -> None:
    """Print an integration."""
    words.warn(found.warnings)
    if as_json:
        streams.write(jsonline.encode(found.document(dry_run=dry_run)))
        return
    told = integration.diff(found.changes) if dry_run else map(integration.said, found.changes)
    lines = [*told, *map(integration.left, found.left)] or ["nothing to change"]
    words.lines(sanitize.text(line) for line in lines)
