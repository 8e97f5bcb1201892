"""The verbs for parents: list the tools, call one, and serve them and the resources over MCP. Joins."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import click

from tmuxagents import records
from tmuxagents.cli import boundary, group, printing, values
from tmuxagents.errors import NoSuchRun
from tmuxagents.registry import lookup
from tmuxagents.system.lifeline import SignalInterrupts
from tmuxagents.text import jsonline
from tmuxagents.tools import answers, check
from tmuxagents.tools import call as catalogue
from tmuxagents.tools.catalogue import TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_MOST_ROWS = 120  # of a run that is opened


@click.command("tools", epilog="Example: tmuxagents tools --json")
@values.FORMAT
@values.JSON
def tools_verb(*, template: str | None, as_json: bool) -> None:
    """List the tools for parent agents: what `call`, MCP and the integrations offer."""
    found = catalogue.document(lookup.here(), os.environ)
    if as_json:
        printing.document(found)
        return
    printing.warn([found["why"]] if found["why"] else [])
    if template is not None:
        printing.formatted(template, found["tools"])
        return
    offered = {tool["name"] for tool in found["tools"]}
    width = max(len(tool.name) for tool in TOOLS)
    rows = (f"{tool.name.ljust(width)}  {tool.summary}" for tool in TOOLS if tool.name in offered)
    printing.lines(printing.folded(row, printing.OUT) for row in rows)


@click.command(
    "call", epilog='Example: tmuxagents call background_agent \'{"preset": "scout", "task": "Find it."}\''
)
@click.argument("tool", metavar="TOOL")
@click.argument("arguments", metavar="[JSON|-]", default="{}")
@click.option("--stream", "streams_it", is_flag=True, help="Print progress as JSON lines, the result last.")
@click.option("--verbose", is_flag=True, help="Print whole documents of runs in `details`, as --stream does.")
@click.option("--rows", "width", type=click.IntRange(min=1), hidden=True)
@values.ALWAYS_JSON
def call_verb(*, tool: str, arguments: str, streams_it: bool, verbose: bool, width: int | None) -> int:
    """Carry out TOOL with arguments in a JSON object; Ctrl-C stops its children.

    The exit code is 0 when the tool was carried out, whatever its children did; a refusal has its own.
    """
    interrupts = SignalInterrupts()
    document: dict[str, Any]

    def tell(line: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # a reader that has gone stops nothing
            printing.write(jsonline.encode({"v": 1} | _with_children(line, width)))

    try:
        caller = lookup.here()
        catalogue.check_name(tool, caller, os.environ)
        given = check.read(values.read_text(arguments), tool)
        interrupts.listen()
        from tmuxagents.tools.door import Door  # noqa: PLC0415  (a refused call needs none of it)

        door = Door(
            caller,
            dict(os.environ),
            interrupts=interrupts,
            folder=lookup.working_directory(),
            socket=group.socket(),
            hear=tell if streams_it else None,
        )
        answer = catalogue.call(tool, given, door)
    except Exception as error:  # noqa: BLE001  (whatever it is, the caller reads JSON)
        problem, log = boundary.problem_of(error)
        document, code = answers.refused(problem, log=log, tool=tool), problem.exit_code
    else:
        printing.warn(dict.fromkeys(answer.warnings))
        whole = streams_it or verbose or given.get("verbose") is True
        document = _with_children(answer.document(whole=whole), width)
        code = 128 + interrupts.number if interrupts.number else 0
    kind = {"type": "result"} if streams_it else {}
    printing.write(jsonline.encode({"v": 1} | kind | document))
    return code


def _with_children(line: dict[str, Any], width: int | None) -> dict[str, Any]:
    """Return a line of progress with its children, for a parent that draws them in this many columns."""
    if width is None:
        return line
    from tmuxagents import companion  # noqa: PLC0415  (for such a parent alone)
    from tmuxagents.render import reading, rows  # noqa: PLC0415  (as above)

    details, children = line["details"], []
    for run in details.get("windows") or (details.get("runs") if "mode" in details else None) or ():
        shown = []  # the rows of an ended run, which the parent can open
        if (run.get("state") or run["status"]) in records.ENDED:
            with contextlib.suppress(NoSuchRun):  # its files were removed meanwhile
                reader = reading.StoryReader(f"{lookup.here().runs}/{run['runId']}")
                reader.look()
                shown = rows.all_rows(reader.story.blocks[1:], width)[-_MOST_ROWS:]  # without the head
        children.append(companion.child_line(run, time.time()) | {"rows": shown})
    return {**line, "children": children}


@click.command("mcp", epilog="Example: claude mcp add tmuxagents -- tmuxagents mcp")
@click.option(
    "--limit",
    type=values.DurationType(least=1),
    default=280.0,
    show_default="280s",
    metavar="TIME",
    help="Answer a call that takes longer; its agents continue.",
)
def mcp(*, limit: float) -> None:
    """Serve the tools to an MCP client on stdin and stdout, until it leaves."""
    from tmuxagents.mcp.server import Server  # noqa: PLC0415  (a call of one tool needs no server)

    printing.check(printing.IN)
    socket = group.socket()
    offered = catalogue.refusal(lookup.here(), os.environ) is None
    chosen = ["-L", socket] if socket else []
    Server(printing.IN, printing.OUT, offered=offered, limit_s=limit, options=chosen).serve()


@click.command("_resource")
@click.argument("address", required=False)
def resource(*, address: str | None) -> int:
    """Print the caller's latest resources, or the one at ADDRESS."""
    from tmuxagents.mcp import resources  # noqa: PLC0415  (a call of one tool needs none of it)

    document: dict[str, Any]
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # mcp/requests has blocked it
    try:
        caller = lookup.here()
        if address is None:
            document = {"resources": resources.listed(caller, os.environ)}
        else:
            document = {"contents": resources.read(address, caller, os.environ)}
    except Exception as error:  # noqa: BLE001  (whatever it is, the caller reads JSON)
        problem, log = boundary.problem_of(error)
        printing.write(jsonline.encode({"type": "result"} | answers.refused(problem, log=log)))
        return problem.exit_code
    printing.write(jsonline.encode({"type": "result", "isError": False} | document))
    return 0


VERBS = {"tools": tools_verb, "call": call_verb, "mcp": mcp, "_resource": resource}
