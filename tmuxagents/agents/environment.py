"""The environment of a child: the launcher's, without variables of a terminal or of the parent's session.

Pure.
"""

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
        *("CLAUDECODE", "CLAUDE_PID", "CLAUDE_EFFORT", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID"),
        *("CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_CHILD_NOTES_DIR", "CLAUDE_CODE_SESSION_ATTENDED"),
        *("CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_EXECPATH"),
        *("QWEN_CODE", "QWEN_CODE_SESSION_ID", "QWEN_CODE_AGENT_ID", "QWEN_CODE_PROMPT_ID"),
        *("QWEN_CODE_MODEL", "QWEN_CODE_MODEL_IDENTITY", "QWEN_CODE_PROJECT_DIR", "QWEN_CODE_LAUNCHER_PID"),
        *("QWEN_CODE_NO_RELAUNCH", "QWEN_CODE_PRIVATE_RELAUNCH_ENV_PROVENANCE", "QWEN_CODE_CLI"),
        *("CODEX_SESSION_ID", "CODEX_TOOL_CALL_ID", "CODEX_VERSION", "CODEX_CI", "CODEX_MANAGED_BY_NPM"),
        *("CODEX_MANAGED_PACKAGE_ROOT", "CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS", "CODEX_SANDBOX"),
        "CODEX_SANDBOX_NETWORK_DISABLED",  # true of the parent's tools, not of its children
        *("CODEX_THREAD_ID", "COPILOT_AGENT_SESSION_ID", "GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH"),
        *("OPENCODE", "OPENCODE_PID", "OPENCODE_SERVER_PASSWORD"),
        "PI_SUBAGENTS_COPILOT_INITIATOR",  # each run has its own, or none
    }
)
_OURS = "TMUXAGENTS_"
# A child that may launch children (its environment names the state directory) gets the launcher's pi program
# and limit, too.
_TO_LAUNCH = ("TMUXAGENTS_PI", "TMUXAGENTS_MAX_RUNNING")
_COLOURS = "truecolor"  # every supported tmux shows them, but does not set the variable
_SIZE = ("COLUMNS", "LINES")  # a child asks its terminal, whose size may change


def of_child(
    launcher: Mapping[str, str],
    *,
    run_id: str,
    agent: Mapping[str, str],
    nesting: Mapping[str, str] | None = None,
    pane: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the child's environment.

    `agent`: the agent's own variables. `nesting`: the variables of launch/nesting. `pane`: the environment of
    a live child's window.
    """
    kept = {
        name: value
        for name, value in launcher.items()
        if name not in _PARENT and not _is_terminals(name) and not name.startswith(_OURS)
    }
    nesting = nesting or {}
    names = _TO_LAUNCH if "TMUXAGENTS_HOME" in nesting else ()
    handed_on = {name: launcher[name] for name in names if name in launcher}
    ours = {"TMUXAGENTS_CHILD": "1", "TMUXAGENTS_RUN": run_id}
    of_pane = (pane or {}).items()
    terminal = {name: value for name, value in of_pane if _is_terminals(name) and name not in _SIZE}
    if pane is not None:
        terminal.setdefault("COLORTERM", _COLOURS)
    return {**kept, **terminal, **agent, **handed_on, **nesting, **ours}


def _is_terminals(name: str) -> bool:
    return name in _TERMINAL or name.startswith(_TERMINAL_FAMILIES)
