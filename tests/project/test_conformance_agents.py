"""scripts/conformance agents: recordings with their verdicts, and how a wrong verdict is told."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from scripts.conforming import agents, recordings, truth
from tests.agents.pi_lines import SAMPLES

if TYPE_CHECKING:
    from pathlib import Path

ANSWER = "Done: I read hello.txt, ran a command and changed world to tmux."


def recording(folder: Path, stream: str = "tools", **changes: Any) -> Path:
    """Lay a recorded pi in a folder, with a verdict; return the folder."""
    place = folder / "pi"
    place.mkdir(parents=True, exist_ok=True)
    shutil.copy(SAMPLES / f"{stream}.jsonl", place / f"{stream}.jsonl")
    text = texts(place / f"{stream}.jsonl")[-1]
    verdict: dict[str, Any] = {
        "status": "completed",
        "reasonWord": "done",
        "text": {"sha256": hashlib.sha256(text.encode()).hexdigest(), "bytes": len(text), "head": text},
        "denials": [],
        **changes,
    }
    meta = {"brand": "pi", "seat": "batch", "exit": 0, "verdict": verdict}
    (place / f"{stream}.meta.json").write_text(json.dumps(meta))
    return folder


def texts(stream: Path) -> list[str]:
    """Return the texts of the answers in a stream."""
    messages = [json.loads(line).get("message") for line in stream.read_text().splitlines()]
    answers = [one for one in messages if isinstance(one, dict) and one.get("role") == "assistant"]
    return [block["text"] for one in answers for block in one["content"] if block.get("type") == "text"]


def test_a_right_verdict_is_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert agents.main([str(recording(tmp_path))]) == 0
    assert capsys.readouterr().out.split() == ["pi", "tools", "right", "1", "right,", "0", "wrong"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"status": "failed"}, "status: completed (done) instead of failed (None)"),
        ({"reasonWord": "length"}, "reason: done instead of length"),
        ({"sessionTold": True, "session": "abc"}, "session: None instead of abc"),
        ({"model": "other"}, "model: "),
        ({"denials": [{"id": "x"}]}, "denials: 0 instead of 1"),
        ({"text": {"sha256": "0", "bytes": 3, "head": "abc"}}, "text: "),
        ({"turns": [{"status": "failed"}]}, "turns: completed instead of failed"),
        (
            {"tools": [{"id": "c9", "name": "bash", "ran": True, "ok": True}]},
            "tool bash (c9): not told",
        ),
        (
            {"ifNotAsked": {"status": "failed"}},
            "status if nobody had asked for the stop: completed instead of failed",
        ),
    ],
)
def test_each_wrong_verdict_is_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], told: str
) -> None:
    assert agents.main([str(recording(tmp_path, **changes))]) == 1
    out = capsys.readouterr().out
    assert f"  {told}" in out
    assert out.endswith("0 right, 1 wrong\n")


def test_what_cannot_be_told_is_counted_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recording(tmp_path, status="failed", reasonWord="length", undetectable="no line says it")
    assert agents.main([str(folder)]) == 0
    assert capsys.readouterr().out.endswith("0 right, 0 wrong, 1 undetectable\n")


def test_a_brand_that_is_not_here_is_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = recording(tmp_path) / "pi" / "tools.meta.json"
    place.write_text(place.read_text().replace('"brand": "pi"', '"brand": "nobody"'))
    assert agents.main([str(tmp_path)]) == 1
    assert "not judged (there is no agent nobody here)" in capsys.readouterr().out


def test_a_folder_without_recordings_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert agents.main([str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"scripts/conformance: {tmp_path}: no recording here")
    assert agents.main([str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == f"scripts/conformance: {tmp_path}/none is no folder\n"


def test_pieces_cut_anywhere_mean_the_same(tmp_path: Path) -> None:
    found = recordings.find([str(recording(tmp_path))])[0]
    assert truth.differences(found, lambda text: [text[at : at + 1] for at in range(len(text))]) == []
