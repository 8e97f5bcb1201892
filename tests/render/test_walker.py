"""A whole session of the real pi, as its window shows it in several widths."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually
from tests.render import walker
from tmuxagents.text.width import columns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.harness import Home, Run, TmuxServer

WIDTHS = (60, 80, 120)
ADDED = (
    "+     def get(self, key, *, now=None):",
    "+         found = self._all.get(key)",
    "+         return found",
)
CELLS = ("shop/sessions.py", "get drops what has expired", "tests/test_sessions.py", "one new test")
ANSWER = json.loads((walker.DATA / "script.json").read_text())["refactor"]["turns"][-1]["text"]


@pytest.fixture
def sessions(home: Home, tmux_server: TmuxServer, tmp_path: Path) -> Iterator[dict[int, Run]]:
    with walker.models(tmp_path) as server:
        yield {width: walker.start(home, server, tmux_server, f"{width}x220") for width in WIDTHS}


def captured(tmux: TmuxServer, run: Run) -> list[str]:
    return tmux.run("capture-pane", "-p", "-S", "-", "-t", run.window).split("\n")


def test_the_window_shows_what_happened(sessions: dict[int, Run], tmux_server: TmuxServer) -> None:
    for width, run in sessions.items():
        assert run.wait_gone()["status"] == "completed"
        eventually(lambda run=run: "completed in" in "\n".join(captured(tmux_server, run)))
        lines = captured(tmux_server, run)
        check(lines, width)
        if width == WIDTHS[0]:  # wide signs, and what a hostile child prints, harm nobody
            assert "    red bold 日本語のテスト ✓ 👩‍💻" in lines


def test_a_window_that_is_made_wider_shows_it_all_again(
    sessions: dict[int, Run], tmux_server: TmuxServer
) -> None:
    run = sessions[60]
    eventually(lambda: "exit 3" in "\n".join(captured(tmux_server, run)))
    tmux_server.run("resize-window", "-t", run.window, "-x", "100", "-y", "220")
    assert run.wait_gone()["status"] == "completed"
    eventually(lambda: "completed in" in "\n".join(captured(tmux_server, run)))
    lines = captured(tmux_server, run)
    check(lines, 100)
    assert sum(walker.TASK in line for line in lines) == 1
    assert any(columns(line) == 100 for line in lines)


def check(lines: list[str], width: int) -> None:
    """Check that the window shows a person all that matters."""
    text = "\n".join(lines)
    flat = " ".join(text.split())
    assert max(map(columns, lines)) <= width
    assert flat.startswith("sessions pi mock/mock-refactor")
    assert "TypeError: Store.__init__() got an unexpected keyword argument 'ttl'" in flat
    assert "FAILED (errors=1)" in text
    for line in ADDED:
        assert f"    {line}\n" in text
    assert [cell for cell in CELLS if not re.search(rf"(?m)^  .*{re.escape(cell)}( |$)", text)] == []
    assert "**" not in text
    assert "`" not in flat.partition("What I changed")[2]
    words = [
        word for word in re.sub(r"```\w*|[`*|#-]", " ", ANSWER).split() if word.isascii() and word.isalpha()
    ]
    shown = set(
        re.findall(r"\w+", flat.partition("What I changed")[0] + text[text.index("What I changed") :])
    )
    assert [word for word in words if word not in shown] == []
    assert text.count("Reading shop/sessions.py") == 1
    assert "… 54 lines above" in text
    assert re.search(r"✗ \$ python3 -B -m unittest.*exit 1 +.*\d:\d\d$", text, re.MULTILINE)
    assert re.search(r"✓ completed in [\d.]+s · 8 tools · ↑\d.*↓[\d.]+k · \$0\.\d+$", text, re.MULTILINE)
