"""Our additions to a person's tmux: text in the status line, marks on windows, a key table. Pure.

Text and marks exist twice, by the same rule: as values for running servers, and as lines of configuration for
later servers. Our lines contain nothing that the person wrote: tmux itself joins their text and ours when it
reads the lines. The key table passes the folder of a pane only as an option of a popup, so neither a shell
nor tmux's parser reads that name.
"""

from __future__ import annotations

import re

from tmuxagents.integrate import own_text
from tmuxagents.integrate.own_text import InFront

VALUE, LENGTH = "status-right", "status-right-length"
MEMORY = "@tmuxagents_length"  # the length before and after we raised it, to restore the former one
TEXT = "#{E:@tmuxagents_status}"
STATUS_MARK = "@tmuxagents_status"
STATUS = InFront(f"{TEXT} ", STATUS_MARK)
_ROOM = 100  # columns of our longest text, which has the name of a run that has just ended
_GROWTH = 40  # columns by which the person's text may grow: titles and counters change
_JOB = "("  # as in `#(uptime)`
_IS_IN = f"#{{m:*{STATUS_MARK}*,#{{{VALUE}}}}}"
_IS_RAISED = f"#{{m:* #{{{LENGTH}}},#{{{MEMORY}}}}}"
_NEEDED = f"#{{e|+:#{{w:#{{T:{VALUE}}}}},{_ROOM + _GROWTH}}}"
_IS_SHORT = f"#{{?#{{m:*[{_JOB}]*,#{{{VALUE}}}}},1,#{{e|<:#{{{LENGTH}}},{_NEEDED}}}}}"

# tmux may read these lines again, after the person's own have set the value, the length, both or neither.
STATUS_LINES = (
    "# Shows the runs of child agents in the status line.",
    '# "tmuxagents integrate tmux --uninstall" takes these lines out again.',
    f"if-shell -F '{_IS_RAISED}' '' {{",
    f"  if-shell -F '#{{?{_IS_IN},#{{!=:#{{{MEMORY}}},}},{_IS_SHORT}}}' {{",
    f"    set-option -gF {MEMORY} '#{{{LENGTH}}} #{{e|+:#{{{LENGTH}}},{_ROOM}}}'",
    f"    set-option -gF {LENGTH} '#{{e|+:#{{{LENGTH}}},{_ROOM}}}'",
    "  }",
    "}",
    f"if-shell -F '{_IS_IN}' '' {{",
    f"  set-option -gF {VALUE} '#{STATUS.text}#{{{VALUE}}}'",
    "}",
)


def has_job(value: str) -> bool:
    """Say whether a program prints a part of a value, whose length is then unknown."""
    return _JOB in value


def length_for(limit: int, *, width: int | None, note: str | None) -> int | None:
    """Return the length that has room for the person's text and ours; None if the present one is right.

    `width`: that of the person's text, if known; `note`: our note on the present length, if we raised it.
    """
    if note is not None and recalled(note, now=str(limit)) is not None:
        return None
    has_room = width is not None and limit >= width + _ROOM + _GROWTH
    return None if has_room else limit + _ROOM


def remembered(before: int, after: int) -> str:
    """Return the note on a length that was raised."""
    return f"{before} {after}"


def recalled(note: str, *, now: str) -> str | None:
    """Return the length before we raised it to `now`; None if the note says something else."""
    found = re.fullmatch(r"([0-9]{1,9}) ([0-9]{1,9})", note)
    return found[1] if found and found[2] == now else None


VALUES = ("window-status-format", "window-status-current-format")
MARK = "@tmuxagents_mark"
_STATE = "@tmuxagents_state"
WINDOW = InFront(f"#{{E:{MARK}}}", MARK)
# state -> sign, and a colour where a person should look; any other state means a running run.
# Nothing is green: on tmux's own green status line it would be invisible.
_SIGNS = {
    "completed": "✓",
    "failed": "#[fg=red]✗",
    "aborted": "#[fg=magenta]■",
    "waiting": "#[fg=yellow]?",
    "queued": "…",
}
_shown = "▶"
for _state, _sign in _SIGNS.items():
    _shown = f"#{{?#{{==:#{{{_STATE}}},{_state}}},{_sign},{_shown}}}"
