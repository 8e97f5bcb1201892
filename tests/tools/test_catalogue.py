"""The catalogue of tools, and the faults of arguments that it does not allow."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from scripts import tools_doc
from tests.schema_examples import VALIDATORS
from tmuxagents.errors import BadRequest, Fault, NotPossible
from tmuxagents.launch import demands
from tmuxagents.launch.demands import Faults
from tmuxagents.tools import catalogue, check
from tmuxagents.tools.catalogue import BY_NAME

NAMES = [
    *("subagent", "background_agent", "background_agent_status", "delegate_to_subagents"),
    *("get_subagent_output", "get_subagent_session", "list_subagent_profiles", "stop_agent"),
    *("send_to_agent", "answer_agent"),
]
TASK = {"name": "n", "prompt": "p"}


def found(tool: str, arguments: Any) -> list[tuple[str | None, str, str]]:
    """Return the faults of a call in their order."""
    faults = check.faults(BY_NAME[tool], arguments)
    if not faults:
        return []
    with pytest.raises(BadRequest) as refusal:
        faults.refuse()
    told = refusal.value.faults
    assert (refusal.value.message, refusal.value.kind) == (told[0].message, told[0].kind)
    return [(fault.field, fault.kind, fault.message) for fault in told]


# --- declared ---------------------------------------------------------------------------------------------


def test_the_tools_by_name_and_in_order() -> None:
    assert [tool.name for tool in catalogue.TOOLS] == NAMES


def test_the_document_is_what_its_schema_says() -> None:
    VALIDATORS["tools"].validate(catalogue.document(available=True, why=None))
    refused = catalogue.document(available=False, why="no models")
    VALIDATORS["tools"].validate(refused)
    assert (len(refused["tools"]), refused["why"]) == (10, "no models")
    assert catalogue.document(available=False, why="a child", offered=False)["tools"] == []


def test_all_of_it_is_small() -> None:
    document = catalogue.document(available=True, why=None)
    assert len(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()) <= 6300


@pytest.mark.parametrize("tool", catalogue.TOOLS, ids=lambda tool: tool.name)
def test_parameters_are_a_schema_that_providers_take(tool: catalogue.Tool) -> None:
    Draft202012Validator.check_schema(tool.parameters)
    assert {"anyOf", "oneOf", "allOf"} & set(
        tool.parameters
    ) == set()  # some providers refuse these at the top
    assert (tool.parameters["type"], tool.parameters["additionalProperties"]) == ("object", False)
    assert set(tool.parameters.get("required", ())) <= set(tool.parameters["properties"])
    assert "subagent" in tool.description  # a search for tools looks for this word
    assert tool.summary in tool.description


def test_what_the_sources_require_is_required() -> None:
    required = {tool.name: tool.parameters.get("required", []) for tool in catalogue.TOOLS}
    assert required["background_agent"] == ["preset", "task"]
    assert required["delegate_to_subagents"] == ["tasks"]
    items = BY_NAME["delegate_to_subagents"].parameters["properties"]["tasks"]
    assert (items["minItems"], items["maxItems"]) == (1, 16)
    assert items["items"]["required"] == ["name", "prompt"]
    assert BY_NAME["subagent"].parameters["properties"]["tasks"]["items"]["required"] == ["preset", "task"]


def test_models_must_be_available_ones_and_none_is_listed() -> None:
    for name in ("subagent", "background_agent"):
        model = BY_NAME[name].parameters["properties"]["model"]
        assert "currently available" in model["description"]
        assert "enum" not in model


# --- checked ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("subagent", {"preset": "p", "task": "t"}),
        ("subagent", {"tasks": [{"preset": "p", "task": "t", "cwd": "/", "timeout": 1}]}),
        ("background_agent", {"preset": "p", "task": "t", "model": "m", "name": "n", "timeout": 2.5}),
        ("background_agent", {"preset": "p", "task": "t", "model": None, "cwd": None}),
        ("background_agent_status", {}),
        ("background_agent_status", {"runId": "abcd", "includeCompleted": True}),
        ("delegate_to_subagents", {"tasks": [TASK] * 16, "profile": "p"}),
        ("delegate_to_subagents", {"tasks": [{**TASK, "files": ["a", {"path": "b", "start": 2, "end": 3}]}]}),
        ("get_subagent_output", {"sessionId": "x"}),
        ("get_subagent_output", {"sessionId": "ü\0"}),
        ("list_subagent_profiles", {}),
        ("send_to_agent", {"runId": "a", "text": "b", "mode": "followUp"}),
        ("answer_agent", {"runId": "a", "answer": "allow", "ask": "q1"}),
    ],
)
def test_what_is_right(tool: str, arguments: dict[str, Any]) -> None:
    assert found(tool, arguments) == []


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "message"),
    [
        ("stop_agent", [], None, "The arguments of stop_agent must be an object"),
        ("stop_agent", "x", None, "The arguments of stop_agent must be an object"),
        ("stop_agent", {}, "runId", "runId is missing"),
        ("stop_agent", {"runId": None}, "runId", "runId is missing"),
        ("stop_agent", {"runId": 3}, "runId", "runId must be a text"),
        (
            "stop_agent",
            {"runId": "a", "runid": 1},
            "runid",
            'stop_agent has no parameter "runid", did you mean runId?',
        ),
        (
            "stop_agent",
            {"runId": "a", "x\x1b[2J": 1},
            "x",
            'stop_agent has no parameter "x"; there are runId',
        ),
        (
            "list_subagent_profiles",
            {"x": 1},
            "x",
            'list_subagent_profiles has no parameter "x"; there are none',
        ),
        (
            "background_agent",
            {"preset": "p", "task": "t", "tasks": []},
            "tasks",
            'background_agent has no parameter "tasks", did you mean task?',
        ),
        (
            "background_agent_status",
            {"includeCompleted": 1},
            "includeCompleted",
            "includeCompleted must be true or false",
        ),
        ("delegate_to_subagents", {"tasks": []}, "tasks", "tasks must have 1 to 16 entries, not 0"),
        ("delegate_to_subagents", {"tasks": [TASK] * 17}, "tasks", "tasks must have 1 to 16 entries, not 17"),
        ("delegate_to_subagents", {"tasks": {}}, "tasks", "tasks must be a list"),
        ("stop_agent", {"runId": "\ud800"}, "runId", "runId is not valid Unicode"),
        (
            "delegate_to_subagents",
            {"tasks": [{**TASK, "files": ["a\udfff"]}]},
            "tasks[0].files[0]",
            "tasks[0].files[0] is not valid Unicode",
        ),
        ("delegate_to_subagents", {"tasks": ["x"]}, "tasks[0]", "tasks[0] must be an object"),
        (
            "delegate_to_subagents",
            {"tasks": [TASK, {"name": "n"}]},
            "tasks[1].prompt",
            "tasks[1].prompt is missing",
        ),
        (
            "delegate_to_subagents",
            {"tasks": [{**TASK, "name": " "}]},
            "tasks[0].name",
            "tasks[0].name is empty",
        ),
        (
            "delegate_to_subagents",
            {"tasks": [{**TASK, "timeout": 0}]},
            "tasks[0].timeout",
            "tasks[0].timeout must be at least 1",
        ),
        (
            "delegate_to_subagents",
            {"tasks": [{**TASK, "timeout": True}]},
            "tasks[0].timeout",
            "tasks[0].timeout must be a number",
        ),
        (
            "delegate_to_subagents",
            {"tasks": [{**TASK, "timeout": 10**400}]},
            "tasks[0].timeout",
            "tasks[0].timeout is too large",
        ),
        (
            "delegate_to_subagents",
            {"tasks": [{**TASK, "files": [7]}]},
            "tasks[0].files[0]",
            "tasks[0].files[0] must be a path, or an object with a path",
        ),
        ("subagent", {"tasks": []}, "tasks", "tasks must have at least 1 entry, not 0"),
        (
            "subagent",
            {"tasks": [{"preset": "p" * 5000, "task": "t" * 5000}]},
            "tasks[0].preset",
            "tasks[0].preset is too long: 5000 characters, at most 4096",
        ),
        (
            "delegate_to_subagents",
            {"tasks": [{**TASK, "prompt": "p" * 5000, "files": ["f" * 5000]}]},
            "tasks[0].files[0]",
            "tasks[0].files[0] is too long: 5000 characters, at most 4096",
        ),
        (
            "send_to_agent",
            {"runId": "a", "text": "b", "mode": "shout"},
            "mode",
            'mode must be "steer" or "followUp"',
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_field(
    tool: str, arguments: Any, field: str | None, message: str
) -> None:
    assert found(tool, arguments) == [(field, "bad-argument", message)]


@pytest.mark.parametrize("key", ["agent", "chain", "agentScope", "confirmProjectAgents", "step"])
@pytest.mark.parametrize("tool", ["subagent", "background_agent", "delegate_to_subagents"])
def test_what_was_removed_is_refused_by_its_name(tool: str, key: str) -> None:
    whole = {"tasks": [TASK]} if tool == "delegate_to_subagents" else {"preset": "p", "task": "t"}
    ((field, kind, message),) = found(tool, {**whole, key: "x"})
    assert (field, kind) == (key, "removed")
    assert message.startswith(f'"{key}" was removed: ')


def test_what_was_removed_speaks_before_what_is_missing_beside_it() -> None:
    fields = [field for field, _, _ in found("background_agent", {"agent": "scout"})]
    assert fields == ["agent", "preset", "task"]
    fields = [field for field, _, _ in found("subagent", {"tasks": [{"agent": "x", "task": "y"}, {}]})]
    assert fields == ["tasks[1].preset", "tasks[1].task", "tasks[0].agent", "tasks[0].preset"]


def test_what_was_removed_is_refused_inside_of_tasks_too() -> None:
    ((field, kind, _),) = found("subagent", {"tasks": [{"preset": "p", "task": "t", "agent": "scout"}]})
    assert (field, kind) == ("tasks[0].agent", "removed")


def tasks_in(arguments: Any) -> tuple[str, list[str], list[tuple[str | None, str]]]:
    """Return the mode of a call of subagent, the places of its tasks, and the faults beyond its schema."""
    faults = Faults()
    mode, items = check.tasks_of(arguments, faults)
    told: list[tuple[str | None, str]] = []
    if faults:
        with pytest.raises(BadRequest) as refusal:
            faults.refuse()
        told = [(fault.field, fault.message) for fault in refusal.value.faults]
    return mode, list(items), told


def test_a_call_has_one_task_or_several() -> None:
    assert tasks_in({"preset": "p", "task": "t"}) == ("single", [""], [])
    assert tasks_in({"tasks": [{}, {}], "cwd": None}) == ("parallel", ["tasks[0]", "tasks[1]"], [])
    missing = [("preset", "preset is missing"), ("task", "task is missing: give preset and task, or tasks")]
    assert tasks_in({"tasks": None}) == ("single", [""], missing)
    beside = [(key, f"{key} does not go with tasks: each has its own") for key in ("task", "on")]
    assert tasks_in({"tasks": [{}], "on": "box", "task": "t"}) == ("parallel", ["tasks[0]"], beside)


@pytest.mark.parametrize("arguments", [[], {"tasks": "x"}])
def test_a_call_without_a_task_to_look_at_is_refused_at_once(arguments: Any) -> None:
    faults = check.faults(BY_NAME["subagent"], arguments)
    with pytest.raises(BadRequest):
        check.tasks_of(arguments, faults)


def test_a_huge_call_has_a_small_refusal() -> None:
    assert len(found("stop_agent", {"runId": "a", **{f"k{number}": 1 for number in range(100_000)}})) == 100
    assert len(found("subagent", {"tasks": [{}] * 10_000})) == 100


def test_all_that_is_wrong_is_told_in_the_order_of_its_kind() -> None:
    faults = check.faults(BY_NAME["delegate_to_subagents"], {"chain": [], "tasks": [{"name": ""}]})
    faults.add(Fault("unknown-preset", "preset", field="tasks[0].profile"))
    faults.add(Fault("bad-profile", "tools", field="profile"), group=demands.TOOLS)
    faults.add(Fault("no-model", "model"))
    faults.add_refusal(BadRequest("cwd", kind="bad-cwd", field="cwd"), "tasks[0]")
    faults.add_refusal(
        NotPossible("resume", kind="run-running", field="task"), "tasks[0]", rename={"task": "prompt"}
    )
    with pytest.raises(BadRequest) as refusal:
        faults.refuse()
    assert [(fault.kind, fault.field) for fault in refusal.value.faults] == [
        ("bad-argument", "tasks[0].name"),
        ("bad-argument", "tasks[0].prompt"),
        ("bad-cwd", "tasks[0].cwd"),
        ("removed", "chain"),
        ("run-running", "tasks[0].prompt"),
        ("bad-profile", "profile"),
        ("unknown-preset", "tasks[0].profile"),
        ("no-model", None),
    ]


def test_the_first_fault_brings_its_hint_its_candidates_and_its_exit_code() -> None:
    faults = Faults()
    faults.refuse()  # nothing is wrong yet
    faults.add_refusal(NotPossible("busy", kind="run-running", hint="wait", candidates=["abcd"]))
    with pytest.raises(NotPossible) as refusal:
        faults.refuse()
    assert (refusal.value.hint, refusal.value.candidates, refusal.value.exit_code) == ("wait", ["abcd"], 4)
    assert refusal.value.faults[0].field is None


def test_where_a_fault_is() -> None:
    faults = Faults()
    faults.add_all([Fault("bad-argument", "a", field="tasks[1].files[0]"), Fault("bad-argument", "b")])
    assert bool(faults)
    assert faults.is_at("tasks[1]")
    assert not faults.is_at("tasks[10]")
    assert not faults.is_at("tasks[0]")
    assert faults.is_about(None)
    assert not faults.is_about("tasks")
    assert (faults.has("a"), faults.has("c")) == (True, False)


# --- against another reader of schemas ----------------------------------------------------------------------


def scalars() -> st.SearchStrategy[Any]:
    return st.booleans() | st.integers(-3, 30) | st.floats(-2, 9) | st.text(max_size=3)


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that nearly fit a schema."""
    if "anyOf" in schema:
        return st.one_of(*(values(branch) for branch in schema["anyOf"]))
    kind = schema["type"]
    if kind == "object":
        keys = {key: values(of) for key, of in schema["properties"].items()}
        optional = {key: keys[key] for key in keys if key not in schema.get("required", ())}
        whole = st.fixed_dictionaries(
            {key: keys[key] for key in keys if key not in optional}, optional=optional
        )
        return whole | whole.map(lambda value: dict(list(value.items())[1:])) | scalars()
    if kind == "array":
        return st.lists(values(schema["items"]), max_size=3) | scalars()
    right = {"string": st.text(max_size=3), "boolean": st.booleans(), "number": st.floats(1, 9)}
    return right.get(kind, st.integers(1, 9)) | scalars()


