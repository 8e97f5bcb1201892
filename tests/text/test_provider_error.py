"""The message of a failure, as one sentence."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests import strategies
from tmuxagents.runs.endings import PARENT
from tmuxagents.text import provider_error


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("", ""),
        ("Timed out after 600s.", "Timed out after 600s."),
        ("two\nlines \x1b[31mred", "two lines red"),
        ('429: {"message":"Quota exceeded.","type":"insufficient_quota"}', "Quota exceeded (429)"),
        ('401 {"error":{"message":"Incorrect API key","type":"x"}}', "Incorrect API key (401)"),
        (
            'Error: 529 {"type":"error","error":{"type":"overloaded","message":"Overloaded"}}',
            "Overloaded (529)",
        ),
        ('{"error":"no such model"}', "no such model"),
        ('{"detail":{"msg":"bad"}}', "bad"),
        ('Cannot ask the provider: {"message":"closed"}', "Cannot ask the provider: closed"),
        ('500 (while asking): {"message":"closed"}', "500 (while asking): closed"),
        ('404: {"message":"404 page not found"}', "404 page not found"),
        ('429: {"message":"Quota \\"free\\" is used up","type":"insuff', 'Quota "free" is used up (429)'),
        ('429: {"message":"Quota is used', "Quota is used (429)"),
        ('429: {"message":', '429: {"message":'),
        ('429: {"message": 5, "x', '429: {"message": 5, "x'),
        ('429: {"message":""}', '429: {"message":""}'),
        ('429: {"message":"', '429: {"message":"'),
        ('429: {"code":5}', '429: {"code":5}'),
        ("a {set} of words", "a {set} of words"),
        (PARENT.message, "cancelled"),
        ('{"error":' * 9 + '"deep"' + "}" * 9, '{"error":' * 9 + '"deep"' + "}" * 9),
        ("{" * 3000, "{" * 3000),
    ],
)
def test_the_cause_of_a_failure_is_a_sentence(message: str, words: str) -> None:
    assert provider_error.sentence(message) == words


@given(strategies.rough_text)
def test_a_cause_is_one_inert_line(message: str) -> None:
    said = provider_error.sentence('500: {"message":"' + message)
    assert said == " ".join(said.split())
    assert "\x1b" not in said
