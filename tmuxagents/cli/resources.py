"""The hidden verb behind the MCP server's resources: one JSON line, also of what is refused."""

from __future__ import annotations

import os
import signal

import click

from tmuxagents import jsonline
from tmuxagents.cli import boundary, calling, streams
from tmuxagents.commands import resources
from tmuxagents.core import catalogue_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@click.command("_resource")
@click.argument("address", required=False)
def resource(*, address: str | None) -> int:
    """Print the caller's latest resources, or the one at ADDRESS."""
    document: dict[str, Any]
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # who calls us holds it back (edges/subcall)
    try:
        caller = calling.caller()
        if address is None:
            document = {"resources": resources.listed(caller, os.environ)}
        else:
            document = {"contents": resources.read(address, caller, os.environ)}
    except Exception as error:  # noqa: BLE001  (whatever it is, the caller reads JSON)
        problem, log = boundary.problem_of(error)
        streams.write(jsonline.encode({"type": "result"} | catalogue_words.refused(problem, log=log)))
        return problem.exit_code
    streams.write(jsonline.encode({"type": "result", "isError": False} | document))
    return 0


VERBS = {"_resource": resource}
