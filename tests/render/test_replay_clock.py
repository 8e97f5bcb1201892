"""The clock of a replay."""

from __future__ import annotations

import pytest

from tmuxagents.cli.verbs.replay import ReplayClock

MOMENTS = [100.0, 101.0, 105.0]


def test_events_come_in_their_own_time() -> None:
    pace = ReplayClock(MOMENTS, speed=1.0, now=0.0)
    assert [pace.due(now) for now in (0.0, 0.5, 1.0, 4.9, 5.0, 99.0)] == [1, 1, 2, 2, 3, 3]
    assert pace.wait(99.0) is None


@pytest.mark.parametrize(("speed", "wait"), [(1.0, 1.0), (4.0, 0.25), (0.5, 2.0)])
def test_a_replay_has_a_speed(speed: float, wait: float) -> None:
    pace = ReplayClock(MOMENTS, speed=speed, now=50.0)
    assert pace.wait(50.0) == wait
    assert pace.due(50.0 + wait) == 2
    assert pace.clock(50.0 + wait) == 101.0


def test_a_pause_stops_the_clock() -> None:
    pace = ReplayClock(MOMENTS, speed=1.0, now=0.0)
    pace.pause(0.5)
    assert (pace.due(60.0), pace.clock(60.0), pace.wait(60.0)) == (1, 100.5, None)
    pace.pause(60.0)
    assert pace.wait(60.0) == 0.5


def test_a_step_goes_to_the_next_event_also_in_a_pause() -> None:
    pace = ReplayClock(MOMENTS, speed=1.0, now=0.0)
    pace.step(0.1)
    assert (pace.due(0.1), pace.wait(0.1)) == (2, 4.0)
    pace.pause(0.2)
    pace.step(0.3)
    assert pace.due(0.3) == 3
    pace.step(0.4)
    assert pace.due(0.4) == 3


def test_the_speed_changes_without_a_jump() -> None:
    pace = ReplayClock(MOMENTS, speed=1.0, now=0.0)
    pace.change(0.5, faster=True)
    assert (pace.clock(0.5), pace.wait(0.5)) == (100.5, 0.25)
    pace.change(0.5, faster=False)
    assert pace.wait(0.5) == 0.5
    for faster in (True, False):
        for _ in range(40):
            pace.change(0.5, faster=faster)
    assert pace.wait(0.5) == 32.0


def test_events_of_one_moment_are_several_steps() -> None:
    pace = ReplayClock([100.0, 100.0, 99.0], speed=1.0, now=0.0)
    pace.pause(0.0)
    assert pace.due(0.0) == 1
    for number in (2, 3):
        pace.step(1.0)
        assert pace.due(1.0) == number
