"""A text as a person saves it in an editor; what the editor does wrong is said in words."""

from __future__ import annotations

import click

from tmuxagents.errors import BadRequest


def edited(text: str) -> str | None:
    """Return a text as it was saved in $EDITOR; None if it was not."""
    try:
        saved: str | None = click.edit(text, extension=".md")
    except click.UsageError:
        raise
    except click.ClickException as error:
        hint = "set EDITOR to one that works"
        raise BadRequest(error.format_message(), kind="usage", hint=hint) from error
    except UnicodeDecodeError as error:
        message = "What the editor has saved is not UTF-8."
        raise BadRequest(message, kind="bad-argument", hint="save it as UTF-8") from error
    return saved
