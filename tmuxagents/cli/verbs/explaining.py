"""The verbs help, schema and skill, and completion for shells. Joins."""

from __future__ import annotations

import difflib
import os

import click
from click.shell_completion import CompletionItem, get_completion_class

from tmuxagents.cli import group, printing, quick, values
from tmuxagents.errors import BadRequest, TmuxAgentsError
from tmuxagents.records import ENDED
from tmuxagents.system import shipped
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tmuxagents.presets.survey import Survey

    Offer = Callable[[click.Context, str], list[CompletionItem]]

_SHELLS = ("bash", "zsh", "fish")
_MOST = 50
_LONGEST = 60
# The letters that no shell interprets. bash puts an offered word onto the command line without quotes.
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.@/+")


@click.command("help", epilog="Example: tmuxagents help presets new")
@click.argument("verbs", nargs=-1, metavar="[VERB]...")
def explain(*, verbs: tuple[str, ...]) -> None:
    """Explain VERB, or list all verbs."""
    context = click.get_current_context().find_root()
    for name in verbs:
        parent = context.command
        command = parent.get_command(context, name) if isinstance(parent, click.Group) else None
        if command is None and context.parent is None:
            raise group.unknown(name)
        if command is None:
            hint = f"see {context.command_path} --help"
            raise BadRequest(f'{context.command_path} has no verb "{name}".', kind="usage", hint=hint)
        context = click.Context(command, info_name=name, parent=context)
    printing.lines([context.get_help()])


@click.command(epilog="Example: tmuxagents schema result")
@click.argument("name")
@values.ALWAYS_JSON
def schema(*, name: str) -> None:
    """Print the JSON Schema of the document NAME."""
    printing.write(schema_text(name).encode())


def schema_names() -> list[str]:
    """Return the documents that have a schema."""
    return sorted(file.stem for file in shipped.schemas().glob("*.json"))


def schema_text(name: str) -> str:
    """Return one schema."""
    all_names = schema_names()
    if name not in all_names:
        near = difflib.get_close_matches(name, all_names, n=3)
        message = f'There is no schema "{name[:40]}". Schemas: {", ".join(all_names)}'
        hint = f"did you mean {near[0]}?" if near else None
        raise BadRequest(message, kind="bad-argument", hint=hint, field="name", candidates=near)
    return (shipped.schemas() / f"{name}.json").read_text("utf-8")


@click.command(epilog="Example: tmuxagents skill")
def skill() -> None:
    """Print the skill that teaches an agent to delegate from a shell."""
    printing.write(shipped.skill().encode())


# --- completion ---


@click.command("completion", epilog='Example: eval "$(tmuxagents completion bash)"')
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(*, shell: str) -> None:
    """Print a script with which your shell completes command lines: verbs, options, runs, models, presets."""
    printing.write(_script(shell, click.get_current_context().find_root().command))


def _script(shell: str, root: click.Command) -> bytes:
    made = get_completion_class(shell)
    if made is None:  # click has all three
        raise click.UsageError(f"there is no completion for {shell}")
    # click's source() would also start bash, to warn about an old version.
    script = made(root, {}, "tmuxagents", quick.COMPLETION)
    return (script.source_template % script.source_vars()).encode() + b"\n"


# --- the answer to a shell ---


def answer(root: click.Command) -> int:
    """Answer a shell that asks for completions; return the exit code."""
    shell, _, wanted = os.environ[quick.COMPLETION].partition("_")
    made = get_completion_class(shell) if shell in _SHELLS else None
    if made is None or wanted not in ("complete", "source"):
        return 1
    if wanted == "source":
        printing.write(_script(shell, root))
        return 0
    asked = made(root, {}, "tmuxagents", quick.COMPLETION)
    try:
        words, incomplete = asked.get_completion_args()
        offered = asked.get_completions(words, incomplete)
    except (TmuxAgentsError, click.ClickException, OSError):
        return 0  # no errors while a person types
    for item in offered:
        # A name may come from a file of a cloned repository, so it could do harm on a command line. A word
        # that looks like an option is left out, too, unless the person has begun to type an option.
        is_harmless = item.value and _LETTERS.issuperset(item.value)
        if is_harmless and (incomplete.startswith("-") or not item.value.startswith("-")):
            help_line = safe.cut(safe.line(item.help or ""), _LONGEST) or None
            word = asked.format_completion(CompletionItem(item.value, item.type, help_line))
            printing.write(f"{word}\n".encode())
    return 0


# --- the words for each parameter ---


