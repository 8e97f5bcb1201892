"""The document of what a parent is told of its background runs, and writes into its session."""

from scripts.schema_shapes import (
    FLAG,
    OUTCOME,
    REASON,
    STATUS,
    TEXT,
    VERSION,
    WORD,
    Schema,
    maybe,
    reasons,
    record,
    ref,
    words,
)

_KEPT = (
    *("exitCode", "signal", "stopReason", "errorMessage", "model", "usage", "toolCount", "turns"),
    *("messageCount", "outputBytes", "leftBehind", "note"),
)
RESULT = record(
    {key: OUTCOME[key] for key in _KEPT}
    | {
        "output": maybe(TEXT | {"description": "The first 4,096 bytes."}),
        "startedAt": maybe(ref("moment")),
        "endedAt": maybe(ref("moment")),
    },
)
UPDATE = record(
    {"runId": ref("id"), "status": STATUS, "reason": REASON, "settled": FLAG, "result": maybe(RESULT)},
    *reasons("status"),
    said="The entry of a change. `settled`: a live child has answered.",
)
NOTICE = record(
    {
        "level": words("info", "warning"),
        "text": WORD | {"description": "For the screen."},
        "message": WORD | {"description": "For the conversation."},
    },
    said="Once for each run.",
)

DOCUMENTS: dict[str, tuple[str, Schema]] = {
    "notice": (
        "One line of what a parent inside pi is told of its background runs.",
        record(
            {
                "v": VERSION,
                "status": maybe(WORD) | {"description": "What the footer shows; null before the first run."},
                "counts": ref("counts"),
                "run": maybe(ref("run")) | {"description": "A run that is new to the session."},
                "update": maybe(UPDATE),
                "notice": maybe(NOTICE),
            },
        ),
    ),
}
