"""The destinations that `--on` can name."""

from __future__ import annotations

import pytest

from tmuxagents.launch.plan import Destination, parse_on

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("on", "found"),
    [
        ("box", Destination("box")),
        ("slurmy", Destination("slurmy")),
        ("box:part", Destination("box:part")),  # no host has such a name: it is refused as unknown
        ("slurm", Destination(None, is_slurm=True)),
        ("slurm:", Destination(None, is_slurm=True)),
        ("slurm:gpu", Destination(None, is_slurm=True, partition="gpu")),
        ("slurm@box", Destination("box", is_slurm=True)),
        ("slurm@box:gpu", Destination("box", is_slurm=True, partition="gpu")),
        ("slurm@", Destination("", is_slurm=True)),
        ("", Destination("")),
    ],
)
def test_where_a_run_goes(on: str, found: Destination) -> None:
    assert parse_on(on) == found
