"""Which project a folder belongs to: each clause of the definition, on real folders and real mounts."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.apart import apart, mount_folder, mount_privately, mount_tmpfs
from tmuxagents.system import project
from tmuxagents.system.project import project_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")


class Tree:
    """A home with `~/.pi`, as every user of pi has it, and folders to ask about."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.folder("home/.pi/agent")

    def folder(self, path: str) -> Path:
        made = self.root / path
        made.mkdir(parents=True, exist_ok=True)
        return made

    def file(self, path: str) -> None:
        made = self.root / path
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text("gitdir: elsewhere\n")

    def project_of(self, path: str) -> str:
        """Return the project of a folder, as a path below the tree."""
        return os.path.relpath(project_of(str(self.folder(path)), str(self.home)), self.root)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    # A repository around everything: a search that goes too far finds it.
    made = Tree(tmp_path / "root")
    made.folder(".git")
    return made


def test_a_repository_below_home_is_a_project_though_home_has_a_pi_folder(tree: Tree) -> None:
    tree.folder("home/code/repo/.git")
    assert tree.project_of("home/code/repo") == "home/code/repo"
    assert tree.project_of("home/code/repo/src/deep") == "home/code/repo"


def test_a_folder_with_pi_is_a_project(tree: Tree) -> None:
    tree.folder("home/notes/.pi")
    assert tree.project_of("home/notes/a/b") == "home/notes"


def test_the_nearest_of_several_counts(tree: Tree) -> None:
    tree.folder("home/outer/.git")
    tree.folder("home/outer/inner/.pi")
    tree.folder("home/outer/inner/core/.git")
    assert tree.project_of("home/outer/x") == "home/outer"
    assert tree.project_of("home/outer/inner/x") == "home/outer/inner"
    assert tree.project_of("home/outer/inner/core/x") == "home/outer/inner/core"


def test_a_worktree_has_a_git_file(tree: Tree) -> None:
    tree.file("home/worktree/.git")
    assert tree.project_of("home/worktree/src") == "home/worktree"


def test_a_pi_that_is_a_file_makes_no_project(tree: Tree) -> None:
    tree.file("home/plain/.pi")
    assert tree.project_of("home/plain/a") == "home/plain/a"


def test_home_is_never_a_project(tree: Tree) -> None:
    tree.folder("home/.git")
    assert tree.project_of("home/plain/a") == "home/plain/a"
    assert tree.project_of("home/plain") == "home/plain"
    assert tree.project_of("home/.pi") == "home/.pi"


def test_home_itself_stays_itself_and_looks_no_further_up(tree: Tree) -> None:
    tree.folder("home/.git")
    assert tree.project_of("home") == "home"


def test_outside_home_the_ancestors_count_too(tree: Tree) -> None:
    assert tree.project_of("srv/deep") == "."


def test_a_home_that_is_a_link_is_still_home(tree: Tree) -> None:
    (tree.root / "link").symlink_to("home")
    asked = tree.folder("home/plain")
    assert project_of(str(asked), str(tree.root / "link")) == str(asked)
    assert project_of(str(tree.root / "link" / "plain"), str(tree.home)) == str(asked)


def test_a_linked_folder_belongs_where_it_really_lies(tree: Tree) -> None:
    tree.folder("home/repo/.git")
    real = tree.folder("home/repo/src")
    (tree.home / "shortcut").symlink_to(real)
    assert project_of(str(tree.home / "shortcut"), str(tree.home)) == str(tree.home / "repo")


def test_a_home_whose_name_only_begins_alike_is_another(tree: Tree) -> None:
    tree.folder("home-of-others/.git")
    assert tree.project_of("home-of-others/x") == "home-of-others"


def test_a_folder_that_is_gone_is_itself(tree: Tree) -> None:
    assert project_of(str(tree.home / "gone"), str(tree.home)) == str(tree.home / "gone")


