"""What a key of `top` does to the screen itself. Joins."""

from __future__ import annotations

from tmuxagents.top import keys
from tmuxagents.top.panes import Detail, RunTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.top.app import TopApp


def _search(app: TopApp) -> None:
    """Search runs, or words in the transcript."""
    if app.in_detail:
        app.let_type("search the transcript", app.view.seek)
    else:
        app.let_type("search runs: name, task, model, state", app.view.filter, app.view.search)


def _search_next(app: TopApp) -> None:
    """Go to the next place that was found."""
    app.query_one(Detail).find(steps=1)


def _search_previous(app: TopApp) -> None:
    """Go to the place before."""
    app.query_one(Detail).find(steps=-1)


def _clear(app: TopApp) -> None:
    """End both searches; without any, go back to the table."""
    if not (app.view.sought or app.view.search):
        app.in_detail = False
    app.view.seek("")
    app.view.filter("")


def _focus(app: TopApp) -> None:
    """Go to the detail, or back."""
    app.in_detail = not app.in_detail


def _zoom(app: TopApp) -> None:
    """Show the detail alone, or both."""
    app.screen.toggle_class("zoomed")
    app.in_detail = app.screen.has_class("zoomed")


def _diff(app: TopApp) -> None:
    """Show the edits only, or everything."""
    app.only_edits = not app.only_edits
    app.say("Its edits only; d shows everything." if app.only_edits else "")


def _sort_right(app: TopApp) -> None:
    """Sort by the next column."""
    app.view.sort_beside(1, app.query_one(RunTable).columns)


def _sort_left(app: TopApp) -> None:
    """Sort by the column before."""
    app.view.sort_beside(-1, app.query_one(RunTable).columns)


def _ended(app: TopApp) -> None:
    """Show what ended long ago, or hide it."""
    app.view.ended = not app.view.ended
    app.look_only()


def _everywhere(app: TopApp) -> None:
    """Show all projects, or this one."""
    app.view.everywhere = not app.view.everywhere
    app.look_only()


def _columns(app: TopApp) -> None:
    """Let the person choose columns."""
    from tmuxagents.top import boxes  # noqa: PLC0415  (for this key alone)

    app.push_screen(boxes.ColumnsBox(app.view), lambda _: app.draw())


def _help(app: TopApp) -> None:
    """Show all keys."""
    from tmuxagents.top import boxes  # noqa: PLC0415  (for this key alone)

    app.push_screen(boxes.HelpBox())


def _palette(app: TopApp) -> None:
    """Find an action by its name."""
    from tmuxagents.top import boxes  # noqa: PLC0415  (for this key alone)

    app.push_screen(boxes.ActionsBox(), lambda action: app.action_do(action) if action else None)


def _leave(app: TopApp) -> None:
    """Leave."""
    app.exit(0)


ACTS = {
    keys.SEARCH: _search,
    keys.AGAIN: _search_next,
    keys.BEFORE: _search_previous,
    keys.CLEAR: _clear,
    keys.FOCUS: _focus,
    keys.ZOOM: _zoom,
    keys.DIFF: _diff,
    keys.RIGHT: _sort_right,
    keys.LEFT: _sort_left,
    keys.ENDED: _ended,
    keys.EVERYWHERE: _everywhere,
    keys.COLUMNS: _columns,
    keys.HELP: _help,
    keys.PALETTE: _palette,
    keys.LEAVE: _leave,
}
