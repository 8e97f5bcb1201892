"""The hidden verbs with which our processes start each other. Joins.

_wrap and _watch become the wrapper and the watcher. _story paints the window of an ended run. _far links two
machines, from either end. On the far machine, _code receives a project's code and gives the child's commits
back.
"""

from __future__ import annotations

import contextlib
import os

import click

from tmuxagents.cli import printing
from tmuxagents.errors import BadRequest
from tmuxagents.records import SLURM
from tmuxagents.registry import lookup
from tmuxagents.system import places, watcher_lock
from tmuxagents.wrapper import become_wrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_REQUEST = 64 * 1024 * 1024
_JSON = click.option("--json", is_flag=True, expose_value=False)  # errors are printed as JSON


@click.command(hidden=True)
@click.argument("run_dir")
def wrap(*, run_dir: str) -> None:
    """Run the wrapper of a run directory in this terminal (started by launch, not by people)."""
    become_wrapper(run_dir)


@click.command(hidden=True)
def watch() -> None:
    """Watch over all runs, unless a watcher already does (started by launch and wrappers, not by people)."""
    watcher_lock.become(places.own_home(os.environ), os.environ)


@click.command(hidden=True)
@click.argument("run_dir")
@click.argument("width", type=int)
def story(*, run_dir: str, width: int) -> None:
    """Paint the window of an ended run, in a width (started by attach, not by people)."""
    from tmuxagents.cli import rendered  # noqa: PLC0415  (only here)
    from tmuxagents.render.reading import StoryReader  # noqa: PLC0415  (only here)

    reader = StoryReader(run_dir, home=os.path.expanduser("~"))
    reader.look()
    text = rendered.painter().paint_afresh(reader.story.blocks, (), width=width)
    printing.write(text.encode("utf-8", "replace"))


# --- between two machines ---


@click.group("_far", hidden=True)
def far() -> None:
    """Serve a tmuxagents on another machine, or mirror one."""


@far.command("launch")
@_JSON
def launch() -> None:
    """Launch the run that stdin asks for, once."""
    from tmuxagents.launch import far_side  # noqa: PLC0415  (each part has its own)
    from tmuxagents.machines import requests  # noqa: PLC0415  (as above)
    from tmuxagents.text import jsonline  # noqa: PLC0415  (as above)

    umask = os.umask(0o077)
    printing.write(requests.HELLO)
    asked = _asked()
    printing.write(jsonline.encode(far_side.launch(asked, lookup.here(), dict(os.environ), umask=umask)))


def _asked() -> dict[str, Any]:
    """Return the request on stdin."""
    from tmuxagents.text import jsonline  # noqa: PLC0415  (as above)

    try:
        asked = jsonline.decode(printing.read(_MOST_REQUEST))
    except ValueError as error:
        raise BadRequest("The request is not whole.", kind="bad-argument") from error
    if not isinstance(asked, dict):
        raise BadRequest("The request is no object.", kind="bad-argument")
    return asked


@far.command("send")
@click.argument("run")
@_JSON
def send(*, run: str) -> None:
    """Send the message on stdin to a run."""
    from tmuxagents.status.send import Sending  # noqa: PLC0415  (as above)

    asked = _asked()
    message = Sending(lookup.find_run(run, lookup.here()))
    message.send(str(asked.get("text")), str(asked.get("kind")))
    printing.document({"v": 1, "number": message.number})


@far.command("answer")
@click.argument("run")
@_JSON
def answer(*, run: str) -> None:
    """Give the answer on stdin to a run."""
    from tmuxagents.status.send import answer_question  # noqa: PLC0415  (as above)

    asked = _asked()
    given = [str(asked.get("ask")), str(asked.get("text"))]
    _, _, by = answer_question(lookup.find_run(run, lookup.here()), given, by=str(asked.get("by")))
    printing.document({"v": 1, "by": by})


@far.command("follow")
def follow() -> None:
    """Send what is new in the runs that stdin names."""
    from tmuxagents.machines import follow as following  # noqa: PLC0415  (as above)
    from tmuxagents.system.lifeline import Lifeline  # noqa: PLC0415  (as above)

    with contextlib.suppress(BrokenPipeError):  # the mirror has gone
        following.serve(lookup.here().home, Lifeline(), printing.OUT)


@far.command("mirror")
@click.argument("host")
def mirror(*, host: str) -> int:
    """Mirror the runs of a host."""
    from tmuxagents.watcher import mirror as mirroring  # noqa: PLC0415  (as above)

    home = lookup.here().home
    watcher_lock.settle(home)
    if host == SLURM:
        from tmuxagents.watcher import keep  # noqa: PLC0415  (as above)

        keep.keep(home, os.environ)
        return 0
    return mirroring.main(home, host, dict(os.environ))


@far.command("window")
@click.argument("run_dir")
def window(*, run_dir: str) -> int:
    """Show the mirror of a run, in its window here."""
    from tmuxagents.cli import far_window  # noqa: PLC0415  (as above)

    os.environ.update(far_window.environment(run_dir))
    return far_window.FarWindow(run_dir, dict(os.environ)).show()


@click.group("_code", hidden=True)
def code() -> None:
    """Serve a tmuxagents that sends code to this machine."""
    os.umask(0o077)


@code.command("receive")
@click.argument("form")
@click.argument("key")
def receive(*, form: str, key: str) -> None:
    """Receive the commits that git sends to this machine."""
    from tmuxagents.machines.checkout import Project  # noqa: PLC0415  (each part has its own)

    Project(key, places.own_home(os.environ), os.environ).receive(form)


@code.command("upload")
@click.argument("key")
def upload(*, key: str) -> None:
    """Send the commits that git fetches from this machine."""
    from tmuxagents.machines.checkout import Project  # noqa: PLC0415  (as above)

    Project(key, places.own_home(os.environ), os.environ).upload()


@code.command("do")
@_JSON
def do() -> None:
    """Do what stdin asks for."""
    from tmuxagents.machines import leavings  # noqa: PLC0415  (as above)
    from tmuxagents.text import jsonline  # noqa: PLC0415  (as above)

    printing.write(jsonline.encode(leavings.answer_about_code(_asked(), os.environ)))


VERBS = {"_wrap": wrap, "_watch": watch, "_story": story, "_far": far, "_code": code}
