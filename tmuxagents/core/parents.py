"""Parents that are programs of others: where each keeps MCP servers and skills, and what we write there."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

CLAUDE, CODEX = "claude", "codex"
NAMES = {CLAUDE: "Claude Code", CODEX: "Codex"}
SERVER = "tmuxagents"  # the server's name, the skill's, and that of our program
JSON_GROUP, TOML_GROUP = "mcpServers", "mcp_servers"
LONGEST_CALL_S = 300  # our server answers each call before that
# Codex hands a server little of its own environment; these go along where they are set.
_FORWARDED = (
    *("TMUX", "TMUX_TMPDIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK"),
    *("PI_AGENT_DIR", "PI_CODING_AGENT_DIR", "PI_SUBAGENTS_CHILD"),
    *("TMUXAGENTS_HOME", "TMUXAGENTS_OWNER", "TMUXAGENTS_PI", "TMUXAGENTS_SOCKET", "TMUXAGENTS_SESSION"),
    *("TMUXAGENTS_DEFAULT_MODEL", "TMUXAGENTS_MAX_RUNNING", "TMUXAGENTS_NESTING", "TMUXAGENTS_ROOT"),
)
# What an entry of ours may hold: what we write, and what the parents themselves add to it.
_KNOWN_KEYS = {"type", "command", "args", "env", "env_vars", "tool_timeout_sec", "enabled", "tools"}


class Place:
    """Where a parent looks. `command` is how it is to start our program; `private`: for no other user."""

    __slots__ = ("command", "config", "is_toml", "private", "skill", "target")

    def __init__(self, target: str, *, config: str, skills: str, command: str, private: bool) -> None:
        self.target = target
        self.config = config
        self.skill = f"{skills}/{SERVER}"
        self.command = command
        self.private = private
        self.is_toml = target == CODEX


def of_user(target: str, environment: Mapping[str, str], home: str, command: str) -> Place:
    """Return where a parent looks for what one person has set up for all their projects."""
    if target == CODEX:
        config, skills = f"{_named(environment, 'CODEX_HOME') or home + '/.codex'}/config.toml", ".agents"
        return Place(target, config=config, skills=f"{home}/{skills}/skills", command=command, private=True)
    folder = _named(environment, "CLAUDE_CONFIG_DIR")
    config = f"{folder or home}/.claude.json"
    skills = f"{folder or home + '/.claude'}/skills"
    return Place(target, config=config, skills=skills, command=command, private=True)


def of_project(target: str, project: str) -> Place:
    """Return where a parent looks for what all in a project are to have. No path of one machine is in it."""
    config, skills = (".codex/config.toml", ".agents") if target == CODEX else (".mcp.json", ".claude")
    config, skills = f"{project}/{config}", f"{project}/{skills}/skills"
    return Place(target, config=config, skills=skills, command=SERVER, private=False)


def _named(environment: Mapping[str, str], name: str) -> str | None:
    path = environment.get(name, "")
    return path.rstrip("/") if path.startswith("/") else None


# --- what is written --------------------------------------------------------------------------------------


def entry(command: str) -> dict[str, Any]:
    """Return our server as a JSON configuration has it."""
    return {"type": "stdio", "command": command, "args": ["mcp"]}


def is_ours(value: Any) -> bool:
    """Say whether this is a server entry that we wrote, or one that says the same."""
    if not isinstance(value, dict) or set(value) - _KNOWN_KEYS:
        return False
    command = value.get("command")
    plain = value.get("args") == ["mcp"] and not value.get("env") and value.get("type", "stdio") == "stdio"
    return plain and isinstance(command, str) and command.rpartition("/")[2] == SERVER


def toml_lines(command: str) -> list[str]:
    """Return our server as the lines of a TOML configuration."""
    return [
        f"[{TOML_GROUP}.{SERVER}]",
        f"command = {_toml(command)}",
        'args = ["mcp"]',
        f"env_vars = [{', '.join(map(_toml, _FORWARDED))}]",
        f"tool_timeout_sec = {LONGEST_CALL_S}",
    ]


def _toml(text: str) -> str:
    # JSON's strings are TOML's, but for one character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
