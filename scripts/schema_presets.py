"""The documents of `presets`: one preset, all of them, files that were checked."""

from scripts.schema_shapes import (
    FLAG,
    NULL,
    ORDINAL,
    PATH,
    TEXT,
    VERSION,
    WORD,
    Schema,
    listing,
    maybe,
    record,
    when,
    words,
)

_TEXTS = ("provider", "model", "thinkingLevel", "appendSystemPrompt", "systemPrompt", "description")
_FLAGS = ("noTools", "noExtensions", "noSkills", "noContextFiles")
_LISTS = ("tools", "excludeTools", "extensions", "extraArgs", "suggestedSkills", "loadSkills")
_WHERE: Schema = {
    "kind": words("preset", "profile"),
    "source": words("project", "global"),
    "path": PATH,
}
_KEYS: Schema = {
    "name": WORD,
    **_WHERE,
    "hash": {"type": "string", "pattern": "^[0-9a-f]{12}$", "description": "Of the file's bytes, sha256."},
    "hides": maybe(PATH) | {"description": "The user's own file of the same name that this one hides."},
    "hiddenBy": maybe(PATH),
    "toolRule": words("default", "only", "except", "none")
    | {"description": "How tools are chosen: nothing said, those in tools, all but excludeTools, none."},
    **dict.fromkeys(_TEXTS, maybe(TEXT)),
    "apiKey": maybe(WORD) | {"description": "Masked."},
    **dict.fromkeys(_FLAGS, FLAG),
    **dict.fromkeys(_LISTS, listing(TEXT)),
    "agent": maybe(WORD),
    "driver": maybe(words("batch", "live")),
    "timeout": maybe({"type": "number", "minimum": 1}),
    "keepBackground": maybe(FLAG),
    "nesting": maybe({"type": "integer", "minimum": 1, "maximum": 3}),
    "warnings": listing(WORD),
}
_RULES = (
    when("toolRule", ("only",), tools={"minItems": 1}),
    when("toolRule", ("except",), noTools={"const": False}),
    when("kind", ("preset",), apiKey=NULL, provider=NULL, description=WORD),
)
_FLAW = record({"message": WORD, "line": maybe(ORDINAL), "field": maybe(WORD)})
_CHECKED = record({**_WHERE, "name": maybe(WORD), "faults": listing(_FLAW), "notes": listing(WORD)})


def _given(key: str, then: Schema, other: Schema) -> Schema:
    return {"type": "object", "if": {"required": [key]}, "then": then, "else": other}


DOCUMENTS: dict[str, tuple[str, Schema]] = {
    "preset": (
        "What presets prints: one preset or profile, all of them, files that were checked or removed.",
        _given(
            "presets",
            record({"v": VERSION, "presets": listing(record(_KEYS, *_RULES)), "warnings": listing(WORD)}),
            _given(
                "files",
                record({"v": VERSION, "files": listing(_CHECKED)}),
                _given(
                    "removed",
                    record({"v": VERSION, "removed": listing(PATH)}),
                    record({"v": VERSION} | _KEYS, *_RULES),
                ),
            ),
        ),
    ),
}
