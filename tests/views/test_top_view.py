"""The view `top` as rules: its screen at any size, its columns, its keys. No terminal, no run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.attach import screen
from tmuxagents.text.width import columns, fit
from tmuxagents.views import top, top_rows
from tmuxagents.views.lines import TEXT, TOOL, LastLine
from tmuxagents.views.top import Board, TopView
from tmuxagents.views.top_rows import Entry

NOW = 1000.0


def entry(
    number: int = 1, *, lines: tuple[LastLine, ...] = (), host: str | None = None, **changes: Any
) -> Entry:
    run: dict[str, Any] = {
        "runId": f"{number:016x}",
        "name": f"run-{number}",
        "preset": None,
        "status": "running",
        "reason": None,
        "task": f"Task number {number}",
        "model": "mock/mock-text",
        "cwd": "/home/dev/app",
        "startedAt": 940.0,
        "elapsedSeconds": 60.4,
        "timeout": 600,
        "lastEventAt": 999.0,
        "activity": "Reading a.ts",
        "errorMessage": None,
        "needsInput": False,
        "settled": False,
        "usage": {"totalTokens": 3240, "cost": 0.0123},
    }
    return Entry(run | changes, f"{number:08x}", lines=lines, host=host)


def drawn(view: TopView, *entries: Entry, width: int = 80, height: int = 24, **board: Any) -> list[str]:
    """Return the screen as it is read, without styles; it never is larger than the terminal."""
    told: dict[str, Any] = {"status": "bg: 1 running / 1 total", "project": "/home/dev/app", "elsewhere": 0}
    told |= board
    view.take(entries)
    lines = [
        "".join(text for _, text in line) for line in view.draw(Board(entries, at=NOW, **told), width, height)
    ]
    assert len(lines) == height
    assert max(map(columns, lines)) <= width
    return [line.rstrip() for line in lines]


# --- drawn ------------------------------------------------------------------------------------------------


def test_a_small_terminal_shows_what_matters_of_each_run() -> None:
    lines = (LastLine("Now I look.", TEXT), LastLine("→ edit → a.ts (1 edit) +2/-1", TOOL))
    screen = drawn(TopView(), entry(2, lines=lines), entry(1, name=None, lastEventAt=958.0), elsewhere=3)
    assert screen[:4] == [
        "bg: 1 running / 1 total  /home/dev/app, 3 more elsewhere",
        "  NAME      STATUS   TIME      TOKENS  COST     ACTIVITY",
        "> run-2     running  60s/600s  3.2k    $0.0123  → edit → a.ts (1 edit) +2/-1",
        "  00000001  running  60s/600s  3.2k    $0.0123  quiet 42 s  Reading a.ts",
    ]
    assert screen[-6:] == [
        "─" * 80,
        "00000002  run-2  mock/mock-text",
        "Task number 2",
        "Now I look.",
        "→ edit → a.ts (1 edit) +2/-1",
        "Enter attach  o output  s stop  / filter  a all  A everywhere  q leave",
    ]


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (60, "Enter attach  o output  s stop  / filter  q leave"),
        (39, "Enter attach  s stop  q leave"),
        (20, "q leave"),
    ],
)
def test_a_narrow_one_says_the_more_important_and_says_it_whole(width: int, words: str) -> None:
    screen = drawn(TopView(), entry(), width=width)
    assert screen[-1] == words
    assert all(columns(line) <= width for line in screen)
    figures = {"TOKENS", "COST"} & set(screen[1].split())
    assert figures == ({"TOKENS", "COST"} if width == 60 else set())


def test_a_wide_one_shows_ids_too() -> None:
    screen = drawn(TopView(), entry(preset="repo-scout"), width=140)
    assert screen[1].split() == ["ID", "NAME", "STATUS", "TIME", "TOKENS", "COST", "ACTIVITY"]
    assert screen[2].split()[:4] == [">", "00000001", "run-1", "running"]
    assert "00000001  run-1  repo-scout  mock/mock-text" in screen


@pytest.mark.parametrize(
    ("changes", "status", "activity"),
    [
        ({"status": "queued", "startedAt": None, "activity": "waits for 01a1"}, "queued", "waits for 01a1"),
        ({"needsInput": True}, "waiting", "Reading a.ts"),
        ({"settled": True, "lastEventAt": 1.0}, "settled", "Reading a.ts"),
        ({"status": "completed", "reason": "done"}, "completed", ""),
        (
            {"status": "failed", "reason": "timeout", "errorMessage": "Timed\nout"},
            "failed (timeout)",
            "Timed out",
        ),
        ({"status": "aborted", "reason": "stopped", "errorMessage": "Stopped."}, "aborted", "Stopped."),
        ({"activity": None, "lastEventAt": None}, "running", ""),
        ({"activity": "a\x1b[2Jb"}, "running", "ab"),
    ],
)
def test_each_state_has_its_word(changes: dict[str, Any], status: str, activity: str) -> None:
    row = drawn(TopView(), entry(**changes))[2]
    assert row.startswith(f"> run-1  {status}  ")
    assert row.endswith(activity)


def test_a_run_of_another_machine_says_so() -> None:
    assert "running (on elsewhere)" in drawn(TopView(), entry(host="elsewhere"))[2]


def test_figures_that_no_run_has_take_no_room_on_a_small_terminal() -> None:
    none = {"totalTokens": 0, "cost": 0.0}
    assert drawn(TopView(), entry(usage=none))[1].split() == ["NAME", "STATUS", "TIME", "ACTIVITY"]
    assert "TOKENS" in drawn(TopView(), entry(usage=none), entry(2))[1]


def test_nothing_to_show_says_what_to_do() -> None:
    view = TopView()
    assert drawn(view)[2] == "No run is live. a shows those that have ended, too."
    view.press("a")
    assert drawn(view)[2] == "No run yet."


@pytest.mark.parametrize("size", [(1, 1), (19, 24), (80, 3)])
def test_a_terminal_that_is_too_small_is_told_so(size: tuple[int, int]) -> None:
    assert drawn(TopView(), entry(), width=size[0], height=size[1])[0] == "too small"[: size[0]]


@given(
    st.integers(1, 200), st.integers(1, 60), st.integers(0, 40), st.text(max_size=20), st.text(max_size=80)
)
def test_no_screen_is_ever_larger_than_the_terminal(
    width: int, height: int, count: int, name: str, words: str
) -> None:
    lines = (LastLine(fit(words.replace("\n", " "), 300), TOOL),)
    entries = [entry(number, name=name, activity=words, task=words, lines=lines) for number in range(count)]
    view = TopView()
    for key in ("", "end", "s", "x", "/", "z"):
        view.press(key)
        drawn(view, *entries, width=width, height=height)


def test_the_status_stands_out_and_the_chosen_row_too() -> None:
    view = TopView()
    entries = [entry(1, name="世界"), entry(2, status="failed", reason="exit")]
    view.take(entries)
    board = Board(entries, status="", at=NOW, project="/", elsewhere=0)
    _, _, chosen, other, *_ = view.draw(board, 80, 24)
    assert chosen[1] == (top_rows.CHOSEN + top_rows.BUSY, "running")
    assert other[1] == (top_rows.PROBLEM, "failed (exit)")


# --- keys -------------------------------------------------------------------------------------------------


def test_what_is_chosen_stays_chosen_while_others_come_and_go() -> None:
    view = TopView()
    drawn(view, entry(1), entry(2), entry(3))
    view.press("down")
    assert drawn(view, entry(4), entry(1), entry(2), entry(3))[4].startswith("> run-2")
    assert drawn(view, entry(4), entry(3))[2].startswith("> run-4")
    for key, chosen in (("end", 3), ("down", 3), ("home", 4), ("k", 4), ("G", 3), ("g", 4), ("page-down", 3)):
        view.press(key)
        assert view.chosen == f"{chosen:016x}", key
    view.take([])
    assert (view.entry, view.press("up"), view.press("enter"), view.press("o"), view.press("s")) == (
        None,
    ) * 5


def test_a_long_list_is_moved_through() -> None:
    view, entries = TopView(), [entry(number) for number in range(50)]
    drawn(view, *entries)
    view.press("end")
    screen = drawn(view, *entries)
    assert sum(line.startswith("  run-") for line in screen) > 5
    assert any(line.startswith("> run-49") for line in screen)
    view.press("home")
    assert drawn(view, *entries)[2].startswith("> run-0")


@pytest.mark.parametrize(
    ("key", "wish"), [("enter", top.ATTACH), ("o", top.OUTPUT), ("q", top.LEAVE), ("z", None)]
)
def test_a_key_asks_for_what_it_says(key: str, wish: str | None) -> None:
    view = TopView()
    drawn(view, entry())
    assert view.press(key) == wish


@pytest.mark.parametrize(("answer", "wish"), [("y", top.STOP), ("Y", top.STOP), ("n", None), ("enter", None)])
def test_stop_asks_first(answer: str, wish: str | None) -> None:
    view = TopView()
    drawn(view, entry())
    assert view.press("s") is None
    assert drawn(view, entry())[-1] == "Stop run-1? y stops it, any other key does not"
    assert view.press(answer) == wish
    assert drawn(view, entry())[-1].startswith("Enter attach")


def test_what_has_ended_is_not_stopped() -> None:
    view = TopView()
    drawn(view, entry(status="completed", reason="done"))
    assert view.press("s") is None
    assert drawn(view, entry(status="completed", reason="done"))[-1] == "It has ended already."
    assert view.press("y") is None


def test_a_question_about_a_run_that_went_is_forgotten() -> None:
    view = TopView()
    drawn(view, entry(1), entry(2))
    view.press("s")
    drawn(view, entry(2))
    assert view.press("y") is None


def test_a_filter_is_typed_and_taken_away() -> None:
    view, entries = (
        TopView(),
        [entry(1), entry(2, status="failed", reason="exit"), entry(3, task="Find SESSIONS")],
    )
    drawn(view, *entries)
    for key in ("/", *"sessionx", "backspace", "up"):
        assert view.press(key) is None
    screen = drawn(view, *entries)
    assert (screen[2][:7], screen[3], screen[-1]) == ("> run-3", "", "filter: session_")
    view.press("enter")
    assert '/home/dev/app, only "session"' in drawn(view, *entries)[0]
    for key in ("/", *" failed"):
        view.press(key)
    assert drawn(view, *entries)[2] == "No run fits the filter."
    view.press("escape")
    assert drawn(view, *entries)[4].startswith("  run-3")
    for key in ("/", "z", "enter"):
        view.press(key)
    assert drawn(view, *entries)[2] == "No run fits the filter."
    view.press("escape")  # also once it is typed
    assert drawn(view, *entries)[4].startswith("  run-3")


def test_which_runs_are_wanted_is_changed_by_keys() -> None:
    view = TopView(everywhere=True)
    for key in ("a", "A", "A"):
        view.press(key)
    assert (view.ended, view.everywhere) == (True, True)
    screen = drawn(view, entry())
    assert "all projects" in screen[0]
    assert screen[-1] == "Enter attach  o output  s stop  / filter  a live only  A here  q leave"


@pytest.mark.parametrize(
    ("typed_", "names"),
    [
        (b"\x1b[A\x1b[B\x1bOA\x1bOB", ["up", "down", "up", "down"]),
        (b"\x1b[H\x1b[F\x1b[5~\x1b[6~\x1b[1~\x1b[4~", ["home", "end", "page-up", "page-down", "home", "end"]),
        (b"\r\n\x7f\x08", ["enter", "enter", "backspace", "backspace"]),
        ("aé/".encode(), ["a", "é", "/"]),
        (b"\x1b", ["escape"]),
        (b"\x1bq", ["escape", "q"]),
        (b"\x1b[200~x\x1b[201~\x1b[1;5Aq\x01\xff", ["x", "q"]),
        (b"\x1b[", []),
        (b"\x1bO", []),
        (b"", []),
    ],
)
def test_keys_are_known_by_what_a_terminal_sends(typed_: bytes, names: list[str]) -> None:
    assert [*screen.keys(typed_)] == names
