"""Properties: nothing that pi may print breaks the reader or our files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.agents.pi_lines import (
    LETTERS,
    NAMES,
    RETRIES,
    SETTLED,
    STREAMS,
    TURN,
    answer,
    began,
    call,
    ended,
    line,
    play,
)
from tests.schema_examples import FILES, VALIDATORS, validate_event
from tmuxagents.agents.base import LINE_LIMIT, Oversized
from tmuxagents.records import Exit
from tmuxagents.runs import documents, endings, events, narration
from tmuxagents.runs.narration import Narrator
from tmuxagents.text import jsonline

if TYPE_CHECKING:
    from collections.abc import Iterable

META = FILES["meta.json"][0]
PARSED = [json.loads(raw) for raw in STREAMS["tools_read_ls"].splitlines()] + [
    json.loads(raw) for raw in (RETRIES, line("agent_settled", aborted=True))
]
PLACES = [
    (number, path)
    for number, parsed in enumerate(PARSED)
    if not parsed["type"].endswith("_update")
    for path in strategies.paths(parsed)
]


def endure(lines: Iterable[bytes | Oversized]) -> None:
    """Read lines as the wrapper does, and check all that it would write to files."""
    played = play(lines)
    narrator = Narrator()
    for event in played.events:
        assert event.type in LETTERS
        event.seq = 1
        line_ = events.encode(event)
        assert events.decode(line_) is not None
        validate_event(line_)
        narration.entry(event, narrator.phrase(event))
    for words in played.plain:
        narration.plain_output(words)
    how = endings.verdict(played.state, Exit(0), cause=None, lingered=False)
    assert how.status in ("completed", "failed")
    result = documents.result(documents.plan_of(META), played.state, how, ended_at=2.0, duration_s=1.0)
    VALIDATORS["result"].validate(json.loads(jsonline.encode(result)))


odd_values: st.SearchStrategy[Any] = (
    st.sampled_from([0, -1, 2**53 + 1, "", None, True, [], {}]) | strategies.wild_values
)


@given(st.sampled_from(PLACES), odd_values)
def test_a_wrong_value_anywhere_is_endured(place: tuple[int, tuple[Any, ...]], value: Any) -> None:
    number, path = place
    changed = strategies.replaced(PARSED[number], path, value)
    lines = [*PARSED[:number], changed, *PARSED[number + 1 :]]
    endure(json.dumps(parsed).encode("utf-8", "surrogatepass") for parsed in lines)


@given(st.sampled_from(PLACES))
def test_a_value_that_is_missing_anywhere_is_endured(place: tuple[int, tuple[Any, ...]]) -> None:
    number, path = place
    changed = strategies.replaced(PARSED[number], path, strategies.GONE)
    endure(json.dumps(parsed).encode() for parsed in [*PARSED[:number], changed, *PARSED[number:]])


LINES = sorted({raw for name in NAMES for raw in STREAMS[name].splitlines()}, key=len)[-150:]
TROUBLES = [RETRIES, SETTLED, TURN, answer(call("c1")), began("c1"), ended("c1"), line("agent_start")]


@given(st.sampled_from(LINES), st.integers(0, 400), st.integers(0, 400))
def test_any_line_is_endured_by_its_ends_alone(raw: bytes, head: int, tail: int) -> None:
    endure([Oversized(raw[:head], raw[len(raw) - min(tail, len(raw)) :], LINE_LIMIT + 1)])


@given(st.sampled_from(LINES), st.integers(0, 2000), st.binary(max_size=4))
def test_any_torn_line_is_endured(raw: bytes, at: int, noise: bytes) -> None:
    endure([raw[:at] + noise + raw[at + len(noise) :], raw])


short = st.sampled_from([raw for raw in LINES if len(raw) < 2000] + TROUBLES)


@given(st.lists(short, max_size=12), st.lists(short, max_size=3))
def test_any_order_of_lines_is_endured(lines: list[bytes], again: list[bytes]) -> None:
    endure([*lines, SETTLED, *again])


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_any_noise_is_endured(lines: list[bytes]) -> None:
    endure(lines)
