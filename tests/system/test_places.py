"""Where the environment puts folders, and which settings files are trusted."""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from tests.apart import (
    NOBODY,
    apart,
    become_somebody,
    enter_user_namespace,
    let_in,
    mount_privately,
    mount_tmpfs,
    set_dumpable,
)
from tmuxagents.errors import Unusable
from tmuxagents.integrate import disk
from tmuxagents.system import places, watcher_lock

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")

TEXT = '{"subagents": {"timeout": 5}}'


# --- folders ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HOME": "/home/me"}, "/home/me/.local/state/tmuxagents"),
        ({"HOME": "/home/me", "XDG_STATE_HOME": "/var/me"}, "/var/me/tmuxagents"),
        ({"HOME": "/home/me", "XDG_STATE_HOME": ""}, "/home/me/.local/state/tmuxagents"),
        ({"HOME": "/home/me", "XDG_STATE_HOME": "/var/me", "TMUXAGENTS_HOME": "/own"}, "/own"),
        ({"HOME": "/home/me", "TMUXAGENTS_HOME": ""}, "/home/me/.local/state/tmuxagents"),
        ({"HOME": "/home/me", "TMUXAGENTS_HOME": "/own/../other/"}, "/other"),
    ],
)
def test_the_state_directory(environment: dict[str, str], expected: str) -> None:
    assert places.home(environment) == expected


def test_a_relative_state_directory_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert places.home({"TMUXAGENTS_HOME": "state"}) == str(tmp_path / "state")


def test_a_relative_xdg_folder_is_ignored() -> None:
    # The XDG base directory specification says so; and a wrapper in another folder must find the same runs.
    found = places.home({"HOME": "/home/me", "XDG_STATE_HOME": "state"})
    assert found == "/home/me/.local/state/tmuxagents"


def test_without_home_the_user_database_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    known = os.path.expanduser("~")
    for environment in ({}, {"HOME": ""}):
        assert places.home(environment) == f"{known}/.local/state/tmuxagents"
        assert places.agent_dir(environment) == f"{known}/.pi/agent"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HOME": "/home/me"}, "/home/me/.pi/agent"),
        ({"HOME": "/home/me", "PI_CODING_AGENT_DIR": "/agent"}, "/agent"),
        ({"HOME": "/home/me", "PI_AGENT_DIR": "/ours", "PI_CODING_AGENT_DIR": "/agent"}, "/ours"),
        ({"HOME": "/home/me", "PI_AGENT_DIR": "", "PI_CODING_AGENT_DIR": ""}, "/home/me/.pi/agent"),
        ({"HOME": "/home/me", "PI_CODING_AGENT_DIR": "~/own/"}, "/home/me/own"),  # as pi itself reads it
        ({"HOME": "/home/me", "PI_CODING_AGENT_DIR": "~"}, "/home/me"),
    ],
)
def test_the_agents_folder_holds_the_users_settings(environment: dict[str, str], expected: str) -> None:
    assert places.agent_dir(environment) == expected
    assert places.global_path(environment) == f"{expected}/settings.json"


def test_a_relative_agents_folder_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert places.agent_dir({"PI_CODING_AGENT_DIR": "agent"}) == str(tmp_path / "agent")


def test_a_projects_settings() -> None:
    assert places.project_path("/code/repo") == "/code/repo/.pi/settings.json"


