"""The tmux edge: odd neighbours, odd words."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest

from tests.harness import eventually
from tests.tmux.worlds import EVIL, SLEEP, Real, an_order, home, new_run
from tmuxagents import tmux
from tmuxagents.errors import Unusable
from tmuxagents.tmux import windows

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def test_odd_panes_elsewhere_break_nothing(real: Real, tmp_path: Path) -> None:
    odd = tmp_path / "new\nline"
    odd.mkdir()
    real.run("new-window", "-d", "-t", "work:", "-c", str(odd), "sleep 600")
    title = "printf '\\033]2;a\N{SYMBOL FOR RECORD SEPARATOR}b\\007'; sleep 600"
    real.run("new-window", "-t", "work:", title)
    eventually(
        lambda: "\N{SYMBOL FOR RECORD SEPARATOR}" in real.run("list-panes", "-a", "-F", "#{pane_title}")
    )
    person = real.attach()
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    found = real.tmux.windows.find(run_id)
    assert found is not None
    assert found.window == opened.window
    assert [client.name for client in real.tmux.clients.all()] == [person]
    assert real.tmux.clients.at(real.pane_of(person)) is not None
    real.tmux.status.push({"status": "x"})


def test_a_live_child_cannot_hide_its_own_window(real: Real) -> None:
    run_id = new_run()
    title = "printf '\\033]2;a\N{SYMBOL FOR RECORD SEPARATOR}b\\007'; exec cat"
    opened = real.tmux.windows.open(an_order(run_id, ["/bin/sh", "-c", title]), home())
    eventually(
        lambda: "\N{SYMBOL FOR RECORD SEPARATOR}" in real.run("list-panes", "-a", "-F", "#{pane_title}")
    )
    found = real.tmux.windows.find(run_id)
    assert found is not None
    assert found.window == opened.window


@pytest.mark.parametrize(
    "hook", ["kill-window", "rename-window other", "new-window", "next-window", "run-shell 'exit 1'"]
)
def test_a_hook_of_a_person_never_makes_us_tag_another_window(real: Real, hook: str) -> None:
    real.stranger("scout")
    real.run("set-hook", "-g", "after-new-window", hook)
    real.tmux.windows.open(an_order(new_run()), home())
    before = real.window_ids()
    run_id = new_run()
    with contextlib.suppress(Unusable):
        real.tmux.windows.open(an_order(run_id), home())
    found = real.tmux.windows.all()
    assert run_id not in found or found[run_id].window not in before


def test_everything_works_in_the_c_locale(real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.delenv("LANG", raising=False)
    run_id = new_run()
    opened = real.tmux.windows.open(
        an_order(run_id, ["/bin/sh", "-c", "echo '\N{SNOWMAN}'; exec cat"]), home()
    )
    assert real.tmux.windows.find(run_id) is not None
    real.tmux.status.declare()
    real.tmux.status.push({"status": "\N{CHECK MARK} scout"})
    assert real.status_line == "\N{CHECK MARK} scout"
    eventually(lambda: "\N{SNOWMAN}" in real.run("capture-pane", "-p", "-t", opened.pane))


def test_a_command_line_arrives_to_the_byte_and_runs_nothing(real: Real, tmp_path: Path) -> None:
    marker, record = tmp_path / "marker", tmp_path / "record"
    evil = EVIL.format(marker=marker)
    folder = tmp_path / f"d#(touch {marker.name}) x;"
    folder.mkdir()
    writer = tmp_path / "writer"
    writer.write_text('#!/bin/sh\nout=$1\nshift\nprintf "%s\\0" "$@" >>"$out"\nexec cat\n')
    writer.chmod(0o755)
    words = [
        evil,
        ";",
        "a;",
        "a\\;",
        "\\",
        "",
        " ",
        "~",
        "$HOME",
        "${x}",
        "%1",
        "{",
        "}",
        "é\nx\t\x01",
        "-d",
        "#",
        ";;",
        "\udcff",
    ]
    real.attach()
    session = None
    for _ in range(12):
        argv = [str(writer), str(record), *words]
        where = home(folder=str(folder))
        opened = real.tmux.windows.open(an_order(new_run(), argv), where)
        session = opened.session
        real.tmux.options.write("@text", evil)
        assert real.tmux.options.read("@text") == evil
    expected = "".join(f"{word}\0" for word in words).encode("utf-8", "surrogateescape") * 12
    eventually(lambda: record.exists() and len(record.read_bytes()) >= len(expected))
    assert record.read_bytes() == expected
    assert real.run("display-message", "-p", "-t", f"{session}:", "#{session_path}") == str(folder)
    time.sleep(0.3)
    assert not marker.exists()
    assert not (folder / marker.name).exists()
    assert not (tmp_path / marker.name).exists()


@pytest.mark.parametrize(
    ("folder", "kept"),
    [
        ("/a '#(touch x)' b;", True),
        ('/-d \\; ; " $HOME ${x} {} ~ é ☃ #{pid} %H;', True),
        ("/" + "a" * 4000, True),
        ("/" + "☃" * 1365, False),  # of the longest path there is: more than a command of tmux may have
        ("/a\nb", False),
        ("/a\udcff", False),
        ("relative", False),
    ],
)
def test_the_folder_of_a_project_is_kept_to_the_byte_or_left_out(
    real: Real, folder: str, *, kept: bool
) -> None:
    for _ in range(2):  # with a new session, and in it
        order = tmux.Order(new_run(), name="scout", argv=SLEEP, state="queued", folder=folder)
        opened = real.tmux.windows.open(order, home())
        shown = real.run("display-message", "-p", "-t", opened.window, f"#{{{windows.FOLDER}}}")
        assert shown == (folder if kept else "")


def test_a_sockets_path_is_no_code(tmp_path: Path) -> None:
    folder = tmp_path / "s#(touch marker) #{pid}"
    folder.mkdir()
    odd = Real(folder)
    odd.start()
    try:
        person = odd.attach()
        for _ in range(12):
            run_id = new_run()
            opened = odd.tmux.windows.open(an_order(run_id), home())
            assert odd.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id)
            odd.tmux.clients.back(person)
            odd.end_program(opened.window)
            assert odd.tmux.windows.arm_close(opened.window, run_id, 1)
        eventually(lambda: odd.tmux.windows.all() == {})
        assert not list(tmp_path.rglob("marker"))
        assert not Path("/marker").exists()
    finally:
        odd.close_all()
