"""What hostile input can reach, as one function of bytes each: it returns, or raises what is one clear error.

Whatever else it raises is a crash; it takes too long: a hang. Pure but for the registry in memory.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tests.presets.preset_files import text_file
from tmuxagents.agents.base import LineSplitter, Oversized
from tmuxagents.agents.pi.command import Pi
from tmuxagents.errors import TmuxAgentsError
from tmuxagents.launch import tasks
from tmuxagents.mcp import protocol
from tmuxagents.presets import preset
from tmuxagents.presets.preset import BadPreset
from tmuxagents.records import STATUSES, Exit
from tmuxagents.registry import database, lookup
from tmuxagents.runs import documents, endings, events, lifecycle, narration, prompt
from tmuxagents.runs.narration import Narrator
from tmuxagents.settings import keys
from tmuxagents.text import jsonline, safe
from tmuxagents.tmux import place
from tmuxagents.tools import catalogue, check
from tmuxagents.top.rows import Entry, title
from tmuxagents.top.view import Board, TopView

if TYPE_CHECKING:
    from collections.abc import Callable

META: dict[str, Any] = {"runId": "0123456789abcdef", "sessionId": "0123456789abcdef", "task": "x"}
# What a terminal obeys: C0 but newline and tab, DEL, C1, and what turns the direction of text.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_NAME = re.compile("[a-z0-9][a-z0-9_-]{0,63}")
_SHOWN: dict[str, Any] = {
    "runId": "0123456789abcdef",
    "startedAt": 940.0,
    "elapsedSeconds": 60.4,
    "timeout": 600,
    "lastEventAt": 999.0,
    "needsInput": False,
    "settled": False,
    "createdAt": 930.0,
    "endedAt": None,
    "driver": "live",
    "usage": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost"), 0.5),
}
_TOOLS = tuple(catalogue.TOOLS)


def preset_file(data: bytes) -> None:
    """Read a preset or profile of the user or of a project."""
    kind, source = ("preset", "profile")[data[:1] > b"m"], ("global", "project")[data[1:2] > b"m"]
    read = preset.parse(text_file(data[2:].decode("utf-8", "replace"), kind=kind, source=source))
    if isinstance(read, BadPreset):
        assert read.flaws
        inert(read.warning())


def settings_files(data: bytes) -> None:
    """Read the settings of the user and of a project, and the environment."""
    user, _, rest = data.partition(b"\xfe")
    project, _, variable = rest.partition(b"\xfe")
    words = [piece.decode("utf-8", "replace") for piece in (user, project, variable)]
    names = [keys.variable_of(key) for key in keys.KEYS]
    environment = {names[len(data) % len(names)]: words[2].replace("\0", "")}
    found = keys.resolve(environment, global_text=words[0], project_text=words[1])
    for warning in found.warnings:
        inert(warning)


def child_stdout(data: bytes) -> None:
    """Read what a child prints, and do with it all that a wrapper does."""
    splitter, reader, narrator, state = LineSplitter(), Pi().reader(), Narrator(), lifecycle.RunState()
    size = max(1, len(data) // 3)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    lines = [line for piece in pieces for line in splitter.feed(piece)]
    for line in [*lines, *splitter.flush()]:
        reading = reader.feed_oversized(line, 1.0) if isinstance(line, Oversized) else reader.feed(line, 1.0)
        for event in reading.events:
            event.seq, event.at = 1, 1.0
            written = events.encode(event)
            assert written.count(b"\n") == 1
            assert events.decode(written) is not None
            lifecycle.apply(state, event)
            entry = narration.entry(event, narrator.phrase(event))
            if entry is not None:
                inert(entry)
    how = endings.verdict(state, Exit(0), cause=None, lingered=False)
    assert how.status in ("completed", "failed")
    plan = documents.plan_of(META)
    json.loads(jsonline.encode(documents.result(plan, state, how, ended_at=2.0, duration_s=1.0)))


def event_log(data: bytes) -> None:
    """Read an event log that a child has written into."""
    state = lifecycle.RunState()
    for line in data.split(b"\n"):
        event = events.decode(line)
        if event is not None:
            lifecycle.apply(state, event)
    endings.conclude(state)


def tool_call(data: bytes) -> None:
    """Read the arguments of a parent's tool call."""
    tool = _TOOLS[data[:1][0] % len(_TOOLS)] if data else _TOOLS[0]
    try:
        found = check.faults(tool, check.read(data[1:].decode("utf-8", "replace"), tool.name))
        found.refuse()
    except TmuxAgentsError as error:
        clear(error)


def mcp_message(data: bytes) -> None:
    """Read a message of an MCP client, and answer it."""
    for offered in (True, False):
        said = protocol.read(data)
        answer = protocol.answer(said, offered=offered) if isinstance(said, protocol.Request) else said
        if answer is not None:
            json.loads(jsonline.encode(answer))


def run_reference(data: bytes) -> None:
    """Look a run up by whatever somebody types."""
    reference = data.decode("utf-8", "surrogateescape")
    caller = lookup.Caller({"TMUXAGENTS_HOME": "/nowhere/at/all", "HOME": "/nowhere"}, "/")
    with database.open_memory() as book:
        try:
            raise AssertionError(f"there is a run {lookup.locate(reference, caller, book)!r}")
        except TmuxAgentsError as error:
            clear(error)