@given(data=st.data(), tool=st.sampled_from(catalogue.TOOLS))
def test_our_reading_of_the_schemas_is_that_of_jsonschema(data: st.DataObject, tool: catalogue.Tool) -> None:
    arguments = data.draw(values(tool.parameters))
    theirs = Draft202012Validator(tool.parameters).is_valid(arguments)
    ours = found(tool.name, arguments) == []
    if ours == theirs:
        return
    assert theirs  # we are stricter, about blanks and about files
    for field, _, said in found(tool.name, arguments):
        assert "files[" in (field or "") or said.endswith(" is empty")


# --- read -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{bad", "are not JSON: Expecting property name"),
        ("", "are not JSON: Expecting value"),
        ('{"timeout": NaN}', "are not JSON: NaN is not a number"),
        ('{"timeout": -Infinity}', "are not JSON: -Infinity is not a number"),
        ("1" * 5000, "are not JSON: Exceeds the limit"),
        ("[" * 100_000, "are nested too deeply"),
    ],
)
def test_no_json_is_refused(text: str, words: str) -> None:
    with pytest.raises(BadRequest, match="The arguments of subagent " + words) as refusal:
        check.read(text, "subagent")
    assert refusal.value.kind == "bad-argument"


def test_json_is_read() -> None:
    assert check.read('{"a": [1, "ü"]}', "subagent") == {"a": [1, "ü"]}


# --- the page about it ------------------------------------------------------------------------------------


def test_the_page_is_what_the_catalogue_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert tools_doc.main(["--check"]) == 0
    assert capsys.readouterr().err == ""


def test_the_page_is_checked_and_written(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tools_doc, "ROOT", tmp_path)
    monkeypatch.setattr(tools_doc, "TARGET", tmp_path / "tools.md")
    assert tools_doc.main(["--check"]) == 1
    assert "tools.md differs" in capsys.readouterr().err
    assert tools_doc.main([]) == 0
    assert tools_doc.main(["--check"]) == 0
    assert tools_doc.main(["--chek"]) == 2


@pytest.mark.parametrize("tool", NAMES)
def test_each_example_of_the_page_is_right(tool: str) -> None:
    assert found(tool, catalogue.EXAMPLES[tool]) == []
