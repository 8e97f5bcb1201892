"""What a hostile child does to the files of its run, and to those of others: all that its user may do.

Done from outside, as any process of the user could.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness import eventually
from tests.torture.siege import LIMITED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.torture.siege import Place


def stretches(place: Place, *, ended: bool) -> None:
    """Make each file of a run 1 TB long."""
    gate = place.folder / "gate of the attacked"
    run_id = place.working("attacked", gate)
    if ended:
        gate.touch()
        place.desk.result(run_id)
    for path in (place.runs / run_id).iterdir():
        if path.is_file() and not path.is_symlink():
            os.truncate(path, 1 << 40)
    _look_at_all(place, run_id, "1 TB")
    gate.touch()
    _look_at_all(place, run_id, "1 TB, at its end")


def _look_at_all(place: Place, run_id: str, after: str) -> None:
    for words in ("poll", "output", "transcript", "wait --timeout 1"):
        place.look(*words.split(), run_id)
    for words in ("statusline", "prune --dry-run"):
        place.must(place.look(*words.split()).code == 0, f"{after}: {words} fails")
    place.bystander_is("running", after)


def _a_socket(path: Path) -> None:
    with suppress(OSError), socket.socket(socket.AF_UNIX) as made:  # a long name may not fit
        made.bind(str(path))


TEXTS = {
    "empty": b"",
    "null": b"null",
    "a list": b"[]",
    "nested": b"[" * 200_000,
    "a figure of many digits": b'{"v":1,"pid":' + b"9" * 200_000 + b"}",
    "no figure": b'{"v":1,"pid":1e999,"startTime":NaN,"createdAt":-1e308,"endedAt":"x"}',
    "escapes": b'{"v":1,"task":"\\u001b]52;c;eA==\\u0007","status":"\\u001b[2J"}',
    "bytes": bytes(range(256)) * 100,
}
# What there is in place of a file -> how it is made.
KINDS: dict[str, Callable[[Path], object]] = {
    **{name: partial(Path.write_bytes, data=text) for name, text in TEXTS.items()},
    "80 MB": lambda path: path.write_bytes(b'{"v":1,"task":"' + b"x" * (80 << 20) + b'"}'),
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a socket": _a_socket,
}
FORGED = (
    "meta.json",
    "wrapper.json",
    "result.json",
    "events.jsonl",
    "transcript.log",
    "output.md",
    "prompt.txt",
)


def forges(place: Place) -> None:
    """Put every kind of wrong file where files of a run belong, also behind a plan that is right."""
    right = (place.runs / place.bystander / "meta.json").read_text()
    for number, (name, make) in enumerate(KINDS.items()):
        for planned in (False, True):
            run_id = f"fade{number:011x}{int(planned)}"
            staged, folder = place.folder / run_id, place.runs / run_id
            staged.mkdir(mode=0o700)
            for file in FORGED[planned:]:
                make(staged / file)
            if planned:
                (staged / "meta.json").write_text(right.replace(place.bystander, run_id))
            staged.rename(folder)  # whole: half of the 80 MB would still be read
            place.bystander_is("running", name)
            place.look("output", run_id)  # a pipe gets the answer as it is, once the run counts as ended
            shown = place.look("poll", run_id).out + place.look("transcript", run_id).out
            place.must("\x1b" not in shown, f"{name}: {shown[:80]!r} is shown")
            shutil.rmtree(folder, ignore_errors=True)


def forges_start(place: Place) -> None:
    """Name a process of somebody else as the child, and leave the rest to who finds the run lost."""
    run_id = place.working("attacked", place.folder / "never")
    innocent = subprocess.Popen(["sleep", "300"], start_new_session=True)
    place.stack.callback(innocent.wait)
    place.stack.callback(innocent.kill)
    started = int(Path(f"/proc/{innocent.pid}/stat").read_text().rpartition(")")[2].split()[19])
    log = place.runs / run_id / "events.jsonl"
    events = [json.loads(line) for line in log.read_text().splitlines()]
    for event in events:
        if event["type"] == "run_started":
            event |= {"pid": innocent.pid, "pidStartTime": started}
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    os.kill(place.read(run_id, "wrapper.json")["pid"], signal.SIGKILL)
    place.desk("poll", "-A")
    place.desk.result(run_id)
    place.must(innocent.poll() is None, "a process that is none of the run's was ended")


def forges_wrapper(place: Place) -> None:
    """Name the wrapper of another run as one's own, and have the run stopped."""
    run_id = place.working("attacked", place.folder / "never")
    wrapper = place.read(run_id, "wrapper.json")
    own = (wrapper["pid"], wrapper["startTime"])
    other = place.read(place.bystander, "wrapper.json")
    forged = wrapper | {"pid": other["pid"], "startTime": other["startTime"]}
    (place.runs / run_id / "wrapper.json").write_text(json.dumps(forged))
    place.look("stop", run_id)
    place.bystander_is("running", "stop of the attacked")
    with suppress(ProcessLookupError):
        os.kill(own[0], signal.SIGTERM)
    place.must(os.path.exists(f"/proc/{other['pid']}"), "the other run was stopped")


def blocks_slots(place: Place) -> None:
    """Put folders where the files of the queue belong."""
    for slots in place.home.state.glob("hosts/*/**/slots"):
        for number in range(4):
            (slots / str(number)).unlink(missing_ok=True)
            (slots / str(number) / "inside").mkdir(parents=True)
    done = place.look("launch", "done fine", prefix=LIMITED)
    place.must(done.code in (0, 3), f"launch ends with {done.code}: {done.err}")
    if done.code == 0:
        ending = place.desk.result(done.out.strip())
        place.must(
            ending["status"] == "completed", f"a run ends {ending['reason']}: {ending['errorMessage']}"
        )


def swaps(place: Place) -> None:
    """Put links in the place of run directories, to another run and to a folder outside."""
    precious, gate = place.folder / "precious", place.folder / "gate of the attacked"
    precious.mkdir()
    for number, target in enumerate((precious, place.runs / place.bystander)):
        run_id = place.working(f"attacked-{number}", gate)
        wrapper = place.read(run_id, "wrapper.json")["pid"]
        before = sorted(os.listdir(target))
        (place.runs / run_id).rename(place.folder / f"away-{number}")
        (place.runs / run_id).symlink_to(target)
        place.bystander_is("running", "swapped")
        gate.touch()
        eventually(lambda: not os.path.exists(f"/proc/{wrapper}"), 60)  # noqa: B023  (asked here only)
        place.must(sorted(os.listdir(target)) == before, "it was written through the link")
        gate.unlink()
