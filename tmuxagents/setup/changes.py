"""One setting in the text of a settings file: put in, taken out, judged. All other bytes stay.

Pure.
"""

from __future__ import annotations

import difflib
import json

from tmuxagents.errors import BadRequest
from tmuxagents.integrate import json_member
from tmuxagents.settings import agent_keys, keys
from tmuxagents.settings.rules import Argv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from tmuxagents.settings.rules import Rule


def rule_of(key: str) -> Rule:
    """Return the rule of a setting; an unknown one names the nearest."""
    if key in keys.KEYS:
        return keys.KEYS[key]
    rule = agent_keys.rule_of(key)
    if rule is not None:
        return rule
    near = difflib.get_close_matches(key, keys.KEYS, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else "tmuxagents config list names them all"
    raise BadRequest(f'There is no setting "{key[:60]}".', kind="usage", hint=hint, candidates=near)


def value_of(key: str, words: Sequence[str]) -> Any:
    """Return the value that a person typed for a setting, or raise BadRequest."""
    rule = rule_of(key)
    if isinstance(rule, Argv):
        value: Any = list(words)
        if len(words) == 1 and words[0].startswith("["):
            value = _parsed(words[0])
    elif len(words) == 1:
        value = rule.literal(words[0])
    else:
        raise BadRequest(f"{key} takes one value, not {len(words)}.", kind="usage", hint="quote it")
    _, complaint = rule.read(value)
    if complaint is not None:
        wanted = complaint.partition(";")[0]
        raise BadRequest(f"{key} {wanted}.", kind="bad-argument", hint="nothing was changed", field=key)
    return value


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def refuse_in_project(key: str) -> None:
    """Refuse a setting that a project may not make."""
    if key not in keys.PROJECT_KEYS:
        hint = "leave out --project, to set it for yourself"
        raise BadRequest(f"A project may not set {key}.", kind="bad-argument", hint=hint, field=key)


def put(text: str | None, key: str, value: Any) -> str:
    """Return a file's text with this setting. Raises json_member.CannotEdit."""
    if text is None or not text.strip():
        return json_member.made(keys.SECTION, key, value)
    changed = False
    for path in _places(key):
        edited = json_member.put_at(text, path, value)
        text, changed = edited or text, changed or edited is not None
    return text if changed else json_member.put(text, keys.SECTION, key, value)


def take(text: str, key: str) -> str | None:
    """Return a file's text without this setting, None where nothing else was in it. Raises CannotEdit."""
    flat, nested = _places(key)
    if nested != flat:
        text = json_member.take_at(text, nested) or text
    return json_member.take(text, keys.SECTION, key)


def _places(key: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the two ways of writing a setting: `tmux.session` is a member of its own, or one of `tmux`."""
    group, dot, rest = key.partition(".")
    parts = (group, *rest.rsplit(".", 1)) if dot else (key,)
    return (keys.SECTION, key), (keys.SECTION, *parts)


def oddities(text: str) -> Iterator[str]:
    """Yield a sentence about each unknown key of our section in a file's text."""
    for key in keys.names_in(text):
        try:
            rule_of(key)
        except BadRequest as unknown:
            yield f"{unknown.message.rstrip('.')}: {unknown.hint}"


def shown(value: Any) -> str:
    """Return a value as a person would type it."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
