"""One tool call as one line, and a shell command in rows."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tmuxagents.text import paths
from tmuxagents.views.previews import Place, preview

CWD = "/home/user/projects/my-app"
HERE = Place(cwd=CWD, home="/home/user", width=120)
KNOWN = (
    *("edit", "write", "read", "bash", "grep", "find", "ls", "delegate_to_subagents", "lint_files", "lint"),
    *("lsp_diagnostics", "lsp_find_references", "lsp_find_symbol", "lsp_refactor_symbol"),
    *("fetch_content", "fetch_repo", "web_search", "write_todos", "edit_todos", "list_todos"),
    *("get_subagent_output", "list_subagent_profiles", "workflow_step"),
)
ARGUMENTS = (
    *("path", "filePath", "edits", "content", "offset", "limit", "command", "pattern", "glob", "tasks"),
    *("profile", "file", "line", "column", "newName", "files", "url", "urls", "query", "todos", "action"),
    *("indices", "sessionId", "oldText", "newText", "text"),
)


def shown(tool: str, **args: Any) -> str:
    return preview(tool, args, HERE)


@pytest.mark.parametrize(
    ("tool", "args", "line"),
    [
        ("grep", {}, "grep → /.../"),
        ("grep", {"pattern": "x", "path": CWD}, "grep → /x/ → ."),
        ("find", {"pattern": "*.ts", "path": f"{CWD}/src"}, "find → *.ts in src"),
        ("find", {"path": "src"}, "find → ... in src"),
        ("ls", {}, "ls → ."),
        ("read", {"path": "a", "offset": 0, "limit": 0}, "read → a"),
        ("read", {"path": "a", "offset": "7", "limit": "2"}, "read → a:7+2 (2 lines)"),
        ("read", {"path": "a", "offset": 5.0, "limit": 2.5}, "read → a:5+2.5 (2.5 lines)"),
        ("read", {"file_path": "a", "offset": True}, "read → a"),
        (
            "edit",
            {"path": "a", "edits": ["x", {"newText": "1\n2"}, {"oldText": 5}]},
            "edit → a (2 edits) +2/-0",
        ),
        ("edit", {"path": "a", "edits": "[]"}, "edit → a"),
        ("lsp_goto_definition", {"file": "a.ts"}, "lsp_goto_definition → a.ts"),
        ("lsp_goto_definition", {}, "lsp_goto_definition → ..."),
        ("lsp_refactor_symbol", {"file": "a.ts", "line": 1}, "lsp_refactor_symbol → a.ts:1 → ..."),
        ("lint_files", {"files": ["a", "b", "c"]}, "lint → a, b, c"),
        ("lint_files", {"files": ["a", "b", "c", "d"]}, "lint → a, b, ... +2 more"),
        ("lint_files", {"files": [{"path": f"{CWD}/a"}, 5, None]}, "lint → a, 5"),
        ("fetch_content", {"url": "https://x.io/a"}, "fetch_content → https://x.io/a"),
        ("fetch_content", {"urls": ["https://x.io/a", "https://x.io/b"]}, "fetch_content → https://x.io/a"),
        ("fetch_content", {}, "fetch_content → ..."),
        ("web_search", {"queries": ["one", "two"]}, "web_search → one"),
        ("edit_todos", {}, "edit_todos → ? []"),
        ("edit_todos", {"action": "clear"}, "edit_todos → clear []"),
        ("edit_todos", {"todos": [{"text": "x" * 60}]}, "edit_todos → " + "x" * 45 + "..."),
        ("list_todos", {"x": 1}, "list_todos"),
        ("workflow_step", {}, "workflow_step → ?"),
        (
            "delegate_to_subagents",
            {"tasks": [{"profile": "a"}, {}, 5]},
            "delegate_to_subagents → 3 tasks [a]",
        ),
        (
            "delegate_to_subagents",
            {"profile": "d", "tasks": [{}, {"profile": "a"}, {"profile": "d"}]},
            "delegate_to_subagents → 3 tasks [a, d]",
        ),
        ("", {}, "tool"),
    ],
)
def test_line_of_a_call(tool: str, args: dict[str, Any], line: str) -> None:
    assert preview(tool, args, HERE) == line


@pytest.mark.parametrize("args", [None, [], "x", 5, [{"path": "a"}]])
def test_arguments_that_are_no_object_are_none(args: Any) -> None:
    assert preview("read", args, HERE) == "read → ..."
    assert preview("mine", args, HERE) == "mine"


def test_what_a_child_sends_stays_on_its_line_and_moves_no_cursor() -> None:
    assert shown("read", path="a\x1b[2J\nb\tc") == "read → a b c"
    assert shown("\x1b[31mmine\n", key="a\x1b[2J\x7f") == 'mine {"key":"a\\u001b[2J"}'


def test_two_blanks_mean_two_blanks() -> None:
    assert shown("grep", pattern="a  b") == "grep → /a  b/"


# --- shell commands ---


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (f"cd {CWD}", "bash → cd ."),
        (f"cd {CWD}/", "bash → cd ."),
        (f"cd  {CWD}/  &&  make", "bash → make"),
        (f"  cd {CWD}&&make", "bash → cd .&&make"),
        (f"cd\t{CWD} &&", "bash → cd ."),
        (f"cd {CWD}; make", "bash → cd .; make"),
        (f"cd {CWD} || exit", "bash → cd . || exit"),
        (f"cd {CWD}x && make", f"bash → cd {CWD.replace('/home/user', '~')}x && make"),
        ("cd / && ls", "bash → cd / && ls"),
        ("make\r\nmore", "bash → make"),
        ("   ", "bash → cd ."),
        ("printf '\x1b[2J'", "bash → printf ''"),
    ],
)
def test_line_of_a_command(command: str, line: str) -> None:
    assert shown("bash", command=command) == line


def test_in_the_root_a_change_to_the_root_says_nothing() -> None:
    assert paths.collapse_cd("cd / && ls", "/") == "ls"


def test_a_program_in_one_line_does_not_fill_the_window() -> None:
    line = shown("bash", command=" && ".join(["true"] * 100_000))
    assert len(line) < 5000


@given(st.lists(st.text("abc &", max_size=30), max_size=8), st.integers(4, 40), st.integers(4, 40))
def test_no_row_is_wider_than_its_width_and_nothing_gets_lost(
    steps: list[str], first: int, then: int
) -> None:
    command = " && ".join(steps)
    rows = paths.wrap(command, first, then).split(" &&\n│ ")
    assert all(len(row) <= max(first, then) for row in rows)
    assert all(len(row) <= then for row in rows[1:])
    assert " && " in rows[0] or len(rows[0]) <= first
    if not any(row.endswith("...") for row in rows):
        assert [step for step in " && ".join(rows).split(" && ") if step] == [
            step for step in command.split(" && ") if step
        ]


calls = st.dictionaries(st.sampled_from(ARGUMENTS) | st.text(max_size=5), strategies.wild_values, max_size=5)


@given(st.sampled_from(KNOWN) | strategies.rough_text, calls | strategies.wild_values, st.integers(20, 200))
def test_whatever_a_child_sends_a_preview_is_words_that_a_terminal_only_shows(
    tool: str, args: Any, width: int
) -> None:
    told = preview(tool, args, Place(cwd=CWD, home="/home/user", width=width))
    rows = told.split("\n")
    assert told.strip()
    assert all(row.startswith("│ ") for row in rows[1:])
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", told)
