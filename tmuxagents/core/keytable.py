"""Our key table for tmux: one key behind the person's prefix leads to it. The keys, the popups, the menu.

The only thing of the person's in any line is a folder, and that as an option of a popup: no shell and no
parser ever sees it. In the window of a run it is that of the run's project: a dead pane has no folder.
"""

from __future__ import annotations

import hashlib
import re

TABLE = "tmuxagents"
DEFAULT = "A"
NOTE = "@tmuxagents_keys"  # which key leads to the table, and a digest of what is in it
# Only such as tmux lists in these words: C-Z is C-z there, C-i is Tab.
KEY = re.compile(r"(?:(?:M-)?[A-Za-z0-9]|C-[a-hj-ln-z0-9])")
_LEADS = f"switch-client -T {TABLE}"
_LED = re.compile(rf"bind-key -T prefix ({KEY.pattern}) {_LEADS}")
_PLAIN = re.compile(r"/[A-Za-z0-9_./-]+")
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
_STAYS = ("output",)  # what it prints is there until Enter; of the others only what went wrong is


def lines(key: str, program: str) -> tuple[str, ...]:
    """Return the lines that bind everything. `program`: the path of our command."""
    command = program if _PLAIN.fullmatch(program) else "tmuxagents"
    bound = [(name, words, _popup(command, verb, size)) for name, words, verb, size in _KEYS]
    # What stands in a menu is expanded once more.
    items = " ".join(f"'{words}' {name} \"{action.replace('#', '##')}\"" for name, words, action in bound)
    table = [f"bind-key -T {TABLE} {name} {action}" for name, _, action in bound]
    table.append(f"bind-key -T {TABLE} {_MENU} display-menu -T ' runs ' -x C -y C {items}")
    digest = hashlib.sha256("\n".join(table).encode()).hexdigest()[:8]
    return (*table, f"bind-key -T prefix {key} {_LEADS}", f"set-option -g {NOTE} '{key} {digest}'")


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
