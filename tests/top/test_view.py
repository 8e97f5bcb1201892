"""What a person has chosen in `top`, and the lines around the table. No terminal, no run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.top.boards import NOW, board, entry, over, shown
from tmuxagents.text.width import columns
from tmuxagents.top import keys, rows, table
from tmuxagents.top.table import SortOrder
from tmuxagents.top.view import Areas, TopView, areas

if TYPE_CHECKING:
    from tmuxagents.top.rows import Spans

ALL = (entry(1), entry(2), over(3, "failed", task="Find SESSIONS"))


def text(line: Spans) -> str:
    return "".join(words for _, words in line)


def names(view: TopView) -> str:
    return " ".join(one.label for one in view.entries)


# --- chosen, searched, sorted -----------------------------------------------------------------------------


def test_what_is_chosen_stays_chosen_while_others_come_and_go() -> None:
    view = shown(entry(1), entry(2), entry(3))
    view.go(keys.DOWN, page=5)
    assert (view.at, view.chosen) == (1, entry(2).run_id)
    view.take(board(entry(4, createdAt=NOW), entry(1), entry(2)))
    assert (view.at, view.chosen) == (2, entry(2).run_id)
    view.take(board(entry(1), entry(4)))
    assert (view.at, view.chosen) == (1, entry(4).run_id)
    view.take(board())
    assert (view.at, view.entry, view.chosen) == (0, None, None)


@pytest.mark.parametrize(
    ("moves", "at"),
    [
        ((keys.DOWN, keys.DOWN, keys.UP), 1),
        ((keys.UP,), 0),
        ((keys.LAST,), 19),
        ((keys.LAST, keys.DOWN), 19),
        ((keys.PAGE_DOWN, keys.PAGE_DOWN, keys.PAGE_UP), 6),
        ((keys.LAST, keys.FIRST), 0),
    ],
)
def test_keys_move_through_a_list(moves: tuple[str, ...], at: int) -> None:
    view = shown(*map(entry, range(20)))
    for move in moves:
        view.go(move, page=6)
    assert view.at == at


def test_a_search_leaves_the_runs_that_have_all_its_words() -> None:
    view = shown(*ALL)
    view.filter("failed session")
    assert (names(view), view.entry and view.entry.label) == ("run-3", "run-3")
    assert '"failed session"' in text(view.head(120, "10:00"))
    view.filter("nobody")
    assert names(view) == ""
    assert 'No run fits "nobody".' in [text(line).strip() for line in view.nothing()]
    view.filter("")
    assert names(view) == "run-1 run-2 run-3"


def test_columns_are_sorted_one_after_the_other_by_keys() -> None:
    view = shown(*ALL)
    for wanted in (table.NAME, table.STATUS, table.COST, None, table.NAME):
        view.sort_beside(1, [table.STATUS, table.COST])
        assert view.order == SortOrder(wanted)
    view.sort_beside(-1, [table.STATUS])
    view.sort_beside(-1, [table.STATUS])
    assert view.order == SortOrder(table.STATUS)
    view.sort_beside(1, [table.TIME])  # that column is no longer there
    assert view.order == SortOrder(table.NAME)
    view.sort(table.NAME)
    assert names(view) == "run-3 run-2 run-1"


def test_a_click_chooses_a_run_and_below_the_last_one_means_that() -> None:
    view = shown(*ALL)
    for number, chosen in ((2, 2), (9, 2), (0, 0)):
        view.choose(number)
        assert view.at == chosen


def test_what_is_sought_in_the_transcript_leaves_the_table_as_it_is() -> None:
    view = shown(*ALL)
    view.seek(" sessions ")
    assert (view.sought, names(view)) == ("sessions", "run-1 run-2 run-3")


def test_a_column_is_hidden_and_shown() -> None:
    view = shown(*ALL)
    view.toggle(table.COST)
    assert table.COST not in view.table(200).shown
    view.toggle(table.COST)
    assert table.COST in view.table(200).shown


def test_a_view_without_runs_yet_has_nothing_to_show() -> None:
    view = TopView()
    view.filter("x")
    assert (view.head(80, "10:00"), names(view)) == ([], "")


# --- the lines around -------------------------------------------------------------------------------------


def test_the_head_counts_the_runs_and_says_whose_they_are() -> None:
    view = shown(*ALL)
    head = text(view.head(120, "10:00"))
    assert head.startswith(" bg here: 2 running, 1 failed / 3 total ")
    assert head.endswith("  /home/dev/app  ↑9.0k ↓720  $0.0369  10:00")
    assert columns(head) == 119
    everywhere = shown(*ALL, everywhere=True)
    assert text(everywhere.head(120, "10:00")).startswith(" bg all: 2 running")
    assert "/home/dev/app" not in text(everywhere.head(120, "10:00"))


def test_the_head_tells_what_runs_elsewhere() -> None:
    view = TopView()
    view.take(board(entry(), elsewhere=3))
    assert "3 more elsewhere" in text(view.head(120, "10:00"))
    assert text(view.head(42, "10:00")).split() == [
        "bg",
        "here:",
        "1",
        "running",
        "/",
        "1",
        "total",
        "$0.0123",
    ]


@pytest.mark.parametrize(
    ("one", "in_detail", "width", "hints"),
    [
        (entry(), False, 60, "Enter attach  s stop  / search  Tab transcript  ? help"),
        (entry(driver="live"), True, 60, "Enter attach  m message  s stop  / search  Tab table"),
        (over(), False, 60, "Enter read  r retry  R resume  / search  Tab transcript"),
        (None, False, 60, "? help  a all  q quit"),
        (entry(), False, 15, "Enter attach"),
        (entry(), False, 5, ""),
    ],
)
def test_the_foot_names_the_keys_that_help_now(
    one: rows.Entry | None,
    in_detail: bool,  # noqa: FBT001  (a column of the table above)
    width: int,
    hints: str,
) -> None:
    view = shown(*([one] if one else []))
    assert text(view.foot(width, "", in_detail=in_detail)).strip() == hints


def test_the_foot_says_what_there_is_to_say() -> None:
    assert text(shown(entry()).foot(20, "Stop run-1? [y/N] \x1b[2J", in_detail=False)) == " Stop run-1? [y/N]"


def test_an_empty_table_teaches() -> None:
    lines = [text(line).strip() for line in TopView().nothing()]
    assert lines[1] == "No run is active, and none ended in the last hour."
    assert 'tmuxagents launch "Find the slow tests"' in lines
    assert lines[-1] == "a shows what ended earlier, A shows all projects"
    lines = [text(line).strip() for line in TopView(ended=True, everywhere=True).nothing()]
    assert (lines[1], lines[-1]) == ("No run yet.", "? shows all keys")


def test_the_title_of_a_run_says_how_long_it_may_take() -> None:
    told = text(rows.title(entry(preset="scout"), NOW, 100))
    assert told == "● run-1  running 1m 05s of 10m 00s  $0.0123  mock/mock-text  scout"
    assert (
        text(rows.title(over(name=None, model=None), NOW, 100))
        == "✓ Task number 1  completed 1m 00s  $0.0123"
    )
    assert text(rows.title(entry(startedAt=None, status="queued"), NOW, 20)) == "… run-1  queued  $0…"
    assert rows.title(entry(), NOW, 0) == []


@pytest.mark.parametrize(
    ("in_detail", "is_rule", "title"),
    [
        (False, False, " ● run-1  running 1m 05s of 10m 00s  $0.0123  mock/mock-text"),
        (True, False, "▌● run-1  running 1m 05s of 10m 00s  $0.0123  mock/mock-text"),
        (False, True, "─● run-1  running 1m 05s of 10m 00s  $0.0123  mock/mock-text ─────────"),
    ],
)
def test_the_title_parts_the_detail_from_the_table_above(
    in_detail: bool,  # noqa: FBT001  (a column of the table above)
    is_rule: bool,  # noqa: FBT001  (as above)
    title: str,
) -> None:
    assert text(shown(entry()).title(70, NOW, in_detail=in_detail, is_rule=is_rule)) == title
    assert columns(text(shown(entry()).title(3, NOW, in_detail=in_detail, is_rule=is_rule))) <= 3
    assert text(shown().title(5, NOW, in_detail=False, is_rule=True)) == "─ ───"


@pytest.mark.parametrize(
    ("width", "height", "runs", "areas_"),
    [
        (200, 50, 3, Areas(is_wide=True, table=90)),
        (240, 50, 3, Areas(is_wide=True, table=96)),
        (110, 30, 3, Areas(is_wide=True, table=49)),
        (109, 30, 3, Areas(is_wide=False, table=4)),
        (80, 24, 0, Areas(is_wide=False, table=4)),
        (80, 24, 100, Areas(is_wide=False, table=8)),
        (60, 4, 100, Areas(is_wide=False, table=1)),
    ],
)
def test_a_wide_screen_has_both_beside_each_other(width: int, height: int, runs: int, areas_: Areas) -> None:
    assert areas(width, height, runs) == areas_


@given(st.integers(1, 250), st.text(max_size=60), st.text(max_size=60))
def test_no_line_is_ever_wider_than_the_screen(width: int, name: str, words: str) -> None:
    view = shown(entry(name=name, model=words, cwd=words))
    view.search = words
    lines = [
        view.head(width, "10:00"),
        view.foot(width, name, in_detail=True),
        rows.title(view.entries[0], NOW, width),
    ]
    assert all(columns(text(line)) <= width for line in lines)


# --- keys and what is found -------------------------------------------------------------------------------


def test_each_key_means_one_thing() -> None:
    named = [name for group in keys.GROUPS.values() for key in group for name in key.names]
    assert len(named) == len(set(named)) == len(keys.ACTIONS)
    assert keys.of(keys.STOP) == ["s", "x"]


def test_the_help_names_every_action_once() -> None:
    page = [text(line) for line in keys.page()]
    told = [key for group in keys.GROUPS.values() for key in group if key.shown]
    assert sum(map(bool, page)) == len(told) + len(keys.GROUPS)
    assert "   Enter   attach: show its window (of an ended run, its transcript) " in page


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("stop", [keys.STOP]),
        ("ANSWER pager", [keys.OUTPUT]),
        ("sort", [keys.RIGHT]),
        ("nothing of it", []),
    ],
)
def test_an_action_is_found_by_its_words(words: str, found: list[str]) -> None:
    assert [action for _, action, _ in keys.actions(words)] == found
    assert keys.PALETTE not in [action for _, action, _ in keys.actions("")]


LINES: list[Spans] = [[("", "The end, the END")], [], [("bold", "no"), ("", "thing then")]]


@pytest.mark.parametrize(
    ("search", "at"), [("end", [0]), ("noth", [2]), ("THE", [0, 2]), ("", []), ("zz", [])]
)
def test_a_text_is_found_whatever_its_case_and_style(search: str, at: list[int]) -> None:
    assert rows.found_in(LINES, search) == at


@pytest.mark.parametrize(
    ("line", "search", "marks"),
    [
        (LINES[0], "end", ["end", "END"]),
        (LINES[2], "noth", ["no", "th"]),
        (LINES[2], "then", ["then"]),
        (LINES[2], "", []),
        (LINES[2], "x", []),
        ([("", "İx")], "x", []),  # its small letters are longer: what they mark would be another place
    ],
)
def test_what_was_found_is_marked_and_nothing_is_lost(line: Spans, search: str, marks: list[str]) -> None:
    found = rows.marked(line, search)
    assert [words for style, words in found if style == rows.FOUND] == marks
    assert text(found) == text(line)
