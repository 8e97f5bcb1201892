"""The look of our sessions and windows, and the counts in the status line of every client. Touches: tmux.

A person's theme stays: only tmux's own defaults are replaced. All texts are fixed: their formats read options
and facts of tmux, never the words of a run.

Each count is an option of tmux, set once in a server's life. The option's format reads a hidden variable, and
only that variable changes. Setting an option redraws every screen; setting a variable redraws nothing;
`refresh-client -S` redraws the status line alone. `runs/words` makes the texts, and `watcher/screens`
composes them. All this goes around libtmux, since the watcher pushes up to four times a second.
"""

from __future__ import annotations

import contextlib
import os

from tmuxagents.tmux import script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tmuxagents.tmux.runner import Command, Runner

CLOSES = "@tmuxagents_close_key"  # the key that closes the window of an ended run, if there is one
RULE = "── "  # the beginning of a window's last line
VIEW = "view-"  # the prefix of sessions that only show a window of another one


def _later(shown: str) -> str:
    """Escape a format, so that it is expanded when it is shown and not when the option is set."""
    return shown.replace("#{", "##{").replace(",", "#,").replace("}", "#}")


_IS_NARROW = "#{&&:#{client_width},#{e|<:#{client_width},80}}"
_BACK = " ##{prefix} d: back "
_NAME = _later(f"#{{?{_IS_NARROW},, #{{session_name}} }}")
_NAMED = f"#{{?#{{==:#{{status-left-length}},10}},{_NAME},#{{status-left}}}}"
_ROOM = "#{e|+:#{%s},100}"
# The short text, if the whole one would leave the windows no room: signs of what needs a person, and counts.
_SIGNED = "".join(
    f"#{{?#{{E:@tmuxagents_{name}}},{sign}#{{E:@tmuxagents_{name}}} ,}}"
    for name, sign in (("waiting", "?"), ("failed", "✗"))
)
_OF = f"#{{?{_IS_NARROW},/, running / }}"
_FEW = f"{_SIGNED}bg: #{{E:@tmuxagents_running}}{_OF}#{{E:@tmuxagents_total}}#{{?{_IS_NARROW},, total}}"
_IS_WIDE = "#{||:#{==:#{client_width},},#{e|>=:#{client_width},120}}"
_TEXT = f"#{{?{_IS_WIDE},#{{E:@tmuxagents_status}},{_FEW}}}"
_COUNTS = _later(f"#{{?#{{E:@tmuxagents_status}}, {_TEXT} ,}}")
_COUNTED = f"#{{?#{{m:*@tmuxagents_status*,#{{status-right}}}},,{_COUNTS}}}#{{status-right}}"
_CLOCK = _later(f"#{{?{_IS_NARROW},,%H:%M }}")
_RIGHT = f"#{{?#{{m:*=21:pane_title*,#{{status-right}}}},{_COUNTS}{_CLOCK},{_COUNTED}}}"
_BAR = "#{?#{m:*bg=green*,#{status-style}},fg=colour250#,bg=colour236,#{status-style}}"
_THEIRS = "#{window-status-current-style}"
_CHOSEN = f"#{{?#{{==:{_THEIRS},default}},fg=colour255#,bg=colour240#,bold,{_THEIRS}}}"
# The last title that a wrapper sets reports how the run has ended. Any other title is not shown.
_ENDED = r"#{?#{m/r:^(completed|failed|aborted) \([a-z_-]+\)$,#{pane_title}},#{pane_title},ended}"
_LAST_LINE = f"#[dim]{RULE}{_ENDED} · #{{prefix}} d: back#{{?#{{{CLOSES}}}, · #{{E:{CLOSES}}}: close,}} ──"


def of_session(session: str) -> list[Command]:
    """Return the commands that make one of our sessions quiet, with counts and the key that leads back."""
    name = session.removeprefix("=")
    values = {
        "status-left": _BACK if name.startswith(VIEW) else _NAMED + _BACK,
        "status-left-length": _ROOM % "status-left-length",
        "status-right": _RIGHT,
        "status-right-length": _ROOM % "status-right-length",
        "status-style": _BAR,
    }
    return [["set-option", "-F", "-t", f"={name}:", option, value] for option, value in values.items()]