@pytest.mark.parametrize("shared", ["/", "/tmp", "/var/tmp"])
def test_what_is_everybodys_is_no_project(tmp_path: Path, shared: str) -> None:
    def act() -> tuple[str, str, str]:
        mount_privately()
        mount_tmpfs(tmp_path, "1m")
        os.chroot(tmp_path)
        os.makedirs(f"{shared}/.git", exist_ok=True)
        os.makedirs(f"{shared}/.pi")
        os.makedirs(f"{shared}/plain/deep")
        os.makedirs(f"{shared}/repo/.git")
        asked = [f"{shared}/plain/deep", f"{shared}/repo", shared]
        below, own, itself = (project_of(path.replace("//", "/"), "/nobody") for path in asked)
        return below, own, itself

    stem = shared.rstrip("/")
    assert apart(act) == (f"{stem}/plain/deep", f"{stem}/repo", shared)


def test_a_mounted_file_system_is_a_boundary(tree: Tree) -> None:
    tree.folder("home/repo/.git")
    tree.folder("home/repo/disk")

    def act() -> tuple[str, str, str]:
        mount_privately()
        mount_tmpfs(tree.root / "home/repo/disk", "1m")
        tree.folder("home/repo/disk/own/.git")
        asked = ("home/repo/disk/a/b", "home/repo/disk/own/x", "home/repo/disk")
        across, within, itself = map(tree.project_of, asked)
        return across, within, itself

    assert apart(act) == ("home/repo/disk/a/b", "home/repo/disk/own", "home/repo/disk")


def test_a_mounted_folder_of_the_same_file_system_is_a_boundary(tree: Tree) -> None:
    tree.folder("home/repo/.git")
    target = tree.folder("home/repo/mounted")
    source = tree.folder("elsewhere")

    def act() -> str:
        mount_privately()
        mount_folder(source, target)
        return tree.project_of("home/repo/mounted/a")

    assert apart(act) == "home/repo/mounted/a"


# --- inside a project -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        (".", True),
        ("src/new/file", True),
        ("../repo/src", True),
        ("../repository", False),
        ("..", False),
        ("within/file", True),
        ("without", False),
        ("without/new/file", False),
    ],
)
def test_only_what_no_link_leads_out_of_lies_really_in_a_project(
    tree: Tree, path: str, *, inside: bool
) -> None:
    place = tree.folder("home/repo/src").parent
    (place / "within").symlink_to("src")
    (place / "without").symlink_to(tree.folder("home/repository"))
    (tree.root / "way").symlink_to(place)
    for way in (place, tree.root / "way"):  # also a project to which a link leads
        assert project.is_really_inside(f"{way}/{path}", str(way)) is inside
        assert project.is_really_inside(f"{way}/{path}", "/")


# --- the link to a run, for people ------------------------------------------------------------------------

LINKS = ".pi/subagents/runs"


@pytest.fixture
def own_home(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tree.home))


@pytest.mark.usefixtures("own_home")
def test_a_project_links_its_runs_and_git_sees_none_of_it(tree: Tree) -> None:
    runs = tree.folder("state/runs")
    place = tree.folder("home/repo")
    assert project.link(str(place), f"{runs}/one")
    assert project.link(str(place), f"{runs}/two")
    assert sorted(os.listdir(place / LINKS)) == [".gitignore", "one", "two"]
    assert os.readlink(place / LINKS / "one") == f"{runs}/one"
    assert (place / LINKS / ".gitignore").read_text() == "*\n"


@pytest.mark.usefixtures("own_home")
def test_what_is_there_already_is_left_alone(tree: Tree) -> None:
    place = tree.folder(f"home/repo/{LINKS}").parents[2]
    (place / LINKS / ".gitignore").write_text("mine")
    (place / LINKS / "one").write_text("mine")
    assert not project.link(str(place), "/state/runs/one")
    assert project.link(str(place), "/state/runs/two")
    assert (place / LINKS / ".gitignore").read_text() == "mine"
    assert (place / LINKS / "one").read_text() == "mine"


