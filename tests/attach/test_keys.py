"""The bytes of a terminal as names of keys."""

from __future__ import annotations

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
