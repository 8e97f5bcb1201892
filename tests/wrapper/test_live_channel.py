"""The channel between a wrapper and its live child: the inbox, and the two FIFOs of the bridge."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.harness import REPOSITORY
from tmuxagents.runs import events, logs
from tmuxagents.runs.directory import LIVE_EVENTS, LIVE_ORDERS
from tmuxagents.runs.logs import Inbox
from tmuxagents.wrapper.live import Bridge

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")

APPEND = """import sys
from tmuxagents.runs import logs
for _ in range(50):
    logs.append_message(sys.argv[1], "steer", "x")"""


@pytest.fixture
def bridge(tmp_path: Path) -> Iterator[Bridge]:
    made = Bridge(str(tmp_path))
    yield made
    os.close(made.events)
    os.close(made._orders)


def waits(bridge: Bridge) -> bool:
    return bridge.waiting is not None


def test_a_message_is_read_once_and_to_the_letter(tmp_path: Path) -> None:
    text = 'é 🎉 "quotes" $(x) `y`\n\ttwo lines\x7f\u2028'
    box = Inbox(str(tmp_path))
    assert box.fresh() == []
    assert logs.append_message(str(tmp_path), events.STEER, text) == 1
    assert logs.append_message(str(tmp_path), events.STOP, None) == 2
    assert [(one.inbox_id, one.kind, one.text) for one in box.fresh()] == [
        (1, "steer", text),
        (2, "stop", None),
    ]
    assert box.fresh() == []
    assert stat.S_IMODE((tmp_path / logs.INBOX).stat().st_mode) == 0o600


def test_many_senders_get_numbers_of_their_own(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", APPEND, str(tmp_path)]
    senders = [subprocess.Popen(argv, cwd=REPOSITORY) for _ in range(4)]
    assert [sender.wait(60) for sender in senders] == [0] * 4
    assert sorted(one.inbox_id for one in Inbox(str(tmp_path)).fresh()) == list(range(1, 201))


def test_what_is_no_message_is_passed_over(tmp_path: Path) -> None:
    odd = [
        b"{",
        b"[]",
        b"5",
        b'{"inboxId":0,"kind":"steer","text":"a"}',
        b'{"inboxId":1,"kind":"x","text":"a"}',
    ]
    odd += [
        b'{"inboxId":true,"kind":"steer","text":"a"}',
        b'{"inboxId":2,"kind":"steer","text":null}',
        b"\xff\xfe",
    ]
    (tmp_path / logs.INBOX).write_bytes(b"\n".join(odd) + b"\n" + b'{"inboxId":7,"kind":"steer","te')
    box = Inbox(str(tmp_path))
    assert box.fresh() == []
    assert logs.append_message(str(tmp_path), events.FOLLOW_UP, "whole") == 1
    assert [one.text for one in box.fresh()] == ["whole"]


def test_a_file_that_was_begun_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    box = Inbox(str(tmp_path))
    logs.append_message(str(tmp_path), events.STEER, "a long one, before")
    assert len(box.fresh()) == 1
    (tmp_path / logs.INBOX).rename(tmp_path / "aside")
    assert box.fresh() == []
    logs.append_message(str(tmp_path), events.STEER, "b")
    assert [one.text for one in box.fresh()] == ["b"]


def test_who_keeps_the_lock_keeps_nobody_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs.append_message(str(tmp_path), events.STEER, "a")
    monkeypatch.setattr(logs, "_LOCK_LIMIT_S", 0.05)
    with (tmp_path / logs.INBOX).open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            logs.append_message(str(tmp_path), events.STEER, "b")
    assert logs.append_message(str(tmp_path), events.STEER, "c") == 2


def test_nobody_is_written_to_through_a_link(tmp_path: Path) -> None:
    (tmp_path / logs.INBOX).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        logs.append_message(str(tmp_path), events.STEER, "x")
    assert not (tmp_path / "elsewhere").exists()


def test_the_fifos_are_private_and_nobody_inherits_them(tmp_path: Path, bridge: Bridge) -> None:
    for name in (LIVE_EVENTS, LIVE_ORDERS):
        facts = (tmp_path / name).stat()
        assert (stat.S_ISFIFO(facts.st_mode), stat.S_IMODE(facts.st_mode)) == (True, 0o600)
    assert not os.get_inheritable(bridge.events)
    bridge.forget_names()
    bridge.forget_names()
    assert list(tmp_path.iterdir()) == []


def test_orders_never_block_and_arrive_whole_and_in_order(tmp_path: Path, bridge: Bridge) -> None:
    for number in range(3):
        bridge.order({"order": "say", "inboxId": number, "text": "é" * 300_000})
    assert waits(bridge)
    reader = os.open(tmp_path / LIVE_ORDERS, os.O_RDONLY | os.O_NONBLOCK)
    got = b""
    while got.count(b"\n") < 3:
        got += os.read(reader, 1 << 20)
        bridge.flush()
    os.close(reader)
    assert not waits(bridge)
    assert [json.loads(line)["inboxId"] for line in got.splitlines()] == [0, 1, 2]
