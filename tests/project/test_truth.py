"""The truth matrix: its endings can be provoked, and what an agent claims of its end is read as said."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from scripts import agent_homes
from scripts.truth import __main__ as program
from scripts.truth import acts, claims, endings, store, table, together
from scripts.truth.cell import Cell
from scripts.truth.lookout import LookOut, remains
from tests.harness import PATH, REPOSITORY, eventually

if TYPE_CHECKING:
    from pathlib import Path

SCRIPTS = json.loads((REPOSITORY / "scripts" / "model_scripts.json").read_text())


def test_each_ending_has_a_script_and_an_act() -> None:
    assert {one.script for one in endings.ENDINGS} - {""} <= set(SCRIPTS)
    assert {one.act for one in endings.ENDINGS} - {""} == {*acts.ACTS, acts.LINGER}
    names = [one.name for one in endings.ENDINGS]
    assert len(names) == len(set(names))
    told = {name for untold in endings.UNTOLD.values() for name in untold}
    assert told <= set(names)
    assert {*endings.UNTOLD, *endings.TELLS_LAST_CALL, *together.BRANDS} <= set(agent_homes.BRANDS)


def test_what_a_brand_has_not_is_to_be_refused_or_told_why() -> None:
    named = {one.name: one for one in endings.ENDINGS}
    keys = {
        brand: [endings.refused(brand, named[name]) for name in ("denied", "asks, denied", "live, answer")]
        for brand in ("pi", "claude", "gemini", "qwen-acp")
    }
    assert keys == {
        "pi": ["permission", "permission", None],
        "claude": [None, None, None],
        "gemini": [None, "permission", "live"],
        "qwen-acp": [None, None, "live"],
    }
    assert endings.refused("pi", named["unknown model"]) == endings.MODEL
    assert endings.out_of_reach("codex", "limit")
    assert endings.out_of_reach("qwen", "limit") is None


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


def test_a_cell_is_wrong_whatever_its_stream_can_tell() -> None:
    right = Cell(
        "qwen",
        endings.ENDINGS[0],
        ours="completed/done",
        claim="result success",
        exit="0",
        version="0.24.4",
        at="2026-11-20",
    )
    refused = replace(right, ours=endings.REFUSED_BY_US)
    untold, wrong = replace(right, untold=True), replace(right, untold=True, wrong=["output 'x'"])
    assert [table.verdict(one) for one in (right, untold, wrong)] == [table.RIGHT, table.UNTOLD, table.WRONG]
    assert table.line(wrong).splitlines()[1:] == ["    output 'x'"]
    assert table.counted([right, wrong, untold, refused]) == "1 right, 1 refused, 1 undetectable, 1 WRONG"
    text = table.document([right, replace(right, brand="claude-acp"), untold], None)
    assert "2026-11-20: qwen 0.24.4, claude-acp" in text
    assert "| answer | **undetectable**: completed, done · *result success, 0* |" in text
    assert "- *limit* with claude-acp: " in text


def test_a_cell_that_is_tried_again_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    kept = tmp_path / "cache" / "truth.json"
    first, second = (Cell("qwen", one, ours="completed/done") for one in endings.ENDINGS[:2])
    store.keep(kept, [second, first])
    again = replace(second, ours="failed/error", wrong=["why"])
    store.keep(kept, [again, replace(first, brand="claude")])
    store.keep(kept, [], {"brands": ["claude"], "at": "2026-11-20", "seconds": 1, "wrong": []})
    assert store.kept(kept, ["claude"]) == [replace(first, brand="claude"), first, again]
    assert "all of it was right" in table.document(store.kept(kept), store.together(kept))


def test_a_command_line_that_tells_a_secret_is_noted(tmp_path: Path) -> None:
    mine = {"HOME": str(tmp_path), "PATH": PATH}
    with LookOut(tmp_path, {"a key": "sesame", "the prompt": "Please"}) as looks:
        telling = ["sh", "-c", "read line", "sesame"]
        others = {"HOME": "/other", "PATH": PATH}
        with (
            subprocess.Popen(telling, stdin=subprocess.PIPE, env=mine) as child,
            subprocess.Popen([*telling, "Please"], stdin=subprocess.PIPE, env=others),
        ):
            eventually(lambda: looks.told)
            eventually(lambda: child.pid in remains(tmp_path))
            assert remains(tmp_path, "a-run") == {}
    assert looks.told == {"a key": " ".join(telling)}
    assert looks.seen == 1


def test_a_quick_cell_that_is_wrong_is_tried_once_more_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong = (Cell("qwen", one, ours="completed/done") for one in endings.ENDINGS[:2])
    wrong.wrong = ["why"]
    tries: list[str] = []

    def tried(brand: str, ending: endings.Ending, _: Path) -> Cell:
        tries.append(ending.name)
        return Cell(brand, ending, ours="completed/done")

    monkeypatch.setattr(program, "tried", tried)
    found = program.try_wrong_again([right, wrong], tmp_path, tmp_path / "truth.json")
    assert (tries, program.wrong_ones(found)) == ([wrong.ending.name], [])
    assert f"unsteady: qwen, {wrong.ending.name}" in capsys.readouterr().out
    many = [wrong] * (program.MOST_AGAIN + 1)
    assert program.try_wrong_again(many, tmp_path, tmp_path / "truth.json") == many  # something is broken
    assert len(tries) == 1
