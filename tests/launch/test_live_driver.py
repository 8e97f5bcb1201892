"""A live child is shown as live in its plan, in the receipt and in tables."""

from __future__ import annotations

import pytest

from tests import plans
from tmuxagents.errors import BadRequest
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.runs import words
from tmuxagents.status import send


@pytest.mark.parametrize(("driver", "planned"), [(None, "batch"), ("batch", "batch"), ("live", "live")])
def test_the_plan_says_how_it_is_run(driver: str | None, planned: str) -> None:
    request = LaunchRequest(task="x", cwd="/p", project="/p", driver=driver)
    assert plans.document(request, run_id="0" * 16)["driver"] == planned


@pytest.mark.parametrize("text", ["", " \n\t", "a\ud800", "é" * (512 * 1024) + "x"])
def test_what_is_no_message_is_refused(text: str) -> None:
    with pytest.raises(BadRequest) as refused:
        send.check(text)
    assert (refused.value.kind, refused.value.exit_code) == ("bad-argument", 2)


def test_what_is_a_message_may_be_long() -> None:
    send.check("é" * (512 * 1024))


def test_a_table_says_that_it_is_live() -> None:
    assert words.live_activity("Reading a", settled=False, needs_input=False) == "live: Reading a"
    assert words.live_activity("Done.", settled=True, needs_input=False) == "live, settled: Done."
    assert words.live_activity(None, settled=False, needs_input=False) == "live"
    assert words.live_activity("x", settled=True, needs_input=True) == "live, waits for a person"
