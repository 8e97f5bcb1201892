"""What opens over the screen of `top`: help, columns, actions by name. Touches: textual."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding
from textual.containers import Container
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from tmuxagents.top import keys, table
from tmuxagents.top.panes import Detail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from textual.app import ComposeResult

    from tmuxagents.top.view import TopView


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
    """Which columns the table has."""

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
    """All actions; what is typed leaves those that fit."""

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
        """Leave the actions that fit."""
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
