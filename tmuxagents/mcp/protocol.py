"""The messages of the Model Context Protocol: lines become requests, answers become lines. Joins.

The server speaks both generations of the protocol. A request that names a protocol version belongs to the
stateless generation (2026-07-28). Any other request belongs to the one that begins with `initialize`. Earlier
requests do not decide this. The prompts are the shipped workflow prompts, each with a task as its argument.
"""

from __future__ import annotations

import json

from tmuxagents import __version__, records
from tmuxagents.tools import answers, catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Message = dict[str, Any]

STATELESS = ("2026-07-28",)
WITH_HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # the latest first
PARSE, INVALID, NO_METHOD, BAD_PARAMS, INTERNAL, UNSUPPORTED = -32700, -32600, -32601, -32602, -32603, -32022
NO_RESOURCE = -32002  # in the versions with a handshake; the stateless one has BAD_PARAMS instead
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_LEVELS_OF = {records.COMPLETED: "info", records.ABORTED: "notice", records.FAILED: "warning"}
_LOGGED = ("runId", "name", "preset", "status", "reason", "errorMessage", "elapsedSeconds")
CALL, RESOURCES, READ = "tools/call", "resources/list", "resources/read"
SET_LEVEL = "logging/setLevel"
SUBSCRIBE, UNSUBSCRIBE, LISTEN = "resources/subscribe", "resources/unsubscribe", "subscriptions/listen"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
UPDATED, LIST_CHANGED = "notifications/resources/updated", "notifications/resources/list_changed"
_PREFIX = "io.modelcontextprotocol/"
_VERSION, _SERVER, _LEVEL = (f"{_PREFIX}{name}" for name in ("protocolVersion", "serverInfo", "logLevel"))
STREAM = f"{_PREFIX}subscriptionId"
_INFO = {"name": "tmuxagents", "title": "tmuxagents", "version": __version__}
_KEPT_MS = 60_000  # how long a client may cache a list; lists change only with the program


class Request:
    """One message of a client. Without an id it is a notification and gets no answer."""

    __slots__ = ("id", "is_stateless", "level", "method", "params", "token", "version")

    def __init__(self, method: str, params: Mapping[str, Any], id: Any = None) -> None:  # noqa: A002  (JSON-RPC's word)
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        token = meta.get("progressToken")
        self.method = method
        self.params = params
        self.id = id
        self.version = meta.get(_VERSION)
        self.is_stateless = self.version is not None and method != "initialize"
        self.token = token if _is_id(token) else None
        given = params.get("level") if method == SET_LEVEL else None
        level = meta.get(_LEVEL) if self.is_stateless else given
        # The least severe level that the client wants.
        self.level = level if isinstance(level, str) and level in LEVELS else None


class Refused(Exception):
    """A request with invalid parameters; the message is for the client."""


def _is_id(value: Any) -> bool:
    return isinstance(value, str) or type(value) is int


