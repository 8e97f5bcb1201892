"""The calls of a script as an agent's own tools: a script names pi's, and each agent offers others. No I/O.

An offered tool is known by its name, its arguments by the names in its schema. What an agent has no tool for,
its shell does; a call that a shell cannot do either keeps its name, and the agent will say that it has no
such tool.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scripts.model_turns import text_of

if TYPE_CHECKING:
    from scripts.model_turns import Asked, Json, Turn

TOOLS = {  # pi's name: the others'
    "read": ("Read", "read_file", "view"),
    "write": ("Write", "write_file", "create"),
    "edit": ("Edit", "replace"),
    "bash": ("Bash", "run_shell_command", "exec_command", "shell"),
    "ls": ("LS", "list_directory", "list"),
}
ARGUMENTS = {  # ours: the others'
    "path": ("file_path", "filePath", "absolute_path", "dir_path", "path"),
    "content": ("content", "file_text"),
    "oldText": ("old_string", "oldString", "old_str", "oldText"),
    "newText": ("new_string", "newString", "new_str", "newText"),
    "command": ("command", "cmd"),
}
USUAL = {  # what a tool wants besides, if its schema says so
    "description": "Do a part of the task",
    "instruction": "Change the text as asked",
    "is_background": False,
}
FOLDER = re.compile(  # as the agents tell their models
    r"(?i)(?:working directory|working in the directory): (/[^\n]*)"
    r"|<cwd>(/[^<]*)</cwd>|workspace directories:\*\*\s*- (/[^\n]*)"
)


@dataclass(frozen=True)
class Call:
    """One call of a tool, as the agent gets it."""

    id: str
    name: str
    arguments: Json

    @property
    def text(self) -> str:
        """Give the arguments as JSON."""
        return json.dumps(self.arguments)


def calls_of(asked: Asked, turn: Turn) -> list[Call]:
    """Give the calls of a turn by the names that the agent has for them."""
    wanted = [call for one in turn.get("calls", []) for call in one.items()]
    folder = folder_of(asked)
    made = [as_offered(tool, arguments, asked.tools, folder) for tool, arguments in wanted]
    return [Call(f"{asked.answer_id}_call{at}", *call) for at, call in enumerate(made)]


def as_offered(tool: str, arguments: Json, offered: dict[str, Json], folder: str) -> tuple[str, Json]:
    """Make a call of pi's tools one of the tools that are offered."""
    if tool not in TOOLS or (tool in offered and set(arguments) <= set(properties(offered, tool))):
        return tool, arguments
    name = next((one for one in (tool, *TOOLS[tool]) if one in offered), None)
    if name:
        return name, renamed(plain(arguments), properties(offered, name), folder)
    if any(one in offered for one in ("bash", *TOOLS["bash"])):
        return as_offered("bash", {"command": by_shell(tool, plain(arguments))}, offered, folder)
    return tool, arguments


def properties(offered: dict[str, Json], name: str) -> Json:
    """Give the arguments that a tool takes, by name."""
    found: Any = offered.get(name, {}).get("properties")
    return found if isinstance(found, dict) else {}


def plain(arguments: Json) -> Json:
    """Write pi's list of one edit as the edit itself."""
    return {**arguments["edits"][0], "path": arguments["path"]} if "edits" in arguments else arguments


def renamed(arguments: Json, taken: Json, folder: str) -> Json:
    """Name arguments as the tool does, with whole paths, and add what it wants besides."""
    made: Json = {}
    for key, value in arguments.items():
        name = next((other for other in ARGUMENTS.get(key, ()) if other in taken), key)
        is_path = key == "path" and not str(value).startswith("/") and folder
        made[name] = f"{folder}/{value}".removesuffix("/.") if is_path else value
    if taken.get("command", {}).get("type") == "array":
        made["command"] = ["bash", "-lc", arguments["command"]]
    return {**{key: value for key, value in USUAL.items() if key in taken}, **made}


def by_shell(tool: str, arguments: Json) -> str:
    """Do with a shell what an agent has no tool for; a patch is Codex's own way to write."""
    path = shlex.quote(str(arguments.get("path", ".")))
    if tool == "read":
        return f"cat {path}"
    if tool == "ls":
        return f"ls {path}"
    if tool == "bash":
        return str(arguments["command"])
    change = "\n".join(f"+{line}" for line in str(arguments.get("content", "")).splitlines())
    head = f"*** Add File: {arguments['path']}"
    if tool == "edit":
        head = f"*** Update File: {arguments['path']}\n@@"
        change = f"-{arguments['oldText']}\n+{arguments['newText']}"
    return f"apply_patch <<'EOF'\n*** Begin Patch\n{head}\n{change}\n*** End Patch\nEOF"


def folder_of(asked: Asked) -> str:
    """Find where the agent works, if it has told its model."""
    for message in asked.messages:
        found = FOLDER.search(text_of(message))
        if found:
            return str(next(filter(None, found.groups()))).strip()
    return ""
