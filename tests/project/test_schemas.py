"""The shipped schemas: they take every example document, and are what their generator writes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from scripts import schemas
from scripts.schema_shapes import SHAPES
from tests.schema_examples import CLOSED, EVENTS, FILES, GONE, NAMES, VALIDATORS, changed, schema_of, valid
from tmuxagents.errors import BadRequest
from tmuxagents.launch import tasks


@pytest.mark.parametrize("name", NAMES)
def test_schema_is_valid_and_stands_alone(name: str) -> None:
    schema: Any = VALIDATORS[name].schema  # never just `true`
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"]
    assert schema["description"]
    pointers = set(re.findall(r'"\$ref": "([^"]*)"', json.dumps(schema)))
    assert pointers == {f"#/$defs/{shape}" for shape in schema.get("$defs", {})}


def test_every_schema_has_an_example() -> None:
    assert {schema_of(file) for file in FILES} == set(NAMES)
    assert {path.stem for path in schemas.TARGET.glob("*.json")} >= set(NAMES)


@pytest.mark.parametrize("file", FILES)
def test_example_validates(file: str) -> None:
    for document in FILES[file]:
        VALIDATORS[schema_of(file)].validate(document)


@pytest.mark.parametrize("file", FILES)
def test_example_has_no_key_that_its_schema_lacks(file: str) -> None:
    for document in FILES[file]:
        CLOSED[schema_of(file)].validate(document)


def test_a_closed_schema_refuses_an_unknown_key_at_any_depth() -> None:
    (run,) = FILES["run.json"]
    assert CLOSED["run"].is_valid(run)
    for path in ("later", "tmux.later", "usage.later", "artifacts.later"):
        assert not CLOSED["run"].is_valid(changed(run, {path: 1}))
    for event in EVENTS.values():
        assert not CLOSED["event"].is_valid(event | {"later": 1})


# What we write grows, and its readers ignore new keys. What we read is strict.
WRITTEN = [file for file in FILES if file != "tasks.json"]


@pytest.mark.parametrize("file", WRITTEN)
def test_unknown_keys_are_ignored(file: str) -> None:
    for document in FILES[file]:
        assert valid(schema_of(file), document | {"later": {"any": ["thing"]}})


@pytest.mark.parametrize(
    "file", [file for file in WRITTEN if file not in ("events.jsonl", "call-stream.jsonl")]
)
def test_every_key_is_required(file: str) -> None:
    for document in FILES[file]:
        for key in document:
            assert not valid(schema_of(file), changed(document, {key: GONE})), key


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("receipt.json", "run"),
        ("receipt.json", "run.artifacts"),
        ("receipt.json", "run.tmux"),
        ("receipt.json", "run.usage"),
        ("receipt.json", "counts"),
        ("poll.json", "runs.0"),
        ("changes.json", "changes.0"),
        ("error.json", "error"),
        ("error.json", "error.faults.0"),
        ("tools.json", "tools.0"),
        ("tools.json", "tools.0.parameters"),
        ("meta.json", "artifacts"),
        ("meta.json", "tmux"),
        ("result.json", "usage"),
        ("wrapper.json", "tmux"),
        ("call-background_agent.json", "details.run"),
        ("call-send_to_agent.json", "details.run"),
        ("call-delegate_to_subagents.json", "details"),
        ("call-delegate_to_subagents.json", "details.windows.0"),
        ("call-delegate_to_subagents.json", "details.windows.0.lines.0"),
        ("call-get_subagent_output.json", "details"),
        ("call-get_subagent_output.json", "content.0"),
        ("call-refused.json", "details"),
        ("call-refused.json", "details.error"),
    ],
)
def test_every_key_of_a_part_is_required(file: str, path: str) -> None:
    document = FILES[file][0]
    part = document
    for step in path.split("."):
        part = part[int(step) if step.isdigit() else step]
    for key in part:
        assert not valid(schema_of(file), changed(document, {f"{path}.{key}": GONE})), key


@pytest.mark.parametrize("kind", EVENTS)
def test_every_key_of_a_known_event_is_required(kind: str) -> None:
    for key in EVENTS[kind]:
        assert not valid("event", changed(EVENTS[kind], {key: GONE})), key


TASKS = FILES["tasks.json"][0]


@pytest.mark.parametrize(
    ("document", "takes"),
    [
        (TASKS, True),
        (TASKS["tasks"], True),
        ({"tasks": [{"task": "x"}]}, True),
        ({"tasks": []}, False),
        ([{"name": "x"}], False),
        ([{"task": 5}], False),
        ([{"task": "x", "after": [5]}], False),
        ([{"task": "x", "timeout": 0}], False),
        ([{"task": "x", "prompt": "y"}], False),
        (TASKS | {"more": 1}, False),
        (TASKS | {"concurrency": 0}, False),
        (TASKS | {"defaults": {"name": "x"}}, False),
    ],
    ids=range(12),
)
def test_the_schema_of_a_tasks_file_takes_what_its_reader_takes(document: object, *, takes: bool) -> None:
    assert valid("tasks", document) is takes
    if takes:
        assert tasks.parse(json.dumps(document), "-").items
    else:
        with pytest.raises(BadRequest):
            tasks.parse(json.dumps(document), "-")


def test_the_schema_of_a_tasks_file_has_every_key() -> None:
    assert set(SHAPES["_task"]["properties"]) == set(tasks.KEYS)


@pytest.mark.parametrize("file", ["receipt.json", "poll.json", "changes.json"])
def test_total_of_an_example_is_the_sum(file: str) -> None:
    counts = dict(FILES[file][0]["counts"])
    assert counts.pop("total") == sum(counts.values())


def test_shipped_files_are_what_the_generator_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert schemas.main(["--check"]) == 0
    assert capsys.readouterr().err == ""


def test_generator_names_a_file_that_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(schemas, "ROOT", tmp_path)
    monkeypatch.setattr(schemas, "TARGET", tmp_path)
    assert schemas.main([]) == 0
    assert schemas.main(["--check"]) == 0
    (tmp_path / "run.json").write_text("{}\n")
    (tmp_path / "poll.json").unlink()
    assert schemas.main(["--check"]) == 1
    assert re.findall(r"(\w+\.json) differs", capsys.readouterr().err) == ["run.json", "poll.json"]


def test_generator_refuses_other_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert schemas.main(["--chek"]) == 2
    assert "usage" in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_written_form_says_what_was_composed(name: str) -> None:
    text = schemas.written(schemas.compose(name))
    assert json.loads(text) == schemas.compose(name)
    assert max(map(len, text.splitlines())) <= schemas.WIDTH + 20  # a description is never broken
