"""Timeouts of working children, and the end of children that ignore signals, with real wrappers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness import Home, alive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness import Run

MESSAGE = "Timed out after 1s. Consider resuming with a longer timeout."
WORKS = "".join(f'tool ls {{"path":"{number}"}}\nsleep 0.4\n' for number in range(6))  # 2.4 s
DEBOUNCE_S, TERM_S = 2.0, 5.0
# Name -> what its child does, and how long a silence past its time may be.
CHILDREN = {
    "works on": (f"begin\n{WORKS}sleep 60", DEBOUNCE_S),
    "is done late": (f"begin\n{WORKS}answer stop late\nsettle", DEBOUNCE_S),
    "will not go": (
        "ignore SIGTERM SIGHUP SIGINT\nfound stubborn\nfound tool\nbegin\nanswer toolUse x\nsleep 60",
        0.0,
    ),
}


@pytest.fixture(scope="module")
def children(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Run]]:
    """Let all children work at the same time, each with a timeout of one second."""
    home = Home(tmp_path_factory.mktemp("guarded"))
    variable = "TMUXAGENTS_EXTEND_TIMEOUT_DEBOUNCE"
    runs = {
        name: home.run(script, timeout=1).start({variable: f"{silence:g}"})
        for name, (script, silence) in CHILDREN.items()
    }
    for run in runs.values():
        run.wait()
    yield runs
    home.end_all()


def ending(run: Run, *keys: str) -> list[object]:
    result = run.result()
    assert result is not None
    return [result[key] for key in keys]


def moment(run: Run, kind: str) -> float:
    """Return the time of the last event of a kind."""
    return float([event["at"] for event in run.events() if event["type"] == kind][-1])


def test_a_child_that_works_past_its_timeout_is_left_alone_until_it_is_idle(children: dict[str, Run]) -> None:
    run = children["works on"]
    assert ending(run, "status", "reason", "errorMessage") == ["failed", "timeout", MESSAGE]
    assert ending(run, "toolCount") == [6], "all that it did past its time"
    assert moment(run, "child_exited") - moment(run, "tool_result") >= DEBOUNCE_S - 0.1


def test_a_child_that_is_done_after_its_time_has_completed(children: dict[str, Run]) -> None:
    run = children["is done late"]
    assert ending(run, "status", "reason", "output") == ["completed", "done", "late"]


def test_one_that_ignores_term_is_ended_with_its_tools_five_seconds_later(children: dict[str, Run]) -> None:
    run = children["will not go"]
    assert ending(run, "reason", "errorMessage", "signal") == ["timeout", MESSAGE, "SIGKILL"]
    assert moment(run, "child_exited") - moment(run, "run_started") >= 1 + TERM_S - 0.1
    recorded = run.home.recorded()
    assert sorted(recorded) == ["stubborn", "tool"]
    assert not any(map(alive, recorded.values()))
