"""The list of agents fits the terminal: at each width no row is torn, and what matters most stays."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tmuxagents.cli.verbs import agents

pytestmark = pytest.mark.pure
ROW = ("claude", "not installed", "2.1.328", "-", "yes", "yes", "yes", "estimated", "edit,read-only,full,ask")


@pytest.mark.parametrize("width", [46, 60, 80, 100, 200])
def test_it_fits_and_keeps_what_matters(width: int) -> None:
    header, row = agents._fitting([agents._HEADER, ROW], width)
    assert max(len(header), len(row)) <= width
    assert {"AGENT", "VERSION", "LIVE", "PERMISSION"} <= set(header.split())


def test_columns_go_by_their_importance_and_only_for_want_of_room() -> None:
    heads = [set(agents._fitting([agents._HEADER, ROW], width)[0].split()) for width in range(119, 39, -1)]
    assert heads[0] == set(agents._HEADER)
    lost = [name for before, after in pairwise(heads) for name in before - after]
    assert lost == list(agents._DROPPED)
