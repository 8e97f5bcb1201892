"""The answers of calls as text."""

from __future__ import annotations

from typing import Any

from tmuxagents.tools import answers

ID = "01a1ee15069b4c1f"


def run(**changes: Any) -> dict[str, Any]:
    known = {"runId": ID, "preset": "scout", "name": None, "agent": "pi", "status": "completed"}
    return {**known, "reason": "done", "errorMessage": None, **changes}


def test_blocks_stand_in_order_with_a_blank_line_between() -> None:
    late = "Timed out after 300s. Consider resuming with a longer timeout."
    failed = run(preset="writer", status="failed", reason="timeout", errorMessage=late)
    assert answers.blocks([(run(), "In src/auth.ts."), (failed, "half an answer")]) == (
        f"[1] scout: completed (run {ID})\n\nIn src/auth.ts.\n\n"
        f"[2] writer: failed, timeout: {late} (run {ID})"
    )


def test_a_task_is_called_by_name_then_preset_then_agent() -> None:
    assert answers.label(run(name="n")) == "n"
    assert answers.label(run()) == "scout"
    assert answers.label(run(preset=None)) == "pi"
    assert answers.label(run(preset=None, agent=None)) == "task"
    assert answers.label(run(preset="\x1b[31m")) == "task"  # a name of control characters only does not count


def test_a_run_that_has_not_ended_says_so() -> None:
    assert answers.block(1, run(status="running", reason=None), "x") == f"[1] scout: running (run {ID})"


def test_a_live_child_that_has_settled_has_an_answer() -> None:
    live = run(status="running", reason=None, settled=True)
    assert answers.block(1, live, "x") == f"[1] scout: running (run {ID})\n\nx"


def test_no_answer_is_no_text() -> None:
    assert answers.block(3, run(), None) == answers.block(3, run(), "") == f"[3] scout: completed (run {ID})"


def test_a_long_answer_is_cut_between_characters_and_says_where_the_rest_is() -> None:
    text = answers.block(1, run(), "a" + "ä" * 20_000)
    head, _, tail = text.rpartition("\n")
    assert tail == f"… {40_001 - 16_383} bytes more: tmuxagents output {ID}"
    assert head.endswith("ä")
    assert answers.cut("a" * (answers.MOST_BYTES + 1), ID).endswith(f"… 1 byte more: tmuxagents output {ID}")


def test_a_message_is_one_line_that_nothing_obeys() -> None:
    text = answers.block(1, run(status="failed", reason="exit", errorMessage="a\nb\x1b[2Jc"), None)
    assert text == f"[1] scout: failed, exit: a bc (run {ID})"


def test_several_children_of_one_preset_are_told_apart_by_their_names() -> None:
    names = [f"part-{number}" for number in range(5)]
    text = answers.blocks([(run(name=name), None) for name in names])
    assert [line.split()[1] for line in text.splitlines() if line] == [f"{name}:" for name in names]


def test_a_parent_learns_where_the_work_of_a_far_child_is() -> None:
    ref = f"refs/tmuxagents/{ID}"
    far = run(code={"refs": {ref: "1" * 40}, "kept": [], "isGone": False})
    nothing = run(code={"refs": {}, "kept": [], "isGone": False})
    assert answers.blocks([(far, "done"), (nothing, None)]).split("\n\n") == [
        f"[1] scout: completed (run {ID})",
        "done",
        f"git log {ref}\ngit diff HEAD...{ref}\ngit merge {ref}",
        f"[2] scout: completed (run {ID})",
        "The child left no commit and no change.",
    ]
    assert answers.compact({"runs": [far]})["runs"][0]["code"] == far["code"]
