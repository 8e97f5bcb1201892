"""Code goes to another machine and back: real repositories, real git, and another home as the machine."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.machines.projects import Ground
from tmuxagents.errors import BadRequest, Unusable
from tmuxagents.machines import code, refs
from tmuxagents.machines.refusals import Unreachable
from tmuxagents.system.git import GitRefused

REF = "refs/tmuxagents/run1"


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


# --- there ------------------------------------------------------------------------------------------------


def test_the_child_works_in_a_checkout_of_the_last_commit(ground: Ground) -> None:
    commit = ground.commit(a="1\n", b="2\n")
    (ground.project / "a").write_text("not committed")
    before = ground.state()
    found, cwd = ground.send()
    assert (cwd / "a").read_text() == "1\n"
    assert ground.git("rev-parse", "HEAD", folder=cwd) == commit == found.commit
    assert ground.git("status", "--porcelain", folder=cwd) == ""
    assert ground.git("symbolic-ref", "-q", "HEAD", folder=cwd, check=False) == ""  # on no branch
    assert ground.git("remote", folder=cwd) == ""
    assert ground.state() == before


def test_the_checkout_is_private(ground: Ground) -> None:
    ground.commit(a="1")
    found, cwd = ground.send()
    project = ground.there(found)
    for path in (project.repository, project.checkouts, cwd):
        assert stat.S_IMODE(os.stat(path).st_mode) & 0o077 == 0 or path == cwd
    assert stat.S_IMODE(os.stat(ground.host.home).st_mode) == 0o700


def test_sending_again_is_the_same_checkout(ground: Ground) -> None:
    ground.commit(a="1")
    found, cwd = ground.send()
    (cwd / "new").write_text("the child works already")
    ground.commit(a="2")  # here, meanwhile: the hand-over goes on with what was looked at
    assert code.send(found, "run1", ground.host, ground.environment) == str(cwd)
    assert (cwd / "new").exists()


def test_a_folder_of_the_project_is_the_same_folder_there(ground: Ground) -> None:
    sub = ground.project / "deep" / "er"
    sub.mkdir(parents=True)
    (sub / "file").write_text("x")
    ground.commit()
    found, cwd = ground.send(folder=sub)
    assert cwd.parts[-3:] == ("run1", "deep", "er")
    assert (cwd / "file").read_text() == "x"
    assert found.key.startswith("some-project-")


def test_modes_links_and_odd_names_arrive_and_come_back(ground: Ground) -> None:
    odd = ["new\nline", "-dash", "tab\there", '"quoted"', "ünï", "star*", "b\udcffad"]
    for name in odd:
        (ground.project / name).write_text(name, errors="surrogateescape")
    (ground.project / "script").write_text("#!/bin/sh\n")
    (ground.project / "script").chmod(0o755)
    (ground.project / "link").symlink_to("/nowhere/at all")
    ground.commit()
    found, cwd = ground.send()
    assert {*os.listdir(cwd)} == {*odd, "script", "link", ".git"}
    assert (cwd / "script").stat().st_mode & 0o111
    assert os.readlink(cwd / "link") == "/nowhere/at all"
    (cwd / "script").chmod(0o644)
    (cwd / "link").unlink()
    (cwd / "link").write_text("a file now")
    (cwd / "more\nlines").symlink_to("link")
    for name in odd[:3]:
        (cwd / name).rename(cwd / f"{name}2")
    left = ground.bring(found)
    assert left.kept == []
    changes = ground.git("diff", "--raw", "-z", "--no-renames", "HEAD", REF).split("\0")
    assert {line.split()[4] + name for line, name in zip(changes[::2], changes[1::2], strict=False)} == {
        *("Mscript", "Tlink", "Amore\nlines"),
        *(f"D{name}" for name in odd[:3]),
        *(f"A{name}2" for name in odd[:3]),
    }


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_both_formats_of_objects_go(tmp_path: Path, form: str) -> None:
    ground = Ground(tmp_path)
    project = ground.here / "other"
    ground.git("init", "--quiet", f"--object-format={form}", str(project))
    ground.project = project
    ground.git("config", "user.name", "Ada")
    ground.git("config", "user.email", "ada@example.org")
    ground.commit(a="1")
    found, cwd = ground.send()
    (cwd / "a").write_text("2")
    ground.bring(found)
    assert ground.git("show", f"{REF}:a") == "2"
    assert len(ground.git("rev-parse", REF)) == refs.FORMATS[form]


def test_worktrees_and_a_detached_head_are_projects_like_others(ground: Ground) -> None:
    first = ground.commit(a="1")
    ground.commit(a="2")
    tree = ground.here / "tree"
    ground.git("worktree", "add", "--quiet", "--detach", str(tree), first)
    found, cwd = ground.send(folder=tree)
    assert found.commit == first
    assert found.key == ground.look().code.key
    ground.commit(folder=cwd, b="3")
    ground.git("worktree", "remove", "--force", str(tree))  # gone before the child ends
    assert ground.bring(found).refs
    assert ground.git("rev-list", "--count", f"{first}..{REF}") == "1"


def test_a_second_run_sends_only_what_is_new(ground: Ground) -> None:
    (ground.project / "big").write_bytes(os.urandom(3_000_000))
    ground.commit()
    found, _ = ground.send()
    objects = Path(ground.there(found).repository) / "objects"

    def size() -> int:
        return sum(path.stat().st_size for path in objects.rglob("*") if path.is_file())

    first = size()
    ground.commit(a="1")
    _, cwd = ground.send("run2")
    assert first > 3_000_000
    assert size() - first < 10_000
    assert sum(path.stat().st_size for path in (cwd / ".git").rglob("*") if path.is_file()) < 100_000


def test_checkouts_do_not_share_branches_or_configuration(ground: Ground) -> None:
    ground.commit(a="1")
    for run_id in ("run1", "run2"):
        found, cwd = ground.send(run_id)
        ground.git("checkout", "--quiet", "-b", "fix", folder=cwd)
        ground.git("config", "core.hooksPath", f"/nowhere/{run_id}", folder=cwd)
        ground.commit(folder=cwd, b=run_id)
        ground.bring(found, run_id)
    assert [ground.git("show", f"refs/tmuxagents/{run_id}:b") for run_id in ("run1", "run2")] == [
        "run1",
        "run2",
    ]


def test_the_author_goes_along_unless_the_far_user_has_one(ground: Ground) -> None:
    ground.commit(a="1")
    _, cwd = ground.send()
    assert ground.git("config", "user.email", folder=cwd) == "ada@example.org"
    (ground.far / ".gitconfig").write_text("[user]\n\tname = Far\n\temail = far@example.org\n")
    _, cwd = ground.send("run2")
    assert ground.git("config", "user.email", folder=cwd) == "far@example.org"


def test_a_shallow_clone_goes(ground: Ground) -> None:
    for number in range(5):
        ground.commit(a=str(number))
    shallow = ground.here / "shallow"
    ground.git("clone", "--quiet", "--depth=2", f"file://{ground.project}", str(shallow))
    ground.project = shallow
    ground.git("config", "user.name", "Ada")
    ground.git("config", "user.email", "ada@example.org")
    found, cwd = ground.send()
    assert ground.git("rev-list", "--count", "HEAD", folder=cwd) == "2"
    ground.commit(folder=cwd, b="new")
    (cwd / "c").write_text("uncommitted")
    ground.bring(found)
    assert ground.git("rev-list", "--count", f"HEAD..{REF}") == "2"
    ground.git("fsck", "--no-dangling")


# --- what cannot go ---------------------------------------------------------------------------------------


def test_a_folder_outside_of_git_needs_no_code(ground: Ground) -> None:
    assert code.look(str(ground.here), ground.environment) is None
    assert code.look(str(ground.bin), {**ground.environment, "PATH": "/nowhere"}) is None  # nor a git


def test_a_home_directory_that_is_a_repository_is_no_project(ground: Ground) -> None:
    ground.git("init", "--quiet", folder=ground.here)
    ground.commit(folder=ground.project, a="1")
    notes = ground.here / "notes"
    notes.mkdir()
    assert code.look(str(notes), ground.environment) is None
    assert code.look(str(ground.here), ground.environment) is None
    assert ground.look()


def test_a_project_without_a_commit_is_refused(ground: Ground) -> None:
    with pytest.raises(BadRequest, match="has no commit yet") as refused:
        ground.look()
    assert "--cwd" in str(refused.value.hint)


def test_a_folder_without_a_commit_is_refused(ground: Ground) -> None:
    ground.commit(a="1")
    (ground.project / "new").mkdir()
    (ground.project / "new/file").write_text("x")
    with pytest.raises(BadRequest, match="The last commit has no folder new"):
        ground.look(ground.project / "new")


def test_a_partial_clone_is_refused(ground: Ground) -> None:
    ground.commit(a="1")
    ground.git("config", "extensions.partialClone", "origin")
    with pytest.raises(BadRequest, match="partial clone"):
        ground.look()


def test_what_stays_here_is_said(ground: Ground) -> None:
    (ground.project / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    (ground.project / ".gitmodules").write_text('[submodule "x"]\n\tpath = x\n\turl = ../x\n')
    (ground.project / ".gitignore").write_text("ignored\n")
    ground.commit(a="1", b="2")
    assert ground.look().warnings == [
        "The folders of submodules are empty over there.",
        "Files of Git LFS are pointers over there.",
    ]
    (ground.project / "a").write_text("3")
    (ground.project / "b").unlink()
    (ground.project / "new\nfile").write_text("4")
    (ground.project / "ignored").write_text("5")
    warned = ground.look(ground.project).warnings[0]
    assert warned == "3 uncommitted files stay here: the child works with the last commit."


def test_a_caller_inside_of_a_hook_is_not_led_elsewhere(ground: Ground, tmp_path: Path) -> None:
    commit = ground.commit(a="1")
    ground.environment |= {"GIT_DIR": str(tmp_path / "nowhere"), "GIT_INDEX_FILE": "x", "GIT_WORK_TREE": "/"}
    assert ground.look().code.commit == commit


# --- back -------------------------------------------------------------------------------------------------


def test_commits_and_what_is_not_committed_come_back(ground: Ground) -> None:
    ground.commit(a="1", b="2", c="3")
    found, cwd = ground.send()
    (cwd / ".gitignore").write_text("*.o\n")
    committed = ground.commit(folder=cwd, a="child\n")
    (cwd / "b").write_text("changed")
    (cwd / "c").unlink()
    (cwd / "new").write_text("n")
    (cwd / "x.o").write_text("ignored")
    ground.git("add", "b", folder=cwd)  # in its index or not: the same
    before, there = ground.state(), _seen(cwd)
    left = ground.bring(found)
    assert ground.state() == before
    assert _seen(cwd) == there  # neither its files nor its index
    assert left.refs == {REF: ground.git("rev-parse", REF)}
    assert ground.git("rev-parse", f"{REF}^") == committed
    assert ground.git("ls-tree", "--name-only", REF).split("\n") == [".gitignore", "a", "b", "new"]
    assert "run1" in ground.git("log", "-1", "--format=%s", REF)
    ground.git("fsck", "--strict", "--no-dangling")
    for command in refs.hints("run1", left._asdict()):
        assert command.startswith("git ")
        ground.git(*command.split()[1:])
    assert (ground.project / "new").read_text() == "n"


def _seen(cwd: Path) -> dict[str, bytes]:
    files = [path for path in cwd.rglob("*") if path.is_file() and ".git" not in path.parts]
    return {str(path): path.read_bytes() for path in [*files, cwd / ".git/index", cwd / ".git/HEAD"]}


def test_nothing_left_is_nothing_brought(ground: Ground) -> None:
    ground.commit(a="1")
    ground.commit(a="2")
    found, cwd = ground.send()
    assert ground.bring(found) == refs.Left({}, [])
    ground.git("checkout", "--quiet", "HEAD^", folder=cwd)  # it looked at an older commit: nothing new
    assert ground.bring(found) == refs.Left({}, [])
    assert ground.git("for-each-ref", "refs/tmuxagents") == ""
    assert refs.hints("run1", refs.Left({}, [])._asdict()) == ["The child left no commit and no change."]


def test_bringing_again_is_the_same_and_fetches_nothing(ground: Ground) -> None:
    ground.commit(a="1")
    found, cwd = ground.send()
    (cwd / "a").write_text("2")
    left = ground.bring(found)
    for pack in (ground.project / ".git/objects").rglob("*"):
        pack.chmod(0o500 if pack.is_dir() else 0o400)
    assert ground.bring(found) == left
    ground.git("update-ref", "-d", REF)  # merged, and the ref removed: it is there for the asking
    assert ground.bring(found) == left


def test_branches_and_the_stash_come_back(ground: Ground) -> None:
    base = ground.commit(a="1")
    found, cwd = ground.send()
    for branch in ("fix", "other/deep"):
        ground.git("checkout", "--quiet", "-b", branch, base, folder=cwd)
        ground.commit(folder=cwd, b=branch)
    ground.git("checkout", "--quiet", "--detach", base, folder=cwd)
    (cwd / "a").write_text("stashed")
    ground.git("stash", folder=cwd)
    left = ground.bring(found)
    branches = [f"{REF}.branches/{name}" for name in ("@stash", "fix", "other/deep")]
    assert sorted(left.refs) == branches
    assert ground.git("show", f"{branches[1]}:b") == "fix"
    assert refs.hints("run1", left._asdict()) == [f"git log {name}" for name in branches]
    # A name that was a branch is a folder of branches now.
    ground.git("branch", "--quiet", "-m", "fix", "fix/one", folder=cwd)
    assert f"{REF}.branches/fix/one" in ground.bring(found).refs
    assert ground.git("show", f"{branches[1]}/one:b") == "fix"


def test_a_rebased_history_comes_back(ground: Ground) -> None:
    ground.commit(a="1")
    second = ground.commit(a="2")
    found, cwd = ground.send()
    ground.git("commit", "--quiet", "--amend", "-m", "amended", folder=cwd)
    ground.commit(folder=cwd, b="3")
    ground.bring(found)
    assert ground.git("merge-base", "HEAD", REF) == ground.git("rev-parse", f"{second}^")
    assert ground.git("log", "--format=%s", "-2", REF) == "one more\namended"


def test_a_conflict_in_the_middle_of_a_rebase_loses_nothing(ground: Ground) -> None:
    base = ground.commit(a="1\n")
    found, cwd = ground.send()
    ground.git("checkout", "--quiet", "-b", "side", folder=cwd)
    ground.commit(folder=cwd, a="side\n")
    ground.git("checkout", "--quiet", "--detach", base, folder=cwd)
    ground.commit(folder=cwd, a="mine\n")
    mine = ground.commit(folder=cwd, b="later\n")
    ground.git("rebase", "side", folder=cwd, check=False)
    assert "<<<<<<<" in (cwd / "a").read_text()
    left = ground.bring(found)
    assert "<<<<<<<" in ground.git("show", f"{REF}:a")
    assert left.refs[f"{REF}.branches/@rebased"] == mine
    assert ground.git("status", "--porcelain", folder=cwd).startswith("UU")  # and it is still in the middle


def test_a_child_that_made_another_repository_there_loses_nothing(ground: Ground) -> None:
    ground.commit(a="1")
    found, cwd = ground.send()
    subprocess.run(["rm", "-rf", str(cwd / ".git")], check=True)
    (cwd / "b").write_text("2")
    ground.bring(found)
    assert ground.git("diff", "--name-only", "HEAD", REF) == "b"
    found, cwd = ground.send("run2")
    subprocess.run(["rm", "-rf", str(cwd / ".git")], check=True)
    ground.git("init", "--quiet", folder=cwd)
    ground.git("config", "user.name", "C", folder=cwd)
    ground.git("config", "user.email", "c@example.org", folder=cwd)
    own = ground.commit(folder=cwd, b="2")
    ground.bring(found, "run2")
    assert ground.git("rev-parse", "refs/tmuxagents/run2") == own


def test_a_folder_in_place_of_a_file_and_a_link_in_place_of_a_folder(ground: Ground) -> None:
    (ground.project / "folder").mkdir()
    (ground.project / "folder/in").write_text("1")
    ground.commit(file="2")
    found, cwd = ground.send()
    (cwd / "file").unlink()
    (cwd / "file").mkdir()
    (cwd / "file/below").write_text("3")
    (cwd / "folder").rename(cwd / "moved")
    (cwd / "folder").symlink_to("moved")
    assert ground.bring(found).kept == []
    names = ground.git("ls-tree", "-r", "--name-only", REF).split("\n")
    assert names == ["file/below", "folder", "moved/in"]


def test_what_git_cannot_take_is_named_and_the_rest_comes(
    ground: Ground,
) -> None:
    ground.commit(a="1")
    found, cwd = ground.send()
    ground.git("init", "--quiet", str(cwd / "inner"))
    (cwd / "inner/file").write_text("x")
    (cwd / "git~1").write_text("a name that git refuses")
    os.mkfifo(cwd / "fifo")
    with (cwd / "huge").open("wb") as file:
        file.truncate(101 * 1024 * 1024)
    (cwd / "small").write_text("y")
    left = ground.bring(found)
    assert left.kept == ["git~1", "huge", "inner/"]
    assert ground.git("diff", "--name-only", "HEAD", REF) == "small"
    assert refs.hints("run1", left._asdict())[-1] == (
        "What git could not take stays in the checkout over there: git~1, huge, inner/."
    )
    assert ground.remove(found) == left.kept
    assert cwd.exists()


def test_a_big_file_comes_back(ground: Ground) -> None:
    ground.commit(a="1")
    found, cwd = ground.send()
    content = os.urandom(20_000_000)
    (cwd / "big").write_bytes(content)
    assert ground.bring(found).kept == []
    ground.git("merge", "--quiet", "--ff-only", REF)
    assert (ground.project / "big").read_bytes() == content


def test_a_resumed_run_works_in_the_first_ones_checkout(ground: Ground) -> None:
    ground.commit(a="1")
    found, cwd = ground.send()
    (cwd / "a").write_text("2")
    ground.bring(found)
    (cwd / "b").write_text("3")
    ground.bring(found._replace(checkout="run1"), "run2")
    assert ground.git("diff", "--name-only", "HEAD", "refs/tmuxagents/run2") == "a\nb"
    assert ground.git("diff", "--name-only", "HEAD", REF) == "a"
    assert ground.remove(found) == []  # the second has brought it all
    assert not cwd.exists()


# --- the end of a checkout --------------------------------------------------------------------------------


def test_a_checkout_goes_only_when_its_work_has_come(ground: Ground) -> None:
    ground.commit(a="1")
    found, cwd = ground.send()
    (cwd / "a").write_text("2")
    assert ground.remove(found) == [REF]
    assert cwd.exists()
    ground.bring(found)
    (cwd / "late").write_text("written after the end")
    assert ground.remove(found) == [REF]
    ground.bring(found)
    assert ground.remove(found) == []
    assert not cwd.exists()
    assert ground.remove(found) == []  # again
    assert ground.git("show", f"{REF}:late") == "written after the end"


def test_the_last_checkout_takes_the_repository_with_it(ground: Ground) -> None:
    ground.commit(a="1")
    found, _ = ground.send()
    ground.send("run2")
    project = ground.there(found)
    assert ground.remove(found) == []
    assert os.path.isdir(project.repository)
    assert ground.remove(found, "run2") == []
    assert not os.path.exists(project.repository)
    assert not os.path.exists(project.checkouts)
    _, cwd = ground.send("run3")  # and all begins anew
    assert (cwd / "a").exists()


@pytest.mark.parametrize("name", ["../../..", "..", ".", "a/b", "", ".git", "x" * 65, "-x", "a\n"])
def test_nothing_outside_of_our_folder_can_be_named(ground: Ground, name: str) -> None:
    ground.commit(a="1")
    found, cwd = ground.send()
    with pytest.raises((BadRequest, Unusable)):
        ground.remove(found, name)
    for document in ({"key": name}, {"commit": name or "zz"}):
        with pytest.raises(BadRequest):
            refs.parse(found.document() | document)
    assert cwd.exists()


def test_a_checkout_that_became_a_link_leads_nowhere(ground: Ground) -> None:
    ground.commit(a="1")
    found, cwd = ground.send()
    precious = ground.far / "precious"
    cwd.rename(precious)
    cwd.symlink_to(precious)
    (precious / "secret").write_text("x")
    assert ground.bring(found) == refs.Left({}, [], is_gone=True)
    ground.remove(found)
    assert (precious / "secret").exists()


# --- links that break -------------------------------------------------------------------------------------


def test_an_interrupted_push_is_repeated(ground: Ground) -> None:
    (ground.project / "big").write_bytes(os.urandom(4_000_000))
    ground.commit()
    whole = (ground.bin / "ssh").read_text()
    # The far git is killed in the middle of the pack.
    cut = whole.replace("exec env", "dd bs=64k count=20 status=none | env").replace(
        '"$line"', '"$line"; exit 255'
    )
    ground.lead_by(cut)
    with pytest.raises(Unusable):
        ground.send()
    ground.lead_by(whole)
    _, cwd = ground.send()
    assert (cwd / "big").stat().st_size == 4_000_000
    assert [path.name for path in cwd.parent.iterdir()] == ["run1"]


def test_an_interrupted_fetch_is_repeated(ground: Ground) -> None:
    ground.commit(a="1")
    found, cwd = ground.send()
    (cwd / "big").write_bytes(os.urandom(4_000_000))
    whole = (ground.bin / "ssh").read_text()
    script = whole.replace("exec env", 'case "$line" in *upload*) env').replace(
        'sh -c "$line"',
        'sh -c "$line" | dd bs=64k count=20 status=none; exit 255;; *) exec env -i HOME="$PWD" PATH="$PATH" '
        f'TMUXAGENTS_HOME={ground.host.home} sh -c "$line";; esac',
    )
    ground.lead_by(script)
    with pytest.raises(Unusable):
        ground.bring(found)
    assert ground.git("for-each-ref", "refs/tmuxagents") == ""
    ground.lead_by(whole)
    assert ground.remove(found) == [REF]
    assert ground.bring(found).refs
    ground.git("fsck", "--no-dangling")


def test_no_link_is_one_sentence(ground: Ground) -> None:
    ground.commit(a="1")
    found, _ = ground.send()
    (ground.far / "cut").touch()
    for act in (lambda: ground.send("run2"), lambda: ground.bring(found)):
        with pytest.raises(Unreachable, match="box is unreachable: it does not answer"):
            act()


def test_a_far_side_without_git_is_one_sentence(ground: Ground) -> None:
    ground.commit(a="1")
    script = (ground.bin / "ssh").read_text()
    lone = ground.far / "bin"
    lone.mkdir()
    (lone / "sh").symlink_to("/bin/sh")
    (lone / "env").symlink_to("/usr/bin/env")
    lines = script.splitlines()
    lines[-1] = (
        f'exec /usr/bin/env -i HOME={ground.far} PATH={lone} TMUXAGENTS_HOME={ground.host.home} sh -c "$line"'
    )
    ground.lead_by("\n".join(lines) + "\n")
    with pytest.raises(Unusable, match="box: There is no git on PATH"):
        ground.send()


def test_a_far_folder_that_others_can_write_is_refused(ground: Ground) -> None:
    ground.commit(a="1")
    Path(ground.host.home).mkdir()
    Path(ground.host.home).chmod(0o777)
    with pytest.raises(Unusable, match=r"box: The state directory .* is not used"):
        ground.send()


def test_a_commit_that_got_lost_there_is_said(ground: Ground) -> None:
    ground.commit(a="1")
    found = ground.look().code
    with pytest.raises(Unusable, match="is not over there"):
        ground.there(found).make_checkout("run1", found.commit)
    assert not Path(ground.there(found).checkouts).exists()


# --- hostile content --------------------------------------------------------------------------------------


def _trap(ground: Ground, name: str) -> str:
    """Return a program that leaves a mark when it is run."""
    path = ground.bin / f"trap-{name}"
    path.write_text(f"#!/bin/sh\ntouch '{ground.bin}/sprung-{name}'\nexec cat\n")
    path.chmod(0o755)
    return str(path)


def _sprung(ground: Ground) -> list[str]:
    return sorted(path.name for path in ground.bin.glob("sprung-*"))


def _arm(ground: Ground, repository: Path, mark: str) -> None:
    """Put everything into a repository that could make git start a program."""
    names = {
        "core.fsmonitor": "fsmonitor",
        "core.sshCommand": "ssh",
        "core.askPass": "askpass",
        "core.pager": "pager",
        "core.editor": "editor",
        "core.alternateRefsCommand": "alternates",
        "filter.evil.clean": "clean",
        "filter.evil.smudge": "smudge",
        "filter.a=b.process": "process",
        "diff.external": "external",
        "diff.evil.textconv": "textconv",
        "gpg.program": "gpg",
        "credential.helper": "credential",
        "uploadpack.packObjectsHook": "pack",
        "hook.evil.command": "hook",
        "ssh.variant": "variant",
    }
    for name, trap in names.items():
        ground.git("config", name, _trap(ground, f"{mark}-{trap}"), folder=repository)
    settings = {
        "filter.evil.required": "true",
        "hook.evil.event": "reference-transaction",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
        "url.ext::sh -c touch% /tmp/never.insteadOf": "there:",
        "push.gpgSign": "true",
        "commit.gpgSign": "true",
        "gc.auto": "1",
        "submodule.recurse": "true",
        "push.recurseSubmodules": "on-demand",
        "status.submoduleSummary": "true",
        "core.attributesFile": str(ground.bin / "attributes"),
    }
    for name, value in settings.items():
        ground.git("config", name, value, folder=repository)
    (ground.bin / "attributes").write_text("* filter=evil diff=evil\n")
    hooks = repository / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in (
        *("pre-push", "reference-transaction", "post-checkout", "post-index-change", "pre-commit"),
        *("pre-auto-gc", "pre-receive", "update", "post-receive", "post-update", "fsmonitor-watchman"),
    ):
        (hooks / hook).write_text(f"#!/bin/sh\ntouch '{ground.bin}/sprung-{mark}-{hook}'\n")
        (hooks / hook).chmod(0o755)


def test_nothing_of_a_hostile_project_runs_here_or_there(ground: Ground) -> None:
    (ground.project / ".gitattributes").write_text("* filter=evil diff=evil\n*.p filter=a=b\n")
    (ground.project / ".gitmodules").write_text(
        f'[submodule "x"]\n\tpath = x\n\turl = ext::{_trap(ground, "submodule")}\n'
    )
    ground.commit(a="1", b="2", **{"x.p": "3"})
    ground.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},x")
    ground.git("commit", "--quiet", "-m", "a submodule")
    _arm(ground, ground.project, "here")
    inner = ground.project / "x"  # a submodule that is a trap itself, asked by `git status`
    ground.git("init", "--quiet", str(inner), check=False)
    _arm(ground, inner, "inner")
    for sprung in ground.bin.glob("sprung-*"):
        sprung.unlink()
    for name in ("a", "x.p"):
        (ground.project / name).write_text("changed, so that git looks into it")
        os.utime(ground.project / name, (1, 1))
    looked = ground.look()
    assert looked.warnings[0].startswith("2 uncommitted")
    found, cwd = ground.send()
    (cwd / "a").write_text("child")
    assert ground.bring(found).refs
    assert _sprung(ground) == []
    assert ground.remove(found) == []


def test_nothing_that_a_child_leaves_runs_there_or_here(ground: Ground) -> None:
    ground.commit(a="1", b="2")
    found, cwd = ground.send()
    _arm(ground, cwd, "child")
    (cwd / ".gitattributes").write_text("* filter=evil diff=evil\n*.p filter=a=b\n")
    (cwd / "x.p").write_text("p")
    (cwd / "a").write_text("changed")
    inner = cwd / "inner"
    ground.git("init", "--quiet", str(inner), check=False)
    _arm(ground, inner, "inner")
    objects = cwd / ".git/objects/info/alternates"
    objects.write_text(objects.read_text() + "/nowhere\n")
    for sprung in ground.bin.glob("sprung-*"):
        sprung.unlink()
    left = ground.bring(found)
    assert left.kept == ["inner/"]
    assert ground.git("diff", "--name-only", "HEAD", REF) == ".gitattributes\na\nx.p"
    ground.remove(found)
    assert _sprung(ground) == []


def test_the_traps_would_spring(ground: Ground) -> None:
    """A person's own git falls into some of them, so the tests above mean something."""
    ground.commit(a="1")
    _arm(ground, ground.project, "here")
    (ground.project / "a").write_text("2")
    ground.git("status", check=False)
    ground.git("-c", "core.fsmonitor=false", "add", "a", check=False)
    assert {"sprung-here-fsmonitor", "sprung-here-clean"} <= set(_sprung(ground))


