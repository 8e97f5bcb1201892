"""pi's session file, for a child that continues it: whole, torn, damaged, or none at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.agents import AGENTS
from tmuxagents.agents.pi import live

HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": "t", "cwd": "/home/dev/app"}


def entry(name: str, before: str | None, kind: str = "message", **more: Any) -> dict[str, Any]:
    return {"type": kind, "id": name, "parentId": before, **more}


TALK = [
    HEADER,
    entry("a", None, "model_change"),
    entry("b", "a", text="\u2028 a line for some, and an \u00e4"),
    entry("c", "b"),
]


def text(*entries: Any) -> str:
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in entries)


def test_a_whole_file_is_taken_as_it_is() -> None:
    found = AGENTS["pi"].session(text(*TALK))
    assert (found.problem, found.cwd, found.text) == (None, "/home/dev/app", text(*TALK))


def test_a_last_line_that_was_torn_off_is_left_out() -> None:
    torn = text(*TALK, entry("d", "c", text="long" * 9))[:-20]
    assert live.read_session(torn).text == text(*TALK)
    assert live.read_session(text(*TALK) + "\0" * 512).text == text(*TALK)


def test_a_last_line_that_lacks_only_its_newline_is_kept() -> None:
    assert live.read_session(text(*TALK).removesuffix("\n")).text == text(*TALK)


@given(st.integers(min_value=0, max_value=len(text(*TALK))))
def test_a_file_cut_anywhere_is_refused_or_its_whole_lines_are_kept(at: int) -> None:
    found = live.read_session(text(*TALK)[:at])
    if found.problem is None:
        assert text(*TALK).startswith(found.text)
        assert len(found.text.splitlines()) >= len(text(*TALK)[:at].split("\n")) - 1
    else:
        assert '"message"' not in text(*TALK)[:at].rpartition("\n")[0]


FOREIGN = "is not a session of pi"
SILENT = "holds no conversation"
BROKEN = "is incomplete: a part of the conversation is missing"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", SILENT),
        ("\n\n", SILENT),
        ("half a line", SILENT),
        (text(HEADER), SILENT),
        (text(*TALK[:2]), SILENT),
        ("no json\n" + text(*TALK), FOREIGN),
        (text(*TALK[1:]), FOREIGN),
        (text({**HEADER, "id": 7}, *TALK[1:]), FOREIGN),
        (text({**HEADER, "cwd": "app"}, *TALK[1:]), FOREIGN),
        (text({**HEADER, "cwd": None}, *TALK[1:]), FOREIGN),
        (text(HEADER, TALK[1], TALK[3]), BROKEN),
        (text(HEADER, entry("a", "b"), entry("b", "a")), BROKEN),
        (text(HEADER, entry("a", None), {**entry("b", "a"), "parentId": 7}), BROKEN),
        (text(*TALK[:3]) + "{torn\n" + text(TALK[3]), "is damaged (line 4)"),
        (text(*TALK[:3]) + "[1]\n" + text(TALK[3]), "is damaged (line 4)"),
        (text(*TALK) + "[" * 5000 + "\n", "is damaged (line 5)"),
    ],
)
def test_a_file_that_pi_would_not_wholly_go_on_with_is_told_from_one_it_would(
    content: str, problem: str
) -> None:
    found = live.read_session(content)
    assert (found.problem, found.text) == (problem, "")


def test_an_entry_without_a_name_and_a_branch_that_was_left_do_not_matter() -> None:
    left = entry("x", "lost")
    content = text(*TALK[:3], left, {"type": "usage"}, TALK[3])
    assert live.read_session(content).problem is None
