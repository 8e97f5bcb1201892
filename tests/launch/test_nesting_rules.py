"""The rules for children that may launch children: a preset and the parent decide, and limits only shrink."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.presets.preset_files import preset
from tmuxagents.launch import continued, nesting
from tmuxagents.launch.nesting import NestingPermission
from tmuxagents.launch.plan import NO_PRESET
from tmuxagents.presets import fields
from tmuxagents.runs.documents import plan_of

TOP, RUN = "01a1ee15069b4c1f", "01a1ee15069b4c20"


def bounded(
    run_id: str, wanted: int | None, given_: NestingPermission | None
) -> tuple[int | None, str | None]:
    """Return the levels and the root of a plan whose preset wants this number of levels."""
    set_up, root = nesting.bounded(run_id, NO_PRESET.changed(nesting=wanted), given_)
    return set_up.nesting, root


PLAN = {"nesting": 2, "root": TOP}


@pytest.mark.parametrize(
    ("said", "plan", "depth"),
    [
        ("2", PLAN, 1),
        ("1", PLAN, 0),
        ("3", PLAN, 1),  # more than its plan says
        ("0", PLAN, None),
        ("", PLAN, None),
        ("-1", PLAN, None),
        ("2.0", PLAN, None),
        ("²", PLAN, None),
        ("1" * 5000, PLAN, None),
        ("2", PLAN | {"nesting": 0}, None),
        ("2", PLAN | {"nesting": True}, None),
        ("2", PLAN | {"nesting": 9}, None),
        ("2", PLAN | {"nesting": "2"}, None),
        ("2", PLAN | {"root": None}, None),
        ("2", PLAN | {"root": "\0"}, None),
        ("2", PLAN | {"root": "../x"}, None),
        ("2", {}, None),
    ],
)
def test_a_child_passes_on_one_level_less_than_both_its_plan_and_its_environment_say(
    said: str, plan: dict[str, Any], depth: int | None
) -> None:
    given_ = nesting.permission_of(
        {"TMUXAGENTS_NESTING": said, "TMUXAGENTS_ROOT": "of no account"}, plan_of(plan)
    )
    assert (given_ and (given_.root, given_.depth)) == (None if depth is None else (TOP, depth))
    assert nesting.permission_of({}, plan_of(plan)) is None


def test_who_is_marked_is_a_child() -> None:
    marks: tuple[dict[str, str], ...] = ({}, {"PI_SUBAGENTS_CHILD": "0"}, {"PI_SUBAGENTS_CHILD": "1"})
    assert [nesting.is_child(mark) for mark in marks] == [False, False, True]


def test_a_preset_opens_it_and_a_parent_bounds_it() -> None:
    assert bounded(RUN, None, None) == (None, None)
    assert bounded(RUN, 3, None) == (3, RUN)
    assert bounded(RUN, None, NestingPermission(TOP, 1)) == (1, TOP)
    assert bounded(RUN, 3, NestingPermission(TOP, 1)) == (1, TOP)
    assert bounded(RUN, 1, NestingPermission(TOP, 2)) == (1, TOP)
    assert bounded(RUN, 3, NestingPermission(TOP, 0)) == (0, TOP)


@given(st.integers(1, 3), st.lists(st.integers(0, 3), max_size=6))
def test_whatever_presets_say_no_generation_has_more_than_the_one_before(top: int, below: list[int]) -> None:
    before, root = bounded(TOP, top, None)
    for wanted in below:
        plan = plan_of({"nesting": before, "root": root})
        given_ = nesting.permission_of(nesting.variables(plan, home="/h", socket=None), plan)
        if before == 0:
            assert given_ is None
            return
        depth, root = bounded(RUN, wanted, given_)
        assert depth is not None
        assert before is not None
        assert (root, depth < before) == (TOP, True)
        before = depth


def test_who_may_launch_is_told_where_and_who_may_not_is_told_that() -> None:
    assert nesting.variables(plan_of({"root": None}), home="/h", socket="/s") == {}
    own = {"TMUXAGENTS_NESTING": "2", "TMUXAGENTS_ROOT": TOP, "TMUXAGENTS_HOME": "/h"}
    assert nesting.variables(plan_of(PLAN), home="/h", socket=None) == own
    assert nesting.variables(plan_of(PLAN), home="/h", socket="/s") == own | {"TMUXAGENTS_SOCKET": "/s"}
    leaf = {"TMUXAGENTS_NESTING": "0", "TMUXAGENTS_ROOT": TOP}
    assert nesting.variables(plan_of(PLAN | {"nesting": 0}), home="/h", socket="/s") == leaf


def test_it_stands_in_the_plan_and_in_those_of_its_session() -> None:
    assert fields.set_up(preset("nesting: 2")).nesting == 2
    assert continued.set_up(plan_of({"nesting": 2})).nesting == 2
    assert fields.set_up(preset("")).nesting is None
