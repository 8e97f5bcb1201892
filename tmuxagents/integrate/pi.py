"""Make pi load our extension, or stop loading it, by one file. Nothing else is changed. Joins.

The file names the path of the extension and has none of its code, so it stays right when tmuxagents is
upgraded.
"""

from __future__ import annotations

import json
import os
import re
import sys

from tmuxagents.integrate import disk, own_text
from tmuxagents.integrate.plan import Integration, file_step
from tmuxagents.system import places, shipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME = "extensions/tmuxagents.ts"  # below pi's own folder, where it looks for extensions
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
# Without -P, Python would take a folder `tmuxagents` in the project where pi works for this program.
_COMMAND = ("-P", "-m", "tmuxagents")


def text(path: str, *, extension: str, command: Sequence[str], tools: bool) -> str:
    """Return the text of the file at `path` without its mark; `command` starts this program."""
    options = {"command": list(command), "tools": tools}
    content = {"extension": extension, "options": options, "path": path}
    return _TEXT % {key: json.dumps(value, ensure_ascii=False) for key, value in content.items()}


def extension_of(content: bytes | None) -> str | None:
    """Return the path of the extension that our file loads; None if the file is not ours."""
    named = _EXTENSION.search(content or b"")
    if named is None or not own_text.is_marked(content):
        return None
    try:
        path = json.loads(named[1].decode("utf-8", "surrogateescape"))
    except ValueError:
        return None
    return path if isinstance(path, str) else None


def path_of(environment: Mapping[str, str]) -> str:
    """Return the path of the file that makes pi load our extension."""
    return f"{places.pi_dir(environment)}/{NAME}"


def plan(environment: Mapping[str, str], *, uninstall: bool, with_tools: bool = True) -> Integration:
    """Compare the file with the wanted text, and return the planned change."""
    found = Integration("pi", uninstall=uninstall)
    path = path_of(environment)
    before = disk.read(path)
    if uninstall:
        edited = own_text.take_file(before)
    else:
        command, extension = (sys.executable, *_COMMAND), str(shipped.pi_extension())
        content = text(path, extension=extension, command=command, tools=with_tools)
        folders = (min(9, disk.missing(os.path.dirname(path))),)
        edited = own_text.put_file(before, content, folders, own_text.SCRIPT)
    found.steps.append(file_step(path, before, edited))
    return found


def carry_out(found: Integration) -> None:
    """Make the planned changes."""
    for step in found.steps:
        if not step.changes:
            continue
        before, after = step.texts
        folder = os.path.dirname(step.path)
        if after is not None:
            disk.make(folder, private=True)
        disk.replace(step.path, before, after, private=True)
        made = own_text.folders_of(before) if after is None else ()
        if any(made):
            disk.remove(folder, made[0] - 1)
