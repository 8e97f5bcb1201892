"""The demo, and the steps of setup: each says what is there, suggests one thing, may be skipped. Joins."""

from __future__ import annotations

import os
import sys
from collections import Counter

import click

from tmuxagents.agents import installed, resolve
from tmuxagents.cli import group, printing
from tmuxagents.cli.verbs import integrate, presets
from tmuxagents.errors import TmuxAgentsError, Unusable
from tmuxagents.integrate import parent_config, parents, pi, plan, tmux, tmux_texts
from tmuxagents.presets import survey
from tmuxagents.registry import lookup
from tmuxagents.settings import load
from tmuxagents.setup.config import SettingsFiles
from tmuxagents.system import places, process, shipped
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from tmuxagents.integrate.plan import Integration

STEPS = ("model", "status", "keys", "parents", "preset")
_NOT_READY = 3
_SHOWN = 3  # models of a provider


class Walk:
    """One walk through all steps. `yes`: take each suggestion, ask nothing."""

    def __init__(self, *, yes: bool, skipped: Collection[str]) -> None:
        self._yes = yes
        self._skipped = skipped
        self._settings = load.load(os.environ, None)
        self._agent = self._settings.default_agent
        self._has_pi = False  # whether it was found, wherever the settings say it is

    def walk(self) -> int:
        """Go through all steps; return the exit code."""
        printing.warn(self._settings.warnings)
        models = self._agents()
        if models is None:
            self._title("Not ready yet", "install it, then call setup again")
            return _NOT_READY
        acts: Sequence[Callable[[], object]] = (
            lambda: self._model(models),
            self._status,
            self._keys,
            self._parents,
            self._preset,
        )
        for step, act in zip(STEPS, acts, strict=True):
            if step not in self._skipped:
                act()
        if not models:
            self._title("Not ready yet", "tmuxagents doctor says what is missing; call setup again at will")
            return _NOT_READY
        self._title("Ready", 'try it: tmuxagents run "What is this project about?"')
        return 0

    # --- the steps

    def _agents(self) -> list[str] | None:
        """Say which agent is installed; return the models that it offers, None without an agent."""
        try:
            known = installed.known(self._agent, os.environ, self._settings, refresh=True)
        except TmuxAgentsError as error:
            self._title("Agent", error.message, f"hint: {error.hint}")
            return None
        self._has_pi = self._agent == "pi"
        program = f"{self._agent} {known.version or 'of an unknown version'}: {' '.join(known.command)}"
        counts = Counter(model.partition("/")[0] for model in known.ids or ())
        offered = ", ".join(f"{count} of {provider}" for provider, count in counts.items())
        missing = f"it offers no models: start {self._agent} and type /login"
        self._title("Agent", program, f"models: {offered}" if offered else missing, *known.warnings)
        return known.ids or []

    def _model(self, models: list[str]) -> None:
        chosen = self._settings.default_model
        if not models:
            return
        self._title("Default model", chosen or f"none: children use the one that {self._agent} would use")
        if self._yes:
            return
        others = [model for model in models if model != chosen]
        shown, more = others[: 2 * _SHOWN], len(others) - 2 * _SHOWN
        self._say(*shown, *([f"and {more} more: tmuxagents models"] if more > 0 else []))
        while answer := self._asked("A model, or a part of its name (Enter changes nothing)"):
            try:
                found = resolve.resolve(answer, self._agent, os.environ, self._settings)
            except TmuxAgentsError as error:
                self._say(error.message, *([f"hint: {error.hint}"] if error.hint else []))
                continue
            name = str(found.resolved)
            path = SettingsFiles(os.environ, None).put("defaultModel", name, "global")
            self._say(f"defaultModel is now {name} ({path})")
            return

    def _status(self) -> None:
        self._title("Status line", "counts of your runs in tmux's status line, marks on their windows")
        self._offer("Show them in tmux?", lambda: self._tmux(None), tmux.carry_out, suggested=True)

    def _keys(self) -> None:
        key = tmux_texts.DEFAULT
        self._title("Keys", f"your tmux prefix, then {key}: keys for the runs' windows, top and the next run")
        self._offer("Bind them?", lambda: self._tmux(key), tmux.carry_out, suggested=False)

    def _tmux(self, key: str | None) -> Integration:
        wanted = integrate.wanted_tmux(key, uninstall=False)
        return tmux.plan(os.environ, self._settings, wanted, socket=group.socket())

    def _parents(self) -> None:
        path = os.environ.get("PATH", "")
        if self._has_pi or process.find_program("pi", path) is not None:
            self._title("pi", "as a parent: tools, a footer, notices and commands to delegate to children")
            self._offer(
                "Let pi delegate?",
                lambda: pi.plan(os.environ, uninstall=False),
                pi.carry_out,
                suggested=True,
            )
        for target, name in parent_config.NAMES.items():
            if process.find_program(target, path) is not None:
                where = parents.place(target, os.environ, None)
                self._title(name, "as a parent: the tools over MCP, and a skill")
                self._offer(
                    f"Let {name} delegate?",
                    lambda where=where: parents.plan(where, uninstall=False),  # type: ignore[misc]
                    lambda found, where=where: parents.carry_out(found, where),  # type: ignore[misc]
                    suggested=True,
                )

    def _preset(self) -> None:
        known = survey.survey(lookup.folder() or "/", os.environ, self._settings).presets
        there = f"you have {len(known)}" if known else "you have none"
        self._title("Preset", f"a file that names how a child works: model, tools, instructions; {there}")
        if self._yes or not self._agrees("Write one now?", suggested=False):
            return
        name = self._asked("Its name (as scout; Enter leaves it)")
        if name:
            try:
                click.get_current_context().invoke(presets.new, name=name, in_editor=True)
            except TmuxAgentsError as error:
                self._say(error.message, *([f"hint: {error.hint}"] if error.hint else []))

    # --- how they speak

    def _offer(
        self,
        question: str,
        make: Callable[[], Integration],
        carry_out: Callable[[Integration], None],
        *,
        suggested: bool,
    ) -> None:
        """Offer one change of a person's files; it happens only if they agree."""
        try:
            found = make()
            if not found.changes:
                self._say("nothing to change", *map(plan.left, found.left), *found.warnings)
            elif self._agrees(question, suggested=suggested):
                carry_out(found)
                self._say(*map(plan.said, found.changes), *map(plan.left, found.left), *found.warnings)
        except TmuxAgentsError as error:
            self._say(error.message, *([f"hint: {error.hint}"] if error.hint else []))

    def _agrees(self, question: str, *, suggested: bool) -> bool:
        return suggested if self._yes else click.confirm(f"  {question}", default=suggested)

    def _asked(self, question: str) -> str:
        answer: str = click.prompt(f"  {question}", default="", show_default=False)
        return answer.strip()

    def _title(self, title: str, *lines: str) -> None:
        printing.lines(["", title])
        self._say(*lines)

    def _say(self, *lines: str) -> None:
        printing.lines(f"  {safe.line(line)}" for line in lines)


# --- the demo ---

_AGENT = "pi"


def demo_command(environment: Mapping[str, str], *, clean: bool) -> list[str]:
    """Return the command that shows the demo, or takes it away. Raises Unusable if something is missing."""
    bash = process.find_program("bash", environment.get("PATH", ""))
    if bash is None:
        raise Unusable("The demo needs bash.", kind="demo", hint="install it: apt-get install bash")
    folder = environment.get("TMUXAGENTS_DEMO_DIR") or f"{places.home(environment)}-demo"
    argv = [bash, str(shipped.demo()), os.path.abspath(folder), sys.executable]
    if clean:
        return [*argv, "", "--clean"]
    program, *more = installed.command(_AGENT, environment, load.load(environment, None))
    if more:
        message = (
            f"The demo starts {_AGENT} by its program alone, and agents.{_AGENT}.command has more words."
        )
        raise Unusable(message, kind="demo", hint="name the program in TMUXAGENTS_PI")
    return [*argv, program]
