"""The hidden verbs that our extension of pi calls: _follow, _agents and _profile.

A verb and the extension exchange JSON lines. The extension shows the verb's messages, asks the person the
verb's questions, and writes the answers to the verb's stdin.

Joins.
"""

from __future__ import annotations

import json
import os

import click

from tmuxagents import companion
from tmuxagents.attach import attach
from tmuxagents.cli import printing, values
from tmuxagents.errors import TmuxAgentsError
from tmuxagents.presets import change, describe, editing
from tmuxagents.presets.fields import GLOBAL, PROFILE
from tmuxagents.registry import lookup
from tmuxagents.registry.lookup import with_registry
from tmuxagents.runs import output, words
from tmuxagents.runs.inspect import inspect
from tmuxagents.status import table
from tmuxagents.status.snapshot import SnapshotBuilder
from tmuxagents.status.stop import stop
from tmuxagents.system.lifeline import Lifeline
from tmuxagents.text import jsonline, safe
from tmuxagents.tools import answers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from tmuxagents.registry.database import Registry
    from tmuxagents.runs.inspect import RunView
    from tmuxagents.status.snapshot import Snapshot

INFO, WARNING, ERROR = "info", "warning", "error"
ATTACH, OUTPUT, STOP = "attach", "output", "stop"
_MOST = 50
_NONE = "This session has launched no runs."
_EMPTY = "(none)"
_ALONE = click.option("--alone", is_flag=True, help="No person can answer.")


@click.command(hidden=True)
@values.ALWAYS_JSON
def follow() -> int:
    """Watch the background runs of the session whose entries come on stdin, and report what is new."""
    return companion.follow(printing.write)


# --- /agents ---


@click.command(hidden=True)
@_ALONE
def agents(*, alone: bool) -> None:
    """Show the runs of a session, and attach to one, read or stop it."""
    talk, caller = ParentTalk(alone=alone), lookup.here()

    def newest(registry: Registry) -> Snapshot:
        query = companion.everything(caller)
        rows = registry.rows(query.scope, limit=_MOST)
        return SnapshotBuilder(registry, query, caller).show([row.run_id for row in rows], rows)

    found, _ = with_registry(caller, newest)
    head = words.status_line(found.counts, found.waiting, unreachable=found.unreachable)
    header, *rows = table.lines(found.rows, found.at) or [_NONE]
    if talk.alone or not rows:
        talk.say("\n".join([head, header, *rows]))
        return
    row = talk.select(head, rows)
    if row not in rows:
        return
    run_dir = f"{caller.runs}/{found.rows[rows.index(row)].run['runId']}"
    run = inspect(run_dir)
    act = talk.select(row, [ATTACH, OUTPUT, *([] if run.ended else [STOP])])
    if act is None:
        return
    try:
        if act == ATTACH:
            _attach(talk, run)
        elif act == OUTPUT:
            talk.say(output.answer(run) or f"Run {run.run_id} has said nothing yet.")
        else:
            (stopped,) = stop([run_dir])
            now = {"runId": stopped.run_id, "status": stopped.standing.status}
            talk.say(answers.stopped(now, before=run.standing.status))
    except TmuxAgentsError as problem:
        hint = f"\n{problem.hint}" if problem.hint else ""
        talk.say(f"{problem.message}{hint}", ERROR)


def _attach(talk: ParentTalk, run: RunView) -> None:
    """Switch the person's tmux client to the run's window. If pi is not in tmux, say how to see it."""
    command = f"tmuxagents attach {words.short_id(run.run_id)}"
    target, _ = attach.find_window(run)
    if target is None:
        talk.say(f"Its window is gone. In another terminal: {command}", WARNING)
        return
    if not os.environ.get("TMUX"):
        talk.say(f"pi does not run inside tmux. In another terminal: {command}", WARNING)
        return
    viewer = attach.find_viewer(os.environ, None, hint=command)
    if attach.show(viewer, target) is not None:
        talk.say(f"In another terminal: {command}", WARNING)


# --- /profile ---


