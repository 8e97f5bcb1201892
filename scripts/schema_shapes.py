"""The shapes that the schemas are made of: a notation for them, lists of words, runs, events, tools' answers.

`record("pid:ordinal name:word? tools:[word]")` is an object with three keys, each with the name of its type.
`?` allows null besides, `[word]` is a list and `[word]+` one that is not empty, `a|b` and `=a` are words,
`text<9` has at most 9 characters, `a,b:count` gives two keys one type. A key without a type has its schema
among the named arguments, where a text is the description of a key. Keys are required unless they are
`optional`; unknown keys are always allowed.
"""

from typing import Any

Schema = dict[str, Any]

# ---- words ------------------------------------------------------------------------------------------

ACTIVE = "queued|running"
_FAILED = "error|length|unfinished|exit|signal|timeout|loop|spawn|window|config|dependency|limit|oom"
REASONS = {"completed": "done", "failed": _FAILED, "aborted": "stopped|parent|closed|lost|preempted"}
ENDED = "|".join(REASONS)
KINDS: dict[tuple[int, ...], str] = {
    (2,): "usage|removed|empty-task|bad-tasks|bad-argument|bad-cwd|bad-file|unknown-preset|bad-preset|"
    "unknown-profile|bad-profile|unknown-skill|no-model|unknown-model|ambiguous-model|unknown-agent|"
    "bad-settings|bad-layout|unknown-layout|unknown-tool|nested|agent-too-old|unknown-host|no-code",
    (3,): "tmux-missing|tmux-old|tmux-unreachable|window|agent-missing|no-models|no-space|no-permission|"
    "no-tty|unreachable|no-prompt|demo|file|bad-hosts|far-agent|far-answer|far-disk|far-install|far-missing|"
    "far-version|far-shell|git-failed|git-missing|git-old|host-key-changed|host-key-unknown|login-refused|"
    "no-archive|ssh-config|ssh-missing|code-failed",
    (4,): "unknown-run|ambiguous-run|run-ended|run-running|run-busy|no-window|not-live|run-changed|"
    "log-too-long|not-ours|still-active",
    (130, 143): "interrupted",
    (70,): "internal",
}
_MOST = 100_000_000_000
TYPES: dict[str, Schema] = {
    "null": {"type": "null"},
    "text": {"type": "string"},
    "word": {"type": "string", "minLength": 1},
    "flag": {"type": "boolean"},
    "object": {"type": "object"},
    "count": {"type": "integer", "minimum": 0},
    "ordinal": {"type": "integer", "minimum": 1},
    "amount": {"type": "number", "minimum": 0},
    "timeout": {"type": "number", "minimum": 1},
    "seconds": {"type": "number", "minimum": 1, "description": "Seconds."},
    "path": {"type": "string", "pattern": "^/"},
    "window": {"type": "string", "pattern": "^@[0-9]+$"},
    "pane": {"type": "string", "pattern": "^%[0-9]+$"},
    "signal": {"type": "string", "pattern": "^SIG[A-Z0-9+-]+$", "description": "A name, as SIGKILL."},
    "cursor": {"type": "string", "pattern": "^[^.]+\\.[0-9]+\\.[0-9]+$"},
    "hash": {"type": "string", "pattern": "^[0-9a-f]{12}$"},
    "simple": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,31}$"},
    "exit": {"type": "integer", "minimum": 0, "maximum": 255},
    "version": {"const": 1},
    "texts": {"type": "object", "additionalProperties": {"type": "string"}},
    "files": {"type": "array", "items": {"type": ["string", "object"]}},
}

# ---- the notation -----------------------------------------------------------------------------------


