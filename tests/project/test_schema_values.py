"""What the schemas refuse and what they take: documents that differ from an example in a small way."""

import ast
import re
from typing import Any

import pytest

from scripts import schema_shapes
from tests import strategies
from tests.project import sources
from tests.schema_examples import EVENTS, FILES, GONE, VALIDATORS, changed, schema_of, valid

MILLISECONDS = 1794996000123
ENDED = {"status": "failed", "reason": "timeout", "endedAt": 1794996600.2, "elapsedSeconds": 600.1}
QUEUED = {
    "status": "queued",
    "startedAt": None,
    "elapsedSeconds": 0,
    "tmux.window": None,
    "tmux.pane": None,
    "agentVersion": None,
    "lastEventAt": None,
}

REFUSED: list[tuple[str, dict[str, Any]]] = [
    # ids, moments, versions
    ("run.json", {"runId": "01a1ee15069b4c1"}),
    ("run.json", {"runId": "01a1ee15069b4c1f0"}),
    ("run.json", {"sessionId": "01A1EE15069B4C1F"}),
    ("run.json", {"callId": None}),
    ("run.json", {"after": ["01a1ee15"]}),
    ("run.json", {"resumes": "01a1ee15"}),
    ("run.json", {"createdAt": "2026-11-18T10:00:00Z"}),
    ("run.json", {"createdAt": MILLISECONDS}),
    ("run.json", {"createdAt": None}),
    ("run.json", {"lastEventAt": "1794996011.902"}),
    ("receipt.json", {"v": 2}),
    ("receipt.json", {"v": "1"}),
    # status and reason
    ("run.json", {"status": "done"}),
    ("run.json", {"status": "Running"}),
    ("run.json", {"status": None}),
    ("run.json", {"reason": "done"}),
    ("run.json", {"endedAt": 1794996042.37}),
    ("run.json", {"startedAt": None}),
    ("run.json", QUEUED | {"reason": "dependency"}),
    ("run.json", QUEUED | {"startedAt": 1794996000.141}),
    ("run.json", QUEUED | {"elapsedSeconds": 3}),
    ("run.json", QUEUED | {"tmux.window": "@3"}),
    ("run.json", ENDED | {"reason": None}),
    ("run.json", ENDED | {"reason": "stopped"}),
    ("run.json", ENDED | {"reason": "done"}),
    ("run.json", ENDED | {"reason": "killed"}),
    ("run.json", ENDED | {"endedAt": None}),
    ("run.json", ENDED | {"status": "aborted"}),
    ("run.json", ENDED | {"status": "completed"}),
    ("run.json", ENDED | {"status": "completed", "reason": "done", "errorMessage": "no"}),
    ("poll.json", {"runs.0.reason": "timeout"}),
    ("poll.json", {"runs.0.reason": None}),
    ("changes.json", {"changes.0.reason": "lost"}),
    ("changes.json", {"changes.0.status": "running"}),
    ("result.json", {"status": "running", "reason": None}),
    ("result.json", {"reason": None}),
    ("result.json", {"reason": "timeout"}),
    ("result.json", {"status": "aborted", "reason": "timeout"}),
    # other values of a run
    ("run.json", {"mode": "chain"}),
    ("run.json", {"taskIndex": -1}),
    ("run.json", {"step": 1}),
    ("run.json", {"tools": None}),
    ("run.json", {"files": None}),
    ("run.json", {"leftBehind": None}),
    ("run.json", {"leftBehind": [{"pid": 12, "comm": "tmux"}]}),
    ("run.json", {"presetKind": "role"}),
    ("run.json", {"presetSource": "bundled"}),
    ("run.json", {"presetHash": "3f2a9c01d4e"}),
    ("run.json", {"driver": "process"}),
    ("run.json", {"cwd": "app"}),
    ("run.json", {"timeout": 0}),
    ("run.json", {"timeout": "600"}),
    ("run.json", {"exitCode": "0"}),
    ("run.json", {"exitCode": 256}),
    ("run.json", {"signal": 9}),
    ("run.json", {"signal": "KILL"}),
    ("run.json", {"attended": None}),
    ("run.json", {"settled": 0}),
    ("run.json", {"output": "x" * 4097}),
    ("run.json", {"turns": 1.5}),
    ("run.json", {"usage.cost": "0.01"}),
    ("run.json", {"usage.input": None}),
    ("run.json", {"tmux.window": "3"}),
    ("run.json", {"tmux.pane": "@5"}),
    ("run.json", {"artifacts.events": ["events.jsonl"]}),
    # documents around runs
    ("receipt.json", {"warnings": None}),
    ("receipt.json", {"attach": None}),
    ("receipt.json", {"counts.total": "5"}),
    ("receipt.json", {"counts.queued": -1}),
    ("receipt.json", {"run.runId": "01a1ee15"}),
    ("poll.json", {"runs": None}),
    ("poll.json", {"at": None}),
    ("poll.json", {"timedOut": None}),
    ("poll.json", {"cursor": "2591"}),
    ("follow.jsonl", {"run.status": "busy"}),
    ("changes.json", {"reset": "no"}),
    ("changes.json", {"changes": {}}),
    ("changes.json", {"changes.0.runId": "01a1ee15"}),
    # errors
    ("error.json", {"error.kind": "bad-luck"}),
    ("error.json", {"error.exit": 3}),
    ("error.json", {"error.exit": "2"}),
    ("error.json", {"error.faults": []}),
    ("error.json", {"error.faults.0.kind": "bad-luck"}),
    ("error.json", {"error.candidates": None}),
    ("error.json", {"error.message": None}),
    ("error.json", {"error.kind": "internal", "error.exit": 70}),  # without the path of its log
    # tools
    ("tools.json", {"available": False}),
    ("tools.json", {"why": "no models"}),
    ("tools.json", {"tools.0.name": "Background agent"}),
    ("tools.json", {"tools.0.parameters.type": "array"}),
    ("tools.json", {"tools.0.parameters.additionalProperties": True}),
    # calls
    ("call-subagent.json", {"details.status": "running"}),
    ("call-subagent.json", {"details.status": "error"}),
    ("call-subagent.json", {"details.mode": "background"}),
    ("call-subagent.json", {"details.runs": []}),
    ("call-subagent.json", {"details.counts": GONE}),
    ("call-subagent.json", {"details.runs.0.sessionId": GONE}),
    ("call-subagent.json", {"isError": True}),
    ("call-subagent.json", {"isError": "no"}),
    ("call-subagent.json", {"content": []}),
    ("call-subagent.json", {"content.0.type": "image"}),
    ("call-subagent.json", {"details": {}}),
    ("call-subagent.json", {"type": "answer"}),
    ("call-subagent.json", {"type": "progress", "content": None}),
    ("call-delegate_to_subagents.json", {"details.globalStatus": "running"}),
    ("call-delegate_to_subagents.json", {"details.windows.0.status": "failed"}),
    ("call-delegate_to_subagents.json", {"details.windows.0.status": "error"}),
    ("call-delegate_to_subagents.json", {"details.windows.1.state": "running"}),
    ("call-delegate_to_subagents.json", {"details.windows.1.reason": "stopped"}),
    ("call-delegate_to_subagents.json", {"details.windows.1.state": "error"}),
    ("call-delegate_to_subagents.json", {"details.windows.0.startedAt": 1794996000.141}),
    ("call-delegate_to_subagents.json", {"details.sessionIds": ["01a1"]}),
    ("call-get_subagent_output.json", {"details.status": "failed"}),
    ("call-get_subagent_output.json", {"details.reason": None}),
    ("call-get_subagent_session.json", {"details.messageCount": None}),
    ("call-get_subagent_session.json", {"details.model": GONE}),
    ("call-list_subagent_profiles.json", {"details.profiles": GONE}),
    ("call-list_subagent_profiles.json", {"details.profiles.researcher": {"model": "a/b"}}),
    ("call-send_to_agent.json", {"details.delivered": "yes"}),
    ("call-refused.json", {"isError": False}),
    ("call-refused.json", {"details.error.kind": "refused"}),
    ("call-stream.jsonl", {"details": GONE}),
    ("call-stream.jsonl", {"details.runs.0.reason": "done"}),
    # files of a run directory
    ("meta.json", {"root": "01a1ee15"}),
    ("meta.json", {"sessionPath": None}),
    ("meta.json", {"systemPrompt": ["Look around"]}),
    ("meta.json", {"createdAt": "1794996000.123"}),
    ("meta.json", {"step": 0}),
    ("result.json", {"endedAt": None}),
    ("result.json", {"endedAt": MILLISECONDS}),
    ("result.json", {"durationMs": 42229.5}),
    ("result.json", {"startedAt": None}),
    ("result.json", {"status": "aborted", "reason": "lost", "startedAt": None}),  # durationMs is not 0
    ("result.json", {"errorMessage": "Stopped."}),
    ("result.json", {"lingered": None}),
    ("result.json", {"output": "x" * 65537}),
    ("wrapper.json", {"pid": "4705"}),
    ("wrapper.json", {"pid": 0}),
    ("wrapper.json", {"tmux.socketPath": "tmuxagents"}),
    ("wrapper.json", {"tmux.window": "3"}),
    ("wrapper.json", {"tmux.serverPid": 0}),
    ("wrapper.json", {"tmux": None}),
    ("wrapper.json", {"at": "now"}),
    ("inbox.json", {"kind": "follow-up"}),
    ("inbox.json", {"inboxId": 0}),
    ("inbox.json", {"text": None}),
]


