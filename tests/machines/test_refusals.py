"""What OpenSSH 8 to 10 say when they fail, and the sentence for each."""

from __future__ import annotations

import pytest

from tmuxagents.machines import refusals

CHANGED = """@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
Someone could be eavesdropping on you right now (man-in-the-middle attack)!
Host key for box has changed and you have requested strict checking.
Host key verification failed.
"""
UNKNOWN = """No ED25519 host key is known for box and you have requested strict checking.
Host key verification failed.
"""


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (CHANGED, "host-key-changed", "The host key of box has changed"),
        (UNKNOWN, "host-key-unknown", "does not know the host key of box yet"),
        ("Host key verification failed.\r\n", "host-key-unknown", "does not know"),
        ("me@box: Permission denied (publickey,password).", "login-refused", "without a password"),
        ("Received disconnect from ::1: 2: Too many authentication failures", "login-refused", "password"),
        (
            "/x: line 1: Bad configuration option: foo\n/x: terminating, 1 bad options",
            "ssh-config",
            "configuration",
        ),
        (
            "ssh: Could not resolve hostname box: Name or service not known",
            "unreachable",
            "no machine has this name",
        ),
        ("ssh: connect to host box port 22: Connection refused", "unreachable", "nothing listens"),
        ("ssh: connect to host box port 22: Connection timed out", "unreachable", "does not answer"),
        ("Connection timed out during banner exchange", "unreachable", "does not answer"),
        ("ssh: connect to host box port 22: No route to host", "unreachable", "does not answer"),
        ("ssh: connect to host box port 22: Network is unreachable", "unreachable", "does not answer"),
        (
            "kex_exchange_identification: Connection closed by remote host",
            "unreachable",
            "closed by remote host.",
        ),
        ("", "unreachable", "the connection ended."),
        ("\x1b[31mred\x07\n", "unreachable", "red"),
    ],
)
def test_each_failure_has_one_sentence(said: str, kind: str, words: str) -> None:
    error = refusals.of_ssh(said, "box", "box")
    assert (error.kind, error.exit_code) == (kind, 3)
    assert isinstance(error, refusals.Unreachable) == (kind == "unreachable")
    assert words in error.message
    assert error.message.endswith(".")
    assert "\n" not in error.message + str(error.hint)
    assert "\x1b" not in error.message
    assert error.hint


def test_the_hint_names_what_ssh_is_called_with() -> None:
    error = refusals.of_ssh("Host key verification failed.", "box", "me@box.example.org")
    assert error.hint == "connect once and compare it: ssh me@box.example.org"
