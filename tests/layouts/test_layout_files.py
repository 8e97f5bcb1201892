"""Layout files: what they mean, and everything that is wrong with one, by line and field."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tmuxagents.errors import BadConfig, BadRequest, Fault
from tmuxagents.layouts import layout

PATH = "/layouts/mine.yaml"
WHOLE = """
session_name: mine
start_directory: src
options: {status: off, "@note": true}
windows:
  - window_name: first
    layout: main-vertical
    focus: "true"
    start_directory: ~/notes
    options: {main-pane-width: 90}
    panes:
      - vim
      - shell_command: [cd docs, ls]
        focus: true
      - null
      - blank
      - shell_command: tmuxagents top
        x-tmuxagents: {show: top}
      - x-tmuxagents: {show: transcript}
      - x-tmuxagents: {show: transcript, run: finder}
  - panes: [pane]
    x-tmuxagents: {each_run: pane}
x-tmuxagents:
  version: 1
  description: All that there is
  each_run: window
  launch:
    - {task: Look around, preset: repo-scout, timeout: 1m}
"""


def parsed(text: str, source: str = layout.GLOBAL, name: str = "mine") -> layout.Layout:
    return layout.parse(text, name=name, source=source, path=PATH)


def faults(text: str, source: str = layout.GLOBAL) -> list[str]:
    """Return what is wrong with a text, without its path; all of it stands in the error's message, too."""
    with pytest.raises(BadConfig) as raised:
        parsed(text, source)
    error = raised.value
    assert (error.kind, error.exit_code) == ("bad-layout", 2)
    assert error.message.startswith(error.faults[0].message[:60])
    assert len(error.message.splitlines()) == len(error.faults)
    return [fault.message.removeprefix(f"{PATH}, ") for fault in error.faults]


def test_all_that_may_stand_in_a_file_is_read() -> None:
    found = parsed(WHOLE)
    first, second = found.windows
    assert (found.session, found.folder, found.options) == ("mine", "src", {"status": "off", "@note": "on"})
    assert (found.description, found.each_run, found.follows) == ("All that there is", True, True)
    assert [dict(item) for item in found.launch] == [
        {"task": "Look around", "preset": "repo-scout", "timeout": 60}
    ]
    assert (first.name, first.layout, first.focus, first.folder) == (
        "first",
        "main-vertical",
        True,
        "~/notes",
    )
    assert first.options == {"main-pane-width": "90"}
    assert [(pane.show, pane.run, pane.commands, pane.focus) for pane in first.panes] == [
        (None, None, ("vim",), False),
        (None, None, ("cd docs", "ls"), True),
        (None, None, (), False),
        (None, None, (), False),
        ("top", None, (), False),
        ("transcript", "newest", (), False),
        ("transcript", "finder", (), False),
    ]
    assert (second.name, second.layout, second.each_run) == ("window", "tiled", True)


@pytest.mark.parametrize("run", ["newest", "@last", "0123456789abcdef", "01234567", "Review.API", "größe/2"])
def test_a_pane_may_show_any_run_that_has_a_name_or_id(run: str) -> None:
    found = parsed(f"windows: [{{panes: [{{x-tmuxagents: {{show: transcript, run: '{run}'}}}}]}}]")
    assert found.windows[0].panes[0].run == run


def test_a_document_tells_all_of_it() -> None:
    found = parsed(WHOLE).document()
    assert (found["sessionName"], found["eachRun"], len(found["launch"])) == ("mine", "window", 1)
    assert [window["eachRun"] for window in found["windows"]] == [None, "pane"]
    assert found["windows"][0]["panes"][-1] == {
        "show": "transcript",
        "run": "finder",
        "commands": [],
        "startDirectory": None,
        "focus": False,
    }


def test_a_session_is_called_as_its_file_unless_that_says_otherwise() -> None:
    assert parsed("windows: [{panes: [null]}]", name="board").session == "board"


