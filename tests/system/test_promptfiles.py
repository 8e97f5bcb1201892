"""Files of a prompt on a real disk: what is read, what is denied, and that nothing blocks or slips in."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.apart import apart, become_somebody
from tmuxagents import records
from tmuxagents.launch import prepare
from tmuxagents.runs.prompt import FileSpec
from tmuxagents.system import prompt_file

pytestmark = pytest.mark.usefixtures("nothing_hangs")

LIMIT = 1000


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    folder.mkdir()
    return folder


def read(path: Path | str, within: Path | None = None) -> tuple[str | None, str]:
    """Read a file that may lie anywhere, or only in a folder; return problem and text."""

    def may(real: str) -> bool:
        return within is None or Path(real).is_relative_to(within)

    found = prompt_file.read(str(path), limit=LIMIT, may=may)
    return found.problem, found.text


def blocks(project: Path, *paths: str, **options: Any) -> list[str]:
    return prepare.file_blocks([FileSpec(path) for path in paths], str(project), **options)


# --- text, and what is none ---


@pytest.mark.parametrize("raw", [b"", b"a\nb\r\n", "é\u2028\0".encode(), b"x" * LIMIT])
def test_text_is_read_to_the_byte(project: Path, raw: bytes) -> None:
    (project / "a").write_bytes(raw)
    found = prompt_file.read(str(project / "a"), limit=LIMIT, may=lambda _: True)
    assert (found.problem, found.text.encode(), found.size) == (None, raw, len(raw))


@pytest.mark.parametrize("raw", [b"\xff", b"a\xc3", "ä".encode("latin-1"), "a".encode("utf-16")])
def test_what_is_not_utf_8_cannot_be_read(project: Path, raw: bytes) -> None:
    (project / "a").write_bytes(raw)
    assert read(project / "a") == (records.UNREADABLE, "")


def test_a_file_that_is_too_large_is_not_read_at_all(project: Path) -> None:
    (project / "a").touch()
    os.truncate(project / "a", 2**40)
    found = apart(lambda: prompt_file.read(str(project / "a"), limit=LIMIT, may=lambda _: True), 5)
    assert (found.problem, found.size, found.text) == (records.TOO_LARGE, 2**40, "")


def test_a_file_that_does_not_say_how_large_it_is_is_read_so_far_and_no_further() -> None:
    assert read("/proc/self/comm")[1].endswith("\n")
    found = prompt_file.read("/proc/self/maps", limit=LIMIT, may=lambda _: True)
    assert (found.problem, found.size) == (records.TOO_LARGE, LIMIT + 1)


def test_what_is_no_file_cannot_be_read_and_blocks_nobody(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(project / "fifo")
    (project / "folder").mkdir()
    (project / "round").symlink_to("round")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(project)  # a socket's path is short
        listening.bind("socket")
        paths = [
            *(project / name for name in ("fifo", "folder", "socket", "round", "x" * 300)),
            Path("/dev/zero"),
        ]
        assert [apart(lambda path=path: read(path), 5) for path in paths] == [(records.UNREADABLE, "")] * 6


@pytest.mark.parametrize("name", ["missing", "missing/below", "a/below", "a\0b", "\ud800"])
def test_what_is_not_there(project: Path, name: str) -> None:
    (project / "a").touch()
    assert read(f"{project}/{name}", project) == (records.MISSING, "")


def test_a_file_with_a_name_that_is_no_utf_8(project: Path) -> None:
    with open(os.fsencode(project) + b"/\xff", "wb") as file:
        file.write(b"x")
    assert read(f"{project}/\udcff", project) == (None, "x")


def test_what_one_may_not_read_cannot_be_read(project: Path) -> None:
    project.chmod(0o755)
    (project / "closed").mkdir()
    for name in ("secret", "closed/a"):
        (project / name).touch()
    for name in ("secret", "closed"):
        (project / name).chmod(0)

    def try_all() -> list[tuple[str | None, str]]:
        os.chdir(project)  # the folders above are closed to others, too
        become_somebody()
        return [read(name) for name in ("secret", "closed/a")]

    assert apart(try_all) == [(records.UNREADABLE, "")] * 2
    (project / "closed").chmod(0o700)  # so that it can be removed


# --- outside ---


def test_links_are_followed_before_it_is_asked_where_a_file_lies(project: Path) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    (outside / "a").write_text("secret")
    (project / "here").write_text("ours")
    for name, target in {
        "out": outside / "a",
        "folder": outside,
        "nowhere": outside / "missing",
        "in": project / "here",
        "lost": project / "missing",
    }.items():
        (project / name).symlink_to(target)
    assert blocks(project, "out", "folder/a", "folder/../here", "../outside/a", "nowhere", "in", "lost") == [
        "[access denied: path outside project directory: out]",
        "[access denied: path outside project directory: folder/a]",
        "[access denied: path outside project directory: folder/../here]",
        "[access denied: path outside project directory: ../outside/a]",
        "[access denied: path outside project directory: nowhere]",
        "=== in ===\nours",
        "[file not found: lost]",
    ]


def test_outside_nobody_learns_what_is_there(project: Path) -> None:
    for path in ("/etc/passwd", "/etc/missing", "/etc", "/dev/zero", "../x", "/etc/passwd/x"):
        assert blocks(project, path) == [f"[access denied: path outside project directory: {path}]"]


def test_a_person_can_allow_what_lies_outside(project: Path) -> None:
    (project.parent / "a").write_text("x\n")
    assert blocks(project, "../a", "/dev/zero", "../b", allow_outside=True) == [
        "=== ../a ===\nx",
        "[could not read file: /dev/zero]",
        "[file not found: ../b]",
    ]


def test_a_folder_that_is_itself_behind_a_link_is_inside_of_itself(project: Path) -> None:
    (project / "a").write_text("x")
    (project.parent / "link").symlink_to(project)
    assert blocks(project.parent / "link", "a", str(project / "a")) == [
        "=== a ===\nx",
        f"=== {project / 'a'} ===\nx",
    ]


def test_a_folder_beside_with_a_longer_name_is_outside(project: Path) -> None:
    beside = project.parent / "project"
    beside.mkdir()
    (beside / "a").write_text("x")
    assert blocks(project, "../project/a")[0].startswith("[access denied")


def test_what_was_judged_is_what_is_read(project: Path) -> None:
    (project / "a").write_text("ours")
    (project.parent / "secret").write_text("secret")

    def swap(real: str) -> bool:
        (project / "a").unlink()
        (project / "a").symlink_to(project.parent / "secret")
        return Path(real).is_relative_to(project)

    found = prompt_file.read(str(project / "a"), limit=LIMIT, may=swap)
    assert (found.problem, found.text) == (None, "ours")


def test_one_bad_file_does_not_spoil_the_others(project: Path) -> None:
    (project / "a").write_text("1")
    (project / "b").write_text("2")
    assert blocks(project, "a", "missing", "b") == [
        "=== a ===\n1",
        "[file not found: missing]",
        "=== b ===\n2",
    ]


# --- words of a command line ---


def test_a_file_that_has_the_whole_word_as_its_name_is_meant(project: Path) -> None:
    (project / "a").write_text("1\n2\n")
    (project / "a:1-1").write_text("whole")
    (project / "a:tail=1").symlink_to("nowhere")
    specs = prepare.parse_files(["a:1-1", "a:2-", "a:tail=1", f"{project}/a:head=1"], str(project))
    assert [each.document() for each in specs] == [
        "a:1-1",
        {"path": "a", "start": 2},
        "a:tail=1",
        {"path": f"{project}/a", "head": 1},
    ]
    assert prepare.file_blocks(specs, str(project)) == [
        "=== a:1-1 ===\nwhole",
        "=== a ===\n2",
        "[file not found: a:tail=1]",
        f"=== {project}/a ===\n1",
    ]
