"""Put our text, marks and keys into a person's tmux, and take them out again: running servers, configuration.

Everything is read before anything is changed. The person's own text is not changed, and is the same to the
byte once ours is taken out.

Joins.
"""

from __future__ import annotations

import os

from tmuxagents import tmux
from tmuxagents.errors import BadRequest, Unusable
from tmuxagents.integrate import disk, own_text, tmux_texts
from tmuxagents.integrate.plan import FILE, SERVER, Integration, Step, file_step
from tmuxagents.system import places
from tmuxagents.tmux import place, style

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tmuxagents.integrate.own_text import InFront
    from tmuxagents.settings.keys import Settings


class WantedTmux:
    """The options of an integration. `key` leads to our table; None keeps the present key, if any."""

    __slots__ = ("key", "program", "uninstall")

    def __init__(
        self, *, uninstall: bool = False, key: str | None = None, program: str = "tmuxagents"
    ) -> None:
        self.uninstall = uninstall
        self.key = key
        self.program = program

    def lines(self, theirs: Sequence[str]) -> list[str]:
        """Return our lines for the configuration, without the parts that the person's own lines have."""
        status = () if any(map(tmux_texts.STATUS.is_in, theirs)) else tmux_texts.STATUS_LINES
        marks = () if any(map(tmux_texts.WINDOW.is_in, theirs)) else tmux_texts.WINDOW_LINES
        return [*status, *marks, *(tmux_texts.lines(self.key, self.program) if self.key else ())]


def plan(
    environment: Mapping[str, str], settings: Settings, wanted: WantedTmux, *, socket: str | None
) -> Integration:
    """Read everything, and return the planned changes."""
    uninstall = wanted.uninstall
    if wanted.key is not None and not tmux_texts.KEY.fullmatch(wanted.key):
        hint = "a letter or digit, also with M- in front, or C- and a lowercase letter except i and m"
        raise BadRequest(f"{wanted.key!r} is not a key for --keys.", kind="usage", hint=hint, field="keys")
    found = Integration("tmux", uninstall=uninstall)
    found.steps += _files(environment, wanted)
    sockets, sure = _sockets(environment, settings, socket, uninstall=uninstall)
    for path in sockets:
        if tmux.listening(path) is None:
            continue
        try:
            server = TmuxServer(tmux.Tmux(path))
            step = server.off() if uninstall else server.on(wanted.key, wanted.program)
        except tmux.NoServer:
            continue
        except Unusable as error:
            if sure:
                raise
            found.warnings.append(f"the tmux server at {path} is left as it is: {error.message}")
            continue
        found.steps.append(step)
    return found


def carry_out(found: Integration) -> None:
    """Make the planned changes. The file comes first, because it may be refused."""
    for step in found.steps:
        if not step.changes:
            continue
        if step.where == FILE:
            disk.replace(step.path, *step.texts)
        else:
            change(step, found)


def furnish(server: tmux.Tmux, program: str) -> None:
    """Give marks and keys to a tmux server of our own. `program`: our command, as the keys call it."""
    change(TmuxServer(server).furnish(program), Integration("tmux", uninstall=False))


# --- which servers, which files ---------------------------------------------------------------------------


def _sockets(
    environment: Mapping[str, str], settings: Settings, socket: str | None, *, uninstall: bool
) -> tuple[list[str], bool]:
    """Return the sockets of the servers to change, and whether the choice is certain."""
    chosen, inside = tmux.choose_place(environment, flag=socket, setting=settings.tmux_socket)
    if chosen.source in (place.FLAG, place.ENVIRONMENT, place.SETTING):
        return [chosen.socket], True
    around = inside.server.socket if inside and inside.lives else None
    folder = tmux.socket_folder(environment)
    usual = [f"{folder}/default", f"{folder}/{place.OWN}"]  # a plain `tmux` uses the first
    if around is None:
        return usual, False
    return ([around, *(path for path in usual if path != around)] if uninstall else [around]), not uninstall


def _files(environment: Mapping[str, str], wanted: WantedTmux) -> Iterator[Step]:
    # tmux reads all of these that exist, in this order.
    home = places.user_home(environment)
    folders = dict.fromkeys(filter(None, (environment.get("XDG_CONFIG_HOME"), f"{home}/.config")))
    paths = [f"{home}/.tmux.conf", *(f"{folder}/tmux/tmux.conf" for folder in folders)]
    distinct = {os.path.realpath(path): path for path in paths}.values()  # of links, the later path
    texts = {path: text for path in distinct if (text := disk.read(path)) is not None}
    # The last file decides, also about status-right.
    target = None if wanted.uninstall else next(reversed(texts), paths[0])
    if target is not None and wanted.key is None:
        keys = (tmux_texts.key_of(text.decode("utf-8", "replace")) for text in texts.values())
        wanted.key = next(filter(None, keys), None)
    for path, text in texts.items():
        if path != target:
            yield file_step(path, text, own_text.take_block(text))
    if target is None:
        return
    text, theirs = texts.get(target), []
    for one in texts.values():
        bare = (own_text.take_block(one).text or b"").decode("utf-8", "replace")
        theirs += [line for line in bare.splitlines() if not line.lstrip().startswith("#")]
    lines = wanted.lines(theirs)
    step = file_step(target, text, own_text.put_block(text, lines) if lines else own_text.take_block(text))
    if not lines and not step.left:
        step.leave(None, "it has our text already")
    yield step


# --- one server -------------------------------------------------------------------------------------------