WINDOW = "windows: [{panes: [null], %s}]"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ["line 1: here `key: value` lines are expected.", "line 1: windows: here a list of windows"]),
        ("windows: []", ["line 1: windows: here a list of windows is expected."]),
        ("windows: [{}]", ["line 1: windows[0].panes: here a list of panes is expected."]),
        ("windows: [x]", ["line 1: windows[0]: here `key: value`", "line 1: windows[0].panes: here a list"]),
        (
            "a: 1\nwindows: [{panes: [null]}]",
            ["line 1: a: this key is not supported; there are session_name,"],
        ),
        (
            "windows:\n - panes:\n    - shell_comand: x",
            ["line 3: windows[0].panes[0].shell_comand: this key"],
        ),
        (
            "before_script: x\nwindows: [{panes: [null]}]",
            ["line 1: before_script: this key is not supported"],
        ),
        (WINDOW % "layout: tilde", ["line 1: windows[0].layout: it is not one of even-horizontal,"]),
        (WINDOW % "layout: ''", ["line 1: windows[0].layout: it is not one of even-horizontal,"]),
        (WINDOW % "layout: ", ["line 1: windows[0].layout: this must be a text."]),
        (WINDOW % "layout: -o", ["line 1: windows[0].layout: it is not one of even-horizontal,"]),
        (WINDOW % "layout: 5", ["line 1: windows[0].layout: this must be a text."]),
        (WINDOW % "layout: 'b25e,80x24,0,0,0'", ["line 1: windows[0].layout: its checksum is wrong"]),
        (WINDOW % "window_name: 'a#(b)'", ["line 1: windows[0].window_name: a name has up to 32"]),
        (WINDOW % "focus: maybe", ["line 1: windows[0].focus: this must be true or false."]),
        (
            "windows: [{panes: [null]}]\nx-tmuxagents: {description: 5}",
            ["line 2: x-tmuxagents.description: this"],
        ),
        (WINDOW % "start_directory: 5", ["line 1: windows[0].start_directory: this must be a directory."]),
        (WINDOW % "options: {'a#(b)': 1}", ["line 1: windows[0].options.a#(b): this must be an o"]),
        ("session_name: A b\nwindows: [{panes: [null]}]", ["line 1: session_name: a name has up to 32"]),
        (
            "windows: [{panes: [{shell_command: 5}]}]",
            ["line 1: windows[0].panes[0].shell_command: a command"],
        ),
        ('windows: [{panes: ["a\\nb"]}]', ["line 1: windows[0].panes[0]: a command is one line of text."]),
        (
            "windows: [{panes: [{x-tmuxagents: {show: all}}]}]",
            ["line 1: windows[0].panes[0].x-tmuxagents.show: "],
        ),
        (
            "windows: [{panes: [{x-tmuxagents: {run: one}}]}]",
            ["line 1: windows[0].panes[0].x-tmuxagents.run: run"],
        ),
        (
            "windows: [{panes: [{x-tmuxagents: {show: transcript, run: '#(x)'}}]}]",
            ["line 1: windows[0].panes[0].x-tmuxagents.run: this must be newest, or"],
        ),
        (
            "windows: [{panes: [null]}]\nx-tmuxagents: {version: 2, each: 1}",
            ["line 2: x-tmuxagents.each: this key", "line 2: x-tmuxagents.version: this must be 1;"],
        ),
        (
            "windows: [{panes: [null]}]\nx-tmuxagents:\n  each_run: window",
            ["line 3: x-tmuxagents: each_run needs a pane with `show: top`"],
        ),
        (
            (
                "windows: [{panes: [null]}]\nx-tmuxagents:\n  launch:\n"
                "    - {preset: x}\n    - {task: x, agent: y}"
            ),
            [
                "line 4: x-tmuxagents.launch[0].task: this has no task.",
                "line 5: x-tmuxagents.launch[1].agent: ",
            ],
        ),
        ("windows: [", ["line 1: "]),
        ("a: &b 1", ["line 1: anchors and aliases"]),
        ("a: 1\na: 2", ['line 2: the key "a" occurs twice.']),
        ("[" * 8, ["line 1: it is nested deeper than 6 levels."]),
    ],
)
def test_each_fault_is_told_with_its_line_and_field(text: str, wanted: list[str]) -> None:
    found = faults(text)
    assert len(found) == len(wanted), found
    assert [line[: len(start)] for line, start in zip(found, wanted, strict=True)] == wanted


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("windows: [{panes: [{shell_command: x}]}]", "windows[0].panes[0].shell_command"),
        ("windows: [{panes: [x]}]", "windows[0].panes[0]"),
        ("windows: [{panes: [[x, y]]}]", "windows[0].panes[0]"),
        ("before_script: x\nwindows: [{panes: [null]}]", "before_script"),
        ("shell_command_before: x\nwindows: [{panes: [null]}]", "shell_command_before"),
        ("options: {default-command: x}\nwindows: [{panes: [null]}]", "options"),
        ("global_options: {default-command: x}\nwindows: [{panes: [null]}]", "global_options"),
        ("environment: {BASH_ENV: x}\nwindows: [{panes: [null]}]", "environment"),
        (WINDOW % "options: {remain-on-exit: on}", "windows[0].options"),
        (WINDOW % "options_after: {synchronize-panes: on}", "windows[0].options_after"),
        (WINDOW % "window_shell: x", "windows[0].window_shell"),
        ("windows: [{panes: [{shell: x}]}]", "windows[0].panes[0].shell"),
        ("windows: [{panes: [null]}]\nx-tmuxagents: {launch: [{task: x}]}", "x-tmuxagents.launch"),
        ("start_directory: /etc\nwindows: [{panes: [null]}]", "start_directory"),
        (WINDOW % "start_directory: ~/.ssh", "windows[0].start_directory"),
        ("windows: [{panes: [{start_directory: a/../../b}]}]", "windows[0].panes[0].start_directory"),
    ],
)
def test_the_layout_of_a_project_runs_no_command_and_stays_in_the_project(text: str, field: str) -> None:
    found = faults(text, layout.PROJECT)
    assert found[0].partition(": ")[2].startswith(f"{field}: ")
    assert "project" in found[0]