@pytest.mark.parametrize(("file", "changes"), REFUSED)
def test_small_difference_is_refused(file: str, changes: dict[str, Any]) -> None:
    assert not valid(schema_of(file), changed(FILES[file][0], changes))


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("run_started", {"seq": 0}),
        ("run_started", {"seq": "1"}),
        ("run_started", {"at": "1794996000.141"}),
        ("run_started", {"at": MILLISECONDS}),
        ("run_started", {"v": 2}),
        ("run_started", {"type": ""}),
        ("run_started", {"pid": None}),
        ("run_started", {"pane": "5"}),
        ("assistant_text", {"text": None}),
        ("tool_call", {"args": "src/auth.ts"}),
        ("tool_result", {"isError": "false"}),
        ("tool_result", {"text": "x" * 504}),
        ("tool_result", {"durationMs": 0.5}),
        ("usage", {"cost": None}),
        ("retry", {"delayMs": 2.5}),
        ("message_sent", {"kind": "shout"}),
        ("message_sent", {"text": None}),
        ("turn_end", {"stopReason": 1}),
        ("settled", {"aborted": None}),
        ("settled", {"attended": "yes"}),
        ("child_exited", {"signal": 9}),
        ("child_exited", {"exitCode": "0"}),
    ],
)
def test_small_difference_of_an_event_is_refused(kind: str, changes: dict[str, Any]) -> None:
    assert not valid("event", changed(EVENTS[kind], changes))


