"""The documents that have a schema: what each is, and its shape in the notation of `schema_shapes`."""

from scripts.schema_shapes import (
    ENDED,
    EVENTS,
    IDENTITY,
    MESSAGE,
    MESSAGE_RULE,
    OUTCOME,
    PLANNED,
    RUN_FILES,
    SHAPES,
    TOLD_BY_SOME,
    TYPES,
    Schema,
    either,
    given,
    keys,
    reasons,
    record,
    shape,
    when,
)

# ---- their parts ------------------------------------------------------------------------------------

_PRESET = keys(
    "name:word kind:preset|profile source:project|global path:path hash:hash hides,hiddenBy:path? "
    "toolRule:default|only|except|none "
    "provider,model,thinkingLevel,appendSystemPrompt,systemPrompt,description:text? apiKey:word? "
    "noTools,noExtensions,noSkills,noContextFiles:flag "
    "tools,excludeTools,extensions,extraArgs,suggestedSkills,loadSkills:[text] agent:word? "
    "driver:batch|live? timeout:timeout? keepBackground:flag? nesting warnings:[word]",
    hash="Of the file's bytes, sha256.",
    hides="The user's own file of the same name that this one hides.",
    toolRule="How tools are chosen: nothing said, those in tools, all but excludeTools, none.",
    apiKey="Masked.",
    nesting={"type": ["integer", "null"], "minimum": 1, "maximum": 3},
)
_PRESET_OPTIONS = keys(
    "account,home,from:word env:[word] on:word",
    **{"from": "The brand whose own agent file it is."},
    account="What it calls the login that its children use.",
    env="The names of the variables that it gives them.",
    on="The machine that its children work on.",
)
_PRESET_RULES = (
    when("toolRule", "only", tools={"minItems": 1}),
    given("permission", "read-only|edit|full|ask", {}),
    when("toolRule", "except", noTools={"const": False}),
    when("kind", "preset", apiKey="null", provider="null", description="word"),
)
_TEXT = {"type": "string"}
_TASK_DEFAULTS = {
    "preset": {"description": "A preset or profile.", **_TEXT},
    "agent": {"description": "The agent that works.", **_TEXT},
    "permission": {
        "description": "What the child may do without asking.",
        "enum": ["read-only", "edit", "full", "ask"],
    },
    "on": {"description": "The other machine it runs on, by the name of a host.", **_TEXT},
    "model": _TEXT,
    "cwd": {"description": "Where the child works; relative to the file.", **_TEXT},
    "timeout": {
        "description": "How long the child may work: seconds, or a duration like 5m.",
        "anyOf": [
            {"type": "number", "minimum": 1},
            {"type": "string", "pattern": r"^([0-9]+(\.[0-9]+)?[ywdhms])+$"},
        ],
    },
    "files": {
        "description": "Files for the prompt, or lines of them: PATH:A-B.",
        "type": "array",
        "items": _TEXT,
    },
}
SHAPES["_task"] = {
    "type": "object",
    "required": ["task"],
    "additionalProperties": False,
    "properties": {
        "task": {"description": "What the child is to do; {previous}: the answers of after.", **_TEXT},
        "name": {"description": "A name for the run, besides its id.", **_TEXT},
        "after": {
            "description": "Tasks above this one, by name, or other runs, to wait for.",
            "anyOf": [_TEXT, {"type": "array", "items": _TEXT}],
        },
        **_TASK_DEFAULTS,
    },
}
_TASKS = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/_task"}}
_EACH = "What comes for each active run."
_WHERE = "where:file|server path:path name:word?"
_WHERE_RULES = (when("where", "file", name="null"), when("where", "server", name="word"))
_KEPT = (
    "exitCode signal stopReason errorMessage model usage toolCount turns messageCount outputBytes leftBehind "
    "note"
)
TYPES |= {
    "_preset": record(_PRESET, *_PRESET_RULES, optional=_PRESET_OPTIONS),
    "_flaw": record("message:word line:ordinal? field:word?"),
    "_pane": record(
        "show:top|transcript? run:word? commands:[word] startDirectory:word? focus:flag",
        when("show", "transcript", run="word", commands={"maxItems": 0}),
        when("show", "top", run="null", commands={"maxItems": 0}),
        when("show", "null", run="null"),
        show="A view of ours; null: a shell.",
        run="Whose transcript: newest, or a run's name or id.",
        commands="Typed into the shell.",
    ),
    "_item": {"type": "object", "required": ["task"], "properties": SHAPES["_task"]["properties"]},
    "_check": record(
        "name:word state:ok|warning|broken message:word hint:word?",
        when("state", "ok", hint="null"),
        when("state", "warning|broken", hint="word"),
    ),
    "_setting": record(
        "key:word value source:default|global|project|environment",
        value={"description": "As a person would write it in a settings file."},
    ),
    "_removed": record(
        f"what:run|window|row|link|leftover runId:id? path:path? bytes:count status:{ENDED}? endedAt:moment?",
        when("what", "run", runId="id", path="path", status=ENDED),
        when("what", "window|link", runId="id", path="path"),
        when("what", "row", runId="id", path="null", bytes={"const": 0}),
        when("what", "leftover", path="path"),
        path="What lay on the disk, or the socket of a window's server.",
    ),
    "_changed": record(f"{_WHERE} before,after:text?", *_WHERE_RULES),
    "_left": record(f"{_WHERE} why:word", *_WHERE_RULES),
    "_change": record("runId:id status:status reason:ending? activity:text? name:word?", *reasons("status")),
    "_ended": record(
        {key: OUTCOME[key] for key in _KEPT.split()}
        | keys("output:text? startedAt,endedAt:moment?", output="The first 4,096 bytes.")
    ),
    "_notice": record(
        "level:info|warning text,message:word",
        text="For the screen.",
        message="For the conversation.",
        said="Once for each run.",
    ),
}
TYPES |= {
    "_host": record(
        "name:word engine:ssh|slurm destination:word command:[word]+ home:path version:word "
        "maxRunning:ordinal? cwd:path? agent:word? lastHeard,unreachableSince:moment? ok:flag? "
        "checks:[_check]",
        destination="What ssh is called with.",
        command="tmuxagents there.",
        home="The state directory there.",
        version="Of tmuxagents there, with a hash of its files.",
        lastHeard="When the machine answered the mirror of a run last.",
        ok="Nothing is broken; null where nothing was examined.",
    ),
    "_agent": record(
        "name:word type:acp|command? isDefault,installed:flag command:[text]? version:word? loggedIn:flag? "
        "warnings:[word] howToInstall,howToLogIn:word oldest,tested:word? "
        "seats,permissions:[word] defaultPermission:read-only|edit|full|ask? "
        "takesModel,listsModels,takesMessages,resumes:flag systemPrompt,tools:[word] "
        "usage:call|run|session cost:reported|estimated|none evidence:event|exit",
        type="Of an agent that the user's settings define.",
        loggedIn="Known of agents that list their models.",
        takesMessages="A batch run takes messages while it works.",
        tools="The names that a preset may list.",
        usage="What its own figures count.",
        evidence="What proves the end of a run.",
    ),
    "_checked": record(
        "kind:preset|profile source:project|global path:path name:word? faults:[_flaw] notes:[word]"
    ),
    "_window": record(
        "name:simple layout:word? eachRun:=pane? focus:flag startDirectory:word? "
        "options:texts panes:[_pane]+",
        layout="One of tmux's names, or a text with a checksum.",
        eachRun=_EACH,
    ),
    "_update": record(
        "runId:id status:status reason:ending? settled:flag result:_ended?",
        *reasons("status"),
        said="The entry of a change. `settled`: a live child has answered.",
    ),
}

