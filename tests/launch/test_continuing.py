"""The parts of a session that a run takes over; a transcript put into a prompt and taken out again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import plans
from tmuxagents.agents.models import Resolved
from tmuxagents.launch import continued, plan
from tmuxagents.launch.continued import Continued
from tmuxagents.runs import conversation, prompt
from tmuxagents.runs.documents import plan_of
from tmuxagents.runs.lifecycle import RunState

FIRST, LATEST, NEW = "01a1ee15069b4c1f", "01a1ee15069b4c20", "01a1ee15069b4c21"
TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)


def planned(continues: Continued | None, **changes: Any) -> dict[str, Any]:
    wanted = {"task": "And now?", "cwd": "/app", "project": "/app", "continues": continues, **changes}
    return plans.document(plan.LaunchRequest(**wanted), run_id=NEW)


def test_a_continued_session_is_in_the_plan_with_the_run_before() -> None:
    meta = planned(Continued(FIRST, LATEST))
    assert [meta[key] for key in ("runId", "callId", "sessionId", "resumes")] == [NEW, NEW, FIRST, LATEST]
    assert "replayed" not in meta
    assert planned(Continued(FIRST, LATEST, transcript="User: x"))["replayed"] == len("User: x")
    assert [planned(None)[key] for key in ("sessionId", "resumes")] == [NEW, None]


def test_the_set_up_of_a_session_is_the_recorded_one_and_nothing_else() -> None:
    recorded = planned(None, name="scout", timeout=7) | {
        "preset": "scout",
        "presetKind": "profile",
        "tools": ["read"],
        "profile": {"noSkills": True},
    }
    again = planned(Continued(FIRST, LATEST, set_up=continued.set_up(plan_of(recorded))))
    assert [again[key] for key in ("preset", "presetKind", "tools", "profile")] == [
        *("scout", "profile", ["read"], {"noSkills": True}),
    ]
    assert [again[key] for key in ("task", "name", "timeout", "sessionId")] == ["And now?", None, 600, FIRST]


@pytest.mark.parametrize(
    ("machine", "place"),
    [
        (None, {"on": "here"}),  # whatever its preset says by now
        ({"host": "slurm"}, {"on": "slurm", "sbatch": ()}),
        ({"partition": "gpu", "options": ["--time=5"]}, {"on": "slurm:gpu", "sbatch": ("--time=5",)}),
        ({"partition": None, "options": "odd"}, {"on": "slurm", "sbatch": ()}),
    ],
)
def test_a_session_goes_on_where_it_was(machine: dict[str, Any] | None, place: dict[str, Any]) -> None:
    assert continued.place(machine) == place


@pytest.mark.parametrize(
    ("text", "tools", "reason", "earlier", "keeps", "kept"),
    [
        (None, 0, "error", None, False, False),
        (None, 0, "error", None, True, True),
        (None, 0, "error", "s-0", False, True),  # an older session, which it has all the same
        ("Hello", 0, "error", None, False, True),
        (None, 1, "error", None, False, True),
        (None, 0, None, None, False, True),  # it was stopped
    ],
)
def test_a_session_without_an_answer_is_there_if_its_agent_keeps_such(  # noqa: PLR0913  (columns of a table)
    text: str | None, tools: int, reason: str | None, earlier: str | None, *, keeps: bool, kept: bool
) -> None:
    state = RunState()
    state.text, state.tool_count, state.stop_reason, state.child_session = text, tools, reason, "s-1"
    before: Any = SimpleNamespace(plan=plan_of(planned(None) | {"childSession": earlier}), state=state)
    session = continued.kept_session(before.plan, before.state, keeps_unanswered=keeps)
    assert (session.id, session.problem is None) == (("s-1", True) if kept else (None, False))


def test_a_session_whose_id_was_never_said_cannot_be_continued() -> None:
    before: Any = SimpleNamespace(plan=plan_of(planned(None)), state=RunState())
    assert "before its child reported" in str(
        continued.kept_session(before.plan, before.state, keeps_unanswered=True).problem
    )


def test_a_run_is_younger_than_the_one_it_continues_whatever_the_clock_says() -> None:
    continued = Continued(FIRST, LATEST, created_at=100.0)
    assert (continued.moment(200.0), round(continued.moment(50.0), 3)) == (200.0, 100.001)


@pytest.mark.parametrize(
    ("meta", "used", "expected"),
    [
        (
            {"requestedModel": "T", "resolvedModel": "m/t:high", "modelSource": "preset"},
            "m/t",
            ("T", "m/t:high", "preset"),
        ),
        ({"resolvedModel": "m/t"}, None, ("m/t", "m/t", None)),
        ({"resolvedModel": None}, "m/own", (None, "m/own", None)),
    ],
)
def test_the_model_of_a_session_is_the_planned_one_else_what_its_child_used(
    meta: dict[str, Any], used: str | None, expected: tuple[str | None, ...]
) -> None:
    found = continued.model(plan_of(meta), used)
    assert isinstance(found, Resolved)
    assert (found.requested, found.resolved, found.source) == expected
    assert continued.model(plan_of({}), None) is None


# --- a transcript in a prompt and out again -----------------------------------------------------------------


@given(st.lists(TEXTS), TEXTS, TEXTS)
def test_a_prompt_without_its_transcript_is_the_one_that_never_had_it(
    blocks: list[str], transcript: str, task: str
) -> None:
    replayed = prompt.compose(task, blocks=blocks, transcript=transcript)
    plain = prompt.compose(task, blocks=blocks)
    assert prompt.without_transcript(replayed, task, len(transcript)) == plain
    assert prompt.without_transcript(plain, task, None) == plain


@given(TEXTS, TEXTS, st.integers(min_value=-5, max_value=200))
def test_a_prompt_that_was_changed_is_the_task_alone(written: str, task: str, length: int) -> None:
    assert prompt.without_transcript(written, task, length) == task


def test_a_session_replayed_again_and_again_does_not_nest() -> None:
    told = [conversation.RunMessages("completed", conversation.messages("first", []))]
    for number in range(3):
        transcript = conversation.resume_text(told)
        effective = prompt.compose(f"task {number}", blocks=["=== a ===\nx"], transcript=transcript)
        asked = prompt.without_transcript(effective, f"task {number}", len(transcript))
        told.append(conversation.RunMessages("completed", conversation.messages(asked, [])))
        assert effective.count("Previously:") == 1
    assert conversation.resume_text(told).count("=== a ===\nx\n\ntask 0") == 1


def test_how_a_session_is_continued_is_told_by_the_short_id() -> None:
    assert continued.natively(FIRST) == "continues run 01a1ee15 in the child's own session"
    assert continued.not_kept(FIRST) == "run 01a1ee15 ended before its child kept the session"
    assert continued.file_problem(FIRST, "is missing") == "the session file of run 01a1ee15 is missing"
    told = "continues run 01a1ee15 by replaying the session in the prompt: it is missing"
    assert continued.replayed(FIRST, "it is missing") == told


def test_what_a_session_has_used_adds_up_over_its_runs() -> None:
    state = RunState()
    state.usage |= {"input": 5, "cost": 0.5, "costKind": "estimated"}
    before = plan_of(planned(None) | {"baseline": {"input": 7, "cost": "odd"}})
    used = continued.baseline(before, state)
    assert (used["input"], used["cost"], "costKind" in used) == (12, 0.5, False)
    assert continued.baseline(plan_of(planned(None)), state)["input"] == 5


def test_words_about_a_session() -> None:
    assert continued.unsealed(FIRST, "scout").endswith("preset scout is read anew")
    assert continued.changed(FIRST, ["meta.json", "x"]).endswith(
        "meta.json and x in it has been changed or removed."
    )
    assert continued.natively(FIRST) == "continues run 01a1ee15 in the child's own session"
    assert continued.replayed(FIRST, "asked").endswith("in the prompt: asked")
    plan_with = plan_of(planned(None) | {"preset": "a", "presetSource": "global"})
    assert (continued.preset(plan_with), continued.preset(plan_of(planned(None)))) == ("global:a", None)


@pytest.mark.parametrize("odd", ["--dangerous", "a\x1b[2J", "two\nlines"])
def test_an_odd_id_of_a_session_is_not_passed_on(odd: str) -> None:
    state = RunState()
    state.child_session = odd
    session = continued.kept_session(plan_of(planned(None)), state, keeps_unanswered=True)
    assert "cannot be used" in str(session.problem)
