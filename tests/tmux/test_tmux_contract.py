"""The tmux edge: windows, clients, the status line and options, on a real server."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually
from tests.tmux.worlds import NAMES, OTHER, OWNER, Real, an_order, home, new_run
from tmuxagents import tmux
from tmuxagents.errors import Unusable
from tmuxagents.tmux import script, style

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def test_a_window_is_opened_behind_everybodys_back(real: Real) -> None:
    person = real.attach()
    seen = real.looks_at(person)
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    assert opened.session_name == "agents-app"
    assert real.name_of(opened.window) == "scout"
    assert real.state_of(opened.window) == "queued"
    assert opened.server == real.tmux.identity()
    assert real.looks_at(person) == seen
    found = real.tmux.windows.find(run_id)
    assert found is not None
    assert (found.window, found.session, found.run_id) == (opened.window, opened.session, run_id)
    assert (found.watched, found.dead) == (0, False)


def test_windows_of_a_project_share_a_session(real: Real) -> None:
    first, second = (real.tmux.windows.open(an_order(new_run()), home()) for _ in range(2))
    assert first.session == second.session
    assert first.window != second.window
    assert first.pane != second.pane
    assert real.session_names() == {"work", "agents-app"}


def test_projects_of_one_name_have_sessions_of_their_own(real: Real) -> None:
    other = real.tmux.windows.open(an_order(new_run()), home(owner=OTHER))
    ours = [real.tmux.windows.open(an_order(new_run()), home()) for _ in range(2)]
    assert other.session_name == "agents-app"
    assert [opened.session_name for opened in ours] == [NAMES[1], NAMES[1]]
    assert real.tmux.windows.open(an_order(new_run()), home(owner=OTHER)).session == other.session


def test_a_project_stays_in_its_session_when_the_first_name_becomes_free(real: Real) -> None:
    run_id = new_run()
    other = real.tmux.windows.open(an_order(run_id), home(owner=OTHER))
    real.tmux.windows.open(an_order(new_run()), home())
    real.tmux.windows.close_pane(other.pane, run_id)
    assert real.tmux.windows.open(an_order(new_run()), home()).session_name == NAMES[1]


def test_without_a_free_name_nothing_is_opened(real: Real) -> None:
    real.tmux.windows.open(an_order(new_run()), home(owner=OTHER))
    with pytest.raises(Unusable) as raised:
        real.tmux.windows.open(an_order(new_run()), tmux.Home(NAMES[:1], owner=OWNER))
    assert raised.value.kind == "window"


def test_a_window_can_go_to_a_session_that_is_named_by_its_id(real: Real) -> None:
    pane = real.pane_of(real.attach())
    session = real.tmux.windows.session_of(pane)
    opened = real.tmux.windows.open(an_order(new_run()), tmux.Home(session=session))
    assert (opened.session, opened.session_name) == (session, "work")
    with pytest.raises(Unusable) as raised:
        real.tmux.windows.open(an_order(new_run()), tmux.Home(session="$99"))
    assert raised.value.kind == "window"


def test_no_run_no_window(real: Real) -> None:
    real.stranger("scout")
    assert real.tmux.windows.find(new_run()) is None
    assert real.tmux.windows.all() == {}


def test_all_windows_of_runs_are_listed(real: Real) -> None:
    real.stranger("scout")
    opened = {run: real.tmux.windows.open(an_order(run), home()).window for run in (new_run(), new_run())}
    assert {run: window.window for run, window in real.tmux.windows.all().items()} == opened


def test_a_command_that_has_ended_leaves_its_window(real: Real) -> None:
    run_id = new_run()
    real.end_program(real.tmux.windows.open(an_order(run_id), home()).window)
    dead = real.tmux.windows.find(run_id)
    assert dead is not None
    assert dead.dead


def test_how_the_program_of_a_pane_came_to_its_end(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    assert real.tmux.windows.end_of(opened.pane) is None
    real.end_program(opened.window)
    assert real.tmux.windows.end_of(opened.pane) is not None
    real.tmux.windows.close_pane(opened.pane, run_id)
    with pytest.raises(tmux.TmuxRefused):
        real.tmux.windows.end_of(opened.pane)


def test_state_is_shown_on_the_runs_own_window_only(real: Real) -> None:
    run_id, stranger = new_run(), real.stranger("scout")
    window = real.tmux.windows.open(an_order(run_id), home()).window
    assert real.tmux.windows.set_state(window, run_id, "completed") == 0
    assert real.state_of(window) == "completed"
    assert real.tmux.windows.set_state(window, new_run(), "failed") is None
    assert real.tmux.windows.set_state(stranger, run_id, "failed") is None
    assert real.tmux.windows.set_state("@999", run_id, "failed") is None
    assert real.state_of(window) == "completed"


def test_only_the_runs_own_window_is_closed(real: Real) -> None:
    run_id, stranger = new_run(), real.stranger("scout")
    window = real.tmux.windows.open(an_order(run_id), home()).window
    real.end_program(window)
    before = real.window_ids()
    assert not real.tmux.windows.close_ended(window, new_run())
    assert not real.tmux.windows.close_ended(stranger, run_id)
    assert not real.tmux.windows.close_ended("@999", run_id)
    assert real.window_ids() == before
    assert real.tmux.windows.close_ended(window, run_id)
    assert real.window_ids() == before - {window}
    assert not real.tmux.windows.close_ended(window, run_id)


def test_a_pane_is_closed_in_its_runs_own_window_only(real: Real) -> None:
    run_id = new_run()
    opened, before = real.tmux.windows.open(an_order(run_id), home()), real.window_ids()
    assert not real.tmux.windows.close_pane(opened.pane, new_run())
    assert not real.tmux.windows.close_pane("%999", run_id)
    assert real.window_ids() == before
    assert real.tmux.windows.close_pane(opened.pane, run_id)
    assert real.window_ids() == before - {opened.window}


def test_what_a_person_has_put_beside_a_pane_outlives_it(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    theirs = real.run("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", opened.window, "sleep 600")
    assert real.tmux.windows.close_pane(opened.pane, run_id)
    assert real.run("list-panes", "-t", opened.window, "-F", "#{pane_id}") == theirs


def test_a_window_that_lives_or_is_looked_at_is_not_closed_for_having_ended(real: Real) -> None:
    ended, lives, seen = (new_run() for _ in range(3))
    opened = {run: real.tmux.windows.open(an_order(run), home()) for run in (ended, lives, seen)}
    person = real.attach()
    assert real.tmux.clients.show(person, opened[seen].window, session=opened[seen].session, run_id=seen)
    for run in (ended, seen):
        real.end_program(opened[run].window)
    assert not real.tmux.windows.close_ended(opened[ended].window, lives)
    assert [real.tmux.windows.close_ended(opened[run].window, run) for run in opened] == [True, False, False]
    assert set(real.tmux.windows.all()) == {lives, seen}


def test_a_window_that_a_person_has_split_is_not_closed_for_having_ended(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    theirs = real.run("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", opened.window, "sleep 600")
    real.end_program(opened.window)
    assert not real.tmux.windows.close_ended(opened.window, run_id)
    real.run("kill-pane", "-t", theirs)
    assert real.tmux.windows.close_ended(opened.window, run_id)


def test_a_stale_id_after_a_restart_is_never_touched(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    real.restart()
    while opened.window not in real.window_ids():
        real.stranger("editor")
    person = real.attach()
    seen, before = real.looks_at(person), real.window_ids()
    assert real.tmux.identity() != opened.server
    assert not real.tmux.windows.close_pane(opened.pane, run_id)
    assert real.tmux.windows.set_state(opened.window, run_id, "failed") is None
    assert not real.tmux.windows.arm_close(opened.window, run_id, 1)
    assert not real.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id)
    assert real.tmux.clients.prepare_view(opened.window, session=opened.session, run_id=run_id) is None
    assert (real.looks_at(person), real.window_ids()) == (seen, before)


def test_without_a_server_there_is_a_third_answer(real: Real) -> None:
    real.vanish()
    run_id = new_run()
    for ask in (
        real.tmux.identity,
        partial(real.tmux.windows.find, run_id),
        real.tmux.windows.all,
        partial(real.tmux.windows.close_ended, "@1", run_id),
        real.tmux.clients.all,
        partial(real.tmux.status.push, {"status": ""}),
    ):
        with pytest.raises(tmux.NoServer):
            ask()
    assert real.tmux.windows.open(an_order(run_id), home()).session_name == "agents-app"
    assert real.tmux.windows.find(run_id) is not None


def test_a_window_is_closed_after_its_time(real: Real) -> None:
    closing, armed_twice, retagged, failed, seen, lives = (new_run() for _ in range(6))
    opened = {
        run: real.tmux.windows.open(an_order(run), home())
        for run in (closing, armed_twice, retagged, failed, seen, lives)
    }
    for run in (closing, armed_twice, retagged, failed, seen):
        real.end_program(opened[run].window)
    person = real.attach()
    assert real.tmux.clients.show(person, opened[seen].window, session=opened[seen].session, run_id=seen)
    for run in (closing, armed_twice, armed_twice, retagged, seen, lives):
        assert real.tmux.windows.arm_close(opened[run].window, run, 1)
    assert not real.tmux.windows.arm_close(opened[failed].window, new_run(), 1)
    real.retag(opened[retagged].window, failed[::-1])
    assert set(real.tmux.windows.all()) >= set(opened) - {retagged}
    real.pass_s(1.5)
    assert set(real.tmux.windows.all()) == {failed, failed[::-1], seen, lives}
    real.leave(person)  # after a look, it is closed so long after the next time that nobody looks
    real.pass_s(1.2)
    assert set(real.tmux.windows.all()) == {failed, failed[::-1], lives}


def test_a_run_is_shown_to_one_client_and_nobody_elses_view_is_moved(real: Real) -> None:
    run, other = new_run(), new_run()
    opened = [real.tmux.windows.open(an_order(run_id), home()) for run_id in (other, run)]
    onlooker, person = real.attach(opened[0].session), real.attach()
    show = partial(real.tmux.clients.show, session=opened[1].session)
    assert not show(person, opened[1].window, run_id=other)
    assert show(person, opened[1].window, run_id=run)
    assert real.looks_at(person) == opened[1].window
    assert real.looks_at(onlooker) == opened[0].window
    views = [name for name in real.session_names() if name.startswith(style.VIEW)]
    assert len(views) == 1
    there = real.tmux.windows.find(run)
    assert there is not None
    assert there.session == opened[1].session
    assert real.tmux.windows.all()[run].session == opened[1].session
    real.tmux.clients.back(person)
    eventually(lambda: views[0] not in real.session_names(), 3)
    assert real.tmux.windows.find(run) is not None


def test_a_client_goes_from_view_to_view(real: Real) -> None:
    run, other = new_run(), new_run()
    first, second = (real.tmux.windows.open(an_order(run_id), home()) for run_id in (other, run))
    person = real.attach()
    for opened, run_id in ((second, run), (first, other)):
        assert real.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id)
        assert real.looks_at(person) == opened.window
        (client,) = real.tmux.clients.all()
        assert (client.view, client.session != opened.session) == (True, True)


def test_a_view_ends_with_its_client(real: Real) -> None:
    run = new_run()
    opened = real.tmux.windows.open(an_order(run), home())
    real.attach(opened.session)
    person = real.attach()
    assert real.tmux.clients.show(person, opened.window, session=opened.session, run_id=run)
    real.leave(person)
    eventually(lambda: real.session_names() == {"work", "agents-app"}, 3)
    assert real.tmux.windows.find(run) is not None


def test_who_looks_at_what(real: Real) -> None:
    opened = real.tmux.windows.open(an_order(new_run()), home())
    person, onlooker = real.attach(), real.attach(opened.session)
    everybody = {client.name: client for client in real.tmux.clients.all()}
    assert set(everybody) == {person, onlooker}
    assert everybody[onlooker].session == opened.session
    assert everybody[onlooker].window == opened.window
    assert not everybody[onlooker].control
    assert [client.name for client in real.tmux.clients.all(opened.session)] == [onlooker]
    assert real.tmux.windows.session_of(opened.pane) == opened.session
    assert real.tmux.windows.session_of("%999") is None
    found = [real.tmux.clients.at(pane) for pane in (opened.pane, real.pane_of(person))]
    assert [client.name if client else None for client in found] == [onlooker, person]
    assert real.tmux.clients.at("%999") is None
    by_terminal = real.tmux.clients.at(real.tty_of(opened.pane))
    assert by_terminal is not None
    assert by_terminal.name == onlooker
    assert real.tmux.clients.at("/dev/pts/9999") is None


def test_the_terminal_of_a_dead_pane_may_be_another_one_by_now(real: Real) -> None:
    opened = real.tmux.windows.open(an_order(new_run()), home())
    real.attach(opened.session)
    tty = real.tty_of(opened.pane)
    real.end_program(opened.window)
    assert real.tty_of(opened.pane) == tty  # tmux goes on to name it
    assert real.tmux.clients.at(tty) is None
    assert real.tmux.clients.at(opened.pane) is not None


def test_what_is_known_of_who_looks(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    person, onlooker = real.attach(), real.attach(opened.session)
    trail = f"{person},$0:@0,{new_run()}"
    show = partial(real.tmux.clients.show, person, opened.window, session=opened.session, run_id=run_id)
    assert show(trail=trail)
    seen = {client.name: client for client in real.tmux.clients.all()}
    assert (seen[person].trail, seen[person].view, seen[person].run_id) == (trail, True, run_id)
    assert (seen[onlooker].trail, seen[onlooker].view, seen[onlooker].run_id) == ("", False, run_id)
    with pytest.raises(ValueError, match="no trail"):
        tmux.Tmux("/x").clients.show(person, "@0", session="$0", run_id=run_id, trail="#(x)")


def test_a_client_is_detached(real: Real) -> None:
    person, onlooker = real.attach(), real.attach()
    real.tmux.clients.detach(person)
    eventually(lambda: [client.name for client in real.tmux.clients.all()] == [onlooker])


def test_only_a_view_that_nobody_looks_at_is_ended_at_once(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    real.attach(opened.session)
    person = real.attach()
    assert real.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id)
    (view,) = [client for client in real.tmux.clients.all() if client.view]
    everything = real.session_names()
    for session in (view.session, opened.session, "$0", "$99"):
        real.tmux.clients.end_view(session)
    assert real.session_names() == everything
    real.tmux.clients.back(person)
    real.tmux.clients.end_view(view.session)
    assert real.session_names() == {"work", "agents-app"}
    assert real.tmux.windows.find(run_id) is not None


def test_who_showed_nothing_before_cannot_go_back(real: Real) -> None:
    with pytest.raises(tmux.TmuxRefused, match="last session"):
        real.tmux.clients.back(real.attach())


def test_the_status_line_is_declared_once_and_then_pushed(real: Real) -> None:
    real.attach()
    assert real.tmux.status.declare()
    assert not real.tmux.status.declare()
    for text in ("bg: 2 running, 1 failed / 5 total", "✓ scout · bg: 1 running;", ""):
        real.tmux.status.push({"status": text, "running": "2"})
        assert real.status_line == text
    real.tmux.status.withdraw()
    assert real.status_line == ""
    assert real.tmux.status.declare()


def test_the_status_text_changes_by_itself_unless_something_was_pushed(real: Real) -> None:
    real.tmux.status.declare()
    real.tmux.status.push({"status": "✓ a, b} bg: 0 running / 1 total"}, [(1, "never"), (2, "")])
    real.tmux.status.push({"status": "bg: 1 running / 2 total", "running": "1"})
    real.pass_s(1.5)
    assert real.status_line == "bg: 1 running / 2 total"
    real.tmux.status.push({"status": "✗ (it's) bg: 0 running"}, [(1, "soon ~ $HOME ; `x`"), (3, "")])
    assert real.status_line == "✗ (it's) bg: 0 running"
    real.pass_s(1.6)
    assert real.status_line == "soon ~ $HOME ; `x`"
    real.pass_s(2)
    assert real.status_line == ""


def test_a_message_is_shown_unless_it_would_freeze_screens(real: Real) -> None:
    person = real.attach()
    real.tmux.status.declare()
    real.tmux.status.push({"status": "bg: 1 running / 1 total"})
    assert real.tmux.status.message() == real.shows_messages
    real.leave(person)
    assert real.tmux.status.message()  # there is nobody to see it


@pytest.mark.parametrize("values", [{"status": "#[fg=red]"}, {"status": "a\x1bb"}, {"other": "x"}])
def test_what_is_no_text_for_a_status_line_is_refused(real: Real, values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"status line|other|#|x1b"):
        real.tmux.status.push(values)


def test_an_option_of_a_person_is_read_and_given_back(real: Real) -> None:
    before = real.tmux.options.read("status-right")
    assert before
    assert real.tmux.options.read("@ours") is None
    for text in ("007", "on", f"{before} #{{E:@tmuxagents_status}}", '"q" \\ $HOME ~ %H ;\n #(x) é␞;', ""):
        real.tmux.options.write("status-right", text)
        assert real.tmux.options.read("status-right") == text
    real.tmux.options.write("status-right", before)
    assert real.tmux.options.read("status-right") == before
    real.tmux.options.write("status-right", "some text")
    assert real.tmux.options.width("status-right") == len("some text")
    real.tmux.options.write("status-right", before)
    real.tmux.options.write("@ours", "x")
    real.tmux.options.write("@ours", None)
    assert real.tmux.options.read("@ours") is None


WRONG: list[Callable[[], object]] = [
    lambda: an_order("ABCDEF0123456789"),
    lambda: an_order("0123"),
    lambda: an_order(new_run(), name="x#(touch y)"),
    lambda: an_order(new_run(), name="-d"),
    lambda: an_order(new_run(), name=""),
    lambda: an_order(new_run(), name="é"),
    lambda: an_order(new_run(), name="x" * 49),
    lambda: an_order(new_run(), argv=["sleep", "1"]),
    lambda: an_order(new_run(), argv=[]),
    lambda: tmux.Home(["work:0"], owner=OWNER),
    lambda: tmux.Home(["work"], owner="mine"),
    lambda: tmux.Home(session="@1"),
    lambda: tmux.Home(session="$1;"),
    lambda: script.a_client("/dev/pts/#{x}"),
    lambda: script.by_shell(["display-message", "it's"]),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_no_word_of_a_user_comes_near_tmux(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="no "):
        wrong()


def test_a_word_for_tmux_is_refused(real: Real) -> None:
    for wrong in (
        partial(real.tmux.windows.find, "x"),
        partial(real.tmux.windows.close_ended, "work:1", new_run()),
        partial(real.tmux.windows.set_state, "@1", new_run(), "#{pid}"),
    ):
        with pytest.raises(ValueError, match="no "):
            wrong()