def of_window(target: str, *, is_at_home: bool) -> list[Command]:
    """Return the commands for a run's window: its last line and, in our own sessions, a quiet name.

    tmux 3.2 knows no text for the last line, and keeps its own.
    """
    setting = ["set-option", "-w", "-t", target]
    chosen = [*setting, "-F", "window-status-current-style", _CHOSEN]
    last: list[Command] = [
        [*setting, "remain-on-exit", "on"],
        [*setting, "-q", "remain-on-exit-format", _LAST_LINE],
    ]
    return [chosen, *last] if is_at_home else last


# --- the counts -------------------------------------------------------------------------------------------

_STATUS = "status"
STATUS_NAMES = (_STATUS, "running", "queued", "waiting", "completed", "failed", "aborted", "total")
_TURN = "TMUXAGENTS_SHOWN_TURN"  # a new value with each push


class Status:
    """The counts that a server's clients see."""

    __slots__ = ("_runner",)

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def declare(self) -> bool:
        """Set `@tmuxagents_status`, `@tmuxagents_running` and so on; say whether they were not set yet."""
        lines = self._runner.ask(["show-options", "-gqv", _option(_STATUS)])
        if lines == [_format(_STATUS)]:
            return False
        self._runner.ask(*(["set-option", "-g", _option(name), _format(name)] for name in STATUS_NAMES))
        return True

    def push(self, values: Mapping[str, str], then: Sequence[tuple[float, str]] = ()) -> None:
        """Show values, by the names in STATUS_NAMES, to every client, in two calls of tmux.

        `then`: seconds, and the text that replaces the status after that time unless something else was
        pushed. The server does that by itself, since the watcher may be gone by then.
        """
        turn = os.urandom(6).hex()
        changes: list[Command] = [
            ["set-environment", "-gh", _variable(name), script.shown(text)] for name, text in values.items()
        ]
        changes.append(["set-environment", "-gh", _TURN, turn])
        same = script.equal(f"#{{{_TURN}}}", turn)
        for seconds, later in then:
            replace = ["set-environment", "-gh", _variable(_STATUS), script.shown(later)]
            act = script.by_shell(["if-shell", "-F", same, script.script(replace, ["refresh-client", "-S"])])
            # run-shell expands its words as a format when it is armed: doubled signs come out single.
            changes.append(["run-shell", "-b", "-d", str(max(1, round(seconds))), act.replace("#", "##")])
        self._runner.ask(*changes, *map(redraw, self._terminals()))

    def message(self) -> bool:
        """Show the status text as a message to every client; say whether this tmux can do that harmlessly.

        Before 3.6, a message stops all drawing on a screen. Those versions refuse -C: tmux reports an unknown
        flag, or in 3.2 an unknown option.
        """
        for client in self._terminals():
            answer = self._runner.run(["display-message", "-C", "-c", client, _format(_STATUS)])
            if answer.code != 0 and ("flag" in answer.error or "option" in answer.error):
                return False
        return True

    def notify(self, words: str) -> None:
        """Notify people by OSC 9 and OSC 777 on all clients' terminals: each obeys the one it knows."""
        text = script.shown(words)
        notice = f"\x1b]9;{text}\a\x1b]777;notify;tmuxagents;{text}\a".encode()
        for terminal in self._terminals():
            with contextlib.suppress(OSError):  # it has just left, or takes nothing now
                handle = os.open(terminal, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    if os.isatty(handle):
                        os.write(handle, notice)  # in one piece, so that nothing comes between
                finally:
                    os.close(handle)

    def _terminals(self) -> list[str]:
        """Return the names of the clients that have a terminal."""
        rows = self._runner.ask(["list-clients", "-F", "#{client_control_mode} #{client_name}"])
        return [script.a_client(row.removeprefix("0 ")) for row in rows if row.startswith("0 /")]

    def withdraw(self) -> None:
        """Take everything away again."""
        options = [["set-option", "-gqu", _option(name)] for name in STATUS_NAMES]
        variables = [*map(_variable, STATUS_NAMES), _TURN]
        self._runner.ask(*options, *(["set-environment", "-gu", name] for name in variables))


def _option(name: str) -> str:
    return f"@tmuxagents_{name}"


def _variable(name: str) -> str:
    if name not in STATUS_NAMES:
        raise ValueError(f"the status line has no {name!r}")
    return f"TMUXAGENTS_SHOWN_{name.upper()}"


def _format(name: str) -> str:
    return f"#{{{_variable(name)}}}"


def redraw(client: str) -> Command:
    """Return the command that redraws a client's status line; it fails no script if the client has left."""
    return ["if-shell", "-F", "1", script.script(["refresh-client", "-S", "-t", script.a_client(client)])]
