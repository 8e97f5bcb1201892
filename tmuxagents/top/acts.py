"""The actions of `top`'s keys. Joins.

Some change the screen; the others act on the chosen run, mostly by running a verb of tmuxagents.
"""

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
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from tmuxagents.top.app import TopApp
    from tmuxagents.top.rows import Entry
    from tmuxagents.top.view import TopView


_SELF = (sys.executable, "-P", "-m", "tmuxagents")


def act(app: TopApp, action: str) -> None:
    """Carry out an action, on the screen or on the chosen run."""
    if action not in _OF_RUN:
        _on_screen(app, action)
    elif (entry := app.view.entry) is not None:
        refusal = (_IF_ENDED if entry.ended else _IF_ACTIVE).get(action)
        if refusal is not None:
            app.say(refusal)
        else:
            _on_run(app, entry, action)


def _on_screen(app: TopApp, action: str) -> None:  # noqa: C901, PLR0912  (a case for each action)
    view = app.view
    match action:
        case keys.SEARCH if app.in_detail:
            app.let_type("search the transcript", view.seek)
        case keys.SEARCH:
            app.let_type("search runs: name, task, model, state", view.filter, view.search)
        case keys.AGAIN | keys.BEFORE:
            app.query_one(Detail).find(steps=1 if action == keys.AGAIN else -1)
        case keys.CLEAR:  # it ends both searches; without any, it goes back to the table
            if not (view.sought or view.search):
                app.in_detail = False
            view.seek("")
            view.filter("")
        case keys.FOCUS:
            app.in_detail = not app.in_detail
        case keys.ZOOM:
            app.screen.toggle_class("zoomed")
            app.in_detail = app.screen.has_class("zoomed")
        case keys.DIFF:
            app.only_edits = not app.only_edits
            app.say("Its edits only; d shows everything." if app.only_edits else "")
        case keys.RIGHT | keys.LEFT:
            view.sort_beside(1 if action == keys.RIGHT else -1, app.query_one(RunTable).columns)
        case keys.ENDED:
            view.ended = not view.ended
            app.look_only()
        case keys.EVERYWHERE:
            view.everywhere = not view.everywhere
            app.look_only()
        case keys.COLUMNS:
            app.push_screen(ColumnsBox(view), lambda _: app.draw())
        case keys.HELP:
            app.push_screen(HelpBox())
        case keys.PALETTE:
            app.push_screen(ActionsBox(), lambda chosen: app.action_do(chosen) if chosen else None)
        case keys.LEAVE:
            app.exit(0)


# --- on the chosen run, by the verbs of the command -------------------------------------------------------

_OF_RUN = (keys.ATTACH, keys.MESSAGE, keys.STOP, keys.RETRY, keys.RESUME, keys.OUTPUT, keys.COPY)
_IF_ENDED = {keys.MESSAGE: "It has ended; R continues it.", keys.STOP: "It has ended already."}
_IF_ACTIVE = dict.fromkeys((keys.RETRY, keys.RESUME), "It has not ended yet.")


def _on_run(app: TopApp, entry: Entry, action: str) -> None:  # noqa: C901  (a case for each action)
    run_id, label = entry.run_id, entry.label
    match action:
        case keys.ATTACH:
            with app.suspend():
                problem = foreground.lend([*_SELF, "attach", run_id])
            app.say(problem or "")
            # A popup has no pane to return to. The run is shown behind it, so `top` leaves.
            if problem is None and "TMUX" in os.environ and "TMUX_PANE" not in os.environ:
                app.exit(0)
        case keys.MESSAGE:
            try:
                sending.refuse(inspect(f"{app.runs.caller.runs}/{run_id}"))
            except TmuxAgentsError as why:
                app.say(why.message)
            else:
                _let_type(app, f"message to {label}", ["send", run_id, "-"], f"sent to {label}")
        case keys.STOP:

            def stop() -> None:
                app.say(f"{label} is being stopped.")
                _beside(app, ["stop", run_id], "", f"{label} is stopped")

            app.ask(f"Stop {label}?", stop)
        case keys.RETRY:
            _beside(app, ["retry", run_id], "", f"{label} was launched again")
        case keys.RESUME:
            _let_type(app, f"next task for {label}", ["resume", run_id, "-"], f"{label} continues")
        case keys.OUTPUT:
            _output(app, entry)
        case keys.COPY:
            app.copy_to_clipboard(run_id)
            app.say(f"copied {run_id}")


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


def _let_type(app: TopApp, prompt: str, arguments: Sequence[str], done: str) -> None:
    """Let the person type a text, and run the command with it."""

    def take(text: str) -> None:
        if text.strip():
            _beside(app, arguments, text, done)

    app.let_type(prompt, take)


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
