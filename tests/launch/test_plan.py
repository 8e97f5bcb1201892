"""The plan that a request becomes, and the requests that are refused before anything is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import plans
from tmuxagents.agents.models import Resolved
from tmuxagents.errors import BadRequest
from tmuxagents.launch import plan
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.runs.documents import plan_of

EXAMPLE = Path(__file__).parents[1] / "data" / "documents" / "meta.json"
RUN = "01a1ee15069b4c1f"


def planned(**changes: Any) -> dict[str, Any]:
    wanted = {"task": "Find it.", "cwd": "/home/dev/app", "project": "/home/dev/app", **changes}
    return plans.document(LaunchRequest(**wanted), run_id=RUN, now=1794996000.12345)


def refusal(**changes: Any) -> BadRequest:
    with pytest.raises(BadRequest) as caught:
        planned(**changes)
    return caught.value


def test_a_plan_has_every_key_of_the_document() -> None:
    assert list(planned()) == list(json.loads(EXAMPLE.read_text("utf-8")))


def test_a_plan_without_preset_is_a_plain_child() -> None:
    meta = planned()
    given_ = {
        "v": 1,
        "runId": RUN,
        "sessionId": RUN,
        "callId": RUN,
        "mode": "background",
        "agent": "pi",
        "driver": "batch",
        "task": "Find it.",
        "cwd": "/home/dev/app",
        "project": "/home/dev/app",
        "timeout": 600,
        "taskIndex": 0,
        "sessionPath": "child-session.jsonl",
        "createdAt": 1794996000.123,
        "tmux": {"socket": None, "session": None, "launcher": None},
    }
    lists: dict[str, Any] = {"tools": [], "files": [], "after": []}
    assert {key: value for key, value in meta.items() if value is not None} == {
        **given_,
        **lists,
        "artifacts": {
            "events": "events.jsonl",
            "stdout": "stdout.log",
            "stderr": "stderr.log",
            "transcript": "transcript.log",
            "session": "child-session.jsonl",
            "result": "result.json",
        },
    }


def test_what_the_request_names_stands_in_the_plan() -> None:
    meta = planned(model="mock/mock-text", name="scout", owner="o1", mode="single", timeout=90.5, agent="pi")
    assert [meta[key] for key in ("requestedModel", "resolvedModel", "modelSource")] == [
        "mock/mock-text"
    ] * 2 + ["call"]
    assert [meta[key] for key in ("name", "owner", "mode", "timeout")] == ["scout", "o1", "single", 90.5]


def test_the_model_of_a_plan_is_the_resolved_one() -> None:
    model = Resolved(
        "gpt-4o",
        "github-copilot/gpt-4o",
        "preset",
        agent_command=["/opt/pi"],
        agent_version="0.87.1",
    )
    request = LaunchRequest(task="Find it.", cwd="/app", project="/app", model="not/this")
    meta = plans.document(request, run_id=RUN, now=0, model=model)
    assert {key: meta[key] for key in meta if "odel" in key or key.startswith("agent")} == {
        "agent": "pi",
        "requestedModel": "gpt-4o",
        "resolvedModel": "github-copilot/gpt-4o",
        "modelSource": "preset",
        "agentCommand": ["/opt/pi"],
        "agentVersion": "0.87.1",
    }
    assert list(meta)[: len(planned())] == list(planned())


@pytest.mark.parametrize(
    ("changes", "kind", "message", "field"),
    [
        ({"task": ""}, "empty-task", "The task is empty.", "task"),
        ({"task": " \n\t"}, "empty-task", "The task is empty.", "task"),
        ({"task": "a\0b"}, "bad-argument", "The task holds a NUL character.", "task"),
        ({"task": "ab\udcff"}, "bad-argument", "The task is not valid Unicode (character 3).", "task"),
        ({"cwd": "app"}, "bad-cwd", "cwd must be an absolute path", "cwd"),
        ({"cwd": ""}, "bad-cwd", "cwd must be an absolute path", "cwd"),
        ({"cwd": "~/app"}, "bad-cwd", "cwd must be an absolute path", "cwd"),
        ({"cwd": "/a/../b"}, "bad-cwd", "cwd must not contain '..' path segments", "cwd"),
        ({"cwd": "/.."}, "bad-cwd", "cwd must not contain '..' path segments", "cwd"),
        (
            {"timeout": 0},
            "bad-argument",
            "timeout must be a duration like 90s or 5m, at least 1s, not 0",
            "timeout",
        ),
        (
            {"timeout": 0.5},
            "bad-argument",
            "timeout must be a duration like 90s or 5m, at least 1s, not 0.5",
            "timeout",
        ),
        (
            {"timeout": 2.0**54},
            "bad-argument",
            "timeout must be at most 1000000000 seconds, not 1.8014398509482e+16",
            "timeout",
        ),
        (
            {"timeout": 10**9 + 1},
            "bad-argument",
            "timeout must be at most 1000000000 seconds, not 1000000001",
            "timeout",
        ),
        (
            {"timeout": -600},
            "bad-argument",
            "timeout must be a duration like 90s or 5m, at least 1s, not -600",
            "timeout",
        ),
    ],
)
def test_refused(changes: dict[str, Any], kind: str, message: str, field: str) -> None:
    error = refusal(**changes)
    assert (error.kind, error.message, error.exit_code) == (kind, message, 2)
    assert [fault.field for fault in error.faults] == [field]


@pytest.mark.parametrize("timeout", [float("nan"), float("inf"), float("-inf")])
def test_a_timeout_that_is_no_number_is_refused(timeout: float) -> None:
    error = refusal(timeout=timeout)
    assert (error.kind, error.faults[0].field) == ("bad-argument", "timeout")


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            " ",
            "two words",
            "-scout",
            "_scout",
            "scout\n",
            "x" * 33,
            *("/a", ".a", "a#b", "a$b", "a;b", "a'b", "a\u202eb", "a\u200bb", "a\x1b[31m", "@last"),
            "#{pid}",
        ),
        *("0123456789abcdef", "\ud800"),  # a run's id
    ],
)
def test_a_name_that_could_mean_something_else_is_refused(name: str) -> None:
    error = refusal(name=name)
    assert (error.kind, [fault.field for fault in error.faults]) == ("bad-argument", ["name"])
    assert "up to 32 letters, digits" in str(error.hint)
    assert error.message.isprintable()


@pytest.mark.parametrize(
    "name",
    [
        *("a", "0", "abc", "scout-1", "x" * 32, "dead", "1234", "0123456789abcdef0", "a_-"),
        *("Login", "fix/login", "v1.2", "имя", "é", "名前"),
    ],
)
def test_a_name_that_can_be_nothing_else_is_taken(name: str) -> None:
    assert planned(name=name)["name"] == name


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [
        ({"name": "scout"}, "running", "Started scout (pi's default model)."),
        (
            {"task": "Find\n where\x1b[31m it is."},
            "queued",
            'Queued "Find where it is." (pi\'s default model).',
        ),
        ({"name": "a", "driver": "live"}, "running", "Started a (live, pi's default model)."),
    ],
)
def test_a_receipt_says_what_was_launched(changes: dict[str, Any], status: str, said: str) -> None:
    assert plan.receipt(plan_of(planned(**changes)), status) == said


@pytest.mark.parametrize(
    ("source", "said"), [("agent", "model p/m, pi's default"), ("call", "model p/m"), (None, "model p/m")]
)
def test_a_receipt_names_preset_and_model(source: str | None, said: str) -> None:
    meta = {**planned(name="a"), "resolvedModel": "p/m", "modelSource": source}
    assert plan.receipt(plan_of(meta), "running") == f"Started a ({said})."
    meta |= {"preset": "scout\n", "presetSource": "project"}
    expected = f"Started a (preset scout of this project, {said})."
    assert plan.receipt(plan_of(meta), "running") == expected
    meta |= {"presetSource": "global"}
    assert plan.receipt(plan_of(meta), "running") == f"Started a (preset scout, {said})."


def test_all_faults_are_told_at_once() -> None:
    error = refusal(task=" \0\ud800", cwd="app", name="", timeout=0)
    assert [(fault.field, fault.kind) for fault in error.faults] == [
        ("task", "bad-argument"),
        ("task", "bad-argument"),
        ("cwd", "bad-cwd"),
        ("name", "bad-argument"),
        ("timeout", "bad-argument"),
    ]
    assert (error.message, error.hint) == ("The task holds a NUL character.", None)


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"task": "", "cwd": "app"}, "say what the child should do; `-` reads it from stdin"),
        ({"task": "\ud800"}, "save it as UTF-8"),
        ({"cwd": "app"}, None),
    ],
)
def test_the_hint_is_that_of_the_first_fault(changes: dict[str, Any], hint: str | None) -> None:
    assert refusal(**changes).hint == hint


@pytest.mark.parametrize("cwd", ["/", "/tmp/foo..bar", "/a/.../b", "/a/..b"])
def test_dots_in_a_name_are_no_way_up(cwd: str) -> None:
    assert planned(cwd=cwd)["cwd"] == cwd


@pytest.mark.parametrize("timeout", [1, 1.0, 600, 10**9])
def test_timeouts_from_a_second_on_are_taken(timeout: float) -> None:
    assert planned(timeout=timeout)["timeout"] == timeout


@given(st.text(min_size=1).filter(lambda task: task.strip() and "\0" not in task))
def test_any_other_task_is_taken_and_delivered_to_the_byte(task: str) -> None:
    assert planned(task=task)["task"] == task
    assert plan.prompt_bytes(task).decode("utf-8") == task


@pytest.mark.parametrize(
    "task", ["- summarize", "@file", "-", "$(touch x); rm", "#(date)", "/skill:x", "é\r\n\x1b[31m"]
)
def test_no_task_is_taken_for_something_else(task: str) -> None:
    assert planned(task=task)["task"] == task
    assert plan.prompt_bytes(task) == task.encode()


def test_a_receipt_names_the_machine_and_whose_preset_it_is() -> None:
    meta = planned(name="a")
    assert plan.receipt(plan_of(meta), "queued", host="box") == "Queued a on box."  # there it is decided
    known = {**meta, "resolvedModel": "p/m"}
    assert plan.receipt(plan_of(known), "running", host="box") == "Started a on box (model p/m)."
    meta |= {"preset": "scout", "presetSource": "project", "presetFrom": "claude"}
    said = plan.receipt(plan_of(meta), "running")
    assert said.startswith("Started a (preset scout from ")
    assert "claude's agents of this project" in said


# --- who launches ---


@pytest.mark.parametrize(
    ("environment", "owner", "terminal", "who"),
    [
        ({}, None, True, "person"),
        ({"PI_CODING_AGENT": ""}, None, True, "person"),
        ({}, None, False, "agent"),
        ({}, "me", True, "agent"),
        ({"PI_CODING_AGENT": "true"}, None, True, "agent"),
        ({"PI_CODING_AGENT": "true"}, "me", False, "agent"),
    ],
)
def test_a_person_has_a_terminal_and_no_agent_between(
    *, environment: dict[str, str], owner: str | None, terminal: bool, who: str
) -> None:
    assert plan.initiator(environment, owner=owner, terminal=terminal) == who
