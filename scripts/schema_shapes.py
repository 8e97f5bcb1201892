"""The shapes that the schemas are made of, each written once: closed lists of words, runs, errors, events.

Data and the small makers for it, nothing that reads or writes; `schemas.py` beside it puts whole documents
together. A key of a shape is required unless it stands under `optional`; unknown keys are always allowed.
"""

from typing import Any

Schema = dict[str, Any]

# ---- closed lists of words --------------------------------------------------------------------------

ACTIVE = ("queued", "running")
REASONS = {
    "completed": ("done",),
    "failed": (
        *("error", "length", "unfinished", "exit", "signal", "timeout", "loop"),
        *("spawn", "window", "config", "dependency"),
    ),
    "aborted": ("stopped", "parent", "closed", "lost"),
}
ENDED = tuple(REASONS)
KINDS = {
    (2,): (
        *("usage", "removed", "empty-task", "bad-tasks", "bad-argument", "bad-cwd", "bad-file"),
        *("unknown-preset", "bad-preset", "unknown-profile", "bad-profile", "unknown-skill"),
        *("no-model", "unknown-model", "ambiguous-model", "unknown-agent", "bad-settings"),
        *("bad-layout", "unknown-layout", "unknown-tool", "nested"),
    ),
    (3,): (
        *("tmux-missing", "tmux-old", "tmux-unreachable", "window", "agent-missing", "no-models"),
        *("no-space", "no-permission", "no-tty"),
    ),
    (4,): (
        *("unknown-run", "ambiguous-run", "run-ended", "run-running", "run-busy"),
        *("no-window", "not-live", "run-changed"),
    ),
    (130, 143): ("interrupted",),
    (70,): ("internal",),
}

# ---- small makers -----------------------------------------------------------------------------------


def ref(name: str) -> Schema:
    """Point to a shared shape."""
    return {"$ref": f"#/$defs/{name}"}


def words(*choices: str) -> Schema:
    """Allow these words only."""
    return {"enum": list(choices)}


def maybe(schema: Schema) -> Schema:
    """Allow null besides, for what can be unknown."""
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    if "type" in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, NULL]}


def listing(item: Schema, **limits: int) -> Schema:
    """Make a list, which is never null."""
    return {"type": "array", "items": item, **limits}


def record(keys: Schema, *rules: Schema, optional: Schema | None = None, said: str = "") -> Schema:
    """Make an object that must have all these keys and may have others."""
    schema: Schema = {"description": said} if said else {}
    schema |= {"type": "object", "required": list(keys), "properties": keys | (optional or {})}
    return schema | ({"allOf": list(rules)} if rules else {})


def given(key: str, choices: tuple[Any, ...], then: Schema) -> Schema:
    """Demand more of an object where one of its keys has one of these values."""
    value = {"const": choices[0]} if len(choices) == 1 else {"enum": list(choices)}
    return {"if": {"required": [key], "properties": {key: value}}, "then": then}


def when(key: str, choices: tuple[Any, ...], **then: Schema) -> Schema:
    """Demand more of other keys where one key has one of these values."""
    return given(key, choices, {"properties": then})


def reasons(key: str) -> list[Schema]:
    """Tie `reason` to a status word: null before the end, one of that ending's words after it."""
    return [
        when(key, ACTIVE, reason=NULL),
        *(when(key, (word,), reason=words(*allowed)) for word, allowed in REASONS.items()),
    ]


NULL: Schema = {"type": "null"}
TEXT: Schema = {"type": "string"}
WORD: Schema = {"type": "string", "minLength": 1}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
ORDINAL: Schema = {"type": "integer", "minimum": 1}
SECONDS: Schema = {"type": "number", "minimum": 0}
TIMEOUT: Schema = {"type": "number", "minimum": 1, "description": "Seconds."}
PATH: Schema = {"type": "string", "pattern": "^/"}
WINDOW: Schema = {"type": "string", "pattern": "^@[0-9]+$"}
PANE: Schema = {"type": "string", "pattern": "^%[0-9]+$"}
SIGNAL: Schema = {"type": "string", "pattern": "^SIG[A-Z0-9+-]+$", "description": "A name, as SIGKILL."}
CURSOR: Schema = {"type": "string", "pattern": "^[^.]+\\.[0-9]+\\.[0-9]+$"}
EXIT_CODE: Schema = {"type": "integer", "minimum": 0, "maximum": 255}
VERSION: Schema = {"const": 1}
STATUS = words(*ACTIVE, *ENDED)
END_REASON = words(*(word for allowed in REASONS.values() for word in allowed))
REASON = maybe(END_REASON)
KIND = words(*(kind for kinds in KINDS.values() for kind in kinds))

