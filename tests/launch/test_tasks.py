"""A tasks file becomes items, or one refusal that names every fault."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.errors import BadRequest
from tmuxagents.launch import tasks

YAML = """
tasks:
  - preset: scout
    task: |
      Find it.
      All of it.
    timeout: 60
    files: [a.txt, "b:1-2"]
  - task: "off"
    cwd: ../x
"""


CONCURRENCY = "concurrency must be a whole number, at least 1."


def refused(text: str) -> BadRequest:
    with pytest.raises(BadRequest) as raised:
        tasks.parse(text, "t.yaml")
    return raised.value


def test_yaml_with_a_tasks_key() -> None:
    first, second = tasks.parse(YAML, "t.yaml").items
    assert (first.preset, first.task, first.timeout) == ("scout", "Find it.\nAll of it.\n", 60)
    assert (first.files, first.model, first.cwd, first.name) == (["a.txt", "b:1-2"], None, None, None)
    assert (second.task, second.cwd, second.files) == ("off", "../x", ())


def test_a_time_limit_is_a_duration_or_a_number_of_seconds() -> None:
    text = "defaults: {timeout: 1h30m}\ntasks:\n- task: a\n"
    text += "- {task: b, timeout: 90s}\n- {task: c, timeout: 7}\n"
    assert [item.timeout for item in tasks.parse(text, "-").items] == [5400, 90, 7]
    wrong = refused("- {task: a, timeout: soon}\n").message
    assert wrong.startswith("tasks[0].timeout must be a duration like 90s or 5m")


@pytest.mark.parametrize("bare", [True, False])
def test_json_of_any_size(*, bare: bool) -> None:
    items = [{"task": "x" * 200_000, "model": "a/b"}]
    text = json.dumps(items if bare else {"tasks": items})
    (item,) = tasks.parse(text, "-").items
    assert (item.task, item.model) == ("x" * 200_000, "a/b")


def test_a_bare_yaml_list() -> None:
    assert [item.task for item in tasks.parse("- task: a\n- {task: b}\n", "-").items] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("", "bad-tasks", "t.yaml holds no list of tasks."),
        ("[]", "bad-tasks", "t.yaml holds no list of tasks."),
        ("{}", "bad-tasks", "t.yaml holds no list of tasks."),
        ("tasks: {}", "bad-tasks", "t.yaml holds no list of tasks."),
        ("- word", "bad-tasks", "tasks[0] is not a list of key and value."),
        ("- {}", "bad-tasks", "tasks[0] has no task."),
        ("- task: ' '", "empty-task", "tasks[0]: the task is empty."),
        ("- task: 5", "bad-tasks", "tasks[0].task must be a text."),
        (
            "- {task: x, timeout: 0}",
            "bad-tasks",
            "tasks[0].timeout must be a duration like 90s or 5m, at least 1s.",
        ),
        (
            "- {task: x, timeout: soon}",
            "bad-tasks",
            "tasks[0].timeout must be a duration like 90s or 5m, at least 1s.",
        ),
        (
            "- {task: x, timeout: 9007199254740993}",
            "bad-tasks",
            "tasks[0].timeout must be at most 1000000000 seconds.",
        ),
        (
            "- {task: x, permission: all}",
            "bad-tasks",
            "tasks[0].permission must be one of read-only, edit, full, ask.",
        ),
        ("- {task: x, files: a}", "bad-tasks", "tasks[0].files must be a list of texts."),
        (
            "- {task: x, colour: a}",
            "bad-tasks",
            f'tasks[0] has an unknown key "colour"; the keys are {", ".join(tasks.KEYS)}.',
        ),
        (
            "{tasks: [{task: x}], more: 1}",
            "bad-tasks",
            'The file has an unknown key "more"; the keys are tasks, defaults, concurrency.',
        ),
        (
            "{tasks: [{task: x}], agent: codex}",
            "bad-tasks",
            '"agent" belongs in defaults, or in a task.',
        ),
        (
            "{tasks: [{task: x}], model: m}",
            "bad-tasks",
            '"model" belongs in defaults, or in a task.',
        ),
        (
            "{tasks: [{task: x}], after: a}",
            "bad-tasks",
            '"after" belongs in a task.',
        ),
        (
            "{tasks: [{task: x}], defaults: {colour: a}}",
            "bad-tasks",
            (
                'defaults has an unknown key "colour"; '
                "the keys are preset, model, cwd, timeout, files, agent, permission, on."
            ),
        ),
        (
            "{tasks: [{task: x}], defaults: {name: a}}",
            "bad-tasks",
            "name is for each task, not for defaults.",
        ),
        ("{tasks: [{task: x}], defaults: [a]}", "bad-tasks", "defaults is not a list of key and value."),
        ("{tasks: [{task: x}], defaults: {timeout: a}}", "bad-tasks", None),
        *(
            (f"{{tasks: [{{task: x}}], concurrency: {wrong}}}", "bad-tasks", CONCURRENCY)
            for wrong in (0, -1, 1.5, "true", "many")
        ),
        ("- {task: x, after: 5}", "bad-tasks", "tasks[0].after must be a name or a list of names."),
        ("- {task: x, after: [5]}", "bad-tasks", "tasks[0].after must be a name or a list of names."),
        ("- {task: x, on: 5}", "bad-tasks", "tasks[0].on must be a text."),
        ("- {task: x, step: 1}", "removed", '"step" was removed: give tasks names and use after.'),
        (
            "{chain: [{task: x}]}",
            "removed",
            '"chain" was removed: give tasks names and use after.',
        ),
        (
            "{tasks: [{task: x}], chain: []}",
            "removed",
            '"chain" was removed: give tasks names and use after.',
        ),
        ("- task: &a x\n- task: *a", "bad-tasks", None),
        ("- task: x\n  task: y", "bad-tasks", None),
        ("- task: [", "bad-tasks", None),
        ('{"tasks": [', "bad-tasks", None),
    ],
)
def test_a_refusal(text: str, kind: str, message: str | None) -> None:
    error = refused(text)
    assert (error.kind, error.exit_code) == (kind, 2)
    assert message is None or error.message == message


def test_every_fault_is_told_and_the_first_in_order_speaks() -> None:
    error = refused("- {task: x, chain: a}\n- {colour: b}\n")
    assert [(fault.kind, fault.field) for fault in error.faults] == [
        ("bad-tasks", "tasks[1].colour"),
        ("bad-tasks", "tasks[1].task"),
        ("removed", "tasks[0].chain"),
    ]
    assert error.message == error.faults[0].message


def test_what_another_tool_takes_is_named_in_the_hint() -> None:
    assert "delegate_to_subagents" in (refused("- {task: x, profile: a}").hint or "")


@given(st.text(max_size=200) | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_no_text_breaks_it(text: str) -> None:
    try:
        assert all(isinstance(item.task, str) for item in tasks.parse(text, "-").items)
    except BadRequest as error:
        assert error.message  # noqa: PT017  (both ways out are right)


FULL = """
concurrency: 2
defaults: {agent: pi, timeout: 60, files: [a.txt], model: m}
tasks:
  - {name: one, task: x}
  - {name: two, task: y, after: one, timeout: 5, files: []}
  - {task: z, after: [two, one, 01a1ee15]}
"""


def test_defaults_are_for_the_tasks_that_say_nothing_else() -> None:
    found = tasks.parse(FULL, "-")
    assert found.concurrency == 2
    one, two, three = found.items
    assert [item.timeout for item in found.items] == [60, 5, 60]
    assert (one.agent, one.model) == ("pi", "m")
    assert [list(item.files) for item in (one, two, three)] == [["a.txt"], [], ["a.txt"]]
    assert [list(item.after) for item in found.items] == [[], ["one"], ["two", "one", "01a1ee15"]]


def test_a_task_waits_for_tasks_above_it_and_for_other_runs() -> None:
    found = tasks.dependencies(tasks.parse(FULL, "-").items)
    assert found == [([], []), ([0], []), ([1, 0], ["01a1ee15"])]


@pytest.mark.parametrize("after", ["two", "one"])
def test_no_task_waits_for_itself_or_for_one_below_it(after: str) -> None:
    items = tasks.parse(f"- {{name: one, task: x, after: {after}}}\n- {{name: two, task: y}}", "-").items
    with pytest.raises(BadRequest, match=f'names "{after}", which is not above it') as raised:
        tasks.dependencies(items)
    assert raised.value.faults[0].field == "tasks[0].after"