def shape(kind: str | Schema) -> Schema:
    """Return the schema of a type in the notation; a name that is no inline type points to a shared shape."""
    if not isinstance(kind, str):
        return kind
    if kind.endswith("?"):
        return _maybe(shape(kind[:-1]))
    name, _, most = kind.partition("<")
    made: Schema
    if kind.endswith("+"):
        made = {**shape(kind[:-1]), "minItems": 1}
    elif kind.startswith("["):
        made = {"type": "array", "items": shape(kind[1:-1])}
    elif "|" in kind or kind.startswith("="):
        made = {"enum": kind.removeprefix("=").split("|")}
    else:
        made = dict(TYPES[name]) if name in TYPES else {"$ref": f"#/$defs/{name}"}
    return made | ({"maxLength": int(most)} if most else {})


def _maybe(schema: Schema) -> Schema:
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    if "type" in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, TYPES["null"]]}


def keys(text: str, /, **more: str | Schema) -> Schema:
    """Return the properties that a text in the notation describes."""
    made: Schema = {}
    for word in text.split():
        names, colon, kind = word.partition(":")
        for name in names.split(","):
            said = more.get(name)
            made[name] = shape(kind) | ({"description": said} if said else {}) if colon else said
    return made


def record(
    content: str | Schema,
    /,
    *rules: Schema,
    optional: Schema | None = None,
    said: str = "",
    **more: str | Schema,
) -> Schema:
    """Make an object that must have all these keys and may have others."""
    properties = keys(content, **more) if isinstance(content, str) else content
    schema: Schema = {"description": said} if said else {}
    schema |= {"type": "object", "required": list(properties), "properties": properties | (optional or {})}
    return schema | ({"allOf": list(rules)} if rules else {})


def given(key: str, choice: str, then: Schema) -> Schema:
    """Demand more of an object where one of its keys is one of these words, or `true`, `false`, `null`."""
    constants: dict[str, bool | None] = {"true": True, "false": False, "null": None}
    choices = [constants.get(word, word) for word in choice.split("|")]
    value = {"const": choices[0]} if len(choices) == 1 else {"enum": choices}
    return {"if": {"required": [key], "properties": {key: value}}, "then": then}


def when(key: str, choice: str, /, **then: str | Schema) -> Schema:
    """Demand more of other keys where one key is one of these words, or `true`, `false`, `null`."""
    return given(key, choice, {"properties": {name: shape(kind) for name, kind in then.items()}})


def either(key: str, then: Schema, other: Schema, *, value: str | None = None) -> Schema:
    """Make an object of one shape where a key is there (and has a value), else of another."""
    has = {"required": [key]} | ({"properties": {key: {"const": value}}} if value else {})
    return {"type": "object", "if": has, "then": then, "else": other}


def reasons(key: str) -> list[Schema]:
    """Tie `reason` to a status word: null before the end, one of that ending's words after it."""
    ended = [when(key, word, reason=f"={allowed}") for word, allowed in REASONS.items()]
    return [when(key, ACTIVE, reason="null"), *ended]


TYPES |= {
    "status": shape(f"{ACTIVE}|{ENDED}"),
    "ending": shape("|".join(REASONS.values())),
    "kind": shape("|".join(KINDS.values())),
}

# ---- what a run is made of --------------------------------------------------------------------------