_PREFIX = "prefix"
# The options of our own that the watcher and this module set on a server.
_DECLARED = (*(f"@tmuxagents_{name}" for name in style.STATUS_NAMES), tmux_texts.MARK, tmux_texts.CLOSES)


class TmuxServer:
    """A running server, and the changes that are planned on it."""

    def __init__(self, server: tmux.Tmux) -> None:
        self._server = server
        self._options = server.options
        self._step = Step(SERVER, server.socket)

    def on(self, key: str | None, program: str) -> Step:
        """Plan to put our text and marks in front of the present values, to make room, and to bind keys."""
        step, options = self._step, self._options
        value = options.read(tmux_texts.VALUE) or ""
        limit = options.read(tmux_texts.LENGTH) or "0"
        note = options.read(tmux_texts.MEMORY)
        is_in = tmux_texts.STATUS.is_in(value)
        if note is not None or not is_in:  # else the person put our text there, and chose the length
            width = None if is_in or tmux_texts.has_job(value) else options.width(tmux_texts.VALUE)
            after = tmux_texts.length_for(int(limit), width=width, note=note)
            if after is not None:
                step.change(tmux_texts.MEMORY, note, tmux_texts.remembered(int(limit), after))
                step.change(tmux_texts.LENGTH, limit, str(after))
        if not is_in:
            step.change(tmux_texts.VALUE, value, tmux_texts.STATUS.joined(value))
        self._show_marks()
        if key is not None:
            self._bind(key, program)
        return self._step

    def furnish(self, program: str) -> Step:
        """Plan marks and keys for a server of our own. Keys that a person's configuration binds stay."""
        self._show_marks()
        bound = self._server.keys.binding
        if self._options.read(tmux_texts.NOTE) is None and bound(_PREFIX, tmux_texts.DEFAULT) is None:
            self._bind(tmux_texts.DEFAULT, program)
        if bound("root", tmux_texts.OWN_CLOSE_KEY) is None:
            before = self._options.read(tmux_texts.CLOSES)
            self._step.change(tmux_texts.CLOSES, before, tmux_texts.OWN_CLOSE_KEY)
            self._step.lines = [line for line in self._step.lines if tmux_texts.CLOSES not in line]
        return self._step

    def _show_marks(self) -> None:
        mark = self._options.read(tmux_texts.MARK)
        if mark != tmux_texts.FORMAT:
            self._step.change(tmux_texts.MARK, mark, tmux_texts.FORMAT)
        for name in tmux_texts.VALUES:
            value = self._options.read(name) or ""
            if not tmux_texts.WINDOW.is_in(value):
                self._step.change(name, value, tmux_texts.WINDOW.joined(value))

    def off(self) -> Step:
        """Plan to restore the former values, and to remove everything that is ours."""
        self._take_out(tmux_texts.VALUE, tmux_texts.STATUS)
        note = self._options.read(tmux_texts.MEMORY)
        if note is not None:
            now = self._options.read(tmux_texts.LENGTH) or ""
            before = tmux_texts.recalled(note, now=now)
            if before is not None:
                self._step.change(tmux_texts.LENGTH, now, before)
            else:
                self._step.leave(tmux_texts.LENGTH, "it was changed since it was raised")
            self._step.change(tmux_texts.MEMORY, note, None)
        for name in tmux_texts.VALUES:
            self._take_out(name, tmux_texts.WINDOW)
        for name in (*_DECLARED, tmux_texts.NOTE):
            if (value := self._options.read(name)) is not None:
                self._step.change(name, value, None)
        return self._step

    def _bind(self, key: str, program: str) -> None:
        lines = tmux_texts.lines(key, program)
        before = self._options.read(tmux_texts.NOTE)
        if before == tmux_texts.note(lines):
            return
        bound = self._server.keys.binding(_PREFIX, key)
        if bound is not None and not tmux_texts.leads_here(bound):
            message = f"The key {key} behind your prefix already does something."
            raise BadRequest(message, kind="usage", hint="give another one: --keys KEY", field="keys")
        self._step.lines = lines
        self._step.change(tmux_texts.NOTE, before, tmux_texts.note(lines))

    def _take_out(self, name: str, ours: InFront) -> None:
        value = self._options.read(name) or ""
        if not ours.is_in(value):
            return
        before = ours.parted(value)
        if before is None:
            self._step.leave(name, "our text is not where it was put; take it out by hand")
        else:
            self._step.change(name, value, before)


def change(step: Step, found: Integration) -> None:
    """Change a server as planned, except options that were changed meanwhile."""
    server = tmux.Tmux(step.path)
    for one in list(step.changes):
        name = str(one.name)
        if server.options.read(name) != one.before:
            step.changes.remove(one)
            step.leave(name, "it has just been changed")
            continue
        if name == tmux_texts.NOTE:
            _unbind(server, one.before)
            server.keys.bind(step.lines)
        if name == tmux_texts.CLOSES and tmux_texts.OWN_CLOSE_KEY in (one.before, one.after):
            server.keys.unbind("root", tmux_texts.OWN_CLOSE_KEY)
            server.keys.bind(tmux_texts.OWN_LINES if one.after else ())
        server.options.write(name, one.after)
    if found.uninstall:
        server.status.withdraw()  # the hidden variables behind our formats


def _unbind(server: tmux.Tmux, note: str | None) -> None:
    """Remove the keys that a note names."""
    if note is None:
        return
    key = note.partition(" ")[0]
    if tmux_texts.KEY.fullmatch(key) and tmux_texts.leads_here(server.keys.binding(_PREFIX, key) or ""):
        server.keys.unbind(_PREFIX, key)
    server.keys.drop(tmux_texts.TABLE)
