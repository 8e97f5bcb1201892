"""The verbs setup and demo. Each step of setup suggests one change, and can be skipped. Joins."""

from __future__ import annotations

import os
import sys
from collections import Counter

import click

from tmuxagents.agents import installed, resolve
from tmuxagents.cli import boundary, group, printing
from tmuxagents.cli.verbs import presets, upkeep
from tmuxagents.errors import BadRequest, TmuxAgentsError, Unusable
from tmuxagents.integrate import parents, pi, plan, tmux, tmux_texts
from tmuxagents.integrate.config import SettingsFiles
from tmuxagents.presets import survey
from tmuxagents.registry import lookup
from tmuxagents.settings import load
from tmuxagents.system import places, process, shipped
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from tmuxagents.integrate.plan import Integration

STEPS = ("agent", "model", "status", "keys", "parents", "preset")
_NOT_READY = 3
_SHOWN = 6  # models
_LOGIN = {True: "logged in", False: "not logged in", None: "its login is not known"}


@click.command("setup", epilog="Example: tmuxagents setup --skip keys")
@click.option("-y", "--yes", is_flag=True, help="Take what each step suggests, and ask nothing.")
@click.option(
    "--skip",
    "skipped",
    multiple=True,
    metavar="STEP",
    help="Skip a step: agent, model, status, keys, parents or preset.",
)
def setup(*, yes: bool, skipped: tuple[str, ...]) -> int:
    """Set up default agent and model, status line, keys, parents and a first preset; skip what you like."""
    unknown = [step for step in skipped if step not in STEPS]
    if unknown:
        hint = f"steps: {', '.join(STEPS)}"
        raise BadRequest(f'There is no step "{unknown[0]}".', kind="usage", hint=hint, field="skip")
    if not yes and not printing.has_person():
        hint = "with --yes it takes what each step suggests"
        raise BadRequest("setup needs a terminal.", kind="usage", hint=hint)
    return Walk(yes=yes, skipped=skipped).walk()


