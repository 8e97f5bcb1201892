"""Put our text into a person's tmux status line, and take it out again: running servers, configuration file.

First everything is looked at, then it is changed; nothing of the person's is changed besides.
"""

from __future__ import annotations

import os

from tmuxagents.core import block, place, statusright
from tmuxagents.core.integration import FILE, SERVER, Integration, Step
from tmuxagents.edges import dotfile, tmux
from tmuxagents.edges.tmux import status
from tmuxagents.errors import Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tmuxagents.core.settings import Settings
    from tmuxagents.edges.tmux import Tmux

_TMUXS_OWN = "default"  # the name of the server that a plain `tmux` uses
_DECLARED = tuple(f"@tmuxagents_{name}" for name in status.NAMES)  # what the watcher tells a server
_WHY = {
    block.CHANGED: "the lines between the marks of tmuxagents were changed by hand; remove them by hand, too",
    block.BROKEN: "the marks of tmuxagents in it are not whole; remove what is left of them by hand",
}


def plan(
    environment: Mapping[str, str], settings: Settings, *, socket: str | None, uninstall: bool
) -> Integration:
    """Look at everything, and say what is to be changed."""
    found = Integration("tmux", uninstall=uninstall)
    found.steps += _files(environment, uninstall=uninstall)
    sockets, sure = _sockets(environment, settings, socket, uninstall=uninstall)
    for path in sockets:
        if tmux.listening(path) is None:
            continue
        try:
            step = (_off_server if uninstall else _on_server)(tmux.Tmux(path))
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
            _change_server(step, uninstall=found.uninstall)


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


def _files(environment: Mapping[str, str], *, uninstall: bool) -> Iterator[Step]:
    paths = _configurations(environment)
    texts = {path: text for path in _distinct(paths) if (text := dotfile.read(path)) is not None}
    # The last one has the last word, also about status-right.
    target = None if uninstall else next(reversed(texts), paths[0])
    for path, text in texts.items():
        if path != target:
            yield _file(path, text, block.take(text))
    if target is None:
        return
    edited = block.put(texts.get(target), statusright.LINES)
    own = next((path for path, text in texts.items() if _has_our_text(block.without(text))), None)
    if own is None or edited.outcome in _WHY:
        yield _file(target, texts.get(target), edited)
    else:
        step = Step(FILE, own)
        step.leave(None, "it has our text already")
        yield step


def _distinct(paths: Iterable[str]) -> Iterable[str]:
    """Return paths without those that are links to a later one."""
    return {os.path.realpath(path): path for path in paths}.values()


def _has_our_text(text: bytes) -> bool:
    lines = text.decode("utf-8", "replace").splitlines()
    return any(statusright.is_in(line) for line in lines if not line.lstrip().startswith("#"))


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


# --- a server ---------------------------------------------------------------------------------------------


def _on_server(server: Tmux) -> Step:
    """Plan to put our text in front, and to make room for it."""
    step = Step(SERVER, server.socket)
    value = server.options.read(statusright.VALUE) or ""
    limit = server.options.read(statusright.LENGTH) or "0"
    note = server.options.read(statusright.MEMORY)
    is_in = statusright.is_in(value)
    if note is not None or not is_in:  # else the person put it there, and knows how long it is
        width = None if is_in or statusright.has_job(value) else server.options.width(statusright.VALUE)
        after = statusright.length_for(int(limit), width=width, note=note)
        if after is not None:
            step.change(statusright.MEMORY, note, statusright.remembered(int(limit), after))
            step.change(statusright.LENGTH, limit, str(after))
    if not is_in:
        step.change(statusright.VALUE, value, statusright.joined(value))
    return step


def _off_server(server: Tmux) -> Step:
    """Plan to give back what was there before, and to take away all that is ours."""
    step = Step(SERVER, server.socket)
    value = server.options.read(statusright.VALUE) or ""
    if statusright.is_in(value):
        before = statusright.parted(value)
        if before is None:
            step.leave(statusright.VALUE, "our text is not where it was put; take it out by hand")
        else:
            step.change(statusright.VALUE, value, before)
    _give_length_back(server, step)
    for name in _DECLARED:
        if (format_ := server.options.read(name)) is not None:
            step.change(name, format_, None)
    return step


def _give_length_back(server: Tmux, step: Step) -> None:
    note = server.options.read(statusright.MEMORY)
    if note is None:
        return
    now = server.options.read(statusright.LENGTH) or ""
    before = statusright.recalled(note, now=now)
    if before is not None:
        step.change(statusright.LENGTH, now, before)
    else:
        step.leave(statusright.LENGTH, "it was changed since it was raised")
    step.change(statusright.MEMORY, note, None)


def _change_server(step: Step, *, uninstall: bool) -> None:
    server = tmux.Tmux(step.path)
    for change in list(step.changes):
        name = str(change.name)
        if server.options.read(name) == change.before:
            server.options.write(name, change.after)
        else:
            step.changes.remove(change)
            step.leave(name, "somebody has just changed it")
    if uninstall:
        server.status.withdraw()  # the hidden variables behind our formats
