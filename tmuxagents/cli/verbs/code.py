"""The hidden verb _code: the far side of code that goes to another machine and back. Joins."""

from __future__ import annotations

import os

import click

from tmuxagents.cli import printing
from tmuxagents.system import places

_MOST_REQUEST = 1024 * 1024


@click.group("_code", hidden=True)
def code() -> None:
    """Serve a tmuxagents that sends code to this machine."""
    os.umask(0o077)


@code.command("receive")
@click.argument("form")
@click.argument("key")
def receive(*, form: str, key: str) -> None:
    """Be the git that takes what is sent."""
    from tmuxagents.machines.checkout import Project  # noqa: PLC0415  (each part has its own)

    Project(key, places.own_home(os.environ), os.environ).receive(form)


@code.command("upload")
@click.argument("key")
def upload(*, key: str) -> None:
    """Be the git that gives out what is fetched."""
    from tmuxagents.machines.checkout import Project  # noqa: PLC0415

    Project(key, places.own_home(os.environ), os.environ).upload()


@code.command("do")
@click.option("--json", "as_json", is_flag=True)
def do(*, as_json: bool) -> None:  # noqa: ARG001  (errors are printed as JSON)
    """Do what stdin asks for."""
    from tmuxagents.errors import BadRequest  # noqa: PLC0415
    from tmuxagents.machines import far_code  # noqa: PLC0415
    from tmuxagents.text import jsonline  # noqa: PLC0415

    try:
        asked = jsonline.decode(printing.read(_MOST_REQUEST))
    except ValueError as error:
        raise BadRequest("The request is not whole.", kind="bad-argument") from error
    if not isinstance(asked, dict):
        raise BadRequest("The request is no object.", kind="bad-argument")
    printing.write(jsonline.encode(far_code.answer(asked, os.environ)))


VERBS = {"_code": code}
