"""The vectors that need a disk; files that hold no vectors; the program as a whole, in this process."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.conforming import __main__ as program
from scripts.conforming import cases
from scripts.conforming.cases import Case
from scripts.conforming.groups import ON_DISK
from scripts.conforming.judge import judge

pytestmark = pytest.mark.usefixtures("nothing_hangs")

DATA = Path(__file__).parents[1] / "data"
FILES = [DATA / "conformance.json", DATA / "conformance-more.json"]
VECTORS = [case for path in FILES for case in cases.read(str(path)) if case.group in ON_DISK]


@pytest.mark.parametrize("case", VECTORS, ids=repr)
def test_vector(case: Case) -> None:
    failure = judge(case)
    assert failure is None, f"\n{failure}"


def test_a_case_writes_nothing_outside_of_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("../../evil", "/tmp/../evil", str(tmp_path / "evil")):
        raw = {"in": {"files": {name: "x"}, "spec": [], "prompt": ""}, "out": ""}
        failure = judge(Case("filesParameter", 1, raw))
        assert failure is not None
        assert "outside of the case's own folder" in failure.got
    assert list(tmp_path.iterdir()) == []


def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, path: Path
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["conformance", str(path)])
    status = program.main()
    said = capsys.readouterr()
    return status, said.out, said.err


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is not JSON"),
        (b'{"groups": ', "is not JSON"),
        (b"\xff", "is not UTF-8"),
        (b"[]", "holds no vectors"),
        (b"null", "holds no vectors"),
        (b'{"groups": []}', "holds no vectors"),
        (b'{"formatToolCall": []}', "holds no vectors"),
        (b"[" * 100_000, "nested too deeply"),
        (None, "cannot be read: no such file or directory"),
    ],
)
def test_a_file_without_vectors_is_one_sentence(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    content: bytes | None,
    why: str,
) -> None:
    path = tmp_path / "v.json"
    if content is not None:
        path.write_bytes(content)
    status, out, err = run(capsys, monkeypatch, path)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"scripts/conformance: {path}")
    assert why in err


def test_one_case_that_cannot_be_borne_hides_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    good: dict[str, Any] = {"id": "good", "in": {"text": "a"}, "out": "a"}
    groups = {
        "stripAnsi": [good, {"id": "bad", "in": {}, "out": "a"}, {"id": "none"}, 5],
        "later": [{"id": "x", "in": 1, "out": 2}, {"id": "y", "in": 1, "out": 2}],
        "countNonEmptyLines": [{"id": "last", "in": {"text": "a\nb"}, "out": 2}],
    }
    path = tmp_path / "v.json"
    path.write_text("\ufeff" + json.dumps({"groups": groups}), "utf-8")
    status, out, err = run(capsys, monkeypatch, path)
    assert (status, err) == (1, "")
    named = [line for line in out.splitlines() if not line.startswith(" ")]
    assert named == [
        *("stripAnsi/bad", "stripAnsi/none", "stripAnsi/number 4", "later/x", "later/y"),
        "2 passed, 5 failed",
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_all_pass(path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(capsys, monkeypatch, path) == (0, f"{len(cases.read(str(path)))} passed, 0 failed\n", "")
