"""Paths as people read them, and which lie inside of which."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.text.paths import is_inside, shorten, shorten_in_text

CWD, HOME = "/home/me/project", "/home/me"


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("/home/me/project", "."),
        ("/home/me/project/", "."),
        ("/home/me/project/../project/a", "a"),
        ("/home/me/project//a/./b", "a/b"),
        ("/home/me/projects/a", "~/projects/a"),
        ("/home/me", "/home/me"),
        ("/home/meme/a", "/home/meme/a"),
        ("../a", "../a"),
        ("", ""),
        ("~/a", "~/a"),
        ("/usr/lib/", "/usr/lib/"),
        ("/home/me/notes/", "~/notes/"),
        ("D:/x/y", "D:/x/y"),
    ],
)
def test_path(path: str, short: str) -> None:
    assert shorten(path, cwd=CWD, home=HOME) == short


def test_where_the_child_works_is_a_dot_however_it_is_written() -> None:
    assert shorten("C:\\Users\\me", cwd="C:\\Users\\me", home=HOME) == "."


def test_a_path_climbs_only_if_that_saves_ten_characters() -> None:
    base = "/srv/" + "a" * 20
    assert shorten(f"{base}/x", cwd=f"{base}/b", home=HOME) == "../x"
    assert shorten("/srv/1234567/x", cwd="/srv/1234567/b", home=HOME) == "../x"
    assert shorten("/srv/123456/x", cwd="/srv/123456/b", home=HOME) == "/srv/123456/x"


@pytest.mark.parametrize("cwd", ["/", "/home"])
def test_from_above_the_home_its_own_sign_is_shorter(cwd: str) -> None:
    assert shorten("/home/me/notes/a", cwd=cwd, home=HOME) == "~/notes/a"
    assert shorten("/home/you/a", cwd=cwd, home=HOME) == "/home/you/a".removeprefix(cwd).lstrip("/")


@pytest.mark.parametrize("home", ["", "/"])
def test_without_a_home_nothing_is_below_it(home: str) -> None:
    assert shorten("/usr/lib/x", cwd=CWD, home=home) == "/usr/lib/x"


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("cat '/home/me/project/a b'", "cat 'a b'"),
        ('x="/home/me/project/a/b"', 'x="a/b"'),
        ("--out=/home/me/project/out/x", "--out=out/x"),
        ("(cd /home/me/project/src && ls)", "(cd src && ls)"),
        ("grep x /home/me/project/a.ts:10", "grep x a.ts:10"),
        ("ls /home/me/project/*.ts", "ls ./*.ts"),
        ("ls /home/me/project/src/*.ts", "ls src/*.ts"),
        ("ls /home/me/project/ -la", "ls ./ -la"),
        ("rsync /home/me/project/a/ /home/me/b/", "rsync a/ ~/b/"),
        ("curl -d @/home/me/project/a.json", "curl -d @a.json"),
        ("ls /home/me/project*", "ls /home/me/project*"),
        ("cat /home/me/project/my\\ file", "cat /home/me/project/my\\ file"),
        ("ls /home/me/project$X /home/me/project{a,b}", "ls /home/me/project$X /home/me/project{a,b}"),
        ("ls $ROOT/home/me/project/a ~/home/me/project/a", "ls $ROOT/home/me/project/a ~/home/me/project/a"),
        ("docker -v /home/me/project/x:/home/me/project/y", "docker -v x:/home/me/project/y"),
        ("scp host:/home/me/project/x .", "scp host:/home/me/project/x ."),
        ("ls /usr", "ls /usr"),
        ("curl file:///home/me/project/x", "curl file:///home/me/project/x"),
        ("curl https://x.io/?f=/home/me/project/x", "curl https://x.io/?f=/home/me/project/x"),
        ("sed -e s/home/me/", "sed -e s/home/me/"),
        ("/home/me/project/run.sh", "run.sh"),
        ("/home/me/project/a/", "a/"),
    ],
)
def test_text(text: str, short: str) -> None:
    assert shorten_in_text(text, cwd=CWD, home=HOME) == short


@pytest.mark.parametrize("piece", ["a", "a.", "/a", "/", "a://", "://", "/x/b\\", "https:"])
def test_a_long_text_is_searched_once(piece: str) -> None:
    # A search that begins again at each character would not come back.
    assert shorten_in_text(piece * 100_000, cwd=CWD, home=HOME) == piece * 100_000


segments = st.lists(st.sampled_from(["a", "b", "..", ".", ""]), max_size=5).map(
    lambda parts: "/" + "/".join(parts)
)


@given(segments, segments, segments)
def test_a_short_path_is_not_longer(path: str, cwd: str, home: str) -> None:
    short = shorten(path, cwd=cwd, home=home)
    assert short
    assert len(short) <= max(len(path), 1)


@pytest.mark.parametrize(
    ("path", "folder", "inside"),
    [
        ("/p/a", "/p", True),
        ("/p", "/p", True),
        ("/pa", "/p", False),
        ("/", "/p", False),
        ("/p/a", "/", True),
        ("/", "/", True),
        ("/q", "/p", False),
    ],
)
def test_inside(path: str, folder: str, *, inside: bool) -> None:
    assert is_inside(path, folder) is inside