def runs(context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the runs that a word could name and the verb can use, by name or short id, active ones first."""
    from tmuxagents.registry import lookup  # noqa: PLC0415  (only where a run is expected)
    from tmuxagents.runs import words as run_words  # noqa: PLC0415  (completion starts light)
    from tmuxagents.status import poll  # noqa: PLC0415  (as above)

    caller = lookup.here()
    scope = poll.query_of(caller).scope
    # Not through a snapshot, which would record that the endings were seen.
    rows, _ = lookup.with_registry(caller, lambda book: book.rows(scope, limit=_MOST))
    verb = context.info_name or ""
    words: dict[str, str] = {} if verb in (*_OF_ACTIVE, *_OF_ENDED) else {lookup.LAST: "the newest run"}
    for row in sorted(rows, key=lambda row: row.status in ENDED):
        if row.status in ENDED if verb in _OF_ACTIVE else row.status not in ENDED and verb in _OF_ENDED:
            continue
        short = run_words.short_id(row.run_id)
        # The id of a run that has a name is offered only once its beginning is typed.
        word = short if row.name is None or (incomplete and short.startswith(incomplete)) else row.name
        words.setdefault(word, f"{row.status} {row.activity or ''}")
    return _fitting(words.items(), incomplete)


def models(context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the models of the agent that the command line names, or of the default one."""
    from tmuxagents.agents import resolve  # noqa: PLC0415  (only where a model is expected)
    from tmuxagents.registry import lookup  # noqa: PLC0415  (as above)
    from tmuxagents.settings import load  # noqa: PLC0415  (as above)

    settings = load.load(os.environ, lookup.here().project)
    agent = context.params.get("agent") or settings.default_agent
    found = resolve.document(agent, os.environ, settings)["models"]
    return _fitting(((model["id"], model["name"] or "") for model in found), incomplete)


def agents(_context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the agents that a word could name."""
    from tmuxagents.agents import installed  # noqa: PLC0415  (only where an agent is expected)
    from tmuxagents.settings import load  # noqa: PLC0415  (as above)

    all_names = installed.names(load.load(os.environ, None))
    return _fitting(((name, "") for name in all_names), incomplete)


def names(context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the schemas that a word could name; for other verbs none, because a person makes up the name."""
    if context.info_name != "schema":
        return []
    return _fitting(((name, "") for name in schema_names()), incomplete)


def verbs(context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the verbs that `help` can explain."""
    group: click.Command | None = context.find_root().command
    for word in context.params.get("verbs") or ():
        group = group.get_command(context, word) if isinstance(group, click.Group) else None
    if not isinstance(group, click.Group):
        return []
    return _fitting(((name, "") for name in group.list_commands(context)), incomplete)


def _survey() -> Survey:
    """Return the preset files that can be used in this folder."""
    from tmuxagents.presets import survey  # noqa: PLC0415  (only where a preset is expected)
    from tmuxagents.registry import lookup  # noqa: PLC0415  (as above)
    from tmuxagents.settings import load  # noqa: PLC0415  (as above)

    caller = lookup.here()
    return survey.survey(caller.folder, os.environ, load.load(os.environ, caller.project))


def presets(_context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the presets and profiles that a word could name."""
    described = ((one.name, one.fields.get("description") or one.kind) for one in _survey().presets)
    return _fitting(described, incomplete)


def preset_names(_context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the names that a preset file can be called by, with its source or without."""
    all_names = _survey().catalogue.names()
    return [CompletionItem(name) for name in all_names if name.startswith(incomplete)]


def setting_keys(_context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the settings that a word could name."""
    from tmuxagents.settings import keys  # noqa: PLC0415  (only where a setting is expected)

    return _fitting(((key, "") for key in keys.KEYS), incomplete)


def layouts(_context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the layouts that a word could name."""
    from tmuxagents.layouts import opening as reading  # noqa: PLC0415  (only where a layout is expected)
    from tmuxagents.registry import lookup  # noqa: PLC0415  (as above)

    shelf = reading.survey(lookup.here(), os.environ)
    return _fitting(((one.name, one.description) for one in shelf.layouts), incomplete)


def hosts(_context: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the hosts that a word could name."""
    from tmuxagents.machines.hosts import read_hosts  # noqa: PLC0415  (only where a host is expected)

    known = read_hosts(os.environ).values()
    return _fitting(((one.name, one.engine) for one in known), incomplete)


def _fitting(words: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(word, help=about) for word, about in dict(words).items() if word.startswith(incomplete)
    ][:_MOST]


# Verbs that can use runs of one kind only.
_OF_ACTIVE, _OF_ENDED = ("stop", "kill", "cancel", "send", "answer"), ("resume", "retry", "prune", "rm")
# The name of a parameter -> the function that offers words for it.
_OFFERS: dict[str, Offer] = {
    **dict.fromkeys(("run", "runs", "after"), runs),
    "preset": presets,
    "model": models,
    "agent": agents,
    "name": names,
    "verbs": verbs,
    "on": hosts,
}
# A verb with verbs below it -> the same for their parameters.
_OFFERS_BELOW: dict[str | None, dict[str, Offer]] = {
    "presets": {"name": preset_names, "wanted": preset_names},
    "layouts": {"name": layouts},
    "hosts": {"host": hosts},
    "config": {"key": setting_keys},
}


def offer(command: click.Command) -> None:
    """Give the parameters of a verb, and of the verbs below it, their completions."""
    below = command.commands.values() if isinstance(command, click.Group) else ()
    offers_below = _OFFERS_BELOW.get(command.name, {})
    for verb, offers in [(command, _OFFERS), *((verb, offers_below) for verb in below)]:
        for parameter in verb.params:
            wanted = offers.get(parameter.name or "")
            if wanted is not None:
                parameter.shell_complete = wanted  # type: ignore[method-assign, assignment]  # the way click has for it


VERBS = {"help": explain, "schema": schema, "skill": skill, "completion": completion}
