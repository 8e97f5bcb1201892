"""Add our MCP server and our skill to Claude Code or Codex, and remove them again. Joins.

Everything is read before anything is changed. The configuration is JSON or TOML. When another program
rewrites a TOML file, our marks can be lost. Then our tables are found by their headers. Such a header can
also occur inside a long string. So the file is parsed before and after the change, and the two results are
compared.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from typing import NamedTuple

from tmuxagents.errors import BadConfig
from tmuxagents.integrate import disk, own_text
from tmuxagents.integrate.own_text import DONE, NOTHING, TAKEN, CannotEdit, Edited
from tmuxagents.integrate.plan import FILE, Integration, Step, file_step
from tmuxagents.system import places, process, shipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


CLAUDE, CODEX = "claude", "codex"
NAMES = {CLAUDE: "Claude Code", CODEX: "Codex"}
SERVER = "tmuxagents"  # the name of the server, the skill and our program
JSON_GROUP, TOML_GROUP = "mcpServers", "mcp_servers"
LONGEST_CALL_S = 300  # our server answers each call before that
# Codex passes little of its environment on to a server. These variables are passed on if they are set.
_FORWARDED = (
    *("TMUX", "TMUX_TMPDIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK"),
    *("PI_AGENT_DIR", "PI_CODING_AGENT_DIR", "PI_SUBAGENTS_CHILD"),
    *("TMUXAGENTS_HOME", "TMUXAGENTS_OWNER", "TMUXAGENTS_PI", "TMUXAGENTS_SOCKET", "TMUXAGENTS_SESSION"),
    *("TMUXAGENTS_DEFAULT_MODEL", "TMUXAGENTS_MAX_RUNNING", "TMUXAGENTS_NESTING", "TMUXAGENTS_ROOT"),
)
# The keys that our entry may have: those that we write, and those that the parents add.
_KNOWN_KEYS = {"type", "command", "args", "env", "env_vars", "tool_timeout_sec", "enabled", "tools"}
_SKILL, _PROMPTS = "SKILL.md", "prompts"
_MARK = re.compile(rb"# (>>>|<<<) tmuxagents\b.*")


class ParentPlace(NamedTuple):
    """The places where a parent looks. `command` starts our program; `private`: for this user alone."""

    target: str
    config: str
    skill: str
    command: str
    private: bool


def of_user(target: str, environment: Mapping[str, str], home: str, command: str) -> ParentPlace:
    """Return the places where a parent looks for one user, in all projects."""
    name = "CODEX_HOME" if target == CODEX else "CLAUDE_CONFIG_DIR"
    folder = environment.get(name, "").rstrip("/") if environment.get(name, "").startswith("/") else None
    if target == CODEX:
        config, skills = f"{folder or home + '/.codex'}/config.toml", f"{home}/.agents/skills"
    else:
        config, skills = f"{folder or home}/.claude.json", f"{folder or home + '/.claude'}/skills"
    return ParentPlace(target, config, f"{skills}/{SERVER}", command, private=True)


def of_project(target: str, project: str) -> ParentPlace:
    """Return the places that everyone in a project shares, so the texts there name no local path."""
    config, skills = (".codex/config.toml", ".agents") if target == CODEX else (".mcp.json", ".claude")
    return ParentPlace(
        target, f"{project}/{config}", f"{project}/{skills}/skills/{SERVER}", SERVER, private=False
    )


def place(target: str, environment: Mapping[str, str], project: str | None) -> ParentPlace:
    """Return the places where a parent looks: for this user, or with `project` for everyone in it."""
    if project is not None:
        return of_project(target, project)
    # The command that starts this program from anywhere: a path that outlives upgrades, if there is one.
    found = process.find_program(SERVER, environment.get("PATH", ""))
    beside = os.path.join(os.path.dirname(sys.executable), SERVER)
    command = os.path.abspath(found) if found else beside if os.path.exists(beside) else SERVER
    return of_user(target, environment, os.path.abspath(places.user_home(environment)), command)


def plan(where: ParentPlace, *, uninstall: bool, with_tools: bool = True) -> Integration:
    """Read everything, and return the planned changes. An unreadable file refuses all of them."""
    found = Integration(where.target, uninstall=uninstall)
    prompts = f"{where.skill}/{_PROMPTS}"
    if uninstall:
        found.steps.append(_config_step(where, uninstall=True))
        # An earlier version may have had other prompts.
        for path in (*(f"{prompts}/{name}" for name in disk.names(prompts)), f"{where.skill}/{_SKILL}"):
            before = disk.read(path)
            found.steps.append(file_step(path, before, own_text.take_file(before)))
        return found
    above, beside = disk.missing(where.skill) - 1, 0
    if with_tools:
        found.steps.append(_config_step(where, uninstall=False))
        beside = disk.missing(os.path.dirname(where.config))
    folders = (min(max(0, above), 9), min(beside, 9))
    found.steps.append(_put(f"{where.skill}/{_SKILL}", shipped.skill(), folders if any(folders) else ()))
    found.steps += [_put(f"{prompts}/{name}.md", text) for name, text in shipped.prompts().items()]
    return found


def _put(path: str, text: str, folders: tuple[int, ...] = ()) -> Step:
    before = disk.read(path)
    return file_step(path, before, own_text.put_file(before, text, folders))


def _config_step(where: ParentPlace, *, uninstall: bool) -> Step:
    before = disk.read(where.config)
    edit = take_server if uninstall else put_server
    try:
        return file_step(where.config, before, edit(before, where))
    except CannotEdit as why:
        if uninstall:
            step = Step(FILE, where.config)
            step.leave(None, str(why))
            return step
        message = f"{where.config} is left as it is: {why}."
        hint = "correct it, or install the skill alone with --no-tools"
        raise BadConfig(message, kind="bad-settings", hint=hint) from why


def carry_out(found: Integration, where: ParentPlace) -> None:
    """Make the planned changes."""
    above = beside = 0
    for step in found.steps:
        if not step.changes:
            continue
        if step.texts[1] is not None:
            disk.make(os.path.dirname(step.path), private=where.private)
        elif step.path == f"{where.skill}/{_SKILL}":
            above, beside = own_text.folders_of(step.texts[0]) or (0, 0)
        disk.replace(step.path, *step.texts, private=where.private)
    if found.uninstall:
        disk.remove(f"{where.skill}/{_PROMPTS}")
        disk.remove(where.skill, above)
        if beside:
            disk.remove(os.path.dirname(where.config), beside - 1)


# --- the configuration ------------------------------------------------------------------------------------


def entry(command: str) -> dict[str, Any]:
    """Return the entry of our server for a JSON configuration."""
    return {"type": "stdio", "command": command, "args": ["mcp"]}


def is_ours(value: Any) -> bool:
    """Say whether this is a server entry that we wrote, or an equivalent one."""
    if not isinstance(value, dict) or set(value) - _KNOWN_KEYS:
        return False
    command = value.get("command")
    plain = value.get("args") == ["mcp"] and not value.get("env") and value.get("type", "stdio") == "stdio"
    return plain and isinstance(command, str) and command.rpartition("/")[2] == SERVER


def toml_lines(command: str) -> list[str]:
    """Return the entry of our server as lines for a TOML configuration."""
    return [
        f"[{TOML_GROUP}.{SERVER}]",
        f"command = {_toml(command)}",
        'args = ["mcp"]',
        f"env_vars = [{', '.join(map(_toml, _FORWARDED))}]",
        f"tool_timeout_sec = {LONGEST_CALL_S}",
    ]


def _toml(text: str) -> str:
    # A JSON string is also a TOML string, except for one character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def put_server(before: bytes | None, where: ParentPlace) -> Edited:
    """Return a configuration with our server in it. Raises CannotEdit."""
    present = _server(before, where)
    if present is not None and not is_ours(present):
        return Edited(TAKEN, before)
    if present is not None and present["command"] == where.command:  # other changes were made on purpose
        return Edited(NOTHING, before)
    if where.target == CODEX:
        rest = before if before is None or present is None else _without_server(before)
        edited = own_text.put_block(rest, toml_lines(where.command))
        try:
            same = edited.text is None or _rest(edited.text) == _rest(rest or b"")
        except CannotEdit as why:
            raise CannotEdit(f'nothing can be added to "{TOML_GROUP}" in it') from why
        if not same:
            raise CannotEdit("it would mean something else with our lines in it")
        return edited
    ours = entry(where.command)
    if before is None:
        return Edited(DONE, own_text.made_member(JSON_GROUP, SERVER, ours).encode())
    return Edited(DONE, own_text.put_member(_text(before), JSON_GROUP, SERVER, ours).encode())


def take_server(before: bytes | None, where: ParentPlace) -> Edited:
    """Return a configuration without our server. Raises CannotEdit."""
    present = _server(before, where)
    if before is None or present is None:
        return Edited(NOTHING, before)
    if not is_ours(present):
        return Edited(TAKEN, before)
    if where.target == CODEX:
        return Edited(DONE, _without_server(before))
    after = own_text.take_member(_text(before), JSON_GROUP, SERVER)
    return Edited(DONE, None if after is None else after.encode())


def _server(content: bytes | None, where: ParentPlace) -> Any:
    """Return the server of our name in a configuration, None if there is none."""
    if content is None:
        return None
    if where.target == CODEX:
        return _servers(content).get(SERVER)
    return own_text.get_member(_text(content), JSON_GROUP, SERVER)


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise CannotEdit("it is not UTF-8 text") from error


# --- TOML -------------------------------------------------------------------------------------------------


def _without_server(before: bytes) -> bytes | None:
    """Take out our block; without marks, the tables of our server. Raises CannotEdit."""
    after = own_text.take_block(before).text
    if after is not None and not _is_without(after, before):
        after = without(before, f"{TOML_GROUP}.{SERVER}")
        if not _is_without(after, before):
            raise CannotEdit(f'"{SERVER}" cannot be taken out of it; do it by hand')
        after = after if after.strip() else None
    return after


def _is_without(after: bytes, before: bytes) -> bool:
    """Say whether a text no longer has our server, and means the same otherwise."""
    try:
        return SERVER not in _servers(after) and _rest(after) == _rest(before)
    except CannotEdit:
        return False


def _rest(text: bytes) -> dict[str, Any]:
    """Return the content of a configuration without our server."""
    servers = {name: server for name, server in _servers(text).items() if name != SERVER}
    return {**_parsed(text), TOML_GROUP: servers}


def _servers(text: bytes) -> dict[str, Any]:
    servers = _parsed(text).get(TOML_GROUP, {})
    if not isinstance(servers, dict):
        raise CannotEdit(f'"{TOML_GROUP}" in it is not a table')
    return servers


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(text))
    except tomllib.TOMLDecodeError as error:
        raise CannotEdit(f"it is not TOML: {str(error).lower()}") from error


def without(text: bytes, name: str) -> bytes:
    """Return a text without a table, those inside it, and our marks."""
    own, inside = f"[{name}]".encode(), f"[{name}.".encode()
    kept: list[bytes] = []
    pending: list[bytes] = []  # blank lines and comments at the end of a removed table may belong to the next
    goes = False
    for line in text.splitlines(keepends=True):
        plain = line.strip()
        if _MARK.fullmatch(plain):
            continue
        if plain.startswith(b"["):
            goes = plain.startswith((own, inside))
            kept += [] if goes else pending
            pending = []
        if not goes:
            kept.append(line)
        elif not plain or plain.startswith(b"#"):
            pending.append(line)
        else:
            pending = []
    return b"".join(kept)