# ---- what a run is made of --------------------------------------------------------------------------

IDENTITY: Schema = {"runId": ref("id"), "sessionId": ref("id")}
# Fixed at launch: the same in the plan and wherever the run is shown.
PLANNED: Schema = IDENTITY | {
    "callId": ref("id") | {"description": "The first run of the same call."},
    "name": maybe(WORD),
    "mode": words("single", "parallel", "background"),
    "taskIndex": COUNT,
    "step": NULL,
    "preset": maybe(WORD),
    "presetKind": maybe(words("preset", "profile")),
    "presetSource": maybe(words("project", "global")),
    "presetPath": maybe(PATH),
    "presetHash": maybe({"type": "string", "pattern": "^[0-9a-f]{12}$"}),
    "presetHides": maybe(PATH) | {"description": "The global file that the chosen one hides."},
    "tools": listing(WORD),
    "agent": WORD,
    "driver": words("batch", "live"),
    "task": WORD,
    "cwd": PATH,
    "project": PATH,
    "owner": maybe(WORD) | {"description": "The parent's own session."},
    "after": listing(ref("id")) | {"description": "Runs this one waits for."},
    "files": listing({"type": ["string", "object"]}),
    "resumes": maybe(ref("id")),
    "requestedModel": maybe(WORD),
    "resolvedModel": maybe(WORD),
    "modelSource": maybe(WORD),
    "timeout": TIMEOUT,
    "createdAt": ref("moment"),
}
# Known at the end, and as far as it has come before.
OUTCOME: Schema = {
    "model": maybe(WORD) | {"description": "What the child says it uses."},
    "usage": ref("usage"),
    "toolCount": COUNT,
    "turns": COUNT,
    "messageCount": COUNT,
    "exitCode": maybe(EXIT_CODE),
    "signal": maybe(SIGNAL),
    "stopReason": maybe(WORD),
    "errorMessage": maybe(TEXT),
    "outputBytes": maybe(COUNT),
    "leftBehind": listing(ref("leftover")),
    "note": maybe(TEXT),
}
LEFTOVER: Schema = {"pid": ORDINAL, "comm": TEXT, "why": TEXT}
RUN_FILES = ("events", "stdout", "stderr", "transcript", "session", "result")
PLAN_FILES = ("meta", "prompt", "systemPrompt", "appendSystemPrompt")
FILE_NAME = maybe(WORD)
TOKENS: Schema = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), COUNT)
USAGE: Schema = TOKENS | {"cost": {"type": "number", "minimum": 0, "description": "US dollars."}}
PLACE: Schema = {"socket": maybe(WORD), "session": maybe(WORD)}
FAULT: Schema = {"kind": KIND, "message": WORD}

# ---- shared shapes ----------------------------------------------------------------------------------

