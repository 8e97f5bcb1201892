"""A file of vectors: groups of cases, each with what goes in and what has to come out, or be refused.

What is wrong with the file as a whole is one sentence; what is wrong with a case, the case itself says.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GROUPS, ID, GIVEN, OUT, ERROR = "groups", "id", "in", "out", "error"


class NoVectors(Exception):
    """A file that holds no vectors, and why."""


class Case:
    """One case: what goes in, and what is wanted: a value, or the words of a refusal."""

    def __init__(self, group: str, number: int, raw: Any) -> None:
        self.group = group
        known = raw if isinstance(raw, dict) else {}
        self.id = str(known.get(ID, f"number {number}"))
        self.flaw = _flaw(raw)
        self.given = known.get(GIVEN)
        self.is_refused = ERROR in known
        self.wanted = known.get(ERROR if self.is_refused else OUT)

    def __repr__(self) -> str:
        return f"{self.group}/{self.id}"


def _flaw(raw: Any) -> str | None:
    """Say why something is no case that could be judged."""
    if not isinstance(raw, dict):
        return "this is no case: a case is an object"
    if GIVEN not in raw:
        return f'the case has no "{GIVEN}"'
    if (OUT in raw) == (ERROR in raw):
        words = 'both "{}" and "{}"' if OUT in raw else 'neither "{}" nor "{}"'
        return f"the case has {words.format(OUT, ERROR)}"
    return None


def read(path: str) -> list[Case]:
    """Return all cases of a file, or raise NoVectors."""
    try:
        document = json.loads(Path(path).read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise NoVectors(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise NoVectors(f"{path} is not UTF-8") from error
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise NoVectors(f"{path} is not JSON: {why}") from error
    groups = document.get(GROUPS) if isinstance(document, dict) else None
    if not isinstance(groups, dict):
        raise NoVectors(f'{path} holds no vectors: it must be an object with "{GROUPS}", groups by name')
    return [case for name, group in groups.items() for case in of_group(name, group)]


def of_group(name: str, group: Any) -> list[Case]:
    """Return the cases of one group; a group that is no list is one case that nobody could judge."""
    listed = group if isinstance(group, list) else [None]
    return [Case(name, number, raw) for number, raw in enumerate(listed, 1)]
