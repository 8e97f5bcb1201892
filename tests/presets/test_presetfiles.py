"""Which preset files are read: four folders, how far up a project's are looked for, what is left out."""

from __future__ import annotations

import hashlib
import importlib
import os
import signal
import socket
import stat
from typing import TYPE_CHECKING, Any

import pytest

from tests.apart import NOBODY, Apart, apart, mount_privately, mount_tmpfs
from tmuxagents.presets import disk
from tmuxagents.presets.disk import RefusedFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tmuxagents.presets.disk import Found

pytestmark = pytest.mark.usefixtures("nothing_hangs")

TEXT = "---\nname: a\ndescription: d\n---\nBody\n"
KB = 1024


class Desk:
    """A home with a project in it, and what is read there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.project = self.home / "app"
        self.project.mkdir(parents=True)
        self.environment = {"HOME": str(self.home)}

    def put(self, path: str, text: str | bytes = TEXT, mode: int = 0o644) -> Path:
        """Write a file below the home."""
        made = self.home / path
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_bytes(text.encode() if isinstance(text, str) else text)
        made.chmod(mode)
        return made

    def read(self, folder: str = "app", **how: Any) -> Found:
        return disk.read_all(str(self.home / folder), self.environment, **how)

    def found(self, folder: str = "app", **how: Any) -> list[str]:
        """Return the files that were read, as paths below the home."""
        read = self.read(folder, **how)
        return [os.path.relpath(file.path, self.home) for file in read.files]

    def left_out(self, folder: str = "app") -> dict[str, str]:
        """Return what was left out, and why."""
        return {os.path.relpath(one.path, self.home): one.why for one in self.read(folder).refused}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# --- the four folders -------------------------------------------------------------------------------------


def test_all_four_folders_are_read(desk: Desk) -> None:
    places = {
        ".pi/agent/subagents/a.md": ("preset", "global"),
        "app/.pi/subagents/b.md": ("preset", "project"),
        ".pi/agent/agent-profiles/c.md": ("profile", "global"),
        "app/.pi/agent-profiles/d.md": ("profile", "project"),
    }
    for path in places:
        desk.put(path)
    files = desk.read().files
    assert [(file.kind, file.source) for file in files] == list(places.values())
    assert [os.path.relpath(file.path, desk.home) for file in files] == list(places)
    assert desk.left_out() == {}


def test_text_and_hash_are_of_the_same_bytes(desk: Desk) -> None:
    text = "---\r\nname: é\n---\n\ufeffBody"
    desk.put(".pi/agent/subagents/a.md", text)
    (file,) = desk.read().files
    assert (file.text, file.hash) == (text, hashlib.sha256(text.encode()).hexdigest()[:12])


def test_a_home_without_any_is_no_fault(desk: Desk) -> None:
    assert (desk.found(), desk.left_out()) == ([], {})


def test_only_names_that_end_in_md_count(desk: Desk) -> None:
    for name in ("a.md", "B.md", "c.MD", "d.txt", "e.md.bak", "md", "f.md~", ".md"):
        desk.put(f".pi/agent/subagents/{name}")
    (desk.home / ".pi/agent/subagents/folder.md").mkdir()
    assert [path.rpartition("/")[2] for path in desk.found()] == [".md", "B.md", "a.md"]
    assert desk.left_out() == {}


def test_nothing_is_found_where_others_keep_theirs(desk: Desk) -> None:
    for path in (".pi/agents/a.md", "app/.pi/agents/a.md", "app/.pi/a.md", "app/.pi/subagents/sub/a.md"):
        desk.put(path)
    assert desk.found() == []


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"PI_AGENT_DIR": "ours", "PI_CODING_AGENT_DIR": "theirs"}, "ours"),
        ({"PI_CODING_AGENT_DIR": "theirs"}, "theirs"),
        ({}, ".pi/agent"),
    ],
)
def test_the_users_own_lie_in_the_agents_folder(desk: Desk, variables: dict[str, str], folder: str) -> None:
    for place in ("ours", "theirs", ".pi/agent"):
        desk.put(f"{place}/subagents/a.md")
        desk.put(f"{place}/agent-profiles/a.md")
    desk.environment |= {name: str(desk.home / value) for name, value in variables.items()}
    assert desk.found() == [f"{folder}/subagents/a.md", f"{folder}/agent-profiles/a.md"]


def test_a_project_can_be_left_out(desk: Desk) -> None:
    desk.put(".pi/agent/subagents/a.md")
    desk.put("app/.pi/subagents/b.md")
    assert desk.found(with_project=False) == [".pi/agent/subagents/a.md"]


# --- how far up -------------------------------------------------------------------------------------------


def test_the_nearest_folder_counts_and_no_other(desk: Desk) -> None:
    desk.put("app/.pi/subagents/outer.md")
    desk.put("app/a/.pi/subagents/inner.md")
    desk.put("app/.pi/agent-profiles/p.md")
    assert desk.found("app/a/b") == ["app/a/.pi/subagents/inner.md", "app/.pi/agent-profiles/p.md"]
    assert desk.found("app") == ["app/.pi/subagents/outer.md", "app/.pi/agent-profiles/p.md"]


def test_a_folder_that_holds_only_runs_does_not_hide_one_above(desk: Desk) -> None:
    desk.put("app/.pi/subagents/outer.md")
    desk.put("app/a/.pi/subagents/runs/.gitignore", "*\n")
    (desk.home / "app/a/.pi/subagents/runs/x.md").mkdir()
    assert desk.found("app/a") == ["app/.pi/subagents/outer.md"]


def test_it_goes_on_above_a_repository(desk: Desk) -> None:
    desk.put("work/.pi/subagents/a.md")
    (desk.home / "work/repo/.git").mkdir(parents=True)
    assert desk.found("work/repo") == ["work/.pi/subagents/a.md"]


def test_home_itself_is_no_project(desk: Desk) -> None:
    desk.put(".pi/subagents/a.md")
    (desk.root / ".pi/subagents").mkdir(parents=True)
    (desk.root / ".pi/subagents/a.md").write_text(TEXT)
    assert desk.found("app") == []
    assert desk.found(".") == []


def test_a_mount_is_a_boundary(desk: Desk) -> None:
    desk.put("app/.pi/subagents/outer.md")
    (desk.home / "app/disk").mkdir()

    def act() -> tuple[list[str], list[str]]:
        mount_privately()
        mount_tmpfs(desk.home / "app/disk", "1m")
        (desk.home / "app/disk/deep").mkdir()
        across = desk.found("app/disk/deep")
        desk.put("app/disk/.pi/subagents/own.md")
        return across, desk.found("app/disk/deep")

    assert apart(act) == ([], ["app/disk/.pi/subagents/own.md"])


def test_what_is_everybodys_has_no_presets(tmp_path: Path) -> None:
    def act() -> list[list[str]]:
        mount_privately()
        mount_tmpfs(tmp_path, "1m")
        os.chroot(tmp_path)
        found = []
        for folder in ("/tmp", "/var/tmp", "/", "/srv"):
            place = f"{folder.rstrip('/')}/.pi/subagents"
            os.makedirs(place)
            with open(f"{place}/a.md", "w", encoding="utf-8") as file:
                file.write(TEXT)
            os.makedirs(f"{folder}/x", exist_ok=True)
            read = disk.read_all(f"{folder}/x", {"HOME": "/nobody"})
            found.append([one.path for one in read.files])
        return found

    assert apart(act) == [[], [], [], ["/srv/.pi/subagents/a.md"]]


# --- what is left out -------------------------------------------------------------------------------------

OTHERS = "others can write to it (chmod go-w)"
LEAVES = "it is a symbolic link that leaves its folder"
NO_FILE = "it is no regular file"


@pytest.mark.parametrize("folder", [".pi/agent/subagents", "app/.pi/subagents"])
class TestHostile:
    """In the user's own folder and in a project's."""

    @pytest.fixture(autouse=True)
    def one_that_is_good(self, desk: Desk, folder: str) -> None:
        desk.put(f"{folder}/good.md")

    def check(self, desk: Desk, folder: str, name: str, why: str) -> None:
        """Show that one file is left out with one line, without waiting for it, and the other is read."""

        def act() -> tuple[list[str], dict[str, str]]:
            return desk.found(), desk.left_out()

        assert apart(act, 5) == ([f"{folder}/good.md"], {f"{folder}/{name}": why})

    @pytest.mark.parametrize("target", ["/etc/passwd", "/dev/zero", "../x.md", "nowhere", "sub/x.md", "/"])
    def test_a_link_that_leaves(self, desk: Desk, folder: str, target: str) -> None:
        desk.put(f"{folder}/../x.md", "SECRET")
        desk.put(f"{folder}/sub/x.md", "SECRET")
        (desk.home / folder / "link.md").symlink_to(target)
        why = "no such file or directory" if target == "nowhere" else LEAVES
        self.check(desk, folder, "link.md", why)

    def test_a_link_round_itself(self, desk: Desk, folder: str) -> None:
        (desk.home / folder / "link.md").symlink_to("link.md")
        self.check(desk, folder, "link.md", NO_FILE)

    def test_a_link_that_leaves_by_another(self, desk: Desk, folder: str) -> None:
        (desk.home / folder / "link.md").symlink_to("second")
        (desk.home / folder / "second").symlink_to("/etc/passwd")
        self.check(desk, folder, "link.md", LEAVES)

    def test_a_fifo(self, desk: Desk, folder: str) -> None:
        os.mkfifo(desk.home / folder / "fifo.md")
        self.check(desk, folder, "fifo.md", NO_FILE)

    def test_a_link_to_a_fifo(self, desk: Desk, folder: str) -> None:
        os.mkfifo(desk.home / folder / "fifo")
        (desk.home / folder / "link.md").symlink_to("fifo")
        self.check(desk, folder, "link.md", NO_FILE)

    def test_a_socket(self, desk: Desk, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(desk.home / folder)  # its path would be too long
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("socket.md")
            self.check(desk, folder, "socket.md", NO_FILE)

    def test_a_file_above_64_kb(self, desk: Desk, folder: str) -> None:
        desk.put(f"{folder}/large.md", "x" * (64 * KB + 1))
        self.check(desk, folder, "large.md", "it is larger than 64 KB")

    def test_an_endless_file(self, desk: Desk, folder: str) -> None:
        os.truncate(desk.put(f"{folder}/large.md"), 1 << 40)
        self.check(desk, folder, "large.md", "it is larger than 64 KB")

    @pytest.mark.parametrize("mode", [0o646, 0o666, *([0o664, 0o620] if os.getuid() == 0 else [])])
    def test_a_file_that_others_can_write(self, desk: Desk, folder: str, mode: int) -> None:
        desk.put(f"{folder}/open.md", mode=mode)
        self.check(desk, folder, "open.md", OTHERS)

    def test_a_file_that_is_no_utf_8(self, desk: Desk, folder: str) -> None:
        desk.put(f"{folder}/latin.md", b"---\nname: \xe9\n---\n")
        self.check(desk, folder, "latin.md", "it is not UTF-8")

    if os.getuid() == 0:  # only root can make files of another user, and devices

        def test_a_file_of_another_user(self, desk: Desk, folder: str) -> None:
            os.chown(desk.put(f"{folder}/theirs.md"), NOBODY, NOBODY)
            self.check(desk, folder, "theirs.md", "it belongs to another user")

        def test_a_device(self, desk: Desk, folder: str) -> None:
            os.mknod(desk.home / folder / "zero.md", 0o600 | stat.S_IFCHR, os.makedev(1, 5))
            self.check(desk, folder, "zero.md", NO_FILE)

    @pytest.mark.parametrize("mode", [0o757, 0o777, *([0o775] if os.getuid() == 0 else [])])
    def test_a_folder_that_others_can_write(self, desk: Desk, folder: str, mode: int) -> None:
        (desk.home / folder).chmod(mode)
        assert (desk.found(), desk.left_out()) == ([], {folder: OTHERS})

    def test_a_folder_whose_own_folder_others_can_write(self, desk: Desk, folder: str) -> None:
        (desk.home / folder).parent.chmod(0o777)  # they could put another in its place
        assert (desk.found(), desk.left_out()) == ([], {folder: OTHERS})

    def test_more_files_than_anybody_keeps(self, desk: Desk, folder: str) -> None:
        for number in range(disk.MOST_FILES + 50):
            desk.put(f"{folder}/x{number:04}.md", "")
        read = desk.found()
        assert len(read) == disk.MOST_FILES
        (name,) = desk.left_out()
        assert name == f"{folder}/x{disk.MOST_FILES - 1:04}.md"


if os.getuid() == 0:  # only root can make files of another user

    def test_what_we_may_not_read_is_left_out(tmp_path: Path) -> None:
        def act() -> list[str]:
            mount_privately()
            mount_tmpfs(tmp_path, "1m")
            os.chroot(tmp_path)
            os.chmod("/", 0o755)
            os.makedirs("/home/.pi/agent/subagents")
            os.makedirs("/home/app/.pi/subagents")
            for path in ("agent/subagents/a.md", "agent/subagents", "agent", "."):
                if path.endswith(".md"):
                    os.close(os.open(f"/home/.pi/{path}", os.O_CREAT, 0o000))
                os.chown(f"/home/.pi/{path}", NOBODY, NOBODY)
            os.chmod("/home/app/.pi/subagents", 0o700)  # root's
            os.setuid(NOBODY)
            read = disk.read_all("/home/app", {"HOME": "/home"})
            return [str(one) for one in read.refused]

        assert apart(act) == [
            "/home/.pi/agent/subagents/a.md is skipped: permission denied",
            "/home/app/.pi/subagents is skipped: permission denied",
        ]


if os.getuid() == 0:  # only root can become a user of that kind

    @pytest.mark.parametrize(("members", "is_read"), [("", True), ("dev", True), ("dev,other", False)])
    def test_what_a_group_can_write_is_read_if_nobody_else_is_in_it(
        tmp_path: Path, members: str, *, is_read: bool
    ) -> None:
        def act() -> list[str]:
            mount_privately()
            mount_tmpfs(tmp_path, "1m")
            (tmp_path / "etc").mkdir()
            (tmp_path / "etc" / "passwd").write_text("dev:x:4242:4242::/home:/bin/sh\n")
            (tmp_path / "etc" / "group").write_text(f"dev:x:4242:{members}\n")
            os.chroot(tmp_path)
            os.chmod("/", 0o755)
            os.chmod("/etc", 0o755)
            os.umask(0o002)
            os.mkdir("/home")
            os.chown("/home", 4242, 4242)
            os.setgroups([])
            os.setgid(4242)
            os.setuid(4242)
            os.makedirs("/home/.pi/agent/subagents")
            desk_file = os.open("/home/.pi/agent/subagents/a.md", os.O_CREAT | os.O_WRONLY, 0o666)
            os.write(desk_file, TEXT.encode())
            return [file.path for file in disk.read_all("/home", {"HOME": "/home"}).files]

        for name in ("grp", "pwd", "hashlib"):  # from here, since none is to be had in there
            importlib.import_module(name)
        assert apart(act) == (["/home/.pi/agent/subagents/a.md"] if is_read else [])


def test_a_link_that_stays_in_its_folder_is_read(desk: Desk) -> None:
    desk.put("app/.pi/subagents/a.md", "---\nname: a\n---\nThe text")
    (desk.home / "app/.pi/subagents/b.md").symlink_to("a.md")
    (desk.home / "app/.pi/subagents/c.md").symlink_to("../subagents/./b.md")
    files = desk.read().files
    assert [file.text for file in files] == ["---\nname: a\n---\nThe text"] * 3
    assert desk.found() == [f"app/.pi/subagents/{name}.md" for name in "abc"]


def test_the_largest_file_is_read_whole(desk: Desk) -> None:
    desk.put(".pi/agent/subagents/a.md", "x" * (64 * KB))
    assert [len(file.text) for file in desk.read().files] == [64 * KB]


def test_a_project_of_others_is_passed_over_and_the_next_one_up_counts(desk: Desk) -> None:
    desk.put("app/.pi/subagents/outer.md")
    desk.put("app/a/.pi/subagents/inner.md")
    (desk.home / "app/a/.pi/subagents").chmod(0o777)
    assert desk.found("app/a") == ["app/.pi/subagents/outer.md"]
    assert desk.left_out("app/a") == {"app/a/.pi/subagents": OTHERS}


@pytest.mark.parametrize("linked", [".pi", ".pi/subagents"])
def test_a_projects_folder_that_leads_elsewhere_is_left_out(desk: Desk, linked: str) -> None:
    desk.put("secrets/a.md", "---\nname: a\ndescription: d\n---\nSECRET")
    desk.put("secrets/subagents/a.md", "---\nname: a\ndescription: d\n---\nSECRET")
    (desk.project / linked).parent.mkdir(exist_ok=True)
    (desk.project / linked).symlink_to(desk.home / "secrets")
    assert desk.found() == []
    assert desk.left_out() == {"app/.pi/subagents": "it is a symbolic link that leaves the project"}


def test_a_projects_folder_may_be_a_link_within_the_project(desk: Desk) -> None:
    desk.put("app/agents/a.md")
    (desk.project / ".pi").mkdir()
    (desk.project / ".pi/subagents").symlink_to("../agents")
    assert desk.found() == ["app/.pi/subagents/a.md"]


def test_the_users_own_folder_may_be_a_link_anywhere(desk: Desk) -> None:
    # People keep such folders in a repository of their own.
    desk.put("dotfiles/presets/a.md")
    (desk.home / ".pi/agent").mkdir(parents=True)
    (desk.home / ".pi/agent/subagents").symlink_to(desk.home / "dotfiles/presets")
    assert desk.found() == [".pi/agent/subagents/a.md"]


def test_a_folder_that_is_a_file_is_left_out(desk: Desk) -> None:
    desk.put(".pi/agent/subagents", "")
    desk.put("app/.pi/agent-profiles", "")
    assert (desk.found(), desk.left_out()) == ([], {".pi/agent/subagents": "not a directory"})


def swap(act: Callable[[int], None]) -> None:
    """Do something to a file over and over, until killed."""
    number = 0
    while True:
        act(number)
        number += 1


def test_a_file_that_is_exchanged_while_it_is_read_gives_no_foreign_text(desk: Desk) -> None:
    desk.put("app/.pi/subagents/a.md")
    secret = desk.put("secret", "SECRET")
    place = desk.home / "app/.pi/subagents"

    def act(number: int) -> None:
        made = place / "next"
        if number % 2:
            made.symlink_to(secret)
        else:
            made.write_text(TEXT)
        made.rename(place / "a.md")

    with Apart(lambda: swap(act)) as swapping:
        texts = {file.text for _ in range(3000) for file in desk.read().files}
        os.kill(swapping.pid, signal.SIGKILL)
    assert texts == {TEXT}


def test_what_was_read_is_what_was_hashed_however_fast_it_changes(desk: Desk) -> None:
    place = desk.home / "app/.pi/subagents/a.md"
    desk.put("app/.pi/subagents/a.md")

    def act(number: int) -> None:
        made = place.with_name("next")
        made.write_text(f"---\nname: a\n---\n{number}" * 50)
        made.rename(place)

    with Apart(lambda: swap(act)) as writing:
        files = [file for _ in range(500) for file in desk.read().files]
        os.kill(writing.pid, signal.SIGKILL)
    assert len({file.hash for file in files}) > 1
    for file in files:
        assert file.hash == hashlib.sha256(file.text.encode()).hexdigest()[:12]


# --- one that somebody names ------------------------------------------------------------------------------


def test_a_file_that_was_named(desk: Desk) -> None:
    path = desk.put("anywhere/a.md")
    file = disk.read_file(str(path), "preset", "global")
    assert (file.path, file.kind, file.source, file.text) == (str(path), "preset", "global", TEXT)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing.md", "no such file or directory"),
        ("missing/a.md", "no such file or directory"),
        ("link.md", LEAVES),
        ("folder", NO_FILE),
        ("a\0b", "its name cannot be used"),
        ("x" * 300, "file name too long"),
    ],
)
def test_a_file_that_was_named_and_cannot_be_read(desk: Desk, name: str, why: str) -> None:
    (desk.home / "folder").mkdir()
    (desk.home / "link.md").symlink_to("/etc/passwd")
    path = f"{desk.home}/{name}"
    with pytest.raises(RefusedFile) as caught:
        disk.read_file(path, "preset", "global")
    assert (caught.value.path, caught.value.why) == (path, why)
    assert str(caught.value) == f"{path} is skipped: {why}"


def test_a_file_that_was_named_in_a_folder_that_others_can_write(desk: Desk) -> None:
    path = desk.put("shared/a.md")
    path.parent.chmod(0o777)
    with pytest.raises(RefusedFile) as caught:
        disk.read_file(str(path), "preset", "global")
    assert caught.value.why == f"its folder: {OTHERS}"