MORE_EVENTS: list[dict[str, Any]] = [
    {"type": "thinking", "text": "First the routes."},
    {"type": "needs_input", "kind": "permission", "text": "May I run make?"},
    {"type": "input_given", "kind": "permission", "text": None},
    {"type": "left_behind", "pid": 4800, "comm": "ssh-agent", "why": "leads its own session and listens"},
    {"type": "queued", "position": 3},
    {"type": "resumed"},
    {"type": "session_started", "session": "0f8e-4a", "model": None},
    {"type": "denied", "callId": "c1", "toolName": "Bash", "why": "It needs approval."},
]


@pytest.mark.parametrize("fields", MORE_EVENTS, ids=lambda fields: str(fields["type"]))
def test_rarer_events_are_known_too(fields: dict[str, Any]) -> None:
    event = {"v": 1, "seq": 3, "at": 1794996000.5, **fields}
    VALIDATORS["event"].validate(event)
    for key in fields:
        assert not valid("event", changed(event, {key: GONE})), key


def test_examples_show_every_known_event_type() -> None:
    assert {*EVENTS, *(fields["type"] for fields in MORE_EVENTS)} == set(schema_shapes.EVENTS)


def test_every_event_that_the_life_of_a_run_knows_has_a_shape() -> None:
    assert set(schema_shapes.EVENTS) == set(strategies.TYPES)


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("run.json", QUEUED),
        ("run.json", ENDED),
        ("run.json", ENDED | {"startedAt": None, "reason": "dependency", "errorMessage": "Waited for it."}),
        (
            "run.json",
            ENDED | {"status": "completed", "reason": "done", "exitCode": None, "signal": "SIGTERM"},
        ),
        ("run.json", {"name": None, "preset": None, "presetKind": None, "presetHash": None, "tools": []}),
        ("run.json", {"leftBehind": [{"pid": 12, "comm": "tmux", "why": "listens"}], "settled": True}),
        ("run.json", {"files": ["src/auth.ts", {"path": "README.md", "head": 20}]}),
        ("poll.json", {"runs": [], "project": None, "timedOut": True}),
        ("changes.json", {"changes": [], "reset": True}),
        ("error.json", {"error.hint": None, "error.candidates": [], "error.faults.0.field": None}),
        ("error.json", {"error.kind": "internal", "error.exit": 70, "error.log": "/state/error.log"}),
        ("tools.json", {"available": False, "why": "no models are available", "tools": []}),
        ("call-list_subagent_profiles.json", {"details": {"count": 0}}),
        (
            "call-get_subagent_output.json",
            {"details.status": "running", "details.state": "queued", "details.reason": None},
        ),
        ("result.json", {"status": "aborted", "reason": "lost", "startedAt": None, "durationMs": 0}),
        ("inbox.json", {"kind": "stop", "text": None}),
        (
            "wrapper.json",
            {f"tmux.{key}": None for key in ("socketPath", "serverPid", "serverStartTime", "window", "pane")},
        ),
        ("events.jsonl", {"agentVersion": None}),
        ("events.jsonl", {"type": "from_the_future", "pid": "any"}),
    ],
)
def test_what_may_be_otherwise_validates(file: str, changes: dict[str, Any]) -> None:
    VALIDATORS[schema_of(file)].validate(changed(FILES[file][0], changes))


