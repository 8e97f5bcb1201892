"""The actions of `top`'s keys: on the screen, or on the chosen run, mostly by the command's verbs. Joins."""

from __future__ import annotations

import os
import sys
import threading
from typing import ClassVar

from textual.binding import Binding
from textual.containers import Container
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from tmuxagents.errors import NoSuchRun, TmuxAgentsError
from tmuxagents.runs.inspect import inspect
from tmuxagents.status import send as sending
from tmuxagents.system import foreground, process
from tmuxagents.text import safe
from tmuxagents.top import keys, table
from tmuxagents.top.panes import Detail, RunTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

    from tmuxagents.top.app import TopApp
    from tmuxagents.top.rows import Entry
    from tmuxagents.top.view import TopView


_SELF = (sys.executable, "-P", "-m", "tmuxagents")


# --- to the screen ----------------------------------------------------------------------------------------


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
    """Show runs that ended long ago, or hide them."""
    app.view.ended = not app.view.ended
    app.look_only()


def _everywhere(app: TopApp) -> None:
    """Show all projects, or this one."""
    app.view.everywhere = not app.view.everywhere
    app.look_only()


_OF_SCREEN: dict[str, Callable[[TopApp], object]] = {
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
    keys.COLUMNS: lambda app: app.push_screen(ColumnsBox(app.view), lambda _: app.draw()),
    keys.HELP: lambda app: app.push_screen(HelpBox()),
    keys.PALETTE: lambda app: app.push_screen(
        ActionsBox(), lambda action: app.action_do(action) if action else None
    ),
    keys.LEAVE: lambda app: app.exit(0),
}


# --- to the chosen run, by the verbs of the command -------------------------------------------------------


def _attach(app: TopApp, entry: Entry) -> None:
    with app.suspend():
        problem = foreground.lend([*_SELF, "attach", entry.run_id])
    app.say(problem or "")
    # A popup has no pane to return to. The run is shown behind it, so `top` leaves.
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
        argv = [*argv, "-+F", "-+X"]  # else a short answer would disappear before a person can read it
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
    """Carry out an action, on the screen or on the chosen run."""
    if action in _OF_SCREEN:
        _OF_SCREEN[action](app)
    elif app.view.entry is not None:
        _OF_RUN[action](app, app.view.entry)


def _beside(app: TopApp, arguments: Sequence[str], text: str, done: str) -> None:
    """Run the command beside the screen, and show a message when it is done."""

    def work() -> None:
        problem = foreground.aside([*_SELF, *arguments], text.encode("utf-8", "replace"))
        app.tell(problem or done)

    threading.Thread(target=work, daemon=True).start()


# --- what opens over the screen ---------------------------------------------------------------------------


class HelpBox(ModalScreen[None]):
    """All keys."""

    BINDINGS: ClassVar = [
        Binding("escape,q,question_mark,enter", "dismiss", show=False),
        *(Binding(key, f"go('{move}')", show=False) for move in keys.MOVES for key in keys.of(move)),
    ]

    def compose(self) -> ComposeResult:
        """Make the box."""
        with Container(classes="box") as box:
            box.border_title = "keys"
            box.styles.height = len(keys.page()) + 2
            yield Detail()

    def on_sized(self) -> None:
        """Fill it."""
        detail = self.query_one(Detail)
        detail.show(keys.page(), "", is_new=True)
        detail.go(keys.FIRST)

    def action_go(self, move: str) -> None:
        """Scroll."""
        self.query_one(Detail).go(move)

    def on_click(self) -> None:
        """Close it by a click."""
        self.dismiss()


class ColumnsBox(ModalScreen[None]):
    """The choice of the table's columns."""

    AUTO_FOCUS = "OptionList"

    BINDINGS: ClassVar = [Binding("escape,q,c", "dismiss", show=False)]

    def __init__(self, view: TopView) -> None:
        super().__init__()
        self._view = view

    def _line(self, name: str) -> Content:
        return Content(f"{'✓' if name in self._view.wanted else ' '} {table.COLUMNS[name].title}")

    def compose(self) -> ComposeResult:
        """Make the box."""
        with Container(classes="box narrow") as box:
            box.border_title = "columns"
            yield OptionList(*(Option(self._line(name), id=name) for name in table.COLUMNS), compact=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Show a column, or hide it."""
        name = str(event.option.id)
        self._view.toggle(name)
        event.option_list.replace_option_prompt(name, self._line(name))


class ActionsBox(ModalScreen[str]):
    """All actions, or those that fit the typed words."""

    BINDINGS: ClassVar = [
        Binding("escape", "dismiss", show=False),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]

    def compose(self) -> ComposeResult:
        """Make the box."""
        with Container(classes="box small") as box:
            box.border_title = "actions"
            yield Input(placeholder="what to do", compact=True)
            yield OptionList(compact=True, markup=False)

    def on_mount(self) -> None:
        """Begin with all of them."""
        self._fill("")
        self.query_one(Input).focus()

    def _fill(self, text: str) -> None:
        options = self.query_one(OptionList)
        options.clear_options()
        for shown, action, does in keys.actions(text):
            options.add_option(Option(Content(f"{shown:<6} {does}"), id=action))
        options.highlighted = 0 if options.option_count else None

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the actions that fit."""
        self._fill(event.value)

    def on_input_submitted(self) -> None:
        """Choose the marked one."""
        options = self.query_one(OptionList)
        if options.highlighted is not None:
            self.dismiss(options.get_option_at_index(options.highlighted).id)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Choose one by a click."""
        self.dismiss(event.option.id)

    def action_move(self, steps: int) -> None:
        """Mark another one."""
        options = self.query_one(OptionList)
        if options.option_count:
            options.highlighted = ((options.highlighted or 0) + steps) % options.option_count
