"""What another machine answers, as the error that it is here."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tmuxagents.errors import BadConfig, BadRequest, NoSuchRun, NotPossible, TmuxAgentsError, Unusable
from tmuxagents.launch import elsewhere
from tmuxagents.machines import refusals


def error(**body: Any) -> TmuxAgentsError:
    return refusals.of_document({"error": body}, "box")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"exit": 2, "kind": "bad-cwd"}, BadRequest),
        ({"exit": 3, "kind": "window"}, Unusable),
        ({"exit": NotPossible.exit_code, "kind": "run-busy"}, NotPossible),
        ({"exit": 99, "kind": "new"}, Unusable),
        ({"exit": "3", "kind": None}, Unusable),
        ({"exit": 3, "kind": "unknown-run"}, NoSuchRun),
        ({"exit": 3, "kind": "ambiguous-run"}, NoSuchRun),
        ({"exit": 3, "kind": "bad-profile"}, BadConfig),
    ],
)
def test_an_error_is_of_the_same_kind_here(body: dict[str, Any], kind: type[TmuxAgentsError]) -> None:
    found = error(message="No.", **body)
    assert type(found) is kind
    assert found.message == "box: No."
    assert found.kind == (body["kind"] or "internal")


def test_hint_faults_and_candidates_come_along() -> None:
    faults = [{"kind": "bad-model", "message": "No model.", "field": "model"}, "odd", None]
    found = error(exit=2, kind="bad-model", message="No.", hint="try x", faults=faults, candidates=["x", 1])
    assert (found.hint, list(found.candidates)) == ("try x", ["x", "1"])
    assert [(one.kind, one.message, one.field) for one in found.faults] == [
        ("bad-model", "No model.", "model")
    ]


@pytest.mark.parametrize("document", [{}, {"error": None}, {"error": []}, {"error": {}}])
def test_an_odd_answer_is_an_error_all_the_same(document: dict[str, Any]) -> None:
    found = refusals.of_document(document, "box")
    assert (type(found), found.kind, found.message) == (Unusable, "internal", "box: It gave no reason.")
    assert found.hint is None
    assert list(found.candidates) == []


def test_what_is_no_list_or_no_text_is_left_out() -> None:
    found = error(exit=2, kind="x", message="No.", faults=5, candidates={"a": 1})
    assert (found.candidates, [one.message for one in found.faults]) == ([], ["box: No."])
    found = error(exit=2, kind="x", message="No.", faults=[{"kind": "x", "message": "No.", "field": [1]}])
    assert [one.field for one in found.faults] == [None]


def test_a_hint_that_is_no_text_is_none() -> None:
    assert error(exit=2, kind="x", message="No.", hint=["x"]).hint is None


def test_where_a_run_works_is_one_document() -> None:
    found = elsewhere.marker("box", "ssh", state="submitting", here={"after": []}, tmux=None)
    assert found.pop("at") == pytest.approx(time.time(), abs=60)
    assert found == {
        "v": 1,
        "host": "box",
        "engine": "ssh",
        "state": "submitting",
        "handle": None,
        "waiting": None,
        "here": {"after": []},
        "tmux": None,
    }
