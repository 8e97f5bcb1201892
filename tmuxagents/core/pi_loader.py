"""The file that makes pi load our extension: where it lies, what it says, whether it is as we wrote it.

It holds no code of the extension, only where that is: an upgrade of tmuxagents leaves nothing stale behind.
"""

from __future__ import annotations

import hashlib
import json
import re

from tmuxagents.core import block, ownfile

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


def put(before: bytes | None, loading: Loading, *, folders: int) -> block.Edited:
    """Return the file's new text; one of somebody else, or that was changed by hand, stays."""
    if before is not None:
        outcome = _outcome(before)
        if outcome != block.DONE:
            return block.Edited(outcome, before)
        folders = folders_of(before)
    body = loading.text().encode("utf-8", "surrogateescape")
    new = body + b"\n// tmuxagents %s, folders %d\n" % (_digest(body), folders)
    return block.Edited(block.NOTHING if new == before else block.DONE, new)


def take(before: bytes | None) -> block.Edited:
    """Return that the file goes, if it is ours."""
    if before is None:
        return block.Edited(block.NOTHING, None)
    outcome = _outcome(before)
    return block.Edited(outcome, None if outcome == block.DONE else before)


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
        return ownfile.FOREIGN
    return block.DONE if mark[1] == _digest(text[: mark.start()]) else block.CHANGED


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:8].encode()
