"""A story on a terminal that scrolls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyte
import pytest

from tmuxagents.render import tool_calls
from tmuxagents.render.rows import Painter, worth_showing
from tmuxagents.render.story import NOTE, Block, Story
from tmuxagents.runs import events

if TYPE_CHECKING:
    from tmuxagents.runs.events import Event

WIDTH = 40


class Seen:
    """A painter, and the screen that it paints on."""

    def __init__(self, *, moves: bool = True) -> None:
        self.story = Story()
        self._painter = Painter(colour=True, moves=moves)
        self._screen = pyte.Screen(WIDTH, 12)
        self._stream = pyte.Stream(self._screen)
        self._shown = 0

    def take(self, event: Event, at: float) -> None:
        event.at = at
        self.story.take(event)

    def paint(self, now: float = 1e9, last: int | None = None) -> str:
        blocks = self.story.blocks[self._shown :]
        self._shown = len(self.story.blocks)
        text = self._painter.paint(blocks, worth_showing(self.story, now), width=WIDTH, last=last)
        self._feed(text)
        return text

    def afresh(self) -> None:
        self._feed(self._painter.paint_afresh(self.story.blocks, self.story.open, width=WIDTH))

    def _feed(self, text: str) -> None:
        self._stream.feed(text.replace("\n", "\r\n"))

    @property
    def lines(self) -> list[str]:
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip().split("\n")


def call(number: int) -> Event:
    return events.tool_call(f"call{number}", "read", {"path": f"part{number}"})


def result(number: int) -> Event:
    return events.tool_result(f"call{number}", "read", is_error=False, text="x", duration_ms=None)


def test_a_call_that_takes_its_time_is_shown_and_then_its_end_in_its_place() -> None:
    seen = Seen()
    seen.take(events.assistant_text("I look."), 100.0)
    seen.take(call(1), 101.0)
    seen.paint(101.2)
    assert seen.lines == ["  I look."]
    seen.paint(101.5)
    assert seen.lines == ["  I look.", "", "▸ Reading part1                     0:01"]
    assert seen.paint(102.9) == ""
    seen.take(result(1), 103.0)
    seen.paint(103.0)
    assert seen.lines == ["  I look.", "", "✓ Reading part1  1 line             0:03"]


def test_open_calls_stay_below_what_is_said_meanwhile() -> None:
    seen = Seen()
    for number in range(8):
        seen.take(call(number), 100.0 + number)
    seen.paint()
    assert seen.lines[-1] == "  … 3 more at work"
    assert len(seen.lines) == 6
    seen.take(events.stderr("odd"), 110.0)
    for number in range(1, 8):
        seen.take(result(number), 111.0)
    seen.paint()
    assert seen.lines[0] == "· stderr: odd"
    assert [line[:15] for line in seen.lines[1:]] == [
        *(f"✓ Reading part{n}" for n in range(1, 8)),
        "▸ Reading part0",
    ]


def test_nothing_new_paints_nothing() -> None:
    seen = Seen()
    assert seen.paint() == ""
    seen.take(events.usage({}), 1.0)
    assert seen.paint() == ""


def test_only_the_last_rows_are_painted() -> None:
    seen = Seen()
    for word in ("one", "two", "three"):
        seen.take(events.assistant_text(word), 1.0)
    seen.paint(last=3)
    assert seen.lines == ["  two", "", "  three"]
    assert Painter(colour=False).paint(seen.story.blocks, width=WIDTH, last=0) == ""


def test_where_the_cursor_stays_nothing_is_shown_twice() -> None:
    seen = Seen(moves=False)
    seen.take(call(1), 100.0)
    assert seen.paint() == ""
    seen.take(result(1), 101.0)
    assert seen.paint().count("part1") == 1


def test_a_terminal_of_another_width_is_painted_afresh() -> None:
    seen = Seen()
    seen.take(events.assistant_text("one"), 1.0)
    seen.take(call(1), 2.0)
    seen.paint()
    before = seen.lines
    seen.afresh()
    assert seen.lines == before
    seen.take(result(1), 3.0)
    seen.paint()
    assert [line[:15] for line in seen.lines] == ["  one", "", "✓ Reading part1"]


@pytest.mark.parametrize(("many", "text"), [(10_001, "x"), (40, "x" * 500_000)])
def test_a_story_without_end_forgets_its_beginning(many: int, text: str) -> None:
    limits = tool_calls.WHOLE
    found = Story(limits)
    for number in range(many):
        found.take(events.assistant_text(f"{number} {text}"))
    assert found.forgotten > 0
    assert found.forgotten + len(found.blocks) == many
    assert (found.blocks[0].kind, found.blocks[0].words) == (
        NOTE,
        f"… {found.forgotten + 1:,} earlier parts are not shown",
    )
    assert found.blocks[-1].words.startswith(f"{many - 1} ")


def test_a_stamped_block_has_the_time_of_day_at_its_right_edge() -> None:
    found = Story(stamp=lambda at: f"12:00:{at:02.0f}")
    for event, at in ((events.assistant_text("word " * 12), 7.0), (call(1), 8.0), (result(1), 9.0)):
        event.at = at
        found.take(event)
    assert Painter(colour=False).paint(found.blocks, width=WIDTH).split("\n") == [
        "  word word word word word      12:00:07",
        "  word word word word word",
        "  word word",
        "",
        "✓ Reading part1  1 line         12:00:09",
        "",
    ]
    empty = Block(NOTE, "")
    empty.stamp = "12:00:00"
    assert Painter(colour=False).paint([empty], width=WIDTH) == "·                               12:00:00\n"
