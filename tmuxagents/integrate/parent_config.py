"""The configuration of a parent that is a program of others: where it lies, with our MCP server and without.

It is JSON or TOML. Tables are found by their headers when another program has written the file anew and our
marks are lost; the text before and after is parsed and compared, since a header can stand inside a long text,
too.

Joins.
"""

from __future__ import annotations

import json
import re
import tomllib

from tmuxagents.integrate import json_member, own_text
from tmuxagents.integrate.json_member import CannotEdit
from tmuxagents.integrate.own_text import DONE, NOTHING, Edited

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


class ParentPlace:
    """Where a parent looks. `command` is how it is to start our program; `private`: for no other user."""

    __slots__ = ("command", "config", "is_toml", "private", "skill", "target")

    def __init__(self, target: str, *, config: str, skills: str, command: str, private: bool) -> None:
        self.target = target
        self.config = config
        self.skill = f"{skills}/{SERVER}"
        self.command = command
        self.private = private
        self.is_toml = target == CODEX


def of_user(target: str, environment: Mapping[str, str], home: str, command: str) -> ParentPlace:
    """Return where a parent looks for what one person has set up for all their projects."""
    if target == CODEX:
        config, skills = f"{_named(environment, 'CODEX_HOME') or home + '/.codex'}/config.toml", ".agents"
        return ParentPlace(
            target, config=config, skills=f"{home}/{skills}/skills", command=command, private=True
        )
    folder = _named(environment, "CLAUDE_CONFIG_DIR")
    config = f"{folder or home}/.claude.json"
    skills = f"{folder or home + '/.claude'}/skills"
    return ParentPlace(target, config=config, skills=skills, command=command, private=True)


def of_project(target: str, project: str) -> ParentPlace:
    """Return where a parent looks for what all in a project are to have. No path of one machine is in it."""
    config, skills = (".codex/config.toml", ".agents") if target == CODEX else (".mcp.json", ".claude")
    config, skills = f"{project}/{config}", f"{project}/{skills}/skills"
    return ParentPlace(target, config=config, skills=skills, command=SERVER, private=False)


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


TAKEN = "taken"  # somebody else has a server of our name there
_TABLE = f"{TOML_GROUP}.{SERVER}"


def put(before: bytes | None, where: ParentPlace) -> Edited:
    """Return a configuration with our server in it. Raises Malformed."""
    return (_toml_put if where.is_toml else _json_put)(before, where.command)


def take(before: bytes | None, where: ParentPlace) -> Edited:
    """Return a configuration without our server. Raises Malformed."""
    if before is None:
        return Edited(NOTHING, None)
    return (_toml_take if where.is_toml else _json_take)(before)


def _edited(before: bytes | None, after: bytes | None) -> Edited:
    return Edited(NOTHING if before == after else DONE, after)


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise CannotEdit("it is no UTF-8 text") from error


# --- JSON -------------------------------------------------------------------------------------------------


def _json_put(before: bytes | None, command: str) -> Edited:
    ours = entry(command)
    if before is None:
        return Edited(DONE, json_member.made(JSON_GROUP, SERVER, ours).encode())
    text = _text(before)
    there = json_member.get(text, JSON_GROUP, SERVER)
    if there is not None and not is_ours(there):
        return Edited(TAKEN, before)
    if there is not None and there["command"] == command:
        return Edited(NOTHING, before)
    return _edited(before, json_member.put(text, JSON_GROUP, SERVER, ours).encode())


def _json_take(before: bytes) -> Edited:
    text = _text(before)
    there = json_member.get(text, JSON_GROUP, SERVER)
    if there is None:
        return Edited(NOTHING, before)
    if not is_ours(there):
        return Edited(TAKEN, before)
    after = json_member.take(text, JSON_GROUP, SERVER)
    return Edited(DONE, None if after is None else after.encode())


# --- TOML -------------------------------------------------------------------------------------------------


def _toml_put(before: bytes | None, command: str) -> Edited:
    lines = toml_lines(command)
    there = _servers(before or b"").get(SERVER)
    if before is None or there is None:
        return _checked(before or b"", own_text.put_block(before, lines))
    if not is_ours(there):
        return Edited(TAKEN, before)
    if there["command"] == command:  # what else was changed in it, was changed on purpose
        return Edited(NOTHING, before)
    rest = _toml_take(before).text
    return _checked(rest or b"", own_text.put_block(rest, lines))


def _toml_take(before: bytes) -> Edited:
    """Take out our block; where another program has written the file anew, the tables of our server."""
    there = _servers(before).get(SERVER)
    if there is None:
        return Edited(NOTHING, before)
    if not is_ours(there):
        return Edited(TAKEN, before)
    after = own_text.take_block(before).text
    if after is not None and not _is_without(after, before):
        after = without(before, _TABLE)
        if not _is_without(after, before):
            raise CannotEdit(f'"{SERVER}" cannot be taken out of it; do it by hand')
        after = after if after.strip() else None
    return Edited(DONE, after)


def _is_without(after: bytes, before: bytes) -> bool:
    """Say whether a text has our server no more, and means the same besides."""
    try:
        return SERVER not in _servers(after) and _rest(after) == _rest(before)
    except CannotEdit:
        return False


def _checked(before: bytes, edited: Edited) -> Edited:
    """Return what was put in, if the file means the same as before besides."""
    try:
        same = edited.text is None or _rest(edited.text) == _rest(before)
    except CannotEdit as why:
        raise CannotEdit(f'"{TOML_GROUP}" in it cannot be added to') from why
    if not same:
        raise CannotEdit("it would mean something else with our lines in it")
    return edited


def _rest(text: bytes) -> dict[str, Any]:
    """Return what a configuration says besides our server."""
    servers = {name: server for name, server in _servers(text).items() if name != SERVER}
    others = {key: value for key, value in _parsed(text).items() if key != TOML_GROUP}
    return {**others, TOML_GROUP: servers}


def _servers(text: bytes) -> dict[str, Any]:
    servers = _parsed(text).get(TOML_GROUP, {})
    if not isinstance(servers, dict):
        raise CannotEdit(f'"{TOML_GROUP}" in it is no table')
    return servers


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(text))
    except tomllib.TOMLDecodeError as error:
        raise CannotEdit(f"it is no TOML: {str(error).lower()}") from error


_MARK = re.compile(rb"# (>>>|<<<) tmuxagents\b.*")


def without(text: bytes, name: str) -> bytes:
    """Return a text without a table, those inside it, and our marks."""
    own, inside = f"[{name}]".encode(), f"[{name}.".encode()
    kept: list[bytes] = []
    passing: list[
        bytes
    ] = []  # blank lines and comments in a table that goes: they may belong to the next one
    goes = False
    for line in text.splitlines(keepends=True):
        plain = line.strip()
        if _MARK.fullmatch(plain):
            continue
        if plain.startswith(b"["):
            goes = plain.startswith((own, inside))
            kept += [] if goes else passing
            passing = []
        if not goes:
            kept.append(line)
        elif not plain or plain.startswith(b"#"):
            passing.append(line)
        else:
            passing = []
    return b"".join(kept)
