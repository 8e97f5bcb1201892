"""scripts/conformance, called by a person from wherever they are."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.harness import PATH, REPOSITORY, real_pi

SCRIPT = REPOSITORY / "scripts" / "conformance"


def call(folder: Path, file: str) -> tuple[int, str, str]:
    environment = {
        "PATH": PATH,
        "HOME": str(folder),
        "LC_ALL": "C",
        "TMUXAGENTS_DEV_DIR": str(Path(real_pi()).parents[1]),
        "TMUXAGENTS_DEV_FIXED": "1",
    }
    done = subprocess.run(
        [str(SCRIPT), file],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_file_is_found_from_where_one_is_and_its_failures_are_told(tmp_path: Path) -> None:
    def case(name: str, out: str) -> dict[str, object]:
        given = {"tool": "read", "args": {"path": "größe.ts"}, "cwd": "/p", "width": 80}
        return {"id": name, "in": given, "out": out}

    groups = {"formatToolCall": [case("good", "read → größe.ts"), case("bad", "read")]}
    (tmp_path / "my vectors.json").write_text(json.dumps({"groups": groups}))
    told = 'formatToolCall/bad\n  want  "read"\n  got   "read → größe.ts"\n1 passed, 1 failed\n'
    assert call(tmp_path, "my vectors.json") == (1, told, "")
    assert [path.name for path in tmp_path.iterdir()] == ["my vectors.json"]


def test_the_shared_vectors_pass(tmp_path: Path) -> None:
    status, out, err = call(tmp_path, str(REPOSITORY / "tests/data/conformance.json"))
    assert (status, out.endswith(" passed, 0 failed\n"), out.count("\n"), err) == (0, True, 1, "")


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    status, out, err = call(tmp_path, "none.json")
    assert (status, out) == (2, "")
    assert err == f"scripts/conformance: {tmp_path}/none.json cannot be read: no such file or directory\n"
