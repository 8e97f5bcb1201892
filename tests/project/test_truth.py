"""The truth matrix: its endings can be provoked, and what an agent claims of its end is read as said."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from scripts.truth import acts, claims, endings, store, table
from scripts.truth.cell import Cell
from tests.harness import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

SCRIPTS = json.loads((REPOSITORY / "scripts" / "model_scripts.json").read_text())


def test_each_ending_has_a_script_and_an_act() -> None:
    assert {one.script for one in endings.ENDINGS} - {""} <= set(SCRIPTS)
    assert {one.act for one in endings.ENDINGS} - {""} == {*acts.ACTS, acts.LINGER}
    names = [one.name for one in endings.ENDINGS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("line", "claim"),
    [
        ('{"type":"result","subtype":"success","is_error":true}', "result success is_error"),
        ('{"type":"result","status":"error"}', "result error"),
        ('{"type":"result","exitCode":0}', "result exitCode 0"),
        ('{"type":"turn.failed"}', "turn.failed"),
        ('{"method":"turn/completed","params":{"turn":{"status":"interrupted"}}}', "turn interrupted"),
        ('{"type":"step_finish","part":{"reason":"tool-calls"}}', "step_finish tool-calls"),
        ('{"id":3,"result":{"stopReason":"end_turn"}}', "end_turn"),
        ('{"id":3,"error":{"code":-32000}}', "JSON-RPC error"),
        ('{"type":"session.error"}', "session.error"),
        ('{"type":"text"}\nno JSON\n[1]', "none"),
    ],
)
def test_a_claim_is_the_last_one_of_a_stream(line: str, claim: str) -> None:
    assert claims.last_claim(f'{line}\n{{"type":"other"}}\n'.encode()) == claim


def test_a_cell_is_wrong_unless_its_stream_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Cell(
        "qwen",
        endings.ENDINGS[0],
        ours="completed/done",
        claim="result success",
        exit="0",
        version="0.24.4",
        at="2026-11-20",
    )
    wrong = replace(right, wrong=["output 'x'"])
    assert (table.verdict(right), table.verdict(wrong)) == (table.RIGHT, table.WRONG)
    assert table.line(wrong).splitlines()[1:] == ["    output 'x'"]
    monkeypatch.setitem(endings.UNTOLD, "qwen", (right.ending.name,))
    assert table.counted([right, wrong]) == "1 right, 1 undetectable, 0 WRONG"
    text = table.document([right, wrong])
    assert "qwen 0.24.4 (2026-11-20)." in text
    assert "| answer | **undetectable**: completed, done · *result success, 0* |" in text


def test_a_cell_that_is_tried_again_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    kept = tmp_path / "cache" / "truth.json"
    first, second = (Cell("qwen", one, ours="completed/done") for one in endings.ENDINGS[:2])
    store.keep(kept, [second, first])
    again = replace(second, ours="failed/error", wrong=["why"])
    store.keep(kept, [again])
    assert store.kept(kept) == [first, again]
