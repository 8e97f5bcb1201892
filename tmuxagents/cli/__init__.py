"""The command line: its verbs, and the module that declares each of them. Joins.

click and a verb's module are imported only when the verb is called. The verbs of cli/quick need neither.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

EVERYDAY, SET_UP, PROGRAMS = "Everyday", "Set-up", "For agents and programs"
# verb -> (its module, its group in the help, its line there)
VERBS: dict[str, tuple[str, str, str]] = {
    "launch": ("launching", EVERYDAY, "Run a task in the background, in its own tmux window."),
    "run": ("running", EVERYDAY, "Run tasks, wait for them and print the answers."),
    "poll": ("overseeing", EVERYDAY, "List runs and their status."),
    "wait": ("overseeing", EVERYDAY, "Wait for runs; the exit code says how they ended."),
    "attach": ("attaching", EVERYDAY, "Show a run's window on this terminal."),
    "send": ("overseeing", EVERYDAY, "Send a message to a run that takes one."),
    "answer": ("overseeing", EVERYDAY, "Answer a question of a run."),
    "stop": ("overseeing", EVERYDAY, "Stop runs."),
    "retry": ("launching", EVERYDAY, "Run the task of a run again."),
    "resume": ("launching", EVERYDAY, "Continue the session of a run that has ended."),
    "output": ("reading", EVERYDAY, "Print the last answer of a run."),
    "transcript": ("reading", EVERYDAY, "Show what a run says and does."),
    "replay": ("replay", EVERYDAY, "Play back a run, at its own speed."),
    "export": ("reading", EVERYDAY, "Write runs as one HTML page."),
    "events": ("reading", PROGRAMS, "Print the events of a run as JSON lines."),
    "setup": ("setup", SET_UP, "Set up agent, model, status line, keys and parents."),
    "demo": ("setup", SET_UP, "Show three agents at work, with a demo model."),
    "presets": ("presets", SET_UP, "List, show, check and edit presets."),
    "agents": ("agents", SET_UP, "List the agents, installed or not, and what each can do."),
    "models": ("agents", SET_UP, "List the models that an agent can use."),
    "hosts": ("hosts", SET_UP, "Manage other machines for children."),
    "layouts": ("layouts", SET_UP, "Open tmux sessions that show runs side by side."),
    "top": ("overseeing", EVERYDAY, "Watch all runs on the full screen."),
    "statusline": ("overseeing", SET_UP, "Print the counts for a status line."),
    "integrate": ("upkeep", SET_UP, "Set up tmux, pi, Claude Code or Codex to use tmuxagents."),
    "config": ("upkeep", SET_UP, "Show and change settings."),
    "doctor": ("upkeep", SET_UP, "Check the machine and the project."),
    "prune": ("upkeep", SET_UP, "Remove old runs and their windows."),
    "call": ("tools", PROGRAMS, "Call a tool: JSON in, JSON out."),
    "tools": ("tools", PROGRAMS, "List the tools for parent agents."),
    "mcp": ("tools", PROGRAMS, "Serve the tools over MCP on stdin and stdout."),
    "skill": ("explaining", PROGRAMS, "Print how an agent delegates with tmuxagents."),
    "schema": ("explaining", PROGRAMS, "Print the JSON Schema of a document."),
    "completion": ("explaining", SET_UP, "Print a script that completes command lines in your shell."),
    "help": ("explaining", SET_UP, "Explain a verb."),
}
HIDDEN = {
    **dict.fromkeys(("status", "ps", "ls", "kill", "cancel"), "overseeing"),
    "logs": "reading",
    "rm": "upkeep",
    **dict.fromkeys(("_wrap", "_watch", "_story", "_far", "_code"), "hidden"),
    "_resource": "tools",
    "_newest": "layouts",
    **dict.fromkeys(("_follow", "_agents", "_profile"), "inside_pi"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with the documented code."""
    from tmuxagents.cli.group import run  # noqa: PLC0415  (click)

    run(arguments)
