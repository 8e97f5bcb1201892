"""The look of our sessions and windows: a quiet status line, the way back, a last line. Touches: tmux.

A person's theme stays: only tmux's own defaults are replaced. All texts are fixed: their formats read options
and facts of tmux, never the words of a run.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.tmux.runner import Command

CLOSES = "@tmuxagents_close_key"  # the key that closes the window of an ended run, where one does
RULE = "── "  # how the last line of a window begins
VIEW = "view-"  # how sessions are called that only show a window of another one


def _later(shown: str) -> str:
    """Return a format that a condition, expanded when it is set, leaves to be expanded when it is shown."""
    return shown.replace("#{", "##{").replace(",", "#,").replace("}", "#}")


_IS_NARROW = "#{&&:#{client_width},#{e|<:#{client_width},80}}"
_BACK = " ##{prefix} d: back "
_NAME = _later(f"#{{?{_IS_NARROW},, #{{session_name}} }}")
_NAMED = f"#{{?#{{==:#{{status-left-length}},10}},{_NAME},#{{status-left}}}}"
_ROOM = "#{e|+:#{%s},100}"
# Where the whole text would leave the windows no room: what needs a person, with a sign, and the counts.
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
# How a run has ended is the title that its wrapper sets last. Anything else in that place is not shown.
_ENDED = r"#{?#{m/r:^(completed|failed|aborted) \([a-z_-]+\)$,#{pane_title}},#{pane_title},ended}"
_LAST_LINE = f"#[dim]{RULE}{_ENDED} · #{{prefix}} d: back#{{?#{{{CLOSES}}}, · #{{E:{CLOSES}}}: close,}} ──"


def of_session(session: str) -> list[Command]:
    """Return the options that make one of our sessions quiet and show counts and the key that leads back."""
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
    """Return what gives a run's window its last line, and, in one of our sessions, a quiet name in the list.

    tmux 3.2 knows no text for the last line, and keeps its own.
    """
    setting = ["set-option", "-w", "-t", target]
    chosen = [*setting, "-F", "window-status-current-style", _CHOSEN]
    last: list[Command] = [
        [*setting, "remain-on-exit", "on"],
        [*setting, "-q", "remain-on-exit-format", _LAST_LINE],
    ]
    return [chosen, *last] if is_at_home else last
