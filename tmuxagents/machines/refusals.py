"""Our own errors for the refusals of another machine, and of ssh on the way to it. Pure."""

from __future__ import annotations

import re

from tmuxagents.errors import (
    BadConfig,
    BadRequest,
    Fault,
    NoSuchRun,
    NotPossible,
    TmuxAgentsError,
    Unusable,
)
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_SHOWN = 200
_KINDS = {"unknown-run": NoSuchRun, "ambiguous-run": NoSuchRun, "bad-profile": BadConfig}
_CODES = {one.exit_code: one for one in (BadRequest, Unusable, NotPossible)}
_UNREACHABLE = "unreachable"
# A pattern for the words of ssh, then the kind, message and hint of our error. The first match decides, since
# some messages contain others.
_MEANINGS = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED|REVOKED HOST KEY",
        "host-key-changed",
        "The host key of {name} has changed, so ssh does not connect.",
        "if you know why, remove the old key with ssh-keygen -R, then try: ssh {to} true",
    ),
    (
        r"Host key verification failed|No \S+ host key is known",
        "host-key-unknown",
        "ssh does not know the host key of {name} yet.",
        "connect once and compare it: ssh {to}",
    ),
    (
        r"Permission denied|Too many authentication failures|no more authentication methods",
        "login-refused",
        "{name} does not let you in without a password or another question.",
        "make a login by key work first: ssh -o BatchMode=yes {to} true",
    ),
    (
        r"Bad configuration option|terminating, \d+ bad|Bad owner or permissions|Can't open user config",
        "ssh-config",
        "ssh cannot read its configuration for {name}.",
        "see what it says: ssh {to} true",
    ),
    (
        r"Could not resolve hostname",
        _UNREACHABLE,
        "{name} is unreachable: no machine has this name.",
        "is it in ~/.ssh/config? try: ssh {to} true",
    ),
    (
        r"Connection refused",
        _UNREACHABLE,
        "{name} is unreachable: nothing listens at its ssh port.",
        "does its sshd run?",
    ),
    (
        r"timed out|Timeout, server|No route to host|Network is (?:unreachable|down)|Host is down",
        _UNREACHABLE,
        "{name} is unreachable: it does not answer.",
        "is it running, and are you in its network? try: ssh {to} true",
    ),
)


def not_installed(name: str, program: str) -> Unusable:
    """Return the error that a host has lost its tmuxagents."""
    message = f"{name} has no tmuxagents at {program} any more."
    return Unusable(message, kind="far-missing", hint=f"tmuxagents hosts add {name}")


class Unreachable(Unusable):
    """The machine did not answer, or the connection to it broke: nothing is known of its runs."""

    asked = True  # whether the request may have got there


def of_ssh(err: str, name: str, destination: str) -> Unusable:
    """Return the error that ssh's stderr means for the host of this name."""
    for pattern, kind, message, hint in _MEANINGS:
        if re.search(pattern, err, re.IGNORECASE):
            made = Unreachable if kind == _UNREACHABLE else Unusable
            return made(message.format(name=name), kind=kind, hint=hint.format(to=destination))
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    reason = f": {safe.cut(safe.line(lines[-1]).rstrip('.'), _SHOWN)}" if lines else ""
    message = f"{name} is unreachable: the connection ended{reason}."
    return Unreachable(message, kind=_UNREACHABLE, hint=f"try: ssh {destination} true")


def of_document(document: Mapping[str, Any], host: str) -> TmuxAgentsError:
    """Return the error that a far tmuxagents has printed, with the name of its host."""
    body = document.get("error")
    body = body if isinstance(body, dict) else {}
    code, kind = body.get("exit"), str(body.get("kind") or "internal")
    made = _KINDS.get(kind) or _CODES.get(code if isinstance(code, int) else 0, Unusable)
    faults = [
        Fault(str(one.get("kind")), str(one.get("message")), field=_text(one.get("field")))
        for one in many(body.get("faults"))
        if isinstance(one, dict)
    ]
    return made(
        f"{host}: {body.get('message') or 'It gave no reason.'}",
        kind=kind,
        hint=_text(body.get("hint")),
        faults=faults,
        candidates=[str(one) for one in many(body.get("candidates"))],
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def many(value: Any) -> list[Any]:
    """Return a list in an answer; nothing for a value of another kind."""
    return value if isinstance(value, list) else []
