"""All vectors, the shared ones and more of our own, as scripts/conformance judges them; and that judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scripts.conforming import cases
from scripts.conforming.cases import Case
from scripts.conforming.groups import ON_DISK, PURE
from scripts.conforming.judge import Failure, are_equal, judge

DATA = Path(__file__).parents[1] / "data"
SHARED = cases.read(str(DATA / "conformance.json"))
MORE = cases.read(str(DATA / "conformance-more.json"))


@pytest.mark.parametrize("case", [case for case in (*SHARED, *MORE) if case.group in PURE], ids=repr)
def test_vector(case: Case) -> None:
    failure = judge(case)
    assert failure is None, f"\n{failure}"


@pytest.mark.parametrize("vectors", [SHARED, MORE], ids=["shared", "more"])
def test_every_group_has_cases(vectors: list[Case]) -> None:
    assert {case.group for case in vectors} == {*PURE, *ON_DISK}


@pytest.mark.parametrize("vectors", [SHARED, MORE], ids=["shared", "more"])
def test_no_case_hides_another(vectors: list[Case]) -> None:
    names = [repr(case) for case in vectors]
    assert len(set(names)) == len(names)


# --- the judge ---


def failed(raw: Any, group: str = "stripAnsi") -> Failure:
    failure = judge(Case(group, 1, raw))
    assert failure is not None
    return failure


def test_a_case_that_wants_something_else_fails_with_both() -> None:
    assert (
        str(failed({"id": "x", "in": {"text": "a"}, "out": "b"})) == 'stripAnsi/x\n  want  "b"\n  got   "a"'
    )


def test_every_case_can_fail() -> None:
    # Else something would answer in the code's place.
    for case in (*SHARED, *MORE):
        if case.group in PURE:
            other = Case(case.group, 1, {"in": case.given, "out": {"never": "this"}})
            assert judge(other) is not None, case


@pytest.mark.parametrize(
    ("raw", "got"),
    [
        ({"id": "x", "out": 1}, 'nothing: the case has no "in"'),
        ({"in": {}}, 'nothing: the case has neither "out" nor "error"'),
        ({"in": {}, "out": 1, "error": "e"}, 'nothing: the case has both "out" and "error"'),
        ([], "nothing: this is no case: a case is an object"),
        ("x", "nothing: this is no case: a case is an object"),
        ({"in": {}, "out": 1}, "KeyError: 'text'"),
        ({"in": None, "out": 1}, "TypeError: 'NoneType' object is not subscriptable"),
        ({"in": {"text": 5}, "out": 1}, "AttributeError: 'int' object has no attribute 'isprintable'"),
    ],
)
def test_what_cannot_be_judged_or_borne_is_a_failed_case(raw: Any, got: str) -> None:
    assert failed(raw).got == got


def test_a_case_of_an_unknown_group_fails_whatever_it_holds() -> None:
    for raw in ({"in": 1, "out": 1}, {"in": 1, "error": "x"}, None):
        assert failed(raw, "newGroup").got == "nothing: there is no such group here"


def test_what_nobody_could_print_is_a_failed_case() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert failed({"in": {"text": "x"}, "out": deep}).got == "nothing: it is nested too deeply"


def test_a_group_that_is_no_list_is_one_failed_case() -> None:
    (case,) = cases.of_group("stripAnsi", {"in": {"text": ""}, "out": ""})
    assert judge(case) is not None
    assert cases.of_group("stripAnsi", []) == []


REFUSED = {"in": {"profile": {"extraArgs": ["a;b"]}}}
WORDS = "Refusing extraArg: potentially unsafe argument 'a;b'"


def test_a_refusal_is_wanted_word_for_word() -> None:
    assert judge(Case("extraArgs", 1, {**REFUSED, "error": WORDS})) is None
    assert failed({**REFUSED, "error": "no"}, "extraArgs").got == f'refused: "{WORDS}"'
    assert failed({**REFUSED, "out": WORDS}, "extraArgs").got == f'refused: "{WORDS}"'
    # An error of ours is no refusal, and what is not refused is no error.
    assert failed({"in": {}, "error": "'profile'"}, "extraArgs").got == "KeyError: 'profile'"
    assert failed({"in": {"text": "a"}, "error": "a"}).wanted == 'refused: "a"'


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (False, 0, False),
        (None, False, False),
        ("1", 1, False),
        ([1, True], [1, True], True),
        ([1, True], [1, 1], False),
        ([1], [1, 2], False),
        ({"a": 1, "b": [{}]}, {"b": [{}], "a": 1.0}, True),
        ({"a": None}, {}, False),
        ({}, [], False),
        ("", None, False),
    ],
)
def test_equal_as_json(one: Any, other: Any, *, equal: bool) -> None:
    assert are_equal(one, other) is equal
    assert are_equal(other, one) is equal


def test_what_is_printed_of_a_failure_moves_no_cursor_and_has_an_end() -> None:
    shown = str(failed({"id": "\x1b[2J", "in": {"text": "\ud800é"}, "out": "\x9b\u202e" + "x" * 9000}))
    assert "\\u001b[2J" in shown
    assert '"\ufffdé"' in shown
    assert all(sign.isprintable() for sign in shown.replace("\n", ""))
    assert len(shown) < 5000
