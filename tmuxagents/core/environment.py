"""The environment of a child: the launcher's, less what belongs to a terminal or to the parent's session."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# A batch child has no terminal, and a live one has the pane's: never the launcher's.
_TERMINAL = frozenset(
    {
        *("TERM", "COLORTERM", "TERMINFO", "TMUX", "TMUX_PANE", "COLUMNS", "LINES"),
        *("VTE_VERSION", "WT_SESSION", "WINDOWID"),
    }
)
_TERMINAL_FAMILIES = ("TERM_PROGRAM", "KITTY_", "WEZTERM_", "ITERM_", "GHOSTTY_")
_PARENT = frozenset(
    {
        *("PI_SESSION_ID", "PI_SESSION_FILE", "AI_AGENT", "PI_CODING_AGENT"),
        "PI_SUBAGENTS_COPILOT_INITIATOR",  # each run has its own, or none
    }
)
_OURS = "TMUXAGENTS_"


def of_child(launcher: Mapping[str, str], *, run_id: str, agent: Mapping[str, str]) -> dict[str, str]:
    """Return the child's environment; `agent` are the variables of its brand."""
    kept = {
        name: value
        for name, value in launcher.items()
        if name not in _TERMINAL and name not in _PARENT and not name.startswith((*_TERMINAL_FAMILIES, _OURS))
    }
    return {**kept, **agent, "TMUXAGENTS_CHILD": "1", "TMUXAGENTS_RUN": run_id}