def test_a_promise_of_objects_that_a_child_made_fetches_nothing(ground: Ground) -> None:
    ground.commit(a="1")
    found, cwd = ground.send()
    (cwd / "b").write_text("2")
    head = ground.commit(folder=cwd, c="3")
    ground.git("config", "extensions.partialClone", "evil", folder=cwd)
    ground.git("config", "remote.evil.url", f"ext::{_trap(ground, 'promise')}", folder=cwd)
    ground.git("config", "remote.evil.promisor", "true", folder=cwd)
    ground.git("config", "protocol.ext.allow", "always", folder=cwd)
    (cwd / f".git/objects/{head[:2]}/{head[2:]}").unlink()
    left = ground.bring(found)
    assert left.kept == [".git"]  # its HEAD is broken: said, and kept
    assert ground.git("diff", "--name-only", "HEAD", REF) == "b\nc"
    assert _sprung(ground) == []


def test_broken_objects_are_not_taken_here(ground: Ground) -> None:
    ground.commit(a="1")
    found, cwd = ground.send()
    blob = ground.git("hash-object", "-w", "a", folder=cwd)
    entry = b"100644 .git\0" + bytes.fromhex(blob)  # a file that would overwrite a repository
    tree = (
        subprocess.run(
            ["git", "hash-object", "-w", "-t", "tree", "--literally", "--stdin"],
            *(),
            cwd=cwd,
            input=entry,
            capture_output=True,
            check=True,
        )
        .stdout.decode()
        .strip()
    )
    commit = ground.git("commit-tree", tree, "-p", "HEAD", "-m", "evil", folder=cwd)
    ground.git("update-ref", "refs/heads/evil", commit, folder=cwd)
    with pytest.raises(GitRefused, match=r"hasDotgit|contains '.git'|fsck"):
        ground.bring(found)
    assert ground.git("for-each-ref", "refs/tmuxagents") == ""
    assert cwd.exists()
