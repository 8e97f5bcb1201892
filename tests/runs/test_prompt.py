"""The effective prompt: blocks of files, the earlier conversation, the task; and words that name files."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents import records
from tmuxagents.errors import BadRequest
from tmuxagents.records import FileText
from tmuxagents.runs import prompt
from tmuxagents.runs.prompt import FileSpec

TEXT = "1\n2\n3\n4\n5\n"


def block(words: str = TEXT, **wanted: Any) -> str:
    return prompt.file_block(FileSpec("a", **wanted), FileText(words))


# --- which file, which lines ---


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("a.ts", "a.ts"),
        ("a.ts:3-7", {"path": "a.ts", "start": 3, "end": 7}),
        ("a.ts:3-", {"path": "a.ts", "start": 3}),
        ("a.ts:-7", {"path": "a.ts", "end": 7}),
        ("a.ts:head=3", {"path": "a.ts", "head": 3}),
        ("a.ts:tail=03", {"path": "a.ts", "tail": 3}),
        ("a:b:1-2", {"path": "a:b", "start": 1, "end": 2}),
        ("a:1-2:3-4", {"path": "a:1-2", "start": 3, "end": 4}),
        ("a\nb:1-2", {"path": "a\nb", "start": 1, "end": 2}),
        (f"a:tail={'9' * 5000}", {"path": "a", "tail": 10**15 - 1}),
        ("a.ts:3", "a.ts:3"),
        ("a.ts:-", "a.ts:-"),
        ("a.ts:", "a.ts:"),
        ("a.ts:head=", "a.ts:head="),
        ("a.ts:head=x", "a.ts:head=x"),
        ("a.ts:Head=3", "a.ts:Head=3"),
        ("a.ts:٣-", "a.ts:٣-"),
        (":1-2", ":1-2"),
    ],
)
def test_a_word_of_a_command_line(word: str, wanted: Any) -> None:
    assert prompt.parse(word, is_file=False).document() == wanted


@pytest.mark.parametrize("word", ["a.ts:3-7", "a:head=0", "a:tail=1"])
def test_a_file_that_is_called_so_is_meant(word: str) -> None:
    assert prompt.parse(word, is_file=True).document() == word


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("", "--file has an empty path"),
        ("a\0b", "--file has a NUL character in its path"),
        ("a:0-5", "--file needs start to be 1 or more: lines count from 1"),
        ("a:5-0", "--file needs end to be 1 or more: lines count from 1"),
        ("a:head=0", "--file needs head to be 1 or more: lines count from 1"),
        ("a:tail=000", "--file needs tail to be 1 or more: lines count from 1"),
    ],
)
def test_a_word_that_is_refused(word: str, message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        prompt.parse(word, is_file=False, field="--file")
    assert (refused.value.message, refused.value.kind) == (message, "bad-argument")
    assert refused.value.hint


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("a:3-7", "a:3-7"),
        ({"path": "a"}, "a"),
        ({"path": "a", "start": 3.0, "end": None}, {"path": "a", "start": 3}),
        ({"path": "a", "end": 5, "start": 9}, {"path": "a", "start": 9, "end": 5}),
        ({"path": "a", "tail": 1}, {"path": "a", "tail": 1}),
    ],
)
def test_an_entry_in_json(value: Any, wanted: Any) -> None:
    assert prompt.read(value, field="files[0]").document() == wanted


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, "files[0] must be a path, or an object with a path"),
        (None, "files[0] must be a path, or an object with a path"),
        ({"head": 1}, "files[0] must be a path, or an object with a path"),
        ({"path": 5}, "files[0] must be a path, or an object with a path"),
        ("", "files[0] has an empty path"),
        ({"path": "a", "lines": 5}, "files[0] has an unknown key 'lines'"),
        ({"path": "a", "head": "5"}, "files[0] has no whole number as head"),
        ({"path": "a", "head": True}, "files[0] has no whole number as head"),
        ({"path": "a", "tail": 1.5}, "files[0] has no whole number as tail"),
        ({"path": "a", "start": float("inf")}, "files[0] has no whole number as start"),
        ({"path": "a", "start": 0}, "files[0] needs start to be 1 or more: lines count from 1"),
        ({"path": "a", "tail": -1}, "files[0] needs tail to be 1 or more: lines count from 1"),
        ({"path": "a", "head": 1, "tail": 1, "end": 2}, "files[0] asks for end and head and tail at once"),
        ({"path": "a", "start": 1, "head": 1}, "files[0] asks for head and start at once"),
    ],
)
def test_an_entry_that_is_refused(value: Any, message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        prompt.read(value, field="files[0]")
    assert refused.value.message == message
    assert [(fault.field, fault.kind) for fault in refused.value.faults] == [("files[0]", "bad-argument")]


@given(word=st.text(max_size=20), is_file=st.booleans())
def test_what_was_read_is_read_again_the_same(word: str, *, is_file: bool) -> None:
    try:
        spec = prompt.parse(word, is_file=is_file)
    except BadRequest:
        return
    assert prompt.read(spec.document(), field="x").document() == spec.document()


# --- one block a file ---


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        ({}, "1\n2\n3\n4\n5"),
        ({"start": 2, "end": 3}, "2\n3"),
        ({"start": 5}, "5"),
        ({"end": 2}, "1\n2"),
        ({"start": 3, "end": 2}, ""),
        ({"start": 6}, ""),
        ({"head": 2}, "1\n2"),
        ({"head": 9}, "1\n2\n3\n4\n5"),
        ({"tail": 2}, "4\n5"),
        ({"tail": 9}, "1\n2\n3\n4\n5"),
        ({"tail": 0}, ""),
        ({"head": 0}, ""),
        ({"head": -1}, ""),
        ({"tail": -1}, ""),
        ({"end": -1}, ""),
    ],
)
def test_lines_of_a_file(wanted: dict[str, Any], lines: str) -> None:
    assert block(**wanted) == f"=== a ===\n{lines}"


@pytest.mark.parametrize("start", [0, -1])
def test_defect_8_a_start_before_the_first_line_is_the_first_line_not_the_last(start: int) -> None:
    assert block(start=start, end=2) == "=== a ===\n1\n2"


@pytest.mark.parametrize(
    ("words", "shown"), [("", ""), ("\n", ""), ("a\n\n", "a\n"), ("a\r\nb\r\n", "a\r\nb\r")]
)
def test_one_newline_at_the_end_is_none_of_the_text(words: str, shown: str) -> None:
    assert block(words) == f"=== a ===\n{shown}"


@pytest.mark.parametrize(
    ("problem", "size", "shown"),
    [
        (records.OUTSIDE, 0, "[access denied: path outside project directory: ../a]"),
        (records.MISSING, 0, "[file not found: ../a]"),
        (records.UNREADABLE, 5, "[could not read file: ../a]"),
        (records.TOO_LARGE, 2 * 1024**2, "[file too large: ../a (2048KB, limit 1024KB)]"),
        (records.TOO_LARGE, 1024**2 + 1, "[file too large: ../a (1024KB, limit 1024KB)]"),
    ],
)
def test_a_file_that_cannot_be_had_says_why_in_its_place(problem: str, size: int, shown: str) -> None:
    assert prompt.file_block(FileSpec("../a", head=1), FileText(size=size, problem=problem)) == shown


def test_a_name_that_is_no_utf_8_can_stand_in_a_prompt() -> None:
    assert prompt.file_block(FileSpec("a\udcff"), FileText("one\n")) == "=== a? ===\none"


@pytest.mark.parametrize(
    ("path", "allow", "may"),
    [("/p/a", False, True), ("/p", False, True), ("/px/a", False, False), ("/etc/x", True, True)],
)
def test_files_outside_are_denied_unless_a_person_allows_them(path: str, *, allow: bool, may: bool) -> None:
    assert prompt.may_be_read(path, "/p", allow_outside=allow) is may


# --- the whole ---


def test_files_then_what_was_said_then_the_task() -> None:
    whole = prompt.compose("go on\n", blocks=["A", "B"], transcript="User: x")
    assert whole == "A\n\nB\n\nPreviously:\n\nUser: x\n\nInstructions:\n\ngo on\n"
    assert prompt.compose("go on", transcript="User: x") == whole[len("A\n\nB\n\n") : -1]
    assert prompt.compose(" go\n") == " go\n"


def test_an_empty_transcript_is_one_all_the_same() -> None:
    assert prompt.compose("t", transcript="") == "Previously:\n\n\n\nInstructions:\n\nt"


def test_previous_is_what_the_runs_before_said_in_their_order() -> None:
    task = "Compare {previous} and {previous}"
    assert prompt.with_outputs(task, task, ["a", None, "b"]) == "Compare a\n\n\n\nb and a\n\n\n\nb"


def test_previous_is_meant_in_the_task_alone() -> None:
    task = "Go on with {previous}"
    whole = prompt.compose(task, blocks=["=== a ===\n{previous}"], transcript="User: {previous}")
    done = prompt.with_outputs(whole, task, ["what {previous} says"])
    assert done == whole[: -len("{previous}")] + "what {previous} says"


@pytest.mark.parametrize("task", ["no word of it", "{ previous }"])
def test_a_task_that_does_not_ask_for_it_stays_as_it_is(task: str) -> None:
    assert prompt.with_outputs(task, task, ["x"]) == task


def test_a_prompt_that_is_not_this_tasks_stays_as_it_is() -> None:
    assert prompt.with_outputs("another", "{previous}", ["x"]) == "another"


@given(st.text(max_size=30), st.lists(st.text(max_size=10), max_size=3), st.none() | st.text(max_size=10))
def test_the_task_stands_last_to_the_byte(task: str, blocks: list[str], transcript: str | None) -> None:
    assert prompt.compose(task, blocks=blocks, transcript=transcript).endswith(task)


def test_files_that_are_left_out_are_warned_of() -> None:
    there = prompt.file_block(FileSpec("a"), FileText(TEXT))
    absent = prompt.file_block(FileSpec("b"), FileText(problem=records.MISSING))
    assert prompt.left_out([there, absent]) == ["file not found: b; the prompt says so"]