def test_the_page_of_the_run_directory_lists_every_event_and_its_fields() -> None:
    page = (sources.ROOT / "docs/run-directory.md").read_text("utf-8").partition("## Events")[2]
    rows = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| `")]
    listed = {name: fields for names, fields in rows for name in re.findall("`(.+?)`", names)}
    assert set(listed) == set(schema_shapes.EVENTS)
    for name, shape in schema_shapes.EVENTS.items():
        assert set(shape.get("properties", {})) <= set(re.findall(r"`(\w+)`", listed[name])), name


def test_settled_may_tell_whether_a_person_was_there() -> None:
    assert valid("event", EVENTS["settled"] | {"attended": True})


@pytest.mark.parametrize(("codes", "kinds"), schema_shapes.KINDS.items())
def test_each_kind_of_error_has_its_exit_code(codes: tuple[int, ...], kinds: str) -> None:
    example = changed(FILES["error.json"][0], {"error.log": "/state/error.log"})
    for kind in kinds.split("|"):
        for code in (2, 3, 4, 70, 130, 143):
            document = changed(example, {"error.kind": kind, "error.exit": code})
            assert valid("error", document) == (code in codes), (kind, code)


@pytest.mark.parametrize("status", schema_shapes.REASONS)
def test_each_ending_has_its_reasons(status: str) -> None:
    for owner, reasons in schema_shapes.REASONS.items():
        for reason in reasons.split("|"):
            document = changed(FILES["result.json"][0], {"status": status, "reason": reason})
            assert valid("result", document) == (owner == status), reason


def test_each_kind_of_error_in_the_code_is_in_the_schema() -> None:
    known = set("|".join(schema_shapes.KINDS.values()).split("|"))
    named = {
        keyword.value.value
        for file in sources.FILES
        for node in sources.nodes(file)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "kind" and isinstance(keyword.value, ast.Constant)
        if str(getattr(node.func, "id", ""))
        in ("BadRequest", "BadConfig", "Unusable", "NotPossible", "NoSuchRun", "Fault")
    }
    assert named - known == set()