IDENTITY = keys("runId,sessionId:id")
# Fixed at launch: the same in the plan and wherever the run is shown.
PLANNED = IDENTITY | keys(
    "callId:id name:word? mode:single|parallel|background taskIndex:count step:null preset:word? "
    "presetKind:preset|profile? presetSource:project|global? presetPath:path? presetHash:hash? "
    "presetHides:path? tools:[word] agent:word driver:batch|live task:word cwd,project:path owner:word? "
    "after:[id] files:files resumes:id? requestedModel,resolvedModel,modelSource:word? timeout:seconds "
    "createdAt:moment",
    callId="The first run of the same call.",
    presetHides="The global file that the chosen one hides.",
    owner="The parent's own session.",
    after="Runs this one waits for.",
)
# Known at the end, and as far as it has come before.
OUTCOME = keys(
    "model:word? usage:usage toolCount,turns,messageCount:count exitCode:exit? signal:signal? "
    "stopReason:word? errorMessage:text? outputBytes:count? leftBehind:[leftover] note:text?",
    model="What the child says it uses.",
)
TOLD_BY_SOME = keys(
    "childSession,account,presetFrom,host:word unreachableSince:moment code denied:ordinal denials asks",
    asks={
        "description": "Open questions of the child, for `answer`.",
        "type": "array",
        "minItems": 1,
        "items": record(
            "ask:word kind,text:text options",
            options={"type": "array", "items": record("id,text:text")},
        ),
    },
    host="The other machine that it was launched on.",
    code=record(
        "refs:object kept:[word] isGone:flag",
        optional=keys("problem:text", problem="Why what the child left did not come back."),
        said="What the child left over there, where its project's code went along, once it has ended.",
        refs="Commits of the project here, by ref.",
        kept="Paths that git could not take; they lie in the checkout over there.",
        isGone="The checkout over there is gone.",
    ),
    unreachableSince="Since when that machine has not answered: a run goes on there.",
    presetFrom="The brand whose own agent file the preset is.",
    account="What the preset calls the login that the child uses.",
    childSession="The id of the child's own session, where it has one.",
    denied="How many tool calls the child was not allowed.",
    denials={"type": "array", "maxItems": 100, "items": record("tool:word why:text")},
)
RUN_FILES = "events,stdout,stderr,transcript,session,result:word?"
PLAN_FILES = "meta,prompt,systemPrompt,appendSystemPrompt:word?"

# ---- events -----------------------------------------------------------------------------------------

MESSAGE = "inboxId:ordinal kind:steer|followUp|stop|answer text:text?"
MESSAGE_RULE = when("kind", "steer|followUp", text="text")
EVENTS: dict[str, Schema] = {
    "run_started": record(
        "pid:ordinal pidStartTime:count wrapperPid:ordinal pane:pane? window:window? agentVersion:word?"
    ),
    "assistant_text": record("text:text"),
    "thinking": record("text:text<2048"),
    "tool_call": record("callId:word? toolName:word args:object"),
    "tool_result": record(
        "callId:word? toolName:word isError:flag text:text<503 durationMs:count?",
        optional=keys(
            "summary:word tail:text<1500 leftOut:count",
            summary="Of ls and find: what the whole listing amounts to.",
            tail="Of a result longer than 500 characters: what follows, or the end of it.",
            leftOut="How many lines are missing between text and tail.",
        ),
    ),
    "usage": shape("usage"),
    "retry": record("attempt,maxAttempts:ordinal? delayMs:count? errorMessage:text?"),
    "human_input": record("text:text"),
    "message_sent": record(MESSAGE, MESSAGE_RULE),
    "turn_end": record("stopReason:word?", optional=keys("evidence:exit|lines")),
    "settled": record("aborted:flag", optional=keys("attended:flag")),
    "needs_input": record(
        "kind:word text:text?",
        optional=keys(
            "ask:word options",
            ask="The id by which the question is answered.",
            options={"type": "array", "items": record("id:word text:text")},
        ),
    ),
    "input_given": record(
        "kind:word text:text?",
        optional=keys(
            "ask:word answer:text? by:text",
            answer="Null: it was not answered through tmuxagents.",
            by="Who has answered: a person, a parent, the clock, a person on its screen, the child.",
        ),
    ),
    "session_started": record("session:word model:word?", said="The child's own session."),
    "denied": record("callId:word? toolName:word why:text"),
    "left_behind": shape("leftover"),
    "queued": record("position:count"),
    "resumed": record(""),
    "stderr": record("text:text"),
    "child_exited": record("exitCode:exit? signal:signal?"),
}

# ---- what tools answer ------------------------------------------------------------------------------

