"""What an agent can do, as a document; the words that start its program; doubts about its answers."""

from __future__ import annotations

import pytest

from tmuxagents.agents.base import Agent
from tmuxagents.agents.capabilities import Capabilities, Questions

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("environment", "commands", "words"),
    [
        ({}, {}, ["agent", "acp"]),
        ({}, {"claude-acp": ["mine", "-x"]}, ["mine", "-x"]),
        ({"TMUXAGENTS_CLAUDE-ACP": "other"}, {"claude-acp": ["mine"]}, ["other", "acp"]),
        ({"TMUXAGENTS_CLAUDE-ACP": ""}, {"pi": ["mine"]}, ["agent", "acp"]),
    ],
)
def test_the_words_that_start_a_program(
    environment: dict[str, str], commands: dict[str, list[str]], words: list[str]
) -> None:
    agent = Agent()
    agent.name, agent.program, agent.program_arguments = "claude-acp", "agent", ("acp",)
    assert list(agent.program_words(environment, commands)) == words


def test_the_document_of_what_an_agent_can_do() -> None:
    can = Capabilities(
        steer=True, tools={"read": "Read", "bash": "Bash"}, oldest="1.2", system_prompt=("append",)
    )
    document = can.document()
    assert (document["takesMessages"], document["resumes"]) == (True, can.resume)
    assert (document["tools"], document["oldest"], document["tested"]) == (["bash", "read"], "1.2", None)
    assert (document["seats"], document["systemPrompt"]) == (list(can.seats), ["append"])


class Listing(Questions):
    MODELS = ("models",)


@pytest.mark.parametrize(
    ("questions", "version", "models", "doubts"),
    [
        (Listing("1.2"), "1.2.0", [], []),
        (Listing("1.2"), None, [], ["a does not report its version; 1.2 or newer is needed"]),
        (Listing("1.2"), "1.1", [], ["a 1.1 is older than 1.2, the oldest supported version"]),
        (Listing("1.2"), "1.2", None, ["a does not report its models, so the model is not checked"]),
        (Listing(None), None, [], []),
        (Questions("1.2"), "2", None, []),
    ],
)
def test_what_an_agent_does_not_report_as_it_should(
    questions: Questions, version: str | None, models: list[str] | None, doubts: list[str]
) -> None:
    assert questions.doubts("a", version, models) == doubts
