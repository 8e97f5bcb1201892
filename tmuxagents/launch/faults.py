"""The faults of a call, collected: the most telling one is raised, with all of them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tmuxagents.errors import BadRequest, Fault, NotPossible, TmuxAgentsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Which fault speaks for the whole call: of the first of these groups that has any.
SHAPE, CWD, REMOVED, RESUME, TOOLS, SKILLS, PRESET, MODEL = range(8)
_GROUPS = {
    "bad-cwd": CWD,
    "removed": REMOVED,
    **dict.fromkeys(("unknown-run", "ambiguous-run", "run-running", "run-busy"), RESUME),
    **dict.fromkeys(("unknown-preset", "bad-preset", "unknown-profile", "bad-profile"), PRESET),
    **dict.fromkeys(("unknown-skill", "unknown-agent"), PRESET),
    **dict.fromkeys(("no-model", "unknown-model", "ambiguous-model"), MODEL),
}
_OF_A_RUN = frozenset(kind for kind, group in _GROUPS.items() if group == RESUME)
MOST_FAULTS = 100  # the most that are reported of one call


class Faults:
    """What is wrong with a call."""

    def __init__(self) -> None:
        self._found: list[tuple[int, Fault, TmuxAgentsError | None]] = []

    def add(self, fault: Fault, *, group: int | None = None) -> None:
        """Add one fault, to the group of its kind unless another is named."""
        self._found.append((_group(fault) if group is None else group, fault, None))

    def add_all(self, faults: Iterable[Fault]) -> None:
        """Add faults."""
        for fault in faults:
            self.add(fault)

    def add_refusal(
        self, refusal: TmuxAgentsError, place: str = "", *, rename: Mapping[str, str] | None = None
    ) -> None:
        """Add what a later step refuses; its fields are those of the task at a place, some renamed."""
        for fault in refusal.faults:
            field = (rename or {}).get(fault.field or "", fault.field)
            whole = ".".join(part for part in (place, field) if part) or None
            self._found.append((_group(fault), Fault(fault.kind, fault.message, field=whole), refusal))

    def __bool__(self) -> bool:
        return bool(self._found)

    def is_at(self, place: str) -> bool:
        """Say whether any of them is at a place, or inside of it."""
        fields = (fault.field or "" for _, fault, _ in self._found)
        return any(field == place or field.startswith((f"{place}.", f"{place}[")) for field in fields)

    def has(self, message: str) -> bool:
        """Say whether this was found already."""
        return any(fault.message == message for _, fault, _ in self._found)

    def is_about(self, field: str | None) -> bool:
        """Say whether any of them is about a field itself; None: about all of the arguments."""
        return any(fault.field == field for _, fault, _ in self._found)

    def refuse(self) -> None:
        """Raise if there are any: in the words of the first, with all of them."""
        if not self._found:
            return
        gone = {_beside(fault) for _, fault, _ in self._found if fault.kind == "removed"}
        found = sorted(self._found, key=lambda entry: _rank(entry[0], entry[1], gone))
        _, first, refusal = found[0]
        kind = NotPossible if first.kind in _OF_A_RUN else BadRequest
        raise kind(
            first.message,
            kind=first.kind,
            hint=refusal.hint if refusal else None,
            faults=[fault for _, fault, _ in found[:MOST_FAULTS]],
            candidates=refusal.candidates if refusal else (),
        )


def _group(fault: Fault) -> int:
    return _GROUPS.get(fault.kind, SHAPE)


def _rank(group: int, fault: Fault, gone: set[str]) -> float:
    """Return where a fault comes: what may be missing for a removed key's sake comes behind that one."""
    follows = fault.message.startswith(f"{fault.field} is missing") and _beside(fault) in gone
    return REMOVED + 0.5 if follows else group


def _beside(fault: Fault) -> str:
    """Return the object whose key a fault is about."""
    return (fault.field or "").rpartition(".")[0]