DEFS: dict[str, Schema] = {
    "id": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
    "moment": {
        "description": "Seconds since 1970, three decimals (a figure above the maximum is in milliseconds).",
        "type": "number",
        "minimum": 0,
        "maximum": 100_000_000_000,
    },
    "milliseconds": {"type": "integer", "minimum": 100_000_000_000},
    "counts": record(
        dict.fromkeys((*ACTIVE, *ENDED, "total"), COUNT), said="`total` is the sum of the others."
    ),
    "usage": record(USAGE, said="Tokens and cost; `input` holds nothing that was read from a cache."),
    "leftover": record(LEFTOVER, said="A process that outlived the run on purpose."),
    "run": record(
        PLANNED
        | {
            "status": STATUS,
            "reason": REASON,
            "activity": maybe(TEXT),
            "attended": FLAG | {"description": "A person has typed into it."},
            "settled": FLAG | {"description": "A live child that has answered and waits."},
            "needsInput": FLAG,
            "agentVersion": maybe(WORD),
            "startedAt": maybe(ref("moment")),
            "endedAt": maybe(ref("moment")),
            "lastEventAt": maybe(ref("moment")),
            "runCount": ORDINAL,
        }
        | OUTCOME
        | {
            "output": maybe(TEXT | {"maxLength": 4096, "description": "The first 4096 bytes."}),
            "runDir": PATH,
            "artifacts": record(dict.fromkeys((*PLAN_FILES, *RUN_FILES), FILE_NAME)),
            "tmux": record(PLACE | {"window": maybe(WINDOW), "pane": maybe(PANE)}),
            "elapsedSeconds": SECONDS,
        },
        *reasons("status"),
        when(
            "status",
            ("queued",),
            startedAt=NULL,
            elapsedSeconds={"const": 0},
            tmux={"properties": {"window": NULL}},
        ),
        when("status", ("running", "completed"), startedAt=ref("moment")),
        when("status", ACTIVE, endedAt=NULL),
        when("status", ENDED, endedAt=ref("moment")),
        when("status", ("completed",), errorMessage=NULL),
        said="One run, the same wherever it is shown. Names in `artifacts` are relative to `runDir`.",
    ),
    "error": record(
        FAULT
        | {
            "hint": maybe(WORD),
            "exit": {"enum": [code for codes in KINDS for code in codes]},
            "faults": listing(record({"field": maybe(WORD)} | FAULT), minItems=1),
            "candidates": listing(WORD),
        },
        *(when("kind", kinds, exit={"enum": list(codes)}) for codes, kinds in KINDS.items()),
        given("kind", ("internal",), {"required": ["log"]}),
        optional={"log": PATH},
        said="Why a request was not carried out. `log`, the file with the traceback, comes with `internal`.",
    ),
}

# ---- events -----------------------------------------------------------------------------------------

CALL: Schema = {"callId": maybe(WORD), "toolName": WORD}
MESSAGE: Schema = {"inboxId": ORDINAL, "kind": words("steer", "followUp", "stop"), "text": maybe(TEXT)}
MESSAGE_RULE = when("kind", ("steer", "followUp"), text=TEXT)
ASKED: Schema = {"kind": WORD, "text": maybe(TEXT)}
EVENTS: dict[str, Schema] = {
    "run_started": record(
        {
            "pid": ORDINAL,
            "pidStartTime": COUNT,
            "wrapperPid": ORDINAL,
            "pane": maybe(PANE),  # a wrapper also runs outside tmux
            "window": maybe(WINDOW),
            "agentVersion": maybe(WORD),
        },
    ),
    "assistant_text": record({"text": TEXT}),
    "thinking": record({"text": TEXT | {"maxLength": 2048}}),
    "tool_call": record(CALL | {"args": {"type": "object"}}),
    "tool_result": record(
        CALL | {"isError": FLAG, "text": TEXT | {"maxLength": 503}, "durationMs": maybe(COUNT)},
        optional={"summary": WORD | {"description": "Of ls and find: what the whole listing amounts to."}},
    ),
    "usage": ref("usage"),
    "retry": record(
        {
            "attempt": maybe(ORDINAL),
            "maxAttempts": maybe(ORDINAL),
            "delayMs": maybe(COUNT),
            "errorMessage": maybe(TEXT),
        },
    ),
    "human_input": record({"text": TEXT}),
    "message_sent": record(MESSAGE, MESSAGE_RULE),
    "turn_end": record({"stopReason": maybe(WORD)}),
    "settled": record({"aborted": FLAG}, optional={"attended": FLAG}),
    "needs_input": record(ASKED),
    "input_given": record(ASKED),
    "left_behind": ref("leftover"),
    "queued": record({"position": COUNT}),
    "resumed": record({}),
    "stderr": record({"text": TEXT}),
    "child_exited": record({"exitCode": maybe(EXIT_CODE), "signal": maybe(SIGNAL)}),
}