def test_the_layout_of_a_project_may_arrange_what_is_ours() -> None:
    text = """
start_directory: src/app
windows:
  - layout: tiled
    panes: [null, {x-tmuxagents: {show: top}}, {x-tmuxagents: {show: transcript, run: newest}}]
    x-tmuxagents: {each_run: pane}
"""
    assert parsed(text, layout.PROJECT).follows


# --- which one counts -------------------------------------------------------------------------------------


def one(source: str, name: str = "mine") -> layout.Layout:
    text = "windows: [{panes: [null]}]"
    return layout.parse(text, name=name, source=source, path=f"/{source}/{name}.yaml")


def bad(source: str, name: str = "mine") -> layout.Bad:
    error = layout.bad("/b", [Fault("bad-layout", "/b, line 3: no.")])
    return layout.Bad(name, source=source, path=f"/{source}/{name}.yaml", error=error)


def test_the_project_comes_before_the_user_and_the_user_before_what_is_shipped() -> None:
    shelf = layout.Shelf([one("shipped"), one("project"), one("global")])
    assert shelf.choose("mine").source == "project"
    assert [shelf.choose(f"{source}:mine").source for source in layout.SOURCES] == [*layout.SOURCES]
    assert [(one.source, one.hides, one.hidden_by) for one in shelf.layouts] == [
        ("project", "/global/mine.yaml", None),
        ("global", None, "/project/mine.yaml"),
        ("shipped", None, "/project/mine.yaml"),
    ]
    assert layout.hiding(shelf.choose("mine")) == "layout mine: the project's file hides /global/mine.yaml"
    assert layout.detail(shelf.choose("mine"))[-1] == "hides /global/mine.yaml"
    assert layout.hiding(shelf.choose("global:mine")) is None
    assert layout.table(shelf.layouts, 60)[2].split() == ["mine", "global", "(hidden)", "-"]


def test_a_bad_file_is_an_error_only_where_it_is_meant() -> None:
    shelf = layout.Shelf([bad("project"), one("shipped"), one("shipped", "other")])
    assert (shelf.choose("other").name, shelf.choose("shipped:mine").source) == ("other", "shipped")
    assert shelf.warnings == ["/b, line 3: no."]
    with pytest.raises(BadConfig, match="line 3"):
        shelf.choose("mine")


@pytest.mark.parametrize(
    ("name", "near"), [("min", ["mine"]), ("nothing", []), ("user:mine", ["mine"]), ("#(x)", [])]
)
def test_an_unknown_one_names_what_there_is(name: str, near: list[str]) -> None:
    with pytest.raises(BadRequest) as raised:
        layout.Shelf([one("shipped")]).choose(name)
    error: Any = raised.value
    assert (error.kind, error.exit_code) == ("unknown-layout", 2)
    assert error.message == f'Unknown layout: "{name}". Available layouts: mine'
    assert [*error.candidates] == near


def test_what_one_makes_is_told_line_by_line() -> None:
    assert layout.detail(parsed(WHOLE)) == [
        "mine: All that there is",
        "  session mine, and a window for each active run",
        "  launches repo-scout: Look around",
        "  window first (main-vertical)",
        "    a shell: vim",
        "    a shell: cd docs ; ls",
        "    a shell",
        "    a shell",
        "    top",
        "    transcript of newest",
        "    transcript of finder",
        "  window window (tiled)",
        "    a shell",
        "    the transcript of each active run, as they come and go",
        "",
        f"global: {PATH}",
    ]


# --- what the docs say ------------------------------------------------------------------------------------


def test_the_example_of_the_docs_is_a_layout() -> None:
    text = (Path(__file__).parents[2] / "docs" / "layouts.md").read_text("utf-8")
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    found = parsed(example)
    assert (found.session, len(found.windows), len(found.launch)) == ("review", 2, 1)
    keys = {*re.findall(r"`(\w+)(?:: \w+)?`", "".join(re.findall(r"^\|.*\|$", text, re.MULTILINE)))}
    assert {"session_name", "each_run", "launch", "shell_command", "show", "run", "focus"} <= keys
