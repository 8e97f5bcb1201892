"""Spans as what textual draws. Their text is safe already, and never read as markup. Touches: textual."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.top.rows import Spans

_CHOSEN, _CHOSEN_WITHOUT_COLOUR = "black on cyan", "reverse"


def strip(spans: Spans, width: int) -> Strip:
    """Return a line of exactly this width."""
    segments = [Segment(text, Style.parse(style)) for style, text in spans if text]
    return Strip(segments).adjust_cell_length(width)


def chosen(spans: Spans, width: int, *, has_colours: bool) -> Strip:
    """Return the line of the chosen row: one style for all its cells."""
    style = Style.parse(_CHOSEN if has_colours else _CHOSEN_WITHOUT_COLOUR)
    text = "".join(text for _, text in spans)
    return Strip([Segment(text, style)]).adjust_cell_length(width, style)
