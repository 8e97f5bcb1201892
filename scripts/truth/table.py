"""The truth matrix as text: what we say of each ending, and what the agent itself said. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scripts.truth import endings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scripts.truth.cell import Cell

RIGHT, REFUSED, UNTOLD, WRONG = "right", "refused", "undetectable", "WRONG"


def verdict(cell: Cell) -> str:
    """Return what became of a cell."""
    if cell.wrong:
        return WRONG
    if cell.untold:
        return UNTOLD
    return REFUSED if cell.ours == endings.REFUSED_BY_US else RIGHT


def line(cell: Cell) -> str:
    """Return a cell as one line, and what is wrong below it."""
    head = f"{cell.brand:<12} {cell.ending.name:<30} {verdict(cell):<12} {cell.ours:<24}"
    said = f"{cell.claim} (exit {cell.exit})"
    more = [f"    {wrong}" for wrong in cell.wrong]
    return "\n".join([f"{head} {said:<44} then {cell.resumed:<16} {cell.seconds:5.1f} s", *more])


def counted(cells: Sequence[Cell]) -> str:
    """Return how many cells are right, rightly refused, undetectable and wrong."""
    words = [verdict(cell) for cell in cells]
    return ", ".join(f"{words.count(word)} {word}" for word in (RIGHT, REFUSED, UNTOLD, WRONG))


def document(cells: Sequence[Cell], together: Mapping[str, Any] | None) -> str:
    """Return docs/truth.md."""
    brands = list(dict.fromkeys(cell.brand for cell in cells))
    over_acp = [name for name in brands if name.endswith("-acp")]
    own = [name for name in brands if name not in over_acp]
    found = {(cell.brand, cell.ending.name): cell for cell in cells}
    days = sorted({cell.at for cell in cells})
    when = " to ".join(dict.fromkeys((days[0], days[-1])))
    versions = ", ".join(dict.fromkeys(f"{cell.brand} {cell.version}" for cell in cells))
    return f"""# The truth matrix

Written by `scripts/try-agents --doc`, {when}: {versions}.

`scripts/try-agents` runs each of these endings through tmuxagents with the real program, in a network of its
own, against the project's own model server. What is true of an ending follows from what the model answered
and from what was done to the process, never from the agent's words. Each cell has what tmuxagents says, and
in italics what the agent itself said last, with its exit code or signal. Each run was then resumed, nothing
was left running, the prompt reached the model to the byte, the usage is what the model served, and no command
line of any process held the prompt, a key or the text of a preset.

In total: {counted(cells)}.

{_matrix(own, found)}

Over ACP:

{_matrix(over_acp, found)}

*undetectable*: the stream of this agent reads like that of a whole answer, so nothing can tell; where an
answer may be cut, the note of the result says so. *refused*: the agent has no such thing, and tmuxagents
says so before it makes anything. An agent whose model never answered may keep no session, and Gemini CLI
over ACP loses those that it loads; then the next run gets what was said in its prompt.

{_reasons(brands)}
## Together

{_told_of(together)}
"""


def _matrix(brands: Sequence[str], found: Mapping[tuple[str, str], Cell]) -> str:
    tried = [one.name for one in endings.ENDINGS if any((brand, one.name) in found for brand in brands)]
    refused = [
        name
        for name in tried
        if all((brand, name) in found and verdict(found[brand, name]) == REFUSED for brand in brands)
    ]
    names = [name for name in tried if name not in refused]
    rows = [
        f"| {name} | " + " | ".join(_shown(brand, name, found.get((brand, name))) for brand in brands) + " |"
        for name in names
    ]
    table = "\n".join([f"| ending | {' | '.join(brands)} |", f"|---|{'---|' * len(brands)}", *rows])
    return f"{table}\n\nRefused with all of these: *{'*, *'.join(refused)}*." if refused else table


def _shown(brand: str, name: str, cell: Cell | None) -> str:
    """Return a cell of the document."""
    if cell is None:
        return "*not applicable*" if endings.out_of_reach(brand, name) else "-"
    if verdict(cell) == REFUSED:
        return REFUSED
    mark = "" if verdict(cell) == RIGHT else f"**{verdict(cell)}**: "
    return f"{mark}{cell.ours.replace('/', ', ')} · *{cell.claim}, {cell.exit}*"


def _reasons(brands: Sequence[str]) -> str:
    """Say why some cells are not applicable."""
    why: dict[tuple[str, str], list[str]] = {}
    for one in endings.ENDINGS:
        for brand in brands:
            cause = endings.out_of_reach(brand, one.name)
            if cause:
                why.setdefault((one.name, cause), []).append(brand)
    lines = [f"- *{name}* with {', '.join(whose)}: {cause}." for (name, cause), whose in why.items()]
    return "\n".join(["Not applicable:", "", *lines, ""]) if lines else ""


def _told_of(together: Mapping[str, Any] | None) -> str:
    if together is None:
        return "Not tried."
    wrong = "; ".join(together["wrong"])
    how = f"WRONG: {wrong}" if wrong else "all of it was right"
    return (
        f"One `run --tasks` with a child each of {', '.join(together['brands'])} ({together['at']}): a\n"
        "window each, `poll`, `send` to each (refused where an agent takes no messages), `wait`, `output`\n"
        f"and `resume`, as if they were one brand: {how}."
    )
