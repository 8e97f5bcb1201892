"""Records as JSON documents: every key is always there, with the right value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.runs.steps import folded
from tmuxagents import records
from tmuxagents.errors import BadRequest, Fault, TmuxAgentsError
from tmuxagents.records import Exit, Identity, Verdict
from tmuxagents.runs import documents, endings, events, lifecycle
from tmuxagents.runs.endings import Standing
from tmuxagents.runs.events import Event
from tmuxagents.text import jsonline

if TYPE_CHECKING:
    from tmuxagents.runs.lifecycle import RunState

EXAMPLES = Path(__file__).parents[1] / "data" / "documents"


def shown(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((EXAMPLES / f"{name}.json").read_text("utf-8"))
    return document


META = shown("meta")
STARTED = events.run_started({"pid": 4711, "pane": "%5", "window": "@3", "agentVersion": "0.87.1"})
USAGE = {
    "input": 1800,
    "output": 240,
    "cacheRead": 1200,
    "cacheWrite": 0,
    "totalTokens": 3240,
    "cost": 0.0123,
}
ANSWER = "Sessions are created in src/auth.ts, createSession()."


def state(*steps: Event) -> RunState:
    return folded(
        Event(step.type, step.fields, seq=number, at=1794996000.141 + number)
        for number, step in enumerate(steps)
    )


def answered() -> RunState:
    call, result = (
        events.tool_call("c", "ls", {}),
        events.tool_result("c", "ls", is_error=False, text="", duration_ms=1),
    )
    work = [call, result] * 3
    usage = events.usage(USAGE), Event("usage", {})
    return state(
        STARTED,
        *work,
        *usage,
        events.assistant_text(ANSWER),
        events.turn_end("toolUse"),
        events.turn_end("stop"),
    )


def result(run: RunState, how: Verdict, **changes: Any) -> dict[str, Any]:
    return documents.result(
        documents.plan_of(META), run, how, **{"ended_at": 1794996042.37, "duration_s": 42.229, **changes}
    )


# --- meta.json ---

PLAN: dict[str, Any] = {
    **META,
    "tmux": {"socket": "/tmp/s", "session": "app", "launcher": "/tmp/s,1,2"},
    "keepBackground": True,
    "nesting": 0,
    "profile": {"noSkills": True},
    "replayed": 0,
    "taskName": "Tests",
    "agentCommand": ["pi"],
    "agentVersion": None,
    "initiator": None,
}


def made(document: dict[str, Any]) -> records.Plan:
    return documents.plan_of(document).changed(written=None)


def test_a_plan_is_written_as_it_was_read() -> None:
    assert dict(documents.meta(made(PLAN))) == PLAN
    assert list(documents.meta(made(META))) == list(META)


def test_what_a_plan_lacks_stays_absent() -> None:
    optional = set(PLAN) - set(META)
    assert optional & set(documents.meta(made({**PLAN, **dict.fromkeys(optional)}))) == set()


def test_a_plan_of_another_version_is_written_again_with_all_that_it_holds() -> None:
    other = {"later": [1], **PLAN, "timeout": "long"}
    assert documents.meta(documents.plan_of(other)) is other


@given(st.sampled_from(sorted(PLAN)), strategies.json_values)
def test_a_value_of_another_kind_is_none_in_the_plan(key: str, value: Any) -> None:
    sound, damaged = documents.plan_of(PLAN).fields(), documents.plan_of({**PLAN, key: value}).fields()
    for name, field in damaged.items():
        if name != "written":
            assert field is None or type(field) in (type(sound[name]), str, int, float)


@pytest.mark.parametrize("key", ["agent", "cwd", "sessionId", "sessionPath", "task", "tools", "timeout"])
@pytest.mark.parametrize("value", [None, {}, [1], True])
def test_a_plan_without_what_a_wrapper_needs_is_not_carried_out(key: str, value: Any) -> None:
    assert documents.is_sound(documents.plan_of(PLAN))
    assert not documents.is_sound(documents.plan_of({**PLAN, key: value}))
    rest = {name: there for name, there in PLAN.items() if name != key}
    assert not documents.is_sound(documents.plan_of(rest))


@pytest.mark.parametrize(
    "key", ["project", "resolvedModel", "systemPromptPath", "appendSystemPromptPath", "presetKind"]
)
def test_what_a_wrapper_can_do_without_may_be_absent_but_not_wrong(key: str) -> None:
    assert documents.is_sound(documents.plan_of({**PLAN, key: None}))
    assert not documents.is_sound(documents.plan_of({**PLAN, key: 7}))


# --- result.json ---


def test_a_result_is_as_the_document_shows_it() -> None:
    how = Verdict("completed", "done", exit=Exit(0))
    assert result(answered(), how) == {**shown("result"), "messageCount": 6}


def test_a_result_of_a_run_that_never_started() -> None:
    how = Verdict("failed", "spawn", "Failed to spawn sub-agent process", exit=Exit(1))
    document = result(state(), how)
    empty = {"startedAt": None, "durationMs": 0, "output": None, "outputBytes": None, "stopReason": None}
    assert {key: document[key] for key in empty} == empty
    assert (document["exitCode"], document["errorMessage"]) == (1, "Failed to spawn sub-agent process")
    assert document["model"] == META["resolvedModel"]


def test_a_result_tells_what_only_the_end_knows() -> None:
    run = state(STARTED, events.left_behind(pid=7, comm="tmux", why="is a service"))
    run.model = "mock/mock-text"
    how = Verdict("completed", "done", exit=Exit(None, "SIGKILL"), note="wrapper lost")
    document = result(run, how, lingered=True, logs_incomplete=True, duration_s=-3.0, ended_at=12.34567)
    expected = {
        "lingered": True,
        "logsIncomplete": True,
        "note": "wrapper lost",
        "signal": "SIGKILL",
        "exitCode": None,
        "leftBehind": [{"pid": 7, "comm": "tmux", "why": "is a service"}],
        "model": "mock/mock-text",
        "durationMs": 0,
        "endedAt": 12.346,
    }
    assert {key: document[key] for key in expected} == expected


def test_a_long_answer_is_cut_to_whole_characters_and_its_length_is_told() -> None:
    document = result(state(STARTED, events.assistant_text("é" * 40_000)), Verdict("completed", "done"))
    assert document["output"] == "é" * 32_768
    assert document["outputBytes"] == 80_000


@given(st.lists(strategies.wild_events, max_size=5))
def test_a_result_is_always_a_document_that_can_be_written(log: list[Event]) -> None:
    run = folded([STARTED, *(event for event in log if event.type != "usage")])
    written = json.loads(jsonline.encode(result(run, endings.conclude(run))))
    assert set(written) - {"childSession", "denied", "denials"} == set(shown("result"))


def test_what_only_some_agents_say_is_there_only_then() -> None:
    run = state(STARTED, events.session_started("s-1"), events.denied("c", "Bash", "not allowed"))
    told = {"childSession": "s-1", "denied": 1, "denials": [{"tool": "Bash", "why": "not allowed"}]}
    document = result(run, Verdict("completed", "done"))
    assert {key: document[key] for key in told} == told
    assert not told.keys() & result(state(STARTED), Verdict("completed", "done")).keys()


# --- the run shape ---


def shape(
    run: RunState, standing: Standing, meta: dict[str, Any] | None = None, **changes: Any
) -> dict[str, Any]:
    given_ = {"run_dir": shown("run")["runDir"], "activity": "Reading src/auth.ts", "tmux": None, **changes}
    return documents.run(
        documents.plan_of(meta or META), run, standing, **{"elapsed_s": 12.41, "ended_at": None, **given_}
    )


def test_a_running_run_is_as_the_document_shows_it() -> None:
    call, done = (
        events.tool_call("c", "ls", {}),
        events.tool_result("c", "ls", is_error=False, text="", duration_ms=1),
    )
    run = state(
        STARTED, *[call, done] * 3, events.usage(USAGE), Event("usage", {}), *[events.turn_end(None)] * 2
    )
    run.last_event_at, run.started_at = 1794996011.902, 1794996000.141
    document = shape(run, Standing("running"))
    assert document == shown("run")


def test_an_ended_run_shows_its_ending_and_does_nothing_any_more() -> None:
    asking = Event("needs_input", {}), events.settled(aborted=False)
    run = state(STARTED, events.assistant_text("x" * 5000), *asking)
    how = Verdict("failed", "exit", "The child exited with code 3.", exit=Exit(3), note="n")
    document = shape(run, Standing("failed", how), ended_at=1794996042.37)
    expected = {
        "status": "failed",
        "reason": "exit",
        "exitCode": 3,
        "signal": None,
        "note": "n",
        "errorMessage": "The child exited with code 3.",
        "activity": None,
        "settled": False,
        "needsInput": False,
        "endedAt": 1794996042.37,
        "output": "x" * 4096,
        "outputBytes": 5000,
    }
    assert {key: document[key] for key in expected} == expected


def test_a_live_run_that_waits_says_so() -> None:
    asking = Event("human_input", {}), Event("needs_input", {}), events.settled(aborted=False)
    document = shape(state(STARTED, *asking), Standing("running"))
    assert [document[key] for key in ("settled", "needsInput", "attended")] == [True, True, True]


def test_a_queued_run_is_in_no_window_yet() -> None:
    meta = {**META, "tmux": None, "artifacts": None}
    document = shape(state(), Standing("queued"), meta, elapsed_s=0.0, activity=None)
    assert document["tmux"] == {"socket": None, "session": None, "window": None, "pane": None}
    assert (document["startedAt"], document["elapsedSeconds"], document["agentVersion"]) == (None, 0, None)
    assert set(document["artifacts"]) == set(shown("run")["artifacts"])


def test_the_wrapper_knows_the_window_until_the_child_has_started() -> None:
    tmux = {"session": "agents-app-1", "window": "@9", "pane": "%9"}
    document = shape(lifecycle.RunState(), Standing("running"), tmux=tmux)
    assert document["tmux"] == {"socket": "tmuxagents", **tmux}


def test_a_queued_run_has_no_window_to_tell_of() -> None:
    document = shape(state(), Standing("queued"), tmux={"window": "@9", "pane": "%9"})
    assert document["tmux"]["window"] is None


@pytest.mark.parametrize("status", records.STATUSES)
def test_every_key_is_there_in_every_state_even_of_a_plan_that_lacks_some(status: str) -> None:
    how = Verdict(status, "done") if status in records.ENDED else None
    assert set(shape(state(), Standing(status, how), {"runId": "r"})) == set(shown("run"))


# --- wrapper.json and errors ---


def test_a_wrapper_is_as_the_document_shows_it() -> None:
    example_ = shown("wrapper")
    identity = Identity(
        host=example_["host"],
        boot_id=example_["bootId"],
        pid_namespace=example_["pidNamespace"],
        pid=example_["pid"],
        start_time=example_["startTime"],
    )
    assert documents.wrapper(identity, example_["tmux"], 1794996000.13949) == example_


def test_an_error_is_as_the_document_shows_it() -> None:
    message = 'Unknown preset: "repo-scuot". Available presets: repo-scout, writer'
    fault = Fault("unknown-preset", message, field="tasks[1].preset")
    hint = "Did you mean repo-scout?"
    error = BadRequest(message, kind="unknown-preset", hint=hint, faults=[fault], candidates=["repo-scout"])
    assert documents.error(error) == shown("error")


def test_a_bug_of_ours_names_its_log() -> None:
    document = documents.error(TmuxAgentsError("Something went wrong.", kind="internal"), log="/x.log")
    assert (document["error"]["log"], document["error"]["exit"]) == ("/x.log", 70)


def test_the_plan_of_a_far_run_has_what_counts_here() -> None:
    plan = documents.plan_of(META)
    assert documents.seen_from_here(plan, {}) is plan
    here = {"project": "/here", "socket": "/s", "session": "agents", "launcher": "1.2./s", "after": ["a"]}
    seen = documents.seen_from_here(plan, {"here": here})
    assert (seen.project, seen.tmux_socket, seen.tmux_session) == ("/here", "/s", "agents")
    assert (seen.tmux_launcher, seen.after, seen.cwd) == ("1.2./s", ["a"], plan.cwd)
    assert documents.meta(seen) == META
    assert documents.seen_from_here(plan, {"here": {}}).project == plan.project


@pytest.mark.parametrize("tmux", [{"window": "@7", "pane": "%8"}, None])
def test_a_far_run_is_shown_in_its_window_here(tmux: dict[str, Any] | None) -> None:
    plan = documents.plan_of({**META, "account": "work", "presetFrom": "claude"})
    found = documents.run(
        plan,
        state(STARTED),
        Standing(records.RUNNING, foreign=True),
        run_dir="/r",
        activity=None,
        tmux=tmux,
        elapsed_s=1.0,
        ended_at=None,
        host="box",
    )
    assert (found["host"], found["account"], found["presetFrom"]) == ("box", "work", "claude")
    assert (found["tmux"]["window"], found["tmux"]["pane"]) == (("@7", "%8") if tmux else (None, None))
