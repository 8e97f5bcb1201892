"""What the real code says to a case, and whether the case wants that: equal as JSON, or refused so."""

from __future__ import annotations

import json
import os
import tempfile
from typing import TYPE_CHECKING, Any

from scripts.conforming.groups import ON_DISK, PURE
from scripts.conforming.words import Refusal
from tmuxagents.errors import TmuxAgentsError
from tmuxagents.text.yaml import Malformed

if TYPE_CHECKING:
    from scripts.conforming.cases import Case

_REFUSED = "refused: {}"
_LONGEST = 4000  # signs of a value that are shown


class Failure:
    """A case that failed: what it wants, and what it got instead, both in words."""

    def __init__(self, case: Case, got: str, wanted: str | None = None) -> None:
        self.case = case
        self.wanted = wanted or (_REFUSED if case.is_refused else "{}").format(shown(case.wanted))
        self.got = got

    def __str__(self) -> str:
        return f"{printable(repr(self.case))}\n  want  {self.wanted}\n  got   {self.got}"


def judge(case: Case) -> Failure | None:
    """Hand one case to the code; return how it failed, or None."""
    if case.group not in PURE and case.group not in ON_DISK:
        return Failure(case, "nothing: there is no such group here")
    if case.flaw is not None:
        return Failure(case, f"nothing: {case.flaw}", wanted="a case that can be judged")
    try:
        return _judged(case)
    except RecursionError:
        return Failure(case, "nothing: it is nested too deeply", wanted="a case that can be judged")


def _judged(case: Case) -> Failure | None:
    try:
        value = _answer(case)
    except (Refusal, TmuxAgentsError, Malformed) as refusal:
        if case.is_refused and str(refusal) == case.wanted:
            return None
        return Failure(case, _REFUSED.format(shown(str(refusal))))
    except Exception as error:  # noqa: BLE001  (a case that our code cannot bear is one that failed)
        return Failure(case, printable(f"{type(error).__name__}: {error}"))
    if not case.is_refused and are_equal(value, case.wanted):
        return None
    return Failure(case, shown(value))


def _answer(case: Case) -> Any:
    if case.group in PURE:
        return PURE[case.group](case.given)
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        return ON_DISK[case.group](case.given, os.path.realpath(folder))


def are_equal(one: Any, other: Any) -> bool:
    """Say whether two values are the same JSON: 1 is 1.0, and true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(are_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(are_equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def shown(value: Any) -> str:
    """Return a value as JSON, on one line that a terminal only shows."""
    return printable(json.dumps(value, ensure_ascii=False, default=repr))


def printable(text: str) -> str:
    """Return a text without anything that a terminal would obey, and bounded."""
    bounded = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} signs)"
    return "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in bounded)
