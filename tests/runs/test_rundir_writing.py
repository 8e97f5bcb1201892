"""Changes of a run directory happen completely or not at all: with kills, full disks, rivals, obstacles."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import random
import secrets
import shutil
import signal
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import obstacles
from tests.apart import NOBODY, Apart, apart, at_once, file_size, mount_privately, mount_tmpfs, running
from tests.harness import eventually
from tests.obstacles import FIFO, FOLDER, LINK
from tests.runs.run_files import META, RESULT, RUN, WRAPPER, read_meta
from tmuxagents.runs import directory
from tmuxagents.runs import writing as runs_writing
from tmuxagents.runs.documents import plan_of
from tmuxagents.runs.logs import Appender
from tmuxagents.system import places, process

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("nothing_hangs")

LARGE = {"fill": "x" * 300_000}  # a document that takes a while to write


def names(folder: str) -> list[str]:
    return sorted(os.listdir(folder))


def has_more_than(folder: str, count: int) -> bool:
    return len(os.listdir(folder)) > count


def is_another(path: str, before: os.stat_result) -> bool:
    return not os.path.samestat(os.stat(path), before)


def mode(path: str | Path) -> int:
    return os.stat(path).st_mode & 0o7777


# --- made -------------------------------------------------------------------------------------------------


def test_a_run_is_made_of_its_plan_and_its_texts(tmp_path: Path) -> None:
    runs = f"{tmp_path}/deep/state/runs"
    made = runs_writing.create(
        runs, plan_of(META), {directory.PROMPT: b"do \0 it\xff", directory.SYSTEM_PROMPT: b""}
    )
    assert made == f"{runs}/{RUN}"
    assert names(runs) == [RUN]
    assert names(made) == [directory.META, directory.PROMPT, directory.SYSTEM_PROMPT]
    assert read_meta(made) == META
    assert Path(made, directory.PROMPT).read_bytes() == b"do \0 it\xff"


@pytest.mark.parametrize("outer", [0o000, 0o022, 0o077])
def test_a_run_is_ours_alone_whatever_the_umask(tmp_path: Path, outer: int) -> None:
    runs = f"{tmp_path}/state/runs"

    def act() -> dict[str, int]:
        os.umask(outer)
        made = runs_writing.create(runs, plan_of(META), {directory.PROMPT: b"do it"})
        Appender(f"{made}/{directory.EVENTS}").append(b"{}\n")
        runs_writing.claim(made, WRAPPER)
        runs_writing.write_result(made, RESULT)
        held = runs_writing.lock(made, 0)
        assert held is not None
        os.close(held)
        return {".": mode(made), "..": mode(runs)} | {name: mode(f"{made}/{name}") for name in names(made)}

    files = (
        directory.META,
        directory.PROMPT,
        directory.EVENTS,
        directory.WRAPPER,
        directory.RESULT,
        directory.LOCK,
    )
    assert apart(act) == {".": 0o700, "..": 0o700} | dict.fromkeys(files, 0o600)


def test_what_a_child_has_let_others_do_ends_with_the_next_act(tmp_path: Path) -> None:
    made = runs_writing.create(f"{tmp_path}/runs", plan_of(META), {})
    Path(made).chmod(0o777)
    runs_writing.write_result(made, RESULT)
    assert mode(made) == 0o755
    os.chown(made, NOBODY, NOBODY)
    with pytest.raises(PermissionError, match="It belongs to another user"):
        runs_writing.lock(made, 0)
    assert directory.LOCK not in names(made)


def test_with_umask_077_the_folders_above_are_ours_alone_too(tmp_path: Path) -> None:
    def act() -> None:
        os.umask(0)
        before = os.umask(0o077)
        assert before == 0
        runs_writing.create(f"{tmp_path}/a/b/runs", plan_of(META), {})

    apart(act)
    assert [mode(tmp_path / path) for path in ("a", "a/b", "a/b/runs")] == [0o700] * 3


def test_the_same_run_is_not_made_twice(tmp_path: Path) -> None:
    runs = str(tmp_path)
    made = runs_writing.create(runs, plan_of(META), {directory.PROMPT: b"first"})
    with pytest.raises(OSError, match=RUN):
        runs_writing.create(runs, plan_of({**META, "task": "second"}), {directory.PROMPT: b"second"})
    assert names(runs) == [RUN]
    assert read_meta(made) == META
    assert directory.read_bytes(f"{made}/{directory.PROMPT}") == b"first"


def test_what_lies_under_its_name_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / RUN).write_text("mine")
    with pytest.raises(OSError, match=RUN):
        runs_writing.create(str(tmp_path), plan_of(META), {directory.PROMPT: b"do it"})
    assert names(str(tmp_path)) == [RUN]
    assert (tmp_path / RUN).read_text() == "mine"


def test_of_two_that_make_the_same_run_at_once_one_does(tmp_path: Path) -> None:
    def act(text: bytes) -> bytes | None:
        try:
            runs_writing.create(
                str(tmp_path), plan_of({**LARGE, "runId": RUN}), {directory.PROMPT: text * 100_000}
            )
        except OSError:
            return None
        return text

    for _ in range(5):
        made = [text for text in at_once([partial(act, b"%d" % i) for i in range(4)]) if text]
        assert len(made) == 1
        assert names(str(tmp_path)) == [RUN]
        assert directory.read_bytes(f"{tmp_path}/{RUN}/{directory.PROMPT}") == made[0] * 100_000
        shutil.rmtree(tmp_path / RUN)


def test_a_run_is_whole_or_not_there_when_its_maker_is_killed(tmp_path: Path) -> None:
    runs = str(tmp_path / "runs")
    prompt = b"line\n" * 100_000
    dice = random.Random(7)

    def make_many() -> None:
        while True:
            run_id = secrets.token_hex(8)
            runs_writing.create(
                runs, plan_of({**LARGE, "runId": run_id}), {directory.PROMPT: prompt, "append.md": prompt}
            )

    os.mkdir(runs)
    for _ in range(40):
        before = len(os.listdir(runs))
        maker = Apart(make_many)
        eventually(partial(has_more_than, runs, before))
        time.sleep(dice.uniform(0, 0.004))  # the instant of death, not a wait
        maker.kill()
    whole = [name for name in names(runs) if not name.startswith(".")]
    torn = [name for name in names(runs) if name not in whole]
    assert torn
    assert all(name.startswith(".new-") for name in torn)
    for name in whole:
        assert read_meta(f"{runs}/{name}") == {**LARGE, "runId": name}
        assert directory.read_bytes(f"{runs}/{name}/{directory.PROMPT}") == prompt
        assert directory.read_bytes(f"{runs}/{name}/append.md") == prompt


def test_nobody_sees_a_run_that_is_being_made(tmp_path: Path) -> None:
    runs = str(tmp_path)
    ids = [f"{number:016x}" for number in range(100)]

    def make() -> None:
        for run_id in ids:
            runs_writing.create(runs, plan_of({**LARGE, "runId": run_id}), {directory.PROMPT: b"x" * 100_000})

    def watch() -> list[int]:
        seen: dict[str, int] = {}
        while len(seen) < len(ids):
            for name in names(runs):
                if not name.startswith(".") and name not in seen:
                    assert directory.read_plan(f"{runs}/{name}") is not None, "a run without its plan"
                    seen[name] = os.stat(f"{runs}/{name}/{directory.PROMPT}").st_size
        return list(seen.values())

    watching = Apart(watch)
    apart(make)
    assert watching.result() == [100_000] * len(ids)


def test_a_full_disk_leaves_nothing_of_a_run(tmp_path: Path) -> None:
    runs = str(tmp_path / "runs")

    def act() -> int | None:
        with file_size(1000), pytest.raises(OSError, match="large") as caught:
            runs_writing.create(runs, plan_of(META), {directory.PROMPT: b"x" * 5000})
        return caught.value.errno

    assert apart(act) == errno.EFBIG
    assert names(runs) == []


def test_a_task_of_1_mb_of_anything_can_be_read_again(tmp_path: Path) -> None:
    meta = {**META, "task": "\x01" * 1_000_000}
    made = runs_writing.create(str(tmp_path), plan_of(meta), {})
    assert read_meta(made) == meta


# --- the lock ---------------------------------------------------------------------------------------------


def can_lock(run_dir: str, limit_s: float = 0.0) -> bool:
    held = runs_writing.lock(run_dir, limit_s)
    if held is not None:
        os.close(held)
    return held is not None


def test_of_many_that_announce_a_run_at_once_one_does(run_dir: str) -> None:
    assert not directory.is_announced(run_dir)
    assert sorted(at_once([lambda: runs_writing.announce(run_dir)] * 8)) == [False] * 7 + [True]
    assert directory.is_announced(run_dir)
    assert not runs_writing.announce(run_dir)


@pytest.mark.parametrize("obstacle", ["link", "folder"])
def test_what_lies_in_the_way_of_an_announcement_is_one(run_dir: str, tmp_path: Path, obstacle: str) -> None:
    way = Path(run_dir) / directory.ANNOUNCED
    way.mkdir() if obstacle == "folder" else way.symlink_to(tmp_path / "elsewhere")
    assert directory.is_announced(run_dir)
    assert not runs_writing.announce(run_dir)
    assert not (tmp_path / "elsewhere").exists()


def test_a_run_that_is_gone_cannot_be_announced(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        runs_writing.announce(str(tmp_path / "gone"))


def test_one_process_at_a_time_has_the_lock(run_dir: str) -> None:
    inside = f"{run_dir}/inside"

    def act() -> int:
        entered = 0
        for _ in range(6):
            held = runs_writing.lock(run_dir, 20)
            assert held is not None
            os.close(os.open(inside, os.O_CREAT | os.O_EXCL))  # fails if another process is inside
            entered += 1
            os.unlink(inside)
            os.close(held)
        return entered

    assert at_once([act] * 8) == [6] * 8


def test_the_lock_is_free_when_it_is_let_go_and_when_its_holder_dies(run_dir: str) -> None:
    held = runs_writing.lock(run_dir, 0)
    assert held is not None
    assert not can_lock(run_dir)
    os.close(held)
    assert can_lock(run_dir)

    def hold() -> None:
        runs_writing.lock(run_dir, 0)
        Path(run_dir, "held").touch()
        signal.pause()

    holder = Apart(hold)
    eventually(Path(run_dir, "held").exists)
    assert not can_lock(run_dir)
    holder.kill()
    assert can_lock(run_dir)


def test_no_program_that_is_started_inherits_the_lock(run_dir: str) -> None:
    held = runs_writing.lock(run_dir, 0)
    assert held is not None
    with running(["sleep", "600"], close_fds=False) as child:
        assert not can_lock(run_dir)
        os.close(held)
        assert can_lock(run_dir)
        assert child.poll() is None


def test_waiting_for_the_lock_has_an_end(run_dir: str) -> None:
    held = runs_writing.lock(run_dir, 0)
    assert held is not None
    begun = time.monotonic()
    assert runs_writing.lock(run_dir, 0.3) is None
    assert 0.3 <= time.monotonic() - begun < 15
    os.close(held)


def test_who_waits_for_the_lock_gets_it_when_it_is_free(run_dir: str) -> None:
    def hold() -> None:
        runs_writing.lock(run_dir, 0)
        Path(run_dir, "held").touch()
        signal.pause()

    holder = Apart(hold)
    eventually(Path(run_dir, "held").exists)
    waiting = Apart(lambda: can_lock(run_dir, 10))
    assert not can_lock(run_dir, 0.1)
    holder.kill()
    assert waiting.result(3)


def test_a_lock_file_that_was_removed_and_made_anew_is_another_lock(run_dir: str) -> None:
    path = f"{run_dir}/{directory.LOCK}"
    held = runs_writing.lock(run_dir, 0)
    assert held is not None
    os.unlink(path)
    new = runs_writing.lock(run_dir, 0)
    assert new is not None
    os.close(held)
    assert not can_lock(run_dir)
    os.close(new)


def test_a_lock_on_a_file_that_has_just_been_removed_does_not_count(
    run_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{run_dir}/{directory.LOCK}"
    flock = fcntl.flock
    turns: list[int] = []

    def slow_flock(handle: int, operation: int) -> None:
        turns.append(handle)
        if len(turns) <= 2:  # between open and lock, it is removed once, and once removed and made again
            os.unlink(path)
            if len(turns) == 2:
                Path(path).touch()
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", slow_flock)
    held = runs_writing.lock(run_dir, 5)
    monkeypatch.undo()
    assert held is not None
    assert len(turns) == 3
    assert os.path.samestat(os.fstat(held), os.stat(path))
    assert not can_lock(run_dir)
    os.close(held)


def test_those_that_remove_the_lock_file_before_they_let_go_do_not_meet(run_dir: str) -> None:
    inside = f"{run_dir}/inside"

    def act() -> int:
        for _ in range(6):
            held = runs_writing.lock(run_dir, 20)
            assert held is not None
            os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
            os.unlink(inside)
            os.unlink(f"{run_dir}/{directory.LOCK}")
            os.close(held)
        return 6

    assert at_once([act] * 6) == [6] * 6


@pytest.mark.parametrize("obstacle", [FOLDER, FIFO, LINK])
def test_what_lies_in_the_place_of_the_lock_keeps_nobody_from_it(run_dir: str, obstacle: str) -> None:
    path = Path(run_dir, directory.LOCK)
    obstacles.put(obstacle, path)

    def act() -> tuple[bool, bool, int]:
        before = len(os.listdir("/proc/self/fd"))
        held = runs_writing.lock(run_dir, 1)
        alone = not can_lock(run_dir)
        after = len(os.listdir("/proc/self/fd")) - before
        return held is not None, alone, after

    assert apart(act, 5) == (True, True, 1)
    if obstacle == LINK:
        assert obstacles.target_of(path).read_bytes() == obstacles.FOREIGN


def test_a_run_that_is_not_there_cannot_be_locked(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        runs_writing.lock(str(tmp_path / "none"), 5)


# --- the claim --------------------------------------------------------------------------------------------


def test_the_first_claim_is_the_only_one(run_dir: str) -> None:
    assert runs_writing.claim(run_dir, WRAPPER)
    assert not runs_writing.claim(run_dir, {**WRAPPER, "pid": 5})
    assert directory.read_wrapper(run_dir) == WRAPPER
    assert names(run_dir) == [directory.WRAPPER]
    assert mode(f"{run_dir}/{directory.WRAPPER}") == 0o600


def test_of_twenty_claims_at_once_one_wins_and_nobody_sees_half_of_it(tmp_path: Path) -> None:
    rounds = [tmp_path / str(number) for number in range(5)]
    for folder in rounds:
        folder.mkdir()

    def look() -> int:
        """Read everything again and again until the last claim is there; return how often."""
        looks = 0
        while not (tmp_path / "enough").exists():
            for folder in rounds:
                text = directory.read_bytes(f"{folder}/{directory.WRAPPER}")
                assert text is None or json.loads(text)["fill"] == LARGE["fill"], "half a wrapper.json"
                looks += 1
        return looks

    def act(folder: Path, pid: int) -> int | None:
        return pid if runs_writing.claim(str(folder), {**WRAPPER, **LARGE, "pid": pid}) else None

    looking = [Apart(look) for _ in range(2)]
    for folder in rounds:
        winners = [pid for pid in at_once([partial(act, folder, pid) for pid in range(1, 21)]) if pid]
        assert len(winners) == 1
        assert directory.read_wrapper(str(folder)) == {**WRAPPER, **LARGE, "pid": winners[0]}
        assert names(str(folder)) == [directory.WRAPPER]
    (tmp_path / "enough").touch()
    assert all(reader.result() > 10 for reader in looking)


def test_a_claim_that_does_not_fit_on_the_disk_leaves_nothing(run_dir: str) -> None:
    def act() -> None:
        with file_size(1000), pytest.raises(OSError, match="large"):
            runs_writing.claim(run_dir, {**WRAPPER, **LARGE})

    apart(act)
    assert names(run_dir) == []
    assert runs_writing.claim(run_dir, WRAPPER)


def test_a_claimer_that_is_killed_has_claimed_or_not(tmp_path: Path) -> None:
    dice = random.Random(9)
    claimed = 0
    for turn in range(30):
        folder = tmp_path / str(turn)
        folder.mkdir()

        def claim(folder: Path = folder) -> None:
            (folder / "begun").touch()
            runs_writing.claim(str(folder), {**WRAPPER, **LARGE})
            signal.pause()

        claimer = Apart(claim)
        eventually((folder / "begun").exists)
        time.sleep(dice.uniform(0, 0.002))  # the instant of death, not a wait
        claimer.kill()
        text = directory.read_bytes(f"{folder}/{directory.WRAPPER}")
        assert text is None or json.loads(text)["fill"] == LARGE["fill"]
        claimed += text is not None
        assert runs_writing.claim(str(folder), WRAPPER) == (text is None)
    assert claimed > 0


@pytest.mark.parametrize("obstacle", [FOLDER, FIFO, LINK])
def test_what_lies_in_the_place_of_the_claim_is_no_claim_of_ours(run_dir: str, obstacle: str) -> None:
    path = Path(run_dir, directory.WRAPPER)
    obstacles.put(obstacle, path)
    assert not apart(lambda: runs_writing.claim(run_dir, WRAPPER), 5)
    obstacles.take_away(obstacle, path)
    assert runs_writing.claim(run_dir, WRAPPER)


def test_there_is_no_claim_where_there_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        runs_writing.claim(str(tmp_path / "none"), WRAPPER)
    assert names(str(tmp_path)) == []


# --- a file replaced whole --------------------------------------------------------------------------------


def test_readers_see_the_old_or_the_new_and_never_nothing(run_dir: str) -> None:
    texts = [bytes([letter]) * 200_000 for letter in b"abcdef"]
    path = f"{run_dir}/{directory.OUTPUT}"
    runs_writing.replace(run_dir, directory.OUTPUT, texts[0])

    def write() -> None:
        for turn in range(600):
            runs_writing.replace(run_dir, directory.OUTPUT, texts[turn % len(texts)])
        Path(run_dir, "enough").touch()

    def look() -> int:
        seen = set()
        while not os.path.exists(f"{run_dir}/enough"):
            text = directory.read_bytes(path)
            assert text in texts, "half a file, or none"
            seen.add(text)
        return len(seen)

    looking = [Apart(look) for _ in range(2)]
    apart(write)
    assert all(reader.result() > 1 for reader in looking)
    assert names(run_dir) == ["enough", directory.OUTPUT]


def test_a_file_or_a_link_in_the_way_is_replaced(run_dir: str) -> None:
    target = Path(run_dir, "target")
    target.write_text("not ours")
    path = Path(run_dir, directory.RESULT)
    path.symlink_to(target)
    runs_writing.write_result(run_dir, RESULT)
    assert directory.read_result(run_dir) == RESULT
    assert not path.is_symlink()
    assert target.read_text() == "not ours"
    path.unlink()
    os.mkfifo(path)
    runs_writing.write_result(run_dir, RESULT)
    assert directory.read_result(run_dir) == RESULT
    path.unlink()
    path.symlink_to(run_dir)  # a link to a folder is no folder
    runs_writing.write_result(run_dir, RESULT)
    assert directory.read_result(run_dir) == RESULT
    assert names(run_dir) == [directory.RESULT, "target"]


def test_a_folder_in_the_way_is_moved_aside_with_all_that_is_in_it(run_dir: str) -> None:
    aside = set()
    for turn in range(3):  # even if there is one with that name already
        Path(run_dir, directory.RESULT).mkdir()
        Path(run_dir, directory.RESULT, f"precious-{turn}").write_text("data")
        runs_writing.write_result(run_dir, RESULT)
        assert directory.read_result(run_dir) == RESULT
        os.unlink(f"{run_dir}/{directory.RESULT}")
        aside |= {path.name for path in Path(run_dir).glob("*/precious-*")}
    assert aside == {"precious-0", "precious-1", "precious-2"}


def test_nothing_that_a_child_can_foresee_is_in_the_way(run_dir: str) -> None:
    runs_writing.write_result(run_dir, RESULT)
    runs_writing.replace(run_dir, directory.OUTPUT, b"answer")
    with contextlib.suppress(OSError):
        apart(partial(fail_to_replace, run_dir))
    left_by_one = [f".{directory.RESULT}.new", f"{directory.RESULT}.was-a-directory", f".{directory.RESULT}"]
    for name in left_by_one:
        Path(run_dir, name, "full").mkdir(parents=True)
    runs_writing.write_result(run_dir, {**RESULT, "output": "new"})
    assert directory.read_result(run_dir) == {**RESULT, "output": "new"}


def fail_to_replace(run_dir: str) -> None:
    with file_size(1000), pytest.raises(OSError, match="large"):
        runs_writing.write_result(run_dir, {**RESULT, **LARGE})


def test_nothing_is_written_into_the_folder_that_a_link_leads_to(run_dir: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    os.rename(run_dir, elsewhere)
    os.symlink(elsewhere, run_dir)
    acts: list[Callable[[], object]] = [
        lambda: runs_writing.write_result(run_dir, RESULT),
        lambda: runs_writing.claim(run_dir, WRAPPER),
        lambda: runs_writing.lock(run_dir, 0),
        lambda: runs_writing.remove(run_dir, directory.RESULT),
    ]
    for act in acts:
        with pytest.raises(OSError, match=r"."):
            act()
    assert names(str(elsewhere)) == []


def test_a_file_that_does_not_fit_leaves_the_old_one_whole(run_dir: str) -> None:
    runs_writing.write_result(run_dir, RESULT)

    def act() -> int | None:
        with file_size(1000), pytest.raises(OSError, match="large") as caught:
            runs_writing.write_result(run_dir, {**RESULT, **LARGE})
        return caught.value.errno

    assert apart(act) == errno.EFBIG
    assert directory.read_result(run_dir) == RESULT
    assert names(run_dir) == [directory.RESULT]


def test_a_killed_writer_leaves_the_old_or_the_new(run_dir: str) -> None:
    dice = random.Random(3)
    runs_writing.write_result(run_dir, {**RESULT, **LARGE})

    def write() -> None:
        while True:
            runs_writing.write_result(run_dir, {**RESULT, **LARGE})

    for _ in range(20):
        before = os.stat(f"{run_dir}/{directory.RESULT}")
        writer = Apart(write)
        eventually(partial(is_another, f"{run_dir}/{directory.RESULT}", before))
        time.sleep(dice.uniform(0, 0.002))  # the instant of death, not a wait
        writer.kill()
        assert directory.read_result(run_dir) == {**RESULT, **LARGE}
    runs_writing.write_result(run_dir, RESULT)
    assert directory.read_result(run_dir) == RESULT


def test_a_file_is_removed_if_there_is_one(run_dir: str) -> None:
    runs_writing.remove(run_dir, directory.RESULT)
    runs_writing.write_result(run_dir, RESULT)
    runs_writing.remove(run_dir, directory.RESULT)
    assert names(run_dir) == []
    os.symlink(__file__, f"{run_dir}/{directory.RESULT}")
    runs_writing.remove(run_dir, directory.RESULT)
    assert names(run_dir) == []
    assert os.path.exists(__file__)
    Path(run_dir, directory.RESULT, "precious").mkdir(parents=True)
    runs_writing.remove(run_dir, directory.RESULT)
    assert not os.path.exists(f"{run_dir}/{directory.RESULT}")
    assert len(list(Path(run_dir).glob("*/precious"))) == 1


# --- room kept for the result -----------------------------------------------------------------------------


def fill_disk(folder: Path) -> None:
    with open(folder / "ballast", "ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)


def test_on_a_full_disk_the_result_fits_into_the_room_kept_for_it(tmp_path: Path) -> None:
    def act() -> dict[str, Any] | None:
        mount_privately()
        mount_tmpfs(tmp_path, "1m")
        runs_writing.write_result(str(tmp_path), RESULT)
        held = runs_writing.reserve(str(tmp_path))
        assert held is not None
        assert names(str(tmp_path)) == [directory.RESULT], "what is held has no name"
        fill_disk(tmp_path)
        larger = {**RESULT, "output": "x" * 40_000}
        with pytest.raises(OSError, match="space"):
            runs_writing.write_result(str(tmp_path), larger)
        assert directory.read_result(str(tmp_path)) == RESULT
        assert names(str(tmp_path)) == ["ballast", directory.RESULT]
        assert runs_writing.reserve(str(tmp_path)) is None
        os.close(held)
        runs_writing.write_result(str(tmp_path), larger)
        return directory.read_result(str(tmp_path))

    found = apart(act)
    assert found is not None
    assert len(found["output"]) == 40_000


def test_room_that_cannot_be_kept_is_no_error_and_no_leak(run_dir: str) -> None:
    def act() -> tuple[int, int]:
        before = len(os.listdir("/proc/self/fd"))
        with file_size(runs_writing.RESERVE - 1):
            assert runs_writing.reserve(run_dir) is None
        assert runs_writing.reserve(f"{run_dir}/none") is None
        return before, len(os.listdir("/proc/self/fd"))

    before, after = apart(act)
    assert before == after
    assert names(run_dir) == []


# --- a run directory that was removed ---------------------------------------------------------------------


@pytest.fixture
def claimed(tmp_path: Path) -> Claimed:
    return Claimed(tmp_path / "runs")


class Claimed:
    """A run with a wrapper, and the place where its directory was."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self.run_dir = runs_writing.create(str(runs), plan_of(META), {directory.PROMPT: b"do it"})
        assert runs_writing.claim(self.run_dir, WRAPPER)
        place = directory.place_of(self.run_dir)
        assert place is not None
        self.place = place

    def is_whole(self) -> bool:
        return directory.is_whole(self.run_dir, self.place)

    def restore(self) -> bool:
        """Restore the missing parts; check that they are there."""
        gone = runs_writing.restore(self.run_dir, plan_of(META), WRAPPER, self.place)
        assert read_meta(self.run_dir) == META
        assert directory.read_wrapper(self.run_dir) == WRAPPER
        assert mode(self.run_dir) == 0o700
        return gone


