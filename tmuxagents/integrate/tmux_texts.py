"""What we add to a person's tmux: text in the status line, marks on windows, a key table. Pure.

Text and marks are made twice by the same rule: as values for a server that runs, and as lines of
configuration for those to come. No text of the person's is in any line: tmux itself joins the two when it
reads them. The key table holds the folder of a pane as an option of a popup only: no shell and no parser sees
it.
"""

from __future__ import annotations

import hashlib
import re

from tmuxagents.integrate.own_text import InFront

VALUE, LENGTH = "status-right", "status-right-length"
MEMORY = "@tmuxagents_length"  # what the length was, and what it was made: to give back exactly that
TEXT = "#{E:@tmuxagents_status}"
STATUS_MARK = "@tmuxagents_status"
_STATUS_FRONT = f"{TEXT} "
STATUS = InFront(_STATUS_FRONT, STATUS_MARK)
_ROOM = 100  # columns of our text at its longest, with the name of a run that has just ended
_GROWTH = 40  # so much longer than now may theirs become: titles and counters change
_JOB = "("  # as in `#(uptime)`
_IS_IN = f"#{{m:*{STATUS_MARK}*,#{{{VALUE}}}}}"
_IS_RAISED = f"#{{m:* #{{{LENGTH}}},#{{{MEMORY}}}}}"
_NEEDED = f"#{{e|+:#{{w:#{{T:{VALUE}}}}},{_ROOM + _GROWTH}}}"
_IS_SHORT = f"#{{?#{{m:*[{_JOB}]*,#{{{VALUE}}}}},1,#{{e|<:#{{{LENGTH}}},{_NEEDED}}}}}"

# The configuration may be read again, after a person's own lines have set one of the two, or both, or none.
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
    f"  set-option -gF {VALUE} '#{_STATUS_FRONT}#{{{VALUE}}}'",
    "}",
)


def has_job(value: str) -> bool:
    """Say whether programs print a part of a value, of unknown length."""
    return _JOB in value


def length_for(limit: int, *, width: int | None, note: str | None) -> int | None:
    """Return the length that has room for both; None where it is as it should be.

    `width` is that of theirs now, None where nobody knows; `note` says that and how it was raised before.
    """
    if note is not None and recalled(note, now=str(limit)) is not None:
        return None
    has_room = width is not None and limit >= width + _ROOM + _GROWTH
    return None if has_room else limit + _ROOM


def remembered(before: int, after: int) -> str:
    """Return the note on a length that was raised."""
    return f"{before} {after}"


def recalled(note: str, *, now: str) -> str | None:
    """Return what a length was before it was raised to what it is now; None if that was not us."""
    found = re.fullmatch(r"([0-9]{1,9}) ([0-9]{1,9})", note)
    return found[1] if found and found[2] == now else None


VALUES = ("window-status-format", "window-status-current-format")
MARK = "@tmuxagents_mark"
_STATE = "@tmuxagents_state"
_FRONT = f"#{{E:{MARK}}}"
WINDOW = InFront(_FRONT, MARK)
# state -> sign, and a colour where a person should look; any other state means a running run.
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
WINDOW_LINES = (
    f"set-option -g {MARK} '{FORMAT}'",
    *(
        f"if-shell -F '#{{m:*{MARK}*,#{{{name}}}}}' '' {{ set-option -gF {name} '#{_FRONT}#{{{name}}}' }}"
        for name in VALUES
    ),
)


TABLE = "tmuxagents"
DEFAULT = "A"
NOTE = "@tmuxagents_keys"  # which key leads to the table, and a digest of what is in it
# Only such as tmux lists in these words: C-Z is C-z there, C-i is Tab.
KEY = re.compile(r"(?:(?:M-)?[A-Za-z0-9]|C-[a-hj-ln-z0-9])")
_LEADS = f"switch-client -T {TABLE}"
_LED = re.compile(rf"bind-key -T prefix ({KEY.pattern}) {_LEADS}")
_PATH = r"/[A-Za-z0-9_./-]+"
_PLAIN = re.compile(rf"{_PATH}|env TMUXAGENTS_HOME={_PATH} {_PATH} -P -m tmuxagents")
_SMALL, _LARGE = "-w 60 -h 5", "-w 90% -h 85%"
_FOLDER = "#{?#{@tmuxagents_folder},#{@tmuxagents_folder},#{pane_current_path}}"
_MENU = "m"
# key, what it is called in the menu, the words of the command, how large its popup is
_KEYS = (
    ("n", "next that needs you", "attach --next", _SMALL),
    ("b", "back", "attach --back", _SMALL),
    ("a", "attach to one", "attach", _LARGE),
    ("t", "top", "top", _LARGE),
    ("o", "last answer", "output", _LARGE),
    ("d", "dashboard", "layouts open dashboard", _SMALL),
    ("g", "grid", "layouts open grid", _SMALL),
)
CLOSES = "@tmuxagents_close_key"  # the key that closes the window of an ended run, for its last line

_CLOSE = "if-shell -F '#{&&:#{pane_dead},#{@tmuxagents_run}}' kill-window"
_CLOSE_KEY, _CLOSE_WORDS = "x", "close this ended window"
OWN_CLOSE_KEY = "q"  # on a server of our own; elsewhere it belongs to the person's programs
OWN_LINES = (f"bind-key -n {OWN_CLOSE_KEY} {_CLOSE} 'send-keys {OWN_CLOSE_KEY}'",)
_STAYS = ("output",)  # what it prints is there until Enter; of the others only what went wrong is


def lines(key: str, program: str) -> tuple[str, ...]:
    """Return the lines that bind everything. `program`: our command, which must be plain."""
    command = program if _PLAIN.fullmatch(program) else "tmuxagents"
    bound = [(name, words, _popup(command, verb, size)) for name, words, verb, size in _KEYS]
    bound.append((_CLOSE_KEY, _CLOSE_WORDS, _CLOSE))
    # tmux expands the texts of a menu once more.
    items = " ".join(f"'{words}' {name} \"{action.replace('#', '##')}\"" for name, words, action in bound)
    table = [f"bind-key -T {TABLE} {name} {action}" for name, _, action in bound]
    table.append(f"bind-key -T {TABLE} {_MENU} display-menu -T ' runs ' -x C -y C {items}")
    digest = hashlib.sha256("\n".join(table).encode()).hexdigest()[:8]
    closes = f"set-option -g {CLOSES} '#{{prefix}} {key} {_CLOSE_KEY}'"
    leads = f"bind-key -T prefix {key} {_LEADS}"
    return (*table, leads, closes, f"set-option -g {NOTE} '{key} {digest}'")


def summary(key: str) -> str:
    """Return the keys on one line, for a person who has just bound them."""
    keys = ", ".join(f"{name} {words}" for name, words, *_ in _KEYS)
    return f"Keys: your prefix, {key}, then {keys}, {_CLOSE_KEY} {_CLOSE_WORDS}, {_MENU} a menu of all."


def _popup(command: str, verb: str, size: str) -> str:
    then = ";" if verb in _STAYS else " ||"
    return f"display-popup -E {size} -d '{_FOLDER}' '{command} {verb}{then} read -r _'"


def note(bound: tuple[str, ...]) -> str:
    """Return the note that a server keeps of these lines."""
    return bound[-1].partition("'")[2].rstrip("'")


def key_of(text: str) -> str | None:
    """Return the key that leads to our table by the lines of a configuration, None if none does."""
    found = _LED.search(text)
    return found[1] if found else None


def leads_here(binding: str) -> bool:
    """Say whether a binding, as tmux lists it, is ours."""
    return binding.rstrip().endswith(_LEADS)