_LAYOUT = keys(
    "name:simple source:shipped|global|project path:path description:text hides,hiddenBy:path? "
    "sessionName:simple startDirectory:word? options:texts eachRun:=window? "
    "launch:[_item] windows:[_window]+",
    hides="The file of the same name that this one hides.",
    eachRun=_EACH,
)
TYPES["_layout"] = record(_LAYOUT)

# ---- all --------------------------------------------------------------------------------------------

DOCUMENTS: dict[str, tuple[str, Schema]] = {
    "receipt": (
        "What launch, resume and retry print.",
        record("v:version run:run counts:counts attach:word warnings:[word]"),
    ),
    "run": (
        "One run, as it stands in receipts, in poll, in the answers of tools and in entries.",
        SHAPES["run"]
        | {"properties": SHAPES["run"]["properties"] | keys("v:version", v="Of a document of its own.")},
    ),
    "poll": (
        "What poll, wait and run print; with --follow, lines of type `run` come before it.",
        either("type", shape("follow"), shape("snapshot"), value="run"),
    ),
    "changes": (
        "What poll --since prints: the runs that changed after the cursor.",
        record("v:version at:moment counts:counts changes:[_change] cursor:cursor reset:flag"),
    ),
    "event": (
        "One line of events.jsonl. Types that are not listed here are valid, with whatever they carry.",
        record(
            "v:version seq:ordinal at:moment type:word",
            *(given("type", name, fields) for name, fields in EVENTS.items()),
        ),
    ),
    "result": (
        "result.json of a run directory: how the run ended.",
        record(
            keys("v:version")
            | IDENTITY
            | keys(f"status:{ENDED} reason:ending")
            | OUTCOME
            | keys(
                "output:text<65536? startedAt:moment? endedAt:moment durationMs:count "
                "lingered,logsIncomplete:flag",
                output="The first 64 KB.",
            ),
            *reasons("status"),
            when("status", "completed", startedAt="moment", errorMessage="null"),
            when("startedAt", "null", durationMs={"const": 0}),
            optional=TOLD_BY_SOME,
        ),
    ),
    "meta": (
        "meta.json of a run directory: the plan, written once at launch.",
        record(
            keys("v:version")
            | PLANNED
            | keys(
                "systemPrompt:text? systemPromptPath,appendSystemPromptPath:word? root:id? sessionPath:word "
                "artifacts tmux",
                artifacts=record(RUN_FILES),
                tmux=record(
                    "socket,session:word?",
                    optional=keys("launcher:word?", launcher="The server from which it was launched."),
                ),
            ),
            optional=keys(
                "keepBackground,allowOutside:flag taskName:text agentCommand:[text] agentVersion:word? "
                "initiator:agent|person? profile:object account,presetFrom:word reopens:flag replayed:count "
                "nesting agentKind:acp|command permission:read-only|edit|full|ask childSession:word "
                "baseline:object",
                keepBackground="Processes that the child leaves behind keep running.",
                allowOutside="Files from outside the project may go into the prompt.",
                taskName="Of a task of delegate_to_subagents.",
                agentCommand="The agent's program, as it was found and tried at the launch.",
                initiator="Who launched it.",
                agentKind="How an agent is spoken to that the user's settings define.",
                permission="What the child may do; without it, what the agent allows by itself.",
                childSession="The session of the agent's own that the child continues.",
                baseline="What that session had used before, where the agent counts the whole session.",
                profile="What a profile adds to the command line.",
                account="What the preset calls the login that the child uses.",
                presetFrom="The brand whose own agent file the preset is.",
                reopens="A person goes on with the session: the child gets no prompt.",
                replayed="Characters of the transcript in the prompt, if any.",
                nesting=shape("count")
                | {"maximum": 3, "description": "How many levels of children it may have, if any may."},
            ),
        ),
    ),
    "error": (
        "What any verb prints with --json when it refuses or fails.",
        record("error:error", optional=keys("v:version")),
    ),
    "tools": (
        "The catalogue of tools, as a parent registers them.",
        record(
            "v:version available:flag why:word? tools:[tool]",
            when("available", "true", why="null"),
            when("available", "false", why="word"),
        ),
    ),
    "agents": (
        "What agents prints: the supported agents and those of the user's settings, and what each can do.",
        record("v:version agents:[_agent] warnings:[word]"),
    ),
    "hosts": (
        "What hosts prints: the machines that were listed, added or checked, or the one that was removed.",
        either(
            "removed",
            record(
                "v:version removed:word uninstalled:path?",
                uninstalled="The folder there that was removed, too.",
            ),
            record("v:version hosts:[_host]"),
        ),
    ),
    "models": (
        "What models prints: what an agent offers, in its own order.",
        record(
            "v:version agent:word agentVersion:word? available:flag why:word? generation:count "
            "models:[model] warnings:[word]",
            when("available", "true", why="null"),
            when("available", "false", why="word", models={"maxItems": 0}),
            available="A launch is not refused for want of agent or models.",
            generation="Grows when other models are offered, in any order.",
        ),
    ),
    "call": (
        "What call TOOL prints; with --stream, lines of type `progress` and a last one of type `result`.",
        either("type", shape("progress"), shape("answer"), value="progress"),
    ),
    "wrapper": (
        "wrapper.json of a run directory: which process looks after the child, and in which window.",
        record(
            "v:version host,bootId:word pidNamespace,pid:ordinal startTime:count tmux at:moment",
            tmux=record(
                "socketPath:path? serverPid:ordinal? serverStartTime:count? window:window? pane:pane?",
                optional=keys("session:word?"),
            ),
        ),
    ),
    "inbox": (
        "One line of inbox.jsonl: a message to a child.",
        record(
            f"v:version at:moment {MESSAGE}",
            MESSAGE_RULE,
            when("kind", "answer", text="text"),
            optional=keys("ask,by:text", ask="The id of the question.", by="Who answers."),
        ),
    ),
    "config": (
        "What config list and config get print: settings in force.",
        record("v:version settings:[_setting] warnings:[word]"),
    ),
    "doctor": (
        "What doctor prints: the checks, in their order, and the settings in force.",
        record(
            "v:version at:moment version:word ok:flag checks:[_check]+ settings:[_setting]",
            when("ok", "true", checks={"type": "array", "items": {"properties": keys("state:ok|warning")}}),
            ok="Nothing is broken; there may be warnings.",
        ),
    ),
    "prune": (
        "What prune prints: what was removed, or with --dry-run what would be.",
        record("v:version dryRun:flag removed:[_removed] bytes:count warnings:[word]"),
    ),
    "integrate": (
        "What integrate prints: what was changed (with --dry-run: would be), and what was left alone.",
        record(
            "v:version target:pi|claude|codex|tmux uninstall,dryRun:flag changes:[_changed] left:[_left] "
            "warnings:[word]"
        ),
    ),
    "preset": (
        "What presets prints: one preset or profile, all of them, files that were checked or removed.",
        either(
            "presets",
            record("v:version presets:[_preset] warnings:[word]"),
            either(
                "files",
                record("v:version files:[_checked]"),
                either(
                    "removed",
                    record("v:version removed:[path]"),
                    record(keys("v:version") | _PRESET, *_PRESET_RULES, optional=_PRESET_OPTIONS),
                ),
            ),
        ),
    ),
    "notice": (
        "One line of what a parent inside pi is told of its background runs.",
        record(
            "v:version status:word? counts:counts active:[row] run:run? update:_update? notice:_notice?",
            status="What the footer shows; null before the first run.",
            active="A line for each active run: parts with a style and a text each.",
            run="A run that is new to the session.",
        ),
    ),
    "layout": (
        "What layouts prints: one layout, all of them, the session of one that was opened.",
        either(
            "layouts",
            record("v:version layouts:[_layout] warnings:[word]"),
            either(
                "opened",
                record(
                    "v:version opened:simple made:flag socket:path session sessionName:word launched:[id]",
                    made="False: it was open already, and nothing was launched.",
                    session={"type": "string", "pattern": "^\\$[0-9]+$"},
                    launched="What was launched with it.",
                ),
                record(keys("v:version") | _LAYOUT),
            ),
        ),
    ),
    "tasks": (
        "A tasks file for launch and run (--tasks FILE, JSON or YAML): its tasks, and what they share.",
        {
            "anyOf": [
                _TASKS,
                {
                    "type": "object",
                    "required": ["tasks"],
                    "additionalProperties": False,
                    "properties": {
                        "tasks": _TASKS,
                        "defaults": {
                            "description": "For the tasks that say nothing else.",
                            "type": "object",
                            "additionalProperties": False,
                            "properties": _TASK_DEFAULTS,
                        },
                        "concurrency": {
                            "description": "How many of them run works on at once.",
                            "type": "integer",
                            "minimum": 1,
                        },
                    },
                },
            ]
        },
    ),
}