# The tools around delegate_to_subagents have three status words of their own, and times in milliseconds;
# `state` and `reason` beside them are the words used everywhere else.
_DELEGATE = "status:running|completed|error state:status reason:ending?"
_DELEGATE_RULES = (
    *reasons("state"),
    when("status", "running", state=ACTIVE),
    when("status", "completed", state="=completed"),
    when("status", "error", state="failed|aborted"),
)
TYPES["lines"] = {"type": "array", "items": record("text:text kind:word")}
# `call` does not name its tool: a key that only one tool's details have says which shape holds for the rest.
_TELLING = {
    "mode": "subagent",
    "delivered": "delivery",
    **dict.fromkeys(("globalStatus", "maxLinesPerWindow", "sessionIds", "windows"), "delegate"),
    **dict.fromkeys(("taskName", "maxLines", "runCount"), "retrieved"),
    "messageCount": "transcript",
    **dict.fromkeys(("count", "profiles"), "profiles"),
}
_ALL_OF = (["run"], ["runs", "counts"], ["windows"], ["taskName"], ["count"])
_CHILDREN = "With --rows, for a parent that draws them: the children, as text."
_CARRIED_OUT: Schema = {
    "not": {"required": ["error"]},
    "anyOf": [{"required": required} for required in _ALL_OF],
    "properties": {"globalStatus": shape("=done")},
    "if": {"required": ["mode"]},
    "then": {"properties": {"status": shape("completed|failed")}},
}

# ---- shared shapes ----------------------------------------------------------------------------------