def test_a_run_directory_that_is_there_is_left_as_it_is(claimed: Claimed) -> None:
    before = {name: Path(claimed.run_dir, name).read_bytes() for name in names(claimed.run_dir)}
    assert claimed.is_whole()
    assert not runs_writing.restore(
        claimed.run_dir, plan_of({**META, "task": "x"}), {**WRAPPER, "pid": 9}, claimed.place
    )
    assert {name: Path(claimed.run_dir, name).read_bytes() for name in names(claimed.run_dir)} == before


@pytest.mark.parametrize("removed", ["run", "runs", "all runs"])
def test_a_run_directory_that_was_removed_is_made_again(claimed: Claimed, removed: str) -> None:
    shutil.rmtree(claimed.run_dir if removed == "run" else claimed.runs)
    if removed == "all runs":
        claimed.runs.mkdir()
    assert not claimed.is_whole()
    assert claimed.restore()
    assert names(claimed.run_dir) == [directory.META, directory.WRAPPER]


@pytest.mark.parametrize("name", [directory.META, directory.WRAPPER])
def test_a_file_without_which_it_is_no_run_is_made_again(claimed: Claimed, name: str) -> None:
    os.unlink(f"{claimed.run_dir}/{name}")
    assert not claimed.is_whole()
    assert not claimed.restore()
    assert claimed.is_whole()
    assert names(claimed.run_dir) == [directory.META, directory.PROMPT, directory.WRAPPER]


