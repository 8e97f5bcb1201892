"""The documents of `layouts`: one layout, all of them, the session of one that was opened."""

from scripts.schema_shapes import (
    FLAG,
    NULL,
    PATH,
    TEXT,
    VERSION,
    WORD,
    Schema,
    listing,
    maybe,
    record,
    ref,
    when,
    words,
)

_NAME: Schema = {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,31}$"}
_OPTIONS: Schema = {"type": "object", "additionalProperties": TEXT}
_PANE = record(
    {
        "show": maybe(words("top", "transcript")) | {"description": "A view of ours; null: a shell."},
        "run": maybe(WORD) | {"description": "Whose transcript: newest, or a run's name or id."},
        "commands": listing(WORD) | {"description": "Typed into the shell."},
        "startDirectory": maybe(WORD),
        "focus": FLAG,
    },
    when("show", ("transcript",), run=WORD, commands={"maxItems": 0}),
    when("show", ("top",), run=NULL, commands={"maxItems": 0}),
    when("show", (None,), run=NULL),
)
_WINDOW = record(
    {
        "name": _NAME,
        "layout": maybe(WORD) | {"description": "One of tmux's names, or a text with a checksum."},
        "eachRun": maybe(words("pane")) | {"description": "What comes for each live run."},
        "focus": FLAG,
        "startDirectory": maybe(WORD),
        "options": _OPTIONS,
        "panes": listing(_PANE) | {"minItems": 1},
    },
)
# As in a file for `run --tasks`.
_ITEM: Schema = {"type": "object", "required": ["task"], "properties": {"task": WORD}}
_KEYS: Schema = {
    "name": _NAME,
    "source": words("shipped", "global", "project"),
    "path": PATH,
    "description": TEXT,
    "hides": maybe(PATH) | {"description": "The file of the same name that this one hides."},
    "hiddenBy": maybe(PATH),
    "sessionName": _NAME,
    "startDirectory": maybe(WORD),
    "options": _OPTIONS,
    "eachRun": maybe(words("window")) | {"description": "What comes for each live run."},
    "launch": listing(_ITEM),
    "windows": listing(_WINDOW) | {"minItems": 1},
}
_OPENED: Schema = {
    "opened": _NAME,
    "made": FLAG | {"description": "False: it was open already, and nothing was launched."},
    "socket": PATH,
    "session": {"type": "string", "pattern": "^\\$[0-9]+$"},
    "sessionName": WORD,
    "launched": listing(ref("id")) | {"description": "What was launched with it."},
}

DOCUMENTS: dict[str, tuple[str, Schema]] = {
    "layout": (
        "What layouts prints: one layout, all of them, the session of one that was opened.",
        {
            "type": "object",
            "if": {"required": ["layouts"]},
            "then": record({"v": VERSION, "layouts": listing(record(_KEYS)), "warnings": listing(WORD)}),
            "else": {
                "type": "object",
                "if": {"required": ["opened"]},
                "then": record({"v": VERSION} | _OPENED),
                "else": record({"v": VERSION} | _KEYS),
            },
        },
    ),
}
