"""The verbs together: unknown ones, help, versions, and --json in front of them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import click
import pytest

from tests.status.watchers import COMMAND
from tests.terminal import Terminal
from tmuxagents import __version__
from tmuxagents.cli import HIDDEN, VERBS, group, meant
from tmuxagents.cli.group import tmuxagents

if TYPE_CHECKING:
    from tests.harness import Home


@pytest.mark.parametrize(
    ("typed", "verb"),
    [
        *[("lauch", "launch"), ("polll", "poll"), ("transcrpt", "transcript"), ("LAUNCH", "launch")],
        *[
            ("list", "poll"),
            ("lsit", "poll"),
            ("spawn", "launch"),
            ("ask", "run"),
            ("result", "output"),
            ("delete", "prune"),
        ],
        *[("message", "send"), ("abort", "stop"), ("init", "setup"), ("version", "--version")],
    ],
)
def test_an_unknown_verb_leads_to_the_one_that_is_meant(typed: str, verb: str) -> None:
    error = group.unknown(typed)
    assert (error.candidates, error.hint, error.exit_code) == ([verb], f"did you mean {verb}?", 2)


def test_a_verb_like_no_other_leads_to_the_list() -> None:
    error = group.unknown("xyzzy\x1b[31m" + "x" * 80)
    everyday = "launch, run, poll, wait, output, send, resume, stop; tmuxagents --help lists all verbs"
    assert (error.candidates, error.hint) == ([], everyday)
    assert "\x1b" not in error.message
    assert len(error.message) < 70


def test_every_word_that_is_understood_leads_to_a_verb() -> None:
    ways = {way.split()[0] for way in meant.VERBS.values()}
    assert ways <= {*VERBS, "--version"}
    assert not set(meant.VERBS) & set(VERBS)


def test_what_is_like_no_verb_leads_to_none_by_its_spelling() -> None:
    """Half of the letters of a verb do not make it that verb."""
    for word in ("statement", "machine", "retrieve"):
        assert group.unknown(word).candidates == [], word


def test_every_name_is_a_verb() -> None:
    context = click.Context(tmuxagents, info_name="tmuxagents")
    for name in (*VERBS, *HIDDEN, *group._ALIASES):
        assert tmuxagents.get_command(context, name) is not None, name


def shown(*words: str) -> str:
    """Return the help of a verb as click makes it."""
    context: click.Context = click.Context(tmuxagents, info_name="tmuxagents")
    for word in words:
        assert isinstance(context.command, click.Group)
        command = context.command.get_command(context, word)
        assert command is not None
        context = click.Context(command, info_name=word, parent=context)
    return context.get_help()


def test_no_line_of_a_help_is_cut() -> None:
    for verb in VERBS:
        assert "..." not in shown(verb).replace("]...", "").replace("RUN...", ""), verb


def test_help_explains_a_verb_as_the_verb_itself_does(home: Home) -> None:
    for words in ([], ["poll"], ["presets", "new"]):
        said = home.command("help", *words)
        assert (said.returncode, said.stdout) == (0, home.command(*words, "--help").stdout)
    assert home.command("help", "lauch").stderr == 'There is no verb "lauch".\nhint: did you mean launch?\n'
    odd = home.command("help", "presets", "lauch")
    assert (odd.returncode, odd.stderr.splitlines()[0]) == (2, 'tmuxagents presets has no verb "lauch".')
    assert home.command("help", "poll", "x").returncode == 2


@pytest.mark.parametrize("word", ["-V", "--version"])
def test_the_version(home: Home, word: str) -> None:
    assert home.command(word).stdout == f"tmuxagents, version {__version__}\n"


def test_json_is_asked_for_before_the_verb_too(home: Home) -> None:
    for verb in (["poll"], ["presets", "list"], ["presets", "ls"], ["models"]):
        before, after = (
            json.loads(home.command(*line).stdout) for line in (["--json", *verb], [*verb, "--json"])
        )
        assert before.keys() == after.keys()
    error = json.loads(home.command("--json", "poll", "nope").stdout)["error"]
    assert (error["kind"], error["exit"]) == ("unknown-run", 4)
    error = json.loads(home.command("--json", "help").stdout)["error"]
    assert (error["kind"], error["message"]) == ("usage", "help has no --json.")
    alone = home.command("--json")
    assert (alone.returncode, json.loads(alone.stdout)["error"]["message"]) == (2, "--json needs a verb.")


def on_narrow(columns: int, home: Home, *words: str) -> tuple[int, list[str]]:
    """Return the exit code of a command, and its lines on a terminal with this many columns."""
    argv = ["sh", "-c", f'stty cols {columns}; exec "$@"', "sh", *COMMAND, *words]
    person = Terminal(argv, home.environment, home.project)
    code = person.left()
    lines = person.text.splitlines()
    person.close()
    return code, lines


def test_no_word_of_an_error_is_broken_where_the_terminal_ends(home: Home) -> None:
    code, lines = on_narrow(34, home, "output", "nope")
    assert code == 4
    assert max(map(len, lines)) <= 34
    assert " ".join(" ".join(lines).split()) == (
        'There is no run "nope". hint: name it by its name or id, or by a beginning of one '
        "(two letters, four digits)"
    )


def test_no_line_of_tools_is_broken_in_a_word(home: Home) -> None:
    code, lines = on_narrow(50, home, "tools")
    assert (code, max(map(len, lines)) <= 50) == (0, True)
    assert " ".join(" ".join(lines).split()) == " ".join(home.command("tools").stdout.split())


def test_a_long_value_leaves_the_sources_of_settings_in_sight(home: Home) -> None:
    assert home.command("config", "set", "onEnd", "notify-send", "x" * 200).returncode == 0
    _, lines = on_narrow(80, home, "config")
    assert max(map(len, lines)) <= 80
    ((_, value, source),) = [re.split(" {2,}", line) for line in lines if line.startswith("onEnd ")]
    assert (value[:15], value[-1], source[:1]) == ('["notify-send",', "…", "/")
    assert f"{'x' * 200}" in home.command("config").stdout


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ("poll -n many", "Invalid value for '-n' / '--last': 'many' is not a whole number."),
        ("replay --speed fast", "Invalid value for '--speed': 'fast' is not a number."),
        ("poll --since yesterday", '"yesterday" is neither a time nor a cursor.'),
    ],
)
def test_a_wrong_value_is_named(home: Home, words: str, refusal: str) -> None:
    done = home.command(*words.split())
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, refusal)


def test_other_names_stand_beside_their_verb_in_the_help() -> None:
    page = shown()
    assert "  poll, ls, ps, status  " in page
    assert "  transcript, logs  " in page
