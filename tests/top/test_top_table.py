"""The table of `top`: its columns at any width, its cells in any state, its order. No terminal, no run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.top.boards import NOW, USED_NOTHING, entry, over
from tmuxagents.text.width import columns
from tmuxagents.top import rows, table
from tmuxagents.top.table import CHOSEN_AT_FIRST, COLUMNS, SortOrder, Table

if TYPE_CHECKING:
    from tmuxagents.top.rows import Entry, Spans


def text(line: Spans) -> str:
    return "".join(words for _, words in line)


USUAL = SortOrder()


def made(*entries: Entry, width: int = 120, wanted: Any = CHOSEN_AT_FIRST, order: SortOrder = USUAL) -> Table:
    return Table(entries, width, wanted=wanted, order=order)


def test_a_line_says_who_how_and_what() -> None:
    one = made(entry(), entry(2, name="世界", model=None), width=100)
    assert text(one.head()).split() == [
        "NAME",
        "STATUS",
        "TIME",
        "AGE",
        "COST",
        "TOKENS",
        "MODEL",
        "ACTIVITY",
    ]
    assert text(one.line(0, NOW)).split() == [
        *("●", "run-1", "running", "1m", "05s", "1m", "$0.0123", "3.2k", "mock/mock-text", "Reading", "a.ts"),
    ]
    assert text(one.line(1, NOW)).startswith(" ● 世界      running     1m 05s")
    assert columns(text(one.line(0, NOW))) == columns(text(one.line(1, NOW))) == 100


@pytest.mark.parametrize(
    ("width", "titles"),
    [
        (30, ["NAME", "ACTIVITY"]),
        (45, ["NAME", "STATUS", "ACTIVITY"]),
        (60, ["NAME", "STATUS", "TIME", "AGE", "ACTIVITY"]),
        (80, ["NAME", "STATUS", "TIME", "AGE", "COST", "TOKENS", "ACTIVITY"]),
        (120, ["NAME", "STATUS", "TIME", "AGE", "COST", "TOKENS", "MODEL", "PRESET", "ID", "ACTIVITY"]),
    ],
)
def test_a_wider_table_has_more_columns(width: int, titles: list[str]) -> None:
    assert text(made(entry(preset="scout"), width=width, wanted=tuple(COLUMNS)).head()).split() == titles


def test_a_column_that_is_empty_takes_no_room() -> None:
    nothing = entry(usage=USED_NOTHING)
    assert {"cost", "tokens", "preset"} & set(made(nothing, wanted=tuple(COLUMNS), width=200).shown) == set()
    assert {"cost", "tokens"} <= set(made(nothing, entry(2), width=200).shown)
    assert "  ·  " in text(made(nothing, entry(2), width=200).line(0, NOW))


@pytest.mark.parametrize(
    ("one", "glyph", "state", "says"),
    [
        (entry(), "●", "running", "Reading a.ts"),
        (entry(lastEventAt=NOW - 75), "●", "running", "quiet 1m 15s  Reading a.ts"),
        (entry(lastEventAt=None, activity=None), "●", "running", ""),
        (
            entry(host="box", unreachableSince=NOW - 90, activity=None),
            "●",
            "running",
            "on box, unreachable for 1m 30s",
        ),
        (entry(host="elsewhere"), "●", "running", "on elsewhere  Reading a.ts"),
        (entry(status="queued", startedAt=None, activity="waits for 01a1"), "…", "queued", "waits for 01a1"),
        (entry(needsInput=True), "?", "waiting", "Reading a.ts"),
        (entry(settled=True, lastEventAt=1.0), "○", "settled", "Reading a.ts"),
        (over(output="\n## What I *did*\nMuch."), "✓", "completed", "What I did"),
        (over(output=None), "✓", "completed", ""),
        (over(denied=2), "✓", "completed", "2 denied: Fine."),
        (over(denied=1, output=None), "✓", "completed", "1 denied"),
        (over(status="failed", errorMessage='429: {"message":"Quota."}'), "✗", "failed", "Quota (429)"),
        (over(status="failed", reason="timeout"), "✗", "failed", "timeout"),
        (over(status="aborted", reason="stopped", errorMessage="Stopped."), "■", "aborted", "Stopped."),
        (entry(activity="a\x1b[2Jb\nc"), "●", "running", "ab c"),
    ],
)
def test_each_state_has_its_sign_its_word_and_its_news(one: Entry, glyph: str, state: str, says: str) -> None:
    line = text(made(one, width=200, wanted=("status",)).line(0, NOW))
    assert line.split()[0] == glyph
    assert line[len(" ● run-1     ") :].rstrip() == f"{state:<9}  {says}".rstrip()


def test_the_cause_of_a_failure_stands_out_and_what_has_ended_is_quiet() -> None:
    lines = [
        made(one).line(0, NOW) for one in (entry(), over(), over(status="failed", errorMessage="Quota."))
    ]
    looks = [{words.strip(): style for style, words in line if words.strip()} for line in lines]
    assert (looks[0]["run-1"], looks[0]["Reading a.ts"]) == (rows.STRONG, rows.ASIDE)
    assert (looks[1]["run-1"], looks[1]["completed"]) == (rows.ASIDE, rows.GOOD)
    assert (looks[2]["failed"], looks[2]["Quota."]) == (rows.BAD, rows.BAD)


# --- the order --------------------------------------------------------------------------------------------


SOME = (
    over(1, "failed", name="b", startedAt=None, elapsedSeconds=3),
    over(2, name="d", usage=USED_NOTHING),
    entry(3, name="C", createdAt=NOW - 5),
    entry(4, name="a", createdAt=NOW - 9, startedAt=NOW - 2),
)


@pytest.mark.parametrize(
    ("column", "names"),
    [
        (None, "C a b d"),
        (table.NAME, "a b C d"),
        (table.STATUS, "C a b d"),
        (table.TIME, "C d b a"),
        (table.AGE, "C a b d"),
        (table.COST, "C a b d"),
        (table.TOKENS, "C a b d"),
        (table.MODEL, "C a b d"),
        (table.PRESET, "C a b d"),
        (table.ID, "b d C a"),
    ],
)
def test_runs_are_sorted_by_a_column_and_the_other_way_round(column: str | None, names: str) -> None:
    order = SortOrder(column)
    found = [one.label for one in order.of(SOME, NOW)]
    assert " ".join(found) == names
    assert [one.label for one in SortOrder(column, is_reversed=True).of(SOME, NOW)] == found[::-1]


def test_the_same_title_once_more_turns_the_order_and_then_ends_it() -> None:
    order = SortOrder().by("cost")
    assert order == SortOrder("cost")
    assert order.by("cost") == SortOrder("cost", is_reversed=True)
    assert order.by("cost").by("cost") == SortOrder()
    assert order.by("name") == SortOrder("name")


def test_the_title_by_which_runs_are_sorted_has_an_arrow() -> None:
    for order, arrow in (
        (SortOrder("time"), "TIME▾"),
        (SortOrder("time", is_reversed=True), "TIME▴"),
        (SortOrder("name"), "NAME▾"),
    ):
        (found,) = [style for style, words in made(entry(), order=order).head() if words.strip() == arrow]
        assert found == rows.STRONG


def test_a_click_means_the_title_above_or_below_it() -> None:
    one = made(entry(), width=80)
    head = text(one.head())
    for name in (table.NAME, table.STATUS, table.TIME, table.COST):
        assert one.column_at(head.index(name.upper())) == name
    assert one.column_at(head.index("ACTIVITY")) is None
    assert one.column_at(500) is None


@given(
    st.integers(1, 220),
    st.text(max_size=40),
    st.text(max_size=80),
    st.sampled_from([*COLUMNS, None]),
    st.sets(st.sampled_from([*COLUMNS])),
)
def test_no_line_is_ever_wider_than_the_table(
    width: int, name: str, words: str, column: str | None, wanted: set[str]
) -> None:
    entries = [entry(1, name=name, activity=words), over(2, name="n" * 32, output=words, preset=name)]
    one = made(*entries, width=width, wanted=[*wanted], order=SortOrder(column))
    for line in (one.head(), one.line(0, NOW), one.line(1, NOW)):
        assert columns(text(line)) <= width
        assert "\n" not in text(line)
