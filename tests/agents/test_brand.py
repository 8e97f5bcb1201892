"""The base classes of all agents: the usual answers of a brand, and how lines are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import plans
from tmuxagents.agents import find
from tmuxagents.agents.base import FOLDER_VARIABLE, Agent, Oversized
from tmuxagents.agents.brand import LineReader, session_uuid
from tmuxagents.agents.capabilities import Questions
from tmuxagents.agents.configured import TextReader
from tmuxagents.agents.pi.command import AGENT as PI
from tmuxagents.agents.pi.questions import CAPABILITIES
from tmuxagents.agents.pi.reader import PiReader
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.runs.documents import plan_of

if TYPE_CHECKING:
    from tmuxagents.agents.capabilities import Capabilities

pytestmark = pytest.mark.pure
PLAN = plan_of(plans.document(LaunchRequest(task="x", cwd="/p", project="/p"), run_id="01a1ee15069b4c1f"))


class Plain(Agent):
    name = "plain"
    program = "plain"

    def capabilities(self) -> Capabilities:
        return CAPABILITIES.changed(oldest="2.10")


def test_a_brand_without_a_thing_of_its_own_says_so() -> None:
    plain = Plain()
    assert (plain.program_variable, plain.live(), plain.talker(PLAN, "/r")) == (
        "TMUXAGENTS_PLAIN",
        None,
        None,
    )
    assert (plain.key_variables("k", None), plain.environment("/a", None)) == ({}, {})
    assert (plain.prompted("/r/text", {}), PI.prompted("/r/text", {})) == ({}, {})
    assert (TextReader().used(b"{}"), PiReader().used(b"{}")) == ([], [])
    assert plain.session("text").problem == "does not belong to this agent"
    assert plain.session_log("a", {}) is None
    assert [plain.questions().is_old(version) for version in ("2.9.9", "2.10.0", "10")] == [
        True,
        False,
        False,
    ]


def test_a_version_is_all_that_it_is_asked() -> None:
    asked = Questions(CAPABILITIES.oldest)
    assert (asked.own_model(b"{}", b""), asked.models(b"[]"), asked.listing(b"a b")) == (None, None, None)


def test_a_new_session_has_the_id_of_its_run_and_of_no_other() -> None:
    assert session_uuid(PLAN) == session_uuid(PLAN)
    assert session_uuid(PLAN) != session_uuid(PLAN.changed(run_id="01a1ee15069b4c20"))


def test_a_line_that_cannot_be_read_whole_is_left_out_of_the_record() -> None:
    reader = LineReader()
    deep = b'{"a":' + b"[" * 2000 + b"]" * 2000 + b"}"
    assert (reader.feed(deep, 0.0).active, reader.left_out) == (True, True)
    other = LineReader()
    assert (other.feed_oversized(Oversized(b"{", b"}", 9), 0.0).active, other.left_out) == (True, True)


def test_a_torn_line_takes_a_settling_back() -> None:
    reader = LineReader()
    reader.finish("stop")
    reader.feed(b'{"type":"res', 0.0)
    assert [event.type for event in reader.ended(0)] == ["resumed", "turn_end", "settled"]
    reader.feed(b"plain words", 0.0)
    assert (reader.is_torn, reader.ended(0)) == (False, [])


def test_pi_has_its_own_answers() -> None:
    assert find("pi", None) is PI
    assert PI.capabilities() is CAPABILITIES
    live, questions = PI.live(), PI.questions()
    assert live is not None
    assert (FOLDER_VARIABLE, questions.VERSION) == ("TMUXAGENTS_BRIDGE", ("--version",))
    assert PI.session("").problem is not None
    reader = PI.reader()
    reader.note_late(1.0)
    assert (list(reader.overheard(b"x")), reader.ended(0)) == ([], [])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ((b"A warning.", b"", b"No such session."), "No such session."),
        ((b"error: unexpected argument", b"Usage: x", b"Error: again"), "Error: again"),
        ((b"error: unexpected argument", b"Usage: x"), "error: unexpected argument"),
        ((), None),
    ],
)
def test_an_end_without_a_line_is_explained_by_its_last_words(
    lines: tuple[bytes, ...], message: str | None
) -> None:
    for reader, sentence in ((LineReader(), message), (LineReader(), "Ours.")):
        for line in lines:
            assert reader.overheard(line) == ()
        reader.error_message = None if sentence == message else sentence
        reader.finish("config")
        assert reader.error_message == sentence


def test_a_brand_without_agent_files_has_none() -> None:
    assert Plain().agent_files() is None
