"""The meaning of a wrong verb or option: a word of another tool, or a noun in place of a verb. Pure.

Meaning comes before spelling: `--prompt` is not taken for a misspelt `--preset`. A name of several words
has the meaning of one of them: `--agent-type` means type, and `spawn_agent` means spawn.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence


def _by_word(rows: Mapping[str, str]) -> dict[str, str]:
    return {word: what for what, words in rows.items() for word in words.split()}


# What to type -> words of other tools for it.
VERBS = _by_word(
    {
        "launch": "start spawn new create add delegate submit dispatch enqueue begin fork",
        "run": "exec execute invoke ask prompt do perform",
        "run --tasks FILE": "batch parallel fanout swarm chain pipeline apply",
        "poll": "list status queue state stat info describe inspect progress details find",
        "poll --all": "history ended past",
        "wait": "await join block",
        "wait --output": "collect gather",
        "output": "download result results response answers cat print get fetch read reply-of",
        "transcript": "log tail show view trace capture diff journalctl",
        "transcript -f": "follow stream watch",
        "attach": "open enter connect switch chat focus",
        "send": "message messages msg tell steer say nudge reply",
        "answer": "approve allow deny respond confirm",
        "stop": "kill cancel close abort end terminate interrupt quit pause halt destroy shutdown",
        "retry": "again rerun repeat restart redo",
        "resume": "continue unpause reopen follow-up",
        "prune": "delete remove clean cleanup gc reset purge forget",
        "top": "dashboard ui tui monitor",
        "doctor": "check diagnose health",
        "presets": "preset profiles roles personas templates",
        "setup": "init install login configure",
        "config": "settings set",
        "skill": "guide instructions",
        "--version": "version",
    }
)
# Some words mean something else without an argument, with one (a run), or with two (a run and a text).
_ALONE = {"watch": "poll --watch", "follow": "poll --follow", "fork": "resume"}
_ABOUT_A_RUN = {"check": "poll", "health": "poll", "queue": "launch"}
_TO_A_RUN = {"ask": "send --wait", "prompt": "send", "fork": "resume", "chat": "send --wait"}
_NOUNS = _by_word(
    {
        "run": "agent subagent task job session child children process worker run container",
        "window": "window pane shell bg background",
    }
)
_READING = ("output", "poll", "transcript")  # with a plural noun, as in `get agents`, these mean the list
_NO_TASKS = frozenset(word for word, verb in VERBS.items() if verb.startswith("poll"))
_FILE = re.compile(r"\S+\.(?:ya?ml|jsonl?|md|txt)")

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
_SEVERAL = "tmuxagents run --tasks FILE runs several tasks; concurrency: N in the file, or --concurrency N"
_RESUME = "tmuxagents resume RUN TASK continues a session"
_STATUS = "--status STATUS filters, as --status failed,aborted; without it the list has the active runs"
_FOLLOW = "-f follows: tmuxagents transcript -f RUN"
_ALL = "--all: all of this parent or project; -A: of all projects"
_ALL_ENDS = "tmuxagents poll --wait waits for all runs of this parent or project"
_OUTPUT = "tmuxagents output RUN, or tmuxagents wait --output RUN"
_REDIRECT = "stdout has the answer and nothing else: tmuxagents {verb} ... > FILE"
_LEVEL = "--permission read-only, edit, full or ask, where the agent has levels (tmuxagents agents)"
_ASKS_NOTHING = "it asks nothing: tmuxagents {verb} RUN"
_PLACE = "each run works in --cwd DIR, which must exist: git worktree add makes one"
# option, without its dashes -> what to do instead, for the verbs that start runs
_STARTING = _by_word(
    {
        _TASK: "prompt task message instructions query text goal description -t",
        _BACKGROUND: "background detach detached -d async bg no-wait nowait no-block",
        _WAITS: "wait sync foreground fg block print",
        _PRESET: "profile role type subagent persona template",
        "--cwd DIR": "dir directory workdir folder workspace path -C cd root",
        "--name NAME": "title label id run-id -n agent-name",
        "--task-file FILE, - for stdin": "prompt-file input -f input-file stdin",
        "--file PATH adds a file to the prompt": "context attach-file include files",
        "--after RUN": "depends-on needs then chain dependency depends depend previous",
        _SEVERAL: "parallel jobs -j workers concurrency batch batch-file",
        _SET_UP: "system system-prompt tools allowed-tools thinking effort",
        _LEVEL: "permissions permission-mode approval-mode dangerously yolo full-auto sandbox auto-approve",
        "prune removes runs later": "rm",
        _RESUME: "resume continue -c session session-id",
        "--live shows the agent's own screen": "interactive -i tui",
        "-m MODEL (tmuxagents models)": "llm model-name provider",
        _PLACE: "worktree isolation branch",
        "tmuxagents retry RUN starts a task once more": "retry retries attempts",
        "a run starts at once, or after another one: --after RUN": "schedule cron delay at every",
        _REDIRECT: "output out save -o output-file",
        "--progress prints every change; without it only how it ended": "stream verbose -v quiet -q silent",
    }
)
# option, without its dashes -> what to do instead, for all verbs
_ANYWHERE = _by_word(
    {
        _RUN: "run run-id id ids session session-id name agent target to unit -t -u",
        _JSON: "format output-format -o jsonl",
        _SHORT: "tail head lines truncate chars max-chars limit",
        _LIMIT: "time time-limit deadline seconds minutes duration",
        _STATUS: "state filter running active failed completed done errors",
        _FOLLOW: "follow watch stream -f",
        "@last is the latest run: tmuxagents {verb} @last": "last latest recent newest -1",
        _ALL: "everything all -a",
        "stop ends a run gracefully, then hard": "force -9 kill hard signal",
        "the text is an argument: tmuxagents {verb} RUN TEXT": "message text prompt -p",
        _BACKGROUND: "background detach",
        _OUTPUT: "result results answer answers print",
        "tmuxagents transcript RUN has all that it said and did": "verbose -v full details",
    }
)
# These words count only alone: in each longer option they mean something else.
_WHOLE = frozenset(
    ["id", "name", "run", "file", "files", "all", "input", "at", "time", "path", "limit", "set", "no"]
)
# verb -> the same table, for options that mean something else at this verb
_OF_VERB = {
    "poll": _by_word(
        {
            _LATEST: "limit lines tail count last recent",
            "tmuxagents wait --output RUN, or tmuxagents output RUN": "output result",
            "--wait returns at an end, --watch redraws, --follow prints changes": "interval every refresh",
        }
    ),
    "tmuxagents": _by_word(
        {
            "tmuxagents run TASK does one task": "-p prompt print task message exec",
            _RESUME: "continue resume -c -r session",
            "tmuxagents poll lists the runs": "list status ps -l",
        }
    ),
    "transcript": _by_word({"-n N prints the last N lines": "tail lines limit"}),
    "stop": _by_word({"stop ends a run gracefully, then hard, and asks nothing": "force -f -9 yes -y kill"}),
    "prune": _by_word({_ASKS_NOTHING: "force -f yes -y"}),
    "output": _by_word(
        {"tmuxagents wait --output RUN waits, then prints the answer": "wait block follow -f"}
    ),
    "wait": _by_word(
        {
            _LIMIT: "seconds -s -t",
            "it waits until each RUN has ended: tmuxagents wait RUN...": "for until condition",
            _ALL_ENDS: "all -a everything",
            "--any returns when the first one has ended": "first one either",
            "--output prints the answers, too": "print result results answer answers verbose",
        }
    ),
}
# kind of a refusal -> the hint, where the refusal has none
OF_KIND = {"unknown-agent": "--agent names a program; a role is a preset: -p NAME (tmuxagents presets list)"}
_ARGUMENTS = {
    "wait": _ALL_ENDS,
    "call": "tmuxagents tools lists them",
    "models": "tmuxagents models lists them; --agent NAME those of another agent",
    "agents": "tmuxagents agents lists them",
    "mcp": "tmuxagents integrate claude, codex or pi adds it to a parent",
}


def verb(words: Sequence[str], known: Iterable[str]) -> str | None:
    """Return the verb, with options, that an unknown word and its arguments mean. `known`: our verbs."""
    name, *rest = words
    known = frozenset(known)
    parts = _parts(name)
    verbs = [part for part in parts if part.removesuffix("s") not in _NOUNS]
    verbs = verbs or [part for part in parts[:-1] if part in known]  # `run` is a noun, too
    if verbs or not parts:
        answers = (_verb(part, rest, known) for part in (name.lower(), *verbs))
        return next(filter(None, answers), None)
    if rest and (found := _verb(rest[0], rest[1:], known)):
        return found
    return "launch" if any(" " in word for word in rest) else "poll"


def _verb(name: str, rest: Sequence[str], known: Container[str]) -> str | None:
    if rest and rest[0].rstrip("s") in _NOUNS and rest[0].endswith("s") and VERBS.get(name) in _READING:
        return "poll"
    own: Mapping[str, str] = (_ALONE, _ABOUT_A_RUN, _TO_A_RUN)[min(len(rest), 2)]
    return own.get(name) or VERBS.get(name) or (name if name in known else None)


def _parts(name: str) -> list[str]:
    """Return the words of a name: those of `spawn_agent`, `list-sessions` and `TaskOutput`."""
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower())


def option(verb: str, name: str) -> str | None:
    """Return what to type instead of an option that a verb does not have; None if its meaning is unknown."""
    tables = [_OF_VERB.get(verb, {}), _STARTING if verb in _STARTS else {}, _ANYWHERE]
    whole = name[2:].lower() if name.startswith("--") else name
    words = _parts(name) if name.startswith("--") else []
    parts = [word for word in reversed(words) if word not in _WHOLE]
    found = (table[word] for word in (whole, *parts) for table in tables if word in table)
    answer = next(found, None)
    return answer and answer.format(verb=verb)


def arguments(verb: str) -> str | None:
    """Return what to type where a verb lacks an argument, or has one too many."""
    return _ARGUMENTS.get(verb)


def task(text: str, *, has_previous: bool, known: Iterable[str]) -> tuple[str, str] | None:
    """Return why a text cannot be a task, and what to do. It may be a verb or a file, or lack a run."""
    if "{previous}" in text and not has_previous:
        why = "{previous} stands for the answer of a run that --after names, and there is none."
        return why, "add --after RUN; --task-file passes the text on as it is"
    if text in known or text in _NO_TASKS:
        return f'"{text}" is a verb, and no task for an agent.', f"tmuxagents {VERBS.get(text, text)}"
    if _FILE.fullmatch(text):
        why = f'"{text}" is the name of a file, not a task for an agent.'
        return (
            why,
            "--tasks FILE runs the tasks of a file, --task-file FILE one task, --file FILE adds a file",
        )
    return None
