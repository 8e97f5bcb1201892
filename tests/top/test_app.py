"""The screen of `top` over real run directories: its keys, its mouse, its cells."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.status.watchers import begun, sleeper, told, wrapped_by
from tests.top import screens
from tmuxagents.errors import Unusable
from tmuxagents.runs import events, writing
from tmuxagents.top.panes import Detail, RunTable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.pilot import Pilot

    from tests.harness import Home, Run
    from tmuxagents.top.app import TopApp

    Steps = Callable[[TopApp, Pilot[int]], Awaitable[None]]

AT = screens.NOW - 100


def made(home: Home, name: str, *log: events.Event, **plan: Any) -> Run:
    """Make a run with these events."""
    run = home.run(f"Task of {name}", name=name, createdAt=AT, **plan)
    told(run, begun(), *log, at=AT)
    return run


def over(home: Home, name: str, *log: events.Event, **result: Any) -> Run:
    """Make a run that has ended."""
    run = made(home, name, *log)
    document = {"v": 1, "runId": run.run_id, "status": "completed", "reason": "done", "endedAt": AT + 5}
    writing.write_result(str(run.folder), {**document, "startedAt": AT, "durationMs": 5000, **result})
    return run


def says(words: str) -> events.Event:
    return events.assistant_text(words)


def with_top(home: Home, steps: Steps, *, size: tuple[int, int] = (120, 30), **how: Any) -> None:
    """Let a person take some steps."""

    async def sit() -> None:
        app = screens.top(home, **how)
        async with app.run_test(size=size) as person:
            await person.pause()
            await steps(app, person)

    asyncio.run(sit())


def test_every_cell_of_the_chosen_row_has_one_background_and_no_other_row_has_it(home: Home) -> None:
    for number, name in enumerate(("third", "second", "first")):
        ended = {"status": "failed", "reason": "error", "errorMessage": "Quota.", "endedAt": AT + number}
        over(home, name, says("Fine."), **ended)

    async def steps(app: TopApp, person: Pilot[int]) -> None:
        await person.press("down")
        width = app.query_one("#runs").size.width
        grounds = [{str(style and style.bgcolor) for _, style in line[:width]} for line in screens.cells(app)]
        chosen = [number for number, line in enumerate(screens.lines(app)) if line.startswith(" ✗ second")]
        (own,) = grounds[chosen[0]]
        assert own not in set().union(*grounds[: chosen[0]], *grounds[chosen[0] + 1 :])

    with_top(home, steps)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_failed_run_shows_its_message(home: Home, width: int) -> None:
    over(
        home,
        "pricey",
        says("I try."),
        status="failed",
        reason="error",
        errorMessage='429: {"message":"Quota."}',
    )

    async def steps(app: TopApp, _: Pilot[int]) -> None:
        assert "Quota (429)" in screens.detail(app)
        assert "I try." in screens.detail(app)

    with_top(home, steps, size=(width, 24))


def test_no_text_of_a_run_is_markup_or_moves_anything(home: Home) -> None:
    hostile = (
        "[bold]b[/bold] [@click=app.bell]x[/] [link=file:///etc]y[/link] $[red] \x1b[2J\x1b]52;c;eA==\x07 [/"
    )
    over(home, "plain", says(hostile), output=hostile)
    made(home, "odd", says(hostile), task=hostile)

    async def steps(app: TopApp, person: Pilot[int]) -> None:
        shown = "[bold]b[/bold] [@click=app.bell]x[/] [link=file:///etc]y[/link] $[red]"
        assert f"\u203a {shown}" in screens.detail(app)
        await person.press("down")
        assert shown in screens.detail(app)
        assert "[bold]b[/bold]" in screens.row_of(app, "plain")
        for line in screens.cells(app):
            assert all(style is None or (style.link is None and not style.meta) for _, style in line)
            assert "\x1b" not in "".join(sign for sign, _ in line)

    with_top(home, steps, size=(200, 30))


def test_keys_move_filter_sort_and_go_to_the_transcript(home: Home) -> None:
    for number in range(1, 4):
        over(home, f"run-{number}", says("word\n\n" * 60 + f"The end of {number}."), endedAt=AT + number)

    async def steps(app: TopApp, person: Pilot[int]) -> None:
        assert "The end of 3." in screens.detail(app)
        await person.press("j")
        assert "The end of 2." in screens.detail(app)
        await person.press("tab", "g")
        assert "\u203a Task of run-2" in screens.detail(app)
        assert "The end of 2." not in screens.detail(app)
        await person.press("slash", *"the end", "enter", "n")
        assert "The end of 2." in screens.detail(app)
        await person.press("escape", "tab", "greater_than_sign")
        assert "NAME▾" in screens.row_of(app, "NAME")
        await person.press("slash", *"run-1")
        assert [line.split()[1] for line in screens.lines(app) if line.startswith(" ✓")] == ["run-1"]
        await person.press("escape")
        assert sum(line.startswith(" ✓") for line in screens.lines(app)) == 3
        await person.press("z")
        assert not any(line.startswith(" ✓ run-1") for line in screens.lines(app)[2:])
        await person.press("z", "q")
        assert app.return_value == 0

    with_top(home, steps)


def test_a_mouse_chooses_sorts_and_scrolls(home: Home) -> None:
    for number in range(1, 4):
        over(home, f"run-{number}", says("word\n\n" * 60 + f"The end of {number}."), endedAt=AT + number)

    async def steps(app: TopApp, person: Pilot[int]) -> None:
        await person.click("#runs", offset=(6, 3))
        assert "The end of 1." in screens.detail(app)
        await person.click("#runs", offset=(4, 0))
        assert "NAME▾" in screens.row_of(app, "NAME")
        detail = app.query_one("#detail")
        before = detail.scroll_offset.y
        detail.post_message(scroll_up(detail))
        await person.pause()
        assert detail.scroll_offset.y < before
        await person.click("#detail")
        assert screens.detail(app).startswith("▌")

    with_top(home, steps)


def scroll_up(widget: Any) -> Any:
    from textual.events import MouseScrollUp  # noqa: PLC0415  (textual is slow to import)

    return MouseScrollUp(widget, 1, 1, 0, -1, 0, shift=False, meta=False, ctrl=False, screen_x=1, screen_y=1)


def test_boxes_open_over_it_and_close(home: Home) -> None:
    over(home, "first", says("Fine."))

    async def steps(app: TopApp, person: Pilot[int]) -> None:
        await person.press("question_mark")
        assert "retry: launch its task again" in screens.text(app)
        await person.press("escape", "c", "down", "enter", "escape")
        assert "TIME" not in screens.row_of(app, "NAME")
        await person.press("colon", *"columns")
        assert "choose the columns" in screens.text(app)
        await person.press("enter")
        assert "✓ STATUS" in screens.text(app)
        await person.press("escape")
        assert len(app.screen_stack) == 1

    with_top(home, steps)


def test_stop_asks_first_and_what_has_ended_is_not_stopped(home: Home) -> None:
    run = made(home, "works")
    over(home, "over")
    with sleeper(run) as pid:
        wrapped_by(run, pid)

        async def steps(app: TopApp, person: Pilot[int]) -> None:
            await person.press("s")
            assert screens.lines(app)[-1] == " Stop works? [y/N]"
            await person.press("n")
            assert screens.lines(app)[-1].startswith(" Enter attach  s stop")
            await person.press("m")
            assert screens.lines(app)[-1] == f" Run {run.run_id} is a batch run, which takes no messages."
            await person.press("down", "x")
            assert screens.lines(app)[-1] == " It has ended already."

        with_top(home, steps)


@pytest.mark.parametrize("how", [{"driver": "live"}, {"agent": "claude"}])
def test_who_takes_messages_gets_one(home: Home, how: dict[str, str]) -> None:
    made(home, "works", **how)

    async def steps(app: TopApp, person: Pilot[int]) -> None:
        await person.press("m")
        assert screens.lines(app)[-1].startswith(" message to works")

    with_top(home, steps)


def test_a_run_is_followed_while_it_works_and_when_it_ends(home: Home) -> None:
    run = made(home, "works", says("So far."))
    with sleeper(run) as pid:
        wrapped_by(run, pid)

        async def steps(app: TopApp, person: Pilot[int]) -> None:
            assert screens.row_of(app, "works").split()[2] == "running"
            assert "running 1m 40s of 1m 00s" in screens.lines(app)[1]
            told(run, events.tool_call("1", "bash", {"command": "make test"}))
            app.look()
            await person.pause()
            assert "▸ $ make test" in screens.detail(app)
            document = {"v": 1, "runId": run.run_id, "status": "aborted", "reason": "stopped"}
            writing.write_result(str(run.folder), {**document, "endedAt": AT + 9, "startedAt": AT})

        with_top(home, steps)

    async def ended(app: TopApp, _: Pilot[int]) -> None:
        assert screens.row_of(app, "works").split()[2] == "aborted"

    with_top(home, ended)


def test_a_run_that_was_removed_says_so(home: Home) -> None:
    run = over(home, "gone", says("Fine."))

    async def steps(app: TopApp, person: Pilot[int]) -> None:
        for path in run.folder.iterdir():
            path.unlink()
        run.folder.rmdir()
        await person.press("d")
        app.look()
        await person.pause()
        assert "No run yet." in screens.text(app)

    with_top(home, steps)


def test_edits_alone_are_shown_as_a_diff(home: Home) -> None:
    edit = events.tool_call("1", "edit", {"path": "a.py", "edits": [{"oldText": "one", "newText": "two"}]})
    over(home, "edits", says("I edit."), edit)
    over(home, "talks", says("I talk."), endedAt=AT + 9)

    async def steps(app: TopApp, person: Pilot[int]) -> None:
        await person.press("d")
        assert "It has edited nothing." in screens.detail(app)
        await person.press("down")
        shown = screens.detail(app)
        assert "- one" in shown
        assert "+ two" in shown
        assert "I edit." not in shown
        await person.press("d")
        assert "I edit." in screens.detail(app)

    with_top(home, steps)


def test_an_id_is_copied(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    run = over(home, "first")

    async def steps(app: TopApp, person: Pilot[int]) -> None:
        await person.press("y")
        assert app.clipboard == run.run_id
        assert screens.lines(app)[-1] == f" copied {run.run_id}"

    with_top(home, steps)
    assert capsys.readouterr().out == ""


def test_an_empty_table_teaches(home: Home) -> None:
    async def steps(app: TopApp, person: Pilot[int]) -> None:
        shown = screens.text(app)
        assert "No run is active, and none ended in the last hour." in shown
        assert 'tmuxagents launch "Find the slow tests"' in shown
        await person.press("a", "A", "enter", "s", "d", "y", "tab", "n", "N", "j")
        assert "No run yet." in screens.text(app)
        assert screens.lines(app)[0].startswith(" bg all: 0 running / 0 total")

    with_top(home, steps, ended=False)


def test_without_colours_the_chosen_row_is_reversed(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    over(home, "first", status="failed", reason="error", errorMessage="Quota.")

    async def steps(app: TopApp, _: Pilot[int]) -> None:
        width = app.query_one("#runs").size.width
        (chosen,) = [line[:width] for line in screens.cells(app) if line[3][0] == "f"]
        assert all(style is not None and style.reverse for _, style in chosen)

    with_top(home, steps)


def counted(widget: Any, drawn: list[int]) -> None:
    """Let a widget note each line that it draws."""
    draw = widget.render_line

    def note(y: int) -> Any:
        drawn.append(y)
        return draw(y)

    widget.render_line = note


def test_a_round_in_which_nothing_happened_draws_nothing(home: Home) -> None:
    for number in range(60):
        over(home, f"run-{number}", says("Fine."), endedAt=AT + number)

    async def steps(app: TopApp, person: Pilot[int]) -> None:
        drawn: list[int] = []
        for widget in app.query("#runs, #detail, StillLine"):
            counted(widget, drawn)
        for _ in range(3):
            app.look()
            await person.pause()
        assert drawn == []
        await person.press("down")
        assert 0 < len(drawn) < 60

    with_top(home, steps)


def test_an_error_is_raised_and_not_printed_with_all_variables(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise Unusable("Not fit.", kind="no-permission")

    async def steps(app: TopApp, person: Pilot[int]) -> None:
        app.call_later(fail)
        await person.pause()

    with pytest.raises(Unusable, match="Not fit"):
        with_top(home, steps)
    assert capsys.readouterr() == ("", "")


def test_of_a_long_run_the_last_steps_are_shown_and_how_many_came_before(home: Home) -> None:
    over(home, "long", *(says(f"Step {number}.") for number in range(1200)))

    async def steps(app: TopApp, person: Pilot[int]) -> None:
        assert "Step 1199." in screens.detail(app)
        await person.press("tab", "g")
        assert "earlier parts are not shown" in screens.detail(app)
        assert "Step 1." not in screens.detail(app)

    with_top(home, steps)


def test_the_scroll_bar_is_at_the_end_with_the_rows(home: Home) -> None:
    over(home, "long", says("word\n\n" * 60))

    async def steps(app: TopApp, _: Pilot[int]) -> None:
        detail = app.query_one(Detail)
        assert detail.vertical_scrollbar.position == detail.max_scroll_y > 0

    with_top(home, steps, size=(80, 24))


@pytest.mark.parametrize("size", [(60, 12), (140, 12)])
def test_the_scroll_bar_hides_no_end_of_a_row(home: Home, size: tuple[int, int]) -> None:
    for number in range(12):
        over(home, f"run-{number}", says("Word " * 40), output="Word " * 40)

    async def steps(app: TopApp, _: Pilot[int]) -> None:
        table = app.query_one(RunTable)
        assert table.show_vertical_scrollbar
        room = table.scrollable_content_region.width
        rows = [line[:room] for line in screens.lines(app) if line.startswith(" ✓ run-")]
        assert [row[-1] for row in rows] == ["…"] * (table.size.height - 1)

    with_top(home, steps, size=size)