def read(line: bytes) -> Request | Message | None:
    """Return the request in a line, or else the error that answers it; None if it needs no answer."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return error(None, PARSE, "This line is not JSON.")
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        return error(None, INVALID, "This is not a JSON-RPC 2.0 message.")
    own, method, params = value.get("id"), value.get("method"), value.get("params", {})
    if method is None and ("result" in value or "error" in value):
        return None  # an answer, but the server sends no requests
    if not isinstance(method, str) or not ("id" not in value or _is_id(own)):
        return error(own if _is_id(own) else None, INVALID, "A request has a method and an id.")
    if not isinstance(params, dict):
        return error(own, BAD_PARAMS, "params must be an object.") if "id" in value else None
    return Request(method, params, own)


# --- answers ----------------------------------------------------------------------------------------------


def error(own: Any, code: int, message: str, data: Any = None) -> Message:
    """Return an error of the protocol."""
    body = {"code": code, "message": message}
    return {"jsonrpc": "2.0", "id": own, "error": body if data is None else {**body, "data": data}}


def result(request: Request, body: Mapping[str, Any]) -> Message:
    """Return the answer to a request, in the shape of its protocol version."""
    if request.is_stateless:
        body = {**body, "resultType": "complete", "_meta": {_SERVER: _INFO}}
    return {"jsonrpc": "2.0", "id": request.id, "result": body}


def answer(request: Request, *, offered: bool) -> Message | None:
    """Return the answer to a request, None if it needs a process. `offered`: the client may delegate."""
    if request.is_stateless and request.version not in STATELESS:
        versions = {"supported": [*STATELESS, *WITH_HANDSHAKE], "requested": str(request.version)}
        return error(request.id, UNSUPPORTED, "This protocol version is not supported.", versions)
    if request.method.endswith("/list") and request.params.get("cursor") is not None:
        return error(request.id, BAD_PARAMS, "Unknown cursor.")  # every list is a single page
    if request.method in (CALL, READ) or (request.method == RESOURCES and offered):
        return None
    try:
        body = _body(request, offered=offered)
    except Refused as why:
        return error(request.id, BAD_PARAMS, str(why))
    if body is None:
        return error(request.id, NO_METHOD, f"There is no method {request.method[:40]!r} here.")
    return result(request, body)


def _body(request: Request, *, offered: bool) -> Message | None:
    """Return the body of the answer to a method, None if there is no such method. Raises Refused."""
    method, stateless = request.method, request.is_stateless
    if method in _PAGES:
        key, entries = _PAGES[method]
        return _page(request, key, entries() if offered else [])
    if method == "initialize" and not stateless:
        asked = request.params.get("protocolVersion")
        version = asked if asked in WITH_HANDSHAKE else WITH_HANDSHAKE[0]
        return {"protocolVersion": version, "serverInfo": _INFO, **_DESCRIBED}
    if method == "server/discover":
        return {"supportedVersions": list(STATELESS), **_DESCRIBED, **_CACHED}
    if method == "prompts/get":
        return got(request.params.get("name"), request.params.get("arguments"))
    if method == SET_LEVEL and not stateless:
        if request.level is None:
            raise Refused(f"level must be one of {', '.join(LEVELS)}.")
        return {}
    return {} if method == "ping" else None


def _page(request: Request, key: str, entries: list[Message], *, kept: bool = True) -> Message:
    cached = _CACHED if kept else {**_CACHED, "ttlMs": 0}
    return {key: entries, **(cached if request.is_stateless else {})}


# --- calls ------------------------------------------------------------------------------------------------


def called(request: Request, document: Mapping[str, Any]) -> Message:
    """Return the answer to a call, made from the document of its tool."""
    arguments = request.params.get("arguments")
    given = arguments if isinstance(arguments, dict) else {}
    verbose = given.get("verbose") is True
    answer = {"content": document["content"], "isError": document["isError"]}
    is_list = request.params.get("name") == "background_agent_status" and not given.get("runId")
    if is_list and not verbose and not document["isError"]:
        return result(request, answer)  # the text has everything
    details = document["details"] if verbose else answers.compact(document["details"])
    # The object repeats the text, because some models see only the object.
    structured = {"text": document["content"][0]["text"], **details}
    return result(request, {**answer, "structuredContent": structured})


def read_out(request: Request, document: Mapping[str, Any]) -> Message:
    """Return the answer to a request about resources, made from the document of its process."""
    if not document["isError"]:
        kind = "resources" if request.method == RESOURCES else "contents"
        return result(request, _page(request, kind, document[kind], kept=False))
    problem = document["details"]["error"]
    code = INTERNAL if problem["kind"] == "internal" else BAD_PARAMS if request.is_stateless else NO_RESOURCE
    return error(request.id, code, problem["message"], {"uri": request.params.get("uri")})


def over(run: Mapping[str, Any]) -> tuple[str, Message]:
    """Return the level and the data of the log message about a run that is over."""
    status = run["status"]
    how = status if status in records.ENDED else "has answered"
    reason = f" ({run['reason']})" if status in (records.FAILED, records.ABORTED) else ""
    text = f"{run['name'] or run['preset'] or 'agent'} {run['runId']} {how}{reason}"
    return _LEVELS_OF.get(status, "info"), {"text": text, **{key: run[key] for key in _LOGGED}}


def logged(level: str, data: Message) -> Message:
    """Return a log message, as a notification."""
    params = {"level": level, "logger": "tmuxagents", "data": data}
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": params}


def notified(method: str, params: Message, stream: Any = None) -> Message:
    """Return a notification about resources; `stream`: the id of the request that opened its stream."""
    meta = {} if stream is None else {"_meta": {STREAM: stream}}
    return {"jsonrpc": "2.0", "method": method, "params": {**params, **meta}}


def is_subscription(request: Request) -> bool:
    """Say whether a request is about subscriptions; each generation has its own methods for them."""
    methods = (LISTEN,) if request.is_stateless else (SUBSCRIBE, UNSUBSCRIBE)
    return request.method in methods and (not request.is_stateless or request.version in STATELESS)


def failed(request: Request, message: str) -> Message:
    """Return the answer to a request whose process printed no document."""
    if request.method != CALL:
        return error(request.id, INTERNAL, message)
    body = {"content": [{"type": "text", "text": message}], "isError": True}
    return result(request, {**body, "structuredContent": {"text": message}})


def progressed(request: Request, count: int, message: str) -> Message:
    """Return the progress of a call as a notification."""
    params = {"progressToken": request.token, "progress": count, "message": message}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def cancelled_id(request: Request) -> Any:
    """Return the id of the request that a message cancels, None for any other message."""
    wanted = request.params.get("requestId") if request.method == "notifications/cancelled" else None
    return wanted if _is_id(wanted) else None


CAPABILITIES: dict[str, Any] = {
    "tools": {},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {},
    "logging": {},
}
INSTRUCTIONS = (
    "Delegate work to child agents (subagents), each in a tmux window of its own that a person can watch. "
    "Short tasks: subagent or delegate_to_subagents. Long ones: background_agent, then "
    "background_agent_status. Answers, transcripts and results of runs are also resources."
)
_LOOKS_ONLY = (
    *("background_agent_status", "get_subagent_output", "get_subagent_session"),
    "list_subagent_profiles",
)


def tools() -> list[dict[str, Any]]:
    """Return the tools of the catalogue."""
    return [
        {
            "name": tool.name,
            "title": tool.label,
            "description": tool.description,
            "inputSchema": tool.parameters,
            "annotations": {"readOnlyHint": tool.name in _LOOKS_ONLY},
        }
        for tool in catalogue.TOOLS
    ]


SCHEME = "tmuxagents://runs/"  # begins the address of a resource
KINDS = {"output": "text/markdown", "transcript": "text/plain", "result": "application/json"}
_TITLES = {
    "output": "Last answer of a run",
    "transcript": "Transcript of a run",
    "result": "How a run ended, as JSON",
}


def templates() -> list[dict[str, Any]]:
    """Return the templates for the addresses of a run's resources."""
    return [
        {"uriTemplate": f"{SCHEME}{{runId}}/{kind}", "name": kind, "title": _TITLES[kind], "mimeType": mime}
        for kind, mime in KINDS.items()
    ]


