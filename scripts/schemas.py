#!/usr/bin/env python3
"""Write `tmuxagents/schemas/*.json` out of the shared shapes; `--check` only tells which files differ.

Every schema stands alone: what it points to is copied into its `$defs`, so that none needs a network.
The JSON files are never edited by hand.
"""

import json
import re
import sys
import textwrap
from pathlib import Path

# Started as a program, Python looks for modules beside this file only.
sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts import (
    schema_answers,
    schema_layouts,
    schema_notice,
    schema_presets,
    schema_shapes,
    schema_upkeep,
)
from scripts.schema_shapes import (
    COUNT,
    CURSOR,
    END_REASON,
    ENDED,
    EVENTS,
    FILE_NAME,
    FLAG,
    IDENTITY,
    MESSAGE,
    MESSAGE_RULE,
    NULL,
    ORDINAL,
    OUTCOME,
    PANE,
    PATH,
    PLACE,
    PLANNED,
    REASON,
    RUN_FILES,
    STATUS,
    TEXT,
    VERSION,
    WINDOW,
    WORD,
    Schema,
    given,
    listing,
    maybe,
    reasons,
    record,
    ref,
    when,
    words,
)

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "tmuxagents" / "schemas"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
WIDTH = 100

SHAPES = (
    schema_shapes.DEFS
    | schema_answers.DEFS
    | {
        "snapshot": record(
            {
                "v": VERSION,
                "at": ref("moment"),
                "scope": WORD,
                "project": maybe(PATH),
                "owner": maybe(WORD),
                "counts": ref("counts"),
                "runs": listing(ref("run")),
                "usage": ref("usage"),
                "cursor": CURSOR,
                "timedOut": FLAG,
            },
        ),
        "follow": record({"v": VERSION, "type": words("run"), "run": ref("run")}),
        "model": record(
            {
                "id": WORD | {"description": "What --model takes."},
                "provider": WORD,
                "name": maybe(WORD),
                "contextWindow": maybe(ORDINAL) | {"description": "Tokens."},
                "maxTokens": maybe(ORDINAL) | {"description": "Of one answer."},
                "reasoning": maybe(FLAG),
                "images": maybe(FLAG),
            },
            said="One model; what its agent does not tell is null.",
        ),
    }
)
CHANGE = record(
    {"runId": ref("id"), "status": STATUS, "reason": REASON, "activity": maybe(TEXT), "name": maybe(WORD)},
    *reasons("status"),
)

# ---- the documents: what each is, and its shape -----------------------------------------------------

