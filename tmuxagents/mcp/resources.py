"""Resources: the answers, transcripts and results of runs, and the notifications about them. Joins.

Here a run is over when it has ended; a live run, when it has settled for the first time. A client gets one
log message for each of its background runs that is over. In a session (with a handshake) the message is sent
at once, unless the client's log level excludes it. In the stateless protocol the message is sent before the
answer to the next request that names a log level.

Subscriptions belong to a session (`resources/subscribe`), or in the stateless protocol to a stream
(`subscriptions/listen`). A subscription reports the resources of a run once the run is over.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import NamedTuple

from tmuxagents import records
from tmuxagents.errors import BadRequest, NoSuchRun, NotPossible, TmuxAgentsError
from tmuxagents.launch import nesting
from tmuxagents.mcp import protocol
from tmuxagents.mcp.protocol import KINDS, SCHEME
from tmuxagents.registry import lookup
from tmuxagents.runs import directory, output
from tmuxagents.runs.inspect import inspect
from tmuxagents.status import poll
from tmuxagents.system import watcher_lock
from tmuxagents.text import jsonline, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from tmuxagents.mcp.protocol import Message, Request
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.status.wait import Waiting

MOST_RUNS = 20
MOST_BYTES = 256 * 1024


def listed(caller: Caller, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the resources of the caller's latest runs, the newest first."""
    nesting.check(environment, caller.runs)
    scope = poll.query_of(caller).scope
    rows, _ = lookup.with_registry(caller, lambda book: list(book.rows(scope, limit=MOST_RUNS)))
    return [
        {
            "uri": f"{SCHEME}{row.run_id}/{kind}",
            "name": f"{row.run_id}/{kind}",
            "title": f"{safe.line(row.name or row.preset or 'agent')}: {kind}",
            "description": f"{row.status}: {safe.cut(safe.line(row.task or ''), 80)}",
            "mimeType": mime,
        }
        for row in rows
        for kind, mime in KINDS.items()
        if kind == "transcript" or row.status in records.ENDED
    ]


