"""What a key of `top` does: to the screen, or to the chosen run by the verbs of the command itself. Joins."""

from __future__ import annotations

import os
import sys
import threading

from tmuxagents.errors import NoSuchRun, TmuxAgentsError
from tmuxagents.runs.inspect import inspect
from tmuxagents.status import send as sending
from tmuxagents.system import foreground, process
from tmuxagents.text import safe
from tmuxagents.top import keys
from tmuxagents.top.panes import Detail, RunTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tmuxagents.top.app import TopApp
    from tmuxagents.top.rows import Entry


_SELF = (sys.executable, "-P", "-m", "tmuxagents")


# --- to the screen ---


def _search(app: TopApp) -> None:
    """Search runs, or words in the transcript."""
    if app.in_detail:
        app.let_type("search the transcript", app.view.seek)
    else:
        app.let_type("search runs: name, task, model, state", app.view.filter, app.view.search)


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


_OF_SCREEN: dict[str, Callable[[TopApp], None]] = {
    keys.SEARCH: _search,
    keys.AGAIN: lambda app: app.query_one(Detail).find(steps=1),
    keys.BEFORE: lambda app: app.query_one(Detail).find(steps=-1),
    keys.CLEAR: _clear,
    keys.FOCUS: _focus,
    keys.ZOOM: _zoom,
    keys.DIFF: _diff,
    keys.RIGHT: lambda app: app.view.sort_beside(1, app.query_one(RunTable).columns),
    keys.LEFT: lambda app: app.view.sort_beside(-1, app.query_one(RunTable).columns),
    keys.ENDED: _ended,
    keys.EVERYWHERE: _everywhere,
    keys.COLUMNS: _columns,
    keys.HELP: _help,
    keys.PALETTE: _palette,
    keys.LEAVE: lambda app: app.exit(0),
}


# --- to the chosen run, by the verbs of the command ---


def _attach(app: TopApp, entry: Entry) -> None:
    with app.suspend():
        problem = foreground.lend([*_SELF, "attach", entry.run_id])
    app.say(problem or "")
    # A popup has no pane to come back to: the run is shown behind it.
    if problem is None and "TMUX" in os.environ and "TMUX_PANE" not in os.environ:
        app.exit(0)


def _message(app: TopApp, entry: Entry) -> None:
    if entry.ended:
        app.say("It has ended; R continues it.")
        return
    try:
        sending.refuse(inspect(f"{app.runs.caller.runs}/{entry.run_id}"))
    except TmuxAgentsError as why:
        app.say(why.message)
        return

    def send(text: str) -> None:
        if text.strip():
            _beside(app, ["send", entry.run_id, "-"], text, f"sent to {entry.label}")

    app.let_type(f"message to {entry.label}", send)


def _stop(app: TopApp, entry: Entry) -> None:
    if entry.ended:
        app.say("It has ended already.")
        return

    def stop() -> None:
        app.say(f"{entry.label} is being stopped.")
        _beside(app, ["stop", entry.run_id], "", f"{entry.label} is stopped")

    app.ask(f"Stop {entry.label}?", stop)


def _retry(app: TopApp, entry: Entry) -> None:
    if entry.ended:
        _beside(app, ["retry", entry.run_id], "", f"{entry.label} was launched again")
    else:
        app.say("It has not ended yet.")


def _resume(app: TopApp, entry: Entry) -> None:
    if not entry.ended:
        app.say("It has not ended yet.")
        return

    def resume(text: str) -> None:
        if text.strip():
            _beside(app, ["resume", entry.run_id, "-"], text, f"{entry.label} continues")

    app.let_type(f"next task for {entry.label}", resume)


def _output(app: TopApp, entry: Entry) -> None:
    """Show the answer in a pager, else print it and wait for Enter."""
    from tmuxagents.attach import rules  # noqa: PLC0415  (for this key alone)
    from tmuxagents.runs import output  # noqa: PLC0415  (as above)

    try:
        text = output.answer(inspect(f"{app.runs.caller.runs}/{entry.run_id}"))
    except NoSuchRun as error:
        text = error.message
    body = safe.text(text or "There is no answer yet.").encode("utf-8", "replace") + b"\n"
    less = process.find_program("less", os.environ.get("PATH", ""))
    argv = rules.pager(os.environ, has_less=less is not None)
    if argv is not None and argv[0] == "less":
        argv = [*argv, "-+F", "-+X"]  # else a short answer would be gone before anybody has read it
    with app.suspend():
        if argv is None or not foreground.page(argv, [body]):
            os.write(1, body + b"\nEnter goes back.")
            os.read(0, 1)


def _copy(app: TopApp, entry: Entry) -> None:
    app.copy_to_clipboard(entry.run_id)
    app.say(f"copied {entry.run_id}")


_OF_RUN = {
    keys.ATTACH: _attach,
    keys.MESSAGE: _message,
    keys.STOP: _stop,
    keys.RETRY: _retry,
    keys.RESUME: _resume,
    keys.OUTPUT: _output,
    keys.COPY: _copy,
}


def act(app: TopApp, action: str) -> None:
    """Do what a key asks for: something to the screen, or about the chosen run."""
    if action in _OF_SCREEN:
        _OF_SCREEN[action](app)
    elif app.view.entry is not None:
        _OF_RUN[action](app, app.view.entry)


def _beside(app: TopApp, arguments: Sequence[str], text: str, done: str) -> None:
    """Let the command do something while the screen goes on; say how that went."""

    def work() -> None:
        problem = foreground.aside([*_SELF, *arguments], text.encode("utf-8", "replace"))
        app.tell(problem or done)

    threading.Thread(target=work, daemon=True).start()