# --- a state directory that is ours alone -----------------------------------------------------------------


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state directory that only we can have made, below a folder of ours."""
    made = tmp_path / "above" / "state"
    for folder in (made.parent, made, made / "runs", made / "hosts"):
        folder.mkdir(mode=0o700)
    return made


def refused(state: Path) -> str | None:
    """Return why a state directory is not used."""
    try:
        found = places.own_home({"TMUXAGENTS_HOME": str(state)})
    except Unusable as error:
        why = error
    else:
        assert found == str(state)
        return None
    assert (why.exit_code, bool(why.hint)) == (3, True)
    assert why.message.startswith(f"The state directory {state} is not used, since ")
    return why.message


def test_what_is_ours_alone_or_not_there_is_used(state: Path) -> None:
    assert refused(state) is None
    (state / "hosts").rmdir()
    state.chmod(0o755)
    state.parent.chmod(0o755)
    for one in (state, state / "nothing", state.parent / "nothing" / "below", state.with_name("linked")):
        assert refused(one) is None
        state.with_name("linked").unlink(missing_ok=True)
        state.with_name("linked").symlink_to(state)


@pytest.mark.parametrize("place", ["above", "above/state", "above/state/runs", "above/state/hosts"])
def test_what_another_user_owns_is_not_used(state: Path, place: str) -> None:
    theirs = state.parent.parent / place
    os.chown(theirs, NOBODY, NOBODY)
    what = "it" if theirs == state else str(theirs)
    said = refused(state)
    assert said is not None
    assert said.endswith(f"since {what} belongs to nobody (user {NOBODY}).")


@pytest.mark.parametrize("mode", [0o702, 0o720, 0o777])
@pytest.mark.parametrize("place", ["above", "above/state", "above/state/runs", "above/state/hosts"])
def test_what_another_user_could_replace_is_not_used(state: Path, place: str, mode: int) -> None:
    os.chown(state.parent.parent / place, -1, 12345)  # a group that is nobody's own
    (state.parent.parent / place).chmod(mode)
    assert "can be written by others" in str(refused(state))


def test_in_a_sticky_folder_what_is_ours_is_used_and_what_is_theirs_is_not(state: Path) -> None:
    state.parent.chmod(0o1777)
    assert refused(state) is None
    assert refused(state.parent / "nothing") is None
    os.chown(state, NOBODY, NOBODY)
    assert "belongs to" in str(refused(state))
    assert "can be written by others" in str(refused(state.parent))  # nor is it one itself


def test_a_link_is_as_good_as_its_owner_and_all_that_it_passes(state: Path) -> None:
    link = state.with_name("linked")
    link.symlink_to("../above/./state/")
    assert refused(link) is None
    os.lchown(link, NOBODY, NOBODY)
    assert "belongs to" in str(refused(link))
    far = state.parent.parent / "far"
    far.mkdir(mode=0o777)
    far.chmod(0o777)
    (far / "runs").mkdir(mode=0o700)
    (state / "runs").rmdir()
    (state / "runs").symlink_to(far / "runs")
    assert f"{far} can be written by others" in str(refused(state))
    (state / "hosts").rmdir()
    (state / "runs").unlink()
    (state / "hosts").symlink_to("hosts")
    assert refused(state) is None  # it leads nowhere: nothing is read


def test_of_a_users_folder_root_takes_nothing_and_the_user_nothing_of_roots(state: Path) -> None:
    os.chown(state.parent, NOBODY, NOBODY)
    assert "belongs to" in str(refused(state))  # as with `sudo` that keeps HOME
    for folder in (state, state / "runs", state / "hosts"):
        os.chown(folder, NOBODY, NOBODY)
    let_in(state.parent)

    def act() -> list[str | None]:
        become_somebody()
        return [refused(state), refused(state.parent.parent)]

    own, of_root = apart(act)
    assert own is None
    assert "it belongs to root (user 0)" in str(of_root)


def test_in_a_user_namespace_folders_of_root_are_passed(state: Path) -> None:
    let_in(state)
    for folder in (state.parent, state, state / "runs", state / "hosts"):
        os.chown(folder, NOBODY - 1, NOBODY - 1)

    def act() -> list[str | None]:
        os.setgroups([])
        os.setgid(NOBODY - 1)
        os.setuid(NOBODY - 1)
        set_dumpable(dumpable=True)
        enter_user_namespace(f"{NOBODY - 1} {NOBODY - 1} 1", f"{os.getgid()} {os.getgid()} 1")
        assert state.parent.parent.stat().st_uid == NOBODY  # that is what it looks like from here
        return [refused(state), refused(state.parent.parent)]

    own, of_root = apart(act)
    assert own is None
    assert f"it belongs to nobody (user {NOBODY})" in str(of_root)


# --- files that are ours ----------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A settings file that only we can have written."""
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    file = folder / "settings.json"
    file.write_text(TEXT)
    file.chmod(0o600)
    return file


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o444, 0o755])
def test_what_only_we_can_write_is_read(own: Path, mode: int) -> None:
    own.chmod(mode)
    assert places.read_named(str(own)).text == TEXT


