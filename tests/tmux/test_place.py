"""Which server, which session, which names: tables, and what must hold for any text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tmuxagents.errors import BadRequest
from tmuxagents.tmux import place

FOLDER = "/tmp/tmux-1000"
OWN = f"{FOLDER}/tmuxagents"
LETTERS = set("abcdefghijklmnopqrstuvwxyz0123456789_-")
ALL = {place.FLAG: "f", place.ENVIRONMENT: "e", place.SETTING: "s"}
CALLER = "/tmp/tmux-1000/default"


def choose(
    wanted: dict[str, str | None] | None = None, *, caller: str | None = None, lives: bool = False
) -> place.ChosenServer:
    return place.choose(wanted or {}, folder=FOLDER, caller=caller, caller_lives=lives)


@pytest.mark.parametrize(
    ("without", "source", "socket"),
    [
        ((), place.FLAG, f"{FOLDER}/f"),
        ((place.FLAG,), place.ENVIRONMENT, f"{FOLDER}/e"),
        ((place.FLAG, place.ENVIRONMENT), place.SETTING, f"{FOLDER}/s"),
        ((place.FLAG, place.ENVIRONMENT, place.SETTING), place.CALLER, CALLER),
    ],
)
def test_the_nearest_wish_wins(without: tuple[str, ...], source: str, socket: str) -> None:
    wanted: dict[str, str | None] = {name: None if name in without else value for name, value in ALL.items()}
    chosen = choose(wanted, caller=CALLER, lives=True)
    assert (chosen.source, chosen.socket, chosen.own, chosen.warning) == (source, socket, False, None)


def test_without_any_wish_and_outside_tmux_it_is_our_own() -> None:
    chosen = choose({place.FLAG: "", place.ENVIRONMENT: ""})
    assert (chosen.source, chosen.socket, chosen.own, chosen.warning) == (place.DEFAULT, OWN, True, None)


def test_a_caller_whose_server_is_gone_is_ignored_with_one_line() -> None:
    chosen = choose(caller=CALLER)
    assert (chosen.source, chosen.socket, chosen.own) == (place.DEFAULT, OWN, True)
    assert chosen.warning is not None
    assert CALLER in chosen.warning
    assert "\n" not in chosen.warning
    assert choose({place.FLAG: "x"}, caller=CALLER).warning is None


@pytest.mark.parametrize("wanted", ["tmuxagents", OWN])
def test_our_own_server_is_ours_whoever_names_it(wanted: str) -> None:
    assert choose({place.FLAG: wanted}).own
    assert choose(caller=OWN, lives=True).own
    assert not choose({place.FLAG: "/elsewhere/tmuxagents"}).own


@pytest.mark.parametrize("wanted", ["a/b", "../x", ".", "..", "a\nb", "/tmp/\x1b", "./x"])
@pytest.mark.parametrize(
    ("source", "kind"),
    [(place.FLAG, "usage"), (place.ENVIRONMENT, "bad-settings"), (place.SETTING, "bad-settings")],
)
def test_what_names_no_socket_is_refused(wanted: str, source: str, kind: str) -> None:
    with pytest.raises(BadRequest) as raised:
        choose({source: wanted})
    assert raised.value.kind == kind
    assert raised.value.faults[0].field == source


@pytest.mark.parametrize(
    ("project", "name"),
    [
        ("/home/dev/app", "agents-app"),
        ("/home/dev/app/", "agents-app"),
        ("/home/dev/My App (2)", "agents-my-app-2"),
        ("/home/dev/Café", "agents-cafe"),
        ("/x/#(touch y)", "agents-touch-y"),
        ("/x/a.b:c;d", "agents-a-b-c-d"),
        ("/x/-_odd_-", "agents-odd"),
        ("/x/проект", "agents-proekt"),
        ("/x/名前", "agents-project"),
        ("/", "agents-project"),
        ("/x/" + "long" * 20, "agents-" + "long" * 6),
    ],
)
def test_a_session_is_called_after_its_project(project: str, name: str) -> None:
    names = place.session_names(project)
    assert names[0] == name
    assert names[1] == f"{name}-{place.owner(project)[:4]}"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Login", "login"),
        ("fix/login", "fix-login"),
        ("v1.2", "v1-2"),
        ("имя", "imya"),
        ("Объём", "obem"),
        ("Ħøß", "hoss"),
        ("άλφα", "alfa"),
        ("œuvre", "oeuvre"),
        ("名前", "01a1ee15"),
    ],
)
def test_a_window_has_its_name_in_plain_letters(name: str, shown: str) -> None:
    assert place.safe_name(name, "01a1ee15") == shown


def test_two_projects_of_one_name_are_told_apart() -> None:
    one, other = place.session_names("/a/app"), place.session_names("/b/app")
    assert one[0] == other[0]
    assert not set(one[1:]) & set(other[1:])
    assert place.owner("/a/app") != place.owner("/b/app")


@given(st.text())
@example("x" * 200)
@example("\udcff/\u0301")
def test_no_text_leaves_anything_in_a_name_that_tmux_obeys(text: str) -> None:
    names = [*place.session_names(f"/x/{text}"), place.safe_name(text, "run")]
    for name in names:
        assert set(name) <= LETTERS
        assert name[0] not in "-_"
        assert len(name) <= 48
    assert len(set(names[:-1])) == len(names) - 1
