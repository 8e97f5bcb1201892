"""The tmux edge: the same tests on the real tmux and on the fake."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.fakes import tmux as fakes
from tests.harness import eventually
from tests.tmux.worlds import NAMES, OTHER, OWNER, Real, World, an_order, home, new_run
from tmuxagents import tmux
from tmuxagents.errors import Unusable
from tmuxagents.tmux import script, windows

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def test_the_fake_has_the_verbs_of_the_edge() -> None:
    real, fake = tmux.Tmux("/x"), fakes.Tmux(fakes.World())
    assert verbs(real) == verbs(fake)
    for part in ("windows", "clients", "status", "options"):
        assert verbs(getattr(real, part)) == verbs(getattr(fake, part))


def verbs(of: object) -> dict[str, str]:
    methods = inspect.getmembers(of, inspect.ismethod)
    texts = {name: str(inspect.signature(method)) for name, method in methods if not name.startswith("_")}
    return {name: text.replace("tmux.", "") for name, text in texts.items()}


def test_a_window_is_opened_behind_everybodys_back(world: World) -> None:
    person = world.attach()
    seen = world.looks_at(person)
    run_id = new_run()
    opened = world.tmux.windows.open(an_order(run_id), home())
    assert opened.session_name == "agents-app"
    assert world.name_of(opened.window) == "scout"
    assert world.state_of(opened.window) == "queued"
    assert opened.server == world.tmux.identity()
    assert world.looks_at(person) == seen
    found = world.tmux.windows.find(run_id)
    assert found is not None
    assert (found.window, found.session, found.run_id) == (opened.window, opened.session, run_id)
    assert (found.watched, found.dead) == (0, False)


def test_windows_of_a_project_share_a_session(world: World) -> None:
    first, second = (world.tmux.windows.open(an_order(new_run()), home()) for _ in range(2))
    assert first.session == second.session
    assert first.window != second.window
    assert first.pane != second.pane
    assert world.session_names() == {"work", "agents-app"}


def test_projects_of_one_name_have_sessions_of_their_own(world: World) -> None:
    other = world.tmux.windows.open(an_order(new_run()), home(owner=OTHER))
    ours = [world.tmux.windows.open(an_order(new_run()), home()) for _ in range(2)]
    assert other.session_name == "agents-app"
    assert [opened.session_name for opened in ours] == [NAMES[1], NAMES[1]]
    assert world.tmux.windows.open(an_order(new_run()), home(owner=OTHER)).session == other.session


def test_a_project_stays_in_its_session_when_the_first_name_becomes_free(world: World) -> None:
    run_id = new_run()
    other = world.tmux.windows.open(an_order(run_id), home(owner=OTHER))
    world.tmux.windows.open(an_order(new_run()), home())
    world.tmux.windows.kill(other.window, run_id)
    assert world.tmux.windows.open(an_order(new_run()), home()).session_name == NAMES[1]


def test_without_a_free_name_nothing_is_opened(world: World) -> None:
    world.tmux.windows.open(an_order(new_run()), home(owner=OTHER))
    with pytest.raises(Unusable) as raised:
        world.tmux.windows.open(an_order(new_run()), tmux.Home(NAMES[:1], owner=OWNER))
    assert raised.value.kind == "window"


def test_a_window_can_go_to_a_session_that_is_named_by_its_id(world: World) -> None:
    pane = world.pane_of(world.attach())
    session = world.tmux.clients.session_of(pane)
    opened = world.tmux.windows.open(an_order(new_run()), tmux.Home(session=session))
    assert (opened.session, opened.session_name) == (session, "work")
    with pytest.raises(Unusable) as raised:
        world.tmux.windows.open(an_order(new_run()), tmux.Home(session="$99"))
    assert raised.value.kind == "window"


def test_no_run_no_window(world: World) -> None:
    world.stranger("scout")
    assert world.tmux.windows.find(new_run()) is None
    assert world.tmux.windows.all() == {}


def test_all_windows_of_runs_are_listed(world: World) -> None:
    world.stranger("scout")
    opened = {run: world.tmux.windows.open(an_order(run), home()).window for run in (new_run(), new_run())}
    assert {run: window.window for run, window in world.tmux.windows.all().items()} == opened


def test_a_command_that_has_ended_leaves_its_window(world: World) -> None:
    run_id = new_run()
    world.end_program(world.tmux.windows.open(an_order(run_id), home()).window)
    dead = world.tmux.windows.find(run_id)
    assert dead is not None
    assert dead.dead


def test_how_the_program_of_a_pane_came_to_its_end(world: World) -> None:
    run_id = new_run()
    opened = world.tmux.windows.open(an_order(run_id), home())
    assert world.tmux.windows.end_of(opened.pane) is None
    world.end_program(opened.window)
    assert world.tmux.windows.end_of(opened.pane) is not None
    world.tmux.windows.kill(opened.window, run_id)
    with pytest.raises(tmux.Refused):
        world.tmux.windows.end_of(opened.pane)


def test_state_is_shown_on_the_runs_own_window_only(world: World) -> None:
    run_id, stranger = new_run(), world.stranger("scout")
    window = world.tmux.windows.open(an_order(run_id), home()).window
    assert world.tmux.windows.set_state(window, run_id, "completed")
    assert world.state_of(window) == "completed"
    assert not world.tmux.windows.set_state(window, new_run(), "failed")
    assert not world.tmux.windows.set_state(stranger, run_id, "failed")
    assert not world.tmux.windows.set_state("@999", run_id, "failed")
    assert world.state_of(window) == "completed"


def test_only_the_runs_own_window_is_closed(world: World) -> None:
    run_id, stranger = new_run(), world.stranger("scout")
    window = world.tmux.windows.open(an_order(run_id), home()).window
    before = world.window_ids()
    assert not world.tmux.windows.kill(window, new_run())
    assert not world.tmux.windows.kill(stranger, run_id)
    assert not world.tmux.windows.kill("@999", run_id)
    assert world.window_ids() == before
    assert world.tmux.windows.kill(window, run_id)
    assert world.window_ids() == before - {window}
    assert not world.tmux.windows.kill(window, run_id)


def test_a_pane_is_closed_in_its_runs_own_window_only(world: World) -> None:
    run_id = new_run()
    opened, before = world.tmux.windows.open(an_order(run_id), home()), world.window_ids()
    assert not world.tmux.windows.close_pane(opened.pane, new_run())
    assert not world.tmux.windows.close_pane("%999", run_id)
    assert world.window_ids() == before
    assert world.tmux.windows.close_pane(opened.pane, run_id)
    assert world.window_ids() == before - {opened.window}


def test_what_a_person_has_put_beside_a_pane_outlives_it(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    theirs = real.run("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", opened.window, "sleep 600")
    assert real.tmux.windows.close_pane(opened.pane, run_id)
    assert real.run("list-panes", "-t", opened.window, "-F", "#{pane_id}") == theirs


def test_a_window_that_lives_or_is_looked_at_is_not_closed_for_having_ended(world: World) -> None:
    ended, lives, seen = (new_run() for _ in range(3))
    opened = {run: world.tmux.windows.open(an_order(run), home()) for run in (ended, lives, seen)}
    person = world.attach()
    assert world.tmux.clients.show(person, opened[seen].window, session=opened[seen].session, run_id=seen)
    for run in (ended, seen):
        world.end_program(opened[run].window)
    assert not world.tmux.windows.close_ended(opened[ended].window, lives)
    assert [world.tmux.windows.close_ended(opened[run].window, run) for run in opened] == [True, False, False]
    assert set(world.tmux.windows.all()) == {lives, seen}


def test_a_window_that_a_person_has_split_is_not_closed_for_having_ended(real: Real) -> None:
    run_id = new_run()
    opened = real.tmux.windows.open(an_order(run_id), home())
    theirs = real.run("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", opened.window, "sleep 600")
    real.end_program(opened.window)
    assert not real.tmux.windows.close_ended(opened.window, run_id)
    real.run("kill-pane", "-t", theirs)
    assert real.tmux.windows.close_ended(opened.window, run_id)


def test_a_stale_id_after_a_restart_is_never_touched(world: World) -> None:
    run_id = new_run()
    opened = world.tmux.windows.open(an_order(run_id), home())
    world.restart()
    while opened.window not in world.window_ids():
        world.stranger("editor")
    person = world.attach()
    seen, before = world.looks_at(person), world.window_ids()
    assert world.tmux.identity() != opened.server
    assert not world.tmux.windows.kill(opened.window, run_id)
    assert not world.tmux.windows.set_state(opened.window, run_id, "failed")
    assert not world.tmux.windows.arm_close(opened.window, run_id, 1)
    assert not world.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id)
    assert world.tmux.clients.prepare_view(opened.window, session=opened.session, run_id=run_id) is None
    assert (world.looks_at(person), world.window_ids()) == (seen, before)


def test_without_a_server_there_is_a_third_answer(world: World) -> None:
    world.vanish()
    run_id = new_run()
    for ask in (
        world.tmux.identity,
        partial(world.tmux.windows.find, run_id),
        world.tmux.windows.all,
        partial(world.tmux.windows.kill, "@1", run_id),
        world.tmux.clients.all,
        partial(world.tmux.status.push, {"status": ""}),
    ):
        with pytest.raises(tmux.NoServer):
            ask()
    assert world.tmux.windows.open(an_order(run_id), home()).session_name == "agents-app"
    assert world.tmux.windows.find(run_id) is not None


def test_a_window_is_closed_after_its_time(world: World) -> None:
    closing, armed_twice, retagged, failed, seen, lives = (new_run() for _ in range(6))
    opened = {
        run: world.tmux.windows.open(an_order(run), home())
        for run in (closing, armed_twice, retagged, failed, seen, lives)
    }
    for run in (closing, armed_twice, retagged, failed, seen):
        world.end_program(opened[run].window)
    person = world.attach()
    assert world.tmux.clients.show(person, opened[seen].window, session=opened[seen].session, run_id=seen)
    for run in (closing, armed_twice, armed_twice, retagged, seen, lives):
        assert world.tmux.windows.arm_close(opened[run].window, run, 1)
    assert not world.tmux.windows.arm_close(opened[failed].window, new_run(), 1)
    world.retag(opened[retagged].window, failed[::-1])
    assert set(world.tmux.windows.all()) >= set(opened) - {retagged}
    world.pass_s(1.5)
    assert set(world.tmux.windows.all()) == {failed, failed[::-1], seen, lives}
    world.leave(person)  # after a look, it is closed so long after the next time that nobody looks
    world.pass_s(1.2)
    assert set(world.tmux.windows.all()) == {failed, failed[::-1], lives}


def test_a_run_is_shown_to_one_client_and_nobody_elses_view_is_moved(world: World) -> None:
    run, other = new_run(), new_run()
    opened = [world.tmux.windows.open(an_order(run_id), home()) for run_id in (other, run)]
    onlooker, person = world.attach(opened[0].session), world.attach()
    show = partial(world.tmux.clients.show, session=opened[1].session)
    assert not show(person, opened[1].window, run_id=other)
    assert show(person, opened[1].window, run_id=run)
    assert world.looks_at(person) == opened[1].window
    assert world.looks_at(onlooker) == opened[0].window
    views = [name for name in world.session_names() if name.startswith(windows.VIEW)]
    assert len(views) == 1
    there = world.tmux.windows.find(run)
    assert there is not None
    assert there.session == opened[1].session
    assert world.tmux.windows.all()[run].session == opened[1].session
    world.tmux.clients.back(person)
    eventually(lambda: views[0] not in world.session_names(), 3)
    assert world.tmux.windows.find(run) is not None


def test_a_client_goes_from_view_to_view(world: World) -> None:
    run, other = new_run(), new_run()
    first, second = (world.tmux.windows.open(an_order(run_id), home()) for run_id in (other, run))
    person = world.attach()
    for opened, run_id in ((second, run), (first, other)):
        assert world.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id)
        assert world.looks_at(person) == opened.window
        (client,) = world.tmux.clients.all()
        assert (client.view, client.session != opened.session) == (True, True)


def test_a_view_ends_with_its_client(world: World) -> None:
    run = new_run()
    opened = world.tmux.windows.open(an_order(run), home())
    world.attach(opened.session)
    person = world.attach()
    assert world.tmux.clients.show(person, opened.window, session=opened.session, run_id=run)
    world.leave(person)
    eventually(lambda: world.session_names() == {"work", "agents-app"}, 3)
    assert world.tmux.windows.find(run) is not None


def test_who_looks_at_what(world: World) -> None:
    opened = world.tmux.windows.open(an_order(new_run()), home())
    person, onlooker = world.attach(), world.attach(opened.session)
    everybody = {client.name: client for client in world.tmux.clients.all()}
    assert set(everybody) == {person, onlooker}
    assert everybody[onlooker].session == opened.session
    assert everybody[onlooker].window == opened.window
    assert not everybody[onlooker].control
    assert [client.name for client in world.tmux.clients.all(opened.session)] == [onlooker]
    assert world.tmux.clients.session_of(opened.pane) == opened.session
    assert world.tmux.clients.session_of("%999") is None
    found = [world.tmux.clients.at(pane) for pane in (opened.pane, world.pane_of(person))]
    assert [client.name if client else None for client in found] == [onlooker, person]
    assert world.tmux.clients.at("%999") is None
    by_terminal = world.tmux.clients.at(world.tty_of(opened.pane))
    assert by_terminal is not None
    assert by_terminal.name == onlooker
    assert world.tmux.clients.at("/dev/pts/9999") is None


def test_what_is_known_of_who_looks(world: World) -> None:
    run_id = new_run()
    opened = world.tmux.windows.open(an_order(run_id), home())
    person, onlooker = world.attach(), world.attach(opened.session)
    trail = f"{person},$0:@0,{new_run()}"
    show = partial(world.tmux.clients.show, person, opened.window, session=opened.session, run_id=run_id)
    assert show(trail=trail)
    seen = {client.name: client for client in world.tmux.clients.all()}
    assert (seen[person].trail, seen[person].view, seen[person].run_id) == (trail, True, run_id)
    assert (seen[onlooker].trail, seen[onlooker].view, seen[onlooker].run_id) == ("", False, run_id)
    with pytest.raises(ValueError, match="no trail"):
        tmux.Tmux("/x").clients.show(person, "@0", session="$0", run_id=run_id, trail="#(x)")


def test_a_client_is_detached(world: World) -> None:
    person, onlooker = world.attach(), world.attach()
    world.tmux.clients.detach(person)
    eventually(lambda: [client.name for client in world.tmux.clients.all()] == [onlooker])


def test_only_a_view_that_nobody_looks_at_is_ended_at_once(world: World) -> None:
    run_id = new_run()
    opened = world.tmux.windows.open(an_order(run_id), home())
    world.attach(opened.session)
    person = world.attach()
    assert world.tmux.clients.show(person, opened.window, session=opened.session, run_id=run_id)
    (view,) = [client for client in world.tmux.clients.all() if client.view]
    everything = world.session_names()
    for session in (view.session, opened.session, "$0", "$99"):
        world.tmux.clients.end_view(session)
    assert world.session_names() == everything
    world.tmux.clients.back(person)
    world.tmux.clients.end_view(view.session)
    assert world.session_names() == {"work", "agents-app"}
    assert world.tmux.windows.find(run_id) is not None


def test_who_showed_nothing_before_cannot_go_back(world: World) -> None:
    with pytest.raises(tmux.Refused, match="last session"):
        world.tmux.clients.back(world.attach())


def test_the_status_line_is_declared_once_and_then_pushed(world: World) -> None:
    world.attach()
    assert world.tmux.status.declare()
    assert not world.tmux.status.declare()
    for text in ("bg: 2 running, 1 failed / 5 total", "✓ scout · bg: 1 running;", ""):
        world.tmux.status.push({"status": text, "running": "2"})
        assert world.status_line == text
    world.tmux.status.withdraw()
    assert world.status_line == ""
    assert world.tmux.status.declare()


def test_the_status_text_changes_by_itself_unless_something_was_pushed(world: World) -> None:
    world.tmux.status.declare()
    world.tmux.status.push({"status": "✓ a, b} bg: 0 running / 1 total"}, [(1, "never"), (2, "")])
    world.tmux.status.push({"status": "bg: 1 running / 2 total", "running": "1"})
    world.pass_s(1.5)
    assert world.status_line == "bg: 1 running / 2 total"
    world.tmux.status.push({"status": "✗ (it's) bg: 0 running"}, [(1, "soon ~ $HOME ; `x`"), (3, "")])
    assert world.status_line == "✗ (it's) bg: 0 running"
    world.pass_s(1.6)
    assert world.status_line == "soon ~ $HOME ; `x`"
    world.pass_s(2)
    assert world.status_line == ""


def test_a_message_is_shown_unless_it_would_freeze_screens(world: World) -> None:
    person = world.attach()
    world.tmux.status.declare()
    world.tmux.status.push({"status": "bg: 1 running / 1 total"})
    assert world.tmux.status.message() == world.shows_messages
    world.leave(person)
    assert world.tmux.status.message()  # there is nobody to see it


@pytest.mark.parametrize("values", [{"status": "#[fg=red]"}, {"status": "a\x1bb"}, {"other": "x"}])
def test_what_is_no_text_for_a_status_line_is_refused(world: World, values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"status line|other|#|x1b"):
        world.tmux.status.push(values)


def test_an_option_of_a_person_is_read_and_given_back(world: World) -> None:
    before = world.tmux.options.read("status-right")
    assert before
    assert world.tmux.options.read("@ours") is None
    for text in ("007", "on", f"{before} #{{E:@tmuxagents_status}}", '"q" \\ $HOME ~ %H ;\n #(x) é␞;', ""):
        world.tmux.options.write("status-right", text)
        assert world.tmux.options.read("status-right") == text
    world.tmux.options.write("status-right", before)
    assert world.tmux.options.read("status-right") == before
    world.tmux.options.write("status-right", "some text")
    assert world.tmux.options.width("status-right") == len("some text")
    world.tmux.options.write("status-right", before)
    world.tmux.options.write("@ours", "x")
    world.tmux.options.write("@ours", None)
    assert world.tmux.options.read("@ours") is None


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


def test_a_word_for_tmux_is_refused_by_either(world: World) -> None:
    for wrong in (
        partial(world.tmux.windows.find, "x"),
        partial(world.tmux.windows.kill, "work:1", new_run()),
        partial(world.tmux.windows.set_state, "@1", new_run(), "#{pid}"),
    ):
        with pytest.raises(ValueError, match="no "):
            wrong()
