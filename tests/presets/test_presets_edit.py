"""presets new, edit and rm: by flags, in an editor, by questions on a terminal."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.harness import eventually
from tests.presets.shelf import EXAMPLE, Shelf
from tests.status.watchers import COMMAND
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness import Home


@pytest.fixture
def shelf(home: Home) -> Shelf:
    return Shelf(home)


# --- new --------------------------------------------------------------------------------------------------


def test_a_preset_is_made_by_flags(shelf: Shelf) -> None:
    done = shelf(
        "new", "writer", "-d", "Writes: docs", "-t", "read,edit", "-m", "a/b", "--prompt", "Write.\n"
    )
    path = shelf.own / "writer.md"
    assert (done.returncode, done.stdout) == (0, f'Saved the preset "writer": {path}\n')
    assert path.read_text() == (
        '---\nname: writer\ndescription: "Writes: docs"\nmodel: a/b\ntools: read,edit\n---\n\nWrite.\n'
    )
    assert [stat.S_IMODE(made.stat().st_mode) for made in (path, shelf.own)] == [0o600, 0o700]


def test_a_profile_of_the_project_is_made_by_flags(shelf: Shelf) -> None:
    shelf.home.project.joinpath(".git").mkdir()
    settings = ("--set", "noTools=true", "--set", 'suggestedSkills=["a,b", c]', "--set", "thinkingLevel=high")
    made = shelf.document("new", "p", "--profile", "--project", *settings)
    assert (made["source"], made["kind"], made["suggestedSkills"]) == ("project", "profile", ["a,b", "c"])
    assert made["path"] == f"{shelf.home.project}/.pi/agent-profiles/p.md"
    assert made == shelf.document("show", "p")


def test_a_prompt_is_read_from_stdin(shelf: Shelf) -> None:
    environment = shelf.home.environment
    done = shelf.home.command(
        "presets", "new", "a", "-d", "d", "--prompt", "-", env=environment, input="Text\n"
    )
    assert (done.returncode, shelf.document("show", "a")["systemPrompt"]) == (0, "Text")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("new",), "Missing argument 'NAME'."),
        (("create", "@bad"), 'A preset cannot have the name "@bad".'),
        (("new", "repo-scout"), 'There is a preset "repo-scout" already.'),
        (("new", "a", "-m", "x"), None),
        (
            ("new", "a", "-d", "x", "--set", "timeout=x"),
            "timeout: this must be a duration like 90s or 5m, at least 1s",
        ),
        (("new", "a", "--profile", "-d", "x"), "A profile has no description."),
        (("new", "a"), "The editor needs a terminal."),
        (("new", "a", "--ask"), "The editor needs a terminal."),
        (("edit",), "Missing argument 'NAME'."),
        (("edit", "ghost"), 'Unknown preset: "ghost". Available presets: repo-scout'),
        (("edit", "repo-scout"), "The editor needs a terminal."),
        (("edit", "repo-scout", "--set", "description="), None),
        (("rm",), "Missing argument 'NAME'."),
        (("delete", "ghost"), 'Unknown preset: "ghost". Available presets: repo-scout'),
        (("remove", "repo-scout"), 'Remove the preset "repo-scout"?'),
    ],
)
def test_what_cannot_be_done_changes_nothing(
    shelf: Shelf, arguments: tuple[str, ...], message: str | None
) -> None:
    path = shelf.put(shelf.own / "repo-scout.md", EXAMPLE)
    problem = shelf.error(*arguments)
    assert problem["exit"] == 2
    if message is None:
        assert "description: it is missing" in problem["message"]
    else:
        assert problem["message"] == message
    assert "/profile" not in f"{problem['message']} {problem['hint']}"
    assert (os.listdir(shelf.own), path.read_text()) == (["repo-scout.md"], EXAMPLE)


@pytest.mark.parametrize(
    ("prompt", "why"),
    [("a\udcff", "it is not UTF-8"), ("x" * 65536, "it is larger than 64 KB")],
    ids=["letters", "size"],
)
def test_a_file_that_could_not_be_read_is_not_written(shelf: Shelf, prompt: str, why: str) -> None:
    problem = shelf.error("new", "a", "-d", "d", "--prompt", prompt)
    assert (problem["message"], problem["hint"]) == (f"{shelf.own}/a.md: {why}", "nothing was written")
    assert (problem["exit"], shelf.own.exists()) == (2, False)


def test_a_home_directory_is_no_project(shelf: Shelf) -> None:
    done = shelf.home.command("presets", "new", "a", "-d", "d", "--project", cwd=shelf.home.folder)
    assert done.returncode == 2
    assert "cannot be a project" in done.stderr


def test_nothing_is_written_where_others_can_write(shelf: Shelf) -> None:
    shelf.own.mkdir()
    shelf.own.chmod(0o777)
    problem = shelf.error("new", "a", "-d", "d")
    assert problem["message"] == f"{shelf.own}: others can write to it (chmod go-w)"
    assert os.listdir(shelf.own) == []


@pytest.mark.parametrize("link", [".pi", ".pi/subagents"])
def test_a_link_of_a_clone_leads_no_new_file_out_of_it(shelf: Shelf, link: str) -> None:
    elsewhere = shelf.home.folder / "elsewhere"
    elsewhere.mkdir()
    place = shelf.home.project / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(elsewhere)
    problem = shelf.error("new", "a", "-d", "d", "--project")
    assert problem["message"] == f"{shelf.theirs}: it is a symbolic link that leaves the project"
    assert os.listdir(elsewhere) == []


# --- edit -------------------------------------------------------------------------------------------------


def test_fields_are_changed_by_flags(shelf: Shelf) -> None:
    path = shelf.put(shelf.own / "x.md", EXAMPLE)
    changed = shelf.document("edit", "repo-scout", "-m", "a/b", "-t", "read", "--set", "timeout=90")
    assert (changed["model"], changed["tools"], changed["timeout"]) == ("a/b", ["read"], 90)
    assert changed == shelf.document("show", "repo-scout")
    shelf("edit", "repo-scout", "--set", "timeout=5m")
    assert shelf.document("edit", "repo-scout", "--set", "nesting=1")["timeout"] == 300
    assert "\ntimeout: 5m\n" in path.read_text()
    shelf("edit", "repo-scout", "--set", "nesting=")
    shelf("edit", "repo-scout", "--set", "model=", "--set", "timeout=")
    assert path.read_text() == EXAMPLE.replace("model: github-copilot/gpt-4o\n", "").replace(
        "read,grep,find,ls", "read"
    ).replace("---\nLook", "---\n\nLook")


def test_what_flags_cannot_keep_is_told(shelf: Shelf) -> None:
    shelf.put(shelf.profiles / "p.md", "---\nname: p\ncolour: red\n---\n")
    assert shelf.warnings("edit", "p", "-m", "x/y") == [
        "lost: line 3, colour: a profile has no such key; it is ignored"
    ]


def editor(shelf: Shelf, script: str) -> dict[str, str]:
    """Return the environment for an editor that does what a script says with its file."""
    program = shelf.put(shelf.home.folder / "editor", f"#!/bin/sh\nsleep 0.02\n{script}\n")
    program.chmod(0o755)
    return {"EDITOR": str(program)}


def test_a_file_is_changed_in_an_editor(shelf: Shelf) -> None:
    path = shelf.put(shelf.own / "a.md", EXAMPLE)
    done = shelf("edit", "--editor", "repo-scout", **editor(shelf, 'echo "More." >> "$1"'))
    assert (done.returncode, path.read_text()) == (0, EXAMPLE + "More.\n")


def test_a_new_file_is_written_in_an_editor(shelf: Shelf) -> None:
    done = shelf(
        "new", "--editor", "a", **editor(shelf, 'sed -i "s/^description: .*/description: Mine/" "$1"')
    )
    assert done.returncode == 0
    assert shelf.document("show", "a")["description"] == "Mine"


def test_who_changes_nothing_in_the_editor_has_cancelled(shelf: Shelf) -> None:
    path = shelf.put(shelf.own / "a.md", EXAMPLE)
    for script in ("true", 'cat "$1" > "$1.x"; mv "$1.x" "$1"'):
        done = shelf("edit", "--editor", "repo-scout", **editor(shelf, script))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "Cancelled.\n")
    done = shelf("new", "--editor", "b", **editor(shelf, "true"))
    assert (done.returncode, done.stderr) == (0, "Cancelled.\n")
    assert (path.read_text(), os.listdir(shelf.own)) == (EXAMPLE, ["a.md"])


def test_a_bad_file_from_the_editor_is_not_written(shelf: Shelf) -> None:
    path = shelf.put(shelf.own / "a.md", EXAMPLE)
    done = shelf("edit", "--editor", "repo-scout", **editor(shelf, 'echo "---" > "$1"'))
    assert (done.returncode, path.read_text()) == (2, EXAMPLE)
    assert "nothing was written" in done.stderr


def test_a_file_that_was_changed_meanwhile_is_not_written_over(shelf: Shelf) -> None:
    path = shelf.put(shelf.own / "a.md", EXAMPLE)
    script = f'echo "Theirs." >> {path}; echo "Mine." >> "$1"'
    done = shelf("edit", "--editor", "repo-scout", **editor(shelf, script))
    assert (done.returncode, path.read_text()) == (2, EXAMPLE + "Theirs.\n")
    assert f"{path} was changed meanwhile." in done.stderr


def test_an_editor_that_fails_is_an_error(shelf: Shelf) -> None:
    shelf.put(shelf.own / "a.md", EXAMPLE)
    done = shelf("edit", "--editor", "repo-scout", **editor(shelf, "exit 3"))
    assert (done.returncode, "hint: set EDITOR to one that works" in done.stderr) == (2, True)


def test_an_editor_that_saves_no_utf_8_is_told_so(shelf: Shelf) -> None:
    path = shelf.put(shelf.own / "a.md", EXAMPLE)
    done = shelf("edit", "--editor", "repo-scout", **editor(shelf, "printf '\\377' >> \"$1\""))
    assert (done.returncode, path.read_text()) == (2, EXAMPLE)
    assert done.stderr.startswith("What the editor has saved is not UTF-8.\n")


# --- rm ---------------------------------------------------------------------------------------------------


def test_all_files_of_a_name_are_removed(shelf: Shelf) -> None:
    own, theirs = shelf.put(shelf.own / "a.md", EXAMPLE), shelf.put(shelf.theirs / "b.md", EXAMPLE)
    other = shelf.put(shelf.own / "c.md", EXAMPLE.replace("repo-scout", "other"))
    done = shelf("rm", "--yes", "repo-scout")
    assert (done.returncode, done.stdout) == (0, 'Removed the preset "repo-scout".\n')
    assert done.stderr == f"{theirs}\n{own}\n"
    assert (own.exists(), theirs.exists(), other.exists()) == (False, False, True)


def test_a_source_says_which_one(shelf: Shelf) -> None:
    own, theirs = shelf.put(shelf.own / "a.md", EXAMPLE), shelf.put(shelf.theirs / "b.md", EXAMPLE)
    assert shelf.document("rm", "-y", "project:repo-scout") == {"v": 1, "removed": [str(theirs)]}
    assert own.exists()


def test_a_bad_file_can_be_removed(shelf: Shelf) -> None:
    path = shelf.put(shelf.own / "a.md", "---\nname: a\n---\n")
    assert shelf("rm", "-y", "a").returncode == 0
    assert not path.exists()


# --- on a terminal ----------------------------------------------------------------------------------------


class Typing(Terminal):
    """Somebody at a terminal."""

    def __init__(self, shelf: Shelf, *arguments: str) -> None:
        home = shelf.home
        super().__init__([*COMMAND, "presets", *arguments], home.environment, home.project)
        self._seen = 0

    def sees(self, words: str) -> None:
        """Wait until something is written there that was not seen before."""
        eventually(lambda: words in self.text[self._seen :])
        self._seen = self.text.index(words, self._seen) + len(words)

    def answers(self, *questions_and_answers: str) -> None:
        """Wait for each question and type its answer."""
        pairs = zip(questions_and_answers[::2], questions_and_answers[1::2], strict=True)
        for question, answer in pairs:
            self.sees(question)
            self.type(f"{answer}\n")


@contextmanager
def terminal(shelf: Shelf, *arguments: str) -> Iterator[Typing]:
    made = Typing(shelf, *arguments)
    try:
        yield made
    finally:
        made.close()


def test_questions_in_their_order(shelf: Shelf) -> None:
    with terminal(shelf, "new", "p", "--profile", "--ask") as typing:
        typing.answers(
            *("Scope", "", "Provider", "anthropic", "Model", "claude", "System prompt", "Be: brief."),
            *("appended", "", "Thinking", "high", "Tools", "blacklist", "All but these", "bash, write"),
            *("Extensions", "remove", "Skills", "add", "Suggested skills", "a", "Skills to load", ""),
        )
        typing.sees("  excludeTools:      [bash, write]")
        typing.answers("Save?", "y")
        typing.sees('Saved the preset "p": ')
        assert typing.left() == 0
    assert (shelf.profiles / "p.md").read_text() == (
        "---\nname: p\nprovider: anthropic\nmodel: claude\nthinkingLevel: high\nnoExtensions: true\n"
        "excludeTools: bash,write\nsuggestedSkills: a\n---\n\nBe: brief.\n"
    )


def test_questions_about_a_preset(shelf: Shelf) -> None:
    with terminal(shelf, "new", "scout", "--ask") as typing:
        typing.answers(
            *("Scope", "project", "Description", "", "Description", "Looks", "Model", ""),
            *("System prompt", "", "Tools", "read,ls", "Save?", ""),
        )
        assert typing.left() == 0
    made = shelf.home.project / ".pi/subagents/scout.md"
    assert made.read_text() == "---\nname: scout\ndescription: Looks\ntools: read,ls\n---\n"


@pytest.mark.parametrize("steps", range(5))
def test_who_leaves_at_any_question_has_saved_nothing(shelf: Shelf, steps: int) -> None:
    script = ("Scope", "", "Description", "d", "Model", "m", "System prompt", "x", "Tools", "read")
    with terminal(shelf, "new", "scout", "--ask") as typing:
        typing.answers(*script[: 2 * steps])
        typing.sees(script[2 * steps])
        typing.interrupt()
        assert typing.left() == 130
        typing.sees("Cancelled.")
    assert not shelf.own.exists()


def test_who_does_not_want_to_save_has_cancelled(shelf: Shelf) -> None:
    with terminal(shelf, "new", "p", "--profile", "--ask") as typing:
        typing.answers(
            *("Scope", "", "Provider", "", "Model", "", "System", "", "appended", "", "Thinking", "")
        )
        typing.answers(*("Tools", "none", "Extensions", "", "Skills", "", "Save?", "n"))
        typing.sees("Cancelled.")
        assert typing.left() == 0
    assert not shelf.profiles.exists()


@pytest.mark.parametrize(("answer", "remains"), [("n", True), ("y", False)])
def test_it_is_asked_before_a_file_is_removed(shelf: Shelf, answer: str, *, remains: bool) -> None:
    path = shelf.put(shelf.own / "a.md", EXAMPLE)
    with terminal(shelf, "rm", "repo-scout") as typing:
        typing.sees(str(path))
        typing.answers('Remove the preset "repo-scout"?', answer)
        assert typing.left() == 0
    assert path.exists() == remains


def test_a_bad_file_can_be_edited_again(shelf: Shelf) -> None:
    path = shelf.put(shelf.own / "a.md", EXAMPLE)
    again = 'touch "$HOME/again"; sed -i "s/^d/xd/" "$1"'
    script = f'if [ -e "$HOME/again" ]; then sed -i "s/^x//" "$1"; else {again}; fi'
    shelf.home.environment |= editor(shelf, f'{script}; echo "More." >> "$1"')
    with terminal(shelf, "edit", "repo-scout") as typing:
        typing.sees("description: it is missing")
        typing.answers("Edit again?", "y")
        typing.sees('Saved the preset "repo-scout"')
        assert typing.left() == 0
    assert path.read_text() == EXAMPLE + "More.\nMore.\n"


def test_a_new_preset_begins_with_a_template_that_says_what_it_can_hold(shelf: Shelf) -> None:
    changes = "s|^# model: .*|model: a/b|; s|^description: .*|description: Mine|"
    script = f'cp "$1" "$HOME/template"; sed -i "{changes}" "$1"'
    shelf.home.environment |= editor(shelf, script)
    with terminal(shelf, "new", "mine") as typing:
        typing.sees('Saved the preset "mine"')
        assert typing.left() == 0
    made = shelf.document("show", "mine")
    assert (made["model"], made["description"], made["tools"]) == ("a/b", "Mine", [])
    template = shelf.home.folder.joinpath("template").read_text()
    assert all(f"# {key}: " in template for key in ("model", "tools", "timeout", "driver", "nesting"))
