"""What integrate tmux puts in front of windows' names, and behind a key: lines of configuration, as text."""

from __future__ import annotations

import re

import pytest

from tmuxagents.core import keytable, windowmarks


def test_the_mark_is_in_front_and_taken_out_again_only_from_there() -> None:
    for theirs in ("", "#I:#W#{?window_flags,#{window_flags}, }", "#[fg=red]x"):
        ours = windowmarks.OURS.joined(theirs)
        assert (windowmarks.OURS.is_in(theirs), windowmarks.OURS.is_in(ours)) == (False, True)
        assert windowmarks.OURS.parted(ours) == theirs
    assert [windowmarks.OURS.parted(value) for value in ("x", "x#{E:@tmuxagents_mark}")] == [None, None]
    assert windowmarks.OURS.parted(windowmarks.OURS.joined(windowmarks.OURS.joined("x"))) is None


def test_the_mark_has_a_sign_for_each_way_that_a_run_stands() -> None:
    assert re.findall(r"@tmuxagents_state\},(\w+)\}", windowmarks.FORMAT) == [
        "queued",
        "waiting",
        "aborted",
        "failed",
        "completed",
    ]
    assert windowmarks.FORMAT.count("{") == windowmarks.FORMAT.count("}")
    assert "'" not in windowmarks.FORMAT  # it stands in such quotes


def test_no_mark_has_the_colour_of_tmuxs_own_status_line() -> None:
    assert set(re.findall(r"fg=(\w+)", windowmarks.FORMAT)) == {"red", "magenta", "yellow"}


def test_all_keys_lead_to_popups_of_the_same_program() -> None:
    lines = keytable.lines("C-g", "/usr/bin/tmuxagents")
    assert keytable.key_of("\n".join(("# x", *lines))) == "C-g"
    assert lines[-1] == f"set-option -g @tmuxagents_keys '{keytable.note(lines)}'"
    assert re.fullmatch("C-g [0-9a-f]{8}", keytable.note(lines))
    keys = [line.split()[3] for line in lines if line.startswith("bind-key -T tmuxagents ")]
    assert keys == ["n", "b", "a", "t", "o", "d", "g", "m"]
    assert all(line.count("/usr/bin/tmuxagents ") == 1 for line in lines[:7])
    folder = "#{?#{@tmuxagents_folder},#{@tmuxagents_folder},#{pane_current_path}}"
    assert lines[0].endswith(f"-d '{folder}' '/usr/bin/tmuxagents attach --next || read -r _'")
    assert lines[4].endswith("'/usr/bin/tmuxagents output; read -r _'")
    assert lines[7].count(f"-d '{folder.replace('#', '##')}' ") == 7  # a menu expands what stands in it
    assert keytable.note(lines) != keytable.note(keytable.lines("C-g", "/opt/tmuxagents"))


@pytest.mark.parametrize(
    "program", ["/a b/tmuxagents", "/it's/tmuxagents", "/#(x)/tmuxagents", "./tmuxagents", ""]
)
def test_a_path_that_tmux_could_misread_is_left_to_the_shell_to_find(program: str) -> None:
    assert keytable.lines("A", program) == keytable.lines("A", "tmuxagents")


@pytest.mark.parametrize(
    ("binding", "ours"),
    [
        ("bind-key -T prefix A switch-client -T tmuxagents", True),
        ("bind-key -T prefix A switch-client -T other", False),
        ("", False),
    ],
)
def test_a_binding_is_known_as_ours(binding: str, ours: bool) -> None:  # noqa: FBT001  (a column of the table)
    assert keytable.leads_here(binding) == ours
    assert keytable.key_of("set -g mouse on") is None
