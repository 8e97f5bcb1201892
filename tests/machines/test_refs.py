"""The names of code on its way, and the words about it: tables."""

from __future__ import annotations

import re

import pytest

from tmuxagents.errors import BadRequest
from tmuxagents.machines import refs
from tmuxagents.machines.refs import Code, Left

pytestmark = pytest.mark.pure
COMMIT = "1" * 40


@pytest.mark.parametrize(
    ("repository", "name"),
    [
        ("/home/u/My Project/.git", "my-project"),
        ("/srv/bare.git", "bare"),
        ("/srv/--x--/.git", "x"),
        ("/", "project"),
        ("/home/u/ünï/.git", "n"),
        ("/home/u/日本/.git", "project"),
        (f"/home/{'a' * 300}/.git", "a" * 40),
        ("/home/u/\udcff/.git", "project"),
    ],
)
def test_a_key_is_readable_and_a_safe_name(repository: str, name: str) -> None:
    key = refs.key(repository, "sha1")
    refs.check_name(key, refs.PROJECT)
    assert re.fullmatch(f"{name}-[0-9a-f]{{16}}", key)
    assert len({key, refs.key(repository, "sha256"), refs.key(f"/x{repository}", "sha1")}) == 3


def test_what_is_recorded_is_read_again() -> None:
    code = Code("/p/.git", "p-0123456789abcdef", "sha1", COMMIT, "sub/", ("Ada", "a@b"), "run1")
    assert refs.parse(code.document()) == code
    least = Code("/p/.git", "p-0123456789abcdef", "sha1", COMMIT)
    assert refs.parse(least.document()) == least


@pytest.mark.parametrize(
    "change",
    [{"key": ""}, {"key": "../x-0123456789abcdef"}, {"commit": "HEAD"}, {"commit": 1}, {"repository": None}],
)
def test_a_damaged_record_is_refused(change: dict[str, object]) -> None:
    whole = Code("/p/.git", "p-0123456789abcdef", "sha1", COMMIT).document()
    with pytest.raises(BadRequest):
        refs.parse(whole | change)


@pytest.mark.parametrize("author", [None, "ab", ["a"], ["a", 1], ["a", "b", "c"], {"a": "b"}])
def test_an_odd_author_is_none(author: object) -> None:
    assert refs.pair(author) is None


@pytest.mark.parametrize("document", [{}, {"refs": []}, {"refs": {}}, {"refs": {}, "kept": {}}])
def test_an_odd_answer_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(BadRequest):
        refs.parse_left(document, "run1")


@pytest.mark.parametrize(
    "ref",
    [
        *("refs/heads/main", "HEAD", "refs/tmuxagents/run2", "refs/tmuxagents/run1.branches"),
        *("refs/tmuxagents/run1.branches/../../heads/main", "refs/tmuxagents/run1.branches/a b"),
        *("refs/tmuxagents/run1.branches/", "refs/tmuxagents/run1.branches/x\n", "--force"),
        *("refs/tmuxagents/run1.branches/a//b", "refs/tmuxagents/run1.branches/.a"),
        *("refs/tmuxagents/run1.branches/a.lock", "refs/tmuxagents/run1.branches/a@{1}"),
        *("refs/tmuxagents/run1.branches/\ud800", "refs/tmuxagents/run1.branches/\udfff"),
    ],
)
def test_a_far_machine_cannot_name_other_refs(ref: str) -> None:
    with pytest.raises(BadRequest):
        refs.parse_left({"refs": {ref: COMMIT}, "kept": []}, "run1")


def test_a_far_machine_can_name_nothing_but_commits() -> None:
    ref = "refs/tmuxagents/run1"
    for value in ("--evil", "HEAD", "", None, f"{COMMIT}\n"):
        with pytest.raises(BadRequest):
            refs.parse_left({"refs": {ref: value}, "kept": []}, "run1")
    branches = {f"{ref}.branches/{name}": COMMIT for name in ("fix", "a/b", "@stash", "@rebased", "ünï")}
    found = refs.parse_left({"refs": {ref: COMMIT, **branches}, "kept": ["x"], "isGone": False}, "run1")
    assert found == Left({ref: COMMIT, **branches}, ["x"])


@pytest.mark.parametrize(
    ("uncommitted", "words"),
    [
        (0, []),
        (1, ["1 uncommitted file stays here: the child works with the last commit."]),
        (2, ["2 uncommitted files stay here: the child works with the last commit."]),
        (None, ["The child works with the last commit; looking for uncommitted changes took too long."]),
    ],
)
def test_what_stays_here_is_counted(uncommitted: int | None, words: list[str]) -> None:
    assert refs.warnings(uncommitted, has_submodules=False, has_lfs=False) == words
    assert len(refs.warnings(uncommitted, has_submodules=True, has_lfs=True)) == len(words) + 2


def test_many_paths_are_named_in_part() -> None:
    assert refs.listed(["a"]) == "a"
    assert refs.listed([*"abcdefg"]) == "a, b, c, d, e and 2 more"


@pytest.mark.parametrize(
    ("back", "last"),
    [
        ({"refs": {}, "kept": []}, "The child left no commit and no change."),
        (
            {"refs": {}, "kept": [], "isGone": True},
            "The checkout over there is gone, and with it what the child left.",
        ),
        ({"refs": {}, "problem": "No space."}, "What the child left did not come back: No space."),
        ({"refs": {"refs/tmuxagents/run1": COMMIT}, "kept": []}, "git merge refs/tmuxagents/run1"),
        (
            {"refs": {"refs/tmuxagents/run1.branches/fix": COMMIT}, "kept": ["a\n"]},
            "What git could not take stays in the checkout over there: a.",
        ),
        ({"refs": "odd", "kept": {}}, "The child left no commit and no change."),
    ],
)
def test_what_came_back_is_said(back: dict[str, object], last: str) -> None:
    assert refs.hints("run1", back)[-1] == last


def test_a_checkout_has_its_place() -> None:
    assert refs.checkout_of("/s", "p-0123456789abcdef", "ab") == "/s/far/checkouts/p-0123456789abcdef/ab"


def test_an_update_removes_first() -> None:
    removed, made = refs.updates(["refs/a"], {"refs/a/b": COMMIT})
    assert (removed, made) == (b"delete refs/a\n", f"update refs/a/b {COMMIT}\n".encode())
    assert refs.updates(["refs/\udcff"], {})[0] == b"delete refs/\xff\n"  # git's names are bytes


def test_odd_names_of_projects_and_runs_are_refused() -> None:
    assert [refs.is_name(text, refs.PROJECT) for text in ("p-0123456789abcdef", "../p")] == [True, False]
    assert [refs.is_name(text, refs.RUN) for text in ("0123456789abcdef", "a/b")] == [True, False]
    refs.check_name("0123456789abcdef", refs.RUN)
    with pytest.raises(BadRequest):
        refs.check_name("a b", refs.RUN)
