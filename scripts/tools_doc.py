#!/usr/bin/env python3
"""Write `docs/tools.md` out of the catalogue of tools; `--check` only tells whether it differs.

The words of the catalogue are for models; what a person wants to know besides stands here.
"""

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

# Started as a program, Python looks for modules beside this file only.
sys.path.insert(0, str(Path(__file__).parents[1]))

from tmuxagents.tools import catalogue

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "tools.md"
WIDTH = 118

HEAD = """\
# The tools for parents

<!-- Written by scripts/tools_doc.py out of tmuxagents/tools/catalogue.py: change those. -->

A parent agent reaches these tools from a shell (`tmuxagents call TOOL JSON`) and over MCP
(`tmuxagents mcp`), see [integrations](integrations.md). `tmuxagents tools --json` prints them with their
JSON Schemas, and whether they can be used now. They are declared once, in `tmuxagents/tools/catalogue.py`;
all schemas together stay below 6 KB.

`call` prints one JSON document, always of the same shape: `content` is what a model reads, `details` the
same as JSON in brief (`--verbose` and `--stream` print whole documents of runs), `isError` says that the
call was refused and nothing was started. A refusal says what to do, and shows a call that is right. `call`
exits with 0 when the tool was carried out, whatever its children did; a refusal has the exit code of its
fault. `-` instead of the JSON reads it from stdin. With `--stream` JSON lines of progress come before
it, at most 10 a second. Ctrl-C, or TERM, stops the children of the call. `tmuxagents schema call` prints
the schema of all that.

A child has none of these tools, unless a preset of yours says so (`nesting`, see [presets](presets.md)).
"""

# tool -> what a person wants to know besides
NOTES: dict[str, str] = {
    "subagent": (
        "Either `preset` and `task`, or `tasks`; each task has its own preset. At most "
        "`maxConcurrency` children work at once (4), the next one begins when one ends. One faulty "
        "task refuses the whole call. The text has one block for each task, in the order of the call; an "
        "answer above 16 KB is cut, and the last line says how to read the rest."
    ),
    "background_agent": (
        "Returns when the child's window is open. The counts are those of the background runs of this"
        " parent; without one, of the project. [How a parent uses tmuxagents](integrations.md) says "
        "who the parent is."
    ),
    "background_agent_status": (
        "Without `runId` the active background runs, at most 20 of them, and with `includeCompleted` "
        "also those that have ended. With `runId` any run, and its answer or error once it has ended."
        " `wait` returns as soon as that run, or else any active one, has ended; the list then has "
        "the ended run, too. `verbose` puts whole documents into `details`."
    ),
    "delegate_to_subagents": (
        "A fault of one task alone (an unknown profile, a missing skill) ends that task, and the others "
        "continue. A fault of the call starts nothing: its shape, a `cwd` that is not"
        " absolute or has `..` in it, a session that cannot be resumed, a profile that contradicts "
        "itself. A task without a profile, and with no `defaultModel` set, uses the child's own "
        "default model. A file is a path, or `{path}` with `start` and `end`, or `head`, or `tail`; "
        "it must lie in the task's directory. `resume` puts the earlier conversation in front of the "
        "prompt. The status words in `details` are this tool's own: `running`, `completed`, `error`; "
        "`state` and `reason` beside them are those of the rest of tmuxagents."
    ),
    "get_subagent_output": (
        "A parent's tools know its latest 32 sessions of delegate_to_subagents, and the latest 10 "
        "runs of each. The command line reads older ones as long as their files are there. Above the text "
        "of a run that failed or still works, a line says that it is no answer. If a tool has "
        "returned the answer of an ended run, `poll --unread` does not list that run."
    ),
    "get_subagent_session": ("Arguments of a call are cut after 120 characters, its result after 500."),
    "list_subagent_profiles": (
        "Those that count here: a hidden one of the same name is left out (`tmuxagents presets list` "
        "shows all)."
    ),
    "stop_agent": ("That a run has ended already is no error."),
    "send_to_agent": (
        "A batch child refuses (exit 4, `not-live`). Delivered means that the child has taken it: it "
        "reads it between two of its steps, or, with `followUp`, when it is done."
    ),
    "answer_agent": (
        "The question, its options and its id are in `asks` of the run. A run that asks nothing refuses "
        "(exit 4). A question that gets no answer in time is denied (setting `askTimeout`)."
    ),
}


def written() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *(part(tool) for tool in catalogue.TOOLS)])


def part(tool: catalogue.Tool) -> str:
    """Return what the page says of one tool."""
    note, example = NOTES[tool.name], catalogue.EXAMPLES[tool.name]
    rows = list(parameters(tool.parameters, ""))
    head = ["| parameter | type | |", "|---|---|---|"] if rows else ["No parameters."]
    arguments = f" '{json.dumps(example)}'" if example else ""
    call = f"tmuxagents call {tool.name}{arguments}"
    lines = [f"## {tool.name}", "", f"> {tool.description}", "", textwrap.fill(note, WIDTH), ""]
    lines += [*head, *rows, ""]
    return "\n".join([*lines, "```sh", call, "```", ""])


def parameters(schema: dict[str, Any], place: str) -> list[str]:
    """Return a row for each parameter, those of the entries of a list behind it."""
    rows = []
    for name, of in schema["properties"].items():
        needed = "required" if name in schema.get("required", ()) else ""
        said = [of["description"]] if "description" in of else []
        said += [" or ".join(map(json.dumps, of["enum"]))] if "enum" in of else []
        said += [f"default {json.dumps(of['default'])}"] if "default" in of else []
        rows.append(f"| `{place}{name}` | {kind(of)}{', ' if needed else ''}{needed} | {'. '.join(said)} |")
        if of["type"] == "array" and "properties" in of["items"]:
            rows += parameters(of["items"], f"{place}{name}[].")
    return rows


def kind(schema: dict[str, Any]) -> str:
    """Return the type of a value in words."""
    if schema["type"] != "array":
        return str(schema["type"])
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    span = f"{least} to {most} " if most else f"{least} or more " if least else ""
    return f"list of {span}entries"


def main(arguments: list[str]) -> int:
    """Write the page, or with `--check` say whether it differs from what would be written."""
    text = written()
    if arguments == ["--check"]:
        differs = not TARGET.exists() or TARGET.read_text("utf-8") != text
        if differs:
            print(f"{TARGET.relative_to(ROOT)} differs: run scripts/tools_doc.py", file=sys.stderr)
        return int(differs)
    if arguments:
        print("usage: tools_doc.py [--check]", file=sys.stderr)
        return 2
    TARGET.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