@pytest.mark.parametrize("obstacle", ["file", "another folder", "link to itself", "link elsewhere"])
def test_what_lies_where_the_run_was_is_moved_aside_untouched(
    claimed: Claimed, tmp_path: Path, obstacle: str
) -> None:
    path = Path(claimed.run_dir)
    moved = path.rename(tmp_path / "moved")
    before = names(str(moved))
    if obstacle == "file":
        path.write_text("precious")
    elif obstacle == "another folder":
        path.mkdir()
        (path / "precious").write_text("precious")
    else:
        (tmp_path / "elsewhere").mkdir()
        path.symlink_to(moved if obstacle == "link to itself" else tmp_path / "elsewhere")
    assert not claimed.is_whole()
    assert claimed.restore()
    assert not path.is_symlink()
    assert names(claimed.run_dir) == [directory.META, directory.WRAPPER]
    assert names(str(moved)) == before
    (aside,) = [other for other in claimed.runs.iterdir() if other.name != RUN]
    assert aside.name.startswith(".")
    assert aside.is_symlink() or "precious" in (aside.read_text() if aside.is_file() else names(str(aside)))


def test_a_run_directory_that_cannot_be_made_again_is_an_error(claimed: Claimed) -> None:
    shutil.rmtree(claimed.runs)
    claimed.runs.write_text("a file")
    with pytest.raises(OSError, match="runs"):
        claimed.restore()
    assert claimed.runs.read_text() == "a file"


# --- the writing itself -----------------------------------------------------------------------------------


def test_writing_everything_goes_on_after_a_short_write() -> None:
    reading, writing = process.pipe()
    text = random.Random(2).randbytes(3_000_000)

    def write() -> int:
        os.close(reading)
        interruptions: list[int] = []
        signal.signal(signal.SIGALRM, lambda number, _frame: interruptions.append(number))
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)  # each of these can cut a write short
        places.write_all(writing, text)
        return len(interruptions)

    writer = Apart(write)
    os.close(writing)
    os.set_blocking(reading, True)
    pieces = []
    while piece := os.read(reading, 100):
        pieces.append(piece)
    os.close(reading)
    assert b"".join(pieces) == text
    assert writer.result() > 0
