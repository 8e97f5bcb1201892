"""Our text in front of what a person's status line shows on its right, and room for it.

The same rule twice: as values for a server that runs, and as lines of tmux's configuration for those to come.
No text of the person's is in any line: tmux itself joins the two when it reads them.
"""

from __future__ import annotations

import re

from tmuxagents.core.infront import InFront

VALUE, LENGTH = "status-right", "status-right-length"
MEMORY = "@tmuxagents_length"  # what the length was, and what it was made: to give back exactly that
TEXT = "#{E:@tmuxagents_status}"
MARK = "@tmuxagents_status"
_FRONT = f"{TEXT} "
OURS = InFront(_FRONT, MARK)
_ROOM = 100  # columns of our text at its longest, with the name of a run that has just ended
_GROWTH = 40  # so much longer than now may theirs become: titles and counters change
_JOB = "("  # as in `#(uptime)`
_IS_IN = f"#{{m:*{MARK}*,#{{{VALUE}}}}}"
_IS_RAISED = f"#{{m:* #{{{LENGTH}}},#{{{MEMORY}}}}}"
_NEEDED = f"#{{e|+:#{{w:#{{T:{VALUE}}}}},{_ROOM + _GROWTH}}}"
_IS_SHORT = f"#{{?#{{m:*[{_JOB}]*,#{{{VALUE}}}}},1,#{{e|<:#{{{LENGTH}}},{_NEEDED}}}}}"

# The configuration may be read again, after a person's own lines have set one of the two, or both, or none.
LINES = (
    "# Shows the runs of child agents in the status line.",
    '# "tmuxagents integrate tmux --uninstall" takes these lines out again.',
    f"if-shell -F '{_IS_RAISED}' '' {{",
    f"  if-shell -F '#{{?{_IS_IN},#{{!=:#{{{MEMORY}}},}},{_IS_SHORT}}}' {{",
    f"    set-option -gF {MEMORY} '#{{{LENGTH}}} #{{e|+:#{{{LENGTH}}},{_ROOM}}}'",
    f"    set-option -gF {LENGTH} '#{{e|+:#{{{LENGTH}}},{_ROOM}}}'",
    "  }",
    "}",
    f"if-shell -F '{_IS_IN}' '' {{",
    f"  set-option -gF {VALUE} '#{_FRONT}#{{{VALUE}}}'",
    "}",
)


def has_job(value: str) -> bool:
    """Say whether programs print a part of a value: how much, nobody knows."""
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
