"""What our own sessions and windows look like on a real server, and that nothing else changes there."""

from __future__ import annotations

import os
import termios
from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually
from tests.tmux.worlds import OWNER, Real, an_order, home, new_run
from tmuxagents import tmux
from tmuxagents.tmux import style

if TYPE_CHECKING:
    from tmuxagents.tmux import Opened


def opened(real: Real, script: str = "sleep 600", name: str = "scout") -> Opened:
    return real.tmux.windows.open(an_order(new_run(), ["/bin/sh", "-c", script], name), home())


def bar(real: Real, session: str) -> str:
    """Return the texts on the left and the right of a session's status line."""
    return real.run("display-message", "-p", "-t", session, "#{T:status-left}|#{T:status-right}")


def test_a_project_may_be_called_like_a_view(real: Real) -> None:
    home_ = tmux.Home(["agents-review-1"], owner=OWNER)
    there = real.tmux.windows.open(an_order(new_run()), home_)
    assert "agents-review-1" in bar(real, there.session)


def test_our_session_has_its_whole_name_and_the_way_back_but_no_title(real: Real) -> None:
    there = opened(real)
    left, right = bar(real, there.session).split("|")
    assert left == f"{there.session_name}  C-b d: back "
    assert real.run("display-message", "-p", "-t", there.pane, "#{pane_title}") not in right
    assert "green" not in real.run("show-options", "-vt", there.session, "status-style")
    real.run("set-option", "-g", "prefix", "C-a")
    assert "C-a d: back" in bar(real, there.session)


WHOLE = "✗ tester-of-prices bg: 2 running, 1 waiting, 1 failed / 14 total"


@pytest.mark.parametrize(
    ("width", "has_name", "text"),
    [
        (60, False, " ?1 ✗1 bg: 2/14"),
        (79, False, " ?1 ✗1 bg: 2/14"),
        (80, True, " ?1 ✗1 bg: 2 running / 14 total"),
        (110, True, " ?1 ✗1 bg: 2 running / 14 total"),
        (200, True, f" {WHOLE}"),
    ],
)
def test_a_narrow_screen_has_room_for_windows_the_counts_and_the_way_back(
    real: Real, width: int, text: str, *, has_name: bool
) -> None:
    there = opened(real, name="finder")
    for name in ("tester-of-prices", "refactor-orders"):
        opened(real, name=name)
    real.tmux.status.declare()
    real.tmux.status.push({"status": WHOLE, "running": "2", "waiting": "1", "failed": "1", "total": "14"})
    shown = ["attach-session", "-t", there.session_name]
    size = ["-x", str(width), "-y", "10", "-P", "-F", "#{pane_id}"]
    nested = real.run(
        "new-session", "-d", *size, "env", "-u", "TMUX", "tmux", "-u", "-S", real.socket, *shown
    )

    def last() -> str:
        return (real.run("capture-pane", "-p", "-t", nested).splitlines() or [""])[-1]

    eventually(lambda: "C-b d: back" in last() and text in last())
    assert (there.session_name in last()) == has_name
    assert ":finder" in last()  # not squeezed out


def test_a_persons_theme_stays(real: Real) -> None:
    theme = {
        "status-left": "#[bold]#S, {x} ",
        "status-left-length": "30",
        "status-right": "#{pane_title} mine",
        "status-style": "bg=blue,fg=white",
        "window-status-current-style": "reverse",
    }
    for name, value in theme.items():
        real.run("set-option", "-g", name, value)
    there = opened(real)
    shown = {name: real.run("display-message", "-p", "-t", there.session, f"#{{{name}}}") for name in theme}
    assert shown["status-left"].startswith(theme["status-left"])
    assert shown["status-right"].endswith(theme["status-right"])
    assert shown["status-left-length"] == "130"
    assert shown["status-style"] == theme["status-style"]
    assert shown["window-status-current-style"] == theme["window-status-current-style"]


def test_nothing_else_on_the_server_changes(real: Real) -> None:
    scopes = (["-g"], ["-gw"], ["-s"], ["-t", "work"], ["-wt", "work"])
    before = [real.run("show-options", *scope) for scope in scopes]
    opened(real)
    assert [real.run("show-options", *scope) for scope in scopes] == before


def test_a_view_shows_nothing_but_the_way_back_on_its_left(real: Real) -> None:
    there = opened(real)
    real.run("set-option", "-g", "status-left", "#S")
    run_id = next(iter(real.tmux.windows.all()))
    view = real.tmux.clients.prepare_view(there.window, session=there.session, run_id=run_id)
    assert bar(real, f"={view}:").split("|")[0] == "C-b d: back "


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("completed (done)", "completed (done)"),
        ("failed (no-model)", "failed (no-model)"),
        ("aborted (stopped)", "aborted (stopped)"),
        ("failed (#[fg=red])", "ended"),
        ("completed (done) and more", "ended"),
        ("#(touch x)", "ended"),
        ("", "ended"),
    ],
)
def test_the_last_line_says_how_the_run_ended_and_which_key_does_what(
    real: Real, title: str, shown: str
) -> None:
    there = opened(real, f"printf '\\033]2;%s\\007' '{title}'; sleep .1; exit 1")
    eventually(lambda: last_line(real, there))
    assert last_line(real, there) == written(real, f"── {shown} · C-b d: back ──")


def test_the_last_line_names_the_key_that_closes_where_there_is_one(real: Real) -> None:
    real.run("set-option", "-g", style.CLOSES, "q")
    there = opened(real, "exit 0")
    eventually(lambda: last_line(real, there) == written(real, "── ended · C-b d: back · q: close ──"))


def last_line(real: Real, there: Opened) -> str:
    """Return what tmux has written there; its own words without their figures."""
    real.run("run-shell", "true")  # it looks for ended programs again: before 3.6 one is missed now and then
    lines = real.run("capture-pane", "-p", "-t", there.pane).splitlines() or [""]
    return lines[-1].partition(" (")[0] if lines[-1].startswith("Pane") else lines[-1]


def written(real: Real, line: str) -> str:
    """Return what is to be there: tmux 3.2 has words of its own."""
    return line if real.run("show-options", "-gqw", "remain-on-exit-format") else "Pane is dead"


def test_a_terminal_that_takes_nothing_costs_no_descriptor(real: Real) -> None:
    terminal = os.open(real.attach(), os.O_RDWR | os.O_NOCTTY)
    try:
        termios.tcflow(terminal, termios.TCOOFF)  # as by Ctrl-S
        before = len(os.listdir("/proc/self/fd"))
        real.tmux.status.notify("waits for you")
        assert len(os.listdir("/proc/self/fd")) == before
    finally:
        termios.tcflow(terminal, termios.TCOON)
        os.close(terminal)
