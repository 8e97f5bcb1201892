"""What somebody asks about runs: which of them are counted, which are shown, and how much of each."""

from __future__ import annotations

from tmuxagents.edges.registry import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# What is wanted of the runs that are shown.
LINES = "lines"  # what a line about them holds
DOCUMENTS = "documents"
RUNS = "runs"  # all that their directories hold


class Asked:
    """Which runs somebody asks about: a scope to count, and of it or besides it those to show."""

    __slots__ = ("active", "alone", "ended", "ids", "references", "scope", "wanted")

    def __init__(
        self,
        scope: Scope,
        *,
        ids: Iterable[str] = (),
        active: bool = True,
        ended: bool = False,
        wanted: str = RUNS,
    ) -> None:
        self.scope = scope
        self.ids = tuple(ids)  # shown in any case
        self.active = active  # those of the scope that have not ended are shown
        self.ended = ended  # those that have, too
        self.wanted = wanted
        self.references: tuple[str, ...] = ()
        self.alone = False  # of a named scope: nobody else is looked at


def named(references: Iterable[str], wanted: str = RUNS) -> Asked:
    """Ask about runs by whatever means one; they are found when it is looked."""
    asked = Asked(Scope("named"), active=False, wanted=wanted)
    asked.references = tuple(references)
    return asked
