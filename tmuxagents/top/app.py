"""The screen of `top`: passes keys and mouse to the view, and the view's lines to the terminal. Joins."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from typing import ClassVar

from textual.app import App
from textual.binding import Binding
from textual.containers import Container
from textual.widgets import Input

from tmuxagents.top import acts, keys, panes, view
from tmuxagents.top.panes import Detail, RunTable, StillLine
from tmuxagents.top.runs import Transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.events import Click, Key, Resize

    from tmuxagents.top.runs import TopRuns
    from tmuxagents.top.view import TopView

_ROUND_S = 1.0
_IDLE_ROUND_S = 2.0  # if no run is active
_MESSAGE_S = 6.0  # how long a message stays
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class TopApp(App[int]):
    """The whole screen.

    `keep`, in a layout's session, gives each active run its pane or window. It is called with their ids, the
    oldest first.
    """

    CSS = panes.CSS
    ENABLE_COMMAND_PALETTE = False  # `:` opens one with our actions alone
    ALLOW_SELECT = False
    AUTO_FOCUS = None
    BINDINGS: ClassVar = [
        Binding(name, f"do('{action}')", show=False, priority=True) for name, action in keys.ACTIONS.items()
    ]

    def __init__(
        self,
        view_: TopView,
        runs: TopRuns,
        keep: Callable[[Sequence[str]], None] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self.animation_level = "none"
        self.view = view_
        self.runs = runs
        self._keep = keep
        self._clock = clock
        self._transcript: Transcript | None = None
        self.only_edits = False
        self.in_detail = False
        self._message, self._message_until = "", 0.0
        self._asked: tuple[str, Callable[[], None]] | None = None  # a question, and what a yes does
        self._typed: Callable[[str], None] | None = None  # gets the line that is typed
        self.look_only()

    def show(self) -> int:
        """Show it until the person leaves; return the exit code. An error is raised after it has closed."""
        self.run()
        if self._exception is not None:
            raise self._exception
        return self.return_value or 0

    def _fatal_error(self) -> None:
        """Close after an error, without textual's traceback, which prints variables."""
        self._close_messages_no_wait()

    # --- drawn --------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Make the widgets."""
        yield StillLine(name="head")
        with Container(id="body"):
            yield RunTable()
            yield StillLine(name="divider", filler="│")
            with Container(id="side"):
                yield StillLine(name="title")
                yield Detail()
        yield StillLine(name="foot")
        yield Input(disabled=True, compact=True)

    def on_mount(self) -> None:
        """Start the rounds, and leave the terminal as it was if a signal ends us."""
        for number in _ENDING:
            asyncio.get_running_loop().add_signal_handler(number, self.exit, 128 + number)
        self.set_timer(_ROUND_S, self._round)

    def on_resize(self, event: Resize) -> None:
        """Divide the screen anew."""
        areas = view.areas(event.size.width, event.size.height, len(self.view.entries))
        self.screen_stack[0].set_class(areas.is_wide, "wide")
        runs = self.query_one(RunTable).styles
        runs.width, runs.height = (areas.table, "1fr") if areas.is_wide else ("1fr", areas.table)

    def on_sized(self) -> None:
        """Draw again after a widget has changed its size."""
        self.draw()

    def draw(self, *, is_new: bool = False) -> None:
        """Draw the lines that have changed since the last time. `is_new`: the detail goes to its end."""
        if not self.screen_stack:
            return  # it is closing
        shown, now, main = self.view, self._clock(), self.screen_stack[0]
        runs, detail = main.query_one(RunTable), main.query_one(Detail)
        runs.show(shown.table(runs.room(len(shown.entries))), shown.at, now, shown.nothing())
        runs.follow()
        entry = shown.entry
        message = self._message if time.monotonic() < self._message_until else ""
        message = self._asked[0] if self._asked else message
        lines = {
            "head": shown.head(self.size.width, time.strftime("%H:%M", time.localtime(now))),
            "title": shown.title(
                detail.size.width + 1, now, in_detail=self.in_detail, is_rule=not main.has_class("wide")
            ),
            "foot": shown.foot(self.size.width, message, in_detail=self.in_detail),
        }
        for widget in main.query(StillLine):
            widget.show(lines.get(widget.name or "", []))
        if entry is None:
            self._transcript = None
            detail.show([], "", is_new=True)
            return
        if self._transcript is None or self._transcript.run_id != entry.run_id:
            self._transcript, is_new = Transcript(self.runs.caller.runs, entry.run_id), True
        if self._transcript.look(detail.room, only_edits=self.only_edits) or is_new:
            detail.show(self._transcript.rows, shown.sought, is_new=is_new)

    # --- round after round --------------------------------------------------------------------------------

    def look_only(self) -> None:
        """Read the runs, without drawing them yet."""
        board = self.runs.look(everywhere=self.view.everywhere, ended=self.view.ended)
        self.view.take(board)
        for warning in board.warnings[:1]:
            self.say(warning)
        if self._keep is not None:
            self._keep(self.runs.live)

    def look(self) -> None:
        """Read the runs and draw them now."""
        self.look_only()
        self.draw()

    def _round(self) -> None:
        self.look()
        self.set_timer(_ROUND_S if self.runs.live else _IDLE_ROUND_S, self._round)

    # --- talk ---------------------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Show a message at the bottom for a while."""
        self._message, self._message_until = text.partition("\n")[0], time.monotonic() + _MESSAGE_S

    def tell(self, text: str) -> None:
        """Show a message from another thread, if the screen is still there."""
        with contextlib.suppress(RuntimeError):
            self.call_from_thread(self.say, text)
            self.call_from_thread(self.look)

    def ask(self, question: str, act: Callable[[], None]) -> None:
        """Ask a question; `y` carries out the act."""
        self._asked = (f"{question} [y/N]", act)

    def let_type(self, label: str, take: Callable[[str], None], text: str = "") -> None:
        """Let the person type a line, which `take` gets."""
        prompt = self.query_one(Input)
        prompt.placeholder, prompt.value, prompt.disabled = label, text, False
        self._typed = take
        self.screen.add_class("typing")
        self.set_focus(prompt)  # at once: the next key is for it

    def _end_typing(self) -> None:
        self._typed = None
        prompt = self.query_one(Input)
        prompt.disabled = True
        self.set_focus(None)
        self.screen.remove_class("typing")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the line."""
        take = self._typed
        self._end_typing()
        if take is not None:
            take(event.value)
        self.draw(is_new=True)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search the table while the person types."""
        if self._typed == self.view.filter:
            self.view.filter(event.value)
            self.draw()

    # --- keys and mouse -----------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the keys to a question, an input line, or a box."""
        if action == "do" and (self._asked or self._typed or len(self.screen_stack) > 1):
            return False
        return super().check_action(action, parameters)

    def on_key(self, event: Key) -> None:
        """Take the answer to a question; Esc ends a line."""
        if self._asked is not None:
            (_, act), self._asked = self._asked, None
            event.stop()
            if event.key in ("y", "Y"):
                act()
            self.draw()
        elif self._typed is not None and event.key == "escape":
            if self._typed == self.view.filter:
                self.view.filter("")
            self._end_typing()
            self.draw()

    def on_run_table_chosen(self, message: RunTable.Chosen) -> None:
        """Choose the run that was clicked."""
        self.in_detail = False
        self.view.choose(message.number)
        self.draw()

    def on_run_table_sorted(self, message: RunTable.Sorted) -> None:
        """Sort by the title that was clicked."""
        self.view.sort(message.column)
        self.draw()

    def on_click(self, event: Click) -> None:
        """Go to the detail by a click."""
        if isinstance(event.widget, Detail):
            self.in_detail = True
            self.draw()

    def action_do(self, action: str) -> None:
        """Carry out the action of a key."""
        if action in keys.MOVES:
            if self.in_detail:
                self.query_one(Detail).go(action)
            else:
                self.view.go(action, page=max(1, self.query_one(RunTable).size.height - 2))
        else:
            acts.act(self, action)
        if self.is_running:
            self.draw(is_new=action in (keys.DIFF, keys.CLEAR, keys.ZOOM))
