"""Writes the man pages, tmuxagents.1 and one for each verb, from the help of the verbs.

usage: scripts/man.py [FOLDER]   (default: man/ of the repository, which the wheel takes along)
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tmuxagents.cli import VERBS, group

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGET = Path(__file__).parents[1] / "man"
_LAST = """.SH EXIT STATUS
0 success; 1 a run failed, or something is broken; 2 a wrong request; 3 an unfit machine;
4 not possible for this run; 124 a time limit passed; 130 interrupted.
.SH ENVIRONMENT
.B TMUXAGENTS_HOME
the state directory (default: ~/.local/state/tmuxagents).
.B NO_COLOR
no colours, if it is set.
"""


def pages() -> dict[str, str]:
    """Return all pages by their file names."""
    root = click.Context(group.tmuxagents, info_name="tmuxagents", **group.tmuxagents.context_settings)
    found = {"tmuxagents.1": "".join(_root_page(root))}
    for name in VERBS:
        command = group.tmuxagents.get_command(root, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=root)
        found[f"tmuxagents-{name}.1"] = "".join(_page(context, VERBS[name][2]))
    return found


def _root_page(context: click.Context) -> Iterator[str]:
    yield _head("tmuxagents", _help_of(context.command)[0])
    yield f".SH SYNOPSIS\n.B tmuxagents\n{_text('[OPTIONS] VERB [ARGUMENTS]')}\n"
    yield ".SH VERBS\n"
    for name, (_, _, line) in VERBS.items():
        yield f".TP\n.BR tmuxagents\\-{_text(name)} (1)\n{_text(line)}\n"
    yield from _options(context)
    yield _LAST


def _page(context: click.Context, line: str) -> Iterator[str]:
    yield _head(f"tmuxagents-{context.info_name}", line)
    yield ".SH SYNOPSIS\n"
    for part in _parts(context):
        usage = " ".join(part.command.collect_usage_pieces(part))
        yield f".B {_text(part.command_path)}\n{_text(usage)}\n.br\n"
    yield ".SH DESCRIPTION\n"
    for part in _parts(context):
        if part is not context:
            yield f".SS {_text(part.command_path)}\n"
        yield "\n.PP\n".join(map(_text, _help_of(part.command))) + "\n"
        yield from _options(part)
        if part.command.epilog:
            yield f".PP\n{_text(part.command.epilog)}\n"
    yield ".SH SEE ALSO\n.BR tmuxagents (1)\n"


def _parts(context: click.Context) -> Iterator[click.Context]:
    """Yield a verb, then the verbs below it."""
    yield context
    if isinstance(context.command, click.Group):
        for name, command in context.command.commands.items():
            yield click.Context(command, info_name=name, parent=context)


def _options(context: click.Context) -> Iterator[str]:
    options = [one for one in context.command.get_params(context) if isinstance(one, click.Option)]
    for record in filter(None, (option.get_help_record(context) for option in options)):
        yield f".TP\n.B {_text(record[0])}\n{_text(record[1])}\n"


def _head(name: str, line: str) -> str:
    return f'.TH {name.upper()} 1 "" tmuxagents\n.SH NAME\n{name} \\- {_text(line)}\n'


def _help_of(command: click.Command) -> list[str]:
    """Return the paragraphs of a help."""
    text = "\n".join(line.strip() for line in (command.help or "").splitlines())
    return [" ".join(part.split()) for part in text.split("\n\n")]


def _text(text: str) -> str:
    """Return a text that roff prints as it is."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe


def main() -> None:
    """Write the pages, and remove those of verbs that are gone."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    folder.mkdir(parents=True, exist_ok=True)
    made = pages()
    for path in folder.glob("tmuxagents*.1"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