def tasks_file(data: bytes) -> None:
    """Read a file of tasks."""
    try:
        tasks.parse(data.decode("utf-8", "replace"), "-")
    except TmuxAgentsError as error:
        clear(error)


def file_word(data: bytes) -> None:
    """Read a --file of a command line."""
    try:
        prompt.parse(data.decode("utf-8", "surrogateescape"), is_file=False)
    except TmuxAgentsError as error:
        clear(error)


def names_of_tmux(data: bytes) -> None:
    """Make names for tmux from whatever a project or run is called."""
    text = data.decode("utf-8", "surrogateescape")
    for name in (place.safe_name(text, "0123abcd"), *place.session_names(f"/{text}")):
        assert _NAME.fullmatch(name), name


def shown_text(data: bytes) -> None:
    """Show a text on a terminal."""
    text = data.decode("utf-8", "surrogateescape")
    inert(safe.text(text))
    inert(safe.line(text))
    inert(safe.cut(safe.line(text), 40))
    inert(
        narration.title(text)
        .decode("utf-8", "replace")
        .removeprefix("\x1b]2;")
        .removesuffix("\x1b\\")
        .removesuffix("\a")
    )


def top_screen(data: bytes) -> None:
    """Show a run whose every text is hostile in `top`."""
    text = data.decode("utf-8", "replace")
    texts = dict.fromkeys(("name", "preset", "task", "model", "cwd", "activity", "errorMessage"), text)
    run = {**_SHOWN, **texts, "status": ("running", "failed")[len(data) % 2], "reason": None}
    entry = Entry(run | {"output": text}, "0123abcd", host=text)
    view = TopView()
    counts = dict.fromkeys((*STATUSES, "total"), 1)
    view.take(Board([entry], counts, waiting=0, at=1000.0, project=text, elsewhere=0))
    view.filter(text if len(data) % 3 else "")
    lines = [*view.nothing(), view.head(100, "10:00"), view.foot(100, text, in_detail=False)]
    lines += [view.table(200).line(number, 1000.0) for number in range(len(view.entries))]
    for line in [*lines, title(entry, 1000.0, 100)]:
        for _, words in line:
            assert "\n" not in words
            inert(words)


def inert(words: str) -> None:
    """Fail for words that a terminal would obey."""
    found = OBEYED.search(words)
    assert found is None, f"{found.group()!r} in {words[:80]!r}"


def clear(error: TmuxAgentsError) -> None:
    """Fail for an error that is not one short inert sentence with a kind and an exit code."""
    assert error.message
    assert error.kind
    assert error.exit_code in (2, 3, 4)
    assert len(error.message) < 2000
    inert(safe.text(error.message))


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        *(preset_file, settings_files, child_stdout, event_log, tool_call, mcp_message, run_reference),
        *(tasks_file, file_word, names_of_tmux, shown_text, top_screen),
    )
}
# What each begins with: right input, to be changed from there.
SEEDS: dict[str, list[bytes]] = {
    "preset_file": [
        b"aa---\nname: scout\ndescription: Looks around\nmodel: a/b\ntools: read,grep\n---\nLook.\n",
        b"zz---\nname: p\ntools: [read, bash]\nskills:\n  - a\n  - b\nthinking: high\n---\n",
        b"az---\nname: &a x\nb: *a\n<<: {c: !!python/object d}\n---\n",
    ],
    "settings_files": [
        (
            b'{"subagents":{"timeout":5,"tmux":{"socket":"a"},"onEnd":["a"],"keepRuns":"30d"}}\xfe'
            b'{"subagents":{"maxConcurrency":2}}\xfe7'
        ),
    ],
    "child_stdout": [
        (
            b'{"type":"agent_start"}\n{"type":"message_end","message":{"role":"assistant","content":[{"type":"text",'
            b'"text":"hi"},{"type":"toolCall","id":"c","name":"ls","arguments":{"path":"x"}}],"usage":{"input":1},'
            b'"stopReason":"stop"}}\n{"type":"tool_execution_end","toolCallId":"c","toolName":"ls","result":{"content":'
            b'[{"type":"text","text":"a"}]},"isError":false}\n{"type":"agent_settled","aborted":false}\n'
        ),
    ],
    "event_log": [
        (
            b'{"v":1,"seq":1,"at":1.5,"type":"run_started","pid":3}\n{"v":1,"seq":2,"at":2,"type":"usage","input":1,'
            b'"cost":0.1}\n{"v":1,"seq":3,"at":2,"type":"settled","aborted":false}\n'
        ),
    ],
    "tool_call": [b'\x00{"task":"x","tasks":[{"task":"a","files":["b:1-2"]}],"model":"a/b","timeout":3}'],
    "mcp_message": [
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}',
        b'{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"a"}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    ],
    "run_reference": [b"@last", b"0123456789abcdef", b"scout", b"../../etc", b"0123"],
    "tasks_file": [b'{"tasks":[{"task":"a","cwd":"b"}]}', b"- task: a\n  preset: b\n- task: |\n    c\n"],
    "file_word": [b"a.txt:1-20", b"b:head=3", b"c:-9"],
    "names_of_tmux": ["a#(x)b;\u00fc".encode(), b"\xff\n"],
    "top_screen": [b"so far", b"\x1b]52;c;eA==\x07\n\x1b[2J\x9b1m \xe2\x80\xae x"],
    "shown_text": [b"\x1b]52;c;eA==\x07 \x1b[31m \x9b1m \xe2\x80\xae x"],
}
