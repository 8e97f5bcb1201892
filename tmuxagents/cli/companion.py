"""The hidden verbs behind what is registered inside a parent (pi): _follow, _agents, _profile. JSON lines.

Who calls them holds stdin open as long as he is there, and puts on the screen what they say and ask.
"""

from __future__ import annotations

import os

import click

from tmuxagents import jsonline
from tmuxagents.cli import agents_talk, calling, profile_talk, streams
from tmuxagents.cli import follow as following
from tmuxagents.cli.talk import Talk

_ALONE = click.option("--alone", is_flag=True, help="There is nobody to ask.")


@click.command(hidden=True)
@click.option("--json", "as_json", is_flag=True, help="It is JSON anyway.")
def follow(**options: bool) -> int:
    """Look after the background runs of the session whose entries come on stdin, and tell what is new."""
    return following.follow(**options)


@click.command(hidden=True)
@_ALONE
def agents(*, alone: bool) -> None:
    """Show the runs of a session, and attach to one, read or stop it."""
    agents_talk.lead(Talk(alone=alone), calling.caller(), os.environ)


@click.command(hidden=True)
@click.argument("line", default="")
@click.option("--words", "only_words", is_flag=True, help="Print what could be typed.")
@_ALONE
def profile(*, line: str, only_words: bool, alone: bool) -> None:
    """Carry out what a person typed behind /profile."""
    if only_words:
        streams.write(jsonline.encode({"words": profile_talk.completions()}))
    else:
        profile_talk.lead(Talk(alone=alone), line)


VERBS = {"_follow": follow, "_agents": agents, "_profile": profile}