DOCUMENTS: dict[str, tuple[str, Schema]] = {
    "receipt": (
        "What launch, resume and retry print.",
        record(
            {
                "v": VERSION,
                "run": ref("run"),
                "counts": ref("counts"),
                "attach": WORD,
                "warnings": listing(WORD),
            },
        ),
    ),
    "run": (
        "One run, as it stands in receipts, in poll, in the answers of tools and in entries.",
        SHAPES["run"],
    ),
    "poll": (
        "What poll, wait and run print; with --follow, lines of type `run` come before it.",
        {
            "type": "object",
            "if": {"required": ["type"], "properties": {"type": {"const": "run"}}},
            "then": ref("follow"),
            "else": ref("snapshot"),
        },
    ),
    "changes": (
        "What poll --since prints: the runs that changed after the cursor.",
        record(
            {
                "v": VERSION,
                "at": ref("moment"),
                "counts": ref("counts"),
                "changes": listing(CHANGE),
                "cursor": CURSOR,
                "reset": FLAG,
            },
        ),
    ),
    "event": (
        "One line of events.jsonl. Types that are not listed here are valid, with whatever they carry.",
        record(
            {"v": VERSION, "seq": ORDINAL, "at": ref("moment"), "type": WORD},
            *(given("type", (name,), shape) for name, shape in EVENTS.items()),
        ),
    ),
    "result": (
        "result.json of a run directory: how the run ended.",
        record(
            {"v": VERSION}
            | IDENTITY
            | {"status": words(*ENDED), "reason": END_REASON}
            | OUTCOME
            | {
                "output": maybe(TEXT | {"maxLength": 65536, "description": "The first 64 KB."}),
                "startedAt": maybe(ref("moment")),
                "endedAt": ref("moment"),
                "durationMs": COUNT,
                "lingered": FLAG,
                "logsIncomplete": FLAG,
            },
            *reasons("status"),
            when("status", ("completed",), startedAt=ref("moment"), errorMessage=NULL),
            when("startedAt", (None,), durationMs={"const": 0}),
        ),
    ),
    "meta": (
        "meta.json of a run directory: the plan, written once at launch.",
        record(
            {"v": VERSION}
            | PLANNED
            | {
                "systemPrompt": maybe(TEXT),
                "systemPromptPath": FILE_NAME,
                "appendSystemPromptPath": FILE_NAME,
                "root": maybe(ref("id")),
                "sessionPath": WORD,
                "artifacts": record(dict.fromkeys(RUN_FILES, FILE_NAME)),
                "tmux": record(PLACE),
            },
            optional={
                "profile": {"type": "object", "description": "What a profile adds to the command line."},
                "reopens": FLAG
                | {"description": "A person goes on with the session: the child gets no prompt."},
                "replayed": COUNT | {"description": "Characters of the transcript in the prompt, if any."},
                "nesting": COUNT
                | {"maximum": 3, "description": "How many levels of children it may have, if any may."},
            },
        ),
    ),
    "error": ("What any verb prints with --json when it refuses or fails.", record({"error": ref("error")})),
    "tools": (
        "The catalogue of tools, as a parent registers them.",
        record(
            {"v": VERSION, "available": FLAG, "why": maybe(WORD), "tools": listing(ref("tool"))},
            when("available", (True,), why=NULL),
            when("available", (False,), why=WORD),
        ),
    ),
    "models": (
        "What models prints: what an agent offers, in its own order.",
        record(
            {
                "v": VERSION,
                "agent": WORD,
                "agentVersion": maybe(WORD),
                "available": FLAG | {"description": "A launch is not refused for want of agent or models."},
                "why": maybe(WORD),
                "generation": COUNT | {"description": "Grows when other models are offered, in any order."},
                "models": listing(ref("model")),
                "warnings": listing(WORD),
            },
            when("available", (True,), why=NULL),
            when("available", (False,), why=WORD, models={"maxItems": 0}),
        ),
    ),
    "call": (
        "What call TOOL prints; with --stream, lines of type `progress` and a last one of type `result`.",
        {
            "type": "object",
            "if": {"required": ["type"], "properties": {"type": {"const": "progress"}}},
            "then": ref("progress"),
            "else": ref("answer"),
        },
    ),
    "wrapper": (
        "wrapper.json of a run directory: which process looks after the child, and in which window.",
        record(
            {
                "v": VERSION,
                "host": WORD,
                "bootId": WORD,
                "pidNamespace": ORDINAL,
                "pid": ORDINAL,
                "startTime": COUNT,
                "tmux": record(
                    {
                        "socketPath": maybe(PATH),
                        "serverPid": maybe(ORDINAL),
                        "serverStartTime": maybe(COUNT),
                        "window": maybe(WINDOW),
                        "pane": maybe(PANE),
                    },
                ),
                "at": ref("moment"),
            },
        ),
    ),
    "inbox": (
        "One line of inbox.jsonl: a message to a live child.",
        record({"v": VERSION, "at": ref("moment")} | MESSAGE, MESSAGE_RULE),
    ),
}
DOCUMENTS |= (
    schema_upkeep.DOCUMENTS | schema_presets.DOCUMENTS | schema_notice.DOCUMENTS | schema_layouts.DOCUMENTS
)

# ---- writing ----------------------------------------------------------------------------------------


def compose(name: str) -> Schema:
    """Put one schema together, with the shared shapes it uses and no others."""
    description, shape = DOCUMENTS[name]
    head = {"$schema": DRAFT, "title": f"tmuxagents {name}", "description": description}
    used = pointed_to(shape)
    shared = {"$defs": {key: SHAPES[key] for key in SHAPES if key in used}} if used else {}
    return head | {key: value for key, value in shape.items() if key != "description"} | shared


def pointed_to(shape: Schema) -> set[str]:
    """Name the shared shapes behind a shape's pointers, and behind theirs."""
    direct = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(shape)))
    return direct.union(*(pointed_to(SHAPES[name]) for name in direct))


def written(value: object, indent: int = 0, taken: int = 0) -> str:
    """Write JSON for people: what fits on a line stays on it, lists of words are filled like prose."""
    flat = json.dumps(value, ensure_ascii=False)
    if indent + taken + len(flat) < WIDTH or not isinstance(value, dict | list):
        return flat
    pad, end = " " * (indent + 2), "\n" + " " * indent
    if isinstance(value, dict):
        keys = {key: f"{json.dumps(key)}: " for key in value}
        items = [f"{pad}{keys[key]}{written(value[key], indent + 2, len(keys[key]))}" for key in value]
        return "{\n" + ",\n".join(items) + end + "}"
    if not any(isinstance(item, dict | list) for item in value):  # words: there is no space in any of them
        lines = textwrap.wrap(flat[1:-1], WIDTH - len(pad), break_on_hyphens=False)
        return "[\n" + "\n".join(pad + line for line in lines) + end + "]"
    return "[\n" + ",\n".join(pad + written(item, indent + 2) for item in value) + end + "]"


def main(arguments: list[str]) -> int:
    """Write the schemas, or with `--check` name those that differ from what would be written."""
    texts = {TARGET / f"{name}.json": written(compose(name)) + "\n" for name in DOCUMENTS}
    if arguments == ["--check"]:
        differ = [
            path for path, text in texts.items() if not path.exists() or path.read_text("utf-8") != text
        ]
        for path in differ:
            print(f"{path.relative_to(ROOT)} differs: run scripts/schemas.py", file=sys.stderr)
        return 1 if differ else 0
    if arguments:
        print("usage: schemas.py [--check]", file=sys.stderr)
        return 2
    for path, text in texts.items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
