"""How runs ended and what they answered, as text: a table."""

from __future__ import annotations

from typing import Any

import pytest

from tmuxagents.runs import words
from tmuxagents.runs.words import SnapshotRow
from tmuxagents.status import ending_text

ID = "01a1ee15069b4c1f"


def run(status: str, reason: str | None = None, message: str | None = None, **changes: Any) -> dict[str, Any]:
    return {
        "runId": ID,
        "name": "scout",
        "task": "Find it.",
        "status": status,
        "reason": reason,
        "errorMessage": message,
        "needsInput": False,
        "settled": False,
        **changes,
    }


@pytest.mark.parametrize(
    ("shown", "text", "said"),
    [
        (run("completed", "done"), "Found.", None),
        (run("running"), "So far", None),
        (
            run("failed", "error", "401: no such key"),
            "Half",
            "failed (error): 401: no such key; what follows is unfinished",
        ),
        (
            run("failed", "error", "401: no such key"),
            None,
            "failed (error): 401: no such key; no text output",
        ),
        (
            run("aborted", "stopped", "Stopped."),
            "Half",
            "aborted (stopped); what follows is unfinished",
        ),
        (run("failed", "length"), "", "failed (length); no text output"),
        (
            run("failed", "exit", "It exited with code 3.", stopReason="stop"),
            "Found.",
            "failed (exit): It exited with code 3; what follows may be unfinished",
        ),
        (run("failed", "error", "a\nb\x1b[31m"), "", "failed (error): a b; no text output"),
    ],
)
def test_the_line_before_a_text_says_that_it_is_no_answer(
    shown: dict[str, Any], text: str | None, said: str | None
) -> None:
    assert ending_text.warning(shown, text) == said


@pytest.mark.parametrize(
    ("shown", "text", "said"),
    [
        (run("completed", "done"), "Found.", f"[2] scout: completed (run {ID})\n\nFound."),
        (run("completed", "done"), None, f"[2] scout: completed (run {ID})"),
        (run("running", name=None), None, f"[2] Find it.: running (run {ID})"),
        (run("running", settled=True), "Found.", f"[2] scout: settled (run {ID})\n\nFound."),
        (run("failed", "length", "Cut."), None, f"[2] scout: failed (length): Cut (run {ID})"),
        (run("aborted", "stopped", "Stopped."), None, f"[2] scout: aborted (stopped) (run {ID})"),
        (run("aborted", "parent", "x"), "Half", f"[2] scout: aborted (parent): cancelled (run {ID})"),
        (
            run("failed", "timeout", "Timed out."),
            "Half",
            f"[2] scout: failed (timeout): Timed out; what follows is unfinished (run {ID})\n\nHalf",
        ),
    ],
)
def test_a_block_has_the_ending_and_the_text(shown: dict[str, Any], text: str | None, said: str) -> None:
    assert ending_text.block(2, shown, text, None) == said


def test_blocks_are_numbered_and_apart() -> None:
    found = ending_text.blocks([(run("completed"), "One."), (run("queued"), None)], 100)
    assert found == f"[1] scout: completed (run {ID})\n\nOne.\n\n[2] scout: queued (run {ID})"


@pytest.mark.parametrize(
    ("activity", "quiet_s", "said"),
    [
        ("npm test", 29.9, "npm test"),
        ("npm test", 45.2, "npm test · quiet 45s"),
        ("npm test", 600.0, "npm test · quiet 10m 00s"),
        (None, 60.0, "quiet 1m 00s"),
        (None, 0.0, None),
    ],
)
def test_a_quiet_run_says_since_when(activity: str | None, quiet_s: float, said: str | None) -> None:
    assert words.doing(SnapshotRow({}, "01a1ee15", activity=activity, quiet_s=quiet_s)) == said


def test_a_run_that_works_says_what_it_is_doing() -> None:
    assert (
        ending_text.state_text(run("running", doing="npm test · quiet 45s"))
        == "running: npm test · quiet 45s"
    )
    assert ending_text.state_text(run("running", activity="npm\ntest")) == "running: npm test"


def test_a_long_text_keeps_head_and_tail_and_names_the_command_that_prints_it() -> None:
    said = ending_text.cut("head" + "x" * 5000 + "tail", ID, 400)
    assert said.startswith("headx")
    assert said.endswith("xtail")
    assert f"[... 4608 bytes left out; tmuxagents output {ID} prints all ...]" in said
    assert len(said) < 500
    assert ending_text.cut("x" * 400, ID, 400) == "x" * 400


@pytest.mark.parametrize(
    ("activity", "said"),
    [("npm test", "box unreachable for 1m 30s · npm test"), (None, "box unreachable for 1m 30s")],
)
def test_a_run_whose_machine_is_silent_says_so(activity: str | None, said: str) -> None:
    shown = SnapshotRow({}, "01a1ee15", activity=activity, host="box", unreachable_s=90.0, quiet_s=80.0)
    assert words.doing(shown) == said
