"""The documents of the verbs that look after the machine: doctor, prune, integrate."""

from scripts.schema_shapes import (
    COUNT,
    ENDED,
    FLAG,
    NULL,
    PATH,
    TEXT,
    VERSION,
    WORD,
    Schema,
    given,
    listing,
    maybe,
    record,
    ref,
    when,
    words,
)

STATES = ("ok", "warning", "broken")
CHECK = record(
    {"name": WORD, "state": words(*STATES), "message": WORD, "hint": maybe(WORD)},
    when("state", ("ok",), hint=NULL),
    when("state", ("warning", "broken"), hint=WORD),
)
SETTING = record(
    {
        "key": WORD,
        "value": {"description": "As a person would write it in a settings file."},
        "source": words("default", "global", "project", "environment"),
    },
)
REMOVED = record(
    {
        "what": words("run", "window", "row", "link", "leftover"),
        "runId": maybe(ref("id")),
        "path": maybe(PATH) | {"description": "What lay on the disk, or the socket of a window's server."},
        "bytes": COUNT,
        "status": maybe(words(*ENDED)),
        "endedAt": maybe(ref("moment")),
    },
    when("what", ("run",), runId=ref("id"), path=PATH, status=words(*ENDED)),
    when("what", ("window", "link"), runId=ref("id"), path=PATH),
    when("what", ("row",), runId=ref("id"), path=NULL, bytes={"const": 0}),
    when("what", ("leftover",), path=PATH),
)
_WHERE: Schema = {"where": words("file", "server"), "path": PATH, "name": maybe(WORD)}
_OF_FILES = when("where", ("file",), name=NULL)
_OF_SERVERS = when("where", ("server",), name=WORD)

DOCUMENTS: dict[str, tuple[str, Schema]] = {
    "doctor": (
        "What doctor prints: the checks, in their order, and the settings in force.",
        record(
            {
                "v": VERSION,
                "at": ref("moment"),
                "version": WORD,
                "ok": FLAG | {"description": "Nothing is broken; there may be warnings."},
                "checks": listing(CHECK, minItems=1),
                "settings": listing(SETTING),
            },
            given(
                "ok",
                (True,),
                {"properties": {"checks": listing({"properties": {"state": words("ok", "warning")}})}},
            ),
        ),
    ),
    "prune": (
        "What prune prints: what was removed, or with --dry-run what would be.",
        record(
            {
                "v": VERSION,
                "dryRun": FLAG,
                "removed": listing(REMOVED),
                "bytes": COUNT,
                "warnings": listing(WORD),
            },
        ),
    ),
    "integrate": (
        "What integrate prints: what was changed (with --dry-run: would be), and what was left alone.",
        record(
            {
                "v": VERSION,
                "target": words("pi", "claude", "codex", "tmux"),
                "uninstall": FLAG,
                "dryRun": FLAG,
                "changes": listing(
                    record(_WHERE | {"before": maybe(TEXT), "after": maybe(TEXT)}, _OF_FILES, _OF_SERVERS)
                ),
                "left": listing(record(_WHERE | {"why": WORD}, _OF_FILES, _OF_SERVERS)),
                "warnings": listing(WORD),
            },
        ),
    ),
}