@click.command(hidden=True)
@click.argument("line", default="")
@click.option("--words", "only_words", is_flag=True, help="Print what could be typed.")
@_ALONE
def profile(*, line: str, only_words: bool, alone: bool) -> None:
    """Carry out what a person typed after /profile."""
    profiles = {one.name: one.fields for one in _shelf().survey.presets if one.hidden_by is None}
    if only_words:
        typed = describe.profile_completions("", profiles) or []
        printing.write(jsonline.encode({"words": typed}))
        return
    talk = ParentTalk(alone=alone)
    answer = describe.profile_answer(line, profiles)
    if answer.note is not None:
        level, text = answer.note
        talk.say(text, level)
    if answer.act is None or answer.name is None:
        return
    try:
        if answer.act == describe.CREATE:
            shelf = _shelf()
            answers = editing.ask_for_preset(PROFILE, answer.name, GLOBAL, talk)
            if answers is None:
                raise talk.cancelled()
            draft = shelf.place(answer.name, kind=PROFILE, source=answers.source)
            draft = draft._replace(text=editing.compose(answer.name, answers.fields, PROFILE))
            talk.say(describe.profile_saved(change.create(draft)))
        elif answer.act == describe.EDIT:
            _edit(talk, answer.name)
        elif answer.question and answer.afterwards and talk.agrees(*answer.question):
            change.remove(_shelf().named(answer.name))
            level, text = answer.afterwards
            talk.say(text, level)
    except TmuxAgentsError as problem:
        talk.say(problem.message, ERROR)


def _shelf() -> change.PresetShelf:
    return change.PresetShelf(lookup.here(), os.environ)


def _edit(talk: ParentTalk, name: str) -> None:
    """Let the person edit the file in force, until it has no flaws."""
    draft = change.text_of(_shelf().named(name)[0])
    before = draft.text
    while True:
        text = talk.edit(draft.path, draft.text)
        if text is None or text == before:
            raise talk.cancelled()
        draft = draft._replace(text=text)
        flaws = editing.flaws_of(draft)
        if not flaws:
            break
        talk.say("\n".join(flaw.words() for flaw in flaws), ERROR)
    talk.say(describe.profile_saved(change.rewrite(draft)))


# --- the talk ---


class PersonLeft(click.exceptions.Exit):
    """The person has left the talk, or there is no person; nothing was changed."""

    def __init__(self) -> None:
        super().__init__(0)


class ParentTalk:
    """One talk with the extension. The wizard for presets asks its questions here, too.

    `alone`: no person can answer, and pi decides where the messages go.
    """

    def __init__(self, *, alone: bool = False) -> None:
        self.alone = alone
        self._partner = Lifeline()

    def say(self, text: str, level: str = INFO) -> None:
        """Print a message."""
        printing.write(jsonline.encode({"say": safe.text(text), "level": level}))

    def select(self, title: str, options: Iterable[str]) -> str | None:
        """Let the person choose a line. Return it as it was shown; None if the person chose none."""
        return self._ask_text("select", title, options=[safe.text(option) for option in options])

    def edit(self, title: str, text: str) -> str | None:
        """Let a person edit a text, and return it; None if they discarded it."""
        return self._ask_text("editor", title, text=text)

    def agrees(self, question: str, text: str) -> bool:
        """Show a text, and ask whether to continue."""
        return self._ask("confirm", question, text=text) is True

    def text(self, question: str) -> str:
        """Ask for a line, which may be empty."""
        return self._given(self._ask_text("input", question, text=None)).strip()

    def choice(self, question: str, choices: tuple[str, ...], default: str) -> str:
        """Ask for one of the given words; the default comes first."""
        words = [default, *(word for word in choices if word != default)]
        chosen = self._given(self.select(question, [word or _EMPTY for word in words]))
        return "" if chosen == _EMPTY and "" in choices else chosen

    def prompt(self, question: str) -> str:
        """Ask for a text of any length."""
        return self._given(self.edit(question, "")).strip()

    def cancelled(self) -> PersonLeft:
        """Report that nothing was changed; return the exception to raise."""
        self.say(describe.PROFILE_CANCELLED)
        return PersonLeft()

    def _given(self, answer: str | None) -> str:
        if answer is None:
            raise self.cancelled()
        return answer

    def _ask_text(self, kind: str, title: str, **more: Any) -> str | None:
        answer = self._ask(kind, title, **more)
        return answer if isinstance(answer, str) else None

    def _ask(self, kind: str, title: str, **more: Any) -> Any:
        if self.alone:
            self.say("There is nobody here to ask.", ERROR)
            raise PersonLeft
        printing.write(jsonline.encode({"ask": kind, "title": safe.line(title), **more}))
        line = self._partner.line()
        if line is None:
            raise PersonLeft
        try:
            answer = json.loads(line)
        except ValueError:
            return None
        return answer.get("answer") if isinstance(answer, dict) else None


VERBS = {"_follow": follow, "_agents": agents, "_profile": profile}
