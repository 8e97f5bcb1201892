"""Words that name a run on the command line: its id or name, or the beginning of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tmuxagents.errors import BadRequest, NoSuchRun
from tmuxagents.launch import checks, plan
from tmuxagents.registry import database, lookup

if TYPE_CHECKING:
    from tests.harness import Home


def caller(home: Home) -> lookup.Caller:
    return lookup.Caller(home.environment, str(home.project))


def named(home: Home, *names: str) -> dict[str, str]:
    """Make a run of each name; return their directories."""
    return {name: str(home.run("x", name=name, project=str(home.project)).folder) for name in names}


def refusal(home: Home, reference: str) -> NoSuchRun:
    with pytest.raises(NoSuchRun) as caught:
        lookup.find_run(reference, caller(home))
    return caught.value


def test_a_beginning_that_one_name_has_means_its_run(home: Home) -> None:
    made = named(home, "sessions", "crawler", "fix/login", "Login", "имя")
    for beginning, name in [("sess", "sessions"), ("cr", "crawler"), ("fix/", "fix/login"), ("им", "имя")]:
        assert lookup.find_run(beginning, caller(home)) == made[name]
    for name, folder in made.items():
        assert lookup.find_run(name, caller(home)) == folder


def test_a_name_counts_before_a_longer_one(home: Home) -> None:
    made = named(home, "scout", "scout-2")
    assert lookup.find_run("scout", caller(home)) == made["scout"]


def test_one_letter_is_too_little(home: Home) -> None:
    named(home, "sessions")
    assert refusal(home, "s").kind == "unknown-run"
    assert str(refusal(home, "").hint).startswith("this name is empty: ")


def test_a_beginning_that_several_names_have_names_them(home: Home) -> None:
    named(home, "sess-one", "sess-two", "other")
    error = refusal(home, "sess")
    assert (error.kind, error.candidates) == ("ambiguous-run", ["sess-one", "sess-two"])
    assert error.message == '"sess" is the beginning of 2 names.'


def test_a_slip_is_met_with_near_names(home: Home) -> None:
    named(home, "sessions", "crawler")
    error = refusal(home, "sesions")
    assert (error.candidates, error.hint) == (["sessions"], "did you mean sessions?")


def test_a_name_of_hex_digits_is_one_as_long_as_no_id_begins_so(home: Home) -> None:
    made = named(home, "cafe")
    assert lookup.find_run("cafe", caller(home)) == made["cafe"]
    other = home.run("x", project=str(home.project))
    request = plan.LaunchRequest(task="x", cwd="/", project=str(home.project), name=other.run_id[:5])
    with pytest.raises(BadRequest, match="is the beginning of a run's id") as caught:
        lookup.with_registry(caller(home), lambda book: checks.refuse_namesake(book, caller(home), request))
    assert caught.value.faults[0].field == "name"


def test_an_id_counts_before_a_name_that_a_child_has_forged(home: Home) -> None:
    victim = home.run("x", project=str(home.project))
    named(home, victim.run_id[:8])
    assert lookup.find_run(victim.run_id[:8], caller(home)) == str(victim.folder)


def test_an_error_that_only_a_moment_had_costs_no_registry(home: Home) -> None:
    run = home.run("x")
    path = database.path_of(str(home.state))
    lookup.find_run(run.run_id[:8], caller(home))
    before = database.identity_of(path)
    asked: list[bool] = []

    def ask(book: database.Registry) -> set[str]:
        asked.append(True)
        if len(asked) == 1:
            raise LookupError("a run that was changing")
        return book.ids()

    assert lookup.with_registry(caller(home), ask) == ({run.run_id}, [])
    assert database.identity_of(path) == before is not None
