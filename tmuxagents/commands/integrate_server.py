"""What is ours on a tmux server that runs: our text, marks and keys, put there and taken away to the byte."""

from __future__ import annotations

from tmuxagents.core import keytable, statusright, windowmarks
from tmuxagents.core.integration import SERVER, Integration, Step
from tmuxagents.edges import tmux
from tmuxagents.edges.tmux import status
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.core.infront import InFront

_PREFIX = "prefix"
# What the watcher tells a server, and we.
_DECLARED = (*(f"@tmuxagents_{name}" for name in status.NAMES), windowmarks.MARK)


class Server:
    """A server as it is, and what is to be changed of it."""

    def __init__(self, server: tmux.Tmux) -> None:
        self._server = server
        self._options = server.options
        self._step = Step(SERVER, server.socket)

    def on(self, key: str | None, program: str) -> Step:
        """Plan to put our text and marks in front of what is there, to make room, and to bind keys."""
        self._show_status()
        self._show_marks()
        if key is not None:
            self._bind(key, program)
        return self._step

    def off(self) -> Step:
        """Plan to give back what was there before, and to take away all that is ours."""
        self._take_out(statusright.VALUE, statusright.OURS)
        self._give_length_back()
        for name in windowmarks.VALUES:
            self._take_out(name, windowmarks.OURS)
        for name in (*_DECLARED, keytable.NOTE):
            if (value := self._options.read(name)) is not None:
                self._step.change(name, value, None)
        return self._step

    def _show_status(self) -> None:
        step, options = self._step, self._options
        value = options.read(statusright.VALUE) or ""
        limit = options.read(statusright.LENGTH) or "0"
        note = options.read(statusright.MEMORY)
        is_in = statusright.OURS.is_in(value)
        if note is not None or not is_in:  # else the person put it there, and knows how long it is
            width = None if is_in or statusright.has_job(value) else options.width(statusright.VALUE)
            after = statusright.length_for(int(limit), width=width, note=note)
            if after is not None:
                step.change(statusright.MEMORY, note, statusright.remembered(int(limit), after))
                step.change(statusright.LENGTH, limit, str(after))
        if not is_in:
            step.change(statusright.VALUE, value, statusright.OURS.joined(value))

    def _show_marks(self) -> None:
        mark = self._options.read(windowmarks.MARK)
        if mark != windowmarks.FORMAT:
            self._step.change(windowmarks.MARK, mark, windowmarks.FORMAT)
        for name in windowmarks.VALUES:
            value = self._options.read(name) or ""
            if not windowmarks.OURS.is_in(value):
                self._step.change(name, value, windowmarks.OURS.joined(value))

    def _bind(self, key: str, program: str) -> None:
        lines = keytable.lines(key, program)
        before = self._options.read(keytable.NOTE)
        if before == keytable.note(lines):
            return
        bound = self._server.keys.binding(_PREFIX, key)
        if bound is not None and not keytable.leads_here(bound):
            message = f"The key {key} behind your prefix does something already."
            raise BadRequest(message, kind="usage", hint="give another one: --keys KEY", field="keys")
        self._step.lines = lines
        self._step.change(keytable.NOTE, before, keytable.note(lines))

    def _take_out(self, name: str, ours: InFront) -> None:
        value = self._options.read(name) or ""
        if not ours.is_in(value):
            return
        before = ours.parted(value)
        if before is None:
            self._step.leave(name, "our text is not where it was put; take it out by hand")
        else:
            self._step.change(name, value, before)

    def _give_length_back(self) -> None:
        note = self._options.read(statusright.MEMORY)
        if note is None:
            return
        now = self._options.read(statusright.LENGTH) or ""
        before = statusright.recalled(note, now=now)
        if before is not None:
            self._step.change(statusright.LENGTH, now, before)
        else:
            self._step.leave(statusright.LENGTH, "it was changed since it was raised")
        self._step.change(statusright.MEMORY, note, None)


def change(step: Step, found: Integration) -> None:
    """Change a server as it was planned, but nothing that somebody has changed since."""
    server = tmux.Tmux(step.path)
    for one in list(step.changes):
        name = str(one.name)
        if server.options.read(name) != one.before:
            step.changes.remove(one)
            step.leave(name, "somebody has just changed it")
            continue
        if name == keytable.NOTE:
            _unbind(server, one.before)
            server.keys.bind(step.lines)
        server.options.write(name, one.after)
    if found.uninstall:
        server.status.withdraw()  # the hidden variables behind our formats


def _unbind(server: tmux.Tmux, note: str | None) -> None:
    """Take away the keys that a note tells of."""
    if note is None:
        return
    key = note.partition(" ")[0]
    if keytable.KEY.fullmatch(key) and keytable.leads_here(server.keys.binding(_PREFIX, key) or ""):
        server.keys.unbind(_PREFIX, key)
    server.keys.drop(keytable.TABLE)
