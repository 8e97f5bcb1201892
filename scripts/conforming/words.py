"""Between the vectors' world and ours: their words for how a run stands, and for a refusal."""

from __future__ import annotations

from typing import Any

from tmuxagents import records
from tmuxagents.runs import words

# Where vectors name no home: the one that theirs were made in.
HOME = "/home/tester"


class Refusal(Exception):
    """What the code refuses by returning the reason, raised as others raise theirs."""


def refuse(reason: str | None) -> None:
    """Raise what a check found, if it found something."""
    if reason is not None:
        raise Refusal(reason)


def our_status(word: str) -> str:
    """Return our word for one of the tools'; their `error` is our failed or aborted, told alike."""
    return records.FAILED if word == words.ERROR else word


def replaced(value: Any, old: str, new: str) -> Any:
    """Return a JSON value with a text replaced wherever it stands, in keys too."""
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, list):
        return [replaced(one, old, new) for one in value]
    if isinstance(value, dict):
        return {key.replace(old, new): replaced(one, old, new) for key, one in value.items()}
    return value
