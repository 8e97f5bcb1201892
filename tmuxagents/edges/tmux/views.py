"""Views: sessions that show one window of another session to one client, and go when that leaves.

As lists of commands: who shows something decides, and has them carried out in one call.
"""

from __future__ import annotations

import os

from tmuxagents.edges.tmux import script, windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.edges.tmux.runner import Command

_LOOKING = "@tmuxagents_view"  # what a view does every few seconds
_LEFT = "@tmuxagents_left"  # and what when a client leaves it
_DETACHED = "client-detached"
_EXPECTED = "@tmuxagents_expected"  # set on a view that waits for its client
_LOOK_S = 5
_UNSEEN_S = 60  # so long a prepared view waits for its client
# Windows that somebody opened in a view are not ours to end.
_WANTED = f"#{{||:#{{||:#{{session_attached}},#{{{_EXPECTED}}}}},#{{!=:#{{session_windows}},1}}}}"


def new() -> str:
    """Return a name that no other view has, since nobody could wait for an answer and try the next one."""
    return f"{windows.VIEW}{os.urandom(6).hex()}"


def making(view: str, window: str, session: str) -> list[Command]:
    """Return what makes a session that has one window, and that window is another session's, too.

    Nothing comes between these commands: the window is where it was when it was looked for.
    It looks by itself every few seconds whether anybody still looks at it. Not by destroy-unattached: with
    that, a client that is detached crashes the whole server now and then (seen on 3.3a, group or no group).
    So the look is a client of its own, which comes when all that is over.
    """
    target = f"={view}:"
    again = script.later(_LOOK_S, target, f"#{{{_LOOKING}}}")
    look = script.when(target, _WANTED, [again], [_ending(view)])
    text = script.by_shell(script.when(target, _is_it(view), [look]))
    return [
        ["new-session", "-d", "-s", view, "sleep", "60"],  # only until its window is exchanged
        ["set-option", "-t", target, "destroy-unattached", "off"],
        ["set-option", "-t", target, _LOOKING, text],
        ["link-window", "-k", "-s", f"{session}:{window}", "-t", f"{target}^"],
        again,
    ]


def letting_go(view: str) -> list[Command]:
    """Return what lets a view end at once when its last client is detached.

    For the end of a list: it asks a shell first, and the server goes on with other things until that answers.
    """
    target = f"={view}:"
    unwanted = script.both(_is_it(view), f"#{{?{_WANTED},0,1}}")
    left = script.by_shell(script.when(target, unwanted, [_ending(view)]))
    look = script.script(["run-shell", "-b", "-t", target, f"#{{{_LEFT}}}"])
    hook = script.script(["set-hook", "-t", target, _DETACHED, look])
    return [
        ["set-option", "-t", target, _LEFT, left],
        # A person's hook would not be run where there is one of the session's own.
        ["if-shell", f"! tmux show-hooks -g {_DETACHED} | grep -q ' '", hook],
    ]


def expecting(view: str) -> list[Command]:
    """Return what lets a view wait for its client, and end if none has come in a minute."""
    let_go = script.later(_UNSEEN_S, f"={view}:", script.by_shell(arrived(view)))
    return [["set-option", "-t", f"={view}:", _EXPECTED, "1"], let_go]


def arrived(view: str) -> Command:
    """Return the command that lets a view end as soon as nobody looks at it."""
    return ["set-option", "-u", "-t", f"={view}:", _EXPECTED]


def _is_it(view: str) -> str:
    return script.equal("#{session_name}", view)


def _ending(view: str) -> Command:
    return ["kill-session", "-t", f"={view}"]