TYPES["_fault"] = record("field:word? kind:kind message:word")
SHAPES: dict[str, Schema] = {
    "id": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
    "moment": {
        "description": "Seconds since 1970, three decimals (a figure above the maximum is in milliseconds).",
        "type": "number",
        "minimum": 0,
        "maximum": _MOST,
    },
    "milliseconds": {"type": "integer", "minimum": _MOST},
    "counts": record(
        "queued,running,completed,failed,aborted,total:count", said="`total` is the sum of the others."
    ),
    "usage": record(
        "input,output,cacheRead,cacheWrite,totalTokens:count cost:amount",
        cost="US dollars.",
        optional=keys(
            "reasoning:count costKind:reported|estimated|none basis:call|run|session",
            reasoning="Tokens of thinking, which `output` holds, too.",
            costKind="Who says the cost: the provider's bill, the agent's own table of prices, nobody.",
            basis="What the agent's own figures count; ours are always of this run.",
        ),
        said="Tokens and cost; `input` holds nothing that was read from a cache.",
    ),
    "leftover": record("pid:ordinal comm,why:text", said="A process that outlived the run on purpose."),
    "run": record(
        PLANNED
        | keys(
            "status:status reason:ending? activity:text? attended,settled,needsInput:flag agentVersion:word? "
            "startedAt,endedAt,lastEventAt:moment? runCount:ordinal",
            attended="A person has typed into it.",
            settled="A live child that has answered and waits.",
        )
        | OUTCOME
        | keys(
            "output:text<4096? runDir:path artifacts tmux elapsedSeconds:amount",
            output="The first 4096 bytes.",
            artifacts=record(f"{PLAN_FILES} {RUN_FILES}"),
            tmux=record("socket,session:word? window:window? pane:pane?"),
        ),
        *reasons("status"),
        when(
            "status",
            "queued",
            startedAt="null",
            elapsedSeconds={"const": 0},
            tmux={"properties": keys("window:null")},
        ),
        when("status", "running|completed", startedAt="moment"),
        when("status", ACTIVE, endedAt="null"),
        when("status", ENDED, endedAt="moment"),
        when("status", "completed", errorMessage="null"),
        optional=TOLD_BY_SOME,
        said="One run, the same wherever it is shown. Names in `artifacts` are relative to `runDir`.",
    ),
    "error": record(
        "kind:kind message:word hint:word? exit faults:[_fault]+ candidates:[word]",
        *(when("kind", kinds, exit={"enum": list(codes)}) for codes, kinds in KINDS.items()),
        given("kind", "internal", {"required": ["log"]}),
        optional=keys("log:path"),
        exit={"enum": [code for codes in KINDS for code in codes]},
        said="Why a request was not carried out. `log`, the file with the traceback, comes with `internal`.",
    ),
    "tool": record(
        "name label,description:word parameters",
        name={"type": "string", "pattern": "^[a-z][a-z0-9_]*$"},
        parameters=record(
            "type:=object additionalProperties properties:object",
            additionalProperties={"const": False},
            optional=keys("required:[word]"),
            said="A JSON Schema.",
        ),
    ),
    "child": record(
        f"name:word runId,sessionId:id {_DELEGATE} exitCode:exit? lines,allMessages:lines "
        "startedAt,completedAt:milliseconds? timeout:seconds toolCount,fileCount:count "
        "profileName:word? profileInfo provider,model,thinkingLevel,stopReason:word? errorMessage:text? "
        "todoTotal,todoCompleted:count?",
        *_DELEGATE_RULES,
        profileInfo={"type": ["string", "object", "null"]},
        said="One task of delegate_to_subagents.",
    ),
    "brief": record(
        "runId:id status:word",
        optional=keys(
            "sessionId:id name,preset,profileName,state,reason,model:word errorMessage,activity:text "
            "elapsedSeconds:amount toolCount:count"
        ),
        said="What a model needs of one run; `call --verbose` and `call --stream` print it whole.",
    )
    | {"additionalProperties": False},
    "told": {"anyOf": [{"$ref": "#/$defs/run"}, {"$ref": "#/$defs/brief"}]},
    "task": {"anyOf": [{"$ref": "#/$defs/child"}, {"$ref": "#/$defs/brief"}]},
    "subagent": record("mode:single|parallel status:running|completed|failed runs:[told]+ counts:counts"),
    "delivery": record("run:told delivered:flag"),
    "delegate": record("globalStatus:running|done maxLinesPerWindow:ordinal sessionIds:[id] windows:[task]+"),
    "retrieved": record(
        f"sessionId:id taskName:text runCount,maxLines:ordinal {_DELEGATE}", *_DELEGATE_RULES
    ),
    "transcript": record("taskName:text messageCount:count exitCode:exit? model:word?"),
    "profiles": {
        "anyOf": [
            record("count", count={"const": 0}),
            record(
                "count:ordinal profiles", profiles={"type": "object", "additionalProperties": shape("word")}
            ),
        ]
    },
    "details": {
        "type": "object",
        "properties": keys("run:told runs:[told] counts:counts error:error"),
        "dependentSchemas": {key: shape(name) for key, name in _TELLING.items()},
    },
    "block": record("type:=text text:text"),
    "progress": record(
        "v:version type:=progress content:[block] details:details",
        optional=keys(
            "view:text children:[drawn]",
            view="The same for a screen that has room for it.",
            children=_CHILDREN,
        ),
    ),
    "answer": record(
        "v:version content:[block]+ details:details isError:flag",
        when("isError", "true", details={"required": ["error"]}),
        when("isError", "false", details=_CARRIED_OUT),
        optional=keys("type:=result children:[drawn]", children=_CHILDREN),
    ),
    "drawn": record(
        "sign,style,name:word facts,doing,why:text rows:[row]",
        doing="What it does now.",
        why="Why it failed.",
        rows="What it did, once it has ended.",
    ),
    "row": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
    "snapshot": record(
        "v:version at:moment scope:word project:path? owner:word? counts:counts runs:[run] usage:usage "
        "cursor:cursor timedOut:flag",
        optional=keys("others:others?"),
    ),
    "others": record(
        "active,total:count",
        said="The runs of the project that are not this parent's; null unless the scope is an owner.",
    ),
    "follow": record("v:version type:=run run:run"),
    "model": record(
        "id,provider:word name:word? contextWindow,maxTokens:ordinal? reasoning,images:flag?",
        id="What --model takes.",
        contextWindow="Tokens.",
        maxTokens="Of one answer.",
        said="One model; what its agent does not tell is null.",
    ),
}
