"""A brand's own agent files: where they lie, and what their keys mean (see presets/foreign). Pure."""

from __future__ import annotations

from tmuxagents.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARKDOWN, TOML = ".md", ".toml"


class AgentFiles(Record):
    """The agent files of one brand."""

    __slots__ = (
        *("agent", "body", "harmless", "own", "own_tools", "permission", "project", "suffix", "switches"),
        *("title", "titled", "tools"),
    )

    agent: str
    title: str  # as people call the brand
    own: str  # the user's folders, in the agent's own one, by a comma
    project: Sequence[str]  # a project's folders
    suffix: str
    titled: bool  # a file has the name that it says; else that of the file
    body: str | None  # the key of the prompt; None: the text below the header
    tools: Mapping[str, Sequence[str]]  # its name of a tool, in small letters -> ours
    own_tools: Sequence[str]  # tools that it alone has
    switches: bool  # tools are switched off one by one
    permission: tuple[str, Mapping[str, str]] | None  # the key of its mode, and modes -> ours
    harmless: Sequence[str]  # keys that change nothing of what a child may do, or how it works


USUAL = AgentFiles(
    agent="",
    title="",
    own="agents",
    project=(),
    suffix=MARKDOWN,
    titled=True,
    body=None,
    tools={},
    own_tools=(),
    switches=False,
    permission=None,
    harmless=("color",),
)
