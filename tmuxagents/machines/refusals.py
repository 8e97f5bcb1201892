"""What the OpenSSH client says when it fails, as one sentence and a hint. Pure."""

from __future__ import annotations

import re

from tmuxagents.errors import Unusable
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_SHOWN = 200


class Unreachable(Unusable):
    """The machine did not answer, or the connection to it broke: nothing is known of what is there."""

    asked = True  # whether what was asked of it may have got there


def refusal(err: str, name: str, destination: str | None = None) -> Unusable:
    """Return what ssh's stderr means for the host of this name."""
    to = destination or name
    for pattern, meaning in _MEANINGS:
        if re.search(pattern, err, re.IGNORECASE):
            return meaning(name, to)
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    said = f": {safe.cut(safe.line(lines[-1]).rstrip('.'), _SHOWN)}" if lines else ""
    return _unreachable(name, f"the connection ended{said}", f"try: ssh {to} true")


def _unreachable(name: str, why: str, hint: str) -> Unreachable:
    return Unreachable(f"{name} is unreachable: {why}.", kind="unreachable", hint=hint)


def _changed_key(name: str, to: str) -> Unusable:
    message = f"The host key of {name} has changed, so ssh does not connect."
    hint = f"if you know why, remove the old key with ssh-keygen -R, then try: ssh {to} true"
    return Unusable(message, kind="host-key-changed", hint=hint)


def _unknown_key(name: str, to: str) -> Unusable:
    message = f"ssh does not know the host key of {name} yet."
    return Unusable(message, kind="host-key-unknown", hint=f"connect once and compare it: ssh {to}")


def _login(name: str, to: str) -> Unusable:
    message = f"{name} does not let you in without a password or another question."
    hint = f"make a login by key work first: ssh -o BatchMode=yes {to} true"
    return Unusable(message, kind="login-refused", hint=hint)


def _configuration(name: str, to: str) -> Unusable:
    message = f"ssh cannot read its configuration for {name}."
    return Unusable(message, kind="ssh-config", hint=f"see what it says: ssh {to} true")


def _because(why: str, hint: str) -> Callable[[str, str], Unusable]:
    return lambda name, to: _unreachable(name, why, hint.format(to=to))


# The first that is found decides: some messages contain others.
_MEANINGS: tuple[tuple[str, Callable[[str, str], Unusable]], ...] = (
    (r"REMOTE HOST IDENTIFICATION HAS CHANGED|REVOKED HOST KEY", _changed_key),
    (r"Host key verification failed|No \S+ host key is known", _unknown_key),
    (r"Permission denied|Too many authentication failures|no more authentication methods", _login),
    (
        r"Bad configuration option|terminating, \d+ bad|Bad owner or permissions|Can't open user config",
        _configuration,
    ),
    (
        r"Could not resolve hostname",
        _because("no machine has this name", "is it in ~/.ssh/config? try: ssh {to} true"),
    ),
    (r"Connection refused", _because("nothing listens at its ssh port", "does its sshd run?")),
    (
        r"timed out|Timeout, server|No route to host|Network is (?:unreachable|down)|Host is down",
        _because("it does not answer", "is it running, and are you in its network? try: ssh {to} true"),
    ),
)
