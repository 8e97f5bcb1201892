"""`top` on a screen that nobody sees: keys in, cells out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tmuxagents.registry.lookup import Caller
from tmuxagents.top.app import TopApp
from tmuxagents.top.runs import TopRuns
from tmuxagents.top.view import TopView

if TYPE_CHECKING:
    from rich.style import Style

    from tests.harness import Home

NOW = 1.8e9


def top(home: Home, *, now: float = NOW, **how: Any) -> TopApp:
    """Return `top` for a home, at a moment."""
    caller = Caller(home.environment, str(home.project))
    view = TopView(**({"ended": True} | how))
    return TopApp(view, TopRuns(caller), clock=lambda: now)


def cells(app: TopApp) -> list[list[tuple[str, Style | None]]]:
    """Return all that is drawn: lines of cells, each with its style."""
    strips = app.screen._compositor.render_strips(app.size)
    return [[(sign, segment.style) for segment in strip for sign in segment.text] for strip in strips]


def lines(app: TopApp) -> list[str]:
    """Return the lines of the screen."""
    return ["".join(sign for sign, _ in line).rstrip() for line in cells(app)]


def row_of(app: TopApp, name: str) -> str:
    """Return the row of a run in the table, or the titles by the name of their first column."""
    return next(line for line in lines(app)[1:] if line[3:].startswith(name))


def detail(app: TopApp) -> str:
    """Return what is shown of the chosen run."""
    area = app.query_one("#side").region
    return "\n".join(line[area.x :] for line in lines(app)[area.y : area.bottom])


def text(app: TopApp) -> str:
    """Return the whole screen."""
    return "\n".join(lines(app))
