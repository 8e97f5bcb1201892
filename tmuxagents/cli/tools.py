"""Verbs for parents: the catalogue of tools, and each of them by its name, JSON in and out."""

from __future__ import annotations

import contextlib
import os

import click

from tmuxagents import jsonline
from tmuxagents.cli import boundary, calling, server, streams, tasks, words
from tmuxagents.cli.interrupts import Interrupts
from tmuxagents.commands import tools as catalogue
from tmuxagents.core import catalogue_check, catalogue_words
from tmuxagents.core.catalogue import TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.commands.tools.door import Answer


@click.command("tools", epilog="Example: tmuxagents tools --json")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON document.")
def tools_verb(*, as_json: bool) -> None:
    """List the tools for parent agents: what `call`, MCP and the integrations offer."""
    found = catalogue.document(calling.caller(), os.environ)
    if as_json:
        streams.write(jsonline.encode(found))
        return
    words.warn([found["why"]] if found["why"] else [])
    offered = {tool["name"] for tool in found["tools"]}
    width = max(len(tool.name) for tool in TOOLS)
    words.lines(f"{tool.name.ljust(width)}  {tool.summary}" for tool in TOOLS if tool.name in offered)


@click.command(
    "call", epilog='Example: tmuxagents call background_agent \'{"preset": "scout", "task": "Find it."}\''
)
@click.argument("tool", metavar="TOOL")
@click.argument("arguments", metavar="[JSON|-]", default="{}")
@click.option("--stream", "streams_it", is_flag=True, help="Print progress as JSON lines, the result last.")
@click.option("--json", is_flag=True, expose_value=False, help="It is JSON anyway.")
def call_verb(*, tool: str, arguments: str, streams_it: bool) -> int:
    """Carry out TOOL of the catalogue with the arguments of a JSON object; Ctrl-C stops its children.

    The exit code is 0 when the tool was carried out, whatever its children did; a refusal has its own.
    """
    interrupts = Interrupts()
    document: dict[str, Any]
    try:
        answer = _carry_out(tool, arguments, interrupts, streams_it=streams_it)
    except Exception as error:  # noqa: BLE001  (whatever it is, the caller reads JSON)
        problem, log = boundary.problem_of(error)
        document, code = catalogue_words.refused(problem, log=log), problem.exit_code
    else:
        words.warn(dict.fromkeys(answer.warnings))
        document, code = answer.document(), 128 + interrupts.number if interrupts.number else 0
    kind = {"type": "result"} if streams_it else {}
    streams.write(jsonline.encode(kind | document))
    return code


def _carry_out(tool: str, arguments: str, interrupts: Interrupts, *, streams_it: bool) -> Answer:
    caller = calling.caller()
    catalogue.check_name(tool, caller, os.environ)
    text = tasks.content(arguments) if arguments == tasks.STDIN else arguments
    given = catalogue_check.read(text, tool)
    interrupts.listen()
    from tmuxagents.commands.tools.door import Door  # noqa: PLC0415  (what is refused needs none of it)

    door = Door(
        caller,
        dict(os.environ),
        interrupts=interrupts,
        folder=calling.folder(),
        socket=server.socket(),
        hear=_tell if streams_it else None,
    )
    return catalogue.call(tool, given, door)


def _tell(line: dict[str, Any]) -> None:
    """Print one line of progress. Who has stopped listening stops nothing."""
    with contextlib.suppress(OSError):
        streams.write(jsonline.encode(line))


@click.command("mcp", epilog="Example: claude mcp add tmuxagents -- tmuxagents mcp")
@click.option(
    "--limit",
    type=click.FloatRange(min=1),
    default=280.0,
    show_default=True,
    metavar="S",
    help="Answer a call that takes longer; its children work on.",
)
def mcp(*, limit: float) -> None:
    """Serve the tools to an MCP client on stdin and stdout, until it leaves."""
    from tmuxagents.serve.mcp import Server  # noqa: PLC0415  (who calls one tool needs no server)

    streams.check_in()
    socket = server.socket()
    offered = catalogue.refusal(calling.caller(), os.environ) is None
    options = ["-L", socket] if socket else []
    Server(streams.IN, streams.OUT, offered=offered, limit_s=limit, options=options).serve()


VERBS = {"tools": tools_verb, "call": call_verb, "mcp": mcp}