@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("linked", [".pi", ".pi/subagents", LINKS])
def test_nothing_is_written_where_a_link_in_a_clone_leads(tree: Tree, linked: str) -> None:
    place, elsewhere = tree.folder("home/repo"), tree.folder("elsewhere")
    (place / linked).parent.mkdir(parents=True, exist_ok=True)
    (place / linked).symlink_to(elsewhere)
    assert not project.link(str(place), "/state/runs/one")
    assert os.listdir(elsewhere) == []


@pytest.mark.usefixtures("own_home")
def test_nothing_is_written_where_a_folder_of_a_clone_is_exchanged_for_a_link(tree: Tree) -> None:
    place, elsewhere = tree.folder("home/repo"), tree.folder("elsewhere")

    def exchange(event: str, values: tuple[object, ...]) -> None:
        if event == "os.mkdir" and str(values[0]).endswith("subagents") and not (place / "old").exists():
            (place / ".pi").rename(place / "old")
            (place / ".pi").symlink_to(elsewhere)

    def act() -> bool:
        sys.addaudithook(exchange)
        return project.link(str(place), "/state/runs/one")

    apart(act)
    assert (place / ".pi").is_symlink()
    assert os.listdir(elsewhere) == []


@pytest.mark.usefixtures("own_home")
def test_neither_home_nor_what_is_everybodys_gets_links(tree: Tree) -> None:
    assert not project.link(str(tree.home), "/state/runs/one")
    assert os.listdir(tree.home / ".pi") == ["agent"]

    def act() -> list[bool]:
        mount_privately()
        mount_tmpfs(tree.root, "1m")
        os.chroot(tree.root)
        for folder in ("/var/tmp", "/srv"):
            os.makedirs(folder)
        return [project.link(folder, "/state/runs/one") for folder in ("/", "/tmp", "/var/tmp", "/srv")]

    assert apart(act) == [False, False, False, True]


@pytest.mark.usefixtures("own_home")
def test_a_project_that_cannot_be_written_is_no_error(tree: Tree) -> None:
    tree.file("home/repo/.pi")
    assert not project.link(str(tree.home / "repo"), "/state/runs/one")
    assert not project.link(f"{tree.home}/{'x' * 300}", "/state/runs/one")


@pytest.mark.usefixtures("own_home")
def test_a_project_that_is_gone_is_not_made_again(tree: Tree) -> None:
    assert not project.link(str(tree.home / "gone"), "/state/runs/one")
    assert not (tree.home / "gone").exists()


@pytest.mark.usefixtures("own_home")
def test_links_to_runs_are_found_and_removed_one_by_one(tree: Tree) -> None:
    runs, place = str(tree.folder("state/runs")), tree.folder("home/repo")
    for name in ("one", "two"):
        project.link(str(place), f"{runs}/{name}")
    (place / LINKS / "three").symlink_to("/elsewhere/runs/three")
    (place / LINKS / "four").write_text("mine")
    (place / LINKS / "five").symlink_to(f"{runs}/one")
    assert project.links(str(place), runs) == ["one", "two"]
    for name in ("one", "one", "three", "four", "five", "six"):
        project.unlink(str(place), f"{runs}/{name}")
    assert project.links(str(place), runs) == ["two"]
    assert sorted(os.listdir(place / LINKS)) == [".gitignore", "five", "four", "three", "two"]


@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("linked", [".pi", ".pi/subagents", LINKS])
def test_no_link_is_found_or_removed_where_a_link_in_a_clone_leads(tree: Tree, linked: str) -> None:
    runs, other, place = "/state/runs", tree.folder("home/other"), tree.folder("home/repo")
    project.link(str(other), f"{runs}/one")
    (place / linked).parent.mkdir(parents=True, exist_ok=True)
    (place / linked).symlink_to(other / linked)
    assert project.links(str(place), runs) == []
    project.unlink(str(place), f"{runs}/one")
    assert project.links(str(other), runs) == ["one"]


def test_a_project_without_links_has_none(tree: Tree) -> None:
    for place in (tree.home / "plain", tree.home / "gone"):
        assert project.links(str(place), "/state/runs") == []
        project.unlink(str(place), "/state/runs/one")
