"""Questions to programs: the answers, the limits of time and size, and that no process stays."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import PATH, alive, eventually
from tmuxagents.agents import ask
from tmuxagents.agents.ask import Question

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")

LONG_S = 30.0
LIST = b'{"type":"list"}\n'


def sh(script: str, *, limit_s: float = LONG_S, **more: Any) -> Question:
    return Question(["/bin/sh", "-c", script], {"PATH": PATH}, limit_s=limit_s, **more)


def one(question: Question) -> bytes | None:
    (answer,) = ask.ask([question])
    return answer


def ends_with(letters: bytes) -> Any:
    return lambda line: line.endswith(letters)


def recorded(path: Path) -> list[int]:
    """Return the processes that a script wrote down, once it has."""
    words = eventually(lambda: path.exists() and path.read_text().endswith("\n") and path.read_text().split())
    return [int(word) for word in words]


def all_gone(pids: list[int]) -> None:
    """Wait for those that were killed: the kernel takes a moment."""
    assert eventually(lambda: not any(map(alive, pids)))


# --- what they say ---


def test_what_a_program_prints_is_its_answer() -> None:
    assert one(sh("echo 1.2.3; echo more")) == b"1.2.3\nmore\n"
    assert one(sh("exit 3")) == b""
    assert one(sh("echo nothing of this >&2; printf word")) == b"word"


def test_a_request_is_answered_by_the_first_line_that_is_enough() -> None:
    script = 'echo starting; read line; echo "not yet"; echo "got $line end"; echo "late end"; sleep 60'
    began = time.monotonic()
    assert one(sh(script, request=LIST, enough=ends_with(b"end"))) == b'got {"type":"list"} end'
    assert time.monotonic() - began < LONG_S / 2


def test_a_line_counts_only_when_it_is_whole_however_it_arrives() -> None:
    script = "for part in one two three; do printf $part; sleep 0.05; done; echo; echo after; sleep 60"
    assert one(sh(script, enough=ends_with(b"three"))) == b"onetwothree"


def test_a_program_that_ends_without_a_line_that_is_enough_has_not_answered() -> None:
    assert one(sh("echo something", enough=ends_with(b"else"))) is None
    assert (
        one(sh("printf 'something else'", enough=ends_with(b"else"))) is None
    )  # torn: nobody knows the rest


def test_a_program_that_does_not_listen_does_not_stop_us() -> None:
    assert one(sh("exec <&-; echo fine", request=LIST * 10, enough=ends_with(b"fine"))) == b"fine"
    assert one(sh("exit 0", request=LIST, enough=ends_with(b"fine"))) is None


def test_without_a_request_a_program_has_nothing_to_wait_for() -> None:
    assert one(sh("cat; echo done")) == b"done\n"


@pytest.mark.parametrize(
    "argv", [["/nowhere/pi"], ["/etc/passwd"], ["/"], ["/bin/sh\0"], ["/bin/sh", "a\0b"]]
)
def test_what_cannot_be_started_does_not_answer(argv: list[str]) -> None:
    assert one(Question(argv, {}, limit_s=LONG_S)) is None


def test_several_are_asked_at_once() -> None:
    began = time.monotonic()
    answers = ask.ask([sh(f"sleep 2; echo {number}") for number in range(6)])
    assert answers == [b"%d\n" % number for number in range(6)]
    assert time.monotonic() - began < 11  # one after the other: 12
    assert ask.ask([sh("echo a"), sh("exec sleep 60", limit_s=0.2), Question(["/no"], {}, limit_s=1)]) == [
        b"a\n",
        None,
        None,
    ]


def test_where_somebody_stands_and_what_it_has_open_is_nothing_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    handle = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(handle, True)  # noqa: FBT003  (its only form)
    try:
        answer = one(sh("pwd; ls /proc/self/fd | tr '\\n' ' '; env"))
    finally:
        os.close(handle)
    where, handles, *environment = (answer or b"").decode().splitlines()
    assert where == "/"
    assert str(handle) not in handles.split()
    assert {line.partition("=")[0] for line in environment} <= {"PATH", "PWD", "SHLVL", "_", "OLDPWD"}


# --- bounds ---


def test_a_program_that_says_nothing_is_given_up() -> None:
    began = time.monotonic()
    assert one(sh("sleep 60", limit_s=0.3)) is None
    assert one(sh("sleep 60", limit_s=0.3, enough=ends_with(b"x"))) is None
    assert time.monotonic() - began < LONG_S


def test_a_program_that_says_too_much_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "MOST_BYTES", 1_000_000)
    assert one(sh("yes")) is None
    assert one(sh("yes no", enough=ends_with(b"x"))) is None
    assert one(sh("head -c 100000000 /dev/zero", enough=ends_with(b"x"))) is None


def test_a_large_answer_in_one_line_is_found_in_time() -> None:
    script = f'{sys.executable} -c \'print("x" * 8_000_000 + "end")\'; sleep 60'
    answer = one(sh(script, enough=ends_with(b"end")))
    assert answer is not None
    assert len(answer) == 8_000_003


def test_one_that_has_ended_has_said_all_though_others_hold_its_output(tmp_path: Path) -> None:
    record = tmp_path / "pids"
    assert one(sh(f"echo 1.2.3; setsid sleep 60 & echo $! > {record}", limit_s=1.0)) == b"1.2.3\n"
    (sleeper,) = recorded(record)
    os.kill(sleeper, signal.SIGKILL)  # of another session: ended by whoever knows its mark, not here


# --- none stays ---


@pytest.mark.parametrize(
    "script",
    [
        "sleep 61 & one=$!; sleep 62 & echo $$ $one $! > {record}; echo ready; wait",
        "trap '' TERM; sleep 61 & echo $$ $! > {record}; echo ready; while :; do sleep 1; done",
        "sleep 61 & echo $$ $! > {record}; echo ready; kill -STOP $$",
        "(trap '' TERM; sleep 63) & echo $$ $! > {record}; echo ready; exit",
    ],
)
def test_a_program_and_its_group_are_gone_after_the_answer(tmp_path: Path, script: str) -> None:
    record = tmp_path / "pids"
    answer = one(sh(script.format(record=record), enough=ends_with(b"ready")))
    assert answer == b"ready"
    pids = recorded(record)
    assert len(pids) >= 2
    all_gone(pids)


def test_a_program_that_was_given_up_is_gone_with_its_group(tmp_path: Path) -> None:
    record = tmp_path / "pids"
    script = f"trap '' TERM; sleep 61 & echo $$ $! > {record}; while :; do sleep 1; done"
    assert one(sh(script, limit_s=1.0)) is None
    all_gone(recorded(record))


def test_a_program_may_tidy_up_when_its_stdin_ends(tmp_path: Path) -> None:
    tidy = tmp_path / "tidy"
    script = f"echo ready; cat; echo yes > {tidy}"
    assert one(sh(script, enough=ends_with(b"ready"))) == b"ready"
    assert tidy.read_text() == "yes\n"


def test_a_program_may_tidy_up_when_it_is_asked_to_leave(tmp_path: Path) -> None:
    tidy = tmp_path / "tidy"
    script = f"trap 'echo yes > {tidy}; exit' TERM; echo ready; while :; do sleep 0.05; done"
    assert one(sh(script, enough=ends_with(b"ready"))) == b"ready"
    assert tidy.read_text() == "yes\n"


def test_an_error_while_they_are_asked_leaves_none(tmp_path: Path) -> None:
    record = tmp_path / "pids"

    def fails(_: bytes) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask.ask([sh(f"echo $$ > {record}; echo x; sleep 60", enough=fails), sh("sleep 60")])
    (pid,) = recorded(record)
    assert not os.path.exists(f"/proc/{pid}")  # not even as a zombie
