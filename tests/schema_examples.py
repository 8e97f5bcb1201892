"""The shipped schemas, the example documents, and small differences from them."""

import copy
import functools
import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from scripts import schemas
from scripts.schema_documents import DOCUMENTS

EXAMPLES = Path(__file__).parent / "data" / "documents"
NAMES = sorted(DOCUMENTS)
GONE = object()  # as a value: the key is taken away


def schema_of(file: str) -> str:
    stem = Path(file).stem
    return {"events": "event", "follow": "poll"}.get(stem, stem.split("-")[0])


def read(file: str) -> list[Any]:
    text = (EXAMPLES / file).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()] if file.endswith(".jsonl") else [json.loads(text)]


FILES = {path.name: read(path.name) for path in sorted(EXAMPLES.iterdir())}
VALIDATORS = {
    name: Draft202012Validator(json.loads((schemas.TARGET / f"{name}.json").read_text("utf-8")))
    for name in NAMES
}
_PARTS = ("properties", "$defs")  # what is below these is named by a key, not by a word of JSON Schema
_RULES = ("allOf", "if", "dependentSchemas")  # shapes below these share their object with another shape


def closed(schema: Any, *, shared: bool = False) -> Any:
    """Return a schema that refuses keys which it does not name. Rules about other keys stay open."""
    if isinstance(schema, list):
        return [closed(item, shared=shared) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    for word, value in schema.items():
        if word in _PARTS:
            made[word] = {key: closed(item) for key, item in value.items()}
        elif word == "dependentSchemas":
            made[word] = {key: closed(item, shared=True) for key, item in value.items()}
        elif word == "$ref" and shared:
            made[word] = f"{value}_open"
        else:
            made[word] = closed(value, shared=shared or word in _RULES)
    if "$defs" in made:
        made["$defs"] |= {f"{key}_open": closed(item, shared=True) for key, item in schema["$defs"].items()}
    is_record = {"required", "properties"} <= made.keys() and not {"if", "additionalProperties"} & made.keys()
    return made | {"unevaluatedProperties": False} if is_record and not shared else made


CLOSED = {name: Draft202012Validator(closed(validator.schema)) for name, validator in VALIDATORS.items()}
EVENTS = {event["type"]: event for event in FILES["events.jsonl"]}


def valid(name: str, document: object) -> bool:
    return VALIDATORS[name].is_valid(document)


@functools.cache  # properties write the same lines again and again
def validate_event(line: bytes) -> None:
    """Fail for a line of an event log that the schema refuses."""
    VALIDATORS["event"].validate(json.loads(line))


def changed(document: Any, changes: dict[str, Any]) -> Any:
    document = copy.deepcopy(document)
    for path, value in changes.items():
        *parents, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        place = document
        for step in parents:
            place = place[step]
        if value is GONE:
            del place[last]
        else:
            place[last] = value
    return document
