"""Where folders lie by the environment, and which settings files are ours to believe."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from tests.edges.apart import NOBODY, apart, mount_privately, mount_tmpfs
from tmuxagents.edges import settings

if TYPE_CHECKING:
    from pathlib import Path

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
    assert settings.home(environment) == expected
    assert settings.runs(environment) == f"{expected}/runs"


def test_a_relative_state_directory_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings.home({"TMUXAGENTS_HOME": "state"}) == str(tmp_path / "state")


def test_a_relative_xdg_folder_is_ignored() -> None:
    # The XDG base directory specification says so; and a wrapper in another folder must find the same runs.
    found = settings.home({"HOME": "/home/me", "XDG_STATE_HOME": "state"})
    assert found == "/home/me/.local/state/tmuxagents"


def test_without_home_the_user_database_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    known = os.path.expanduser("~")
    for environment in ({}, {"HOME": ""}):
        assert settings.home(environment) == f"{known}/.local/state/tmuxagents"
        assert settings.agent_dir(environment) == f"{known}/.pi/agent"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HOME": "/home/me"}, "/home/me/.pi/agent"),
        ({"HOME": "/home/me", "PI_CODING_AGENT_DIR": "/agent"}, "/agent"),
        ({"HOME": "/home/me", "PI_AGENT_DIR": "/ours", "PI_CODING_AGENT_DIR": "/agent"}, "/ours"),
        ({"HOME": "/home/me", "PI_AGENT_DIR": "", "PI_CODING_AGENT_DIR": ""}, "/home/me/.pi/agent"),
    ],
)
def test_the_agents_folder_holds_the_users_settings(environment: dict[str, str], expected: str) -> None:
    assert settings.agent_dir(environment) == expected
    assert settings.global_path(environment) == f"{expected}/settings.json"


def test_a_relative_agents_folder_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings.agent_dir({"PI_CODING_AGENT_DIR": "agent"}) == str(tmp_path / "agent")


def test_a_projects_settings() -> None:
    assert settings.project_path("/code/repo") == "/code/repo/.pi/settings.json"


# --- files that are ours ----------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A settings file that nobody but us can have written."""
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    file = folder / "settings.json"
    file.write_text(TEXT)
    file.chmod(0o600)
    return file


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o444, 0o755])
def test_what_only_we_can_write_is_read(own: Path, mode: int) -> None:
    own.chmod(mode)
    assert settings.read_own(str(own)) == TEXT


@pytest.mark.parametrize("mode", [0o602, 0o666, 0o646, 0o777])
def test_what_others_can_write_is_not(own: Path, mode: int) -> None:
    own.chmod(mode)
    assert settings.read_own(str(own)) is None


@pytest.mark.parametrize("mode", [0o777, 0o707])
def test_a_file_in_a_folder_that_others_can_write_is_not_read(own: Path, mode: int) -> None:
    own.parent.chmod(mode)  # others can put another file of ours in its place, or take it away
    assert settings.read_own(str(own)) is None


def test_a_link_to_what_is_ours_is_read(own: Path) -> None:
    link = own.with_name("linked.json")
    link.symlink_to(own)
    assert settings.read_own(str(link)) == TEXT
    own.chmod(0o666)
    assert settings.read_own(str(link)) is None


def test_text_that_is_no_utf_8_is_read_all_the_same(own: Path) -> None:
    own.write_bytes(b'{"a": "\xff"}')
    assert settings.read_own(str(own)) == '{"a": "\N{REPLACEMENT CHARACTER}"}'


def test_the_largest_file_is_read_whole_and_a_larger_one_not_at_all(own: Path) -> None:
    most = 1024 * 1024
    own.write_text("x" * most)
    assert settings.read_own(str(own)) == "x" * most
    own.write_text("x" * (most + 1))
    assert settings.read_own(str(own)) is None
    os.truncate(own, 200 * most)
    assert apart(lambda: settings.read_own(str(own)), 2) is None


def test_what_is_no_file_is_nothing_and_blocks_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo", 0o600)
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "round").symlink_to("round")
    for path in ("fifo", "dangling", "round", "missing", ".", "missing/settings.json"):
        assert apart(lambda path=path: settings.read_own(str(tmp_path / path)), 2) is None, path  # type: ignore[misc]
    for device in ("/dev/zero", "/dev/null", "/dev/tty"):
        assert apart(lambda device=device: settings.read_own(device), 2) is None, device  # type: ignore[misc]


def test_why_a_file_is_not_believed_is_said(own: Path) -> None:
    assert settings.read_named(str(own.with_name("missing.json"))).refused is None
    assert settings.read_named(str(own / "below")).refused is None
    assert settings.read_named(str(own.parent)).refused == "it is no regular file"
    own.chmod(0o666)
    assert settings.read_named(str(own)).refused == "others can write it or its folder"
    own.chmod(0o600)
    assert settings.read_named(str(own)).refused is None
    os.truncate(own, 1024 * 1024 + 1)
    assert settings.read_named(str(own)).refused == "it is larger than 1 MB"
    own.with_name("round").symlink_to("round")
    assert settings.read_named(str(own.with_name("round"))).refused == os.strerror(errno.ELOOP)


def test_what_cannot_be_read_is_nothing(own: Path) -> None:
    own.chmod(0o200)

    def act() -> str | None:
        if os.getuid() == 0:
            os.setuid(NOBODY)
        return settings.read_own(str(own))

    assert apart(act) is None


if os.getuid() == 0:  # only root can make files of another user

    def test_a_file_of_another_user_is_not_read(own: Path) -> None:
        os.chown(own, NOBODY, NOBODY)
        assert settings.read_own(str(own)) is None

    def test_a_file_in_a_folder_of_another_user_is_not_read(own: Path) -> None:
        os.chown(own.parent, NOBODY, NOBODY)
        assert settings.read_own(str(own)) is None

    @pytest.mark.parametrize("mode", [0o620, 0o664, 0o660])
    def test_what_another_group_can_write_is_not_read(own: Path, mode: int) -> None:
        own.chmod(mode)
        os.chown(own, 0, NOBODY)
        assert settings.read_own(str(own)) is None
        os.chown(own, 0, 0)  # root's own group has nobody else in it
        assert settings.read_own(str(own)) == TEXT

    def test_a_folder_that_another_group_can_write_is_not_believed(own: Path) -> None:
        own.parent.chmod(0o775)
        os.chown(own.parent, 0, NOBODY)
        assert settings.read_own(str(own)) is None
        os.chown(own.parent, 0, 0)
        assert settings.read_own(str(own)) == TEXT

    def test_a_group_without_a_name_is_nobodys_own(own: Path) -> None:
        own.chmod(0o664)
        os.chown(own, 0, 3_999_999)
        assert settings.read_own(str(own)) is None

    def test_a_file_of_root_is_read_by_all(tmp_path: Path) -> None:
        def act() -> str | None:
            mount_privately()
            mount_tmpfs(tmp_path, "1m")
            tmp_path.chmod(0o755)
            (tmp_path / "settings.json").write_text(TEXT)
            (tmp_path / "settings.json").chmod(0o644)
            os.chroot(tmp_path)
            os.setuid(NOBODY)
            return settings.read_own("/settings.json")

        assert apart(act) == TEXT
