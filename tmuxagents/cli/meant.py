"""What wrong words on a command line mean: options of other tools, a task in the place of a preset. Pure.

Meaning comes before near spelling: `--prompt` is no misspelt `--preset`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_STARTS = ("launch", "run")
_TASK = "the task is an argument: tmuxagents {verb} TASK; --task-file - reads it from stdin"
_BACKGROUND = "launch returns at once, run waits: tmuxagents launch TASK"
_WAITS = "run waits, and prints the answer: tmuxagents run TASK; later: tmuxagents wait --output RUN"
_PRESET = "-p NAME takes a preset (tmuxagents presets list), -m MODEL a model"
_SET_UP = "a preset sets that: tmuxagents presets new"
_RUN = "RUN is an argument, an id or a name: tmuxagents {verb} RUN"
_JSON = "--json prints a document"
_SHORT = "--max-bytes N keeps head and tail of an answer"
_LATEST = "-n N also lists the N runs that ended last, --all all of them"
_LIMIT = "--timeout TIME limits it, as 90s or 5m"
_SEVERAL = "tmuxagents run --tasks FILE runs several tasks; concurrency: N in the file"
_RESUME = "tmuxagents resume RUN TASK continues a session"
_STATUS = "--status STATUS filters, as --status failed,aborted; without it the list has the active runs"
_FOLLOW = "-f follows: tmuxagents transcript -f RUN"
_ALL = "--all: all of this parent or project; -A: of all projects"
# option -> what to do instead, for the verbs that start runs
_STARTING: Mapping[str, str] = {
    **dict.fromkeys(("--prompt", "--task", "--message", "--instructions", "--query", "--text"), _TASK),
    **dict.fromkeys(
        ("--background", "--detach", "-d", "--async", "--bg", "--no-wait", "--nowait"), _BACKGROUND
    ),
    **dict.fromkeys(("--wait", "--sync", "--foreground", "--fg", "--block", "--print"), _WAITS),
    **dict.fromkeys(("--profile", "--role", "--type", "--subagent", "--subagent-type", "--persona"), _PRESET),
    **dict.fromkeys(("--dir", "--directory", "--workdir", "--path", "-C", "--cd", "--root"), "--cwd DIR"),
    **dict.fromkeys(("--title", "--label", "--id", "--run-id", "-n", "--agent-name"), "--name NAME"),
    **dict.fromkeys(
        ("--prompt-file", "--input", "-f", "--input-file", "--stdin"), "--task-file FILE, - for stdin"
    ),
    **dict.fromkeys(("--context", "--attach-file", "--include"), "--file PATH adds a file to the prompt"),
    **dict.fromkeys(("--depends-on", "--needs", "--then", "--chain", "--dependency"), "--after RUN"),
    **dict.fromkeys(("--parallel", "--jobs", "-j", "--workers", "--concurrency", "--batch-file"), _SEVERAL),
    **dict.fromkeys(
        ("--system-prompt", "--tools", "--allowed-tools", "--allowedTools", "--thinking"), _SET_UP
    ),
    **dict.fromkeys(("--resume", "--continue", "-c", "--session", "--session-id"), _RESUME),
    **dict.fromkeys(("--interactive", "-i", "--tui"), "--live shows the agent's own screen"),
    **dict.fromkeys(("--llm", "--model-name", "--provider"), "-m MODEL (tmuxagents models)"),
}
# option -> what to do instead, for all verbs
_ANYWHERE: Mapping[str, str] = {
    **dict.fromkeys(("--run", "--run-id", "--id", "--session", "--session-id", "--name", "--agent"), _RUN),
    **dict.fromkeys(("--format", "--output-format", "-o", "--jsonl"), _JSON),
    **dict.fromkeys(("--tail", "--head", "--lines", "--truncate", "--max-chars", "--limit"), _SHORT),
    **dict.fromkeys(("--max-time", "--time-limit", "--deadline", "--max-seconds", "-t"), _LIMIT),
    **dict.fromkeys(("--state", "--filter", "--running", "--active", "--failed", "--completed"), _STATUS),
    **dict.fromkeys(("--follow", "--watch", "--stream"), _FOLLOW),
    **dict.fromkeys(("--last", "--latest", "--recent"), "@last is the latest run: tmuxagents {verb} @last"),
    **dict.fromkeys(("--everything", "--all", "-a"), _ALL),
    **dict.fromkeys(
        ("--force", "-9", "--kill", "--hard", "--signal"), "stop ends a run gracefully, then hard"
    ),
    **dict.fromkeys(
        ("--message", "--text", "--prompt", "-p"), "the text is an argument: tmuxagents {verb} RUN TEXT"
    ),
    **dict.fromkeys(("--background", "--detach"), _BACKGROUND),
    **dict.fromkeys(("--result", "--answer"), "tmuxagents output RUN, or tmuxagents wait --output RUN"),
}
# option -> what to do instead, where a verb has its own way
_OF_VERB: Mapping[str, Mapping[str, str]] = {
    "poll": {
        **dict.fromkeys(("--limit", "--lines", "--tail", "--count", "--last", "--recent"), _LATEST),
        **dict.fromkeys(("--output", "--result"), "tmuxagents wait --output RUN, or tmuxagents output RUN"),
    },
    "transcript": dict.fromkeys(("--tail", "--lines", "-n"), "tmuxagents transcript RUN | tail -n N"),
    "output": dict.fromkeys(
        ("--wait", "--block"), "tmuxagents wait --output RUN waits, then prints the answer"
    ),
    "wait": dict.fromkeys(("--for", "--seconds", "-s"), _LIMIT),
}


def option(verb: str, name: str) -> str | None:
    """Return what to type instead of an option that a verb does not have; None if its meaning is unknown."""
    own = _OF_VERB.get(verb, {}).get(name)
    said = own or (_STARTING.get(name) if verb in _STARTS else None) or _ANYWHERE.get(name)
    return said and said.format(verb=verb)


def task(text: str, *, has_previous: bool) -> str | None:
    """Return why a task cannot be meant as it is: it asks for the answer of a run that it does not name."""
    if has_previous or "{previous}" not in text:
        return None
    return "{previous} stands for the answer of a run that --after names, and there is none"
