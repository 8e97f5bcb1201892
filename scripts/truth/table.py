"""The truth matrix as text: what we say of each ending, and what the agent itself said. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.truth.cell import Cell

RIGHT, WRONG, UNTOLD = "right", "WRONG", "undetectable"


def verdict(cell: Cell) -> str:
    """Return what became of a cell."""
    if not cell.wrong:
        return RIGHT
    return UNTOLD if cell.is_untold else WRONG


def line(cell: Cell) -> str:
    """Return a cell as one line, and what is wrong below it."""
    head = f"{cell.brand:<9} {cell.ending.name:<16} {verdict(cell):<12} {cell.ours:<24}"
    said = f"{cell.claim} (exit {cell.exit})"
    more = [f"    {wrong}" for wrong in cell.wrong]
    return "\n".join([f"{head} {said:<44} then {cell.resumed:<16} {cell.seconds:5.1f} s", *more])


def counted(cells: Sequence[Cell]) -> str:
    """Return how many cells are right, undetectable and wrong."""
    words = [verdict(cell) for cell in cells]
    return ", ".join(f"{words.count(word)} {word}" for word in (RIGHT, UNTOLD, WRONG))


def document(cells: Sequence[Cell]) -> str:
    """Return docs/truth.md."""
    brands = list(dict.fromkeys(cell.brand for cell in cells))
    endings = list(dict.fromkeys(cell.ending.name for cell in cells))
    found = {(cell.brand, cell.ending.name): cell for cell in cells}
    rows = [
        f"| {name} | " + " | ".join(shown(found.get((brand, name))) for brand in brands) + " |"
        for name in endings
    ]
    tried = dict.fromkeys(f"{cell.brand} {cell.version} ({cell.at})" for cell in cells)
    return f"""# The truth matrix

Written by `scripts/try-agents --doc`: {", ".join(tried)}.

`scripts/try-agents` runs each of these endings through tmuxagents with the real program, in a network of its
own, against the project's own model server. What is true of an ending follows from what the model answered
and from what was done to the process, never from the agent's words. Each cell has what tmuxagents says, and
in italics what the agent itself said last, with its exit code or signal. Each run was then resumed, nothing
was left running, the prompt reached the model to the byte, and the usage is what the model served.

In total: {counted(cells)}.

| ending | {" | ".join(brands)} |
|---|{"---|" * len(brands)}
{chr(10).join(rows)}

*undetectable*: the stream of this agent reads like that of a whole answer, so nothing can tell. "-": not
tried in this round, or the agent has no limit of its own that it can be given. An agent whose model never
answered may keep no session; then the next run gets what was said in its prompt.
"""


def shown(cell: Cell | None) -> str:
    """Return a cell of the document."""
    if cell is None:
        return "-"
    mark = "" if verdict(cell) == RIGHT else f"**{verdict(cell)}**: "
    return f"{mark}{cell.ours.replace('/', ', ')} · *{cell.claim}, {cell.exit}*"