_PLACE = "$ARGUMENTS"  # stands for the task in a prompt


def _prompts() -> dict[str, tuple[dict[str, Any], str]]:
    """Return the fields and the text of each prompt."""
    from tmuxagents.system import shipped  # noqa: PLC0415  (few clients ask for prompts)
    from tmuxagents.text import yaml  # noqa: PLC0415  (as above)

    found = {name: yaml.parse(text) for name, text in shipped.prompts().items()}
    return {name: (one.fields, one.body.strip()) for name, one in found.items()}


def listed() -> list[dict[str, Any]]:
    """Return all prompts as the protocol lists them."""
    shapes = []
    for name, (fields, _) in _prompts().items():
        task = {"name": "task", "description": str(fields["argument-hint"]).strip("<>"), "required": True}
        shapes.append({"name": name, "description": fields["description"], "arguments": [task]})
    return shapes


def got(name: Any, arguments: Any) -> dict[str, Any]:
    """Return one prompt with its task in it. Raises Refused."""
    prompts = _prompts()
    prompt = prompts.get(name) if isinstance(name, str) else None
    if prompt is None:
        raise Refused(f"There is no such prompt; there are {', '.join(prompts)}.")
    task = arguments.get("task") if isinstance(arguments, dict) else None
    if not isinstance(task, str) or not task.strip():
        raise Refused(f"{name} needs its argument: task, a text.")
    fields, body = prompt
    content = {"type": "text", "text": body.replace(_PLACE, task)}
    return {"description": fields["description"], "messages": [{"role": "user", "content": content}]}


_DESCRIBED = {"capabilities": CAPABILITIES, "instructions": INSTRUCTIONS}
_CACHED = {"ttlMs": _KEPT_MS, "cacheScope": "private"}
# The lists, each of one page: key and entries, for a client that may delegate.
_PAGES: Mapping[str, tuple[str, Callable[[], list[Message]]]] = {
    "tools/list": ("tools", tools),
    RESOURCES: ("resources", list),
    "resources/templates/list": ("resourceTemplates", templates),
    "prompts/list": ("prompts", listed),
}
