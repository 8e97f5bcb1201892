"""The wrong command lines of people and agents who know other tools lead to the right ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tmuxagents.cli import boundary, group, meant
from tmuxagents.system import shipped

if TYPE_CHECKING:
    from tests.harness import Home

# What is typed -> what the refusal must name.
WRONG: dict[str, str] = {
    # verbs
    **dict.fromkeys(("list", "jobs", "sessions"), "poll"),
    **dict.fromkeys(("spawn x", "start x", "new x", "create x", "delegate x", "submit x"), "launch"),
    **dict.fromkeys(("exec x", "ask x"), "run"),
    **dict.fromkeys(("result x", "answer x", "get x"), "output"),
    **dict.fromkeys(("tail x", "log x", "show x"), "transcript"),
    **dict.fromkeys(("message x y", "steer x y"), "send"),
    "approve x": "answer",
    "reply x y": "send",
    **dict.fromkeys(("get runs -w", "describe agents", "get jobs"), "poll"),
    "attach -t x": "tmuxagents attach RUN",
    "rm -f x": "it asks nothing: tmuxagents prune RUN",
    "logs --tail=20 x": "-n N prints",
    "wait --for=done x": "it waits until each RUN has ended",
    "-p task": "tmuxagents run TASK",
    **dict.fromkeys(("--continue", "--resume x"), "tmuxagents resume RUN TASK"),
    "run --dangerously-skip-permissions x": "--permission",
    "models list": "tmuxagents models lists them",
    "journalctl -u x": "transcript",
    **dict.fromkeys(("abort x", "terminate x"), "stop"),
    **dict.fromkeys(("rerun x", "restart x"), "retry"),
    **dict.fromkeys(("delete x", "clean"), "prune"),
    **dict.fromkeys(("connect x", "open x"), "attach"),
    **dict.fromkeys(("lanch x", "luanch x"), "launch"),
    # verbs that mean another thing with other arguments
    **dict.fromkeys(("check", "health"), "doctor"),
    **dict.fromkeys(("check x", "inspect x", "info x", "queue"), "poll"),
    **dict.fromkeys(("watch", "poll --interval 5"), "--watch"),
    **dict.fromkeys(("follow x", "watch x", "stream x"), "transcript -f"),
    **dict.fromkeys(("ask x y", "prompt x y"), "send"),
    "history": "poll --all",
    **dict.fromkeys(("batch a.yaml", "parallel x y"), "run --tasks"),
    **dict.fromkeys(("collect a b", "gather a b"), "wait --output"),
    # nouns, names of tools, names of several words
    **dict.fromkeys(("agent list", "tasks list", "task", "list-sessions", "session x"), "mean poll?"),
    **dict.fromkeys(("kill-session x", "KillShell x", "close_agent x"), "mean stop?"),
    **dict.fromkeys(("spawn_agent x", "new-session x", "subagents create x"), "mean launch?"),
    **dict.fromkeys(("TaskOutput x", "get_subagent_output x", "BashOutput x"), "mean output?"),
    **dict.fromkeys(("send_input x y", "send-keys x y", "SendMessage x y"), "mean send?"),
    **dict.fromkeys(("wait_agent x",), "mean wait?"),
    "run_agent x": "mean run?",
    "roles": "presets",
    # what is no task
    **dict.fromkeys(("run list", "launch status"), "tmuxagents poll"),
    **dict.fromkeys(("run tasks.yaml", "launch notes.md"), "--tasks FILE"),
    "launch stop": "tmuxagents stop",
    # arguments
    **dict.fromkeys(("wait", "wait --all"), "poll --wait"),
    **dict.fromkeys(("run a b", "launch a b c"), "--tasks FILE"),
    "call": "tmuxagents tools",
    "mcp install": "integrate claude",
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
    **dict.fromkeys(("launch --agent-type a x", "launch --subagentType a x"), "-p NAME"),
    "launch --work-dir a x": "--cwd",
    "launch --worktree x": "git worktree",
    "launch --retries 3 x": "tmuxagents retry",
    "launch --schedule 5m x": "--after RUN",
    "run --output a.md x": "> FILE",
    "run --quiet x": "--progress",
    "launch --llm gpt x": "-m MODEL",
    "launch --preset": "--preset",
    # options of the rest
    **dict.fromkeys(("output --tail 20 x", "output --limit 5 x"), "--max-bytes"),
    "output --block x": "wait --output",
    "transcript --tail 20 x": "-n N prints",
    "poll --limit 5": "-n N",
    **dict.fromkeys(("poll --running", "poll --state failed"), "--status"),
    "poll --format-json": "--format",
    **dict.fromkeys(("wait --run x", "wait --id x", "output --session-id x"), "RUN is an argument"),
    **dict.fromkeys(("wait --max-time 5 x", "wait --seconds 5 x"), "--timeout"),
    **dict.fromkeys(("stop --force x", "stop -9 x"), "gracefully"),
    "output --latest": "@last",
    "send --message hi x": "RUN TEXT",
    "wait --result x": "--output prints",
    "wait --first a b": "--any",
    "poll --result": "--output RUN",
    "transcript --verbose x": "tmuxagents transcript",
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
    [
        *[("sum up {previous}", False, True), ("sum up {previous}", True, False), ("sum up", False, False)],
        *[
            ("list", False, True),
            ("stop", False, True),
            ("tasks.yml", False, True),
            ("a.md b.md", False, False),
        ],
        *[("list the files", False, False), ("review", False, False), ("test", False, False)],
    ],
)
def test_some_texts_are_no_tasks(text: str, *, has_previous: bool, refused: bool) -> None:
    assert (meant.task(text, has_previous=has_previous, known=("stop",)) is not None) is refused


def test_a_word_with_a_task_behind_it_means_a_launch() -> None:
    known = ("launch", "poll")
    assert meant.verb(("subagent", "Find it."), known) == "launch"
    assert meant.verb(("subagent", "x"), known) == "poll"
    assert meant.verb(("subagent", "poll"), known) == "poll"
    assert meant.verb(("background_agent", '{"task": "x"}'), known) == "launch"
    assert meant.verb(("run_agent", "x"), (*known, "run")) == "run"
    assert meant.verb(("xyzzy", "x"), known) is None
    assert meant.verb(("---",), known) is None


@pytest.mark.parametrize(
    ("word", "said"),
    [("last", "@last"), ("latest", "@last"), ("all", "stop --all"), ("*", "poll --wait")],
)
def test_a_word_in_the_place_of_a_run_leads_to_what_it_means(home: Home, word: str, said: str) -> None:
    home.run("done x").start().wait()
    done = home.command("stop", word)
    assert (done.stdout, done.returncode) == ("", 4)
    assert said in done.stderr


def test_a_role_in_the_place_of_an_agent_leads_to_presets(home: Home) -> None:
    done = home.command("launch", "--agent", "reviewer", "Look at it.")
    assert done.returncode == 2
    assert "-p NAME" in done.stderr


def test_the_skill_is_printed(home: Home) -> None:
    done = home.command("skill")
    assert (done.returncode, done.stdout) == (0, shipped.skill())
