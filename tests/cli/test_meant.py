"""Wrong command lines, as people and agents type them who know other tools, lead to the right one."""

from __future__ import annotations

import pytest

from tmuxagents.cli import boundary, group, meant

# What is typed -> what the refusal must name.
WRONG: dict[str, str] = {
    # verbs
    **dict.fromkeys(("list", "jobs", "agents", "sessions"), "poll"),
    **dict.fromkeys(("spawn x", "start x", "new x", "create x", "delegate x", "submit x"), "launch"),
    **dict.fromkeys(("exec x", "ask x"), "run"),
    **dict.fromkeys(("result x", "answer x", "get x"), "output"),
    **dict.fromkeys(("tail x", "log x", "show x"), "transcript"),
    **dict.fromkeys(("message x y", "steer x y", "reply x y"), "send"),
    **dict.fromkeys(("abort x", "terminate x"), "stop"),
    **dict.fromkeys(("rerun x", "restart x"), "retry"),
    **dict.fromkeys(("delete x", "clean"), "prune"),
    **dict.fromkeys(("connect x", "open x"), "attach"),
    **dict.fromkeys(("lanch x", "luanch x"), "launch"),
    # options of a launch
    **dict.fromkeys(("launch --prompt x", "launch --task x", "run --message x"), "TASK"),
    **dict.fromkeys(("launch --background x", "launch --detach x", "run --bg x", "run -d x"), "launch TASK"),
    **dict.fromkeys(("launch --wait x", "launch --foreground x"), "run TASK"),
    **dict.fromkeys(("launch --profile scout x", "launch --role scout x"), "-p NAME"),
    **dict.fromkeys(("launch --workdir /x y", "run -C /x y", "launch --directory /x y"), "--cwd"),
    **dict.fromkeys(("launch --title a x", "launch --label a x"), "--name"),
    **dict.fromkeys(("launch --prompt-file a", "launch -f a", "run --stdin"), "--task-file"),
    **dict.fromkeys(("launch --depends-on a x", "run --chain x"), "--after"),
    **dict.fromkeys(("run --parallel 4", "run -j 4"), "--tasks"),
    **dict.fromkeys(("launch --system-prompt a x", "launch --allowed-tools a x"), "presets new"),
    **dict.fromkeys(("launch --resume a x", "run --continue x"), "resume RUN TASK"),
    "launch --interactive x": "--live",
    "launch --llm gpt x": "-m MODEL",
    "launch --preset": "--preset",
    # options of the rest
    **dict.fromkeys(("output --tail 20 x", "output --limit 5 x"), "--max-bytes"),
    "output --block x": "wait --output",
    "transcript --tail 20 x": "tail -n N",
    "poll --limit 5": "-n N",
    **dict.fromkeys(("poll --running", "poll --state failed"), "--status"),
    "poll --format-json": "--format",
    **dict.fromkeys(("wait --run x", "wait --id x", "output --session-id x"), "RUN is an argument"),
    **dict.fromkeys(("wait --max-time 5 x", "wait --seconds 5 x"), "--timeout"),
    **dict.fromkeys(("stop --force x", "stop -9 x"), "gracefully"),
    "output --latest": "@last",
    "send --message hi x": "RUN TEXT",
    "wait --result x": "--output RUN",
}


def said(line: str) -> str:
    """Return message and hint of the refusal of a command line; nothing is carried out."""
    with pytest.raises(Exception) as raised:  # noqa: PT011  (click's and ours)
        group.tmuxagents.main(args=line.split(), prog_name="tmuxagents", standalone_mode=False)
    problem, log = boundary.problem_of(raised.value)
    assert (log, problem.exit_code) == (None, 2)
    return f"{problem.message} {problem.hint or ''}"


def test_enough_is_tried() -> None:
    assert len(WRONG) >= 70


@pytest.mark.parametrize(("line", "right"), WRONG.items())
def test_a_wrong_command_line_leads_to_the_right_one(line: str, right: str) -> None:
    assert right in said(line)


def test_meaning_comes_before_near_spelling() -> None:
    assert "--preset" not in said("launch --prompt x")
    assert meant.option("launch", "--promt") is None
    assert "--promt" in said("launch --promt x")


@pytest.mark.parametrize(
    ("text", "has_previous", "refused"),
    [("sum up {previous}", False, True), ("sum up {previous}", True, False), ("sum up", False, False)],
)
def test_an_earlier_answer_needs_an_earlier_run(text: str, *, has_previous: bool, refused: bool) -> None:
    assert (meant.task(text, has_previous=has_previous) is not None) is refused
