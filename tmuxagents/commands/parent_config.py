"""Our MCP server in the configuration of a parent, JSON or TOML: the file with it, and without it."""

from __future__ import annotations

import tomllib

from tmuxagents.core import block, jsonmember, parents, tomltables
from tmuxagents.core.block import DONE, NOTHING, Edited
from tmuxagents.core.jsonmember import Malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.core.parents import Place

TAKEN = "taken"  # somebody else has a server of our name there
_TABLE = f"{parents.TOML_GROUP}.{parents.SERVER}"


def put(before: bytes | None, where: Place) -> Edited:
    """Return a configuration with our server in it. Raises Malformed."""
    return (_toml_put if where.is_toml else _json_put)(before, where.command)


def take(before: bytes | None, where: Place) -> Edited:
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
        raise Malformed("it is no UTF-8 text") from error


# --- JSON -------------------------------------------------------------------------------------------------


def _json_put(before: bytes | None, command: str) -> Edited:
    ours = parents.entry(command)
    if before is None:
        return Edited(DONE, jsonmember.made(parents.JSON_GROUP, parents.SERVER, ours).encode())
    text = _text(before)
    there = jsonmember.get(text, parents.JSON_GROUP, parents.SERVER)
    if there is not None and not parents.is_ours(there):
        return Edited(TAKEN, before)
    if there is not None and there["command"] == command:
        return Edited(NOTHING, before)
    return _edited(before, jsonmember.put(text, parents.JSON_GROUP, parents.SERVER, ours).encode())


def _json_take(before: bytes) -> Edited:
    text = _text(before)
    there = jsonmember.get(text, parents.JSON_GROUP, parents.SERVER)
    if there is None:
        return Edited(NOTHING, before)
    if not parents.is_ours(there):
        return Edited(TAKEN, before)
    after = jsonmember.take(text, parents.JSON_GROUP, parents.SERVER)
    return Edited(DONE, None if after is None else after.encode())


# --- TOML -------------------------------------------------------------------------------------------------


def _toml_put(before: bytes | None, command: str) -> Edited:
    lines = parents.toml_lines(command)
    there = _servers(before or b"").get(parents.SERVER)
    if before is None or there is None:
        return _checked(before or b"", block.put(before, lines))
    if not parents.is_ours(there):
        return Edited(TAKEN, before)
    if there["command"] == command:  # what else was changed in it, was changed on purpose
        return Edited(NOTHING, before)
    rest = _toml_take(before).text
    return _checked(rest or b"", block.put(rest, lines))


def _toml_take(before: bytes) -> Edited:
    """Take out our block; where another program has written the file anew, the tables of our server."""
    there = _servers(before).get(parents.SERVER)
    if there is None:
        return Edited(NOTHING, before)
    if not parents.is_ours(there):
        return Edited(TAKEN, before)
    after = block.take(before).text
    if after is not None and not _is_without(after, before):
        after = tomltables.without(before, _TABLE)
        if not _is_without(after, before):
            raise Malformed(f'"{parents.SERVER}" cannot be taken out of it; do it by hand')
        after = after if after.strip() else None
    return Edited(DONE, after)


def _is_without(after: bytes, before: bytes) -> bool:
    """Say whether a text has our server no more, and means the same besides."""
    try:
        return parents.SERVER not in _servers(after) and _rest(after) == _rest(before)
    except Malformed:
        return False


def _checked(before: bytes, edited: Edited) -> Edited:
    """Return what was put in, if the file means the same as before besides."""
    try:
        same = edited.text is None or _rest(edited.text) == _rest(before)
    except Malformed as why:
        raise Malformed(f'"{parents.TOML_GROUP}" in it cannot be added to') from why
    if not same:
        raise Malformed("it would mean something else with our lines in it")
    return edited


def _rest(text: bytes) -> dict[str, Any]:
    """Return what a configuration says besides our server."""
    servers = {name: server for name, server in _servers(text).items() if name != parents.SERVER}
    others = {key: value for key, value in _parsed(text).items() if key != parents.TOML_GROUP}
    return {**others, parents.TOML_GROUP: servers}


def _servers(text: bytes) -> dict[str, Any]:
    servers = _parsed(text).get(parents.TOML_GROUP, {})
    if not isinstance(servers, dict):
        raise Malformed(f'"{parents.TOML_GROUP}" in it is no table')
    return servers


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(text))
    except tomllib.TOMLDecodeError as error:
        raise Malformed(f"it is no TOML: {str(error).lower()}") from error
