"""The environment of a child: variables that it gets from its launcher, and those that it must not get."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.agents import environment
from tmuxagents.registry import lookup

RUN = "01a1ee15069b4c1f"
OURS = {"TMUXAGENTS_CHILD": "1", "TMUXAGENTS_RUN": RUN}


def of_child(launcher: dict[str, str], agent: dict[str, str] | None = None) -> dict[str, str]:
    return environment.of_child(launcher, run_id=RUN, agent=agent or {})


def test_a_live_child_has_the_terminal_of_its_pane_and_nothing_else_of_it() -> None:
    pane = {"TERM": "tmux-256color", "TMUX": "/s,1,0", "TMUX_PANE": "%1", "COLUMNS": "80", "LINES": "24"}
    pane |= {"PATH": "/pane", "SECRET": "x", "TMUXAGENTS_RUN": "other", "PI_SESSION_ID": "p"}
    launcher = {"TERM": "dumb", "TMUX_PANE": "%9", "COLORTERM": "no", "PATH": "/bin"}
    got = environment.of_child(launcher, run_id=RUN, agent={}, pane=pane)
    terminal = {"TERM": "tmux-256color", "COLORTERM": "truecolor", "TMUX": "/s,1,0", "TMUX_PANE": "%1"}
    assert got == {**terminal, "PATH": "/bin", **OURS}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "TERM",
            "COLORTERM",
            "TERM_PROGRAM",
            "TERM_PROGRAM_VERSION",
            "TERMINFO",
            "TMUX",
            "TMUX_PANE",
            "COLUMNS",
        ),
        *("LINES", "KITTY_WINDOW_ID", "WEZTERM_PANE", "ITERM_SESSION_ID", "GHOSTTY_BIN_DIR", "VTE_VERSION"),
        *("WT_SESSION", "WINDOWID"),
        *(
            "PI_SESSION_ID",
            "PI_SESSION_FILE",
            "AI_AGENT",
            "PI_CODING_AGENT",
            "PI_SUBAGENTS_COPILOT_INITIATOR",
        ),
        *(
            "CLAUDECODE",
            "CLAUDE_CODE_MESSAGING_SOCKET",
            "CLAUDE_CODE_MESSAGING_TOKEN",
            "CLAUDE_CODE_CHILD_SESSION",
        ),
        *("CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_MANAGED_BY_NPM", "CODEX_SANDBOX_NETWORK_DISABLED"),
        *("QWEN_CODE", "QWEN_CODE_NO_RELAUNCH", "QWEN_CODE_MODEL", "QWEN_CODE_PROJECT_DIR"),
        *("TMUXAGENTS_OWNER", "TMUXAGENTS_HOME", "TMUXAGENTS_PI", "TMUXAGENTS_ROLE", "TMUXAGENTS_ANYTHING"),
    ],
)
def test_what_belongs_to_a_terminal_or_to_the_parents_session_stays_behind(name: str) -> None:
    assert of_child({name: "x", "PATH": "/bin"}) == {"PATH": "/bin", **OURS}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "PATH",
            "HOME",
            "LANG",
            "LC_ALL",
            "SSH_AUTH_SOCK",
            "ANTHROPIC_API_KEY",
            "PI_OFFLINE",
            "VIRTUAL_ENV",
        ),
        *(
            "PI_CODING_AGENT_DIR",
            "TERMINAL",
            "XTERM",
            "TMUX_TMPDIR",
            "EDITOR",
            "TMUXAGENTS",
            "http_proxy",
            "",
        ),
    ],
)
def test_the_rest_goes_along(name: str) -> None:
    assert of_child({name: "x"}) == {name: "x", **OURS}


def test_a_child_carries_the_mark_of_its_own_run() -> None:
    assert of_child({"TMUXAGENTS_RUN": "another", "TMUXAGENTS_CHILD": "0"}) == OURS


def test_the_variables_of_the_brand_win_over_the_launchers() -> None:
    agent = {"PI_SUBAGENTS_CHILD": "1", "PI_CODING_AGENT_DIR": "/own"}
    assert of_child({"PI_CODING_AGENT_DIR": "/other", "A": "b"}, agent) == {"A": "b", **agent, **OURS}


def test_only_who_may_launch_is_told_the_agent_and_the_cap() -> None:
    launcher = {"TMUXAGENTS_PI": "/opt/pi", "TMUXAGENTS_MAX_RUNNING": "2", "TMUXAGENTS_OWNER": "me"}
    leaf, boss = {"TMUXAGENTS_NESTING": "0"}, {"TMUXAGENTS_NESTING": "1", "TMUXAGENTS_HOME": "/h"}
    of_leaf = environment.of_child(launcher, run_id=RUN, agent={}, nesting=leaf)
    assert of_leaf == {**leaf, **OURS}
    handed_on = {"TMUXAGENTS_PI": "/opt/pi", "TMUXAGENTS_MAX_RUNNING": "2"}
    of_boss = environment.of_child(launcher, run_id=RUN, agent={}, nesting=boss)
    assert of_boss == {**handed_on, **boss, **OURS}


@given(st.dictionaries(st.text(), st.text()), st.dictionaries(st.text(), st.text()))
def test_no_launcher_and_no_brand_changes_the_mark(launcher: dict[str, str], agent: dict[str, str]) -> None:
    before = dict(launcher)
    assert OURS.items() <= of_child(launcher, agent).items()
    assert launcher == before


def test_no_child_belongs_to_the_session_of_its_parent() -> None:
    """Its own runs, should it launch any, are not those of the session that launched it."""
    for name in lookup.OWNERS:
        launcher = {name: "5d0c", "PATH": "/bin"}
        assert lookup.Caller(launcher, "/").owner == "5d0c"
        child = of_child(launcher)
        assert lookup.Caller(child, "/").owner is None
