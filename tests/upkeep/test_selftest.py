"""Doctor's trials of the machine, for real; nothing of a trial stays behind."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.apart import apart, become_somebody, mount_privately, mount_tmpfs
from tests.harness import REPOSITORY
from tmuxagents.errors import Unusable
from tmuxagents.upkeep import probes

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def test_on_a_healthy_machine_everything_works_and_nothing_stays(tmp_path: Path) -> None:
    with probes.try_out(str(tmp_path)) as folder:
        probes.check_locks(folder)
        assert probes.has_wal(folder)
        assert os.listdir(folder)
    assert list(tmp_path.iterdir()) == []
    assert probes.try_inotify(str(tmp_path)) is None


def test_the_nearest_folder_that_is_there(tmp_path: Path) -> None:
    assert probes.existing(str(tmp_path)) == str(tmp_path)
    assert probes.existing(f"{tmp_path}/a/b") == str(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("/nonexistent")
    for name in ("file", "file/below", "link", "link/below"):
        with pytest.raises(NotADirectoryError):
            probes.existing(f"{tmp_path}/{name}")


def test_without_locks_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)  # like a file system that only pretends to lock
    with probes.try_out(str(tmp_path)) as folder, pytest.raises(Unusable, match="no locks"):
        probes.check_locks(folder)


def test_where_we_may_not_write_nothing_can_be_tried(tmp_path: Path) -> None:
    def act() -> str:
        become_somebody()
        with pytest.raises(OSError, match="denied") as raised, probes.try_out(str(tmp_path)):
            pass
        return str(raised.value.filename)

    tmp_path.chmod(0o700)
    assert apart(act).startswith(str(tmp_path))


def test_room_is_what_the_disk_has(tmp_path: Path) -> None:
    def act() -> tuple[int, int | None]:
        mount_privately()
        mount_tmpfs(tmp_path, "64k")
        return probes.room(str(tmp_path))

    free, files = apart(act)
    assert 0 < free <= 65536
    assert files is None or files > 0


@pytest.mark.parametrize(
    ("name", "limit"),
    [("max_inotify_instances", "max_user_instances"), ("max_inotify_watches", "max_user_watches")],
)
def test_where_all_of_inotify_is_used_that_is_said(tmp_path: Path, name: str, limit: str) -> None:
    code = f"from tmuxagents.upkeep import probes as selftest; print(selftest.try_inotify({str(tmp_path)!r}))"
    shell = f'echo 0 > /proc/sys/user/{name} && exec "$0" -c "$1"'
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", shell, sys.executable, code],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    assert done.stdout.startswith(f"all of {limit} (")


def test_a_limit_that_nobody_tells_is_unknown() -> None:
    assert probes.limit("nosuch") is None
