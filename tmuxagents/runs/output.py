"""Read the answer, the transcript and the events of a run, also while it still works. Joins."""

from __future__ import annotations

import collections
import contextlib
import itertools
import os
import time

from tmuxagents.errors import NoSuchRun, NotPossible
from tmuxagents.records import is_run_id
from tmuxagents.runs import conversation, directory, events, narration, prompt, words
from tmuxagents.runs.inspect import Follower, inspect
from tmuxagents.runs.narration import Narrator
from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tmuxagents.runs.conversation import RunMessages
    from tmuxagents.runs.events import Event
    from tmuxagents.runs.inspect import RunView

_LOOK_EVERY_S = 0.1
_SLICE = 1024 * 1024  # how much of a log is in memory at once
_BIGGEST_PROMPT = 64 * 1024 * 1024


def answer(run: RunView, max_bytes: int | None = None) -> str | None:
    """Return the last answer of a run, whole or with its middle left out; None if there is none.

    A run that only opened a session again may have no answer of its own. Then the run before has the answer.
    """
    passed: set[str] = set()  # a damaged plan may lead back to its own run
    while run.state.text is None and run.plan.reopens and is_run_id(str(run.plan.resumes)):
        passed.add(run.run_id)
        if run.plan.resumes in passed:
            break
        try:
            run = inspect(f"{os.path.dirname(run.run_dir)}/{run.plan.resumes}")
        except NoSuchRun:
            break
    text = run.state.text
    if run.ended:
        whole = directory.read_bytes(f"{run.run_dir}/{directory.OUTPUT}", limit=directory.BIGGEST_OUTPUT)
        text = text if whole is None else whole.decode("utf-8", "replace")
        if text is None and run.result is not None and isinstance(run.result.get("output"), str):
            text = run.result["output"]
    if text is None or max_bytes is None:
        return text
    hint = f"; tmuxagents output {run.run_id} prints all"
    return safe.head_and_tail([text.encode("utf-8", "replace")], max_bytes, hint)


def event_lines(run_dir: str, *, after: int, follow: bool) -> Iterator[bytes]:
    """Yield the event lines after a sequence number, in our own form even if another program wrote them."""
    for event in _events(run_dir, follow=follow):
        if event.seq > after:
            yield events.encode(event).removesuffix(b"\n")


def session_lines(
    run_dirs: Sequence[str], *, follow: bool, last: int | None = None, times: bool = False
) -> Iterator[bytes]:
    """Yield the transcript of a session, one run after the other, and at last their usage.

    With `follow`, the latest run is followed. `last`: the number of earlier lines to yield; None: all.
    """
    lines = _session_lines(run_dirs, follow=follow, times=times)
    if last is not None and follow:
        so_far = sum(1 for _ in _session_lines(run_dirs, follow=False, times=times))
        lines = itertools.islice(lines, max(0, so_far - last), None)
    elif last is not None:
        lines = iter(collections.deque(lines, last))
    yield from lines
    yield from used(run_dirs)


def _session_lines(run_dirs: Sequence[str], *, follow: bool, times: bool) -> Iterator[bytes]:
    lines_of = _timed_lines if times else transcript_lines
    for number, run_dir in enumerate(run_dirs, 1):
        if len(run_dirs) > 1:
            status = inspect(run_dir).standing.status
            yield conversation.run_header(number, len(run_dirs), status).encode()
        yield from lines_of(run_dir, follow=follow and number == len(run_dirs))


def _timed_lines(run_dir: str, *, follow: bool) -> Iterator[bytes]:
    """Yield the lines of the transcript for events and for the end, each with its time in front."""
    for at, entry in _narrated(run_dir, follow=follow):
        yield from _with_time(at, entry)
    run = inspect(run_dir)
    verdict = run.standing.verdict
    if verdict is not None and run.ended_at is not None:
        end = narration.closing(verdict, run.elapsed(run.ended_at)).encode()
        yield from _with_time(run.ended_at, end)


def _with_time(at: float, entry: bytes) -> Iterator[bytes]:
    moment = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(at)).encode()
    return (moment + b" " + line for line in entry.split(b"\n"))


def used(run_dirs: Sequence[str]) -> Iterator[bytes]:
    """Yield the usage of runs, below an empty line; nothing if the usage is zero."""
    line = words.line([inspect(run_dir).state.usage for run_dir in run_dirs])
    yield from (b"", line.encode()) if line else ()


def transcript_lines(run_dir: str, *, follow: bool) -> Iterator[bytes]:
    """Yield the lines of the transcript; if it could not be written, lines made from the events."""
    empty = True
    for line in _lines(run_dir, directory.TRANSCRIPT, follow=follow):
        empty = False
        yield line
    if empty:
        yield from (entry for _, entry in _narrated(run_dir, follow=False))


def _narrated(run_dir: str, *, follow: bool) -> Iterator[tuple[float, bytes]]:
    """Yield the transcript entries made from the events, each with its time."""
    narrator = Narrator()
    for event in _events(run_dir, follow=follow):
        if event.seq < 1:  # not the wrapper's: `event_lines` has no such event, either
            continue
        entry = narration.entry(event, narrator.phrase(event))
        if entry is not None:
            yield event.at, entry.encode()


def _events(run_dir: str, *, follow: bool) -> Iterator[Event]:
    """Yield the events of a run; with `follow`, until the run has ended."""
    return filter(None, map(events.decode, _lines(run_dir, directory.EVENTS, follow=follow)))


def _lines(run_dir: str, name: str, *, follow: bool) -> Iterator[bytes]:
    """Yield the complete lines of a file; with `follow`, until the run has ended.

    Raises NotPossible at the end if lines beyond the limits of runs/directory were skipped.
    """
    offset = passed_over = 0
    place = None
    path = f"{run_dir}/{name}"
    follower = Follower(run_dir) if follow else None  # it reads only new events
    while True:
        if place != (place := directory.place_of(path)):
            offset = 0  # removed under a living wrapper, and begun anew
        # The end is checked before the file is read, so that no line from before the end is missed.
        ended = follower is None or follower.look().ended
        while True:
            before = offset
            lines, offset = directory.read_lines(path, before, _SLICE)
            if offset == before:
                break
            passed_over += not lines
            yield from lines
        if ended or offset >= directory.MOST_BYTES:
            break
        time.sleep(_LOOK_EVERY_S)
    if passed_over or offset >= directory.MOST_BYTES:
        message = f"Not all of {path} was read: a line in it is above 8 MB, or it is above 1 GB."
        raise NotPossible(message, kind="log-too-long", hint="no run writes that; look at the file itself")


# --- for the tools of a parent ----------------------------------------------------------------------------


def read_messages(run_dir: str) -> RunMessages:
    """Return the messages of a run, for the session's transcript and the prompt of its next run."""
    run = inspect(run_dir)
    asked, how = run.plan.task, run.standing.verdict
    written = directory.read_bytes(f"{run_dir}/{directory.PROMPT}", limit=_BIGGEST_PROMPT)
    if written is not None:
        asked = prompt.without_transcript(written.decode("utf-8", "replace"), asked, run.plan.replayed)
    messages = conversation.messages(asked, _events_read(run_dir))
    return conversation.RunMessages(run.standing.status, messages, how.error_message if how else None)


def _events_read(run_dir: str) -> Iterator[Event]:
    """Yield the events of a run as far as the log can be read: that part is enough."""
    with contextlib.suppress(NotPossible):
        yield from _events(run_dir, follow=False)