@pytest.mark.parametrize("mode", [0o602, 0o666, 0o646, 0o777])
def test_what_others_can_write_is_not(own: Path, mode: int) -> None:
    own.chmod(mode)
    assert places.read_named(str(own)).text is None


@pytest.mark.parametrize("mode", [0o777, 0o707])
def test_a_file_in_a_folder_that_others_can_write_is_not_read(own: Path, mode: int) -> None:
    own.parent.chmod(mode)  # others can put another file of ours in its place, or take it away
    assert places.read_named(str(own)).text is None


def test_a_link_to_what_is_ours_is_read(own: Path) -> None:
    link = own.with_name("linked.json")
    link.symlink_to(own)
    assert places.read_named(str(link)).text == TEXT
    own.chmod(0o666)
    assert places.read_named(str(link)).text is None


def test_text_that_is_no_utf_8_is_read_all_the_same(own: Path) -> None:
    own.write_bytes(b'{"a": "\xff"}')
    assert places.read_named(str(own)).text == '{"a": "\N{REPLACEMENT CHARACTER}"}'


def test_the_largest_file_is_read_whole_and_a_larger_one_not_at_all(own: Path) -> None:
    most = 1024 * 1024
    own.write_text("x" * most)
    assert places.read_named(str(own)).text == "x" * most
    own.write_text("x" * (most + 1))
    assert places.read_named(str(own)).text is None
    os.truncate(own, 200 * most)
    assert apart(lambda: places.read_named(str(own)).text, 2) is None


def test_what_is_no_file_is_nothing_and_blocks_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo", 0o600)
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "round").symlink_to("round")
    for path in ("fifo", "dangling", "round", "missing", ".", "missing/settings.json"):
        assert apart(lambda path=path: places.read_named(str(tmp_path / path)).text, 2) is None, path
    for device in ("/dev/zero", "/dev/null", "/dev/tty"):
        assert apart(lambda device=device: places.read_named(device).text, 2) is None, device


@pytest.mark.parametrize("device", ["/dev/ptmx", "/dev/null", "/dev/tty"])
def test_what_is_no_file_is_not_even_opened(tmp_path: Path, device: str) -> None:
    link = tmp_path / "settings.json"
    link.symlink_to(device)
    opened: list[int] = []

    def look(event: str, values: tuple[object, ...]) -> None:
        if event == "open" and values[0] == str(link) and isinstance(values[2], int):
            opened.append(values[2] & os.O_PATH)

    def act() -> list[int]:
        sys.addaudithook(look)
        assert places.read_named(str(link)).refused == "it is no regular file"
        with pytest.raises(Unusable):
            disk.read(str(link))
        with pytest.raises(OSError, match="regular file"):
            os.close(places.open_regular(str(link), links=False))
        return opened

    assert apart(act, 2) == [os.O_PATH] * 3


def test_why_a_file_is_not_believed_is_said(own: Path) -> None:
    assert places.read_named(str(own.with_name("missing.json"))).refused is None
    assert places.read_named(str(own / "below")).refused is None
    assert places.read_named(str(own.parent)).refused == "it is no regular file"
    own.chmod(0o666)
    assert places.read_named(str(own)).refused == "others can write it or its folder"
    own.chmod(0o600)
    assert places.read_named(str(own)).refused is None
    os.truncate(own, 1024 * 1024 + 1)
    assert places.read_named(str(own)).refused == "it is larger than 1 MB"
    own.with_name("round").symlink_to("round")
    assert places.read_named(str(own.with_name("round"))).refused == os.strerror(errno.ELOOP)


