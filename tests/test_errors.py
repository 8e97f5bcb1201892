"""The error tree: each error has its exit code, and says at least one fault."""

import pytest

from tmuxagents.errors import BadConfig, BadRequest, Fault, NoSuchRun, NotPossible, TmuxAgentsError, Unusable


@pytest.mark.parametrize(
    ("error", "code"),
    [(TmuxAgentsError, 70), (BadRequest, 2), (BadConfig, 2), (Unusable, 3), (NotPossible, 4), (NoSuchRun, 4)],
)
def test_exit_code(error: type[TmuxAgentsError], code: int) -> None:
    assert error("It does not work.", kind="usage").exit_code == code
    assert issubclass(error, TmuxAgentsError)


def test_an_error_by_itself_is_its_own_fault() -> None:
    error = BadRequest("cwd must be an absolute path", kind="bad-cwd", hint="give it whole", field="cwd")
    assert str(error) == error.message == "cwd must be an absolute path"
    assert (error.kind, error.hint, error.candidates) == ("bad-cwd", "give it whole", [])
    assert [(fault.kind, fault.message, fault.field) for fault in error.faults] == [
        ("bad-cwd", "cwd must be an absolute path", "cwd")
    ]


def test_several_faults_are_kept_in_their_order() -> None:
    faults = (Fault("bad-cwd", "one", field="cwd"), Fault("no-model", "two"))
    error = BadRequest("one", kind="bad-cwd", faults=faults, candidates=("a", "b"))
    assert error.faults == list(faults)
    assert [fault.field for fault in error.faults] == ["cwd", None]
    assert error.candidates == ["a", "b"]


def test_no_hint_is_none() -> None:
    assert NoSuchRun("There is no such run.", kind="unknown-run").hint is None
