"""The bytes of a terminal as names of keys."""

from __future__ import annotations

import os
import threading
import time

import pytest

from tmuxagents.attach import choose


@pytest.mark.parametrize(
    ("typed_", "names"),
    [
        (b"\x1b[A\x1b[B\x1bOA\x1bOB", ["up", "down", "up", "down"]),
        (b"\x1b[H\x1b[F\x1b[5~\x1b[6~\x1b[1~\x1b[4~", ["home", "end", "page-up", "page-down", "home", "end"]),
        (b"\r\n\x7f\x08", ["enter", "enter", "backspace", "backspace"]),
        ("aé/".encode(), ["a", "é", "/"]),
        (b"\x1b", ["escape"]),
        (b"\x1bq", ["escape", "q"]),
        (b"\x1b[200~x\x1b[201~\x1b[1;5Aq\x01\xff", ["x", "q"]),
        (b"\x1b[", []),
        (b"\x1bO", []),
        (b"", []),
    ],
)
def test_keys_are_known_by_what_a_terminal_sends(typed_: bytes, names: list[str]) -> None:
    assert [*choose.keys(typed_)] == names


@pytest.mark.parametrize(
    ("parts", "names"),
    [
        ([b"\x1b", b"[", b"B"], ["down"]),
        ([b"ab\x1b[6", b"~c"], ["a", "b", "page-down", "c"]),
        ([b"\x1b"], ["escape"]),
    ],
)
def test_a_key_that_comes_in_parts_is_one_key(
    parts: list[bytes], names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    waking = os.pipe()
    monkeypatch.setattr(choose, "_IN", reading)
    monkeypatch.setattr(choose, "_REST_S", 20.0)
    monkeypatch.setattr(terminal := choose.FullScreen(), "_wake", waking[0])
    os.write(writing, parts[0])

    def type_the_rest() -> None:
        for part in parts[1:]:
            time.sleep(0.05)
            os.write(writing, part)
        os.close(writing)

    typist = threading.Thread(target=type_the_rest)
    typist.start()
    typed_ = terminal.typed(20.0)
    typist.join()
    for handle in (reading, *waking):
        os.close(handle)
    assert typed_ is not None
    assert [*choose.keys(typed_)] == names
