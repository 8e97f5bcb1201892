"""The lines of configuration for the marks in front of windows' names, and for the key table."""

from __future__ import annotations

import re

import pytest

from tmuxagents.integrate import tmux_texts


def test_the_mark_is_in_front_and_taken_out_again_only_from_there() -> None:
    for theirs in ("", "#I:#W#{?window_flags,#{window_flags}, }", "#[fg=red]x"):
        ours = tmux_texts.WINDOW.joined(theirs)
        assert (tmux_texts.WINDOW.is_in(theirs), tmux_texts.WINDOW.is_in(ours)) == (False, True)
        assert tmux_texts.WINDOW.parted(ours) == theirs
    assert [tmux_texts.WINDOW.parted(value) for value in ("x", "x#{E:@tmuxagents_mark}")] == [None, None]
    assert tmux_texts.WINDOW.parted(tmux_texts.WINDOW.joined(tmux_texts.WINDOW.joined("x"))) is None


def test_the_mark_has_a_sign_for_each_way_that_a_run_stands() -> None:
    assert re.findall(r"@tmuxagents_state\},(\w+)\}", tmux_texts.FORMAT) == [
        "queued",
        "waiting",
        "aborted",
        "failed",
        "completed",
    ]
    assert tmux_texts.FORMAT.count("{") == tmux_texts.FORMAT.count("}")
    assert "'" not in tmux_texts.FORMAT  # the line has it in such quotes


def test_no_mark_has_the_colour_of_tmuxs_own_status_line() -> None:
    assert set(re.findall(r"fg=(\w+)", tmux_texts.FORMAT)) == {"red", "magenta", "yellow"}


def test_all_keys_lead_to_popups_of_the_same_program() -> None:
    lines = tmux_texts.lines("C-g", "/usr/bin/tmuxagents")
    assert tmux_texts.key_of("\n".join(("# x", *lines))) == "C-g"
    assert lines[-1] == f"set-option -g @tmuxagents_keys '{tmux_texts.note(lines)}'"
    assert re.fullmatch("C-g [0-9a-f]{8}", tmux_texts.note(lines))
    keys = [line.split()[3] for line in lines if line.startswith("bind-key -T tmuxagents ")]
    assert keys == ["n", "b", "a", "t", "o", "d", "g", "x", "m"]
    assert all(line.count("/usr/bin/tmuxagents ") == 1 for line in lines[:7])
    folder = "#{?#{@tmuxagents_folder},#{@tmuxagents_folder},#{pane_current_path}}"
    assert lines[0].endswith(f"-d '{folder}' '/usr/bin/tmuxagents attach --next || read -r _'")
    assert lines[4].endswith("'/usr/bin/tmuxagents output; read -r _'")
    assert lines[8].count(f"-d '{folder.replace('#', '##')}' ") == 7  # a menu expands its texts
    assert lines[-2] == "set-option -g @tmuxagents_close_key '#{prefix} C-g x'"
    assert all(f", {key} " in tmux_texts.summary("C-g") for key in (*keys[1:],))
    assert tmux_texts.note(lines) != tmux_texts.note(tmux_texts.lines("C-g", "/opt/tmuxagents"))


@pytest.mark.parametrize(
    "program", ["/a b/tmuxagents", "/it's/tmuxagents", "/#(x)/tmuxagents", "./tmuxagents", ""]
)
def test_a_path_that_tmux_could_misread_is_left_to_the_shell_to_find(program: str) -> None:
    assert tmux_texts.lines("A", program) == tmux_texts.lines("A", "tmuxagents")


@pytest.mark.parametrize(
    ("binding", "ours"),
    [
        ("bind-key -T prefix A switch-client -T tmuxagents", True),
        ("bind-key -T prefix A switch-client -T other", False),
        ("", False),
    ],
)
def test_a_binding_is_known_as_ours(binding: str, ours: bool) -> None:  # noqa: FBT001  (a column of the table)
    assert tmux_texts.leads_here(binding) == ours
    assert tmux_texts.key_of("set -g mouse on") is None
