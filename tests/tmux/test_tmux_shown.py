"""The tmux edge: runs shown on terminals."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually
from tests.tmux.worlds import Real, an_order, home, new_run
from tmuxagents import tmux
from tmuxagents.errors import Unusable
from tmuxagents.tmux import clients, runner, script, style, windows
from tmuxagents.tmux.clients import Client

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def test_from_outside_a_run_is_shown_only_if_the_window_is_its_own(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    argv = real.tmux.clients.attach_argv(opened.window, session=opened.session, run_id=run_id)
    person = real.sit_down(*argv)
    eventually(lambda: real.tmux.clients.all(opened.session))
    assert real.looks_at(person.name) == opened.window
    wrong = real.tmux.clients.attach_argv(opened.window, session=opened.session, run_id=new_run())
    gone = subprocess.run(wrong, capture_output=True, text=True, check=False, timeout=5)
    assert gone.stdout == "The window is gone.\n"
    second = real.sit_down(
        *real.tmux.clients.attach_argv(opened.window, session=opened.session, run_id=run_id, read_only=True)
    )
    eventually(lambda: len(real.tmux.clients.all()) == 2)
    assert real.looks_at(second.name) == opened.window
    assert len(real.tmux.clients.all(opened.session)) == 1  # the second has a view of its own
    assert real.run("list-clients", "-F", "#{client_name} #{client_readonly}").count(f"{second.name} 1") == 1
    real.leave(second.name)
    eventually(lambda: real.session_names() == {"work", "agents-app"}, 3)


def test_a_terminal_is_handed_over_and_comes_back(real: Real, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    there = Real(tmp_path / "there")
    there.start()
    try:
        run_id = new_run()
        opened = there.tmux.windows.open(an_order(run_id), home())
        person = real.attach()
        (client,) = real.tmux.clients.all()
        view = there.tmux.clients.prepare_view(opened.window, session=opened.session, run_id=run_id)
        assert view is not None
        real.tmux.clients.hand_over(client, socket=there.socket, session=view, read_only=True)
        eventually(there.tmux.clients.all)
        assert there.run("list-clients", "-F", "#{client_readonly}") == "1"
        assert real.tmux.clients.all() == []
        assert there.looks_at(person) == opened.window
        there.run("detach-client", "-t", person)
        eventually(real.tmux.clients.all)
        assert real.tmux.clients.all()[0].session == client.session
        assert there.tmux.clients.all() == []
        eventually(lambda: there.session_names() == {"work", "agents-app"}, 3)
    finally:
        there.close_all()


def test_a_view_that_nobody_comes_to_goes(real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "_UNSEEN_S", 1)
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    assert real.tmux.clients.prepare_view(opened.window, session=opened.session, run_id=run_id)
    assert len(real.session_names()) == 3
    eventually(lambda: real.session_names() == {"work", "agents-app"}, 5)
    assert real.tmux.windows.find(run_id) is not None


def test_a_view_goes_with_its_last_client_and_not_only_when_it_looks_again(
    real: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "_LOOK_S", 600)
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    real.attach(opened.session)
    people = [real.attach(), real.attach()]
    assert real.tmux.clients.show(people[0], opened.window, session=opened.session, run_id=run_id)
    (view,) = [client.session for client in real.tmux.clients.all() if client.view]
    eventually(lambda: "run-shell" in real.run("show-hooks", "-t", view))
    real.run("switch-client", "-c", people[1], "-t", view)
    real.leave(people[0])
    assert [client.name for client in real.tmux.clients.all() if client.view] == people[1:]
    real.leave(people[1])
    eventually(lambda: real.session_names() == {"work", "agents-app"}, 5)
    assert real.tmux.windows.find(run_id) is not None


def test_a_window_that_is_moved_while_its_view_asks_a_shell_is_shown_by_then(
    real: Real, tmp_path: Path
) -> None:
    asked, released = tmp_path / "asked", tmp_path / "released"
    slow = tmp_path / "bin" / "tmux"
    slow.parent.mkdir()
    words = f"touch {asked}; until [ -e {released} ]; do sleep 0.02; done; exec {shutil.which('tmux')}"
    slow.write_text(f'#!/bin/sh\n{words} "$@"\n')
    slow.chmod(0o755)
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    real.attach(opened.session)
    person = real.attach()
    real.run("set-environment", "-g", "PATH", f"{slow.parent}:{os.environ['PATH']}")
    with ThreadPoolExecutor(1) as pool:
        shown = pool.submit(
            real.tmux.clients.show, person, opened.window, session=opened.session, run_id=run_id
        )
        try:
            eventually(asked.exists)
            real.run("move-window", "-d", "-s", f"{opened.session}:{opened.window}", "-t", "=work:")
        finally:
            released.touch()
        assert shown.result()
    assert real.looks_at(person) == opened.window


def test_a_persons_own_hook_is_run_for_a_client_that_leaves_a_view(real: Real) -> None:
    real.run("set-hook", "-g", "client-detached", "set-option -g @left yes")
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    real.attach(opened.session)
    person = real.attach()
    assert real.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id)
    real.leave(person)
    eventually(lambda: real.run("show-options", "-gqv", "@left") == "yes")
    eventually(lambda: real.session_names() == {"work", "agents-app"}, 5)


def test_windows_that_somebody_opened_in_a_view_are_not_ended_with_it(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    real.attach(opened.session)
    person = real.attach()
    assert real.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id)
    (view,) = [client.session for client in real.tmux.clients.all() if client.view]
    own = real.run("new-window", "-d", "-P", "-F", "#{window_id}", "-t", f"{view}:", "sleep 600")
    real.leave(person)
    real.tmux.clients.end_view(view)
    real.pass_s(2.5)  # the view has looked twice
    assert own in real.window_ids()
    real.run("kill-window", "-t", own)
    eventually(lambda: real.session_names() == {"work", "agents-app"}, 5)
    assert real.tmux.windows.find(run_id) is not None


def test_a_trail_is_seen_by_no_program_and_no_option(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    person = real.attach()
    before = real.run("show-options", "-t", opened.session)
    trail = f"{person},$0:@0"
    assert real.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id, trail=trail)
    assert real.tmux.clients.all()[0].trail == trail
    shown = real.run("split-window", "-P", "-F", "#{pane_pid}", "-t", f"{opened.session}:", "exec sleep 60")
    with open(f"/proc/{shown}/environ", "rb") as environment:
        assert b"TRAIL" not in environment.read()
    assert "TRAIL" not in real.run("show-environment", "-t", opened.session)
    assert real.run("show-options", "-t", opened.session) == before


def test_it_is_known_what_ends_when_a_client_leaves(real: Real) -> None:
    person = real.attach()
    (client,) = real.tmux.clients.all()
    assert (client.holds_session, client.holds_server, client.read_only) == (False, False, False)
    real.run("set-option", "-t", "work", "destroy-unattached", "on")
    real.run("set-option", "-s", "exit-unattached", "on")
    (client,) = real.tmux.clients.all()
    assert (client.holds_session, client.holds_server) == (True, True)
    real.attach()
    assert not any(client.holds_session or client.holds_server for client in real.tmux.clients.all())
    real.run("switch-client", "-r", "-c", person)
    assert [client.name for client in real.tmux.clients.all() if client.read_only] == [person]
    real.run("set-option", "-s", "exit-unattached", "off")


def test_a_tag_may_be_anything_in_a_window_of_somebody_else(real: Real) -> None:
    person = real.attach()
    for tag in ("a b  c", "two\nlines", "#{pid} #(x)"):
        real.run("set-option", "-w", "-t", "work:", windows.RUN, tag)
        (client,) = real.tmux.clients.all()
        assert (client.name, client.trail) == (person, "")


def test_who_may_only_look_may_only_look_when_the_terminal_comes_back(real: Real, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    there = Real(tmp_path / "there")
    there.start()
    try:
        run_id = new_run()
        opened = there.tmux.windows.open(an_order(run_id), home())
        person = real.sit_down("tmux", "-u", "-S", real.socket, "attach-session", "-r", "-t", "=work")
        eventually(real.tmux.clients.all)
        view = there.tmux.clients.prepare_view(opened.window, session=opened.session, run_id=run_id)
        assert view is not None
        real.tmux.clients.hand_over(real.tmux.clients.all()[0], socket=there.socket, session=view)
        eventually(there.tmux.clients.all)
        there.tmux.clients.detach(person.name)
        eventually(real.tmux.clients.all)
        assert [client.read_only for client in real.tmux.clients.all()] == [True]
    finally:
        there.close_all()


def test_a_client_that_detaches_from_a_view_does_not_end_the_server(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    real.attach(opened.session)
    for _ in range(8):  # with destroy-unattached on, half of these crash tmux 3.3a
        argv = real.tmux.clients.attach_argv(opened.window, session=opened.session, run_id=run_id)
        person = real.sit_down(*argv)
        eventually(lambda: len(real.tmux.clients.all()) == 2)
        real.leave(person.name)
    assert real.tmux.identity() == opened.server


def test_a_timer_does_no_harm_when_its_window_and_session_have_gone(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    assert real.tmux.windows.arm_close(opened.window, run_id, 1)
    real.run("kill-session", "-t", opened.session)
    time.sleep(1.3)
    assert real.tmux.identity() == opened.server
    assert real.session_names() == {"work"}


def test_a_terminal_is_not_handed_over_by_words_that_a_shell_would_read(real: Real) -> None:
    real.attach()
    (client,) = real.tmux.clients.all()
    with pytest.raises(Unusable, match="handed over"):
        real.tmux.clients.hand_over(client, socket="/tmp/it's", session="view-1")
    assert len(real.tmux.clients.all()) == 1
    gone = Client(name="/dev/pts/999", session="$0", window="@0", pane="%0", control=False)
    with pytest.raises(tmux.TmuxRefused, match="999"):
        real.tmux.clients.hand_over(gone, socket=real.socket, session="view-1")


def test_a_program_in_control_mode_is_a_client_without_a_screen(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    control = subprocess.Popen(
        ["tmux", "-u", "-S", real.socket, "-C", "attach-session", "-t", opened.session],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        eventually(real.tmux.clients.all)
        (client,) = real.tmux.clients.all()
        assert client.control
        assert real.tmux.clients.at(opened.pane) is None
        real.tmux.status.push({"status": "x"})
    finally:
        assert control.stdin is not None
        control.stdin.close()
        control.wait(5)


def test_a_push_outlives_a_client_that_has_just_left(real: Real) -> None:
    run = runner.Runner(real.socket)
    assert run.run(style.redraw("/dev/pts/999"), script.say("on")).text.endswith("on\n")


THEIRS = [None, '#(echo job) %H:%M, #{pane_title} {x} "q" $HOME #[fg=red]', "", "#W #{E:@tmuxagents_status}"]


@pytest.mark.parametrize("theirs", THEIRS)
def test_our_session_shows_our_text_before_what_the_person_has_there(real: Real, theirs: str | None) -> None:
    if theirs is not None:
        real.tmux.options.write("status-right", theirs)
    before = [real.run("show-options", *scope) for scope in (["-g"], ["-t", "work"])]
    session = real.tmux.windows.open(an_order(new_run()), home()).session
    assert [real.run("show-options", *scope) for scope in (["-g"], ["-t", "work"])] == before
    real.tmux.status.declare()
    real.tmux.status.push({"status": "bg: 1 running / 1 total"})
    line = real.run("display-message", "-p", "-t", session, "#{T:status-right}")
    assert line.count("bg: 1 running / 1 total") == 1
    if theirs is None:
        assert re.fullmatch(r"bg: 1 running / 1 total \d\d:\d\d", line)  # no title of a pane
        length = int(real.run("display-message", "-p", "-t", session, "#{status-right-length}"))
        assert length == int(real.run("show-options", "-gv", "status-right-length")) + 100
    if theirs is not None and "@tmuxagents" not in theirs:
        assert real.run("show-options", "-vt", session, "status-right").endswith(f" ,}}{theirs}")
    real.tmux.status.push({"status": ""})
    assert "bg:" not in real.run("display-message", "-p", "-t", session, "#{T:status-right}")


def test_a_push_changes_the_status_line_and_redraws_little(real: Real) -> None:
    real.run("set-option", "-g", "status-right", "#{E:@tmuxagents_status}")
    real.tmux.status.declare()
    real.tmux.status.push({"status": "bg: 1 running / 1 total"})
    screen = real.screens[real.attach()]
    eventually(lambda: b"bg: 1 running" in screen.output)
    time.sleep(0.2)
    before = len(screen.output)
    real.tmux.status.push({"status": "bg: 2 running / 2 total"})
    eventually(lambda: b"2 running / 2" in screen.output[before:])
    time.sleep(0.1)
    assert len(screen.output) - before < 600
