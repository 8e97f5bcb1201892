"""Over there: what the machine that sent the code asks for. Joins."""

from __future__ import annotations

from tmuxagents.errors import BadRequest
from tmuxagents.machines import leavings, refs
from tmuxagents.machines.checkout import Project
from tmuxagents.system import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def answer(asked: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """Do what is asked; return the answer. Each of these can be asked for again."""
    run_id = _text(asked, "run")
    project = Project(_text(asked, "key"), places.own_home(environment), environment)
    match asked.get("do"):
        case "checkout":
            folder, author = _text(asked, "folder"), refs.pair(asked.get("author"))
            cwd = project.make_checkout(run_id, _text(asked, "commit"), folder=folder, author=author)
            return {"cwd": cwd}
        case "leave":
            left = leavings.gather(project, _text(asked, "checkout"), run_id)
            return {"refs": left.refs, "kept": left.kept, "isGone": left.is_gone}
        case "confirm":
            found = refs.parse_left({"refs": asked.get("refs"), "kept": []}, run_id)
            project.confirm(run_id, found.refs.values())
            return {}
    raise BadRequest("This is no request for code.", kind="bad-argument")


def _text(asked: Mapping[str, Any], name: str) -> str:
    value = asked.get(name)
    if not isinstance(value, str):
        raise BadRequest(f"The request has no {name}.", kind="bad-argument")
    return value
