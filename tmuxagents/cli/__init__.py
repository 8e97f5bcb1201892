"""The command line: its verbs, and in which module of this package each is declared. Joins.

Each family of verbs is imported when one of its verbs is called, and click with the first. Light: the short
way of the verbs that are called again and again passes through here, too.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

EVERYDAY, SET_UP, PROGRAMS = "Everyday", "Set-up", "For agents and programs"
# verb -> (where it is declared, its group in the help, one line)
VERBS: dict[str, tuple[str, str, str]] = {
    "launch": ("launching", EVERYDAY, "Run a task in a child, in a tmux window of its own."),
    "run": ("running", EVERYDAY, "Run tasks in children and wait for them."),
    "poll": ("watching", EVERYDAY, "List runs and their status."),
    "wait": ("watching", EVERYDAY, "Wait for runs; the exit code tells how they ended."),
    "attach": ("attaching", EVERYDAY, "Show a run's window on this terminal."),
    "send": ("launching", EVERYDAY, "Send a message to a live run."),
    "stop": ("stopping", EVERYDAY, "Stop runs: gracefully, then hard."),
    "retry": ("launching", EVERYDAY, "Run the task of a run again."),
    "resume": ("launching", EVERYDAY, "Continue the session of a run that has ended."),
    "output": ("reading", EVERYDAY, "Print the last answer of a run."),
    "transcript": ("reading", EVERYDAY, "Show what a run says and does."),
    "replay": ("reading", EVERYDAY, "Show a run again, in its own time."),
    "export": ("reading", EVERYDAY, "Write runs as one page of HTML."),
    "events": ("reading", PROGRAMS, "Print what a run did, as JSON lines."),
    "setup": ("upkeep", SET_UP, "Set up agent, model, status line, keys and parents."),
    "presets": ("presets", SET_UP, "Look at presets and profiles."),
    "models": ("models", SET_UP, "List the models that a child can use."),
    "layouts": ("layouts", SET_UP, "Open sessions of tmux that show runs side by side."),
    "top": ("top", EVERYDAY, "Watch all runs on the whole screen."),
    "statusline": ("watching", SET_UP, "Print the text of the status line."),
    "integrate": ("integrate", SET_UP, "Show the runs in tmux; let pi, Claude Code or Codex delegate."),
    "config": ("upkeep", SET_UP, "Show and change settings."),
    "doctor": ("upkeep", SET_UP, "Check the machine and the project, and say what to do."),
    "prune": ("upkeep", SET_UP, "Remove runs that are old, and what they left."),
    "call": ("tools", PROGRAMS, "Carry out a tool of the catalogue, JSON in and out."),
    "tools": ("tools", PROGRAMS, "List the tools for parent agents."),
    "mcp": ("tools", PROGRAMS, "Serve the tools over MCP on stdin and stdout."),
    "schema": ("machine", PROGRAMS, "Print the JSON Schema of a document."),
    "completion": ("completion", SET_UP, "Print what lets your shell complete command lines."),
}
HIDDEN = {
    **dict.fromkeys(("status", "ps", "ls"), "watching"),
    **dict.fromkeys(("kill", "cancel"), "stopping"),
    "logs": "reading",
    "rm": "upkeep",
    **dict.fromkeys(("_wrap", "_watch"), "machine"),
    "_resource": "tools",
    "_newest": "layouts",
    **dict.fromkeys(("_follow", "_agents", "_profile"), "inside_pi"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with the documented exit code."""
    from tmuxagents.cli.group import run  # noqa: PLC0415  (click)

    run(arguments)