def test_what_cannot_be_read_is_nothing(own: Path) -> None:
    own.chmod(0o200)

    def act() -> str | None:
        if os.getuid() == 0:
            os.setuid(NOBODY)
        return places.read_named(str(own)).text

    assert apart(act) is None


if os.getuid() == 0:  # only root can make files of another user

    def test_a_file_of_another_user_is_not_read(own: Path) -> None:
        os.chown(own, NOBODY, NOBODY)
        assert places.read_named(str(own)).text is None

    def test_a_file_in_a_folder_of_another_user_is_not_read(own: Path) -> None:
        os.chown(own.parent, NOBODY, NOBODY)
        assert places.read_named(str(own)).text is None

    @pytest.mark.parametrize("mode", [0o620, 0o664, 0o660])
    def test_what_another_group_can_write_is_not_read(own: Path, mode: int) -> None:
        own.chmod(mode)
        os.chown(own, 0, NOBODY)
        assert places.read_named(str(own)).text is None
        os.chown(own, 0, 0)  # root's own group has nobody else in it
        assert places.read_named(str(own)).text == TEXT

    def test_a_folder_that_another_group_can_write_is_not_believed(own: Path) -> None:
        own.parent.chmod(0o775)
        os.chown(own.parent, 0, NOBODY)
        assert places.read_named(str(own)).text is None
        os.chown(own.parent, 0, 0)
        assert places.read_named(str(own)).text == TEXT

    def test_a_group_without_a_name_is_nobodys_own(own: Path) -> None:
        own.chmod(0o664)
        os.chown(own, 0, 3_999_999)
        assert places.read_named(str(own)).text is None

    def test_a_file_of_root_is_read_by_all(tmp_path: Path) -> None:
        def act() -> str | None:
            mount_privately()
            mount_tmpfs(tmp_path, "1m")
            tmp_path.chmod(0o755)
            (tmp_path / "settings.json").write_text(TEXT)
            (tmp_path / "settings.json").chmod(0o644)
            os.chroot(tmp_path)
            os.setuid(NOBODY)
            return places.read_named("/settings.json").text

        assert apart(act) == TEXT


# --- the tmux server around us ---


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("/tmp/tmux-0/default,17,$0", ("/tmp/tmux-0/default", 17, "$0")),
        ("/tmp/a,b,17,0", ("/tmp/a,b", 17, "0")),
        ("/tmp/s,17", ("/tmp/s", 17, "")),
        ("/tmp/s,x,0", ("/tmp/s", None, "0")),
        ("/tmp/s,²,0", ("/tmp/s", None, "0")),
        (f"/tmp/s,{'9' * 5000},0", ("/tmp/s", None, "0")),
        ("", ("", None, "")),
    ],
)
def test_an_odd_variable_of_tmux_names_no_server(text: str, server: tuple[str, int | None, str]) -> None:
    assert places.tmux_server({"TMUX": text}) == server
    assert places.tmux_server({}) == ("", None, "")


# --- folders that are made ---


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_folder_and_all_that_are_made_above_it_are_the_users_alone(tmp_path: Path) -> None:
    os.umask(0o022)
    places.make_folders(f"{tmp_path}/state/ours/runs/")
    made = [tmp_path / "state", tmp_path / "state" / "ours", tmp_path / "state" / "ours" / "runs"]
    assert [mode_of(path) for path in made] == [0o700] * 3
    places.make_folders(str(made[-1]))
    tmp_path.chmod(0o755)
    os.close(watcher_lock.take(f"{tmp_path}/new/ours") or -1)
    assert [mode_of(path) for path in (tmp_path, tmp_path / "new" / "ours")] == [0o755, 0o700]


def test_what_is_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("file", "link"):
        with pytest.raises(FileExistsError):
            places.make_folders(f"{tmp_path}/{name}")
    with pytest.raises(OSError, match="file"):
        places.make_folders(f"{tmp_path}/file/below")