FORMAT = f"#{{?#{{{_STATE}}},{_shown}#[default] ,}}"
WINDOW_LINES = (
    f"set-option -g {MARK} '{FORMAT}'",
    *(
        f"if-shell -F '#{{m:*{MARK}*,#{{{name}}}}}' '' "
        f"{{ set-option -gF {name} '#{WINDOW.text}#{{{name}}}' }}"
        for name in VALUES
    ),
)


TABLE = "tmuxagents"
DEFAULT = "A"
NOTE = "@tmuxagents_keys"  # the key that leads to the table, and a digest of the table
# Only keys that tmux lists by the same name: C-Z becomes C-z, C-i becomes Tab.
KEY = re.compile(r"(?:(?:M-)?[A-Za-z0-9]|C-[a-hj-ln-z0-9])")
_LEADS = f"switch-client -T {TABLE}"
_LED = re.compile(rf"bind-key -T prefix ({KEY.pattern}) {_LEADS}")
_PATH = r"/[A-Za-z0-9_./-]+"
_PLAIN = re.compile(rf"{_PATH}|env TMUXAGENTS_HOME={_PATH} {_PATH} -P -m tmuxagents")
_SMALL, _LARGE = "-w 60 -h 5", "-w 90% -h 85%"
_FOLDER = "#{?#{@tmuxagents_folder},#{@tmuxagents_folder},#{pane_current_path}}"
_MENU = "m"
# key, name in the menu, words of the command, size of its popup
_KEYS = (
    ("n", "next that needs you", "attach --next", _SMALL),
    ("b", "back", "attach --back", _SMALL),
    ("a", "attach to one", "attach", _LARGE),
    ("t", "top", "top", _LARGE),
    ("o", "last answer", "output", _LARGE),
    ("d", "dashboard", "layouts open dashboard", _SMALL),
    ("g", "grid", "layouts open grid", _SMALL),
)
CLOSES = "@tmuxagents_close_key"  # the keys that close the window of an ended run, for its last line
_CLOSE = "if-shell -F '#{&&:#{pane_dead},#{@tmuxagents_run}}' kill-window"
_CLOSE_KEY, _CLOSE_WORDS = "x", "close this ended window"
OWN_CLOSE_KEY = "q"  # on a server of our own; elsewhere it belongs to the person's programs
OWN_LINES = (f"bind-key -n {OWN_CLOSE_KEY} {_CLOSE} 'send-keys {OWN_CLOSE_KEY}'",)
_STAYS = ("output",)  # its popup stays until Enter; any other stays only after an error


def lines(key: str, program: str) -> tuple[str, ...]:
    """Return the lines that bind all keys. `program`: our command, which must be plain."""
    command = program if _PLAIN.fullmatch(program) else "tmuxagents"
    bound = []
    for name, words, verb, size in _KEYS:
        then = ";" if verb in _STAYS else " ||"
        action = f"display-popup -E {size} -d '{_FOLDER}' '{command} {verb}{then} read -r _'"
        bound.append((name, words, action))
    bound.append((_CLOSE_KEY, _CLOSE_WORDS, _CLOSE))
    # tmux expands the texts of a menu once more.
    items = " ".join(f"'{words}' {name} \"{action.replace('#', '##')}\"" for name, words, action in bound)
    table = [f"bind-key -T {TABLE} {name} {action}" for name, _, action in bound]
    table.append(f"bind-key -T {TABLE} {_MENU} display-menu -T ' runs ' -x C -y C {items}")
    sum_ = own_text.digest("\n".join(table).encode()).decode()
    closes = f"set-option -g {CLOSES} '#{{prefix}} {key} {_CLOSE_KEY}'"
    leads = f"bind-key -T prefix {key} {_LEADS}"
    return (*table, leads, closes, f"set-option -g {NOTE} '{key} {sum_}'")


def summary(key: str) -> str:
    """Return the keys on one line, as `--keys` prints them after binding."""
    keys = ", ".join(f"{name} {words}" for name, words, *_ in _KEYS)
    return f"Keys: your prefix, {key}, then {keys}, {_CLOSE_KEY} {_CLOSE_WORDS}, {_MENU} a menu of all."


def note(bound: tuple[str, ...]) -> str:
    """Return the note that a server keeps about these lines."""
    return bound[-1].partition("'")[2].rstrip("'")


def key_of(text: str) -> str | None:
    """Return the key that a configuration binds to our table, None if there is none."""
    found = _LED.search(text)
    return found[1] if found else None


def leads_here(binding: str) -> bool:
    """Say whether a binding, as tmux lists it, is ours."""
    return binding.rstrip().endswith(_LEADS)
