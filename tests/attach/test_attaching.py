"""Rules of attach: how a run is shown, the way back, which run comes next, which pager."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.attach import rules
from tmuxagents.attach.rules import ATTACH, LEND, OUT, STAY, SWITCH, Shown, Trail, choose_step

ME, HOME = "/dev/pts/5", "$3:@7"
A, B, C, F, W = "a" * 16, "b" * 16, "c" * 16, "f" * 16, "e" * 16


@pytest.mark.parametrize("home", [HOME, OUT, None])
@pytest.mark.parametrize("runs", [(), (A,), (A, B, A)])
def test_a_trail_is_read_as_it_was_written(home: str | None, runs: tuple[str, ...]) -> None:
    read = rules.parse_trail(str(Trail(ME, home, runs)), ME)
    assert (read.client, read.home, read.runs) == (ME, home, runs)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ME,
        f"/dev/pts/6,{HOME},{A}",
        f"{ME},{HOME},{A[1:]}",
        f"{ME},{HOME},{A},",
        f"{ME},$3:@7x",
        f"{ME},work:0",
        f"{ME},#(touch x)",
        f"{ME},{HOME}\n",
    ],
)
def test_a_trail_of_another_client_or_none_at_all_leads_nowhere(text: str) -> None:
    read = rules.parse_trail(text, ME)
    assert (read.client, read.home, read.runs) == (ME, None, ())


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert rules.parse_trail(text, ME).client == ME


def test_a_trail_holds_the_last_eight_runs_and_the_place_before_them() -> None:
    trail = Trail(ME, HOME)
    assert trail.after(A).after(B).runs == (A, B)
    for number in range(30):
        trail = trail.after(f"{number:016x}")
    assert len(trail.runs) == 8
    assert (trail.home, trail.runs[-1]) == (HOME, f"{29:016x}")


# --- how a run is shown ---

SHOWS = ("$4", "@9")  # where the client is
THERE = ":".join(SHOWS)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_terminal_outside_of_tmux_is_attached(*, read_only: bool) -> None:
    step = choose_step(ME, None, "@9", is_here=False, read_only=read_only)
    assert (step.kind, str(step.trail), step.read_only) == (ATTACH, f"{ME},out", read_only)


@pytest.mark.parametrize(
    ("run_id", "home", "is_view", "may_not_type", "window", "is_here", "asks", "kind", "trail", "read_only"),
    [
        # at home, where no run is shown yet: lent, and back to where it was
        (None, None, False, False, "@5", True, False, LEND, THERE, False),
        (None, None, False, False, "@5", True, True, LEND, THERE, True),
        (None, None, False, True, "@5", True, True, LEND, THERE, False),
        (None, None, False, False, "@5", False, False, LEND, OUT, False),
        # the window that it shows already, unless only reading is asked for and it may type
        (None, None, False, False, "@9", True, False, STAY, "-", False),
        (None, None, False, True, "@9", True, True, STAY, "-", False),
        (None, None, False, False, "@9", True, True, LEND, THERE, True),
        (None, None, False, False, "@9", False, False, LEND, OUT, False),
        # from one run to another: switched, and back by each
        (A, HOME, True, False, "@5", True, False, SWITCH, f"{HOME},{A}", False),
        (A, OUT, True, False, "@5", True, False, SWITCH, f"{OUT},{A}", False),
        (A, HOME, True, False, "@9", True, False, STAY, HOME, False),
        # a run that a person went to by themselves
        (A, None, False, False, "@5", True, False, LEND, THERE, False),
        (None, HOME, False, False, "@5", True, False, LEND, THERE, False),
        # a view of ours is no place to come back to
        (A, HOME, True, False, "@5", True, True, LEND, HOME, True),
        (A, None, True, False, "@5", True, False, LEND, OUT, False),
        (A, HOME, True, False, "@5", False, False, LEND, OUT, False),
    ],
)
def test_a_client_stays_is_switched_or_lent(  # noqa: PLR0913  (a row of the table has many columns)
    *,
    run_id: str | None,
    home: str | None,
    is_view: bool,
    may_not_type: bool,
    window: str,
    is_here: bool,
    asks: bool,
    kind: str,
    trail: str,
    read_only: bool,
) -> None:
    shown = Shown(*SHOWS, run_id, is_view, may_not_type, Trail(ME, home))
    step = choose_step(ME, shown, window, is_here=is_here, read_only=asks)
    assert (step.kind, str(step.trail), step.read_only) == (kind, f"{ME},{trail}", read_only)


D, E, G, H = "d" * 16, "1" * 16, "2" * 16, "3" * 16
RUNS = [
    *((rules.WORKING, 1.0, A), (rules.UNSEEN, 2.0, B), (rules.SEEN, 9.0, F), (rules.UNSEEN, 7.0, C)),
    *((rules.WAITING, 3.0, W), (rules.WORKING, 8.0, D), (rules.SEEN, 1.0, E), (rules.WAITING, 4.0, G)),
]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (None, [C, B, G, W, D, A, F, E]),
        (H, [C, B, G, W, D, A, F, E]),  # it is none of them
        (C, [B, G, W, D, A, F, E, C]),  # it is seen now: the next unseen one, then all others
        (B, [C, G, W, D, A, F, E, B]),
        (G, [C, B, W, D, A, F, E, G]),
        (D, [C, B, A, F, E, G, W, D]),
        (E, [C, B, G, W, D, A, F, E]),
    ],
)
def test_next_is_the_newest_unseen_run_and_then_one_after_the_other(
    shown: str | None, expected: list[str]
) -> None:
    assert rules.following(RUNS, shown) == expected


def test_next_of_nothing_is_nothing() -> None:
    assert rules.following([], A) == []


def test_runs_of_one_moment_have_an_order_too() -> None:
    assert rules.following([(2, 1.0, B), (2, 1.0, A)], A) == [B, A]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, ["less", "-R"]),
        ({"PAGER": ""}, None),
        ({"PAGER": " cat "}, None),
        ({"PAGER": " X=1 less -S | tee 'a b'"}, ["/bin/sh", "-c", " X=1 less -S | tee 'a b'"]),
    ],
)
def test_which_pager_it_is(environment: dict[str, str], expected: list[str] | None) -> None:
    assert rules.pager(environment, has_less=True) == expected


def test_without_less_a_pager_must_be_named() -> None:
    assert rules.pager({}, has_less=False) is None
    assert rules.pager({"PAGER": "most"}, has_less=False) == ["/bin/sh", "-c", "most"]
