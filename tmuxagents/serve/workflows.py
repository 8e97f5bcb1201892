"""The shipped workflow prompts, as the protocol has them: chosen by a person, with a task."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PLACE = "$ARGUMENTS"  # where the task stands in a prompt


class Unknown(Exception):
    """There is no such prompt, or it was asked for without its task; the words are for the client."""


def _texts() -> dict[str, str]:
    from tmuxagents.edges import shipped  # noqa: PLC0415  (few clients ask for prompts)

    return shipped.prompts()


def listed() -> list[dict[str, Any]]:
    """Return all prompts as the protocol lists them."""
    return [_shape(name, text) for name, text in _texts().items()]


def _parts(text: str) -> tuple[dict[str, Any], str]:
    from tmuxagents.core import frontmatter  # noqa: PLC0415  (as above, and yaml)

    found = frontmatter.parse(text)
    return found.fields, found.body.strip()


def _shape(name: str, text: str) -> dict[str, Any]:
    fields, _ = _parts(text)
    task = {"name": "task", "description": str(fields["argument-hint"]).strip("<>"), "required": True}
    return {"name": name, "description": fields["description"], "arguments": [task]}


def got(name: Any, arguments: Any) -> dict[str, Any]:
    """Return one prompt with its task in it."""
    prompts = _texts()
    text = prompts.get(name) if isinstance(name, str) else None
    if text is None:
        raise Unknown(f"There is no such prompt; there are {', '.join(prompts)}.")
    task = arguments.get("task") if isinstance(arguments, dict) else None
    if not isinstance(task, str) or not task.strip():
        raise Unknown(f"{name} needs its argument: task, a text.")
    fields, body = _parts(text)
    content = {"type": "text", "text": body.replace(_PLACE, task)}
    return {"description": fields["description"], "messages": [{"role": "user", "content": content}]}
