"""Put our text, marks and keys into a person's tmux, and take them out again: running servers, configuration.

First everything is looked at, then it is changed; nothing of the person's is changed besides.
"""

from __future__ import annotations

import os

from tmuxagents.commands import integrate_server
from tmuxagents.core import block, keytable, place, statusright, windowmarks
from tmuxagents.core.integration import FILE, Integration, Step
from tmuxagents.edges import dotfile, tmux
from tmuxagents.errors import BadRequest, Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tmuxagents.core.settings import Settings

_TMUXS_OWN = "default"  # the name of the server that a plain `tmux` uses
_WHY = {
    block.CHANGED: "the lines between the marks of tmuxagents were changed by hand; remove them by hand, too",
    block.BROKEN: "the marks of tmuxagents in it are not whole; remove what is left of them by hand",
}


class Wanted:
    """What somebody wants of an integration: to take it out again, or also keys, and for which program."""

    __slots__ = ("key", "program", "uninstall")

    def __init__(
        self, *, uninstall: bool = False, key: str | None = None, program: str = "tmuxagents"
    ) -> None:
        self.uninstall = uninstall
        self.key = key  # the one that leads to our table; None: the one that does so already, if any
        self.program = program

    def lines(self, theirs: Sequence[str]) -> list[str]:
        """Return the lines of the configuration, without what a person has put into lines of their own."""
        status = () if any(map(statusright.OURS.is_in, theirs)) else statusright.LINES
        marks = () if any(map(windowmarks.OURS.is_in, theirs)) else windowmarks.LINES
        return [*status, *marks, *(keytable.lines(self.key, self.program) if self.key else ())]


def plan(
    environment: Mapping[str, str], settings: Settings, wanted: Wanted, *, socket: str | None
) -> Integration:
    """Look at everything, and say what is to be changed."""
    uninstall = wanted.uninstall
    if wanted.key is not None and not keytable.KEY.fullmatch(wanted.key):
        hint = "a letter or digit, also with M- in front, or C- and a small letter but i and m"
        raise BadRequest(f"{wanted.key!r} is no key for --keys.", kind="usage", hint=hint, field="keys")
    found = Integration("tmux", uninstall=uninstall)
    found.steps += _files(environment, wanted)
    sockets, sure = _sockets(environment, settings, socket, uninstall=uninstall)
    for path in sockets:
        if tmux.listening(path) is None:
            continue
        try:
            server = integrate_server.Server(tmux.Tmux(path))
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
    """Change what was planned. The file comes first: it is the one that may be refused."""
    for step in found.steps:
        if not step.changes:
            continue
        if step.where == FILE:
            dotfile.replace(step.path, *step.texts)
        else:
            integrate_server.change(step, found)


# --- which ones -------------------------------------------------------------------------------------------


def _sockets(
    environment: Mapping[str, str], settings: Settings, socket: str | None, *, uninstall: bool
) -> tuple[list[str], bool]:
    """Return the servers that are meant, and whether it is certain that they are."""
    folder = tmux.socket_folder(environment)
    inside = tmux.caller(environment)
    wanted = {
        place.FLAG: socket,
        place.ENVIRONMENT: environment.get("TMUXAGENTS_SOCKET"),
        place.SETTING: settings.tmux_socket,
    }
    here = inside.server.socket if inside and inside.lives else None
    chosen = place.choose(wanted, folder=folder, caller=here, caller_lives=here is not None)
    usual = [f"{folder}/{_TMUXS_OWN}", f"{folder}/{place.OWN}"]
    if chosen.source in wanted:
        return [chosen.socket], True
    if here is None:
        return usual, False
    return ([here, *(path for path in usual if path != here)] if uninstall else [here]), not uninstall


def _configurations(environment: Mapping[str, str]) -> list[str]:
    """Return where tmux looks for a person's configuration, in its order: all that are there are read."""
    home = environment.get("HOME") or os.path.expanduser("~")
    named = environment.get("XDG_CONFIG_HOME")
    folders = [*([named] if named else []), f"{home}/.config"]
    return [f"{home}/.tmux.conf", *dict.fromkeys(f"{folder}/tmux/tmux.conf" for folder in folders)]


# --- the file ---------------------------------------------------------------------------------------------


def _files(environment: Mapping[str, str], wanted: Wanted) -> Iterator[Step]:
    paths = _configurations(environment)
    texts = {path: text for path in _distinct(paths) if (text := dotfile.read(path)) is not None}
    # The last one has the last word, also about status-right.
    target = None if wanted.uninstall else next(reversed(texts), paths[0])
    if target is not None and wanted.key is None:
        wanted.key = next(
            filter(None, (keytable.key_of(_shown(text) or "") for text in texts.values())), None
        )
    for path, text in texts.items():
        if path != target:
            yield _file(path, text, block.take(text))
    if target is None:
        return
    theirs = [_own_lines(text) for text in texts.values()]
    text, lines = texts.get(target), wanted.lines([line for own in theirs for line in own])
    step = _file(target, text, block.put(text, lines) if lines else block.take(text))
    if not lines and not step.left:
        step.leave(None, "it has our text already")
    yield step


def _distinct(paths: Iterable[str]) -> Iterable[str]:
    """Return paths without those that are links to a later one."""
    return {os.path.realpath(path): path for path in paths}.values()


def _own_lines(text: bytes) -> list[str]:
    """Return the lines of a configuration that are the person's, and do something."""
    lines = block.without(text).decode("utf-8", "replace").splitlines()
    return [line for line in lines if not line.lstrip().startswith("#")]


def _file(path: str, before: bytes | None, edited: block.Edited) -> Step:
    step = Step(FILE, path)
    if edited.outcome == block.DONE:
        step.texts = (before, edited.text)
        step.change(None, _shown(before), _shown(edited.text))
    elif edited.outcome in _WHY:
        step.leave(None, _WHY[edited.outcome])
    return step


def _shown(text: bytes | None) -> str | None:
    return None if text is None else text.decode("utf-8", "replace")
