"""The model server speaks as each provider does: the same script, asked for in four forms."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from scripts import model_shapes, model_tools, model_turns
from tests.harness import ModelServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.model_turns import Turn

Json = dict[str, Any]
SAID = "The folder is Current working directory: /somewhere/project\nThat is all."
READ = {"type": "object", "properties": {"file_path": {"type": "string"}}}
PATHS = {
    "chat": "/chat/completions",
    "messages": "/messages?beta=true",
    "responses": "/responses",
    "gemini": "/beta/models/mock-text:{verb}?alt=sse",
}


def request(shape: str, prompt: str, *, stream: bool = True) -> tuple[str, Json]:
    """Return path and body of a request with one tool."""
    path = PATHS[shape].format(verb="streamGenerateContent" if stream else "generateContent")
    said = [{"role": "user", "content": SAID}, {"role": "user", "content": prompt}]
    if shape == "gemini":
        contents = [{"role": "user", "parts": [{"text": one["content"]}]} for one in said]
        tools: list[Json] = [{"functionDeclarations": [{"name": "read_file", "parametersJsonSchema": READ}]}]
        return path, {"contents": contents, "tools": tools}
    tool = {"name": "read_file", "parameters": READ, "input_schema": READ}
    body: Json = {"model": "mock-text", "stream": stream, "tools": [tool]}
    if shape == "chat":
        body |= {"tools": [{"type": "function", "function": tool}], "stream_options": {"include_usage": True}}
    return path, body | {"input" if shape == "responses" else "messages": said}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    with ModelServer(tmp_path_factory.mktemp("model-shapes")) as started:
        yield started


def asked(server: ModelServer, shape: str, prompt: str) -> list[Json]:
    """Ask for a stream; return its events."""
    path, body = request(shape, prompt)
    keys = {"authorization": "Bearer secret", "x-api-key": "secret", "x-goog-api-key": "secret"}
    posted = urllib.request.Request(server.url + path, json.dumps(body).encode(), keys)
    with urllib.request.urlopen(posted, timeout=10) as response:
        lines = response.read().decode().splitlines()
    found = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [json.loads(line) for line in found if line != "[DONE]"]


ENDS: dict[str, dict[str, Any]] = {
    "chat": {
        "text": lambda end: end[-2]["choices"][0]["finish_reason"] == "stop",
        "length": lambda end: end[-2]["choices"][0]["finish_reason"] == "length",
        "refusal": lambda end: end[-2]["choices"][0]["finish_reason"] == "content_filter",
        "usage": lambda end: end[-1]["usage"]["prompt_tokens"],
    },
    "messages": {
        "text": lambda end: end[-2]["delta"]["stop_reason"] == "end_turn",
        "length": lambda end: end[-2]["delta"]["stop_reason"] == "max_tokens",
        "refusal": lambda end: end[-2]["delta"]["stop_reason"] == "refusal",
        "usage": lambda end: end[-2]["usage"]["input_tokens"],
    },
    "responses": {
        "text": lambda end: end[-1]["type"] == "response.completed",
        "length": lambda end: end[-1]["response"]["incomplete_details"] == {"reason": "max_output_tokens"},
        "refusal": lambda end: end[-1]["response"]["incomplete_details"] == {"reason": "content_filter"},
        "usage": lambda end: end[-1]["response"]["usage"]["input_tokens"],
    },
    "gemini": {
        "text": lambda end: end[-1]["candidates"][0]["finishReason"] == "STOP",
        "length": lambda end: end[-1]["candidates"][0]["finishReason"] == "MAX_TOKENS",
        "refusal": lambda end: end[-1]["candidates"][0]["finishReason"] == "SAFETY",
        "usage": lambda end: end[-1]["usageMetadata"]["promptTokenCount"],
    },
}


@pytest.mark.parametrize("script", ["text", "length", "refusal"])
@pytest.mark.parametrize("shape", PATHS)
def test_a_stream_ends_as_the_provider_ends_it(server: ModelServer, shape: str, script: str) -> None:
    events = asked(server, shape, f"#script:{script}")
    assert ENDS[shape][script](events)
    assert ENDS[shape]["usage"](events) == 120


@pytest.mark.parametrize("shape", PATHS)
def test_a_call_names_the_tool_that_was_offered(shape: str) -> None:
    path, body = request(shape, "#script:loop", stream=False)
    form = model_shapes.named(shape)
    question = form.asked(path.partition("?")[0], body)
    turn = model_turns.choose(
        {"loop": {"turns": [{"calls": [{"read": {"path": "README.md"}}]}]}}, "loop", question.messages
    )
    (call,) = model_tools.calls_of(question, turn.turn)
    assert (call.name, call.arguments) == ("read_file", {"file_path": "/somewhere/project/README.md"})
    whole = json.dumps(form.whole(question, turn.turn))
    streamed = "".join(form.stream(question, turn.turn))
    assert "read_file" in whole
    assert "read_file" in streamed


def refused(server: ModelServer, path: str, body: Json) -> tuple[int, Json]:
    """Ask for what is not given; return why."""
    posted = urllib.request.Request(server.url + path, json.dumps(body).encode())
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(posted, timeout=10)
    with caught.value as answer:
        return answer.code, json.load(answer)


TOO_LONG = {"messages": "prompt is too long", "gemini": "exceeds the maximum"}


@pytest.mark.parametrize("shape", PATHS)
def test_an_error_has_the_form_of_the_provider(server: ModelServer, shape: str) -> None:
    status, said = refused(server, *request(shape, "#script:err401"))
    assert (status, said["error"]["message"]) == (401, "Incorrect API key.")
    status, said = refused(server, *request(shape, "#script:overflow"))
    assert TOO_LONG.get(shape, "maximum context length") in said["error"]["message"]


@pytest.mark.parametrize("shape", PATHS)
def test_a_turn_that_breaks_off_has_no_end(shape: str) -> None:
    path, body = request(shape, "cut")
    turn: Turn = {"think": "Hm.", "text": "Half of", "then": "cut"}
    form = model_shapes.named(shape)
    streamed = "".join(form.stream(form.asked(path.partition("?")[0], body), turn))
    assert "Half of" in streamed
    for end in ("[DONE]", 'finish_reason": "', "message_stop", "response.completed", "finishReason"):
        assert end not in streamed


def test_the_log_has_each_prompt_and_no_key(server: ModelServer) -> None:
    for shape in PATHS:
        asked(server, shape, f"#script:text for {shape}")
    text = server.log.read_text()
    assert "secret" not in text
    records = [json.loads(line) for line in text.splitlines()][-4:]
    assert [record["shape"] for record in records] == list(PATHS)
    for record in records:
        assert record["tools"] == ["read_file"]
        assert record["prompts"][-1]["bytes"] == len(f"#script:text for {record['shape']}")


def test_what_has_no_form_is_not_found_and_a_count_is_a_count(server: ModelServer) -> None:
    counted = urllib.request.Request(f"{server.url}/messages/count_tokens", b"{}")
    with urllib.request.urlopen(counted, timeout=10) as response:
        assert json.load(response) == {"input_tokens": 120}
    assert refused(server, "/elsewhere", {})[0] == 404


OFFERED: dict[str, Json] = {
    "Read": {"properties": {"file_path": {}}},
    "Bash": {"properties": {"command": {}, "description": {}}},
    "edit": {"properties": {"path": {}, "old_str": {}, "new_str": {}}},
}


@pytest.mark.parametrize(
    ("tool", "arguments", "name", "made"),
    [
        ("read", {"path": "a"}, "Read", {"file_path": "/p/a"}),
        ("bash", {"command": "ls"}, "Bash", {"command": "ls", "description": "Do a part of the task"}),
        (
            "edit",
            {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]},
            "edit",
            {"old_str": "x", "new_str": "y", "path": "/p/a"},
        ),
        ("no_such_tool", {"path": "."}, "no_such_tool", {"path": "."}),
    ],
)
def test_a_call_is_made_what_the_agent_offers(tool: str, arguments: Json, name: str, made: Json) -> None:
    assert model_tools.as_offered(tool, arguments, OFFERED, "/p") == (name, made)


@pytest.mark.parametrize(
    ("tool", "arguments", "command"),
    [
        ("read", {"path": "a b"}, "cat 'a b'"),
        ("ls", {"path": "."}, "ls ."),
        ("write", {"path": "a", "content": "1\n2\n"}, "*** Add File: a\n+1\n+2\n*** End Patch"),
        (
            "edit",
            {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]},
            "*** Update File: a\n@@\n-x\n+y\n",
        ),
    ],
)
def test_what_no_tool_can_do_the_shell_does(tool: str, arguments: Json, command: str) -> None:
    offered: dict[str, Json] = {"shell": {"properties": {"command": {"type": "array"}}}}
    name, made = model_tools.as_offered(tool, arguments, offered, "/p")
    assert (name, made["command"][:2]) == ("shell", ["bash", "-lc"])
    assert command in made["command"][2]


@pytest.mark.parametrize(
    "said",
    [
        " - Primary working directory: /a/b c\n - more",
        "<cwd>/a/b c</cwd>",
        "- **Workspace Directories:**\n  - /a/b c\n- more",
        "I'm currently working in the directory: /a/b c\nHere",
    ],
)
def test_the_folder_of_an_agent_is_where_it_says(said: str) -> None:
    talk: list[Json] = [
        {"role": "system", "content": "Paths start with /."},
        {"role": "user", "content": said},
    ]
    assert model_tools.folder_of(model_turns.Asked("m", talk, {}, stream=True)) == "/a/b c"


def test_a_title_is_no_part_of_the_script() -> None:
    talk: list[Json] = [{"role": "system", "content": "You are a title generator."}]
    talk += [{"role": "user", "content": "#script:err500"}]
    assert model_turns.choose({}, "mock-text", talk).turn == {"text": "A title"}
