"""The shapes of the catalogue: what a tool is, and what `call` prints when one was called.

That document does not name its tool. So a key that only one tool's details have says which rules hold for
the rest of them. The tools around delegate_to_subagents have three status words of their own, and times in
milliseconds; `state` and `reason` beside them are the words used everywhere else.
"""

from scripts.schema_shapes import (
    ACTIVE,
    COUNT,
    EXIT_CODE,
    FLAG,
    IDENTITY,
    ORDINAL,
    REASON,
    STATUS,
    TEXT,
    TIMEOUT,
    WORD,
    Schema,
    listing,
    maybe,
    reasons,
    record,
    ref,
    when,
    words,
)

DELEGATE_STATES = {"running": ACTIVE, "completed": ("completed",), "error": ("failed", "aborted")}
DELEGATE_STATUS: Schema = {"status": words(*DELEGATE_STATES), "state": STATUS, "reason": REASON}
DELEGATE_RULES = (
    *reasons("state"),
    *(when("status", (word,), state=words(*ours)) for word, ours in DELEGATE_STATES.items()),
)
LINES = listing(record({"text": TEXT, "kind": WORD}))

CHILD: Schema = {
    "name": WORD,
    **IDENTITY,
    **DELEGATE_STATUS,
    "exitCode": maybe(EXIT_CODE),
    "lines": LINES,
    "allMessages": LINES,
    "startedAt": maybe(ref("milliseconds")),
    "completedAt": maybe(ref("milliseconds")),
    "timeout": TIMEOUT,
    "toolCount": COUNT,
    "fileCount": COUNT,
    "profileName": maybe(WORD),
    "profileInfo": {"type": ["string", "object", "null"]},
    "provider": maybe(WORD),
    "model": maybe(WORD),
    "thinkingLevel": maybe(WORD),
    "stopReason": maybe(WORD),
    "errorMessage": maybe(TEXT),
    "todoTotal": maybe(COUNT),
    "todoCompleted": maybe(COUNT),
}
SUBAGENT: Schema = {
    "mode": words("single", "parallel"),
    "status": words("running", "completed", "failed"),
    "runs": listing(ref("run"), minItems=1),
    "counts": ref("counts"),
}
DELEGATE: Schema = {
    "globalStatus": words("running", "done"),
    "maxLinesPerWindow": ORDINAL,
    "sessionIds": listing(ref("id")),
    "windows": listing(ref("child"), minItems=1),
}
RETRIEVED: Schema = {
    "sessionId": ref("id"),
    "taskName": TEXT,
    "runCount": ORDINAL,
    "maxLines": ORDINAL,
    **DELEGATE_STATUS,
}
TRANSCRIPT: Schema = {
    "taskName": TEXT,
    "messageCount": COUNT,
    "exitCode": maybe(EXIT_CODE),
    "model": maybe(WORD),
}
PROFILES: Schema = {"count": ORDINAL, "profiles": {"type": "object", "additionalProperties": WORD}}

# Where details have this key, this shape holds too.
TELLING_KEYS = {
    "mode": "subagent",
    "delivered": "delivery",
    **dict.fromkeys(("globalStatus", "maxLinesPerWindow", "sessionIds", "windows"), "delegate"),
    **dict.fromkeys(("taskName", "maxLines", "runCount"), "retrieved"),
    "messageCount": "transcript",
    "count": "profiles",
    "profiles": "profiles",
}
CARRIED_OUT: Schema = {
    "not": {"required": ["error"]},
    "anyOf": [
        {"required": keys} for keys in (["run"], ["runs", "counts"], ["windows"], ["taskName"], ["count"])
    ],
    "properties": {"globalStatus": words("done")},
    "if": {"required": ["mode"]},
    "then": {"properties": {"status": words("completed", "failed")}},
}

DEFS: dict[str, Schema] = {
    "tool": record(
        {
            "name": {"type": "string", "pattern": "^[a-z][a-z0-9_]*$"},
            "label": WORD,
            "description": WORD,
            "parameters": record(
                {
                    "type": words("object"),
                    "additionalProperties": {"const": False},
                    "properties": {"type": "object"},
                },
                said="A JSON Schema.",
            ),
        },
    ),
    "child": record(CHILD, *DELEGATE_RULES, said="One task of delegate_to_subagents."),
    "subagent": record(SUBAGENT),
    "delivery": record({"run": ref("run"), "delivered": FLAG}),
    "delegate": record(DELEGATE),
    "retrieved": record(RETRIEVED, *DELEGATE_RULES),
    "transcript": record(TRANSCRIPT),
    "profiles": {"anyOf": [record({"count": {"const": 0}}), record(PROFILES)]},
    "details": {
        "type": "object",
        "properties": {
            "run": ref("run"),
            "runs": listing(ref("run")),
            "counts": ref("counts"),
            "error": ref("error"),
        },
        "dependentSchemas": {key: ref(name) for key, name in TELLING_KEYS.items()},
    },
    "block": record({"type": words("text"), "text": TEXT}),
    "progress": record(
        {"type": words("progress"), "content": listing(ref("block")), "details": ref("details")},
        optional={"view": TEXT | {"description": "The same for a screen that has room for it."}},
    ),
    "answer": record(
        {"content": listing(ref("block"), minItems=1), "details": ref("details"), "isError": FLAG},
        when("isError", (True,), details={"required": ["error"]}),
        when("isError", (False,), details=CARRIED_OUT),
        optional={"type": words("result")},
    ),
}