class Walk:
    """One walk through all steps. `yes`: take each suggestion, ask nothing."""

    def __init__(self, *, yes: bool, skipped: Collection[str]) -> None:
        self._yes = yes
        self._skipped = skipped
        self._settings = load.load(os.environ, None)
        self._agent = self._settings.default_agent
        self._found: dict[str, dict[str, Any]] = {}  # the installed agents, by name

    def walk(self) -> int:
        """Go through all steps; return the exit code."""
        printing.warn(self._settings.warnings)
        self._look_for_agents()
        if not self._found:
            return self._not_ready("install an agent, then call setup again")
        if "agent" not in self._skipped:
            self._choose_agent()
        if self._agent not in self._found:
            return self._not_ready(f"install {self._agent}, or make another agent the default")
        models = self._offered()
        if "model" not in self._skipped:
            self._model(models)
        if "status" not in self._skipped:
            self._title("Status line", "counts of your runs in tmux's status line, marks on their windows")
            self._offer("Show them in tmux?", lambda: self._tmux(None), tmux.carry_out, suggested=True)
        if "keys" not in self._skipped:
            key = tmux_texts.DEFAULT
            effect = f"your tmux prefix, then {key}: keys for the runs' windows, top and the next run"
            self._title("Keys", effect)
            self._offer("Bind them?", lambda: self._tmux(key), tmux.carry_out, suggested=False)
        if "parents" not in self._skipped:
            self._parents()
        if "preset" not in self._skipped:
            self._preset()
        if models == []:
            return self._not_ready("tmuxagents doctor says what is missing; call setup again at will")
        self._title("Ready", 'try it: tmuxagents run "What is this project about?"')
        return 0

    def _not_ready(self, hint: str) -> int:
        self._title("Not ready yet", hint)
        return _NOT_READY

    # --- the steps

    def _look_for_agents(self) -> None:
        """Print which agents are installed. If none is, print how to install the default one."""
        known = resolve.agent_documents(os.environ, self._settings, refresh=True)
        self._found = {one["name"]: one for one in known if one["installed"]}
        if not self._found:
            wanted = next((one for one in known if one["name"] == self._agent), known[0])
            self._title("Agents", *wanted["warnings"], f"hint: install it: {wanted['howToInstall']}")
            return
        lines = []
        for one in self._found.values():
            login = _LOGIN[one["loggedIn"]]
            login += "" if one["loggedIn"] else f": {one['howToLogIn']}"
            version = one["version"] or "of an unknown version"
            lines.append(f"{one['name']} {version}: {' '.join(one['command'])} ({login})")
            lines += one["warnings"]
        others = [one["name"] for one in known if not one["installed"]]
        self._title("Agents", *lines, *([f"not installed: {', '.join(others)}"] if others else []))

    def _choose_agent(self) -> None:
        """Let the person choose the default agent. If it is missing, suggest one that is installed."""
        is_there = self._agent in self._found
        first = self._agent if is_there else next(iter(self._found))
        if len(self._found) == 1 and is_there:
            return
        effect = "children use it unless a launch or a preset names another"
        self._title("Default agent", f"{self._agent}: {effect if is_there else 'it is not installed'}")
        chosen = first
        while not self._yes and (answer := self._asked(f"An agent (Enter: {first})")):
            if answer in self._found:
                chosen = answer
                break
            self._say(f"{answer} is not installed; there are {', '.join(self._found)}")
        if chosen != self._agent:
            path = SettingsFiles(os.environ, None).put("defaultAgent", chosen, "global")
            self._say(f"defaultAgent is now {chosen} ({path})")
            self._settings = load.load(os.environ, None)
            self._agent = chosen

    def _offered(self) -> list[str] | None:
        """Print and return the models that the default agent offers; None if it cannot be asked."""
        known = installed.known(self._agent, os.environ, self._settings)
        if known.ids is None:
            return None
        counts = Counter(model.partition("/")[0] for model in known.ids)
        offered = ", ".join(f"{count} of {provider}" for provider, count in counts.items())
        missing = f"it offers no models: {self._found[self._agent]['howToLogIn']}"
        self._say(f"models: {offered}" if offered else missing)
        return known.ids

    def _model(self, models: list[str] | None) -> None:
        chosen = self._settings.default_model
        if models == []:
            return
        self._title("Default model", chosen or f"none: children use the one that {self._agent} would use")
        if self._yes:
            return
        others = [model for model in models or () if model != chosen]
        shown, more = others[:_SHOWN], len(others) - _SHOWN
        self._say(*shown, *([f"and {more} more: tmuxagents models"] if more > 0 else []))
        if models is None:
            self._say(f"{self._agent} cannot be asked for its models: a name is taken as it is")
        while answer := self._asked("A model, or a part of its name (Enter changes nothing)"):
            try:
                found = resolve.resolve(answer, self._agent, os.environ, self._settings)
            except TmuxAgentsError as error:
                self._say(*boundary.lines_of(error))
                continue
            name = str(found.resolved)
            path = SettingsFiles(os.environ, None).put("defaultModel", name, "global")
            self._say(f"defaultModel is now {name} ({path})")
            return

    def _tmux(self, key: str | None) -> Integration:
        wanted = upkeep.wanted_tmux(key, uninstall=False)
        return tmux.plan(os.environ, self._settings, wanted, socket=group.socket())

    def _parents(self) -> None:
        path = os.environ.get("PATH", "")
        if "pi" in self._found or process.find_program("pi", path) is not None:
            self._title("pi", "as a parent: tools, a footer, notices and commands to delegate to children")
            self._offer(
                "Let pi delegate?",
                lambda: pi.plan(os.environ, uninstall=False),
                pi.carry_out,
                suggested=True,
            )
        for target, name in parents.NAMES.items():
            if process.find_program(target, path) is not None:
                where = parents.place(target, os.environ, None)
                self._title(name, "as a parent: the tools over MCP, and a skill")
                self._offer(
                    f"Let {name} delegate?",
                    lambda where=where: parents.plan(where, uninstall=False),  # type: ignore[misc]  # mypy infers no lambda with a default
                    lambda found, where=where: parents.carry_out(found, where),  # type: ignore[misc]  # mypy infers no lambda with a default
                    suggested=True,
                )

    def _preset(self) -> None:
        known = survey.survey(lookup.working_directory() or "/", os.environ, self._settings).presets
        owned = f"you have {len(known)}" if known else "you have none"
        self._title("Preset", f"a file that names how a child works: model, tools, instructions; {owned}")
        if self._yes or not self._agrees("Write one now?", suggested=False):
            return
        name = self._asked("Its name (as scout; Enter leaves it)")
        if name:
            try:
                click.get_current_context().invoke(presets.new, name=name, in_editor=True)
            except TmuxAgentsError as error:
                self._say(*boundary.lines_of(error))

    # --- questions and messages

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
                self._say("nothing to change", *map(plan.left_line, found.left), *found.warnings)
            elif self._agrees(question, suggested=suggested):
                carry_out(found)
                done = map(plan.done_line, found.changes)
                self._say(*done, *map(plan.left_line, found.left), *found.warnings)
        except TmuxAgentsError as error:
            self._say(*boundary.lines_of(error))

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


@click.command("demo", epilog="Example: tmuxagents demo --clean")
@click.option("--clean", is_flag=True, help="Take everything away that the demo has made.")
def demo(*, clean: bool) -> None:
    """Show three agents at work on a sample project, with a demo model that needs no key."""
    bash = process.find_program("bash", os.environ.get("PATH", ""))
    if bash is None:
        raise Unusable("The demo needs bash.", kind="demo", hint="install it: apt-get install bash")
    folder = os.environ.get("TMUXAGENTS_DEMO_DIR") or f"{places.home(os.environ)}-demo"
    argv = [bash, str(shipped.demo()), os.path.abspath(folder), sys.executable]
    if clean:
        argv += ["", "--clean"]
    else:
        program, *more = installed.command(_AGENT, os.environ, load.load(os.environ, None))
        if more:
            message = (
                f"The demo starts {_AGENT} by its program alone, and agents.{_AGENT}.command has more words."
            )
            raise Unusable(message, kind="demo", hint="name the program in TMUXAGENTS_PI")
        argv.append(program)
    os.execv(argv[0], argv)  # noqa: S606  (bash by its path, and our own script)


VERBS = {"setup": setup, "demo": demo}
