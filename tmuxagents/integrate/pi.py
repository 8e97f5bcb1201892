"""Make pi load our extension, and no longer: one file of ours where pi looks; nothing else is changed. Joins.

The file holds no code of the extension, only its path: an upgrade of tmuxagents leaves nothing stale behind.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys

from tmuxagents.integrate import disk, own_text
from tmuxagents.integrate.plan import FILE, Integration, Step
from tmuxagents.system import places, shipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME = "extensions/tmuxagents.ts"  # below pi's own folder, where it looks for extensions
_MARK = re.compile(rb"\n// tmuxagents ([0-9a-f]{8}), folders (\d)\n\Z")
_EXTENSION = re.compile(rb"^const extension = (.*);$", re.MULTILINE)
_TEXT = """\
// Written by `tmuxagents integrate pi`; `tmuxagents integrate pi --uninstall` removes it.
// The extension itself stays where tmuxagents is installed, so that an upgrade of that needs nothing here.
const extension = %(extension)s;
const options = %(options)s;

export default async function (pi) {
	let load;
	try {
		load = (await import(extension)).default;
	} catch (error) {
		// Without this pi would not start any more once tmuxagents has gone.
		const remedy = "Call `tmuxagents integrate pi` again, or remove " + %(path)s;
		const text = `tmuxagents is not loaded: ${error.message}. ${remedy}`;
		pi.on("session_start", (_event, ctx) => {
			if (ctx.hasUI) ctx.ui.notify(text, "warning");
			else console.error(text);
		});
		return;
	}
	await load(pi, options);
}
"""


def agent_dir(environment: Mapping[str, str], home: str) -> str:
    """Return the folder that pi itself reads."""
    named = environment.get("PI_CODING_AGENT_DIR") or ""
    if named == "~" or named.startswith("~/"):
        named = home + named[1:]
    return named.rstrip("/") if named.startswith("/") else f"{home}/.pi/agent"


class Loading:
    """What pi is to load, and how that starts our program."""

    __slots__ = ("command", "extension", "path", "tools")

    def __init__(self, path: str, *, extension: str, command: Sequence[str], tools: bool) -> None:
        self.path = path
        self.extension = extension
        self.command = command
        self.tools = tools

    def text(self) -> str:
        """Return the file's text, without its mark."""
        options = {"command": list(self.command), "tools": self.tools}
        said = {"extension": self.extension, "options": options, "path": self.path}
        return _TEXT % {key: json.dumps(value, ensure_ascii=False) for key, value in said.items()}


def put(before: bytes | None, loading: Loading, *, folders: int) -> own_text.Edited:
    """Return the file's new text; one of somebody else, or that was changed by hand, stays."""
    if before is not None:
        outcome = _outcome(before)
        if outcome != own_text.DONE:
            return own_text.Edited(outcome, before)
        folders = folders_of(before)
    body = loading.text().encode("utf-8", "surrogateescape")
    new = body + b"\n// tmuxagents %s, folders %d\n" % (_digest(body), folders)
    return own_text.Edited(own_text.NOTHING if new == before else own_text.DONE, new)


def take(before: bytes | None) -> own_text.Edited:
    """Return that the file goes, if it is ours."""
    if before is None:
        return own_text.Edited(own_text.NOTHING, None)
    outcome = _outcome(before)
    return own_text.Edited(outcome, None if outcome == own_text.DONE else before)


def folders_of(text: bytes | None) -> int:
    """Return how many folders were made for the file."""
    mark = _MARK.search(text or b"")
    return int(mark[2]) if mark else 0


def extension_of(text: bytes | None) -> str | None:
    """Return which extension a file of ours loads; None for one of somebody else."""
    named = _EXTENSION.search(text or b"")
    if named is None or _MARK.search(text or b"") is None:
        return None
    try:
        path = json.loads(named[1].decode("utf-8", "surrogateescape"))
    except ValueError:
        return None
    return path if isinstance(path, str) else None


def _outcome(text: bytes) -> str:
    mark = _MARK.search(text)
    if mark is None:
        return own_text.FOREIGN
    return own_text.DONE if mark[1] == _digest(text[: mark.start()]) else own_text.CHANGED


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:8].encode()


TARGET = "pi"
# -P: else a folder `tmuxagents` in the project where pi works would be taken for this program.
_COMMAND = ("-P", "-m", "tmuxagents")
_WHY = {
    own_text.CHANGED: "it was changed by hand; remove it by hand, too",
    own_text.FOREIGN: "tmuxagents did not write it",
}


def path_of(environment: Mapping[str, str]) -> str:
    """Return where the file lies that makes pi load our extension."""
    home = os.path.abspath(places.user_home(environment))
    return f"{agent_dir(environment, home)}/{NAME}"


def plan(environment: Mapping[str, str], *, uninstall: bool, with_tools: bool = True) -> Integration:
    """Look at everything, and say what is to be changed."""
    found = Integration(TARGET, uninstall=uninstall)
    path = path_of(environment)
    before = disk.read(path)
    if uninstall:
        edited = take(before)
    else:
        command, extension = (sys.executable, *_COMMAND), str(shipped.pi_extension())
        loading = Loading(path, extension=extension, command=command, tools=with_tools)
        folders = min(9, disk.missing(os.path.dirname(path)))
        edited = put(before, loading, folders=folders)
    step = Step(FILE, path)
    if edited.outcome == own_text.DONE:
        step.texts = (before, edited.text)
        step.change(None, *(None if text is None else text.decode("utf-8", "replace") for text in step.texts))
    elif edited.outcome in _WHY:
        step.leave(None, _WHY[edited.outcome])
    found.steps.append(step)
    return found


def carry_out(found: Integration) -> None:
    """Change what was planned."""
    for step in found.steps:
        if not step.changes:
            continue
        before, after = step.texts
        folder = os.path.dirname(step.path)
        if after is not None:
            disk.make(folder, private=True)
        disk.replace(step.path, before, after, private=True)
        made = folders_of(before) if after is None else 0
        if made:
            disk.remove(folder, made - 1)
