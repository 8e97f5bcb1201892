"""Our mark in front of the names of windows that are runs: a sign that tells how each stands.

The same rule twice, as in core/statusright: as values for a server that runs, and as lines of configuration.
"""

from __future__ import annotations

from tmuxagents.core.infront import InFront

VALUES = ("window-status-format", "window-status-current-format")
MARK = "@tmuxagents_mark"
_STATE = "@tmuxagents_state"
_FRONT = f"#{{E:{MARK}}}"
OURS = InFront(_FRONT, MARK)
# state -> sign, and a colour where somebody should look; any other state is that of a run that goes on.
# Nothing is green: so is tmux's own status line, and nobody could see it.
_SIGNS = {
    "completed": "✓",
    "failed": "#[fg=red]✗",
    "aborted": "#[fg=magenta]■",
    "waiting": "#[fg=yellow]?",
    "queued": "…",
}
_GOES_ON = "▶"


def _format() -> str:
    shown = _GOES_ON
    for state, sign in _SIGNS.items():
        shown = f"#{{?#{{==:#{{{_STATE}}},{state}}},{sign},{shown}}}"
    return f"#{{?#{{{_STATE}}},{shown}#[default] ,}}"


FORMAT = _format()
LINES = (
    f"set-option -g {MARK} '{FORMAT}'",
    *(
        f"if-shell -F '#{{m:*{MARK}*,#{{{name}}}}}' '' {{ set-option -gF {name} '#{_FRONT}#{{{name}}}' }}"
        for name in VALUES
    ),
)