def read(address: str, caller: Caller, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the content of an address, or refuse it."""
    nesting.check(environment, caller.runs)
    run_dir, kind = locate(address, caller)
    run = inspect(run_dir)
    if kind == "output":
        text = output.answer(run, MOST_BYTES) or ""
    elif kind == "transcript":
        lines = output.transcript_lines(run.run_dir, follow=False)
        texts = (safe.text(f"{line.decode('utf-8', 'replace')}\n") for line in lines)
        text = safe.head_and_tail(map(str.encode, texts), MOST_BYTES)
    elif run.result is not None:
        text = jsonline.encode(run.result).decode()
    else:
        if run.ended:
            watcher_lock.ensure(caller.home)
        message = f"Run {run.run_id} is {run.standing.status}: its result is not written yet."
        raise NotPossible(message, kind="run-running", hint="ask again later", field="uri")
    if run.ended and kind != "transcript":
        lookup.mark_answered(caller, [run.run_id])
    return [{"uri": address, "mimeType": KINDS[kind], "text": text}]


def locate(address: str, caller: Caller) -> tuple[str, str]:
    """Return the run directory and the kind of a resource. Raises BadRequest or NoSuchRun."""
    reference, _, kind = address.removeprefix(SCHEME).rpartition("/")
    if not address.startswith(SCHEME) or kind not in KINDS or not reference:
        shown = safe.cut(safe.line(address), 80)
        message = f'There is no resource "{shown}": an address is {SCHEME}RUN/{"|".join(KINDS)}.'
        raise BadRequest(message, kind="bad-argument", field="uri")
    return lookup.find_run(reference, caller), kind


# --- notifications ----------------------------------------------------------------------------------------

LOOK_S = 1.0
_DEFAULT = "info"  # until the client sets another level
_MOST_KEPT = 200
_MOST_FOLLOWED = 100  # addresses of one client
_SESSION = None  # the key of a session's subscriptions; a stream's key is the id of its request


class _Stream(NamedTuple):
    """One subscription: its addresses with their run ids, and whether it includes the list of resources."""

    runs: dict[str, str]
    has_list: bool


class Notices:
    """The runs that one client follows, and the messages about them."""

    def __init__(self) -> None:
        self._waiting: Waiting | None = None
        self._launched: set[str] = set()  # the client's own background runs
        self._followed: set[str] = set()
        self._over: set[str] = set()  # run ids, as in the two sets above
        self._streams: dict[Any, _Stream] = {}
        self._kept: list[tuple[str, dict[str, Any]]] = []
        self._level: str | None = None

    def hear(self, request: Request) -> list[Message]:
        """Apply the log level of a request; return the log messages to send before its answer."""
        if not request.is_stateless:
            if request.method == "initialize":
                self._streams[_SESSION] = _Stream({}, has_list=True)
            self._level = request.level or self._level or _DEFAULT
            return self._due(self._level)
        return self._due(request.level) if request.level else []

    def subscribe(self, request: Request) -> list[Message]:
        """Apply a request about subscriptions; return its answer, if any, and due notifications."""
        if request.method == protocol.LISTEN:
            return self._listen(request)
        session = self._streams.setdefault(_SESSION, _Stream({}, has_list=True))
        address = request.params.get("uri")
        if request.method == protocol.UNSUBSCRIBE:
            session.runs.pop(str(address), None)
            return [protocol.result(request, {})]
        try:
            session.runs.update(self._found([address], len(session.runs)))
        except (TmuxAgentsError, protocol.Refused) as refused:
            return [protocol.error(request.id, protocol.NO_RESOURCE, str(refused), {"uri": address})]
        run_id = session.runs[str(address)]
        notice = protocol.notified(protocol.UPDATED, {"uri": str(address)})
        return [protocol.result(request, {}), *([notice] if run_id in self._over else [])]

    def _listen(self, request: Request) -> list[Message]:
        wanted = request.params.get("notifications")
        wanted = wanted if isinstance(wanted, dict) else {}
        addresses = wanted.get("resourceSubscriptions") or []
        if not isinstance(addresses, list):
            words = "resourceSubscriptions must be a list of addresses."
            return [protocol.error(request.id, protocol.BAD_PARAMS, words)]
        try:
            runs = self._found(addresses, sum(len(stream.runs) for stream in self._streams.values()))
        except (TmuxAgentsError, protocol.Refused) as refused:
            return [protocol.error(request.id, protocol.BAD_PARAMS, str(refused))]
        stream = _Stream(runs, has_list=wanted.get("resourcesListChanged") is True)
        self._streams[request.id] = stream
        honored: dict[str, Any] = {"resourceSubscriptions": list(runs)} if runs else {}
        honored |= {"resourcesListChanged": True} if stream.has_list else {}
        over = [address for address, run_id in runs.items() if run_id in self._over]
        notices: list[tuple[str, Message]] = [(protocol.ACKNOWLEDGED, {"notifications": honored})]
        notices += [(protocol.UPDATED, {"uri": address}) for address in over]
        return [protocol.notified(method, params, request.id) for method, params in notices]

    def _found(self, addresses: Iterable[Any], open_: int) -> dict[str, str]:
        """Return the run of each address, and follow it. Raises TmuxAgentsError or Refused."""
        found: dict[str, str] = {}
        for address in addresses:
            if open_ + len(found) >= _MOST_FOLLOWED:
                raise protocol.Refused(f"At most {_MOST_FOLLOWED} resources can be followed.")
            run_dir = locate(str(address), lookup.here())[0]
            found[str(address)] = os.path.basename(run_dir)
            self._follow(run_dir)
        return found

    def drop(self, request_id: Any) -> None:
        """End a stream that the client has cancelled."""
        if request_id is not _SESSION:
            self._streams.pop(request_id, None)

    def watch(self, document: Mapping[str, Any]) -> None:
        """Follow the background run that a call has started, if any."""
        run = document["details"].get("run")
        if not document["isError"] and isinstance(run, dict):
            self._launched.add(run["runId"])
            self._follow(run["runDir"])

    def _follow(self, run_dir: str) -> None:
        from tmuxagents.status.wait import Waiting  # noqa: PLC0415  (only once a run is followed)

        if os.path.basename(run_dir) not in self._followed:
            self._followed.add(os.path.basename(run_dir))
            self._waiting = self._waiting or Waiting()
            self._waiting.add(run_dir)

    def pause(self) -> float | None:
        """Return the time until the next check in seconds; None if no run is followed."""
        return LOOK_S if self._waiting is not None and self._waiting.left else None

    def news(self) -> list[Message]:
        """Check the runs; return the messages to send."""
        if self._waiting is None or not self._waiting.left:
            return []
        self._waiting.pause(time.monotonic())
        over = self._waiting.done()
        for one in list(self._waiting.left):
            if directory.is_announced(one.run_dir):  # a live run that has settled, and continues
                one.let_go()
                self._waiting.left.remove(one)
                over.append(one.run_dir)
        for run_dir in over:
            self._over.add(os.path.basename(run_dir))
            if os.path.basename(run_dir) in self._launched:
                with contextlib.suppress(NoSuchRun):  # the run was removed meanwhile
                    message = protocol.over(inspect(run_dir).document(time.time()))
                    self._kept = [*self._kept, message][-_MOST_KEPT:]
        ended = set(map(os.path.basename, over))
        news = []
        for stream_id, stream in self._streams.items():
            changed = [address for address, run_id in stream.runs.items() if run_id in ended]
            news += [protocol.notified(protocol.UPDATED, {"uri": each}, stream_id) for each in changed]
            if stream.has_list and ended:
                news.append(protocol.notified(protocol.LIST_CHANGED, {}, stream_id))
        return [*(self._due(self._level) if self._level else []), *news]

    def _due(self, wanted: str) -> list[Message]:
        """Return the log messages that are at least as severe as `wanted`; drop the others."""
        kept, self._kept = self._kept, []
        least = protocol.LEVELS.index(wanted)
        return [protocol.logged(level, data) for level, data in kept if protocol.LEVELS.index(level) >= least]
