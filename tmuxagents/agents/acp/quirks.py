"""The quirks of agents that speak ACP, by the name that each agent gives itself. Pure.

Some agents answer `end_turn` for a turn that failed. So a truthful ending needs each agent's own signs of
failure.
"""

from __future__ import annotations

import re

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.capabilities import ASK, EDIT, FULL, OF_CALL, OF_RUN, OF_SESSION, READ_ONLY, AgentFacts
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# Names of modes that mean one of our levels, compared without case or punctuation; the first one that the
# agent offers is used.
_MODES = {
    READ_ONLY: ("readonly", "plan"),
    EDIT: ("acceptedits", "autoedit", "workspacewrite"),
    FULL: ("bypasspermissions", "yolo", "agentfullaccess", "fullaccess"),
    ASK: ("default", "ask", "manual", "readonly"),
}
# Kinds of tools that a level allows without asking; we deny all others.
_ALLOWED = {
    READ_ONLY: ("read", "search", "think"),
    EDIT: ("read", "search", "think", "fetch", "edit", "move", "delete"),
}
# Arguments of an edit, as agents call them.
_PATHS = ("path", "file_path", "filePath")
_OLD, _NEW = ("old_string", "oldString", "old_str"), ("new_string", "newString", "new_str", "content")
_EXIT = re.compile(r"<shellId: \d+ completed with exit code (\d+)>\s*\Z")  # Copilot


class Quirks(AgentFacts):
    """The differences of one agent from the protocol."""

    errors: str = ""  # the beginning of a text that is an error
    notes: re.Pattern[str] | None = None  # texts that no model wrote
    again: str = ""  # the beginning of a note before another try
    replays_late: bool = False  # earlier messages come after the answer to session/load
    has_names_in_ids: bool = False  # the id of a call is NAME__ID
    sums: bool = False  # figures of a prompt include those of the prompts before it
    shows_cuts: bool = True  # False: end_turn may mean an answer that was cut
    usage: str = OF_RUN


KEEPS_TO_IT = Quirks()
_NOTES = (
    r"Info: (Operation cancelled|Request failed|Response was interrupted)|Warning: \d+ tool call"  # Copilot
)
_BY_NAME = {
    "copilot": Quirks(
        errors="Error: ",
        notes=re.compile(_NOTES),
        again="Info: Response was interrupted",
        sums=True,
        shows_cuts=False,
        usage=OF_SESSION,
    ),
    "gemini-cli": Quirks(
        notes=re.compile(r"\[MODE_UPDATE\]"), replays_late=True, has_names_in_ids=True, shows_cuts=False
    ),
    "opencode": Quirks(shows_cuts=False, usage=OF_CALL),
    "qwen-code": Quirks(shows_cuts=False),
}


def of(name: Any) -> Quirks:
    """Return the quirks of an agent by the name that it gives itself."""
    return _BY_NAME.get((raw_json.word(name) or "").lower(), KEEPS_TO_IT)


def is_broken(update: Mapping[str, Any]) -> bool:
    """Say whether an update reports that the turn has failed (codex-acp, which then answers end_turn)."""
    codex = _inner(update, "_meta", "codex", "threadStatus")
    return codex.get("type") == "systemError"


def is_denied(update: Mapping[str, Any]) -> bool:
    """Say whether a call failed because the agent's own rules forbid it (claude-agent-acp)."""
    return _inner(update, "_meta", "claudeCode").get("nonExecutionKind") == "permission-rule"


def tool_name(call: str, update: Mapping[str, Any], quirks: Quirks) -> str | None:
    """Return the name of a tool; else the title of the call.

    The protocol has no names of tools: each agent puts them in a place of its own.
    """
    if quirks.has_names_in_ids and "__" in call:
        return raw_json.word(call.partition("__")[0])
    extra = _inner(update, "_meta")
    own = _inner(extra, "claudeCode").get("toolName") or extra.get("toolName")
    return raw_json.word(update.get("name")) or raw_json.word(own) or raw_json.word(update.get("title"))


def as_ours(name: str | None, details: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Return the name and arguments of a call, in our own words if we know its kind."""
    args, kind = raw_json.table(details.get("rawInput")), details.get("kind")
    diff = next((one for one in raw_json.blocks(details.get("content")) if one.get("type") == "diff"), {})
    place = next(iter(raw_json.blocks(details.get("locations"))), {})
    path = diff.get("path") or place.get("path") or _first(args, _PATHS)
    if kind == "execute" and isinstance(args.get("command"), str):
        return "bash", args
    if kind == "read" and isinstance(path, str):
        return "read", {"path": path}
    old, new = diff.get("oldText", _first(args, _OLD)), diff.get("newText", _first(args, _NEW))
    if kind == "edit" and isinstance(path, str) and isinstance(new, str):
        if isinstance(old, str) and old:
            return "edit", {"path": path, "edits": [{"oldText": old, "newText": new}]}
        return "write", {"path": path, "content": new}
    return name, args or {"title": details.get("title")}


def _first(args: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((args[key] for key in keys if key in args), None)


def exit_code(update: Mapping[str, Any], text: str) -> int | None:
    """Return the exit code of a shell command, if an update has it."""
    raw = _inner(update, "rawOutput")
    codes = (
        raw.get("exit_code"),
        raw.get("exitCode"),
        _inner(raw, "metadata").get("exit"),
        _inner(update, "_meta", "terminal_exit").get("exit_code"),
    )
    reported_code = next((code for code in codes if type(code) is int), None)
    shown = _EXIT.search(text[-100:])
    return int(shown[1]) if reported_code is None and shown else reported_code


def mode_of(level: str, modes: Sequence[str]) -> str | None:
    """Return the mode in which an agent has a permission level; None if it has no such mode."""
    plain = {re.sub("[^a-z]", "", mode.rpartition("#")[2].lower()): mode for mode in modes}
    return next((plain[name] for name in _MODES[level] if name in plain), None)


def decides(level: str | None, kind: str | None) -> bool | None:
    """Say whether a level allows a kind of tool that the agent asks about; None: the question stays open."""
    if level == ASK:
        return None
    return level == FULL or kind in _ALLOWED.get(level or EDIT, ())


def words_of(error: Any) -> str:
    """Return the message of an error: the provider's own, if the error has it."""
    body = raw_json.table(error)
    message = raw_json.sentence(body.get("message")) or "The agent reported an error."
    details = raw_json.sentence(_inner(body, "data").get("details"))
    return details or inner_message(message) or message.removeprefix("Internal error: ")


def inner_message(text: str) -> str | None:
    """Return the message in an error that is JSON itself."""
    begin = text.find('{"error"')  # codex-acp puts its own warnings in front of it
    if begin < 0:
        return None
    try:
        document = jsonline.decode_first(text[begin:])
    except (ValueError, RecursionError):
        return None
    return raw_json.sentence(_inner(document, "error").get("message"))


def _inner(value: Any, *keys: str) -> Mapping[str, Any]:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
